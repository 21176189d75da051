//! Peers: which workers there are, and how they are built.
//!
//! A worker is a folder with a `worker.toml`. Must not know: rows. Next: `process.rs`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use lab_scenario::protocol::{Reply, Request, VERSION};
use lab_scenario::{About, Row};
use serde::Deserialize;

use crate::process::{Launch, Process};

/// A worker's `worker.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    /// Its name in reports.
    pub(crate) label: String,
    /// Whether it is no peer but the floor.
    #[serde(default)]
    floor: bool,
    /// What its build needs beyond Rust and a C compiler, in words.
    pub(crate) needs: Option<String>,
    /// Whether its memory does not come from the C library, so that no allocator can be put under it.
    #[serde(default)]
    own_allocator: bool,
    /// How it is built, run in its folder; `{target}` is a folder for what is built.
    /// Default: cargo builds the folder's package.
    build: Option<Vec<String>>,
    /// The program that was built. Default: what cargo makes of the package `lab-worker-NAME`.
    program: Option<String>,
}

/// A worker that can be asked for.
#[derive(Clone, Debug)]
pub(crate) struct Worker {
    pub(crate) name: String,
    pub(crate) manifest: Manifest,
    folder: PathBuf,
}

/// A worker that takes part. The same worker can take part more than once.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// As it was asked for: `NAME` or `NAME@N`.
    pub(crate) name: String,
    pub(crate) label: String,
    pub(crate) floor: bool,
    pub(crate) about: About,
    pub(crate) program: PathBuf,
}

/// Where and how workers are built.
#[derive(Clone, Debug)]
pub(crate) struct Builder {
    pub(crate) target: PathBuf,
    pub(crate) profile: String,
}

/// Closing lines of a failed build that are told.
const TOLD: usize = 12;

/// The workers below `folder`, by name.
pub(crate) fn discover(folder: &Path) -> Result<Vec<Worker>> {
    let mut workers = Vec::new();
    let entries = fs::read_dir(folder).with_context(|| format!("{}", folder.display()))?;
    for entry in entries {
        let folder = entry?.path();
        let manifest = folder.join("worker.toml");
        let Ok(text) = fs::read_to_string(&manifest) else { continue };
        let read = toml::from_str(&text);
        let manifest = read.with_context(|| format!("{}", manifest.display()))?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        workers.push(Worker { name, manifest, folder });
    }
    workers.sort_by(|a, b| (a.manifest.floor, &a.name).cmp(&(b.manifest.floor, &b.name)));
    Ok(workers)
}

/// Finds the worker of a peer as it was asked for, `NAME` or `NAME@N`.
pub(crate) fn find<'w>(workers: &'w [Worker], peer: &str) -> Result<&'w Worker> {
    let name = peer.split_once('@').map_or(peer, |(name, _)| name);
    workers.iter().find(|worker| worker.name == name).with_context(|| {
        let known: Vec<_> = workers.iter().map(|worker| worker.name.as_str()).collect();
        format!("there is no worker {name:?}; there are: {}", known.join(", "))
    })
}

impl Worker {
    /// Builds it. An error tells the closing lines of the build.
    pub(crate) fn build(&self, builder: &Builder) -> Result<PathBuf> {
        let target = builder.target.to_string_lossy();
        let (mut command, program) = match &self.manifest.build {
            None => self.cargo_build(builder),
            Some(words) => {
                let words: Vec<_> =
                    words.iter().map(|word| word.replace("{target}", &target)).collect();
                let (first, rest) = words.split_first().context("an empty build command")?;
                let mut command = Command::new(first);
                command.args(rest);
                let program = self.manifest.program.as_ref().context("no program is named")?;
                (command, self.folder.join(program.replace("{target}", &target)))
            }
        };
        let output = command.current_dir(&self.folder).stdin(Stdio::null()).output();
        let output = output.with_context(|| format!("{command:?}"))?;
        if !output.status.success() {
            let text = [output.stdout, output.stderr].concat();
            let text = String::from_utf8_lossy(&text);
            let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
            let closing = lines.get(lines.len().saturating_sub(TOLD)..).unwrap_or_default();
            bail!("the build ended with {}:\n{}", output.status, closing.join("\n"));
        }
        Ok(program)
    }

    fn cargo_build(&self, builder: &Builder) -> (Command, PathBuf) {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command
            .args(["build", "--locked", "--profile", &builder.profile])
            .arg("--manifest-path")
            .arg(self.folder.join("Cargo.toml"))
            .arg("--target-dir")
            .arg(&builder.target);
        // Cargo's two built-in profiles have folders of other names.
        let folder = match builder.profile.as_str() {
            "dev" => "debug",
            other => other,
        };
        // Names of packages have no dots.
        let name = self.name.replace('.', "-");
        let program = format!("lab-worker-{name}{}", std::env::consts::EXE_SUFFIX);
        (command, builder.target.join(folder).join(program))
    }

    /// Starts it once and asks who it is.
    pub(crate) fn introduce(&self, name: &str, program: &Path, launch: &Launch) -> Result<Peer> {
        let mut process = Process::start(&program.to_owned(), launch)?;
        let about = match process.ask(&Request::<Row>::Hello, Duration::ZERO)? {
            Reply::About(about) => about,
            other => bail!("it does not say who it is, but {other:?}"),
        };
        ensure!(
            about.protocol == VERSION,
            "it speaks version {} of the protocol, not {VERSION}",
            about.protocol
        );
        if let Some(library) = launch.preload.as_ref().filter(|_| !self.manifest.own_allocator) {
            let file = library.file_name().unwrap_or_default().to_string_lossy();
            ensure!(process.has_loaded(&file), "{file} was not loaded into it");
        }
        Ok(Peer {
            name: name.to_owned(),
            label: name.replacen(&self.name, &self.manifest.label, 1),
            floor: self.manifest.floor,
            about,
            program: program.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_needs_a_label_only_and_takes_nothing_unknown() {
        let manifest: Manifest = toml::from_str("label = \"X\"").unwrap();
        assert_eq!(manifest.label, "X");
        assert!(!manifest.floor && !manifest.own_allocator && manifest.build.is_none());
        assert!(toml::from_str::<Manifest>("label = \"X\"\nbiuld = []").is_err());
    }
}
