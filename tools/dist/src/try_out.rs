//! Runs what was made, in folders that contain nothing else.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::unistd::geteuid;
use serde_json::Value;
use tercel_harness::folder::TemporaryFolder;
use tercel_harness::process::{Process, Signal};
use tercel_harness::program;
use tercel_harness::proxy::wait_for;

use crate::architecture::Architecture;
use crate::builder::{Builder, output, run};
use crate::image;
use crate::release::{Program, Release};

/// The time limit for a server to start, which an emulator makes slow.
const START: Duration = Duration::from_secs(120);

/// The emulator of aarch64, which needs no files of the system.
const EMULATOR: &str = "qemu-aarch64-static";

/// Tries out the programs, the images, a package of RPM and the C library.
pub(crate) fn all(builder: &Builder, release: &Release) -> Result<()> {
    for made in &release.programs {
        let name = made.architecture.name();
        static_program(made).with_context(|| format!("the static program for {name}"))?;
        println!("ok: the program for {name} serves and connects in an empty root");
        let file = release.folder.join(&made.image);
        oci_image(&file, made.architecture).with_context(|| made.image.clone())?;
        println!("ok: {} was unpacked by umoci, and serves as user {}", made.image, image::USER);
        if made.architecture == Architecture::ALL[0] {
            rpm_package(&release.folder.join(&made.rpm)).with_context(|| made.rpm.clone())?;
            println!("ok: {} was installed, run and removed", made.rpm);
        }
    }
    c_library(builder, release).context("the C library")?;
    println!("ok: a client in C was linked with libtercel, and read a page");
    Ok(())
}

/// A folder that is the root of the file system for programs in it.
#[derive(Debug)]
struct Root {
    folder: PathBuf,
    is_emulated: bool,
    user: u32,
}

impl Root {
    /// Adds the emulator to the folder if it is needed.
    fn new(folder: &Path, architecture: Architecture, user: u32) -> Result<Self> {
        let is_emulated = architecture != Architecture::ALL[0];
        if is_emulated {
            fs::copy(program::find(EMULATOR).context(EMULATOR)?, folder.join(EMULATOR))?;
        }
        Ok(Self { folder: folder.to_owned(), is_emulated, user })
    }

    fn command(&self, program: &str) -> Command {
        let user = self.user;
        let mut command = if geteuid().is_root() {
            let mut command = Command::new("chroot");
            command.arg(format!("--userspec={user}:{user}")).arg(&self.folder);
            command
        } else {
            let mut command = Command::new("unshare");
            command.args([format!("--map-user={user}"), format!("--map-group={user}")]);
            command.arg("--root").arg(&self.folder);
            command
        };
        // Where `chroot` and `unshare` are; nothing in the root is found by it.
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        if self.is_emulated {
            command.arg(format!("/{EMULATOR}"));
        }
        command.arg(program);
        command
    }

    /// Lets the program serve, and requests its page by the same program.
    fn serve_once(&self, program: &str, state: &str) -> Result<()> {
        let version = output(self.command(program).arg("--version"))?;
        ensure!(version.starts_with("tercel "), "--version printed {version:?}");
        let mut serve = self.command(program);
        serve.args(["serve", "--listen", "127.0.0.1:0", "--state-dir", state]);
        let mut server = Process::start(serve)?;
        let address = address(&mut server)?;
        let page = output(self.command(program).args([
            "connect",
            &format!("https://{address}/"),
            "--name",
            "localhost",
            "--ca",
            &format!("{state}/ca.pem"),
            "--timeout",
            "60",
            "--get",
        ]))?;
        ensure!(page.contains("<title>Tercel</title>"), "the server sent {page:?}");
        server.signal(Signal::SIGTERM)?;
        server.wait(START)?;
        Ok(())
    }
}

/// The address in the first line of a server.
fn address(server: &mut Process) -> Result<String> {
    wait_for("an address of the server, or its end", START, || {
        server.output().text().contains('\n') || !matches!(server.ended(), Ok(None))
    })?;
    let text = server.output().text();
    let address = text.split_once('\n').and_then(|(line, _)| line.strip_prefix("listening on "));
    let address = address.with_context(|| format!("no address: {}", server.all_output()))?;
    Ok(address.to_owned())
}

fn static_program(made: &Program) -> Result<()> {
    let folder = TemporaryFolder::create(&format!("tercel-root-{}", made.architecture.name()))?;
    fs::copy(&made.program, folder.path().join("tercel"))?;
    Root::new(folder.path(), made.architecture, 0)?.serve_once("/tercel", "/state")
}

fn oci_image(file: &Path, architecture: Architecture) -> Result<()> {
    let folder = TemporaryFolder::create(&format!("tercel-image-{}", architecture.name()))?;
    let (layout, bundle) = (folder.path().join("layout"), folder.path().join("bundle"));
    fs::create_dir(&layout)?;
    run(Command::new("tar").arg("-xf").arg(file).arg("-C").arg(&layout))?;
    let mut umoci = Command::new("umoci");
    umoci.args(["--log", "warn", "unpack", "--image"]);
    umoci.arg(format!("{}:{}", layout.display(), env!("CARGO_PKG_VERSION")));
    if !geteuid().is_root() {
        umoci.arg("--rootless");
    }
    run(umoci.arg(&bundle))?;
    // A runtime would start this process.
    let config: Value = serde_json::from_slice(&fs::read(bundle.join("config.json"))?)?;
    let process = &config["process"];
    let user = process["user"]["uid"].as_u64();
    ensure!(user == Some(image::USER.into()), "the user is {user:?}");
    let program = process["args"][0].as_str().context("no entry point")?;
    ensure!(process["args"][1] == "proxy", "the command is {}", process["args"]);
    Root::new(&bundle.join("rootfs"), architecture, image::USER)?.serve_once(program, "/tmp/state")
}

fn rpm_package(file: &Path) -> Result<()> {
    let folder = TemporaryFolder::create("tercel-rpm")?;
    let rpm = |arguments: &[&str]| {
        let mut command = if geteuid().is_root() {
            Command::new("rpm")
        } else {
            let mut command = Command::new("unshare");
            command.args(["--map-root-user", "rpm"]);
            command
        };
        command.arg("--root").arg(folder.path()).args(arguments);
        // Debian's program refuses to install without this option, which others do not have.
        if Path::new("/etc/debian_version").exists() && arguments.contains(&"--noscripts") {
            command.arg("--force-debian");
        }
        output(&mut command)
    };
    // The root has no shell for scripts, and no packages that are required.
    rpm(&["--install", "--nodeps", "--noscripts", &file.to_string_lossy()])?;
    let installed = rpm(&["--query", "--all", "--queryformat", "%{NAME}"])?;
    ensure!(installed == "tercel", "installed: {installed}");
    let root = Root::new(folder.path(), Architecture::ALL[0], 0)?;
    root.serve_once("/usr/bin/tercel", "/state")?;
    rpm(&["--erase", "--noscripts", "tercel"])?;
    ensure!(!folder.path().join("usr/bin/tercel").exists(), "the program was not removed");
    Ok(())
}

/// Links an example with the unpacked library, and lets it read a page of the program.
fn c_library(builder: &Builder, release: &Release) -> Result<()> {
    let folder = TemporaryFolder::create("tercel-library")?;
    let archive = release.folder.join(release.library_archive());
    let mut tar = Command::new("tar");
    tar.args(["--strip-components=1", "-xzf"]).arg(archive).arg("-C").arg(folder.path());
    run(&mut tar)?;
    let (client, library) = (folder.path().join("client"), folder.path().join("lib"));
    let mut compiler = Command::new("cc");
    compiler.arg("-o").arg(&client).arg(builder.source.join("crates/capi/examples/client.c"));
    compiler.arg("-I").arg(folder.path().join("include")).arg("-L").arg(&library).arg("-ltercel");
    run(&mut compiler)?;

    let made = release.programs.first().context("no program")?;
    let state = folder.path().join("state");
    let mut serve = Command::new(&made.program);
    serve.args(["serve", "--listen", "127.0.0.1:0", "--state-dir"]).arg(&state);
    let mut server = Process::start(serve)?;
    let address = address(&mut server)?;
    let port = address.rsplit(':').next().unwrap_or_default();
    let mut client = Command::new(client);
    client.env("LD_LIBRARY_PATH", library).args(["localhost", "/", port]);
    let page = output(client.arg(state.join("ca.pem")))?;
    ensure!(page.contains("<title>Tercel</title>"), "the server sent {page:?}");
    Ok(())
}
