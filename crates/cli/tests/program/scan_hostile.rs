//! `tercel scan` of servers that are silent, broken or hostile: it always ends in bounded time,
//! with a message that names the fault.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tercel::certificates::Credential;
use tercel::crypto::{CryptoError, KeyKind, SignatureAlgorithm, Signer};
use tercel::wire::ProtocolVersion;
use tercel::{Handshake, ServerConfig};

use super::scan::{findings, scan, scan_json, strings, suites, versions};
use super::support::{Folder, Leaf};

/// A server that treats each connection like this, after it has read the start of a ClientHello.
/// Returns its address.
fn server(treat: impl Fn(TcpStream) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let treat = Arc::new(treat);
    thread::spawn(move || {
        for socket in listener.incoming().map_while(Result::ok) {
            let treat = Arc::clone(&treat);
            thread::spawn(move || {
                let mut start = [0; 1024];
                if (&socket).read(&mut start).is_ok() {
                    treat(socket);
                }
            });
        }
    });
    address
}

/// A server that sends these bytes and closes.
fn server_of(bytes: Vec<u8>) -> String {
    server(move |mut socket| {
        let _ = socket.write_all(&bytes);
    })
}

/// The error line of a scan that found no TLS.
fn failure(address: &str) -> String {
    let outcome = scan(address, &["--insecure", "--timeout", "1"]);
    assert!(outcome.output.is_empty());
    outcome.failure().strip_prefix(&format!("{address}: ")).unwrap().to_owned()
}

/// Keeps a connection open. The end of the process ends this thread.
fn wait_for_the_end_of_the_test() {
    loop {
        thread::park();
    }
}

fn record(content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).unwrap().to_be_bytes();
    [&[22, 3, 3][..], &length, content].concat()
}

/// A ServerHello of TLS 1.2 with this suite, as a record.
fn server_hello(suite: u16) -> Vec<u8> {
    let body = [&[3, 3][..], &[7; 32], &[0], &suite.to_be_bytes(), &[0]].concat();
    record(&[&[2, 0, 0, u8::try_from(body.len()).unwrap()][..], &body].concat())
}

const AES_128_CBC: u16 = 0x002f;

#[test]
fn silence_ends_by_the_time_limit() {
    let address = server(|socket| {
        wait_for_the_end_of_the_test();
        drop(socket);
    });
    assert_eq!(failure(&address), "no answer within the time limit");
}

#[test]
fn a_server_that_closes_has_no_tls() {
    assert_eq!(failure(&server(drop)), "the server closed the connection, without an answer");
}

#[test]
fn an_answer_that_is_not_tls_is_quoted() {
    let address = server_of(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".to_vec());
    let expected = "no TLS: the server does not answer with TLS, but with \
                    \"HTTP/1.1 400 Bad Request\"";
    assert_eq!(failure(&address), expected);
    let why = failure(&server_of(vec![0x1b, b'[', 0xff, 0, 7, 9]));
    assert!(why.ends_with(r#"but with "\x1b[\xff\x00\x07\t""#), "{why}");
}

#[test]
fn single_bytes_do_not_extend_the_time() {
    let address = server(|mut socket| {
        for byte in server_hello(AES_128_CBC) {
            if socket.write_all(&[byte]).is_err() {
                return;
            }
            thread::sleep(Duration::from_millis(100));
        }
    });
    let why = failure(&address);
    assert!(why.contains("the time limit passed after"), "{why}");
}

#[test]
fn endless_bytes_are_not_read_to_their_end() {
    let endless =
        |bytes: Vec<u8>| server(move |mut socket| while socket.write_all(&bytes).is_ok() {});
    let why = failure(&endless(record(&[])));
    assert!(why.contains("more than 4096 records"), "{why}");
    let why = failure(&endless(record(&[2, 255, 255, 255])));
    assert!(why.contains("server_hello message of 16777215 bytes"), "{why}");
    let why = failure(&endless(record(&[0, 0, 0, 0])));
    assert!(why.contains("hello_request in place of a ServerHello"), "{why}");
}

#[test]
fn a_suite_that_was_not_offered_is_a_finding() {
    let why = failure(&server_of(server_hello(0x1301)));
    assert!(why.contains("chose the version") || why.contains("chose the cipher suite"), "{why}");

    // This server answers every offer of TLS 1.2 in the same way.
    let address = server_of(server_hello(AES_128_CBC));
    let report = scan_json(&address, &["--insecure", "--timeout", "2"]);
    assert_eq!(versions(&report), ["TLS 1.2"]);
    assert_eq!(suites(&report, "TLS 1.2"), ["TLS_RSA_WITH_AES_128_CBC_SHA"]);
    let problems = findings(&report, "problem").join("\n");
    let breach = "chose the cipher suite TLS_RSA_WITH_AES_128_CBC_SHA, which was not offered";
    assert!(problems.contains(breach), "{problems}");
    let notes = strings(&report["notes"]).join("\n");
    assert!(notes.contains("cipher suites of TLS 1.2: the list may be incomplete"), "{notes}");
}

#[test]
fn a_huge_chain_is_not_read() {
    let mut answer = server_hello(AES_128_CBC);
    // A certificate message of 200,000 bytes.
    answer.extend(record(&[11, 0x03, 0x0d, 0x40]));
    for _ in 0..20 {
        answer.extend(record(&[1; 10_000]));
    }
    let report = scan_json(&server_of(answer), &["--insecure", "--timeout", "2"]);
    assert_eq!(report["chains"].as_array().unwrap().len(), 0);
    assert_eq!(suites(&report, "TLS 1.2"), ["TLS_RSA_WITH_AES_128_CBC_SHA"]);
}

#[test]
fn a_slow_server_ends_by_the_total_time() {
    let address = server(|mut socket| {
        thread::sleep(Duration::from_millis(400));
        let _ = socket.write_all(&server_hello(AES_128_CBC));
    });
    let report = scan_json(&address, &["--insecure", "--max-time", "2"]);
    assert_eq!(report["complete"], false);
    let notes = strings(&report["notes"]).join("\n");
    assert!(notes.contains("stopped after 2 s (--max-time)"), "{notes}");
}

#[test]
fn several_failures_in_a_row_end_the_scan_with_partial_results() {
    use std::sync::atomic::{AtomicU32, Ordering};
    // The server answers three times, and is silent afterwards.
    let left = AtomicU32::new(3);
    let address = server(move |mut socket| {
        if left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
        {
            let _ = socket.write_all(&server_hello(AES_128_CBC));
        } else {
            wait_for_the_end_of_the_test();
        }
    });
    let report = scan_json(&address, &["--insecure", "--timeout", "1"]);
    assert_eq!(versions(&report), ["TLS 1.2"]);
    assert_eq!(report["complete"], false);
    let notes = strings(&report["notes"]).join("\n");
    assert!(notes.contains("4 connections in a row without an answer"), "{notes}");
    assert!(report["connections"].as_u64().unwrap() <= 8, "{report}");
}

/// A signer without the private key.
struct Forger;

impl Signer for Forger {
    fn kind(&self) -> KeyKind {
        KeyKind::EcdsaP256
    }

    fn sign(&self, _: SignatureAlgorithm, _: &[u8]) -> Result<Vec<u8>, CryptoError> {
        // A DER ECDSA-Sig-Value with r = s = 1.
        Ok(vec![0x30, 6, 2, 1, 1, 2, 1, 1])
    }

    fn public_key_spki(&self) -> Option<Vec<u8>> {
        None
    }
}

/// RFC 9846 4.5.2, RFC 5246 7.4.3
#[test]
fn the_chain_of_another_server_is_not_trusted() {
    let leaf = Leaf::new("localhost", 2099);
    let folder = Folder::new();
    let ca = folder.write("ca.pem", leaf.ca.pem());
    for version in [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2] {
        let chain = vec![leaf.certificate.der().clone()];
        let credential = Credential::with_signer(chain, Arc::new(Forger)).unwrap();
        let builder = ServerConfig::builder().credential(credential);
        let config = builder.versions(&[version]).build().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        thread::spawn(move || {
            for socket in listener.incoming().map_while(Result::ok) {
                let config = Arc::clone(&config);
                thread::spawn(move || drop(Handshake::server(config).complete(&socket)));
            }
        });
        let report = scan_json(&address, &["--ca", &ca, "--name", "localhost"]);
        let chain = &report["chains"][0];
        assert_eq!((&chain["trusted"], &chain["key_proven"]), (&false.into(), &false.into()));
        let problems = findings(&report, "problem").join("\n");
        assert!(
            problems.contains("no proof that the server has the certificate's key"),
            "{problems}"
        );
    }
}

/// RFC 9846 5
#[test]
fn an_unprotected_flight_of_tls_1_3_breaks_the_protocol() {
    // A ServerHello of TLS 1.3 with a share of X25519, and a Certificate in plaintext.
    let address = server(|mut socket| {
        let extensions = [&[0, 43, 0, 2, 3, 4, 0, 51, 0, 36, 0, 29, 0, 32][..], &[9; 32]].concat();
        let length = u16::try_from(extensions.len()).unwrap().to_be_bytes();
        let body = [&[3, 3][..], &[7; 32], &[0, 0x13, 1, 0], &length, &extensions].concat();
        let hello = [&[2, 0, 0, u8::try_from(body.len()).unwrap()][..], &body].concat();
        let flight = [record(&hello), record(&[11, 0, 0, 4, 0, 0, 0, 0])].concat();
        let _ = socket.write_all(&flight);
    });
    let report = scan_json(&address, &["--insecure", "--timeout", "1", "--interval", "0"]);
    let problems = findings(&report, "problem").join("\n");
    assert!(problems.contains("unprotected message after its ServerHello"), "{problems}");
    assert_eq!(report["chains"].as_array().unwrap().len(), 0);
}
