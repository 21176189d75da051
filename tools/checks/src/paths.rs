//! Which rotating steps belong to which files.

/// Prefixes of paths, and the rotating steps that test what they contain. The first row that fits
/// a path is used.
pub(crate) const PATHS: &[(&str, &[&str])] = &[
    ("crates/crypto/", &["stack-residue", "kernels", "fips", "cross", "interop", "msrv"]),
    ("crates/wire/", &["interop", "cross", "msrv"]),
    ("crates/pki/", &["chains", "interop", "fips", "cross", "msrv"]),
    ("crates/tls/", &["interop", "loom", "fips", "cross", "faults", "fleet", "msrv"]),
    ("crates/tokio/", &["loom", "faults", "msrv"]),
    ("crates/hyper/", &["msrv"]),
    ("crates/native-tls/", &["msrv"]),
    ("crates/postgres/", &["msrv"]),
    ("crates/quinn/", &["faults", "msrv"]),
    ("crates/rustls/", &["msrv"]),
    ("crates/capi/", &["msrv", "fips", "dist"]),
    ("crates/openssl/", &["msrv"]),
    ("crates/fleet/", &["fleet", "features", "msrv"]),
    ("crates/proxy/examples/", &["dist"]),
    ("crates/proxy/", &["faults", "fleet", "loom", "msrv"]),
    ("crates/cli/", &["features", "interop", "msrv", "dist"]),
    ("conformance/chains/", &["chains"]),
    ("conformance/faults/", &["faults"]),
    ("conformance/fleet/", &["fleet"]),
    ("conformance/interop/", &["interop"]),
    ("conformance/peers/", &["interop"]),
    ("conformance/harness/", &["interop", "faults", "fleet", "lab"]),
    // Their runners need a checkout or programs that the user names.
    ("conformance/", &[]),
    ("fuzz/", &[]),
    ("lab/", &["lab", "lab-page"]),
    ("tools/cross.sh", &["cross"]),
    ("tools/dist/", &["dist"]),
    ("tools/c-library.sh", &["dist"]),
    ("tools/c-link.sh", &["dist"]),
    ("tools/no-jitter.sh", &["dist"]),
    ("tools/msrv.sh", &["msrv"]),
    ("tools/minimal-versions.sh", &["minimal-versions"]),
    ("tools/loom", &["loom"]),
    ("tools/stack-residue.sh", &["stack-residue"]),
    ("tools/test-fips.sh", &["fips"]),
    ("tools/fips-symbols.sh", &["fips"]),
    ("tools/package", &["package"]),
    ("tools/kernel-code", &["kernels"]),
    ("tools/constant-time.sh", &["kernels"]),
    ("tools/lab-page-check.sh", &["lab-page"]),
    ("tools/", &[]),
    ("docs/", &[]),
    (".ci/", &[]),
    (".cargo/", &["msrv", "cross", "package", "dist"]),
    ("Cargo.toml", &["minimal-versions", "package", "msrv", "cross", "features", "dist"]),
    ("Cargo.lock", &["msrv", "cross", "package", "dist"]),
    ("justfile", &[]),
    ("clippy.toml", &[]),
    ("deny.toml", &[]),
    ("rustfmt.toml", &[]),
    (".gitignore", &[]),
    ("LICENSE-", &["package"]),
    ("README.md", &[]),
    ("ARCHITECTURE.md", &[]),
    ("CHANGELOG.md", &[]),
    ("CONTRIBUTING.md", &[]),
    ("PERFORMANCE.md", &[]),
    ("SECURITY.md", &[]),
];

/// Whether a file is prose, which no compiler reads. Documents of a crate are part of its
/// documentation.
pub(crate) fn is_document(path: &str) -> bool {
    let in_crate = path.starts_with("crates/") && !path.ends_with("README.md");
    let is_listing = path.starts_with("docs/api/");
    path.ends_with(".md") && !in_crate
        || path.starts_with("docs/") && !is_listing
        || path.starts_with("LICENSE-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::git;
    use crate::steps::STEPS;

    fn tracked() -> Option<String> {
        // An archive of the source has no repository.
        git(&["ls-files", "--full-name", ":/"]).ok()
    }

    #[test]
    fn every_file_has_a_row_and_every_row_a_file() {
        let Some(files) = tracked() else { return };
        for file in files.lines() {
            assert!(PATHS.iter().any(|(prefix, _)| file.starts_with(prefix)), "no row for {file}");
        }
        for (prefix, _) in PATHS {
            assert!(
                files.lines().any(|file| file.starts_with(prefix)),
                "no file for the row {prefix}"
            );
        }
        for crate_folder in
            files.lines().filter_map(|file| file.strip_prefix("crates/")?.split('/').next())
        {
            let prefix = format!("crates/{crate_folder}/");
            assert!(PATHS.iter().any(|(row, _)| *row == prefix), "no row for {prefix}");
        }
    }

    #[test]
    fn every_rotating_step_has_a_row_and_every_name_a_step() {
        let rotating: Vec<_> =
            STEPS.iter().filter(|step| step.rotates()).map(|step| step.name).collect();
        for name in &rotating {
            assert!(PATHS.iter().any(|(_, names)| names.contains(name)), "no path touches {name}");
        }
        for (prefix, names) in PATHS {
            for name in *names {
                assert!(rotating.contains(name), "{prefix}: {name} is not a rotating step");
            }
        }
    }

    #[test]
    fn documents() {
        for document in
            ["README.md", "docs/proxy.md", "crates/tls/README.md", "docs/security/kernels.md"]
        {
            assert!(is_document(document), "{document}");
        }
        for code in
            ["crates/tls/src/lib.rs", "crates/tls/docs/a.md", "docs/api/tercel.txt", "justfile"]
        {
            assert!(!is_document(code), "{code}");
        }
    }
}
