//! Makes the files of a release, and tries them out.
//!
//! ```text
//! cargo run -p tercel-dist -- target/dist/release
//! ```
//!
//! The files depend on the commit, the compilers and the packaging programs, which the bills of
//! materials name. They do not depend on the folders of the sources and of cargo, the date, or the
//! variables and the mask of the user: `--check` compares two builds.
//!
//! | module | content |
//! |---|---|
//! | `architecture` | names of architectures |
//! | `tools` | the programs that are needed |
//! | `builder` | commands whose results can be reproduced; the programs and the library |
//! | `archive` | tar, gzip, checksums |
//! | `package` | what packages contain, and where |
//! | `deb`, `rpm`, `image` | packages of Debian and of RPM; an OCI image |
//! | `bill` | bills of materials (CycloneDX), licences of dependencies |
//! | `release` | all files of a release |
//! | `try_out` | runs the files in empty folders |
//! | `installation` | the life of a package in new systems of Debian |
//! | `compare` | builds once more elsewhere, and compares |

#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Parser;
use nix::sys::stat::{Mode, umask};

mod architecture;
mod archive;
mod bill;
mod builder;
mod compare;
mod deb;
mod image;
mod installation;
mod package;
mod release;
mod rpm;
mod tools;
mod try_out;

use architecture::Architecture;
use builder::Builder;

/// Make the files of a release in DIR: static programs, packages, images, the C library, checksums
/// and bills of materials
///
/// The files are then tried out: programs and images in folders that contain nothing else.
#[derive(Parser, Debug)]
struct Options {
    /// Folder of the files; those of an earlier run are removed
    dir: PathBuf,
    /// Only x86-64, and no second build
    #[arg(long, conflicts_with = "check")]
    quick: bool,
    /// Build the commit once more from another folder, on another date, and compare
    #[arg(long)]
    check: bool,
    /// Install the packages in a new system of this release of Debian, for example bookworm; may
    /// be repeated. Needs root and debootstrap
    #[arg(long, value_name = "SUITE")]
    install: Vec<String>,
}

fn main() -> Result<()> {
    if let Some(rustc) = std::env::var_os(builder::RUSTC) {
        return builder::start_rustc(&rustc);
    }
    let options = Options::parse();
    // Folders in archives have this mode whatever the user's mask is.
    umask(Mode::S_IWGRP | Mode::S_IWOTH);
    let architectures: &[Architecture] =
        if options.quick { &Architecture::ALL[..1] } else { &Architecture::ALL };
    tools::require(architectures, options.check)?;
    if !options.install.is_empty() {
        installation::require()?;
    }
    let started = Instant::now();
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .context("no root of the repository")?;
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    let builder = Builder::new(source, &source.join(target).join("dist"))?;
    if options.check {
        compare::require_clean(source)?;
    }
    let folder = std::path::absolute(&options.dir)?;
    let release = release::make(&builder, &folder, architectures)?;
    for file in release.names() {
        println!("made {file}");
    }
    try_out::all(&builder, &release)?;
    for suite in &options.install {
        installation::check(&builder, &release, suite)?;
    }
    if options.check {
        compare::with_second_build(&builder, &release)?;
    }
    println!("{} in {} s", folder.display(), started.elapsed().as_secs());
    Ok(())
}
