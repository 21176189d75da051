//! `tercel scan` of OpenSSL's server, which has the versions and suites that the library omits.
//! Without the program `openssl`, these tests do nothing.

use std::process::Command;

use serde_json::Value;

use super::scan::{feature, findings, of, scan_json, strings, suites, versions};
use super::support::{Folder, OpenSsl};

impl OpenSsl {
    /// Starts a server with these options and a certificate of this kind of key. `None` without
    /// OpenSSL.
    fn start(key: &[&str], options: &[&str]) -> Option<Self> {
        if !OpenSsl::is_installed() {
            return None;
        }
        let folder = Folder::new();
        let (key_file, cert) = certificate(&folder, "server", key);
        Self::serve(&cert, &key_file, options)
    }

    fn scan(&self) -> Value {
        self.scan_with(&["--insecure"])
    }

    fn scan_with(&self, options: &[&str]) -> Value {
        let name = ["--name", "localhost", "--max-connections", "400"];
        scan_json(&self.address, &[&name, options].concat())
    }
}

/// Makes a self-signed certificate for localhost. Returns the files of its key and of itself.
fn certificate(folder: &Folder, name: &str, key: &[&str]) -> (String, String) {
    let file = |end: &str| folder.file(&format!("{name}.{end}")).display().to_string();
    let (key_file, cert) = (file("key"), file("pem"));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-nodes", "-days", "90", "-subj", "/CN=localhost"])
        .args(["-addext", "subjectAltName=DNS:localhost", "-keyout", &key_file, "-out", &cert])
        .args(key)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    (key_file, cert)
}

const RSA: [&str; 2] = ["-newkey", "rsa:2048"];
const ECDSA: [&str; 4] = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"];

/// RFC 7366 2
#[test]
fn old_versions_and_weak_suites_are_found() {
    let ciphers = "ECDHE-RSA-AES256-SHA:AES128-SHA:AECDH-AES128-SHA:NULL-MD5:@SECLEVEL=0";
    let options = ["-cipher", ciphers, "-no_tls1_3", "-min_protocol", "TLSv1", "-serverpref"];
    let Some(server) = OpenSsl::start(&RSA, &options) else { return };
    let report = server.scan();
    assert_eq!(versions(&report), ["TLS 1.2", "TLS 1.1", "TLS 1.0"]);
    let expected = [
        "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
        "TLS_RSA_WITH_AES_128_CBC_SHA",
        "TLS_ECDH_anon_WITH_AES_128_CBC_SHA",
        "TLS_RSA_WITH_NULL_MD5",
    ];
    for version in ["TLS 1.2", "TLS 1.1", "TLS 1.0"] {
        assert_eq!(suites(&report, version), expected, "{version}");
        assert_eq!(of(&report["cipher_suites"], version)["order"], "server");
    }
    let problems = findings(&report, "problem").join("\n");
    assert!(problems.contains("no encryption") && problems.contains("not authenticated"));
    let weaknesses = findings(&report, "weakness").join("\n");
    for part in ["TLS 1.1 and TLS 1.0 are accepted", "CBC", "RSA key exchange", "TLS 1.3 is not"] {
        assert!(weaknesses.contains(part), "{part}: {weaknesses}");
    }
    assert_eq!(feature(&report, "encrypt-then-MAC"), Some(true));
    assert_eq!(feature(&report, "fallback SCSV"), Some(true));
}

#[test]
fn only_an_old_version_is_still_described() {
    let options = ["-cipher", "ECDHE-RSA-AES128-SHA:@SECLEVEL=0", "-tls1", "-groups", "P-384"];
    let Some(server) = OpenSsl::start(&RSA, &options) else { return };
    let report = server.scan();
    assert_eq!(versions(&report), ["TLS 1.0"]);
    assert_eq!(suites(&report, "TLS 1.0"), ["TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA"]);
    assert_eq!(strings(&of(&report["groups"], "TLS 1.0")["names"]), ["secp384r1"]);
    assert_eq!(report["chains"][0]["certificates"][0]["key"], "RSA 2048");
}

#[test]
fn the_client_order_is_distinguished() {
    let ciphers = "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-RSA-AES128-GCM-SHA256";
    let Some(server) = OpenSsl::start(&RSA, &["-cipher", ciphers, "-tls1_2"]) else { return };
    let report = server.scan();
    assert_eq!(of(&report["cipher_suites"], "TLS 1.2")["order"], "client");
}

#[test]
fn groups_and_schemes_are_those_of_the_server() {
    let options = ["-groups", "P-521:X448", "-sigalgs", "rsa_pss_rsae_sha384:RSA+SHA512"];
    let Some(server) = OpenSsl::start(&RSA, &options) else { return };
    let report = server.scan();
    let sorted = |list: &Value, version| {
        let mut names = strings(&of(list, version)["names"]);
        names.sort_unstable();
        names.join(" ")
    };
    assert_eq!(sorted(&report["groups"], "TLS 1.3"), "secp521r1 x448");
    assert_eq!(sorted(&report["groups"], "TLS 1.2"), "secp521r1 x448");
    assert_eq!(sorted(&report["signature_schemes"], "TLS 1.3"), "rsa_pss_rsae_sha384");
    let both = "rsa_pkcs1_sha512 rsa_pss_rsae_sha384";
    assert_eq!(sorted(&report["signature_schemes"], "TLS 1.2"), both);
    let notes = findings(&report, "note").join("\n");
    assert!(notes.contains("resists quantum computers"), "{notes}");
}

/// RFC 8422 5.1
#[test]
fn the_curve_of_the_certificate_does_not_hide_others() {
    let options = ["-groups", "X448:P-384:P-256", "-tls1_2"];
    let Some(server) = OpenSsl::start(&ECDSA, &options) else { return };
    let report = server.scan();
    let list = of(&report["groups"], "TLS 1.2");
    assert_eq!(strings(&list["names"]), ["secp256r1", "secp384r1", "x448"], "{report}");
    let Some(server) = OpenSsl::start(&ECDSA, &[&options[..], &["-serverpref"]].concat()) else {
        return;
    };
    let report = server.scan();
    let list = of(&report["groups"], "TLS 1.2");
    assert_eq!(strings(&list["names"]), ["x448", "secp384r1", "secp256r1"], "{report}");
}

#[test]
fn both_certificates_and_the_prime_are_found() {
    let folder = Folder::new();
    if Command::new("openssl").arg("version").output().is_err() {
        return;
    }
    let (key, cert) = certificate(&folder, "second", &ECDSA);
    let options = ["-dcert", &cert, "-dkey", &key, "-alpn", "imap,h2"];
    let Some(server) = OpenSsl::start(&RSA, &options) else { return };
    let report = server.scan_with(&["--ca", &cert]);
    let chains = report["chains"].as_array().unwrap();
    let mut keys: Vec<&str> =
        chains.iter().map(|chain| chain["certificates"][0]["key"].as_str().unwrap()).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["ECDSA P-256", "RSA 2048"]);
    let mut protocols = strings(&report["alpn"]["names"]);
    protocols.sort_unstable();
    assert_eq!(protocols, ["h2", "imap"]);
    assert_eq!(report["dh_bits"], 2048);
    let problems = findings(&report, "problem").join("\n");
    assert!(problems.contains("RSA 2048 chain: the certificate is self-signed"), "{problems}");
}

#[test]
fn tickets_and_early_data_are_counted() {
    let options = ["-num_tickets", "3", "-early_data", "-max_early_data", "2048", "-no_ticket"];
    let Some(server) = OpenSsl::start(&ECDSA, &options[..5]) else { return };
    let report = server.scan_with(&["--insecure", "--early-data"]);
    let newer = of(&report["resumption"], "TLS 1.3");
    assert_eq!(newer["tickets"], 3, "{newer}");
    assert_eq!(newer["early_data_bytes"], 2048, "{newer}");
    assert_eq!(newer["early_data_accepted"], true, "{newer}");
    let Some(server) = OpenSsl::start(&ECDSA, &[options[5], "-tls1_2", "-no_cache"]) else {
        return;
    };
    let older = &server.scan()["resumption"][0];
    assert_eq!((&older["issues_tickets"], &older["resumed"]), (&false.into(), &false.into()));
}

#[test]
fn a_weak_key_and_a_weak_signature_are_problems() {
    let key = ["-newkey", "rsa:1024", "-sha1"];
    let options = ["-cipher", "DEFAULT:@SECLEVEL=0"];
    let Some(server) = OpenSsl::start(&key, &options) else { return };
    let report = server.scan();
    let problems = findings(&report, "problem").join("\n");
    assert!(problems.contains("has a weak key: RSA 1024"), "{problems}");
    assert!(problems.contains("has a weak signature: RSA PKCS#1 with SHA-1"), "{problems}");
}

#[test]
fn a_server_whose_groups_the_prober_lacks_is_not_examined_completely() {
    let Some(server) = OpenSsl::start(&RSA, &["-tls1_3", "-groups", "X448"]) else { return };
    let report = server.scan();
    assert_eq!(strings(&of(&report["groups"], "TLS 1.3")["names"]), ["x448"]);
    assert_eq!(report["complete"], false);
    let notes = strings(&report["notes"]).join("\n");
    assert!(notes.contains("could not examine certificates"), "{notes}");
}

/// The suites alone would take all connections.
#[test]
fn a_small_budget_shows_something_of_each_part() {
    let options = ["-cipher", "ALL:@SECLEVEL=0", "-min_protocol", "TLSv1", "-alpn", "h2"];
    let Some(server) = OpenSsl::start(&RSA, &options) else { return };
    let budget = ["--insecure", "--name", "localhost", "--interval", "0", "--max-connections"];
    let report = scan_json(&server.address, &[&budget[..], &["85"]].concat());
    assert_eq!(report["connections"], 85, "{report}");
    assert_eq!(report["complete"], false);
    assert_eq!(report["chains"][0]["key_proven"], true, "{report}");
    assert_eq!(strings(&report["alpn"]["names"]), ["h2"]);
    for list in ["groups", "signature_schemes"] {
        for version in ["TLS 1.3", "TLS 1.2"] {
            assert_eq!(of(&report[list], version)["complete"], true, "{list} {version} {report}");
        }
    }
    assert_eq!(of(&report["resumption"], "TLS 1.2")["resumed"], true);
    assert_eq!(feature(&report, "encrypt-then-MAC"), Some(true));
    assert!(!suites(&report, "TLS 1.2").is_empty());
    assert_eq!(of(&report["cipher_suites"], "TLS 1.2")["complete"], false);
}
