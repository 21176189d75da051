//! Builds the commit once more, from another folder and on another date, and compares all files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::architecture::Architecture;
use crate::builder::{Builder, output, remove_folder, run};
use crate::package::entries;
use crate::release::{self, Release};

/// Refuses sources that differ from the commit, which is what the second build is made from.
pub(crate) fn require_clean(source: &Path) -> Result<()> {
    let changes = output(Command::new("git").current_dir(source).args(["status", "--porcelain"]))?;
    ensure!(
        changes.is_empty(),
        "--check compares builds of the commit, but there are changes:\n{changes}"
    );
    Ok(())
}

/// Makes the files of a release again, and fails if one differs. The second build remains if so.
pub(crate) fn with_second_build(builder: &Builder, first: &Release) -> Result<()> {
    let folder = with_suffix(&builder.target, "-second-build");
    remove_folder(&folder)?;
    let second = builder.elsewhere_and_later(&folder);
    let mut git = Command::new("git");
    run(git.args(["clone", "--quiet", "--shared"]).arg(&builder.source).arg(&second.source))?;
    // Without the caller's configuration; cargo unpacks the sources there.
    let registry = second.cargo_home.join("registry");
    fs::create_dir_all(&registry)?;
    for name in ["index", "cache"] {
        let from = builder.cargo_home.join("registry").join(name);
        run(Command::new("cp").arg("-R").arg(from).arg(&registry))?;
    }
    let architectures: Vec<Architecture> =
        first.programs.iter().map(|program| program.architecture).collect();
    let second = release::make(&second, &folder.join("files"), &architectures)?;
    let differences = differences(&first.folder, &second.folder)?;
    ensure!(
        differences.is_empty(),
        "files of {} and {} differ: {}",
        first.folder.display(),
        second.folder.display(),
        differences.join(", ")
    );
    println!("ok: two builds from two folders on two dates have the same files");
    remove_folder(&folder)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// The names of files that differ, or that only one folder has.
fn differences(first: &Path, second: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for folder in [first, second] {
        for path in entries(folder)? {
            names.push(path.file_name().context("no name")?.to_owned());
        }
    }
    names.sort();
    names.dedup();
    let differs = |name: &_| match (fs::read(first.join(name)), fs::read(second.join(name))) {
        (Ok(one), Ok(other)) => one != other,
        _ => true,
    };
    let differing = names.iter().filter(|name| differs(*name));
    Ok(differing.map(|name| name.to_string_lossy().into_owned()).collect())
}

#[cfg(test)]
mod tests {
    use tercel_harness::folder::TemporaryFolder;

    use super::*;

    #[test]
    fn files_that_differ_are_named() {
        let folder = TemporaryFolder::create("tercel-dist-compare").unwrap();
        let (first, second) = (folder.path().join("first"), folder.path().join("second"));
        for (at, name, text) in [
            (&first, "same", "1"),
            (&second, "same", "1"),
            (&first, "other", "1"),
            (&second, "other", "2"),
            (&second, "only", "1"),
        ] {
            fs::create_dir_all(at).unwrap();
            fs::write(at.join(name), text).unwrap();
        }
        assert_eq!(differences(&first, &second).unwrap(), ["only", "other"]);
    }
}
