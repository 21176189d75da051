//! The command line.

mod building;
mod list;
mod openssl;
mod profile;
mod run;
mod seed;

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::{Parser, Subcommand};

use crate::output::page::changes;
use crate::output::{comparison, markdown, table};
use crate::report::{Report, aa_test};
use crate::run::execution;
use crate::series;

#[derive(Parser)]
#[command(name = "lab", about = "Benchmarks TLS libraries against each other.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build the workers, run the benchmarks, write report.json and report.html.
    Run(Box<run::Run>),
    /// Compare OpenSSL releases from 1.1.1 on; write openssl.json and openssl.html.
    Openssl(Box<openssl::Arguments>),
    /// Count the instructions of a row by purpose, and add the counts to the report.
    Profile(Box<profile::Profile>),
    /// List rows and workers, or print the floor of a row.
    List(list::List),
    /// Compare two reports.
    Compare {
        /// The old report.json.
        old: PathBuf,
        /// The new report.json.
        new: PathBuf,
        /// Also write the comparison as an HTML page.
        #[arg(long, value_name = "FILE")]
        html: Option<PathBuf>,
    },
    /// Print a report as a table.
    Table {
        /// The report.json.
        report: PathBuf,
        /// Print Markdown, one line for each side of each row.
        #[arg(long)]
        markdown: bool,
        /// Peer whose verdicts the Markdown table shows [default: the first peer of the report].
        #[arg(long, value_name = "PEER", requires = "markdown")]
        of: Option<String>,
    },
    /// Evaluate an A/A test: check that workers that ran twice tie with themselves.
    Aa {
        /// The report.json.
        report: PathBuf,
    },
}

/// Runs the program.
///
/// # Errors
/// If the command fails.
pub fn main() -> Result<()> {
    match Cli::parse().command {
        Command::Run(arguments) => {
            let options = arguments.options()?;
            let report = execution::run(&options)?;
            print!("{}", table::render(&report));
            println!("\nreport: {}", options.out.join("report.html").display());
            Ok(())
        }
        Command::Openssl(arguments) => {
            let options = arguments.options()?;
            let report = series::run::run(&options)?;
            print!("{}", series::text::render(&report));
            println!("\nreport: {}", options.out.join(series::report::PAGE).display());
            Ok(())
        }
        Command::Profile(arguments) => {
            let functions = arguments.functions;
            let options = arguments.options()?;
            for profile in execution::profile(&options)? {
                println!("{}", crate::output::profile::render(&profile, functions));
            }
            println!("report: {}", options.out.join("report.html").display());
            Ok(())
        }
        Command::List(list) => list.print(),
        Command::Compare { old, new, html } => {
            let (old, new) = (Report::read_to_show(&old)?, Report::read_to_show(&new)?);
            print!("{}", comparison::render(&old, &new));
            let Some(file) = html else { return Ok(()) };
            let page = changes::render(&old, &new);
            std::fs::write(&file, page).with_context(|| format!("{}", file.display()))
        }
        Command::Table { report, markdown, of } => {
            let report = Report::read_to_show(&report)?;
            match markdown {
                true => print!("{}", markdown::render(&report, of.as_deref())?),
                false => print!("{}", table::render(&report)),
            }
            Ok(())
        }
        Command::Aa { report } => {
            let outcome = aa_test::evaluate(&Report::read(&report)?);
            print!("{outcome}");
            ensure!(
                outcome.passed(),
                "A/A test failed: fewer than 19 of 20 sides tie, or a ratio is more than 2 % off"
            );
            Ok(())
        }
    }
}
