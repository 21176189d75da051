//! The allocator that is preloaded into workers.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use lab_scenario::Program;

/// The name and the library of the chosen allocator. The system's allocator has no library.
pub(crate) fn allocator(choice: &str) -> Result<(String, Option<PathBuf>)> {
    let system = || ("the system's".to_owned(), None);
    let library = |path: &Path| (path.display().to_string(), Some(path.to_owned()));
    match choice {
        "system" => Ok(system()),
        "auto" => Ok(known_allocators().first().map_or_else(system, |path| library(path))),
        name if name.contains('/') => {
            ensure!(Path::new(name).is_file(), "--allocator: no such file: {name}");
            Ok(library(Path::new(name)))
        }
        name => {
            let found = known_allocators().into_iter().find(|path| {
                path.file_name().is_some_and(|file| file.to_string_lossy().contains(name))
            });
            found.map(|path| library(&path)).with_context(|| format!("{name} is not installed"))
        }
    }
}

/// The allocators of the published programs: rustls-bench links jemalloc, openssl-bench none.
pub(crate) fn allocators_of_programs() -> Result<(String, Option<PathBuf>)> {
    let (jemalloc, preload) = allocator("jemalloc").context(
        "rustls-bench links jemalloc: install it (libjemalloc2 on Debian) or use --allocator system",
    )?;
    let [rustls, openssl] = [Program::RustlsBench, Program::OpensslBench].map(Program::name);
    Ok((format!("{jemalloc} as in {rustls}, the system's as in {openssl}"), preload))
}

/// Installed allocators in the usual library directories, preferred first.
fn known_allocators() -> Vec<PathBuf> {
    let folders = [
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/usr/lib64",
        "/usr/lib",
        "/usr/local/lib",
    ];
    let names = ["libjemalloc.so.2", "libmimalloc.so.3", "libmimalloc.so.2", "libmimalloc.so"];
    let paths = names.iter().flat_map(|name| folders.iter().map(move |f| Path::new(f).join(name)));
    paths.filter(|path| path.exists()).collect()
}
