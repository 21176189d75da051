//! A child process that cannot outlive its test: it is killed when its handle is dropped, and when
//! this program is interrupted.
//!
//! The process's three streams are pipes that are always drained, so it never blocks on them.

use std::io::{ErrorKind, Read, Write};
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

/// The longest wait for the last output of a process that has ended.
const OUTPUT_LIMIT: Duration = Duration::from_secs(10);

/// A running program.
#[derive(Debug)]
pub struct Process {
    child: Arc<Mutex<Child>>,
    id: u32,
    output: Collected,
    error_output: Collected,
    /// The sender of bytes for the standard input, which is closed when the sender is dropped.
    input: Option<mpsc::Sender<Vec<u8>>>,
    /// Whether the process has ended and its output was read to the end.
    output_is_whole: bool,
}

/// The bytes that a process has written to one stream.
#[derive(Clone, Debug, Default)]
pub struct Collected {
    bytes: Arc<Mutex<Vec<u8>>>,
    ended: Arc<AtomicBool>,
}

impl Process {
    /// Starts a process with pipes for its three streams.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(command: Command) -> Result<Self> {
        Self::spawn(command, false)
    }

    /// Starts a process whose standard output is sent back to its standard input.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start_echoing(command: Command) -> Result<Self> {
        Self::spawn(command, true)
    }

    /// The process ID.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Sends a signal.
    ///
    /// # Errors
    /// If the process has ended.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        // After the end of the process has been noticed, its ID may belong to another process.
        let mut child = lock(&self.child);
        ensure!(child.try_wait()?.is_none(), "{signal}: the process has ended");
        kill(Pid::from_raw(i32::try_from(self.id())?), signal).with_context(|| format!("{signal}"))
    }

    /// Waits for the end of the process, for at most `limit`.
    ///
    /// # Errors
    /// If it is still running after `limit`.
    pub fn wait(&mut self, limit: Duration) -> Result<ExitStatus> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(status) = self.ended()? {
                return Ok(status);
            }
            ensure!(Instant::now() < deadline, "the process has not ended within {limit:?}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn spawn(mut command: Command, echo: bool) -> Result<Self> {
        // The backtrace of a Rust program would hide its message.
        command.env("RUST_BACKTRACE", "0");
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = children::spawn(piped).with_context(|| format!("cannot start {command:?}"))?;
        let id = lock(&child).id();
        let (stdin, stdout, stderr) = streams(&mut lock(&child))?;
        let (input, chunks) = mpsc::channel();
        thread::spawn(move || feed(stdin, &chunks));
        let (output, error_output) = (Collected::default(), Collected::default());
        collect(stdout, output.clone(), echo.then(|| input.clone()));
        collect(stderr, error_output.clone(), None);
        Ok(Self { child, id, output, error_output, input: Some(input), output_is_whole: false })
    }

    /// Queues bytes for the standard input of the process, without waiting.
    pub fn send_input(&self, bytes: &[u8]) {
        if let Some(input) = &self.input {
            // A process that has ended takes no input. Other functions report its end.
            let _ = input.send(bytes.to_vec());
        }
    }

    /// Closes the standard input of the process after all queued bytes.
    pub fn end_input(&mut self) {
        self.input = None;
    }

    /// The standard output of the process.
    #[must_use]
    pub fn output(&self) -> &Collected {
        &self.output
    }

    /// The standard error of the process.
    #[must_use]
    pub fn error_output(&self) -> &Collected {
        &self.error_output
    }

    /// The standard output of the process, then its standard error.
    #[must_use]
    pub fn all_output(&self) -> String {
        self.output.text() + &self.error_output.text()
    }

    /// The exit status, if the process has ended. Its output is then read to the end.
    ///
    /// # Errors
    /// If the system cannot report it.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        let status = lock(&self.child).try_wait()?;
        if status.is_some() && !self.output_is_whole {
            self.wait_for_output();
            self.output_is_whole = true;
        }
        Ok(status)
    }

    /// Waits until both output streams of a process that has ended are read to their end.
    ///
    /// A child of the process can keep the pipes open, so the wait has a limit.
    fn wait_for_output(&self) {
        let deadline = Instant::now() + OUTPUT_LIMIT;
        while !(self.output.ended() && self.error_output.ended()) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(2));
        }
    }
}

/// The last lines that each process wrote to its standard error.
pub fn last_error_lines<'a>(
    processes: impl Iterator<Item = (&'static str, &'a mut Process)>,
) -> String {
    let mut lines_of_all = String::new();
    for (name, process) in processes {
        // The text of a process that has ended is whole.
        let _ = process.ended();
        let text = process.error_output().text();
        let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        for line in &lines[lines.len().saturating_sub(8)..] {
            lines_of_all += &format!("\n    {name}: {line}");
        }
    }
    lines_of_all
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both calls fail only if the process has already ended.
        let mut child = lock(&self.child);
        let _ = child.kill();
        let _ = child.wait();
    }
}

impl Collected {
    /// The number of bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether nothing was written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All bytes.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.lock().clone()
    }

    /// All bytes as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.lock()).into_owned()
    }

    /// Whether the stream has ended.
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
        loop {
            let count = match stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => break,
            };
            into.lock().extend_from_slice(&buffer[..count]);
            if let Some(echo) = &echo {
                let _ = echo.send(buffer[..count].to_vec());
            }
        }
        into.ended.store(true, Ordering::Release);
    });
}
