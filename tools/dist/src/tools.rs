//! The programs that are needed beyond cargo, and how Debian's packages with them are called.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};
use tercel_harness::program;

use crate::architecture::Architecture;

/// Programs or files, and the packages that contain them.
const TOOLS: &[(&str, &str)] = &[
    ("git", "git"),
    ("tar", "tar"),
    ("gzip", "gzip"),
    ("xz", "xz-utils"),
    ("sha256sum", "coreutils"),
    ("x86_64-linux-gnu-gcc", "gcc"),
    ("x86_64-linux-gnu-strip", "binutils"),
    ("/usr/lib/x86_64-linux-musl/musl-gcc.specs", "musl-tools"),
    ("dpkg-deb", "dpkg"),
    ("rpmbuild", "rpm"),
    ("umoci", "umoci"),
];

/// The same for aarch64.
const FOR_AARCH64: &[(&str, &str)] = &[
    ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
    ("aarch64-linux-gnu-strip", "binutils-aarch64-linux-gnu"),
    ("/usr/lib/aarch64-linux-musl/musl-gcc.specs", "musl-dev:arm64"),
    ("qemu-aarch64-static", "qemu-user-static"),
];

/// The same for a second build on another date.
const FOR_CHECK: &[(&str, &str)] = &[("faketime", "faketime"), ("timeout", "coreutils")];

/// Checks that all programs, and Rust's standard libraries, are installed.
///
/// # Errors
/// Names all that are missing.
pub(crate) fn require(architectures: &[Architecture], check: bool) -> Result<()> {
    let mut needed = TOOLS.to_vec();
    if architectures.contains(&Architecture::Aarch64) {
        needed.extend(FOR_AARCH64);
    }
    if check {
        needed.extend(FOR_CHECK);
    }
    let mut absent: Vec<_> = needed
        .into_iter()
        .filter(|(program, _)| !is_installed(program))
        .map(|(program, package)| format!("{program} (Debian's package {package})"))
        .collect();
    for architecture in architectures {
        let target = architecture.target();
        if !has_standard_library(target) {
            // Fails if there is no rustup, which is noticed below.
            let _ = Command::new("rustup").args(["target", "add", target]).status();
        }
        if !has_standard_library(target) {
            absent.push(format!("Rust's standard library (rustup target add {target})"));
        }
    }
    if !absent.is_empty() {
        bail!("absent: {}", absent.join(", "));
    }
    Ok(())
}

fn is_installed(program: &str) -> bool {
    if program.starts_with('/') {
        return Path::new(program).exists();
    }
    program::find(program).is_some()
}

fn has_standard_library(target: &str) -> bool {
    let folder =
        Command::new("rustc").args(["--print", "target-libdir", "--target", target]).output();
    folder.is_ok_and(|said| Path::new(String::from_utf8_lossy(&said.stdout).trim()).is_dir())
}
