//! The examples, run against each other: hyper's client with axum's servers over HTTP/1.1 and
//! HTTP/2, a replaced certificate, client certificates, and gRPC with tonic.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use rcgen::{CertificateParams, KeyPair, SanType};
use tercel_hyper::HttpsConnector;
use tercel_hyper::tercel::{ClientConfig, Credential, pki::Roots};

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

    let answer = request(chain, &uri);
    let said = String::from_utf8_lossy(&answer.stdout);
    assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
    assert!(said.starts_with("HTTP/2.0 200") && said.ends_with("hello over TLS\n"), "{said}");

    for (option, version) in [("--http1.1", "1.1"), ("--http2", "2")] {
        let curl = Command::new("curl")
            // Neither a file of settings nor a proxy.
            .args(["--disable", "--noproxy", "*"])
            .args(["--silent", "--max-time", "60", option, "--write-out", "%{http_version}"])
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
fn axum_reload_uses_a_new_certificate_once_both_files_are_replaced() {
    let (folder, renewed) = (Folder::new("reload"), Folder::new("renewed"));
    let old = folder.path.join("old.pem");
    std::fs::copy(&folder.chain, &old).unwrap();
    let (_server, uri) = folder.serve("axum_reload");
    assert!(request(&old, &uri).status.success());

    std::fs::copy(&renewed.chain, &folder.chain).unwrap();
    std::fs::copy(renewed.path.join("key.pem"), folder.path.join("key.pem")).unwrap();
    let start = Instant::now();
    while !request(&renewed.chain, &uri).status.success() {
        assert!(start.elapsed() < Duration::from_secs(60), "the certificate was not replaced");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(!request(&old, &uri).status.success());
}

#[tokio::test]
async fn mutual_tls_accepts_clients_by_their_authority_or_by_their_uri() {
    const IDS: [&str; 2] = ["spiffe://example.org/one", "spiffe://example.org/two"];
    let folder = Folder::new("mutual");
    let mut server_roots = Roots::new();
    server_roots.add_pem(&std::fs::read(&folder.chain).unwrap()).unwrap();
    // Each client's certificate is self-signed, and thus its own authority.
    let clients = IDS.map(|id| {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.subject_alt_names.push(SanType::URI(id.try_into().unwrap()));
        (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
    });
    let client_roots = folder.path.join("clients.pem");
    std::fs::write(&client_roots, clients.each_ref().map(|(chain, _)| chain.clone()).concat())
        .unwrap();

    for allowed in [&IDS[..0], &IDS[..1]] {
        let (chain, key) = (&folder.chain, &folder.path.join("key.pem"));
        let mut server = Command::new(example("mutual_tls"));
        let (_server, uri) =
            start(server.args([chain, key, &client_roots]).arg("127.0.0.1:0").args(allowed));
        for client in [None, Some(0), Some(1)] {
            let mut config = ClientConfig::builder().roots(server_roots.clone());
            if let Some(client) = client {
                let (chain, key): &(String, String) = &clients[client];
                let credential = Credential::from_pem(chain.as_bytes(), key.as_bytes());
                config = config.credential(credential.unwrap());
            }
            let connector = HttpsConnector::new(config.build().unwrap());
            let http: Client<_, Empty<Bytes>> =
                Client::builder(TokioExecutor::new()).build(connector);
            let answer = http.get(uri.parse().unwrap()).await;
            let id = client.map(|client| IDS[client]);
            match id.filter(|id| allowed.is_empty() || allowed.contains(id)) {
                Some(id) => {
                    let body = answer.unwrap().into_body().collect().await.unwrap().to_bytes();
                    assert_eq!(body, format!("hello {id}\n"));
                }
                None => assert!(answer.is_err(), "{client:?} with {allowed:?}"),
            }
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
        let files = [&self.chain, &self.path.join("key.pem")];
        start(Command::new(example(server)).args(files).arg("127.0.0.1:0"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Runs a server, which prints its URI, and returns this with the name in the certificate.
fn start(server: &mut Command) -> (Running, String) {
    let mut server = server.stdout(Stdio::piped()).spawn().map(Running).unwrap();
    let mut address = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut address).unwrap();
    (server, address.trim().replace("127.0.0.1", "localhost"))
}

/// Sends a request with the example `http_client`, which trusts these roots.
fn request(roots: &Path, uri: &str) -> Output {
    Command::new(example("http_client")).arg(roots).arg(uri).output().unwrap()
}

/// The path of an example, which Cargo builds next to the tests that need it.
fn example(name: &str) -> PathBuf {
    let deps = std::env::current_exe().unwrap();
    let build = deps.parent().and_then(Path::parent).unwrap();
    build.join("examples").join(name)
}
