//! Builds of workers.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::discovery::Worker;

/// Build directory and Cargo profile of workers.
#[derive(Clone, Debug)]
pub(crate) struct BuildOptions {
    pub(crate) target: PathBuf,
    pub(crate) profile: String,
}

/// The number of lines that are shown from the end of a failed build's output.
const SHOWN_LINES: usize = 12;

impl Worker {
    /// Builds the worker and returns its program. An error contains the last lines of the build.
    pub(crate) fn build(&self, builder: &BuildOptions) -> Result<PathBuf> {
        let target = builder.target.to_string_lossy();
        let (mut command, program) = match &self.manifest.build {
            None => self.cargo_build(builder),
            Some(words) => {
                let words: Vec<_> =
                    words.iter().map(|word| word.replace("{target}", &target)).collect();
                let (first, rest) = words.split_first().context("the build command is empty")?;
                let mut command = Command::new(first);
                command.args(rest);
                let program =
                    self.manifest.program.as_ref().context("worker.toml has no `program`")?;
                (command, self.folder.join(program.replace("{target}", &target)))
            }
        };
        let output = command.current_dir(&self.folder).stdin(Stdio::null()).output();
        let output = output.with_context(|| format!("{command:?}"))?;
        if !output.status.success() {
            let text = [output.stdout, output.stderr].concat();
            let text = String::from_utf8_lossy(&text);
            let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
            let closing = lines.get(lines.len().saturating_sub(SHOWN_LINES)..).unwrap_or_default();
            bail!("build failed with {}:\n{}", output.status, closing.join("\n"));
        }
        Ok(program)
    }

    fn cargo_build(&self, builder: &BuildOptions) -> (Command, PathBuf) {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command
            .args(["build", "--locked", "--profile", &builder.profile])
            .arg("--manifest-path")
            .arg(self.folder.join("Cargo.toml"))
            .arg("--target-dir")
            .arg(&builder.target);
        // The directories of Cargo's built-in profiles differ from the profiles' names.
        let folder = match builder.profile.as_str() {
            "dev" => "debug",
            other => other,
        };
        // Package names cannot contain dots.
        let name = self.name.replace('.', "-");
        let program = format!("lab-worker-{name}{}", std::env::consts::EXE_SUFFIX);
        (command, builder.target.join(folder).join(program))
    }
}
