//! Lines for people, in colour if standard error is a terminal.
//!
//! `NO_COLOR` and `TERM=dumb` switch colours off, `CLICOLOR_FORCE` switches them on.

use std::fmt;
use std::io::Write;

use anstyle::{AnsiColor, Style};

/// Writes a warning to standard error.
pub(crate) fn warn(line: fmt::Arguments<'_>) {
    write("warning:", WARNING, line);
}

/// Writes an error to standard error, after this prefix.
pub(crate) fn print_error(prefix: &str, line: fmt::Arguments<'_>) {
    write(prefix, ERROR, line);
}

fn write(prefix: &str, style: Style, line: fmt::Arguments<'_>) {
    // The line is written at once, so that lines of several threads do not mix. Nothing can be
    // reported if standard error is closed.
    let line = format!("{style}{prefix}{style:#} {line}\n");
    let _ = anstream::stderr().lock().write_all(line.as_bytes());
}

/// The styles of the help.
pub(crate) const HELP: clap::builder::Styles = clap::builder::Styles::styled()
    .header(Style::new().bold())
    .usage(Style::new().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
