//! Configurations, options and addresses that are refused or warned about before anything is
//! served.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use super::{Proxy, backend, configuration, folder, path, proxy};

#[test]
fn a_check_says_what_is_good_and_names_what_is_not() {
    let folder = folder();
    let to = backend("");
    let good = folder.write("good.toml", configuration(&folder, to, ""));
    let checked = proxy(&["--config", &good, "--check"]).success();
    assert!(checked.said.contains("configuration is valid"), "{}", checked.said);
    // The contents of each file are listed.
    assert!(checked.said.contains(": 1 CERTIFICATE\n"), "{}", checked.said);
    assert!(checked.said.contains(": 1 PRIVATE KEY\n"), "{}", checked.said);
    let (certs, to) = (path(&folder, "certs"), to.to_string());
    proxy(&["--listen", ":443", "--to", &to, "--cert-dir", &certs, "--check"]).success();
    for (name, text, expected) in [
        (
            "key.toml",
            "worker = 2\n".to_owned(),
            "worker: unknown key in the top level; did you mean `workers`?",
        ),
        ("syntax.toml", "workers = \n".to_owned(), "line 1: "),
        (
            "certificates.toml",
            std::fs::read_to_string(&good).unwrap().replace("certs", "none"),
            "listener[0].certificates: ",
        ),
    ] {
        let file = folder.write(name, text);
        // Starting and checking print the same error line.
        for options in [["--config", &file, "--check"].as_slice(), &["--config", &file]] {
            let refused = proxy(options);
            let line = refused.failure().to_owned();
            assert!(line.starts_with(&format!("{file}: {expected}")), "{line}");
        }
    }
    let missing = path(&folder, "missing.toml");
    assert!(proxy(&["--config", &missing]).failure().starts_with(&missing));
    // Errors name the options that were used.
    let refused = proxy(&["--listen", "443", "--to", &to, "--cert-dir", &certs]);
    assert!(refused.failure().starts_with("command line: --listen: "), "{refused:?}");
}

#[test]
fn options_that_make_no_sense_are_another_status() {
    let folder = folder();
    let (certs, ca) = (path(&folder, "certs"), path(&folder, "ca.pem"));
    let start = ["--listen", "127.0.0.1:0", "--to", "127.0.0.1:1"];
    for more in [
        [].as_slice(),
        &["--colour"],
        &["--cert", &ca],
        &["--cert-dir", &certs, "--cert", &ca, "--key", &ca],
        &["--cert-dir", &certs, "--config", &ca],
        &["--cert-dir", &certs, "--workers", "many"],
    ] {
        let refused = proxy(&[&start, more].concat());
        assert_eq!(refused.status, Some(2), "{refused:?}");
    }
}

#[test]
fn an_address_that_is_taken_is_named() {
    let folder = folder();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let certs = path(&folder, "certs");
    let options = ["--listen", &address, "--to", "127.0.0.1:1", "--cert-dir", &certs];
    let refused = proxy(&options);
    let line = refused.failure();
    assert!(line.starts_with("command line: --listen: ") && line.contains(&address), "{line}");
}

#[test]
fn a_password_that_others_can_read_is_told_of() {
    let folder = folder();
    let secret = folder.write("secret", "0123456789abcdef0123456789abcdef");
    let set_mode = |file: &str, mode| {
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    set_mode(&secret, 0o600);
    for (login, mode, told) in
        [(":word@", 0o644, true), (":word@", 0o640, false), ("", 0o644, false)]
    {
        let store = format!(
            "[resumption]\nsessions = \"shared\"\n[resumption.store]\nsecret = \"{secret}\"\n\
             url = \"redis://{login}127.0.0.1:1\""
        );
        let file = folder.write("store.toml", configuration(&folder, backend("x"), &store));
        set_mode(&file, mode);
        let warning = format!("{file}: resumption.store.url: contains a password");
        let checked = proxy(&["--config", &file, "--check"]).success();
        assert_eq!(checked.said.contains(&warning), told, "{}", checked.said);
        let mut proxy = Proxy::start(&["--config", &file]);
        proxy.address("listener");
        proxy.signal("-HUP");
        proxy.wait_for("configuration reloaded", 1);
        proxy.signal("-TERM");
        assert_eq!(proxy.status(), Some(0), "{}", proxy.said());
        let times = if told { 2 } else { 0 };
        assert_eq!(proxy.said().matches(&warning).count(), times, "{}", proxy.said());
        assert!(!proxy.said().contains("word@"), "{}", proxy.said());
    }
}
