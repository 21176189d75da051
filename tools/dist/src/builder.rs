//! Builds from one folder of sources, so that the results depend on the sources alone.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::architecture::Architecture;

/// How much later the second build of `--check` takes place, in the view of its programs.
const LATER: &str = "+400d";

/// The time limit in seconds of a command of the second build.
const LIMIT: &str = "5400";

/// The variables of the caller that commands get: none of them changes the results.
const KEPT_VARIABLES: &[&str] = &[
    "PATH",
    "HOME",
    "TMPDIR",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "RUSTUP_AUTO_INSTALL",
    "CARGO_BUILD_JOBS",
    "CARGO_NET_OFFLINE",
    "CARGO_TERM_COLOR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
];

/// Options for C, by which the macros of date and time are empty.
const NO_DATE: &str = "-Wno-builtin-macro-redefined -D__DATE__=\"\" -D__TIME__=\"\"";

/// The variable with the Unix time for reproducible builds.
const EPOCH: &str = "SOURCE_DATE_EPOCH";

/// The variable with the path of rustc, which this program starts if it is set: see
/// [`start_rustc`].
pub(crate) const RUSTC: &str = "TERCEL_DIST_RUSTC";

/// A folder of sources, a folder of what is compiled from it, and a date.
#[derive(Debug)]
pub(crate) struct Builder {
    /// The root of the repository.
    pub(crate) source: PathBuf,
    /// Cargo's target folder.
    pub(crate) target: PathBuf,
    /// The Unix time in packages and archives.
    pub(crate) epoch: u64,
    /// Cargo's own folder, with the sources of other crates.
    pub(crate) cargo_home: PathBuf,
    later: bool,
}

impl Builder {
    /// The time is that of the commit, or `SOURCE_DATE_EPOCH`.
    pub(crate) fn new(source: &Path, target: &Path) -> Result<Self> {
        let epoch = match env::var(EPOCH) {
            Ok(seconds) => seconds,
            Err(_) => {
                let mut git = Command::new("git");
                output(git.current_dir(source).args(["log", "-1", "--format=%ct"]))?
            }
        };
        let epoch = epoch.trim().parse().context(EPOCH)?;
        let cargo_home = match env::var_os("CARGO_HOME") {
            Some(folder) => PathBuf::from(folder),
            None => Path::new(&env::var_os("HOME").context("no HOME")?).join(".cargo"),
        };
        let (source, target) = (source.to_owned(), target.to_owned());
        Ok(Self { source, target, epoch, cargo_home, later: false })
    }

    /// A builder for other folders, whose programs see a later date.
    pub(crate) fn elsewhere_and_later(&self, folder: &Path) -> Self {
        Self {
            source: folder.join("another-folder/source"),
            target: folder.join("built"),
            epoch: self.epoch,
            cargo_home: folder.join("cargo"),
            later: true,
        }
    }

    /// A command in the folder of the sources, with the environment of a reproducible build.
    pub(crate) fn command(&self, program: &str) -> Result<Command> {
        let mut command = Command::new(if self.later { "timeout" } else { program });
        command.current_dir(&self.source).env_clear();
        for name in KEPT_VARIABLES {
            command.envs(env::var_os(name).map(|value| (name, value)));
        }
        command
            .env(EPOCH, self.epoch.to_string())
            .env("CARGO_HOME", &self.cargo_home)
            .env("CARGO_TARGET_DIR", &self.target)
            .env("CARGO_ENCODED_RUSTFLAGS", self.names_of_folders("--remap-path-prefix=", "\x1f"))
            .env("CFLAGS_x86_64_unknown_linux_gnu", self.flags_for_c())
            .envs([("LC_ALL", "C"), ("TZ", "UTC")]);
        if self.later {
            command.args([LIMIT, "faketime", "-f", LATER, program]);
            // Waits with a time limit would otherwise depend on the other clock, too.
            command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
            let rustc = output(Command::new("rustc").args(["--print", "sysroot"]))? + "/bin/rustc";
            command.env("RUSTC", env::current_exe()?).env(RUSTC, rustc);
            // The first build has fetched the crates. Certificates may have expired on this date.
            command.env("CARGO_NET_OFFLINE", "true");
        }
        Ok(command)
    }

    /// A script of the folder `tools`.
    fn tool(&self, name: &str) -> Result<Command> {
        self.command(&self.source.join("tools").join(name).to_string_lossy())
    }

    /// Options that rename folders in panic messages and debug information, by which a build would
    /// differ from others. The last option that matches a path is used.
    fn names_of_folders(&self, option: &str, separator: &str) -> String {
        [(&*self.cargo_home, "/cargo"), (&*self.source, "/tercel"), (&*self.target, "/target")]
            .map(|(path, name)| format!("{option}{}={name}", path.display()))
            .join(separator)
    }

    fn flags_for_c(&self) -> String {
        let folders = self.names_of_folders("-ffile-prefix-map=", " ");
        format!("{folders} {NO_DATE}")
    }

    /// Cargo, without the date of the commit: compilers depend on it, so that each commit would
    /// compile everything once more.
    pub(crate) fn cargo(&self) -> Result<Command> {
        let mut command = self.command("cargo")?;
        command.env_remove(EPOCH);
        Ok(command)
    }

    /// Builds the static programs `tercel`, and returns the stripped files.
    pub(crate) fn programs(&self, architectures: &[Architecture]) -> Result<Vec<PathBuf>> {
        let mut cargo = self.cargo()?;
        cargo.args(["build", "--release", "--locked", "-p", "tercel-cli"]);
        for architecture in architectures {
            let target = architecture.target();
            cargo.args(["--target", target]);
            let variable = target.replace('-', "_");
            let compiler = format!("{}gcc", architecture.gnu_prefix());
            let flags = format!("-specs {} {}", architecture.musl_specs(), self.flags_for_c());
            cargo
                .env(format!("CC_{variable}"), &compiler)
                .env(format!("AR_{variable}"), format!("{}ar", architecture.gnu_prefix()))
                .env(format!("CFLAGS_{variable}"), flags)
                .env(format!("CARGO_TARGET_{}_LINKER", variable.to_uppercase()), &compiler);
        }
        run(&mut cargo)?;
        let mut programs = Vec::new();
        for architecture in architectures {
            let folder = self.target.join(architecture.target());
            let (built, stripped) = (folder.join("release/tercel"), folder.join("tercel"));
            run(self.tool("no-jitter.sh")?.arg(&built))?;
            self.strip(*architecture, &["--strip-all"], &built, &stripped)?;
            programs.push(stripped);
        }
        Ok(programs)
    }

    /// Builds the C library for glibc on x86-64, with the layout of an installation, and returns
    /// its folder.
    pub(crate) fn library(&self) -> Result<PathBuf> {
        let folder = self.target.join("library");
        remove_folder(&folder)?;
        run(self.tool("c-library.sh")?.env_remove(EPOCH).arg(&folder).arg("release"))?;
        for (name, option) in [(SHARED, "--strip-unneeded"), ("libtercel.a", "--strip-debug")] {
            let file = folder.join("lib").join(name);
            self.strip(Architecture::X86_64, &[option, "-D"], &file, &file)?;
        }
        Ok(folder)
    }

    fn strip(
        &self,
        architecture: Architecture,
        options: &[&str],
        from: &Path,
        to: &Path,
    ) -> Result<()> {
        let mut strip = self.command(&format!("{}strip", architecture.gnu_prefix()))?;
        run(strip.args(options).arg("-o").arg(to).arg(from))
    }

    /// The time of the build as ISO 8601 has it.
    pub(crate) fn date(&self) -> Result<String> {
        let seconds = format!("@{}", self.epoch);
        output(Command::new("date").args(["--utc", "--date", &seconds, "+%Y-%m-%dT%H:%M:%SZ"]))
    }
}

/// The shared C library, whose name has the first part of the version.
pub(crate) const SHARED: &str = concat!("libtercel.so.", env!("CARGO_PKG_VERSION_MAJOR"));

/// Starts rustc with the true date, for cargo and build scripts, which take this program for it:
/// the allocator of rustc and the library that makes the date wait for each other. Programs that
/// rustc does not start have the later date.
pub(crate) fn start_rustc(rustc: &OsStr) -> Result<()> {
    let error = Command::new(rustc).args(env::args_os().skip(1)).env_remove("LD_PRELOAD").exec();
    Err(error).context("cannot start rustc")
}

/// Runs a command, whose output is this program's.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    ensure!(status.success(), "{command:?}: {status}");
    Ok(())
}

/// Runs a command, and returns its output without the last line break.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let said = command.output().with_context(|| format!("cannot start {command:?}"))?;
    let error = String::from_utf8_lossy(&said.stderr);
    ensure!(said.status.success(), "{command:?}: {}: {error}", said.status);
    Ok(String::from_utf8(said.stdout)?.trim_end_matches('\n').to_owned())
}

/// Removes a folder if it exists.
pub(crate) fn remove_folder(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    Ok(())
}
