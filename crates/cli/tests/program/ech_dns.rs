//! `tercel connect --ech auto` with a server for DNS that answers as a test says.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::sync::Arc;
use std::thread;

use tercel::ech::ServiceBinding;

use super::support::{Folder, Leaf, Outcome, Server, connect, refs, run, tercel};

/// Answers a query: the records of this owner and type, or `None` for a failure of the server.
type Zone = dyn Fn(&str) -> Option<Vec<ServiceBinding>> + Send + Sync;

/// Starts a server over UDP and TCP, which lives as long as this process, and returns its address.
/// Over UDP it says that answers of more than `udp_limit` bytes are truncated.
fn dns_server(udp_limit: usize, zone: Arc<Zone>) -> String {
    // The ports of UDP and TCP must be the same.
    let (udp, tcp) = loop {
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        if let Ok(tcp) = TcpListener::bind(udp.local_addr().unwrap()) {
            break (udp, tcp);
        }
    };
    let address = udp.local_addr().unwrap().to_string();
    let over_tcp = Arc::clone(&zone);
    thread::spawn(move || {
        let mut query = [0; 512];
        while let Ok((length, peer)) = udp.recv_from(&mut query) {
            let mut answer = answer(&query[..length], &*zone);
            if answer.len() > udp_limit {
                answer = answer_with(&query[..length], 0x82, 0, &[]);
            }
            let _ = udp.send_to(&answer, peer);
        }
    });
    thread::spawn(move || {
        for stream in tcp.incoming() {
            let mut stream = stream.unwrap();
            let mut length = [0; 2];
            while stream.read_exact(&mut length).is_ok() {
                let mut query = vec![0; u16::from_be_bytes(length).into()];
                stream.read_exact(&mut query).unwrap();
                let answer = answer(&query, &*over_tcp);
                let length = u16::try_from(answer.len()).unwrap().to_be_bytes();
                let _ = stream.write_all(&[&length[..], &answer].concat());
            }
        }
    });
    address
}

fn answer(query: &[u8], zone: &Zone) -> Vec<u8> {
    let (mut owner, mut place) = (String::new(), 12);
    while query[place] > 0 {
        let end = place + 1 + usize::from(query[place]);
        owner.push_str(std::str::from_utf8(&query[place + 1..end]).unwrap());
        owner.push('.');
        place = end;
    }
    assert_eq!(&query[place + 1..place + 5], [0, 65, 0, 1], "not a query for HTTPS records");
    match zone(&owner.to_ascii_lowercase()) {
        // SERVFAIL
        None => answer_with(query, 0x80, 2, &[]),
        Some(records) => answer_with(query, 0x80, 0, &records),
    }
}

/// An answer with these flags and this code. RFC 1035 4.1.1
fn answer_with(query: &[u8], flags: u8, code: u8, records: &[ServiceBinding]) -> Vec<u8> {
    let end = 12 + query[12..].iter().position(|byte| *byte == 0).unwrap() + 5;
    let count = u8::try_from(records.len()).unwrap();
    let mut answer = [&query[..2], &[flags | 1, 0x80 | code, 0, 1, 0, count, 0, 0, 0, 0]].concat();
    answer.extend(&query[12..end]);
    for record in records {
        let data = record.to_rdata();
        answer.extend([0xc0, 12, 0, 65, 0, 1, 0, 0, 1, 44]);
        answer.extend(u16::try_from(data.len()).unwrap().to_be_bytes());
        answer.extend(data);
    }
    answer
}

/// A server for `secret.test` with a key, and the value of `ech` for it.
struct Fixture {
    folder: Folder,
    server: Server,
    ech: String,
    port: String,
}

impl Fixture {
    fn new() -> Self {
        let folder = Folder::new();
        let file = folder.file("one.ech").display().to_string();
        let arguments = ["ech", "generate", "--public-name", "cover.test", "--out", &file];
        let record = run(tercel().args(arguments), b"").success().text();
        let ech = record.split_once("ech=").unwrap().1.trim().to_owned();
        let files = Leaf::new("secret.test", 2099).write(&folder, "leaf");
        let server = Server::start(&[&refs(&files)[..], &["--ech", &file]].concat());
        let port = server.address.rsplit_once(':').unwrap().1.to_owned();
        Self { folder, server, ech, port }
    }

    /// A record that says where the server is.
    fn record(&self) -> ServiceBinding {
        format!("1 localhost. port={} ech={}", self.port, self.ech).parse().unwrap()
    }

    /// The file with the authority of the server.
    fn ca(&self) -> String {
        self.folder.file("leaf-ca.pem").display().to_string()
    }

    /// Connects to a port at which nothing listens: only the record names the right one.
    fn connect(&self, dns: &str, more: &[&str]) -> Outcome {
        let ca = self.ca();
        let trust = ["--ca", &ca];
        let trust = if more.contains(&"--ca") { &[][..] } else { &trust };
        let options = [&["--ech", "auto", "--dns", dns], trust, more].concat();
        connect("secret.test:9", &options, b"GET / HTTP/1.0\r\n\r\n")
    }
}

fn accepted(outcome: Outcome) {
    let outcome = outcome.success();
    assert_eq!(outcome.reported("ech"), ["accepted"], "{}", outcome.said);
    assert_eq!(outcome.reported("ech-outer-name"), ["cover.test"]);
    assert_eq!(outcome.reported("ech-inner-name"), ["secret.test"]);
    assert!(outcome.text().contains("<th>server-name</th><td>secret.test</td>"));
}

/// RFC 9460 2.4.2, 9.1, RFC 9848 3
#[test]
fn the_record_names_configurations_and_server() {
    let fixture = Fixture::new();
    let record = fixture.record();
    let zone = move |owner: &str| {
        Some(match owner {
            "_9._https.secret.test." => vec!["0 pool.test.".parse().unwrap()],
            "pool.test." => vec!["1 . mandatory=key667 key667=a".parse().unwrap(), record.clone()],
            _ => Vec::new(),
        })
    };
    let zone: Arc<Zone> = Arc::new(zone);
    accepted(fixture.connect(&dns_server(512, Arc::clone(&zone)), &[]));
    // An answer that is too long for UDP is asked for over TCP.
    accepted(fixture.connect(&dns_server(60, zone), &[]));
    fixture.server.wait_for("name=secret.test ech=accepted outer-name=cover.test");
}

/// RFC 9460 3.1
#[test]
fn a_failed_lookup_is_an_error_and_a_missing_record_is_not() {
    let fixture = Fixture::new();
    let dns = dns_server(512, Arc::new(|_: &str| None));
    let failed = fixture.connect(&dns, &["--json"]);
    let expected = format!("cannot look up the HTTPS record of _9._https.secret.test. at {dns}: ");
    assert!(failed.failure().starts_with(&expected), "{}", failed.said);
    let value: serde_json::Value = serde_json::from_slice(&failed.output).unwrap();
    assert_eq!(value["reason"], "connect");

    let cycle = dns_server(512, Arc::new(|_: &str| Some(vec!["0 a.test.".parse().unwrap()])));
    let failed = fixture.connect(&cycle, &[]);
    assert!(failed.failure().contains("are aliases of each other; --dns "), "{}", failed.said);

    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let silent = silent.local_addr().unwrap().to_string();
    let failed = fixture.connect(&silent, &["--timeout", "1"]);
    assert!(failed.failure().starts_with("cannot look up the HTTPS record"), "{}", failed.said);

    // The server is where the address says, and gets random contents.
    let empty = dns_server(512, Arc::new(|_: &str| Some(Vec::new())));
    let ca = fixture.ca();
    let target = format!("localhost:{}", fixture.port);
    let options = ["--ech", "auto", "--dns", &empty, "--ca", &ca, "--name", "secret.test"];
    let outcome = connect(&target, &options, b"").success();
    let said = format!("no ECH configuration in DNS for _{}._https.localhost.: ", fixture.port);
    assert!(outcome.said.starts_with(&said), "{}", outcome.said);
    assert_eq!(outcome.reported("ech"), ["grease"]);

    // Configurations of which none is usable are refused, as those of a record are.
    let unusable =
        dns_server(512, Arc::new(|_: &str| Some(vec!["1 . ech=AAb+DAACAAA=".parse().unwrap()])));
    let failed = fixture.connect(&unusable, &[]);
    let expected = "--ech auto: none of the configurations in DNS for _9._https.secret.test. is";
    assert!(failed.failure().starts_with(expected), "{}", failed.said);

    let options = ["--ech", "auto", "--dns", &empty];
    let refused = connect("127.0.0.1:9", &options, b"");
    assert_eq!(
        refused.said,
        "error: --ech auto needs a host name, because addresses have no HTTPS record\n"
    );
}

/// RFC 8484 4.1
#[test]
fn records_are_looked_up_over_https() {
    let fixture = Fixture::new();
    // The answer to a query with the identifier 0 is a file.
    let query = b"\0\0\x01\0\0\x01\0\0\0\0\0\0\x02_9\x06_https\x06secret\x04test\0\0\x41\0\x01";
    let record = fixture.record();
    let message = answer(query, &move |_: &str| Some(vec![record.clone()]));
    let root = fixture.folder.file("root");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("dns-query"), message).unwrap();
    fs::write(root.join("nonsense"), "nonsense").unwrap();
    let leaf = Leaf::new("localhost", 2099).write(&fixture.folder, "dns");
    let root = root.display().to_string();
    // One file with the authorities of both servers.
    let both = ["leaf-ca.pem", "dns-ca.pem"]
        .map(|name| fs::read_to_string(fixture.folder.file(name)).unwrap());
    let ca = fixture.folder.write("both.pem", both.concat());
    for alpn in ["h2", "http/1.1"] {
        let options = [&refs(&leaf)[..], &["--root", &root, "--alpn", alpn]].concat();
        let server = Server::start(&options);
        let port = server.address.rsplit_once(':').unwrap().1;
        let url = format!("https://localhost:{port}/dns-query");
        accepted(fixture.connect(&url, &["--ca", &ca]));
        for (path, expected) in
            [("missing", "the server answers 404 Not Found"), ("nonsense", "is not a DNS message")]
        {
            let url = format!("https://localhost:{port}/{path}");
            let failed = fixture.connect(&url, &["--ca", &ca]);
            assert!(failed.failure().contains(expected), "{}", failed.said);
        }
        // The server for DNS is verified.
        let failed = fixture.connect(&url, &[]);
        assert!(failed.failure().contains("certificate"), "{}", failed.said);
    }
}
