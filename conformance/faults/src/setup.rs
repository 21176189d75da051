//! The setup: a terminator with limits, and backends of all kinds.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use tercel_harness::backend::{Backend, Behaviour, Ended};
use tercel_harness::folder::TemporaryFolder;
use tercel_harness::pki::{Authority, Key, Leaf};
use tercel_harness::ports::free_port;
use tercel_harness::proxy::{ProcessOptions, Proxy};

/// The terminator's time limit of a handshake. Regular clients meet this limit and the next one,
/// also on a busy machine.
pub(crate) const HANDSHAKE: Duration = Duration::from_secs(5);
/// The terminator's limit of idle time.
pub(crate) const IDLE: Duration = Duration::from_secs(10);
/// The limit of connections from one address.
pub(crate) const PER_CLIENT: usize = 64;
/// The limit of all connections.
pub(crate) const CONNECTIONS: usize = 1500;

/// The name of the backend that works.
pub(crate) const WORKING: &str = "localhost";
pub(crate) const DOWN: &str = "down.test";
pub(crate) const SLOW: &str = "slow.test";
pub(crate) const CLOSES: &str = "closes.test";
pub(crate) const RESETS: &str = "resets.test";
pub(crate) const SILENT: &str = "silent.test";

/// The names of the certificate.
pub(crate) const NAMES: [&str; 7] = [WORKING, "127.0.0.1", DOWN, SLOW, CLOSES, RESETS, SILENT];

/// The terminator, its backends and its certificates.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) folder: TemporaryFolder,
    pub(crate) authority: Authority,
    pub(crate) proxy: Proxy,
    pub(crate) target: SocketAddr,
    pub(crate) backends: Backends,
    program: PathBuf,
}

/// One backend for each behaviour.
#[derive(Debug)]
pub(crate) struct Backends {
    working: Backend,
    slow: Backend,
    closes: Backend,
    resets: Backend,
    silent: Backend,
    down: u16,
}

impl Setup {
    /// Starts everything. The current runtime runs the backends.
    pub(crate) async fn start(program: &Path) -> Result<Self> {
        let folder = TemporaryFolder::create("tercel-faults")?;
        let authority = Authority::new("Faults", Key::P256)?;
        let certificates = folder.path().join("certificates");
        fs::create_dir(&certificates)?;
        write_certificate(&authority, &certificates, WORKING)?;
        let backends = Backends {
            working: Backend::start("working", Behaviour::Answers).await?,
            slow: Backend::start("slow", Behaviour::Slow(Duration::from_secs(1))).await?,
            closes: Backend::start("closes", Behaviour::ClosesEarly).await?,
            resets: Backend::start("resets", Behaviour::Resets).await?,
            silent: Backend::start("silent", Behaviour::Silent).await?,
            down: free_port()?,
        };
        let limits = format!("[limits]\nconnections = {CONNECTIONS}\nper_client = {PER_CLIENT}\n");
        let (proxy, target) =
            start_proxy(program, folder.path(), "proxy", &backends, &limits, few(4096))?;
        Ok(Self { folder, authority, proxy, target, backends, program: program.to_owned() })
    }

    /// Starts another terminator, without limits on connections.
    pub(crate) fn start_another(
        &self,
        name: &str,
        options: ProcessOptions,
    ) -> Result<(Proxy, SocketAddr)> {
        self.start_another_with(name, "", options)
    }

    /// As [`Self::start_another`], with more tables of its configuration.
    pub(crate) fn start_another_with(
        &self,
        name: &str,
        tables: &str,
        options: ProcessOptions,
    ) -> Result<(Proxy, SocketAddr)> {
        start_proxy(&self.program, self.folder.path(), name, &self.backends, tables, options)
    }

    pub(crate) fn certificates(&self) -> PathBuf {
        self.folder.path().join("certificates")
    }
}

impl Backends {
    /// Which connections to the working backend have ended.
    pub(crate) fn ended(&self) -> Ended {
        self.working.ended()
    }

    /// The number of connections that are open to all backends.
    pub(crate) fn open(&self) -> usize {
        [&self.working, &self.slow, &self.closes, &self.resets, &self.silent]
            .iter()
            .map(|backend| backend.open())
            .sum()
    }
}

/// Writes a new certificate for all names, as `NAME.crt` and `NAME.key`.
pub(crate) fn write_certificate(authority: &Authority, folder: &Path, name: &str) -> Result<()> {
    let pem = authority.issue(&Leaf { names: &NAMES, ..Leaf::SERVER }, Key::P256)?;
    // The files are renamed into place, so that the terminator reads no partial file.
    for (ending, text) in [("key", &pem.key), ("crt", &pem.certificates)] {
        let temporary = folder.with_extension("new");
        fs::write(&temporary, text)?;
        private(&temporary)?;
        fs::rename(&temporary, folder.join(format!("{name}.{ending}")))?;
    }
    Ok(())
}

fn private(file: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    Ok(fs::set_permissions(file, fs::Permissions::from_mode(0o600))?)
}

/// The options for a limit of open files.
pub(crate) fn few(files: usize) -> ProcessOptions {
    ProcessOptions { files: Some(files), ..ProcessOptions::default() }
}

fn start_proxy(
    program: &Path,
    folder: &Path,
    name: &str,
    backends: &Backends,
    limits: &str,
    options: ProcessOptions,
) -> Result<(Proxy, SocketAddr)> {
    let target = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
    let admin = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
    let mut text = format!(
        "workers = 2
drain = 2
{limits}
[admin]
address = \"{admin}\"
[timeouts]
handshake = {}
connect = 1
idle = {}
half_closed = {}
[[listener]]
address = \"{target}\"
certificates = \"{}\"
to = \"{}\"
",
        HANDSHAKE.as_secs(),
        IDLE.as_secs(),
        IDLE.as_secs(),
        folder.join("certificates").display(),
        backends.working.address(),
    );
    let routes = [
        (DOWN, SocketAddr::from((Ipv4Addr::LOCALHOST, backends.down))),
        (SLOW, backends.slow.address()),
        (CLOSES, backends.closes.address()),
        (RESETS, backends.resets.address()),
        (SILENT, backends.silent.address()),
    ];
    for (name, to) in routes {
        text += &format!("[[listener.route]]\nnames = [\"{name}\"]\nto = \"{to}\"\n");
    }
    let config = folder.join(format!("{name}.toml"));
    Ok((Proxy::start(program, &config, &text, admin, options)?, target))
}
