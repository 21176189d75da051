//! All files of a release, made from one build.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::architecture::Architecture;
use crate::archive::{CHECKSUMS, gzip, tar, write_checksums};
use crate::bill::Bill;
use crate::builder::{Builder, remove_folder};
use crate::package::{Package, ProgramFiles, System, entries, generate, with_folders};
use crate::{deb, image, rpm};

/// The address of the sources.
pub(crate) const HOMEPAGE: &str = env!("CARGO_PKG_REPOSITORY");

/// The files that were made.
#[derive(Debug)]
pub(crate) struct Release {
    /// The folder of the files.
    pub(crate) folder: PathBuf,
    pub(crate) programs: Vec<Program>,
    /// The archive of the C library, then its packages.
    libraries: Vec<String>,
}

/// The files for one architecture.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) architecture: Architecture,
    /// The stripped program.
    pub(crate) program: PathBuf,
    pub(crate) image: String,
    pub(crate) rpm: String,
    archive: String,
    deb: String,
}

impl Release {
    /// The archive of the C library.
    pub(crate) fn library_archive(&self) -> &str {
        self.libraries.first().map_or("", String::as_str)
    }

    /// The names of the files, without checksums and bills of materials.
    pub(crate) fn names(&self) -> impl Iterator<Item = &String> {
        let programs = self
            .programs
            .iter()
            .flat_map(|each| [&each.archive, &each.image, &each.deb, &each.rpm]);
        programs.chain(&self.libraries)
    }
}

/// Builds everything, and writes the files to a folder.
pub(crate) fn make(
    builder: &Builder,
    folder: &Path,
    architectures: &[Architecture],
) -> Result<Release> {
    remove_release(folder)?;
    fs::create_dir_all(folder)?;
    // The files of a run that fails are removed by the next one.
    fs::write(folder.join(CHECKSUMS), "")?;
    let mut release =
        Release { folder: folder.to_owned(), programs: Vec::new(), libraries: Vec::new() };
    let generated = builder.target.join("generated");
    // A licence that is not known is found before the programs are built.
    let bills = architectures
        .iter()
        .map(|architecture| Bill::new(builder, "tercel-cli", architecture.target()))
        .collect::<Result<Vec<_>>>()?;
    let library_bill = Bill::new(builder, "tercel-capi", "x86_64-unknown-linux-gnu")?;
    let programs = builder.programs(architectures)?;
    generate(builder, programs.first().context("no program")?, &generated)?;
    for ((&architecture, program), bill) in architectures.iter().zip(programs).zip(bills) {
        let notices = builder.target.join(architecture.target()).join("THIRD-PARTY");
        fs::write(&notices, bill.notices()?)?;
        let files = ProgramFiles { program, generated: generated.clone(), notices };
        let package = |system| Package::program(builder, system, &files);
        let made = Program {
            architecture,
            archive: program_archive(builder, &files, architecture, folder)?,
            image: image::write(builder, &files, architecture, folder)?,
            deb: deb::write(builder, &package(System::Debian)?, architecture, folder)?,
            rpm: rpm::write(builder, &package(System::Rpm)?, architecture, folder)?,
            program: files.program,
        };
        for name in [&made.archive, &made.image, &made.deb, &made.rpm] {
            bill.write(builder, folder, name)?;
        }
        release.programs.push(made);
    }
    release.libraries = libraries(builder, &library_bill, folder)?;
    let names = entries(folder)?
        .iter()
        .filter(|path| !path.ends_with(CHECKSUMS))
        .map(|path| Ok(path.file_name().context("no name")?.to_string_lossy().into_owned()))
        .collect::<Result<Vec<_>>>()?;
    write_checksums(builder, folder, &names)?;
    Ok(release)
}

/// Removes the files of an earlier run from a folder, which may have no others.
fn remove_release(folder: &Path) -> Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    let files = entries(folder)?;
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let starts = ["tercel-", "tercel_", "libtercel"];
        path.is_file() && (name == CHECKSUMS || starts.iter().any(|start| name.starts_with(start)))
    };
    let other = files.iter().find(|path| !is_ours(path));
    if let Some(other) = other {
        bail!("{} is not a file of a release, and was not removed", other.display());
    }
    let is_complete = files.is_empty() || folder.join(CHECKSUMS).exists();
    ensure!(is_complete, "{} has no {CHECKSUMS}, but files", folder.display());
    for file in files {
        fs::remove_file(file)?;
    }
    Ok(())
}

/// The program with manual pages, completions, units and licences.
fn program_archive(
    builder: &Builder,
    files: &ProgramFiles,
    architecture: Architecture,
    to: &Path,
) -> Result<String> {
    let mut content = vec![
        ("tercel".to_owned(), files.program.clone(), 0o755),
        ("THIRD-PARTY".to_owned(), files.notices.clone(), 0o644),
    ];
    for name in ["LICENSE-MIT", "LICENSE-APACHE", "CHANGELOG.md", "docs/proxy.md"] {
        content.push((name.to_owned(), builder.source.join(name), 0o644));
    }
    for folder in ["man", "completions"] {
        for path in entries(&files.generated.join(folder))? {
            let name = path.file_name().context("no name")?.to_string_lossy().into_owned();
            content.push((format!("{folder}/{name}"), path, 0o644));
        }
    }
    for path in entries(&builder.source.join("crates/proxy/examples/systemd"))? {
        let name = path.file_name().context("no name")?.to_string_lossy().into_owned();
        content.push((format!("systemd/{name}"), path, 0o644));
    }
    let name = format!("tercel-{}-linux-{}", env!("CARGO_PKG_VERSION"), architecture.name());
    pack(builder, &name, &content, to)
}

/// The C library as an archive and as packages.
fn libraries(builder: &Builder, bill: &Bill, folder: &Path) -> Result<Vec<String>> {
    let built = builder.library()?;
    let notices = builder.target.join("THIRD-PARTY");
    fs::write(&notices, bill.notices()?)?;

    // The library may be unpacked in any folder.
    let config = built.join("lib/pkgconfig/relative.pc");
    let text = fs::read_to_string(built.join("lib/pkgconfig/tercel.pc"))?;
    fs::write(&config, with_folders(&text, "${pcfiledir}/../..", "${prefix}/lib")?)?;
    let shared = format!("lib/{}", crate::builder::SHARED);
    let mut content = vec![
        (shared.clone(), built.join(&shared), 0o644),
        ("lib/libtercel.so".to_owned(), crate::builder::SHARED.into(), LINK),
        ("lib/libtercel.a".to_owned(), built.join("lib/libtercel.a"), 0o644),
        ("lib/pkgconfig/tercel.pc".to_owned(), config, 0o644),
        ("THIRD-PARTY".to_owned(), notices.clone(), 0o644),
    ];
    for name in ["include/tercel.h", "include/tercel.hpp"] {
        content.push((name.to_owned(), built.join(name), 0o644));
    }
    for name in ["LICENSE-MIT", "LICENSE-APACHE", "docs/c.md"] {
        content.push((name.to_owned(), builder.source.join(name), 0o644));
    }
    let name = format!("libtercel-{}-linux-x86_64", env!("CARGO_PKG_VERSION"));
    let mut names = vec![pack(builder, &name, &content, folder)?];
    for package in Package::libraries(builder, System::Debian, &built, &notices)? {
        names.push(deb::write(builder, &package, Architecture::X86_64, folder)?);
    }
    for package in Package::libraries(builder, System::Rpm, &built, &notices)? {
        names.push(rpm::write(builder, &package, Architecture::X86_64, folder)?);
    }
    for name in &names {
        bill.write(builder, folder, name)?;
    }
    Ok(names)
}

/// The mode of an entry of [`pack`] that is a link to the path.
const LINK: u32 = 0o777;

/// Writes files, under their new names, to an archive with one folder.
fn pack(
    builder: &Builder,
    name: &str,
    content: &[(String, PathBuf, u32)],
    to: &Path,
) -> Result<String> {
    let outer = builder.target.join("archive");
    remove_folder(&outer)?;
    for (path, from, mode) in content {
        let file = outer.join(name).join(path);
        let folder = file.parent().context("no folder")?;
        fs::create_dir_all(folder)?;
        if *mode == LINK {
            std::os::unix::fs::symlink(from, &file)?;
        } else {
            fs::copy(from, &file).with_context(|| from.display().to_string())?;
            fs::set_permissions(&file, Permissions::from_mode(*mode))?;
        }
    }
    let file = to.join(format!("{name}.tar"));
    tar(builder, &outer, &file)?;
    gzip(builder, &file)?;
    Ok(format!("{name}.tar.gz"))
}

#[cfg(test)]
mod tests {
    use tercel_harness::folder::TemporaryFolder;

    use super::*;

    #[test]
    fn only_files_of_a_release_are_removed() {
        let temporary = TemporaryFolder::create("tercel-dist-release").unwrap();
        let folder = temporary.path().join("files");
        remove_release(&folder).unwrap();
        fs::create_dir(&folder).unwrap();
        let write = |name: &str| fs::write(folder.join(name), "").unwrap();
        write("tercel-1.tar.gz");
        assert!(remove_release(&folder).is_err(), "without checksums");
        write(CHECKSUMS);
        remove_release(&folder).unwrap();
        assert_eq!(entries(&folder).unwrap(), [] as [PathBuf; 0]);
        for name in [CHECKSUMS, "tercel-1.tar.gz", "other"] {
            write(name);
        }
        assert!(remove_release(&folder).is_err(), "with another file");
        assert_eq!(entries(&folder).unwrap().len(), 3);
    }
}
