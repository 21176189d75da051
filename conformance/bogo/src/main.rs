//! The program through which BoringSSL's test runner drives the library.
//!
//! One process a test. The runner says with flags what to connect as, what to do and what to expect, listens
//! on a port, and misbehaves there; it judges by what it sees, by the exit code and by the word on stderr.
//!
//! | to see | look at |
//! |---|---|
//! | which flags there are | [`flags`], read into [`options`] |
//! | what they configure | [`config`], of [`choices`], [`cipher_string`], [`credentials`] and [`runner_only`] |
//! | how certificates are compressed | [`compression`] |
//! | what the shim answers as an application | [`judge`], [`host`] |
//! | which pre-shared keys there are | [`psk`] |
//! | what one connection leaves to the next | [`sessions`], also in [`runner_tickets`] |
//! | what happens on the wire | [`run`] and [`early`], over [`transport`] |
//! | what is checked after a handshake | [`expect`] |
//! | what an error is called | [`error_token`] |
//!
//! Which tests are not run, and why, is in `config.json`; `README.md` counts the rest.

#![forbid(unsafe_code)]

mod base64;
mod choices;
mod cipher_string;
mod compression;
mod config;
mod credentials;
mod early;
mod error_token;
mod expect;
mod flags;
mod host;
mod judge;
mod options;
mod psk;
mod run;
mod runner_only;
mod runner_tickets;
mod sessions;
mod transport;

use std::env;
use std::process::ExitCode;
use std::sync::Arc;

use options::{Plan, Unfit};
use run::{Failure, Round};
use sessions::Sessions;

fn main() -> ExitCode {
    let arguments: Vec<Vec<u8>> =
        env::args_os().skip(1).map(std::ffi::OsString::into_encoded_bytes).collect();
    // The runner asks first of all whether its split-handshake helper could be used.
    if arguments.iter().any(|argument| argument == b"-is-handshaker-supported") {
        println!("No");
        return ExitCode::SUCCESS;
    }
    let plan = match Plan::parse(&arguments) {
        Ok(plan) => plan,
        Err(unfit) => return report(Failure::Unfit(unfit)),
    };
    match connections(&plan) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => report(failure),
    }
}

/// All connections of a test, one after the other.
fn connections(plan: &Plan) -> Result<(), Failure> {
    let sessions = Sessions::new(&plan.initial.ticket_key)
        .map_err(|error| Failure::Tls { token: ":RANDOM:".to_owned(), error: error.into() })?;
    let sessions = Arc::new(sessions);
    for count in 0..=plan.initial.resume_count {
        let resumes = count > 0;
        let options = if resumes { &plan.resume } else { &plan.initial };
        // A client learns that its early data is rejected in the middle of a connection. The test
        // knows before.
        let rejected = resumes && !options.server && options.expect.reject_early_data;
        let after_rejection = rejected.then_some(&plan.retry);
        run::connection(&Round { options, after_rejection, resumes, sessions: &sessions })?;
        sessions.clock.turn(options.resumption_delay);
    }
    Ok(())
}

/// Says on stderr what went wrong; the exit code tells failures from what is not implemented.
fn report(failure: Failure) -> ExitCode {
    match failure {
        Failure::Tls { token, error } => eprintln!("{token} {error}"),
        Failure::Unexpected(what) => eprintln!("{what}"),
        Failure::Transport(error) => eprintln!("transport: {error}"),
        Failure::Unfit(Unfit::Refused(token)) => eprintln!("{token}"),
        Failure::Unfit(Unfit::Malformed(flag)) => eprintln!("cannot read the value of {flag}"),
        Failure::Unfit(Unfit::Unimplemented(what)) => {
            eprintln!("not implemented: {what}");
            return ExitCode::from(UNIMPLEMENTED);
        }
    }
    ExitCode::FAILURE
}

/// The exit code by which the runner counts a test apart.
const UNIMPLEMENTED: u8 = 89;
