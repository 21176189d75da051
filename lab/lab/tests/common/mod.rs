//! Runs the program with fake workers, which are shell scripts.

// Not every test uses all items, and a test may fail by panicking.
#![allow(dead_code, clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use lab::report::Report;

/// A directory for a test, which is empty at the start.
pub(crate) struct Place(PathBuf);

impl Place {
    pub(crate) fn new(test: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("workers")).unwrap();
        Self(path)
    }

    /// Adds a worker whose shell script answers requests by the given `case` arms, and all other
    /// requests like a library that takes this many nanoseconds.
    pub(crate) fn fake(&self, name: &str, nanoseconds: u32, arms: &str) {
        self.fake_that_follows("null", name, nanoseconds, arms);
    }

    /// Adds a fake worker that follows a program in published accounting. `program` is JSON.
    pub(crate) fn fake_that_follows(
        &self,
        program: &str,
        name: &str,
        nanoseconds: u32,
        arms: &str,
    ) {
        let folder = self.0.join("workers").join(name);
        fs::create_dir_all(&folder).unwrap();
        let script = format!(
            r#"while read -r line; do
  case "$line" in
{arms}
    *'"do":"hello"'*) echo '{{"reply":"about","protocol":1,"program":{program},"library":"{name}","version":"1","crypto":"none","interface":"sh","build":""}}' ;;
    *'"do":"prepare"'*) echo '{{"reply":"ready"}}' ;;
    *'"do":"measure"'*) t={nanoseconds}; echo '{{"reply":"measured","repetitions":1,"sides":{{"client":'$t',"server":'$t',"send":'$t',"receive":'$t'}},"parts":{{}},"done":{{"kind":"full"}}}}' ;;
    *'"do":"quit"'*) exit 0 ;;
  esac
done
"#
        );
        fs::write(folder.join("worker.sh"), format!("#!/bin/sh\n{script}")).unwrap();
        self.manifest(name, "build = [\"chmod\", \"+x\", \"worker.sh\"]\nprogram = \"worker.sh\"");
    }

    /// Adds these lines to the worker's manifest.
    pub(crate) fn manifest(&self, name: &str, text: &str) {
        let folder = self.0.join("workers").join(name);
        fs::create_dir_all(&folder).unwrap();
        let text = format!("label = \"The library {name}\"\n{text}\n");
        fs::write(folder.join("worker.toml"), text).unwrap();
    }

    /// Runs `lab run` with these workers.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = lab();
        command.arg("run").arg("--workers").arg(self.0.join("workers"));
        command.arg("--out").arg(self.out()).args(["--allocator", "system"]);
        command.args(["--measure-ms", "8"]).args(arguments);
        command
    }

    pub(crate) fn workers(&self) -> PathBuf {
        self.0.join("workers")
    }

    pub(crate) fn out(&self) -> PathBuf {
        self.0.join("out")
    }

    pub(crate) fn report(&self) -> Report {
        Report::read(&self.out().join("report.json")).unwrap()
    }
}

pub(crate) fn lab() -> Command {
    Command::new(env!("CARGO_BIN_EXE_lab"))
}

/// The output of a program, for failure messages.
pub(crate) fn said(output: &Output) -> String {
    format!(
        "{}\n{}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}
