//! A real Redis or Valkey, with its failures.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::ports::free_port;
use crate::process::{Process, Signal};
use crate::program;
use crate::proxy::wait_for;

/// The programs that can serve as a store, in order of preference.
pub const PROGRAMS: [&str; 2] = ["valkey-server", "redis-server"];

/// The time limit for starting.
const START: Duration = Duration::from_secs(60);

/// The file that SAVE writes.
const SNAPSHOT: &str = "dump.rdb";

/// A running store on 127.0.0.1, without automatic snapshots.
#[derive(Debug)]
pub struct Store {
    program: PathBuf,
    folder: PathBuf,
    port: u16,
    options: Vec<String>,
    process: Process,
}

/// The program named by `TERCEL_STORE_SERVER`, or else the first one installed.
#[must_use]
pub fn program() -> Option<PathBuf> {
    // If a program is named explicitly, no other program is used instead.
    let named = std::env::var_os("TERCEL_STORE_SERVER").map(PathBuf::from);
    named.or_else(|| PROGRAMS.into_iter().find_map(program::find))
}

impl Store {
    /// Starts a store with its own folder in `folder`, and with these additional options.
    ///
    /// # Errors
    /// If no such program is installed, or it does not answer.
    pub fn start(folder: &Path, options: &[&str]) -> Result<Self> {
        let program = program().with_context(|| format!("no {}", PROGRAMS.join(", no ")))?;
        let folder = folder.join("store");
        fs::create_dir(&folder)?;
        let port = free_port()?;
        let options: Vec<_> = options.iter().map(|option| (*option).to_owned()).collect();
        let process = Process::start(command(&program, &folder, port, &options))?;
        let store = Self { program, folder, port, options, process };
        store.wait_until_it_answers()?;
        Ok(store)
    }

    /// Starts a store like [`Self::start`]. If no such program is installed, prints a line and
    /// returns `None`.
    ///
    /// # Errors
    /// If the store does not answer.
    pub fn start_if_installed(folder: &Path, options: &[&str]) -> Result<Option<Self>> {
        if program().is_none() {
            println!("absent: {}", PROGRAMS.join(", "));
            return Ok(None);
        }
        Self::start(folder, options).map(Some)
    }

    /// The address of the store, without TLS.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Stops the process with SIGSTOP, so that it answers no more but its connections stay open.
    ///
    /// # Errors
    /// If it has ended.
    pub fn freeze(&self) -> Result<()> {
        self.process.signal(Signal::SIGSTOP)
    }

    /// Continues the process with SIGCONT.
    ///
    /// # Errors
    /// If it has ended.
    pub fn thaw(&self) -> Result<()> {
        self.process.signal(Signal::SIGCONT)
    }

    /// The name and version that the program reports.
    #[must_use]
    pub fn version(&self) -> String {
        let output = Command::new(&self.program).arg("--version").output();
        let output = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        output.unwrap_or_default().split(" sha=").next().unwrap_or_default().trim().to_owned()
    }

    /// Saves all data to a snapshot.
    ///
    /// # Errors
    /// If the store does not confirm it.
    pub fn save(&self) -> Result<()> {
        self.run_command("SAVE")
    }

    /// Removes all data.
    ///
    /// # Errors
    /// If the store does not confirm it.
    pub fn flush(&self) -> Result<()> {
        self.run_command("FLUSHALL")
    }

    /// Kills the process with SIGKILL, as if its machine had failed.
    ///
    /// # Errors
    /// If it has already ended.
    pub fn kill(&mut self) -> Result<()> {
        self.process.signal(Signal::SIGKILL)?;
        self.process.wait(START)?;
        Ok(())
    }

    /// Starts the store again without data.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn start_empty(&mut self) -> Result<()> {
        // The file does not exist if nothing was saved.
        let _ = fs::remove_file(self.folder.join(SNAPSHOT));
        self.restart()
    }

    /// Starts the store again with the last snapshot.
    ///
    /// # Errors
    /// If there is no snapshot, or the store does not answer.
    pub fn start_with_snapshot(&mut self) -> Result<()> {
        ensure!(self.folder.join(SNAPSHOT).is_file(), "no snapshot");
        self.restart()
    }

    fn restart(&mut self) -> Result<()> {
        self.process =
            Process::start(command(&self.program, &self.folder, self.port, &self.options))?;
        self.wait_until_it_answers()
    }

    fn wait_until_it_answers(&self) -> Result<()> {
        // A store that requires a password answers with an error, which also counts as an answer.
        let answers =
            || self.send_command("PING").is_ok_and(|answer| !answer.starts_with("-LOADING"));
        wait_for("the store answers", START, answers).map(drop)
    }

    fn run_command(&self, command: &str) -> Result<()> {
        let answer = self.send_command(command)?;
        ensure!(answer.starts_with('+'), "{command}: {answer}");
        Ok(())
    }

    /// Sends a command without arguments and reads one line.
    fn send_command(&self, command: &str) -> Result<String> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(START))?;
        write!(stream, "{command}\r\n")?;
        let mut answer = [0; 64];
        let count = stream.read(&mut answer)?;
        let answer = answer.get(..count).context("the answer is longer than the buffer")?;
        ensure!(!answer.is_empty(), "{command}: no answer");
        Ok(String::from_utf8_lossy(answer).into_owned())
    }
}

fn command(program: &Path, folder: &Path, port: u16, options: &[String]) -> Command {
    let mut command = Command::new(program);
    command.args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", ""]);
    command.args(["--appendonly", "no", "--dbfilename", SNAPSHOT, "--dir"]).arg(folder);
    command.args(options);
    command
}
