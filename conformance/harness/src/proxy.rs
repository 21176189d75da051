//! A running `tercel proxy`: started from a configuration of ours, asked for its figures.
//!
//! Must not know: what befalls it. Next: `metrics.rs`, which reads what it answers.

use std::fmt::Write as _;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::metrics::{Samples, get};
use crate::process::{Process, Signal};
use crate::vitals::Vitals;

/// How long it may take until it serves.
const START: Duration = Duration::from_secs(10);

/// What the program runs under.
#[derive(Clone, Default, Debug)]
pub struct Terms {
    /// How many files it may have open, if that is to be fewer than the system allows.
    pub files: Option<usize>,
    /// What it finds in its environment besides what is there.
    pub environment: Vec<(&'static str, String)>,
}

/// A program, its configuration, and where it tells of itself.
#[derive(Debug)]
pub struct Proxy {
    program: PathBuf,
    config: PathBuf,
    admin: SocketAddr,
    terms: Terms,
    process: Process,
}

impl Proxy {
    /// Writes the configuration to this file, starts the program and waits until it serves.
    ///
    /// The configuration has to say that `/metrics` is at `admin`.
    ///
    /// # Errors
    /// If it does not come to serve within ten seconds; with what it said.
    pub fn start(
        program: &Path,
        config: &Path,
        text: &str,
        admin: SocketAddr,
        terms: Terms,
    ) -> Result<Self> {
        fs::write(config, text)?;
        let process = Process::start(command(program, config, &terms))?;
        let mut proxy =
            Self { program: program.to_owned(), config: config.to_owned(), admin, terms, process };
        proxy.wait_until_serving()?;
        Ok(proxy)
    }

    /// Starts it again, after it has ended.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_again(&mut self) -> Result<()> {
        self.process = Process::start(command(&self.program, &self.config, &self.terms))?;
        self.wait_until_serving()
    }

    /// Sends it a signal.
    ///
    /// # Errors
    /// If it has ended.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        self.process.signal(signal)
    }

    /// Its process.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// The number of its process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// What it says to Prometheus.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn metrics(&self) -> Result<Samples> {
        Samples::scrape(self.admin)
    }

    /// Its memory and files.
    ///
    /// # Errors
    /// If it has ended.
    pub fn vitals(&self) -> Result<Vitals> {
        Vitals::of(self.process.id())
    }

    /// The last lines it wrote.
    #[must_use]
    pub fn last_lines(&self, count: usize) -> String {
        let said = self.process.said();
        let lines: Vec<_> = said.lines().filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(count)..].iter().fold(String::new(), |mut text, line| {
            let _ = write!(text, "\n    {line}");
            text
        })
    }

    fn wait_until_serving(&mut self) -> Result<()> {
        let deadline = Instant::now() + START;
        loop {
            if get(self.admin, "/healthz").is_ok_and(|(status, _)| status == 200) {
                return Ok(());
            }
            if let Some(status) = self.process.ended()? {
                // Its last words may still be in the pipe.
                thread::sleep(Duration::from_millis(50));
                bail!("tercel proxy ended with {status}:{}", self.last_lines(8));
            }
            let lines = self.last_lines(8);
            ensure!(Instant::now() < deadline, "tercel proxy does not serve:{lines}");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

fn command(program: &Path, config: &Path, terms: &Terms) -> Command {
    let mut command = match terms.files {
        None => Command::new(program),
        Some(files) => {
            // Both limits: a program may raise the soft one as far as the hard one.
            let mut command = Command::new("sh");
            command.arg("-c").arg(format!("ulimit -n {files}; exec \"$@\"")).arg("sh").arg(program);
            command
        }
    };
    command.envs(terms.environment.iter().map(|(name, value)| (name, value)));
    command.arg("proxy").arg("--config").arg(config);
    command
}

/// Waits until something holds, or says what did not.
///
/// # Errors
/// If it does not within `limit`.
pub fn wait_for(what: &str, limit: Duration, mut holds: impl FnMut() -> bool) -> Result<Duration> {
    let start = Instant::now();
    while !holds() {
        ensure!(start.elapsed() < limit, "not within {limit:?}: {what}");
        thread::sleep(Duration::from_millis(20));
    }
    Ok(start.elapsed())
}

/// The roots in a PEM text, for clients of ours.
///
/// # Errors
/// If there are none.
pub fn roots(pem: &str) -> Result<tercel::pki::Roots> {
    let mut roots = tercel::pki::Roots::new();
    roots.add_pem(pem.as_bytes()).context("roots")?;
    Ok(roots)
}
