//! The command line of `lab list`.

use std::path::Path;
use std::process::Command as Process;

use anyhow::{Result, ensure};
use clap::Args;
use lab_scenario::{Accounting, rows};

use super::building::Places;
use super::seed::seed;
use crate::material::KeyMaterial;
use crate::material::temporary_folder::TemporaryFolder;
use crate::run::selection::select;
use crate::worker::discovery;

#[derive(Args)]
pub(super) struct List {
    /// Print the cryptographic calls of the floor for this row.
    #[arg(long, value_name = "ROW")]
    floor: Option<String>,
    /// Also time these calls, and fail if the floor differs from their sum by more than 3 %. ROW
    /// may be `all`.
    #[arg(long, requires = "floor")]
    check: bool,
    #[command(flatten)]
    places: Places,
}

impl List {
    pub(super) fn print(&self) -> Result<()> {
        let workers = discovery::discover(&self.places.workers)?;
        if let Some(row) = &self.floor {
            let program =
                discovery::find(&workers, "floor")?.build(&self.places.building.builder()?)?;
            return if self.check {
                check_floor(&program, row)
            } else {
                print_floor(&program, row)
            };
        }
        println!("rows (* = part of --quick):");
        for row in rows::all() {
            let star = if row.quick { '*' } else { ' ' };
            println!("  {star} {:<28} {}", row.id, row.title());
        }
        println!("workers:");
        for worker in workers {
            let needs = worker.manifest.needs.map(|needs| format!("; requires {needs}"));
            println!(
                "    {:<12} {}{}",
                worker.name,
                worker.manifest.label,
                needs.unwrap_or_default()
            );
        }
        Ok(())
    }
}

fn print_floor(program: &Path, row: &str) -> Result<()> {
    let status = Process::new(program).arg("--calls").arg(row).status()?;
    ensure!(status.success(), "no floor calls for row {row:?}");
    Ok(())
}

fn check_floor(program: &Path, row: &str) -> Result<()> {
    let scratch =
        TemporaryFolder::new(&std::env::temp_dir().join(format!("lab-{}", std::process::id())))?;
    let names = if row == "all" { Vec::new() } else { vec![row.to_owned()] };
    let rows = select(&names, Accounting::Neutral, false)?;
    let files = KeyMaterial::new(scratch.path(), seed(None, None), 1).make_shared(&rows)?;
    let status = Process::new(program).arg("--check").arg(row).arg(files).status()?;
    ensure!(status.success(), "the floor of {row:?} differs from the sum of its calls");
    Ok(())
}
