//! Discovery of workers. A worker is a directory with a `worker.toml`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;

/// The contents of a `worker.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    /// The name shown in reports.
    pub(crate) label: String,
    /// Whether the worker is the floor.
    #[serde(default)]
    pub(super) floor: bool,
    /// Whether the worker takes part only in runs that name it.
    #[serde(default)]
    pub(super) on_request: bool,
    /// The requirements of the build besides Rust and a C compiler.
    pub(crate) needs: Option<String>,
    /// Whether the worker has its own allocator instead of the C library's, so that preloading an
    /// allocator has no effect.
    #[serde(default)]
    pub(super) own_allocator: bool,
    /// The build command, which runs in the worker's directory. `{target}` is the build directory.
    /// Default: `cargo build` of the directory's package.
    pub(super) build: Option<Vec<String>>,
    /// The path of the built program. Default: the binary of the package `lab-worker-NAME`.
    pub(super) program: Option<String>,
}

/// A worker that was found.
#[derive(Clone, Debug)]
pub(crate) struct Worker {
    pub(crate) name: String,
    pub(crate) manifest: Manifest,
    pub(super) folder: PathBuf,
}

/// The workers in `folder`, sorted by name, with the floor last.
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

/// Finds the worker of a peer name, `NAME` or `NAME@N`.
pub(crate) fn find<'w>(workers: &'w [Worker], peer: &str) -> Result<&'w Worker> {
    let name = peer.split_once('@').map_or(peer, |(name, _)| name);
    workers.iter().find(|worker| worker.name == name).with_context(|| {
        let known: Vec<_> = workers.iter().map(|worker| worker.name.as_str()).collect();
        format!("unknown worker {name:?}; available: {}", known.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_needs_a_label_only_and_takes_nothing_unknown() {
        let manifest: Manifest = toml::from_str("label = \"X\"").unwrap();
        assert_eq!(manifest.label, "X");
        assert!(!manifest.floor && !manifest.own_allocator && !manifest.on_request);
        assert!(manifest.build.is_none());
        assert!(toml::from_str::<Manifest>("label = \"X\"\nbiuld = []").is_err());
    }
}
