//! The examples, run against each other: hyper's client, axum's server, HTTP/1.1 and HTTP/2.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rcgen::{CertificateParams, KeyPair};

/// A program that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_examples_speak_http2_to_each_other_and_http1_to_curl() {
    let folder = std::env::temp_dir().join(format!("tercel-http-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (chain, key) = (folder.join("chain.pem"), folder.join("key.pem"));
    let pair = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    std::fs::write(&chain, leaf.self_signed(&pair).unwrap().pem()).unwrap();
    std::fs::write(&key, pair.serialize_pem()).unwrap();

    let mut server = Command::new(example("axum_server"))
        .args([&chain, &key, Path::new("127.0.0.1:0")])
        .stdout(Stdio::piped())
        .spawn()
        .map(Running)
        .unwrap();
    let mut address = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut address).unwrap();
    let uri = address.trim().replace("127.0.0.1", "localhost");

    let answer = Command::new(example("http_client")).arg(&chain).arg(&uri).output().unwrap();
    let said = String::from_utf8_lossy(&answer.stdout);
    assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
    assert!(said.starts_with("HTTP/2.0 200") && said.ends_with("hello over TLS\n"), "{said}");

    for (option, version) in [("--http1.1", "1.1"), ("--http2", "2")] {
        let curl = Command::new("curl")
            .args(["--silent", "--max-time", "20", option, "--write-out", "%{http_version}"])
            .args(["--cacert", chain.to_str().unwrap(), &uri])
            .output();
        match curl {
            Ok(curl) => {
                let said = String::from_utf8_lossy(&curl.stdout);
                assert_eq!(said, format!("hello over TLS\n{version}"));
            }
            Err(_) => println!("absent programs: curl"),
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Cargo builds examples beside the tests that need them.
fn example(name: &str) -> PathBuf {
    let deps = std::env::current_exe().unwrap();
    let build = deps.parent().and_then(Path::parent).unwrap();
    build.join("examples").join(name)
}
