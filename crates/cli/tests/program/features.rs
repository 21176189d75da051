//! A build without features says so when an option needs one of them.

#[cfg(all(unix, not(feature = "redis")))]
#[test]
fn a_store_needs_redis() {
    use super::support::{Folder, Leaf, run, tercel};

    let folder = Folder::new();
    let [_, certificate, _, key] = Leaf::new("localhost", 2099).write(&folder, "one");
    let secret = folder.write("secret", "0123456789abcdef0123456789abcdef");
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&secret, permissions).unwrap();
    let text = format!(
        "[[listener]]\naddress = \"127.0.0.1:0\"\nto = \"127.0.0.1:1\"\ncertificate = \
         {certificate:?}\nkey = {key:?}\n[resumption]\nsessions = \"shared\"\n\
         [resumption.store]\nurl = \"redis://127.0.0.1\"\nsecret = {secret:?}\n"
    );
    let file = folder.write("proxy.toml", text);
    let outcome = run(tercel().args(["proxy", "--check", "--config", &file]), b"");
    let expected = format!(
        "{file}: resumption.store.url: a store cannot be used: this program was built without the \
         feature `redis` (line 9)"
    );
    assert_eq!(outcome.failure(), expected);
}

#[cfg(not(feature = "http3"))]
#[test]
fn http3_needs_its_feature() {
    use super::support::{run, tercel};

    for arguments in ["serve --http3", "connect a --http3", "load a --full --http3"] {
        let outcome = run(tercel().args(arguments.split(' ')), b"");
        assert_eq!(outcome.status, Some(2), "{}", outcome.said);
        let expected = "error: --http3: tercel was built without HTTP/3 (feature http3)\n";
        assert_eq!(outcome.said, expected);
    }
}

#[cfg(not(feature = "test-authority"))]
#[test]
fn a_server_without_certificates_needs_the_test_authority() {
    use super::support::{run, tercel};

    let outcome = run(tercel().args(["serve", "--listen", "127.0.0.1:0"]), b"");
    assert_eq!(outcome.status, Some(2), "{}", outcome.said);
    let expected = "error: tercel was built without the test authority (feature test-authority): \
                    give --cert and --key, --raw-key or --psk\n";
    assert_eq!(outcome.said, expected);
}

#[cfg(not(feature = "fips"))]
#[test]
fn fips_needs_its_feature() {
    use super::support::{Folder, run, tercel};

    let reason = "fips: the library was built without the feature `fips`";
    let outcome = run(tercel().args(["connect", "127.0.0.1:1", "--fips", "--insecure"]), b"");
    assert_eq!(outcome.failure(), reason);

    let outcome = run(tercel().args(["serve", "--fips"]), b"");
    let expected = "--fips needs a program that was built with the feature fips";
    assert!(outcome.said.contains(expected), "{}", outcome.said);

    let folder = Folder::new();
    let text = "fips = true\n[[listener]]\naddress = \"127.0.0.1:0\"\nto = \"127.0.0.1:1\"\n";
    let file = folder.write("proxy.toml", text);
    let outcome = run(tercel().args(["proxy", "--check", "--config", &file]), b"");
    assert!(outcome.said.contains(reason), "{}", outcome.said);
}

#[cfg(feature = "fips")]
#[test]
fn the_version_has_the_fips_module_and_other_options_are_refused() {
    use super::support::{run, tercel};

    let text = run(tercel().arg("--version"), b"").text();
    let (version, module) = text.split_once('\n').unwrap();
    assert_eq!(version, concat!("tercel ", env!("CARGO_PKG_VERSION")));
    assert!(module.starts_with("cryptographic module: AWS-LC FIPS "), "{module}");
    for (options, reason) in [
        ("--insecure", "fips: verifier: it may verify certificates outside of the module"),
        ("--groups x25519", "fips: groups: x25519 is not approved"),
        ("--key-log /dev/null", "fips: key_log: secrets leave the module"),
    ] {
        let arguments = format!("connect 127.0.0.1:1 --fips {options}");
        let outcome = run(tercel().args(arguments.split(' ')), b"");
        assert_eq!(outcome.failure(), reason);
    }
}
