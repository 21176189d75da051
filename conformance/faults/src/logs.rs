//! Standard error that cannot be written or is not read, while certificates are renewed.

use std::fs::{File, OpenOptions};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use tercel::ServerName;
use tercel::pki::Roots;
use tercel::wire::ProtocolVersion;
use tercel_harness::clients::{self, Load};
use tercel_harness::http;
use tercel_harness::process::Signal;
use tercel_harness::proxy::{ProcessOptions, Proxy, wait_for};
use tercel_tokio::{Connector, TlsStream};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

use crate::phase::{self, Line};
use crate::setup::{Setup, WORKING, write_certificate};

/// How long the terminators run, and a quick run at least.
const TIME: Duration = Duration::from_secs(60);
const TIME_QUICK: Duration = Duration::from_secs(6);

/// The time limit for noticing a renewal.
const NOTICED: Duration = Duration::from_secs(30);

/// The time limit for filling the queue of lines that are not written.
const COUNTED: Duration = Duration::from_secs(300);

/// A terminator with one kind of standard error.
struct Site {
    name: &'static str,
    proxy: Proxy,
    target: SocketAddr,
    load: Load,
    /// A pipe that is not read.
    _pipe: Option<File>,
    faults: Vec<String>,
}

/// Runs three terminators at the same time: they log to a full disk, to a pipe whose reader has
/// ended, and to one whose reader does not read.
pub(crate) fn run(
    setup: &Setup,
    runtime: &Runtime,
    roots: &Roots,
    quick: bool,
) -> Result<Vec<Line>> {
    let start = Instant::now();
    let mut sites = Vec::new();
    for (name, file) in
        [("log on a full disk", None), ("log closed", Some(true)), ("log not read", Some(false))]
    {
        let (path, pipe) = match file {
            None => (PathBuf::from("/dev/full"), None),
            Some(_) => pipe(&setup.folder.path().join(name))?,
        };
        let options = ProcessOptions { error_output: Some(path), ..ProcessOptions::default() };
        let log = "[log]\nlevel = \"debug\"\n";
        let (proxy, target) = setup.start_another_with(name, log, options)?;
        let load = Load::start(crate::regular_clients(target), roots)?;
        let pipe = pipe.filter(|_| file == Some(false));
        sites.push(Site { name, proxy, target, load, _pipe: pipe, faults: Vec::new() });
    }
    let time = if quick { TIME_QUICK } else { TIME };
    for renewal in 1..=3 {
        let before = runtime.block_on(clients::certificate(sites[0].target, roots, WORKING))?;
        write_certificate(&setup.authority, &setup.certificates(), WORKING)?;
        for site in &mut sites {
            let renewed = wait_for("a renewed certificate is in use", NOTICED, || {
                let now = runtime.block_on(clients::certificate(site.target, roots, WORKING));
                now.is_ok_and(|now| now != before)
            });
            site.faults.extend(renewed.err().map(|error| format!("{renewal}: {error}")));
            site.proxy.signal(Signal::SIGHUP)?;
        }
        thread::sleep((time / 3 * renewal).saturating_sub(start.elapsed()));
    }
    sites.into_iter().map(|site| site.finish(start, runtime, roots, quick)).collect()
}

impl Site {
    /// Drains the terminator while a connection is open.
    fn finish(
        mut self,
        start: Instant,
        runtime: &Runtime,
        roots: &Roots,
        quick: bool,
    ) -> Result<Line> {
        // The queue and the pipe hold the lines of half a minute, and of more on a busy machine.
        if !(quick && self.name == "log not read") {
            let counted = wait_for("a dropped line is counted", COUNTED, || {
                let metrics = self.proxy.metrics();
                metrics.is_ok_and(|now| now.sum("tercel_log_lines_dropped_total", &[]) >= 1.0)
            });
            self.faults.extend(counted.err().map(|error| error.to_string()));
        }
        let mut open = runtime.block_on(connect(self.target, roots))?;
        let regular = self.load.stop()?;
        self.proxy.signal(Signal::SIGTERM)?;
        let answered = runtime.block_on(async {
            // The drain has begun when the listener is closed.
            while TcpStream::connect(self.target).await.is_ok() {}
            ask(&mut open).await?;
            open.shutdown().await
        });
        self.faults.extend(answered.err().map(|error| format!("in the drain: {error}")));
        let status = self.proxy.process().wait(Duration::from_secs(60))?;
        if !status.success() {
            self.faults.push(format!("the terminator ended: {status}"));
        }
        Ok(Line {
            name: self.name.to_owned(),
            took: start.elapsed(),
            regular: regular.len(),
            regular_failed: phase::failures(&regular),
            slowest: phase::percentile(&regular, 99),
            ..Line::of_another_terminator(self.faults)
        })
    }
}

/// A named pipe, opened for reading, so that it can be opened for writing.
fn pipe(path: &Path) -> Result<(PathBuf, Option<File>)> {
    mkfifo(path, Mode::S_IRUSR | Mode::S_IWUSR)?;
    // Linux opens a pipe for both directions without waiting.
    let pipe = OpenOptions::new().read(true).write(true).open(path).context("named pipe")?;
    Ok((path.to_owned(), Some(pipe)))
}

/// A connection on which a request was answered.
async fn connect(target: SocketAddr, roots: &Roots) -> Result<TlsStream<TcpStream>> {
    let config = clients::client_config(roots.clone(), ProtocolVersion::TLS1_3, false)?;
    let transport = clients::connect(target, None).await?;
    let server = ServerName::try_from(WORKING)?;
    let mut stream = Connector::new(config).connect(server, transport).await?;
    ask(&mut stream).await?;
    Ok(stream)
}

async fn ask(stream: &mut TlsStream<TcpStream>) -> std::io::Result<()> {
    stream.write_all(&http::request("/", false)).await?;
    http::answer(stream).await.map(drop)
}
