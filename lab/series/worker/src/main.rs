//! Worker for one release of OpenSSL from 1.1.1 on. The packages in the parent directory share this
//! code. Each package selects a release.
//!
//! The worker uses the interface that all releases have. Where releases differ, it follows the
//! release's manual for speed: objects are created once, and from 3.0 on algorithms are fetched
//! once and not by each operation. Connections use the BIO of the worker for OpenSSL.
//!
//! | topic | file |
//! |---|---|
//! | initialization | `library.rs` |
//! | connections | `handshake.rs`, `contexts.rs` |
//! | ciphers and digests | `blocks.rs` |
//! | signatures, ECDH, ML-KEM | `keys.rs` |
//! | declarations of OpenSSL's headers | `ffi.rs` |

mod blocks;
mod contexts;
mod ffi;
mod handshake;
mod keys;
mod library;
mod repeated;
#[path = "../../../workers/openssl/src/transport.rs"]
mod transport;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use lab_scenario::protocol::VERSION;
use lab_scenario::series::{Job, Key, Task};
use lab_scenario::{
    About, Accounting, Files, Measurement, PrepareError, PreparedTask, Result, ThreadSetup, Worker,
    combined_time, run_threads, serve,
};

use contexts::Contexts;

fn main() -> ExitCode {
    serve(Series)
}

struct Series;

impl Worker<Job> for Series {
    fn about(&self) -> About {
        About {
            protocol: VERSION,
            library: "OpenSSL".to_owned(),
            version: library::version(),
            crypto: "its own".to_owned(),
            interface: "a BIO over fixed buffers; EVP".to_owned(),
            build: library::flags(),
            ..About::default()
        }
    }

    fn prepare(
        &mut self,
        job: &Job,
        files: &Files,
    ) -> std::result::Result<Box<dyn PreparedTask>, PrepareError> {
        if job.tuned && cfg!(openssl_1_1_1) {
            return Err(PrepareError::unsupported("the release has no providers"));
        }
        let configuration = if job.tuned { "tuned.cnf" } else { "default.cnf" };
        library::start(&files.other(configuration)).map_err(PrepareError::Failed)?;
        let thread_setup = thread_setup(&job.task, files)?;
        if job.threads == 1 {
            return thread_setup().map_err(PrepareError::Failed);
        }
        thread_setup().map_err(PrepareError::Failed)?;
        Ok(Box::new(Together { thread_setup, threads: job.threads, sides: job.sides() }))
    }
}

/// Prepares the task of a thread. Objects that threads share are created here.
fn thread_setup(task: &Task, files: &Files) -> std::result::Result<ThreadSetup, PrepareError> {
    let read = |kind: Key| {
        let key = library::Key::read(&files.other(&format!("{}.key", kind.name())));
        key.map(Arc::new).map_err(PrepareError::Failed)
    };
    Ok(match task.clone() {
        Task::Handshake { version, suite, certificate, group, resumed } => {
            let expected =
                contexts::ExpectedParameters { version, suite, certificate, group, resumed };
            let contexts = Arc::new(Contexts::new(expected, files).map_err(PrepareError::Failed)?);
            Box::new(move || handshake::prepare(Arc::clone(&contexts)))
        }
        Task::Cipher { usage, block } => Box::new(move || blocks::cipher(usage, block)),
        Task::Digest { block } => Box::new(move || blocks::digest(block)),
        Task::MlKem768 => {
            if !keys::has_ml_kem() {
                return Err(PrepareError::unsupported("the release has no ML-KEM"));
            }
            Box::new(keys::ml_kem)
        }
        Task::Signature { key: kind } => {
            let key = read(kind)?;
            Box::new(move || keys::signature(&key, kind))
        }
        Task::Agreement { key: kind } => {
            let key = read(kind)?;
            Box::new(move || keys::agreement(&key))
        }
    })
}

/// A task that runs in several threads.
struct Together {
    thread_setup: ThreadSetup,
    threads: usize,
    sides: &'static [&'static str],
}

impl PreparedTask for Together {
    fn measure(&mut self, budget: Duration) -> Result<Measurement> {
        let parts = run_threads(&self.thread_setup, self.threads, budget)?;
        let mut whole = Measurement {
            repetitions: parts.iter().map(|part| part.repetitions).sum(),
            done: parts.first().map(|part| part.done.clone()).unwrap_or_default(),
            ..Measurement::default()
        };
        for side in self.sides {
            whole
                .sides
                .insert((*side).to_owned(), combined_time(&parts, side, Accounting::Neutral)?);
        }
        Ok(whole)
    }

    fn slices(&self) -> u32 {
        1
    }
}
