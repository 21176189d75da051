//! A child process that cannot outlive its test: killed by its own handle when dropped, and with a run that is
//! interrupted.
//!
//! Its three streams are pipes and are always drained, so it can never block on us. This module
//! must not know TLS. Next: `children.rs`; `proxy.rs`, one such program.

use std::io::{Read, Write};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
pub use nix::sys::signal::Signal;
use nix::sys::signal::kill;
use nix::unistd::Pid;

use crate::children::{self, lock};

/// A running program.
#[derive(Debug)]
pub struct Process {
    child: Arc<Mutex<Child>>,
    id: u32,
    output: Collected,
    complaints: Collected,
    /// Bytes for its standard input; closed by `end_input`.
    input: Option<mpsc::Sender<Vec<u8>>>,
}

/// What a process wrote to one stream so far.
#[derive(Clone, Debug, Default)]
pub struct Collected {
    bytes: Arc<Mutex<Vec<u8>>>,
    ended: Arc<AtomicBool>,
}

impl Process {
    /// Starts it, with pipes for its three streams.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(command: Command) -> Result<Self> {
        Self::spawn(command, false)
    }

    /// Like `start`, and what it writes to its standard output is also what it is given to read.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start_echoing(command: Command) -> Result<Self> {
        Self::spawn(command, true)
    }

    /// Its number in the system.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Sends it a signal.
    ///
    /// # Errors
    /// If it has gone.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        // Once its end was noticed its number may be another's.
        let mut child = lock(&self.child);
        ensure!(child.try_wait()?.is_none(), "{signal}: it has ended");
        kill(Pid::from_raw(i32::try_from(self.id())?), signal).with_context(|| format!("{signal}"))
    }

    /// How it ended, once it has; no longer than this.
    ///
    /// # Errors
    /// If it goes on.
    pub fn wait(&mut self, limit: Duration) -> Result<ExitStatus> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(status) = self.ended()? {
                return Ok(status);
            }
            ensure!(Instant::now() < deadline, "has not ended within {limit:?}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn spawn(mut command: Command, echo: bool) -> Result<Self> {
        // A Rust program's backtrace would only bury its message.
        command.env("RUST_BACKTRACE", "0");
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = children::spawn(piped).with_context(|| format!("cannot start {command:?}"))?;
        let id = lock(&child).id();
        let (stdin, stdout, stderr) = streams(&mut lock(&child))?;
        let (input, chunks) = mpsc::channel();
        thread::spawn(move || feed(stdin, &chunks));
        let (output, complaints) = (Collected::default(), Collected::default());
        collect(stdout, output.clone(), echo.then(|| input.clone()));
        collect(stderr, complaints.clone(), None);
        Ok(Self { child, id, output, complaints, input: Some(input) })
    }

    /// Hands it bytes to read, without waiting.
    pub fn give(&self, bytes: &[u8]) {
        if let Some(input) = &self.input {
            // A process that has gone takes nothing; its end is noticed elsewhere.
            let _ = input.send(bytes.to_vec());
        }
    }

    /// Closes its standard input, once everything given has been taken.
    pub fn end_input(&mut self) {
        self.input = None;
    }

    /// What it wrote to its standard output.
    #[must_use]
    pub fn output(&self) -> &Collected {
        &self.output
    }

    /// What it wrote to its standard error.
    #[must_use]
    pub fn complaints(&self) -> &Collected {
        &self.complaints
    }

    /// Both, one after the other.
    #[must_use]
    pub fn said(&self) -> String {
        self.output.text() + &self.complaints.text()
    }

    /// How it ended, if it has.
    ///
    /// # Errors
    /// If the system does not tell.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        Ok(lock(&self.child).try_wait()?)
    }
}

/// The last lines that each process wrote to its standard error.
pub fn last_words<'a>(processes: impl Iterator<Item = (&'static str, &'a mut Process)>) -> String {
    let mut words = String::new();
    for (who, process) in processes {
        // The last words of a program that has just ended may still be in the pipe.
        let patience = Instant::now() + Duration::from_millis(200);
        while process.ended().is_ok_and(|ended| ended.is_some())
            && !process.complaints().ended()
            && Instant::now() < patience
        {
            thread::sleep(Duration::from_millis(2));
        }
        let text = process.complaints().text();
        let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        for line in &lines[lines.len().saturating_sub(8)..] {
            words += &format!("\n    {who}: {line}");
        }
    }
    words
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only when it has ended already.
        let mut child = lock(&self.child);
        let _ = child.kill();
        let _ = child.wait();
    }
}

impl Collected {
    /// How many bytes it wrote.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether it has written nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All it wrote.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.lock().clone()
    }

    /// The same as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.lock()).into_owned()
    }

    /// Nothing more will come.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        lock(&self.bytes)
    }
}

fn streams(child: &mut Child) -> Result<(ChildStdin, ChildStdout, ChildStderr)> {
    let stdin = child.stdin.take().context("no standard input")?;
    let stdout = child.stdout.take().context("no standard output")?;
    let stderr = child.stderr.take().context("no standard error")?;
    Ok((stdin, stdout, stderr))
}

fn feed(mut stdin: ChildStdin, chunks: &mpsc::Receiver<Vec<u8>>) {
    for chunk in chunks {
        if stdin.write_all(&chunk).is_err() {
            return;
        }
    }
}

fn collect(
    mut stream: impl Read + Send + 'static,
    into: Collected,
    echo: Option<mpsc::Sender<Vec<u8>>>,
) {
    thread::spawn(move || {
        let mut buffer = [0; 16 * 1024];
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            into.lock().extend_from_slice(&buffer[..count]);
            if let Some(echo) = &echo {
                let _ = echo.send(buffer[..count].to_vec());
            }
        }
        into.ended.store(true, Ordering::Release);
    });
}
