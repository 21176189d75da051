//! Builds the program `openssl` from the source in `openssl-src`, whose own build has neither the
//! program nor compression (RFC 8879). Needs Perl, make, a C compiler and the headers of zlib and
//! Brotli.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The options of the build of OpenSSL. They leave out parts that the peer does not use. Speed does
/// not matter for an echo.
const OPTIONS: [&str; 11] = [
    "no-shared",
    "no-module",
    "no-legacy",
    "no-tests",
    "no-docs",
    "no-quic",
    "no-cmp",
    "enable-zlib",
    "enable-brotli",
    "--openssldir=/nonexistent",
    "CFLAGS=-O1",
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let folder = PathBuf::from(variable("OUT_DIR")).join("openssl");
    fs::create_dir_all(&folder).expect("a folder to build in");
    let source = openssl_src::source_dir();
    run(&folder, Command::new("perl").arg(source.join("Configure")).args(OPTIONS));
    let jobs = format!("-j{}", variable("NUM_JOBS"));
    run(&folder, Command::new("make").args([&jobs, "-s", "build_programs"]));
    println!("cargo::rustc-env=OPENSSL_PROGRAM={}", folder.join("apps/openssl").display());
}

fn run(folder: &Path, command: &mut Command) {
    // The child must not take part in Cargo's job server.
    let status = command.current_dir(folder).env_remove("MAKEFLAGS").status();
    assert!(status.is_ok_and(|status| status.success()), "{command:?} failed");
}

fn variable(name: &str) -> String {
    env::var(name).expect("cargo sets it")
}
