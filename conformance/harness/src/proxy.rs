//! A running `tercel proxy`, started with a given configuration, and its metrics.

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
use crate::resources::Resources;

/// The time limit for starting to serve.
const START: Duration = Duration::from_secs(60);

/// The limits and the environment of the program.
#[derive(Clone, Default, Debug)]
pub struct ProcessOptions {
    /// The limit of open files, if it is lower than the system's.
    pub files: Option<usize>,
    /// The file that is the standard error, in place of a pipe that is read.
    pub error_output: Option<PathBuf>,
    /// Additional environment variables.
    pub environment: Vec<(&'static str, String)>,
}

/// A program, its configuration, and its admin address.
#[derive(Debug)]
pub struct Proxy {
    program: PathBuf,
    config: PathBuf,
    admin: SocketAddr,
    options: ProcessOptions,
    process: Process,
}

impl Proxy {
    /// Writes the configuration to this file, starts the program and waits until it serves.
    ///
    /// The configuration must set `admin` as the address of `/metrics`.
    ///
    /// # Errors
    /// If the program does not serve within ten seconds. The error contains the program's last
    /// output.
    pub fn start(
        program: &Path,
        config: &Path,
        text: &str,
        admin: SocketAddr,
        options: ProcessOptions,
    ) -> Result<Self> {
        fs::write(config, text)?;
        let process = Process::start(command(program, config, &options))?;
        let mut proxy = Self {
            program: program.to_owned(),
            config: config.to_owned(),
            admin,
            options,
            process,
        };
        proxy.wait_until_serving()?;
        Ok(proxy)
    }

    /// Starts the terminator again after it has ended.
    ///
    /// # Errors
    /// The errors of [`Self::start`].
    pub fn restart(&mut self) -> Result<()> {
        self.process = Process::start(command(&self.program, &self.config, &self.options))?;
        self.wait_until_serving()
    }

    /// Sends the program a signal.
    ///
    /// # Errors
    /// If it has ended.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        self.process.signal(signal)
    }

    /// Replaces the configuration, and lets the program read it.
    ///
    /// # Errors
    /// If the file cannot be written, or the program has ended.
    pub fn reload(&self, text: &str) -> Result<()> {
        fs::write(&self.config, text)?;
        self.signal(Signal::SIGHUP)
    }

    /// The address of `/metrics`.
    #[must_use]
    pub fn admin(&self) -> SocketAddr {
        self.admin
    }

    /// The process of the program.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// The process ID.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// The current metrics of the program.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn metrics(&self) -> Result<Samples> {
        Samples::scrape(self.admin)
    }

    /// The memory and the open files of the program.
    ///
    /// # Errors
    /// If it has ended.
    pub fn resources(&self) -> Result<Resources> {
        Resources::of(self.process.id())
    }

    /// The last lines of the program's output.
    #[must_use]
    pub fn last_lines(&self, count: usize) -> String {
        let output = self.process.all_output();
        let lines: Vec<_> = output.lines().filter(|line| !line.trim().is_empty()).collect();
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
                bail!("tercel proxy ended with {status}:{}", self.last_lines(8));
            }
            let lines = self.last_lines(8);
            ensure!(Instant::now() < deadline, "tercel proxy does not serve:{lines}");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

fn command(program: &Path, config: &Path, options: &ProcessOptions) -> Command {
    let mut command = match (options.files, &options.error_output) {
        (None, None) => Command::new(program),
        (files, error_output) => {
            // `ulimit` sets both limits, because a program may raise the soft limit up to the hard
            // limit.
            let limit = files.map_or(String::new(), |files| format!("ulimit -n {files}; "));
            let redirection = if error_output.is_some() { " 2>\"$0\"" } else { "" };
            let mut command = Command::new("sh");
            command.arg("-c").arg(format!("{limit}exec \"$@\"{redirection}"));
            match error_output {
                Some(file) => command.arg(file),
                None => command.arg("sh"),
            };
            command.arg(program);
            command
        }
    };
    command.envs(options.environment.iter().map(|(name, value)| (name, value)));
    command.arg("proxy").arg("--config").arg(config);
    command
}

/// Waits until a condition holds, and returns the time until then.
///
/// # Errors
/// If the condition does not hold within `limit`. The error names the condition with `what`.
pub fn wait_for(what: &str, limit: Duration, mut holds: impl FnMut() -> bool) -> Result<Duration> {
    let start = Instant::now();
    while !holds() {
        ensure!(start.elapsed() < limit, "not within {limit:?}: {what}");
        thread::sleep(Duration::from_millis(20));
    }
    Ok(start.elapsed())
}

/// The roots in a PEM text, for clients of the proxy.
///
/// # Errors
/// If there are none.
pub fn roots(pem: &str) -> Result<tercel::pki::Roots> {
    let mut roots = tercel::pki::Roots::new();
    roots.add_pem(pem.as_bytes()).context("roots")?;
    Ok(roots)
}
