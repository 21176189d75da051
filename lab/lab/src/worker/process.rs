//! The process of a worker: start, requests with a timeout, termination.

use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use lab_scenario::Program;
use lab_scenario::protocol::{Reply, Request};
use serde::Serialize;

/// Start options of workers.
#[derive(Clone, Debug, Default)]
pub(crate) struct LaunchOptions {
    /// The allocator for `LD_PRELOAD`.
    pub(crate) preload: Option<PathBuf>,
    /// Whether the allocator is preloaded only into workers whose published program links an
    /// allocator.
    pub(crate) published_allocators: bool,
    /// The file of the allocation counter.
    pub(crate) counter_file: Option<PathBuf>,
    /// A program under which the worker runs, with its arguments.
    pub(crate) wrapper: Vec<String>,
    /// The CPU to which the worker is pinned.
    pub(crate) pin: Option<u32>,
    /// The time allowed for a reply, in addition to the requested measuring time.
    pub(crate) limit: Duration,
}

impl LaunchOptions {
    /// The options for a worker that follows `program` in published accounting.
    pub(crate) fn of(&self, program: Option<Program>) -> Self {
        let mut launch = self.clone();
        if self.published_allocators && program != Some(Program::RustlsBench) {
            launch.preload = None;
        }
        launch
    }
}

/// Checks that a process can be pinned to this CPU.
pub(crate) fn can_pin(cpu: u32) -> Result<()> {
    let mut command = Command::new("taskset");
    let output = command.arg("-c").arg(cpu.to_string()).arg("true").output();
    let output = output.context("--pin requires taskset")?;
    ensure!(output.status.success(), "--pin {cpu}: no such CPU, or not allowed");
    Ok(())
}

/// The number of lines that are kept from the end of a worker's standard error.
const STDERR_LINES: usize = 8;

/// A running worker. Dropping it kills the process.
pub(crate) struct WorkerProcess {
    child: Child,
    input: Option<ChildStdin>,
    replies: Receiver<String>,
    stderr_tail: Arc<Mutex<VecDeque<String>>>,
    limit: Duration,
}

impl WorkerProcess {
    pub(crate) fn start(program: &PathBuf, launch: &LaunchOptions) -> Result<Self> {
        let pinned = launch.pin.map(|cpu| ["taskset".to_owned(), "-c".to_owned(), cpu.to_string()]);
        let mut before = pinned.into_iter().flatten().chain(launch.wrapper.iter().cloned());
        let mut command = match before.next() {
            None => Command::new(program),
            Some(first) => {
                let mut command = Command::new(first);
                command.args(before).arg(program);
                command
            }
        };
        if let Some(library) = &launch.preload {
            command.env("LD_PRELOAD", library);
        }
        match &launch.counter_file {
            Some(figures) => command.env("LAB_ALLOCATIONS", figures),
            None => command.env_remove("LAB_ALLOCATIONS"),
        };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("{}", program.display()))?;
        let input = child.stdin.take();
        let (send, replies) = channel();
        let output = child.stdout.take().context("a pipe")?;
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        let stderr_tail = Arc::new(Mutex::new(VecDeque::new()));
        let (errors, kept) = (child.stderr.take().context("a pipe")?, Arc::clone(&stderr_tail));
        thread::spawn(move || {
            for line in BufReader::new(errors).lines().map_while(Result::ok) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.push_back(line);
                if kept.len() > STDERR_LINES {
                    kept.pop_front();
                }
            }
        });
        Ok(Self { child, input, replies, stderr_tail, limit: launch.limit })
    }

    /// Sends a request and waits for the reply for at most `expected` plus the time limit.
    pub(crate) fn request<R: Serialize>(
        &mut self,
        request: &Request<R>,
        expected: Duration,
    ) -> Result<Reply> {
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        let input = self.input.as_mut().context("the input of the worker is closed")?;
        // A failed write is ignored: if the worker has ended, receiving the reply fails with the
        // end of its standard error.
        let _ = input.write_all(&line).and_then(|()| input.flush());
        match self.replies.recv_timeout(expected + self.limit) {
            Ok(line) => serde_json::from_str(&line)
                .with_context(|| format!("invalid reply: {}", shortened(&line))),
            Err(RecvTimeoutError::Timeout) => {
                bail!("no reply within {} s", (expected + self.limit).as_secs_f32())
            }
            Err(RecvTimeoutError::Disconnected) => bail!("worker exited{}", self.stderr_tail()),
        }
    }

    /// Whether the process has loaded a library of this name.
    pub(crate) fn has_loaded(&self, library: &str) -> bool {
        let maps = fs::read_to_string(format!("/proc/{}/maps", self.child.id()));
        maps.is_ok_and(|maps| maps.contains(library))
    }

    fn stderr_tail(&mut self) -> String {
        // The thread that reads standard error may lag behind the end of standard output.
        let status = self.child.wait().map(|status| format!(" with {status}")).unwrap_or_default();
        thread::sleep(Duration::from_millis(50));
        let words = self.stderr_tail.lock().unwrap_or_else(PoisonError::into_inner);
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        if words.is_empty() { status } else { format!("{status}: {}", words.join(" | ")) }
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        // A worker ends when its input ends, but a worker that hangs must be killed.
        self.input = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn shortened(line: &str) -> String {
    line.chars().take(200).collect()
}
