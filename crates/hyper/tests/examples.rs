//! The examples, run against each other: hyper's client with axum's server over HTTP/1.1 and
//! HTTP/2, and gRPC with tonic.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rcgen::{CertificateParams, KeyPair};

/// A program that is killed when the test ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_examples_speak_http2_to_each_other_and_http1_to_curl() {
    let folder = Folder::new("http");
    let chain = &folder.chain;
    let (_server, uri) = folder.serve("axum_server");

    let answer = Command::new(example("http_client")).arg(chain).arg(&uri).output().unwrap();
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
}

#[test]
fn grpc_is_spoken_by_tonic() {
    let folder = Folder::new("grpc");
    let (_server, uri) = folder.serve("grpc_server");
    for (service, expected) in [("example", Some("SERVING\n")), ("unknown", None)] {
        let mut client = Command::new(example("grpc_client"));
        let answer = client.arg(&folder.chain).args([&uri, service]).output().unwrap();
        let error = String::from_utf8_lossy(&answer.stderr);
        match expected {
            Some(expected) => {
                assert!(answer.status.success(), "{error}");
                assert_eq!(String::from_utf8_lossy(&answer.stdout), expected);
            }
            // The status of a gRPC call is in the trailers.
            None => assert!(error.contains("NotFound"), "{error}"),
        }
    }
}

/// A folder with a certificate for localhost, removed when the test ends.
struct Folder {
    path: PathBuf,
    chain: PathBuf,
}

impl Folder {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tercel-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        let chain = path.join("chain.pem");
        let pair = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        std::fs::write(&chain, leaf.self_signed(&pair).unwrap().pem()).unwrap();
        std::fs::write(path.join("key.pem"), pair.serialize_pem()).unwrap();
        Self { path, chain }
    }

    /// Runs this example as a server and returns its URI, with the name in the certificate.
    fn serve(&self, server: &str) -> (Running, String) {
        let mut server = Command::new(example(server))
            .args([&self.chain, &self.path.join("key.pem"), Path::new("127.0.0.1:0")])
            .stdout(Stdio::piped())
            .spawn()
            .map(Running)
            .unwrap();
        let mut address = String::new();
        BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut address).unwrap();
        let uri = address.trim().replace("127.0.0.1", "localhost");
        (server, uri)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// The path of an example, which Cargo builds next to the tests that need it.
fn example(name: &str) -> PathBuf {
    let deps = std::env::current_exe().unwrap();
    let build = deps.parent().and_then(Path::parent).unwrap();
    build.join("examples").join(name)
}
