//! The shim: the program with which BoringSSL's test runner tests the library.
//!
//! Each test is one process. The runner's flags state the role, the actions and the expectations.
//! The runner listens on a port and misbehaves there. It judges the result by the bytes that it
//! receives, by the exit code, and by the token on stderr.
//!
//! | modules | content |
//! |---|---|
//! | [`flags`], [`options`] | the flags, and their values |
//! | [`config`] | configurations |
//! | [`choices`], [`cipher_string`], [`credentials`], [`runner_only`] | parts of configurations |
//! | [`compression`] | certificate compression |
//! | [`application`], [`config_selector`] | the shim's answers as an application |
//! | [`psk`], [`ech`] | pre-shared keys, Encrypted ClientHello |
//! | [`sessions`], [`runner_tickets`] | the state that connections share |
//! | [`run`], [`early`], [`transport`] | the connection |
//! | [`quic`] | the connection over the runner's mock of QUIC |
//! | [`expect`] | the checks after a handshake |
//! | [`error_token`] | the names of errors |
//!
//! `config.json` lists the tests that are not run, with reasons; `README.md` has the results.

#![forbid(unsafe_code)]

mod application;
mod base64;
mod choices;
mod cipher_string;
mod compression;
mod config;
mod config_selector;
mod credentials;
mod early;
mod ech;
mod error_token;
mod expect;
mod flags;
mod options;
mod psk;
mod quic;
mod run;
mod runner_only;
mod runner_tickets;
mod sessions;
mod transport;

use std::env;
use std::process::ExitCode;
use std::sync::Arc;

use options::{Plan, Unsupported};
use run::{Failure, TestConnection};
use sessions::Sessions;

fn main() -> ExitCode {
    let arguments: Vec<Vec<u8>> =
        env::args_os().skip(1).map(std::ffi::OsString::into_encoded_bytes).collect();
    // The runner first asks whether its split-handshake helper is supported.
    if arguments.iter().any(|argument| argument == b"-is-handshaker-supported") {
        println!("No");
        return ExitCode::SUCCESS;
    }
    let plan = match Plan::parse(&arguments) {
        Ok(plan) => plan,
        Err(unsupported) => return report(Failure::Unsupported(unsupported)),
    };
    match connections(&plan) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => report(failure),
    }
}

/// Makes all connections of a test, one after the other.
fn connections(plan: &Plan) -> Result<(), Failure> {
    let sessions = Sessions::new(&plan.initial.ticket_key)
        .map_err(|error| Failure::Tls { token: ":RANDOM:".to_owned(), error: error.into() })?;
    let sessions = Arc::new(sessions);
    for count in 0..=plan.initial.resume_count {
        let resumes = count > 0;
        let options = if resumes { &plan.resume } else { &plan.initial };
        // A client detects the rejection of its early data only within the connection, but the test
        // states the rejection in advance.
        let rejected = resumes && !options.server && options.expect.reject_early_data;
        let after_rejection = rejected.then_some(&plan.retry);
        run::connection(&TestConnection {
            options,
            after_rejection,
            resumes,
            sessions: &sessions,
        })?;
        sessions.clock.advance(options.resumption_delay);
    }
    Ok(())
}

/// Prints a failure. The exit code distinguishes failures from features that are not implemented.
fn report(failure: Failure) -> ExitCode {
    match failure {
        Failure::Tls { token, error } => eprintln!("{token} {error}"),
        Failure::Unexpected(what) => eprintln!("{what}"),
        Failure::Transport(error) => eprintln!("transport: {error}"),
        Failure::Unsupported(Unsupported::Refused(token)) => eprintln!("{token}"),
        Failure::Unsupported(Unsupported::NotFips(reason)) => eprintln!(":NOT_FIPS: {reason}"),
        Failure::Unsupported(Unsupported::Malformed(flag)) => {
            eprintln!("cannot read the value of {flag}");
        }
        Failure::Unsupported(Unsupported::Unimplemented(what)) => {
            eprintln!("not implemented: {what}");
            return ExitCode::from(UNIMPLEMENTED);
        }
    }
    ExitCode::FAILURE
}

/// The exit code of tests that are not implemented, which the runner counts separately.
const UNIMPLEMENTED: u8 = 89;
