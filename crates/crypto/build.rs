//! Decides which lanes of `src/backend/lanes` this build has.
//!
//! A build script, because the intrinsics of AVX-512 came with Rust 1.89 and the crate builds with 1.85, and `cfg` cannot ask
//! for the compiler's version.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(lanes_avx2, lanes_avx512, lanes_large_frames)");
    let wanted = env::var_os("CARGO_FEATURE_HASH_LANES").is_some();
    let for_x86_64 = env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|name| name == "x86_64");
    let optimised = env::var("OPT_LEVEL").unwrap_or_default();
    // Without optimisation each vector passes through the stack, of which a kernel then uses more than 64 KiB, and lanes are
    // slower than AWS-LC's hash functions one after the other.
    if wanted && for_x86_64 && optimised != "0" {
        println!("cargo::rustc-cfg=lanes_avx2");
        // Frames are smallest where the compiler optimises for speed.
        if !matches!(optimised.as_str(), "2" | "3") {
            println!("cargo::rustc-cfg=lanes_large_frames");
        }
        if version().is_some_and(|said| has_avx512(&said)) {
            println!("cargo::rustc-cfg=lanes_avx512");
        }
    }
}

/// What the compiler says of itself: "rustc 1.89.0 (29483883e 2025-08-04)".
fn version() -> Option<String> {
    let said = Command::new(env::var_os("RUSTC")?).arg("--version").output().ok()?.stdout;
    String::from_utf8(said).ok()
}

/// Whether a compiler of this version has the intrinsics for AVX-512. One that says it otherwise gets what every compiler
/// gets, and so do compilers from before the first release that has them: some of those have them, and some do not.
pub(crate) fn has_avx512(said: &str) -> bool {
    release(said).is_some_and(|(numbers, is_before)| (numbers, !is_before) >= (FIRST, true))
}

/// The release that a version is, or that it comes before.
fn release(said: &str) -> Option<([u32; 3], bool)> {
    let version = said.strip_prefix("rustc ")?.split_ascii_whitespace().next()?;
    // Marked as "-nightly", "-beta.3", "-dev".
    let (numbers, before) = match version.split_once('-') {
        Some((numbers, _)) => (numbers, true),
        None => (version, false),
    };
    let mut numbers = numbers.split('.').map(|number| number.parse().ok());
    let release = [numbers.next()??, numbers.next()??, numbers.next()??];
    numbers.next().is_none().then_some((release, before))
}

const FIRST: [u32; 3] = [1, 89, 0];
