//! A real store, and what may befall it.
//!
//! Must not know: what is kept there. Next: `process.rs`.

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

/// The programs that can be one, best first.
pub const PROGRAMS: [&str; 2] = ["valkey-server", "redis-server"];

/// How long it may take to start.
const START: Duration = Duration::from_secs(10);

/// What it writes when it is told to.
const SNAPSHOT: &str = "dump.rdb";

/// A running store on 127.0.0.1, which saves nothing by itself.
#[derive(Debug)]
pub struct Store {
    program: PathBuf,
    folder: PathBuf,
    port: u16,
    options: Vec<String>,
    process: Process,
}

/// The program: what `TERCEL_STORE_SERVER` names, or the one that is installed.
#[must_use]
pub fn program() -> Option<PathBuf> {
    // One that is named has to be there.
    let named = std::env::var_os("TERCEL_STORE_SERVER").map(PathBuf::from);
    named.or_else(|| PROGRAMS.into_iter().find_map(program::find))
}

impl Store {
    /// With a folder of its own in this one, and with these options besides those that it needs.
    ///
    /// # Errors
    /// If there is no such program, or it does not come to answer.
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

    /// The same; `None`, and a line that says so, if there is no such program.
    ///
    /// # Errors
    /// If it does not come to answer.
    pub fn start_if_installed(folder: &Path, options: &[&str]) -> Result<Option<Self>> {
        if program().is_none() {
            println!("absent: {}", PROGRAMS.join(", "));
            return Ok(None);
        }
        Self::start(folder, options).map(Some)
    }

    /// Where it is, without TLS.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// It stops to answer, and nobody is told.
    ///
    /// # Errors
    /// If it has ended.
    pub fn freeze(&self) -> Result<()> {
        self.process.signal(Signal::SIGSTOP)
    }

    /// It goes on.
    ///
    /// # Errors
    /// If it has ended.
    pub fn thaw(&self) -> Result<()> {
        self.process.signal(Signal::SIGCONT)
    }

    /// What it calls itself, with its version.
    #[must_use]
    pub fn version(&self) -> String {
        let output = Command::new(&self.program).arg("--version").output();
        let said = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        said.unwrap_or_default().split(" sha=").next().unwrap_or_default().trim().to_owned()
    }

    /// All that is there now, for later.
    ///
    /// # Errors
    /// If it does not say that it has.
    pub fn save(&self) -> Result<()> {
        self.tell("SAVE")
    }

    /// All that is there goes.
    ///
    /// # Errors
    /// If it does not say that it has.
    pub fn flush(&self) -> Result<()> {
        self.tell("FLUSHALL")
    }

    /// Ends it, as the end of its machine would.
    ///
    /// # Errors
    /// If it has ended before.
    pub fn kill(&mut self) -> Result<()> {
        self.process.signal(Signal::SIGKILL)?;
        self.process.wait(Duration::from_secs(5))?;
        Ok(())
    }

    /// Starts again with nothing in it.
    ///
    /// # Errors
    /// If it does not come to answer.
    pub fn start_empty(&mut self) -> Result<()> {
        // There is none if nothing was ever saved.
        let _ = fs::remove_file(self.folder.join(SNAPSHOT));
        self.start_again()
    }

    /// Starts again with what was saved last.
    ///
    /// # Errors
    /// If nothing was saved, or it does not come to answer.
    pub fn start_with_snapshot(&mut self) -> Result<()> {
        ensure!(self.folder.join(SNAPSHOT).is_file(), "nothing was saved");
        self.start_again()
    }

    fn start_again(&mut self) -> Result<()> {
        self.process =
            Process::start(command(&self.program, &self.folder, self.port, &self.options))?;
        self.wait_until_it_answers()
    }

    fn wait_until_it_answers(&self) -> Result<()> {
        // One that wants a password says so, which is an answer too.
        let answers = || self.ask("PING").is_ok_and(|answer| !answer.starts_with("-LOADING"));
        wait_for("the store answers", START, answers).map(drop)
    }

    fn tell(&self, order: &str) -> Result<()> {
        let answer = self.ask(order)?;
        ensure!(answer.starts_with('+'), "{order}: {answer}");
        Ok(())
    }

    /// One command without arguments, answered by one line.
    fn ask(&self, order: &str) -> Result<String> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(START))?;
        write!(stream, "{order}\r\n")?;
        let mut answer = [0; 64];
        let count = stream.read(&mut answer)?;
        let answer = answer.get(..count).context("more than was asked for")?;
        ensure!(!answer.is_empty(), "{order}: no answer");
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
