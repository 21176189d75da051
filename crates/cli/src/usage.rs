//! Errors of the command line, as one line: what was found, and what to do.

use std::process::ExitCode;

use clap::Command;
use clap::error::{ContextKind, ErrorKind};

use crate::explain;

/// The exit status for an invalid command line.
pub(crate) const INVALID: u8 = 2;

/// Prints the help or version that was asked for, or the error.
pub(crate) fn refuse(error: &clap::Error, command: &Command) -> ExitCode {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        // Nothing can be reported if standard output is closed.
        let _ = error.print();
        return if error.use_stderr() { ExitCode::from(INVALID) } else { ExitCode::SUCCESS };
    }
    let first = std::env::args_os().nth(1).unwrap_or_default();
    let first = first.to_string_lossy();
    explain::print_error("error:", format_args!("{}", line(error, command, &first)));
    ExitCode::from(INVALID)
}

/// The error without its usage, on one line. `first` is the first argument.
fn line(error: &clap::Error, command: &Command, first: &str) -> String {
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let body = text.lines().map(str::trim);
    let body = body.take_while(|line| !line.starts_with("Usage:") && !line.starts_with(FOOTER));
    let mut all = String::new();
    for part in body.filter(|part| !part.is_empty()) {
        match part.strip_prefix("tip: ") {
            Some(tip) => all.push_str(&format!("; {tip}")),
            // A list follows a colon.
            None if all.ends_with(':') || part.starts_with('[') => {
                all.push_str(&format!(" {part}"));
            }
            None if all.is_empty() => all.push_str(part),
            None => all.push_str(&format!(", {part}")),
        }
    }
    // Without a suggestion, the help is the next step.
    let suggested = [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand];
    let has_tip = suggested.into_iter().any(|kind| error.get(kind).is_some());
    if !has_tip && error.get(ContextKind::ValidValue).is_none() {
        all.push_str(&format!("; see `{}`", help(command, first)));
    }
    all
}

/// The command that prints the help of this subcommand, or of the program.
fn help(command: &Command, first: &str) -> String {
    match command.find_subcommand(first) {
        Some(subcommand) => format!("tercel {} --help", subcommand.get_name()),
        None => "tercel --help".to_owned(),
    }
}

const FOOTER: &str = "For more information";

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{CommandFactory, Parser};

    fn refused(arguments: &str) -> String {
        let all = std::iter::once("tercel").chain(arguments.split(' '));
        match crate::Arguments::try_parse_from(all) {
            Ok(_) => panic!("accepted: {arguments}"),
            Err(error) => {
                line(&error, &crate::Arguments::command(), arguments.split(' ').next().unwrap())
            }
        }
    }

    #[test]
    fn errors_are_one_line_with_the_next_step() {
        assert_eq!(
            refused("connect localhost:1 --servername x"),
            "unexpected argument '--servername' found; a similar argument exists: '--server-name'"
        );
        assert_eq!(
            refused("conect localhost:1"),
            "unrecognized subcommand 'conect'; a similar subcommand exists: 'connect'"
        );
        assert_eq!(
            refused("connect localhost:1 --timeout 0"),
            "invalid value '0' for '--timeout <SECONDS>': must be a whole number of seconds from \
             1 to 86400; see `tercel connect --help`"
        );
        assert!(
            refused("serve --client-auth maybe").ends_with(
                "[possible values: none, optional, \
             required, later]"
            ),
            "{}",
            refused("serve --client-auth maybe")
        );
        assert_eq!(refused("nonsense"), "unrecognized subcommand 'nonsense'; see `tercel --help`");
    }
}
