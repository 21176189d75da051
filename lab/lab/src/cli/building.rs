//! Command-line arguments for the location and the build of workers.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;

use crate::worker::build::BuildOptions;

#[derive(Args)]
pub(super) struct Places {
    /// Directory of the workers.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../workers"))]
    pub(super) workers: PathBuf,
    #[command(flatten)]
    pub(super) building: Building,
}

/// Build options of workers.
#[derive(Args)]
pub(crate) struct Building {
    /// Build directory for workers [default: CARGO_TARGET_DIR, else the lab's target directory].
    #[arg(long)]
    target: Option<PathBuf>,
    /// Cargo profile for workers. Only `release` gives meaningful results.
    #[arg(long, default_value = "release")]
    profile: String,
}

impl Building {
    pub(crate) fn builder(&self) -> Result<BuildOptions> {
        let target =
            self.target.clone().or_else(|| std::env::var_os("CARGO_TARGET_DIR").map(Into::into));
        let target =
            target.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"));
        let target = std::path::absolute(&target).context("--target")?;
        Ok(BuildOptions { target, profile: self.profile.clone() })
    }
}
