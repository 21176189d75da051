//! The compiler versions for which lanes with newer intrinsics are compiled.

#[allow(dead_code, reason = "a build script has a main")]
#[path = "../build.rs"]
mod build;

#[test]
fn releases_with_the_intrinsics_are_recognized() {
    for (version, has_it) in [
        ("1.85.0", false),
        ("1.88.9", false),
        ("1.89.0-nightly", false),
        ("1.89.0-beta.3", false),
        ("1.89.0", true),
        ("1.89.1-dev", true),
        ("1.90.0-nightly", true),
        ("1.100.0", true),
        ("2.0.0", true),
        ("0.99.0", false),
    ] {
        assert_eq!(build::has_avx512(&format!("rustc {version} (abc 2025-08-04)")), has_it);
        assert_eq!(build::has_avx512(&format!("rustc {version}\n")), has_it, "{version}");
    }
}

#[test]
fn an_unknown_version_has_no_new_intrinsics() {
    for said in [
        "",
        "rustc",
        "rustc ",
        "rustc x.y.z",
        "rustc 1",
        "rustc 1.89",
        "rustc 1.89.0.1",
        "gcc 12.2.0",
    ] {
        assert!(!build::has_avx512(said), "{said:?}");
    }
}
