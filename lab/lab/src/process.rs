//! A worker's process: started, asked, and ended whatever it does.
//!
//! Must not know: what rows mean. Next: [`lab_scenario::protocol`].

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

/// How workers are started, the same for all.
#[derive(Clone, Debug, Default)]
pub(crate) struct Launch {
    /// An allocator loaded ahead of the C library's.
    pub(crate) preload: Option<PathBuf>,
    /// Whether only workers that follow a program with an allocator of its own get that.
    pub(crate) as_programs: bool,
    /// Where a counter of allocations keeps its figures.
    pub(crate) figures: Option<PathBuf>,
    /// A program that runs the worker, and its arguments.
    pub(crate) under: Vec<String>,
    /// The CPU to stay on.
    pub(crate) pin: Option<u32>,
    /// For how long a worker may say nothing, beyond what it was asked to measure.
    pub(crate) limit: Duration,
}

impl Launch {
    /// How a worker that follows this program is started.
    pub(crate) fn of(&self, program: Option<Program>) -> Self {
        let mut launch = self.clone();
        if self.as_programs && program != Some(Program::RustlsBench) {
            launch.preload = None;
        }
        launch
    }
}

/// Whether a program can be kept on this CPU.
pub(crate) fn can_pin(cpu: u32) -> Result<()> {
    let mut command = Command::new("taskset");
    let output = command.arg("-c").arg(cpu.to_string()).arg("true").output();
    let output = output.context("--pin wants the program taskset")?;
    ensure!(output.status.success(), "--pin {cpu}: there is no such CPU, or it is not for us");
    Ok(())
}

/// Lines of a worker's standard error that are kept.
const LAST_WORDS: usize = 8;

/// A worker under way. Dropping it ends it.
pub(crate) struct Process {
    child: Child,
    input: Option<ChildStdin>,
    replies: Receiver<String>,
    last_words: Arc<Mutex<VecDeque<String>>>,
    limit: Duration,
}

impl Process {
    pub(crate) fn start(program: &PathBuf, launch: &Launch) -> Result<Self> {
        let pinned = launch.pin.map(|cpu| ["taskset".to_owned(), "-c".to_owned(), cpu.to_string()]);
        let mut before = pinned.into_iter().flatten().chain(launch.under.iter().cloned());
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
        match &launch.figures {
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
        let last_words = Arc::new(Mutex::new(VecDeque::new()));
        let (errors, kept) = (child.stderr.take().context("a pipe")?, Arc::clone(&last_words));
        thread::spawn(move || {
            for line in BufReader::new(errors).lines().map_while(Result::ok) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.push_back(line);
                if kept.len() > LAST_WORDS {
                    kept.pop_front();
                }
            }
        });
        Ok(Self { child, input, replies, last_words, limit: launch.limit })
    }

    /// Asks and waits for the answer, which may take `expected` and the time limit.
    pub(crate) fn ask<R: Serialize>(
        &mut self,
        request: &Request<R>,
        expected: Duration,
    ) -> Result<Reply> {
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        let input = self.input.as_mut().context("it has been told to go")?;
        // A worker that is gone is found out below, with its last words.
        let _ = input.write_all(&line).and_then(|()| input.flush());
        match self.replies.recv_timeout(expected + self.limit) {
            Ok(line) => serde_json::from_str(&line)
                .with_context(|| format!("not an answer: {}", shortened(&line))),
            Err(RecvTimeoutError::Timeout) => {
                bail!("no answer within {} s", (expected + self.limit).as_secs_f32())
            }
            Err(RecvTimeoutError::Disconnected) => bail!("it ended{}", self.last_words()),
        }
    }

    /// Whether a library of this name is in the process.
    pub(crate) fn has_loaded(&self, library: &str) -> bool {
        let maps = fs::read_to_string(format!("/proc/{}/maps", self.child.id()));
        maps.is_ok_and(|maps| maps.contains(library))
    }

    fn last_words(&mut self) -> String {
        // The end of its output is seen before its errors are all read, perhaps.
        let status = self.child.wait().map(|status| format!(" with {status}")).unwrap_or_default();
        thread::sleep(Duration::from_millis(50));
        let words = self.last_words.lock().unwrap_or_else(PoisonError::into_inner);
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        if words.is_empty() { status } else { format!("{status}: {}", words.join(" | ")) }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The end of its input is its sign to go; one that hangs does not see it.
        self.input = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn shortened(line: &str) -> String {
    line.chars().take(200).collect()
}
