//! The `tercel` program. `serve` is a TLS server for tests, `connect` a TLS client, `load` a load
//! generator, `proxy` a TLS terminator, `scan` finds out what a server supports, `ech` makes keys
//! of Encrypted ClientHello.
//!
//! `main` turns errors into one line and an exit status: 0 for success, 1 for failure, 2 for an
//! invalid command line.
//!
//! # Modules
//!
//! Lowest first: a module uses only itself and the modules above it in this table.
//!
//! | module | holds |
//! |---|---|
//! | `explain` | error messages, lines on standard error |
//! | `output` | standard output |
//! | `generate` | completions and manual pages |
//! | `usage` | errors of the command line as one line |
//! | `negotiated` | the negotiated parameters as rows of a key and a value |
//! | `certificates` | descriptions of certificates: text, JSON, PEM |
//! | `transport` | a TCP connection with time limits |
//! | `target` | `HOST:PORT`, and a TCP connection to it |
//! | `starttls` | the change from plaintext to TLS in SMTP, PostgreSQL and others |
//! | `credential_files` | certificates, keys and key logs in files |
//! | `ech_files` | keys and configurations of Encrypted ClientHello in files and records |
//! | `options` | options of every subcommand |
//! | `psk` | options for pre-shared keys |
//! | `ech_offer` | what clients offer of Encrypted ClientHello |
//! | `client` | options of the clients `connect` and `load` |
//! | `dns` | HTTPS records of servers, with the feature of this name |
//! | `http3` | HTTP/3 over QUIC, with the feature of this name |
//! | `connect`, `ech`, `load`, `scan`, `serve`, `proxy` | subcommands, independent of each other |

#![forbid(unsafe_code)]

mod certificates;
mod client;
mod connect;
mod credential_files;
#[cfg(feature = "dns")]
mod dns;
mod ech;
mod ech_files;
mod ech_offer;
mod explain;
mod generate;
#[cfg(feature = "http3")]
mod http3;
mod load;
mod negotiated;
mod options;
mod output;
#[cfg(test)]
#[path = "../../pki/tests/pem_cases/mod.rs"]
mod pem_cases;
#[cfg(unix)]
mod proxy;
mod psk;
mod scan;
mod serve;
mod starttls;
mod target;
mod transport;
mod usage;

use std::process::ExitCode;
use std::sync::LazyLock;

use clap::{CommandFactory, Parser, Subcommand};
use tercel::fips::{FipsModule, fips_module};

/// The allocator of static programs: that of musl has one lock for all threads.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// TLS 1.3 and 1.2 from the command line
#[derive(Parser)]
#[command(name = "tercel", version, long_version = long_version(), max_term_width = 100, styles = explain::HELP)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Serve(Box<serve::Options>),
    Connect(Box<connect::Options>),
    Load(Box<load::Options>),
    Scan(Box<scan::Options>),
    Ech(Box<ech::Options>),
    #[cfg(unix)]
    Proxy(Box<proxy::Options>),
    Completions(generate::CompletionsOptions),
    #[command(hide = true)]
    Man(generate::ManOptions),
}

/// The version with the cryptographic module. `None` if this build has no FIPS module: then
/// `--version` prints the version alone.
fn long_version() -> Option<&'static str> {
    static TEXT: LazyLock<Option<String>> = LazyLock::new(|| {
        let FipsModule { version, certificate, .. } = fips_module()?;
        let state = match certificate {
            Some(number) => format!("certificate {number} of FIPS 140-3"),
            None => "validation in process, no certificate".to_owned(),
        };
        Some(format!("{}\ncryptographic module: {version} ({state})", env!("CARGO_PKG_VERSION")))
    });
    TEXT.as_deref()
}

fn main() -> ExitCode {
    let command = match Arguments::try_parse() {
        Ok(arguments) => arguments.command,
        Err(error) => return usage::refuse(&error, &Arguments::command()),
    };
    let result = match command {
        Command::Serve(options) => serve::run(&options),
        Command::Connect(options) => connect::run(&options),
        Command::Load(options) => load::run(&options),
        Command::Scan(options) => scan::run(&options),
        Command::Ech(options) => ech::run(&options),
        #[cfg(unix)]
        Command::Proxy(options) => return proxy::run(&options),
        Command::Completions(options) => generate::completions(&options, Arguments::command()),
        Command::Man(options) => generate::man(&options, Arguments::command()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is::<explain::UsageError>() => {
            explain::print_error("error:", format_args!("{error}"));
            ExitCode::from(usage::INVALID)
        }
        Err(error) => {
            explain::print_error("tercel:", format_args!("{}", explain::chain(&error)));
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn version_options_have_dots_in_their_names() {
        let parsed = Arguments::try_parse_from(["tercel", "serve", "--tls1.2"]);
        let Ok(Arguments { command: Command::Serve(options) }) = parsed else { panic!("refused") };
        assert!(options.tls.tls12 && !options.tls.tls13);
    }
}
