//! A real store, and what may befall it.
//!
//! Must not know: what is kept there. Next: `cluster.rs`, whose store it is.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tercel_harness::ports::free_port;
use tercel_harness::process::{Process, Signal};
use tercel_harness::proxy::wait_for;

/// The program: what `TERCEL_STORE_SERVER` names, or the first of these that is there.
pub(crate) fn program() -> Option<String> {
    let is_there = |program: &String| {
        let mut command = Command::new(program);
        command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let named = std::env::var("TERCEL_STORE_SERVER").ok();
    // One that is named has to be there.
    named
        .or_else(|| ["redis-server", "valkey-server"].map(str::to_owned).into_iter().find(is_there))
}

/// How long it may take to start.
const START: Duration = Duration::from_secs(10);

/// What it writes when it is told to.
const SNAPSHOT: &str = "dump.rdb";

/// A running store on 127.0.0.1, which saves nothing by itself.
#[derive(Debug)]
pub(crate) struct Store {
    program: String,
    folder: PathBuf,
    port: u16,
    process: Process,
}

impl Store {
    pub(crate) fn start(program: &str, folder: &Path) -> Result<Self> {
        let folder = folder.join("store");
        fs::create_dir(&folder)?;
        let port = free_port()?;
        let process = Process::start(command(program, &folder, port))?;
        let store = Self { program: program.to_owned(), folder, port, process };
        store.wait_until_it_answers()?;
        Ok(store)
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// It stops to answer, and nobody is told.
    pub(crate) fn freeze(&self) -> Result<()> {
        self.process.signal(Signal::SIGSTOP)
    }

    pub(crate) fn thaw(&self) -> Result<()> {
        self.process.signal(Signal::SIGCONT)
    }

    /// What it calls itself, with its version.
    pub(crate) fn version(&self) -> String {
        let output = Command::new(&self.program).arg("--version").output();
        let said = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        said.unwrap_or_default().split(" sha=").next().unwrap_or_default().trim().to_owned()
    }

    /// All that is there now, for later.
    pub(crate) fn save(&self) -> Result<()> {
        self.tell("SAVE")
    }

    pub(crate) fn flush(&self) -> Result<()> {
        self.tell("FLUSHALL")
    }

    pub(crate) fn kill(&mut self) -> Result<()> {
        self.process.signal(Signal::SIGKILL)?;
        self.process.wait(Duration::from_secs(5))?;
        Ok(())
    }

    /// Starts again with nothing in it.
    pub(crate) fn start_empty(&mut self) -> Result<()> {
        // There is none if nothing was ever saved.
        let _ = fs::remove_file(self.folder.join(SNAPSHOT));
        self.start_again()
    }

    /// Starts again with what was saved last.
    pub(crate) fn start_with_snapshot(&mut self) -> Result<()> {
        ensure!(self.folder.join(SNAPSHOT).is_file(), "nothing was saved");
        self.start_again()
    }

    fn start_again(&mut self) -> Result<()> {
        self.process = Process::start(command(&self.program, &self.folder, self.port))?;
        self.wait_until_it_answers()
    }

    fn wait_until_it_answers(&self) -> Result<()> {
        wait_for("the store answers", START, || self.tell("PING").is_ok()).map(drop)
    }

    /// One command without arguments, answered by one line.
    fn tell(&self, order: &str) -> Result<()> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(START))?;
        write!(stream, "{order}\r\n")?;
        let mut answer = [0; 64];
        let count = stream.read(&mut answer)?;
        let answer = answer.get(..count).context("more than was asked for")?;
        ensure!(answer.starts_with(b"+"), "{order}: {}", String::from_utf8_lossy(answer));
        Ok(())
    }
}

fn command(program: &str, folder: &Path, port: u16) -> Command {
    let mut command = Command::new(program);
    command.args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", ""]);
    command.args(["--appendonly", "no", "--dbfilename", SNAPSHOT, "--dir"]).arg(folder);
    command
}
