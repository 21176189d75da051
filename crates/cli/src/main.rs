//! The `tercel` program: `serve` answers TLS connections, `connect` makes one, `load` makes very many, `proxy`
//! hands them on.
//!
//! This file knows the subcommands and turns errors into one line and an exit status: 0 for success,
//! 1 for failure, 2 for a command line that makes no sense. It must not know TLS.
//! Next: [`serve`], [`connect`], [`load`], [`proxy`], and [`options`] and [`client`] for what they have in
//! common.

#![forbid(unsafe_code)]

mod client;
mod connect;
mod explain;
mod load;
mod material;
mod negotiated;
mod options;
#[cfg(unix)]
mod proxy;
mod psk;
mod serve;
mod transport;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// TLS 1.3 and 1.2 from the command line.
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
        Err(error) => {
            // With its causes, yet on one line.
            explain::say(format_args!("tercel: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Ends the program because the command line contradicts itself in a way its parser cannot see.
fn usage_error(message: &str) -> ! {
    use clap::CommandFactory;
    Arguments::command().error(clap::error::ErrorKind::ArgumentConflict, message).exit()
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
