//! The one line by which a program chooses the provider, and what it then links.

use std::process::Command;
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::{ClientConfig, RootCertStore};

#[test]
fn one_line_installs_the_provider_for_the_process() {
    tercel_rustls::default_provider().install_default().expect("no other provider is installed");
    let roots = RootCertStore::empty();
    let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let installed = CryptoProvider::get_default().unwrap();
    assert!(Arc::ptr_eq(config.crypto_provider(), installed));
    assert!(format!("{:?}", installed.key_provider).contains("Keys"), "another provider");
    assert!(!config.fips());
    // A second one is refused.
    assert!(tercel_rustls::default_provider().install_default().is_err());
}

/// Only one AWS-LC is linked, and no second cryptographic library.
#[test]
fn the_crate_does_not_depend_on_rustls_own_providers() {
    let arguments = ["tree", "--locked", "--offline", "-p", "tercel-rustls", "-e", "normal"];
    let output = Command::new(env!("CARGO"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(arguments)
        .args(["--prefix", "none", "--format", "{p}"])
        .output()
        .unwrap();
    let tree = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let names: Vec<_> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(names.contains(&"rustls") && names.contains(&"aws-lc-sys"), "{names:?}");
    for other in ["aws-lc-rs", "aws-lc-fips-sys", "ring", "openssl-sys"] {
        assert!(!names.contains(&other), "{other} in {names:?}");
    }
}
