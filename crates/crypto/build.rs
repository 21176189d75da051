//! Decides which lanes of `src/backend/lanes` this build has.
//!
//! A build script, because the intrinsics of AVX-512 came with Rust 1.89 and the crate builds with 1.85, and `cfg` cannot ask
//! for the compiler's version.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(lanes_avx2, lanes_avx512)");
    let wanted = env::var_os("CARGO_FEATURE_HASH_LANES").is_some();
    let for_x86_64 = env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|name| name == "x86_64");
    if wanted && for_x86_64 {
        println!("cargo::rustc-cfg=lanes_avx2");
        if minor_version().is_some_and(|minor| minor >= 89) {
            println!("cargo::rustc-cfg=lanes_avx512");
        }
    }
}

/// The N of "rustc 1.N.0 (..)". A compiler that says it otherwise gets what every compiler gets.
fn minor_version() -> Option<u32> {
    let said = Command::new(env::var_os("RUSTC")?).arg("--version").output().ok()?.stdout;
    let version = String::from_utf8(said).ok()?;
    version.strip_prefix("rustc 1.")?.split('.').next()?.parse().ok()
}
