//! The `tercel` program. `serve` is a TLS server for tests, `connect` a TLS client, `load` a load
//! generator, `proxy` a TLS terminator.
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
//! | `negotiated` | the negotiated parameters as rows of a key and a value |
//! | `transport` | a TCP connection with time limits |
//! | `target` | `HOST:PORT`, and a TCP connection to it |
//! | `credential_files` | certificates, keys and key logs in files |
//! | `options` | options of every subcommand |
//! | `psk` | options for pre-shared keys |
//! | `client` | options of the clients `connect` and `load` |
//! | `connect`, `load`, `serve`, `proxy` | the subcommands, which do not use each other |

#![forbid(unsafe_code)]

mod client;
mod connect;
mod credential_files;
mod explain;
mod load;

mod negotiated;
mod options;
#[cfg(unix)]
mod proxy;
mod psk;
mod serve;
mod target;
mod transport;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// TLS 1.3 and 1.2 from the command line
#[derive(Parser)]
#[command(name = "tercel", version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Serve(Box<serve::Options>),
    Connect(Box<connect::Options>),
    Load(Box<load::Options>),
    #[cfg(unix)]
    Proxy(Box<proxy::Options>),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Serve(options) => serve::run(&options),
        Command::Connect(options) => connect::run(&options),
        Command::Load(options) => load::run(&options),
        #[cfg(unix)]
        Command::Proxy(options) => proxy::run(&options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is::<explain::UsageError>() => {
            use clap::CommandFactory;
            let kind = clap::error::ErrorKind::ArgumentConflict;
            Arguments::command().error(kind, error).exit()
        }
        Err(error) => {
            // `{error:#}` prints the error and its causes on one line.
            explain::print_line(format_args!("tercel: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }

    #[test]
    fn version_options_have_dots_in_their_names() {
        let parsed = Arguments::try_parse_from(["tercel", "serve", "--tls1.2"]);
        let Ok(Arguments { command: Command::Serve(options) }) = parsed else { panic!("refused") };
        assert!(options.tls.tls12 && !options.tls.tls13);
    }
}
