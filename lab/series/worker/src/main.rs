//! The lab's worker for one release of OpenSSL, of any series from 1.1.1 on. The packages beside this folder
//! are all made of it; each names a release.
//!
//! It uses the interface that all releases have, and where it differs the one that the release's own manual
//! recommends for speed: objects are made once, and from 3.0 on algorithms are fetched once, not by each
//! operation. Connections go through the BIO of the lab's worker for OpenSSL.
//!
//! | to see | look at |
//! |---|---|
//! | which configuration OpenSSL starts with | `library.rs` |
//! | connections | `handshake.rs`, `contexts.rs` |
//! | ciphers and digests | `blocks.rs` |
//! | signatures, ECDH, ML-KEM | `keys.rs` |
//! | what is taken from OpenSSL's headers | `ffi.rs` |

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
    About, Accounting, Files, Measurement, Prepared, Result, Strand, Unable, Worker, at_once,
    serve, together,
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
    ) -> std::result::Result<Box<dyn Prepared>, Unable> {
        if job.tuned && cfg!(openssl_1_1_1) {
            return Err(Unable::cannot("it has no providers"));
        }
        let configuration = if job.tuned { "tuned.cnf" } else { "default.cnf" };
        library::start(&files.other(configuration)).map_err(Unable::Failed)?;
        let strand = strand(&job.task, files)?;
        if job.threads == 1 {
            return strand().map_err(Unable::Failed);
        }
        strand().map_err(Unable::Failed)?;
        Ok(Box::new(Together { strand, threads: job.threads, sides: job.sides() }))
    }
}

/// Makes one thread's part. What threads share is made here.
fn strand(task: &Task, files: &Files) -> std::result::Result<Strand, Unable> {
    let read = |kind: Key| {
        let key = library::Key::read(&files.other(&format!("{}.key", kind.name())));
        key.map(Arc::new).map_err(Unable::Failed)
    };
    Ok(match task.clone() {
        Task::Handshake { version, suite, certificate, group, resumed } => {
            let asked = contexts::Asked { version, suite, certificate, group, resumed };
            let contexts = Arc::new(Contexts::new(asked, files).map_err(Unable::Failed)?);
            Box::new(move || handshake::prepare(Arc::clone(&contexts)))
        }
        Task::Cipher { usage, block } => Box::new(move || blocks::cipher(usage, block)),
        Task::Digest { block } => Box::new(move || blocks::digest(block)),
        Task::MlKem768 => {
            if !keys::has_ml_kem() {
                return Err(Unable::cannot("it has no ML-KEM"));
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

/// The same in several threads.
struct Together {
    strand: Strand,
    threads: usize,
    sides: &'static [&'static str],
}

impl Prepared for Together {
    fn measure(&mut self, budget: Duration) -> Result<Measurement> {
        let parts = at_once(&self.strand, self.threads, budget)?;
        let mut whole = Measurement {
            repetitions: parts.iter().map(|part| part.repetitions).sum(),
            done: parts.first().map(|part| part.done.clone()).unwrap_or_default(),
            ..Measurement::default()
        };
        for side in self.sides {
            whole.sides.insert((*side).to_owned(), together(&parts, side, Accounting::Neutral)?);
        }
        Ok(whole)
    }

    fn slices(&self) -> u32 {
        1
    }
}
