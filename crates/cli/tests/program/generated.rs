//! Completions and manual pages: shells and formatters accept them, and they have every option.

use std::process::Command;

use super::support::{Folder, run, tercel};

#[test]
fn shells_accept_the_completions() {
    let folder = Folder::new();
    for (shell, check) in
        [("bash", &["-n"][..]), ("zsh", &["-n"]), ("fish", &["--no-execute"]), ("elvish", &[])]
    {
        let script = run(tercel().args(["completions", shell]), b"").success().text();
        // The letter case of names differs between shells.
        for word in ["serve", "connect", "load", "proxy", "session-file", "server-name"] {
            assert!(script.contains(word), "{shell} has no {word}");
        }
        let file = folder.write(shell, script);
        if check.is_empty() || Command::new(shell).arg("--version").output().is_err() {
            eprintln!("skipped: {shell} does not check its scripts, or is not installed");
            continue;
        }
        let checked = run(Command::new(shell).args(check).arg(&file), b"").success();
        assert_eq!(checked.said, "", "{shell}");
    }
}

/// bash completes an option and a subcommand.
#[test]
fn bash_completes() {
    if Command::new("bash").arg("--version").output().is_err() {
        eprintln!("skipped: there is no bash");
        return;
    }
    let folder = Folder::new();
    let script = run(tercel().args(["completions", "bash"]), b"").success().text();
    let file = folder.write("tercel", script);
    let ask = "source \"$1\"; COMP_WORDS=(tercel connect --sess); COMP_CWORD=2; \
               _tercel tercel --sess connect; echo \"${COMPREPLY[@]}\"";
    let completed = run(Command::new("bash").args(["-c", ask, "bash", &file]), b"").success();
    assert_eq!(completed.text(), "--session-file\n");
}

#[test]
fn formatters_accept_the_manual_pages() {
    let folder = Folder::new();
    let pages = folder.file("man");
    run(tercel().arg("man").arg(&pages), b"").success();
    let names = ["tercel", "tercel-serve", "tercel-connect", "tercel-load", "tercel-completions"];
    for name in names {
        let page = pages.join(format!("{name}.1"));
        let text = std::fs::read_to_string(&page).unwrap();
        assert!(text.contains(".SH NAME") && text.contains(".SH SYNOPSIS"), "{text}");
        if Command::new("mandoc").arg("--help").output().is_ok() {
            let mut mandoc = Command::new("mandoc");
            let checked = run(mandoc.args(["-Tlint", "-Wunsupp"]).arg(&page), b"");
            assert_eq!(checked.status, Some(0), "{}", String::from_utf8_lossy(&checked.output));
        }
        if Command::new("man").arg("--version").output().is_ok() {
            let mut man = Command::new("man");
            man.args(["--warnings", "-l"]).arg(&page).env("MANPAGER", "cat").env("LC_ALL", "C");
            let shown = run(&mut man, b"").success();
            assert_eq!(shown.said, "", "{name}");
            assert!(shown.text().contains("SYNOPSIS"));
        }
    }
    let connect = std::fs::read_to_string(pages.join("tercel-connect.1")).unwrap();
    assert!(connect.contains("\\-\\-session\\-file"), "{connect}");
    assert!(!pages.join("tercel-man.1").exists(), "a hidden subcommand has a page");
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let folder = Folder::new();
    let file = folder.write("file", "");
    let outcome = run(tercel().args(["man", &format!("{file}/x")]), b"");
    assert!(outcome.failure().starts_with(&file), "{}", outcome.said);
}
