//! Selects the implementations of `src/backend/lanes` and `src/backend/kernels` for this build, and
//! says which FIPS module is linked.
//!
//! A build script is needed because the intrinsics of AVX-512 came with Rust 1.89, the crate
//! builds with 1.85, and `cfg` cannot test the compiler's version.

use std::env;
use std::process::Command;

/// The features that select a kernel, and the `cfg` of each.
const KERNELS: [(&str, &str); 3] = [
    ("CARGO_FEATURE_AES_GCM_KERNEL", "kernel_aes_gcm"),
    ("CARGO_FEATURE_CHACHA20_POLY1305_KERNEL", "kernel_chacha20_poly1305"),
    ("CARGO_FEATURE_RSA_KERNEL", "kernel_rsa"),
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(lanes_avx2, lanes_avx512, lanes_large_frames, kernels)");
    for (_, cfg) in KERNELS {
        println!("cargo::rustc-check-cfg=cfg({cfg})");
    }
    let has = |feature| env::var_os(feature).is_some();
    say_fips_module(has("CARGO_FEATURE_FIPS"));
    let wants_lanes = has("CARGO_FEATURE_HASH_LANES");
    let wanted: Vec<_> = KERNELS.iter().filter(|(feature, _)| has(feature)).collect();
    let for_x86_64 = env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|name| name == "x86_64");
    let optimised = env::var("OPT_LEVEL").unwrap_or_default();
    // Without optimisation each vector passes through the stack. A kernel then uses more than
    // 64 KiB of stack, and lanes and kernels are slower than AWS-LC.
    let is_wanted = wants_lanes || !wanted.is_empty();
    if !is_wanted || !for_x86_64 || optimised == "0" {
        return;
    }
    if wants_lanes {
        println!("cargo::rustc-cfg=lanes_avx2");
    }
    // Stack frames are smallest if the compiler optimises for speed.
    if !matches!(optimised.as_str(), "2" | "3") {
        println!("cargo::rustc-cfg=lanes_large_frames");
    }
    if version().is_some_and(|said| has_avx512(&said)) {
        if wants_lanes {
            println!("cargo::rustc-cfg=lanes_avx512");
        }
        if !wanted.is_empty() {
            println!("cargo::rustc-cfg=kernels");
        }
        for (_, cfg) in wanted {
            println!("cargo::rustc-cfg={cfg}");
        }
    }
}

/// Sets `cfg`s for the FIPS module. Version 3 of it has no ML-DSA. The bindings of each version of
/// the module have their own name, which is in the names of the variables that they pass.
fn say_fips_module(is_wanted: bool) {
    println!("cargo::rustc-check-cfg=cfg(fips_module_3, fips_module_static)");
    println!("cargo::rerun-if-env-changed={LINKAGE}");
    if !is_wanted {
        return;
    }
    if env::vars_os().any(|(name, _)| name.to_string_lossy().starts_with("DEP_AWS_LC_FIPS_0_13_")) {
        println!("cargo::rustc-cfg=fips_module_3");
    }
    let target = |part: &str| env::var(format!("CARGO_CFG_TARGET_{part}")).unwrap_or_default();
    let is_static = match env::var(LINKAGE) {
        Ok(said) => matches!(said.to_lowercase().as_str(), "1" | "on" | "true" | "yes"),
        Err(_) => {
            target("OS") == "linux" && matches!(target("ARCH").as_str(), "x86_64" | "aarch64")
        }
    };
    if is_static {
        println!("cargo::rustc-cfg=fips_module_static");
    }
}

/// The setting by which the bindings link the module statically or not. The static library and the
/// shared one have separate certificates.
const LINKAGE: &str = "AWS_LC_FIPS_SYS_STATIC";

/// The compiler's version line: "rustc 1.89.0 (29483883e 2025-08-04)".
fn version() -> Option<String> {
    let said = Command::new(env::var_os("RUSTC")?).arg("--version").output().ok()?.stdout;
    String::from_utf8(said).ok()
}

/// Whether a compiler of this version has the intrinsics for AVX-512. If the version line is
/// unknown, the answer is no. Pre-releases of the first release with the intrinsics count as older,
/// because only some of them have the intrinsics.
pub(crate) fn has_avx512(said: &str) -> bool {
    release(said).is_some_and(|(numbers, is_before)| (numbers, !is_before) >= (FIRST, true))
}

/// The release of this version line, and whether the version is a pre-release of it.
fn release(said: &str) -> Option<([u32; 3], bool)> {
    let version = said.strip_prefix("rustc ")?.split_ascii_whitespace().next()?;
    // Suffixes such as "-nightly", "-beta.3", "-dev".
    let (numbers, before) = match version.split_once('-') {
        Some((numbers, _)) => (numbers, true),
        None => (version, false),
    };
    let mut numbers = numbers.split('.').map(|number| number.parse().ok());
    let release = [numbers.next()??, numbers.next()??, numbers.next()??];
    numbers.next().is_none().then_some((release, before))
}

const FIRST: [u32; 3] = [1, 89, 0];
