//! `tercel ech`: keys of Encrypted ClientHello, and the records that publish them. RFC 9849

mod generate;
#[cfg(unix)]
mod publish;
mod show;

use anyhow::Result;
use clap::{Args, Subcommand};

/// Make, show and publish keys and configurations for Encrypted ClientHello (ECH, RFC 9849)
#[derive(Args, Debug)]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Generate(generate::Options),
    Show(show::Options),
    #[cfg(unix)]
    Publish(publish::Options),
}

/// Runs the command.
pub(crate) fn run(options: &Options) -> Result<()> {
    match &options.command {
        Command::Generate(options) => generate::run(options),
        Command::Show(options) => show::run(options),
        #[cfg(unix)]
        Command::Publish(options) => publish::run(options),
    }
}
