//! Installs packages in a new Debian system, and follows the service from its start to its removal.
//!
//! The system is made by debootstrap, from the mirror that apt uses here, and kept as an archive in
//! `TERCEL_DEB_BASE` (default: a folder of /var/cache) for the next run.

use std::env;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::unistd::geteuid;
use tercel_harness::backend::{Backend, Behaviour};
use tercel_harness::pki::{Authority, Key, Leaf, SERVER_NAME};
use tercel_harness::ports::free_port;
use tercel_harness::process::{Process, Signal};
use tercel_harness::program;
use tercel_harness::proxy::wait_for;

use crate::builder::{Builder, SHARED, output, remove_folder, run};
use crate::release::Release;

/// Programs that are needed beyond those of a release, and Debian's packages with them.
const PROGRAMS: [(&str, &str); 3] = [
    ("debootstrap", "debootstrap"),
    ("systemd-socket-activate", "systemd"),
    ("systemd-analyze", "systemd"),
];

/// The name of the backend behind the terminator.
const BACKEND: &str = "backend-of-the-check";

/// The time limit for messages of the service.
const LIMIT: Duration = Duration::from_secs(20);

/// Checks that what [`check`] needs is there.
///
/// # Errors
/// Names what is missing.
pub(crate) fn require() -> Result<()> {
    ensure!(geteuid().is_root(), "absent: root, which debootstrap and chroot need");
    for (program, package) in PROGRAMS {
        let is_there = program::find(program).is_some();
        ensure!(is_there, "absent: {program} (Debian's package {package})");
    }
    Ok(())
}

/// Installs packages of x86-64 in a system of this release of Debian.
///
/// # Errors
/// If a requirement is not met.
pub(crate) fn check(builder: &Builder, release: &Release, suite: &str) -> Result<()> {
    let system = System::unpack(&base(builder, suite)?, &builder.target.join("system"))?;
    let ok = |what: &str| println!("ok: Debian {suite}: {what}");
    let files = || release.names().map(|name| release.folder.join(name));
    let find = |start: &str, end: &str| {
        let fits = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(start) && name.ends_with(end)
        };
        files().find(fits).with_context(|| format!("no {start}*{end}"))
    };
    let package = find("tercel_", "_amd64.deb")?;

    let before = system.state()?;
    system.install(&package)?;
    system.check_files()?;
    ok("installed, with user, manual pages, completions, configuration; the units are valid");
    system.follow_service()?;
    ok("started with a passed socket as its user, answered, reloaded, stopped with status 0");
    system.dpkg(&["--remove", "tercel"])?;
    ensure!(!system.path("usr/bin/tercel").exists(), "the program was not removed");
    ensure!(system.path("etc/tercel/proxy.toml").exists(), "the configuration was removed");
    for name in ["localhost.crt", "localhost.key"] {
        fs::remove_file(system.path("etc/tercel/certs").join(name))?;
    }
    system.dpkg(&["--purge", "tercel"])?;
    let after = system.state()?;
    ensure!(
        before == after,
        "a purge left files or the user: {}",
        first_difference(&before, &after)
    );
    ok("removed and purged, nothing left");
    system.check_administrators_files(&package)?;
    ok("upgraded without the configuration; files that remain after a purge belong to root");

    let libraries = [
        find(&format!("libtercel{}_", env!("CARGO_PKG_VERSION_MAJOR")), ".deb")?,
        find("libtercel-dev_", ".deb")?,
    ];
    let needed = output(Command::new("dpkg-deb").arg("--field").arg(&libraries[0]).arg("Depends"))?;
    let needed = needed.split(['=', ')']).nth(1).context("no version of libc6")?.trim();
    let libc = output(system.inside("dpkg-query").args(["-W", "-f", "${Version}", "libc6"]))?;
    let compare = ["--compare-versions", &libc, "ge", needed];
    if Command::new("dpkg").args(compare).status()?.success() {
        for library in libraries {
            system.install(&library)?;
        }
        let known = output(system.inside("ldconfig").arg("--print-cache"))?;
        ensure!(known.contains(SHARED), "ldconfig does not know the library");
        ok("libtercel installed");
    } else {
        println!("absent: Debian {suite} has glibc {libc}, but libtercel needs {needed}");
    }
    system.check_rpm(&find("tercel-", ".x86_64.rpm")?)?;
    ok("the package of RPM made its user and was removed");
    remove_folder(&system.root)
}

/// The archive of a new system, which is made if it is not there.
fn base(builder: &Builder, suite: &str) -> Result<PathBuf> {
    let folder = env::var_os("TERCEL_DEB_BASE")
        .map_or_else(|| PathBuf::from("/var/cache/tercel-deb-base"), PathBuf::from);
    let archive = folder.join(format!("{suite}.tar"));
    if archive.exists() {
        return Ok(archive);
    }
    fs::create_dir_all(&folder)?;
    let own = fs::read_to_string("/etc/os-release")?;
    let own = own.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    let targets = output(Command::new("apt-get").args([
        "indextargets",
        "--format",
        "$(RELEASE) $(COMPONENT) $(SITE)",
    ]))?;
    let start = format!("{} main ", own.context("no VERSION_CODENAME")?);
    let mirror = targets.lines().find_map(|line| line.strip_prefix(&start)).context("no mirror")?;
    let new = builder.target.join("new-system");
    remove_folder(&new)?;
    let mut debootstrap = Command::new("debootstrap");
    debootstrap.args(["--variant=minbase", "--include=adduser", suite]).arg(&new).arg(mirror);
    // The log of debootstrap is long.
    output(&mut debootstrap)?;
    let part = archive.with_extension("part");
    let mut tar = Command::new("tar");
    tar.args(["--exclude=./dev/*", "--exclude=./proc/*", "--exclude=./sys/*"]);
    tar.arg("--exclude=./var/cache/apt/archives/*.deb").arg("-C").arg(&new);
    run(tar.arg("-cf").arg(&part).arg("."))?;
    fs::rename(&part, &archive)?;
    remove_folder(&new)?;
    Ok(archive)
}

/// An unpacked system.
#[derive(Debug)]
struct System {
    root: PathBuf,
}

impl System {
    fn unpack(archive: &Path, root: &Path) -> Result<Self> {
        remove_folder(root)?;
        fs::create_dir_all(root.join("dev"))?;
        run(Command::new("tar").arg("-C").arg(root).arg("-xf").arg(archive))?;
        for device in ["null", "zero", "random", "urandom"] {
            run(Command::new("cp").arg("-a").arg(format!("/dev/{device}")).arg(root.join("dev")))?;
        }
        Ok(Self { root: root.to_owned() })
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// A command in the system.
    fn inside(&self, program: &str) -> Command {
        let mut command = Command::new("chroot");
        command.envs([
            ("LC_ALL", "C"),
            ("DEBIAN_FRONTEND", "noninteractive"),
            ("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"),
        ]);
        command.arg(&self.root).arg(program);
        command
    }

    fn dpkg(&self, arguments: &[&str]) -> Result<()> {
        output(self.inside("dpkg").args(arguments)).map(drop)
    }

    fn install(&self, package: &Path) -> Result<()> {
        let name = "package.deb";
        fs::copy(package, self.path(name))?;
        self.dpkg(&["--install", &format!("/{name}")])?;
        Ok(fs::remove_file(self.path(name))?)
    }

    /// The paths of all files, without those that dpkg or the C library changes, and the users.
    fn state(&self) -> Result<String> {
        let mut find = Command::new("find");
        find.current_dir(&self.root).arg(".");
        for path in ["./dev", "./run", "./var/lib/dpkg", "./var/log", "./etc/*-", "*/.pwd.lock"] {
            find.args(["-path", path, "-prune", "-o"]);
        }
        let paths = output(find.arg("-print"))?;
        let mut paths: Vec<_> = paths.lines().collect();
        paths.sort_unstable();
        Ok(paths.join("\n") + &fs::read_to_string(self.path("etc/passwd"))?)
    }

    fn check_files(&self) -> Result<()> {
        let version = output(self.inside("/usr/bin/tercel").arg("--version"))?;
        ensure!(version.starts_with("tercel "), "--version printed {version:?}");
        for path in [
            "usr/share/man/man1/tercel.1.gz",
            "usr/share/man/man1/tercel-proxy.1.gz",
            "usr/share/bash-completion/completions/tercel",
            "usr/share/zsh/vendor-completions/_tercel",
            "usr/share/fish/vendor_completions.d/tercel.fish",
            "usr/share/doc/tercel/copyright",
        ] {
            ensure!(self.path(path).is_file(), "/{path} is missing");
        }
        let mode = fs::metadata(self.path("etc/tercel/proxy.toml"))?.mode() & 0o777;
        ensure!(mode == 0o640, "the mode of proxy.toml is {mode:o}");

        // The units need programs and units of a booted system, which this one does not have.
        let folder = self.path("verify");
        fs::create_dir(&folder)?;
        let units = ["tercel-proxy.service", "tercel-proxy.socket"];
        for unit in units {
            let text = fs::read_to_string(self.path("usr/lib/systemd/system").join(unit))?;
            let program = self.path("usr/bin/tercel").display().to_string();
            let text = text.replace("ExecStart=/usr/bin/tercel", &format!("ExecStart={program}"));
            fs::write(folder.join(unit), text)?;
        }
        let mut analyze = Command::new("systemd-analyze");
        analyze.current_dir(&folder).args(["verify", "--man=no"]);
        let said = analyze.args(units.map(|unit| format!("./{unit}"))).output()?;
        let said = (said.status, String::from_utf8_lossy(&said.stderr).into_owned());
        let is_valid = said.0.success() && !units.iter().any(|unit| said.1.contains(unit));
        ensure!(is_valid, "systemd-analyze verify: {said:?}");
        remove_folder(&folder)
    }

    /// The user and group of the service.
    fn service_ids(&self) -> Result<(u32, u32)> {
        let line = output(self.inside("getent").args(["passwd", "tercel"]))?;
        let mut fields = line.split(':').skip(2);
        let mut next = || anyhow::Ok(fields.next().context("no user tercel")?.parse::<u32>()?);
        Ok((next()?, next()?))
    }

    /// Runs the service's command with a passed socket, as systemd would.
    fn follow_service(&self) -> Result<()> {
        let runtime = program::runtime(1)?;
        let backend = runtime.block_on(Backend::start(BACKEND, Behaviour::Answers))?;
        let address = format!("127.0.0.1:{}", free_port()?);
        let config = self.path("etc/tercel/proxy.toml");
        let text = fs::read_to_string(&config)?
            .replace("[::]:443", &address)
            .replace("127.0.0.1:8080", &backend.address().to_string());
        fs::write(&config, text)?;
        let (user, group) = self.service_ids()?;
        let first = Authority::new("first", Key::P256)?;
        self.write_certificate(&first, group)?;

        let unit = fs::read_to_string(self.path("usr/lib/systemd/system/tercel-proxy.service"))?;
        let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart="));
        let mut activate = Command::new("systemd-socket-activate");
        activate.arg(format!("--listen={address}")).arg("--fdname=https").arg("chroot");
        activate.arg(format!("--userspec={user}:{group}")).arg(&self.root);
        activate.args(start.context("no ExecStart")?.split_whitespace());
        let mut service = Process::start(activate)?;
        wait_for_words(&service, "Listening on")?;
        self.ask(&address, &first)?;
        let owner = fs::metadata(format!("/proc/{}", service.id()))?.uid();
        ensure!(owner == user, "the service runs as user {owner}, not {user}");

        let second = Authority::new("second", Key::P256)?;
        self.write_certificate(&second, group)?;
        service.signal(Signal::SIGHUP)?;
        wait_for_words(&service, "configuration reloaded")?;
        self.ask(&address, &second)?;
        service.signal(Signal::SIGTERM)?;
        let status = service.wait(LIMIT)?;
        ensure!(status.success(), "{status}: {}", service.all_output());
        Ok(())
    }

    fn write_certificate(&self, authority: &Authority, group: u32) -> Result<()> {
        let pem = authority.issue(&Leaf::SERVER, Key::P256)?;
        let folder = self.path("etc/tercel/certs");
        let key = folder.join("localhost.key");
        fs::write(&key, pem.key)?;
        run(Command::new("chgrp").arg(group.to_string()).arg(&key))?;
        run(Command::new("chmod").arg("640").arg(&key))?;
        Ok(fs::write(folder.join("localhost.crt"), pem.certificates)?)
    }

    /// Requests a page over TLS from the backend.
    fn ask(&self, address: &str, authority: &Authority) -> Result<()> {
        let roots = "root.pem";
        fs::write(self.path(roots), authority.root_pem())?;
        let mut connect = self.inside("/usr/bin/tercel");
        connect.args(["connect", &format!("https://{address}/"), "--name", SERVER_NAME]);
        let said = connect.args(["--ca", &format!("/{roots}"), "--get"]).output()?;
        fs::remove_file(self.path(roots))?;
        let report = String::from_utf8_lossy(&said.stderr);
        ensure!(said.status.success() && report.contains(BACKEND), "no answer: {report}");
        Ok(())
    }

    /// Changes of an administrator: no configuration, keys that remain, a linked folder.
    fn check_administrators_files(&self, package: &Path) -> Result<()> {
        self.install(package)?;
        fs::remove_file(self.path("etc/tercel/proxy.toml"))?;
        self.install(package)?;
        let (_, group) = self.service_ids()?;
        let kept = self.path("etc/tercel/certs/kept.key");
        fs::write(&kept, "")?;
        run(Command::new("chgrp").arg(group.to_string()).arg(&kept))?;
        self.dpkg(&["--purge", "tercel"])?;
        // The numbers of the package's user and group can be assigned again.
        let owner = fs::metadata(&kept)?;
        ensure!((owner.uid(), owner.gid()) == (0, 0), "a remaining key is not root's");

        // A purge does not change files of another program.
        remove_folder(&self.path("etc/tercel"))?;
        let other = self.path("srv/certificates");
        fs::create_dir_all(&other)?;
        fs::write(other.join("other.crt"), "")?;
        self.install(package)?;
        fs::remove_dir(self.path("etc/tercel/certs"))?;
        symlink("/srv/certificates", self.path("etc/tercel/certs"))?;
        run(Command::new("chgrp")
            .arg(self.service_ids()?.1.to_string())
            .arg(other.join("other.crt")))?;
        let before = fs::metadata(other.join("other.crt"))?.gid();
        self.dpkg(&["--purge", "tercel"])?;
        let after = fs::metadata(other.join("other.crt"))?.gid();
        ensure!(before == after, "a purge changed a file of another program");
        remove_folder(&self.path("etc/tercel"))
    }

    /// Installs and removes a package of RPM with its scripts; this system has their programs.
    fn check_rpm(&self, package: &Path) -> Result<()> {
        let rpm = |option: &str, what: &str| {
            let mut rpm = Command::new("rpm");
            if Path::new("/etc/debian_version").exists() {
                rpm.arg("--force-debian");
            }
            // Another package manager has installed the requirements.
            output(rpm.arg("--root").arg(&self.root).args([option, "--nodeps", what]))
        };
        rpm("--install", &package.to_string_lossy())?;
        let (_, group) = self.service_ids()?;
        for (path, expected) in [("etc/tercel/proxy.toml", 0o640), ("etc/tercel/certs", 0o750)] {
            let found = fs::metadata(self.path(path))?;
            let (mode, owner) = (found.mode() & 0o777, found.gid());
            let fits = mode == expected && owner == group;
            ensure!(fits, "/{path} has mode {mode:o} and group {owner}, not {expected:o}, {group}");
        }
        output(self.inside("/usr/bin/tercel").arg("--version"))?;
        rpm("--erase", "tercel")?;
        ensure!(!self.path("usr/bin/tercel").exists(), "the program was not removed");
        Ok(())
    }
}

fn wait_for_words(process: &Process, words: &str) -> Result<()> {
    let waited = wait_for(words, LIMIT, || process.all_output().contains(words));
    waited.map(drop).with_context(|| process.all_output())
}

fn first_difference(before: &str, after: &str) -> String {
    let (old, new): (Vec<_>, Vec<_>) = (before.lines().collect(), after.lines().collect());
    let line = new.iter().find(|line| !old.contains(line));
    line.or_else(|| old.iter().find(|line| !new.contains(line)))
        .copied()
        .unwrap_or_default()
        .to_owned()
}
