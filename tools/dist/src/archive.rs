//! Archives and checksums.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::builder::{Builder, output, run};

/// Writes the content of a folder to a tar file: sorted, of user 0, with one time.
pub(crate) fn tar(builder: &Builder, folder: &Path, file: &Path) -> Result<()> {
    let mut names =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name())).collect::<Result<Vec<_>>>()?;
    names.sort();
    let mut tar = builder.command("tar")?;
    tar.args(["--sort=name", "--format=gnu", "--owner=0", "--group=0", "--numeric-owner"])
        .arg(format!("--mtime=@{}", builder.epoch))
        .arg("-C")
        .arg(folder)
        .arg("-cf")
        .arg(file)
        .args(names);
    run(&mut tar)
}

/// Compresses a file in its folder, and returns the path of the result.
pub(crate) fn gzip(builder: &Builder, file: &Path) -> Result<PathBuf> {
    run(builder.command("gzip")?.args(["-9", "--no-name", "--force"]).arg(file))?;
    let mut name = file.as_os_str().to_owned();
    name.push(".gz");
    Ok(name.into())
}

/// The SHA-256 of a file in hexadecimal digits.
pub(crate) fn sha256(builder: &Builder, file: &Path) -> Result<String> {
    let line = output(builder.command("sha256sum")?.arg(file))?;
    // A backslash precedes the digits if the name needs escapes.
    let digits = line.trim_start_matches('\\').split(' ').next().context("no checksum")?;
    Ok(digits.to_owned())
}

/// Writes the checksums of files in a folder to its file `SHA256SUMS`.
pub(crate) fn write_checksums(builder: &Builder, folder: &Path, names: &[String]) -> Result<()> {
    let lines = output(builder.command("sha256sum")?.current_dir(folder).args(names))?;
    Ok(fs::write(folder.join(CHECKSUMS), lines + "\n")?)
}

/// The file of checksums.
pub(crate) const CHECKSUMS: &str = "SHA256SUMS";
