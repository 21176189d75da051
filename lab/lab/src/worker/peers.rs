//! Peers: built workers that take part in a run.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use indicatif::ProgressBar;
use lab_scenario::protocol::{Reply, Request, VERSION};
use lab_scenario::{About, Row};

use super::build::BuildOptions;
use super::discovery::{self, Worker};
use super::process::{LaunchOptions, WorkerProcess};
use crate::report::PeerReport;

/// A worker that takes part in a run. The same worker can take part more than once.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// The requested name: `NAME` or `NAME@N`.
    pub(crate) name: String,
    pub(crate) label: String,
    pub(crate) floor: bool,
    pub(crate) about: About,
    pub(crate) program: PathBuf,
}

impl Worker {
    /// Starts the worker once and requests its description.
    pub(crate) fn start_peer(
        &self,
        name: &str,
        program: &Path,
        launch: &LaunchOptions,
    ) -> Result<Peer> {
        let mut process = WorkerProcess::start(&program.to_owned(), launch)?;
        let about = match process.request(&Request::<Row>::Hello, Duration::ZERO)? {
            Reply::About(about) => about,
            other => bail!("unexpected reply to hello: {other:?}"),
        };
        ensure!(
            about.protocol == VERSION,
            "unsupported protocol version {}, expected {VERSION}",
            about.protocol
        );
        if let Some(library) = launch.preload.as_ref().filter(|_| !self.manifest.own_allocator) {
            let file = library.file_name().unwrap_or_default().to_string_lossy();
            ensure!(process.has_loaded(&file), "{file} is not loaded in the worker process");
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

/// Builds and starts each peer once. Reports and omits each peer that fails.
pub(crate) fn prepare_peers(
    asked: &[String],
    workers: &[Worker],
    builder: &BuildOptions,
    launch: &LaunchOptions,
) -> Result<(Vec<Peer>, Vec<PeerReport>)> {
    let mut wanted = asked.to_vec();
    if wanted.is_empty() {
        let usual = workers.iter().filter(|worker| !worker.manifest.on_request);
        wanted = usual.map(|worker| worker.name.clone()).collect();
    }
    let (mut peers, mut reports): (Vec<Peer>, Vec<PeerReport>) = (Vec::new(), Vec::new());
    for name in &wanted {
        if reports.iter().any(|each| each.name == *name) {
            bail!("peer {name} is listed twice; use {name}@2 to run it a second time");
        }
        let worker = discovery::find(workers, name)?;
        let spinner = ProgressBar::new_spinner().with_message(format!("building {name}"));
        spinner.enable_steady_tick(Duration::from_millis(200));
        let built = worker.build(builder);
        let peer = built.and_then(|program| worker.start_peer(name, &program, launch));
        spinner.finish_and_clear();
        let mut entry = PeerReport {
            name: name.clone(),
            label: worker.manifest.label.clone(),
            floor: false,
            about: None,
            failure: None,
        };
        match peer {
            Ok(peer) => {
                entry.label.clone_from(&peer.label);
                entry.floor = peer.floor;
                entry.about = Some(peer.about.clone());
                peers.push(peer);
            }
            Err(error) => {
                eprintln!("skipping {name}: {error:#}");
                if let Some(needs) = &worker.manifest.needs {
                    eprintln!("{name} requires {needs}");
                }
                entry.failure = Some(format!("{error:#}"));
            }
        }
        reports.push(entry);
    }
    Ok((peers, reports))
}
