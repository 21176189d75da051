//! Files that packages contain: completions for shells, and manual pages.
//!
//! They are made by the program itself, so they always have its own options. `just dist` writes
//! them for packages.

use std::fs;
use std::io;
use std::path::PathBuf;

use anyhow::{Result, anyhow};
use clap::{Args, Command};
use clap_complete::Shell;

use crate::{explain, output};

/// Print the completions for a shell
///
/// For bash: tercel completions bash > ~/.local/share/bash-completion/completions/tercel
#[derive(Args, Debug)]
pub(crate) struct CompletionsOptions {
    /// Shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Write the manual pages to a directory
#[derive(Args, Debug)]
pub(crate) struct ManOptions {
    /// Directory, created if it does not exist
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Prints the completions of this command.
pub(crate) fn completions(options: &CompletionsOptions, mut command: Command) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut command, "tercel", &mut script);
    output::print(script)
}

/// Writes `tercel.1`, and a page for each subcommand.
pub(crate) fn man(options: &ManOptions, command: Command) -> Result<()> {
    let failed =
        |error: io::Error| anyhow!("{}: {}", options.folder.display(), explain::io_error(&error));
    fs::create_dir_all(&options.folder).map_err(failed)?;
    clap_mangen::generate_to(command, &options.folder).map_err(failed)
}
