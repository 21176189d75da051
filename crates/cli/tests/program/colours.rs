//! Colours are for terminals only.

use std::process::Command;

use super::support::{run, tercel};

/// An error of the command line, a failure, and the help.
const COMMANDS: [&[&str]; 3] =
    [&["connect", "--servername"], &["connect", "127.0.0.1:1", "--ca", "/none"], &["--help"]];

#[test]
fn what_is_not_a_terminal_gets_no_escape_sequence() {
    for arguments in COMMANDS {
        let outcome = run(tercel().args(arguments).env_remove("CLICOLOR_FORCE"), b"");
        assert!(!outcome.said.contains('\x1b') && !outcome.output.contains(&0x1b), "{outcome:?}");
    }
}

#[test]
fn colours_can_be_forced() {
    for arguments in &COMMANDS[..2] {
        let outcome = run(tercel().args(*arguments).env("CLICOLOR_FORCE", "1"), b"");
        assert!(outcome.said.starts_with("\x1b["), "{outcome:?}");
    }
}

/// `script` of util-linux runs a command in a pseudo-terminal.
#[cfg(target_os = "linux")]
#[test]
fn a_terminal_gets_colours_unless_they_are_switched_off() {
    if Command::new("script").arg("--version").output().is_err() {
        eprintln!("skipped: there is no script");
        return;
    }
    for arguments in COMMANDS {
        for (variable, value, colours) in
            [("TERM", "xterm", true), ("NO_COLOR", "1", false), ("TERM", "dumb", false)]
        {
            let command = format!("{} {}", env!("CARGO_BIN_EXE_tercel"), arguments.join(" "));
            let mut script = Command::new("script");
            script.args(["--quiet", "--return", "--command", &command, "/dev/null"]);
            // clap prints colours to a dumb terminal, too, where `CI` is set.
            for setting in ["CI", "CLICOLOR", "CLICOLOR_FORCE", "NO_COLOR"] {
                script.env_remove(setting);
            }
            script.env("TERM", "xterm");
            let shown = run(script.env(variable, value), b"");
            let text = String::from_utf8_lossy(&shown.output);
            assert!(!text.trim().is_empty(), "{shown:?}");
            assert_eq!(text.contains("\x1b["), colours, "{variable}={value}: {text}");
        }
    }
}
