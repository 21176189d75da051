//! `tercel scan` of a server whose connections are interrupted: only an alert is a refusal.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::scan::{feature, findings, scan_json, strings, versions};
use super::support::{Folder, Leaf, Server, refs};

/// How a connection is interrupted.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// A TCP reset after the ClientHello has arrived.
    Reset,
    /// A TCP reset in the middle of the server's answer.
    ResetInAnswer,
    /// The end of the stream in the middle of the server's answer.
    EndInAnswer,
}

const FAULTS: [Fault; 3] = [Fault::Reset, Fault::ResetInAnswer, Fault::EndInAnswer];

/// Forwards connections to this server, and interrupts the one at each position for which `fault`
/// returns a fault. Returns the address.
fn relay(to: &str, fault: impl Fn(usize) -> Option<Fault> + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, to) = (listener.local_addr().unwrap().to_string(), to.to_owned());
    thread::spawn(move || {
        for (position, client) in listener.incoming().map_while(Result::ok).enumerate() {
            let (fault, to) = (fault(position), to.clone());
            // Errors are those of a client that has ended.
            thread::spawn(move || {
                let _ = fault.map_or_else(|| forward(&client, &to), |f| interrupt(&client, &to, f));
            });
        }
    });
    address
}

fn forward(client: &TcpStream, to: &str) -> io::Result<()> {
    let server = TcpStream::connect(to)?;
    let (from_client, to_server) = (client.try_clone()?, server.try_clone()?);
    let up = thread::spawn(move || copy(&from_client, &to_server));
    copy(&server, client);
    let _ = up.join();
    Ok(())
}

/// Copies up to the end of the stream, which it passes on.
fn copy(mut from: &TcpStream, mut to: &TcpStream) {
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}

fn interrupt(mut client: &TcpStream, to: &str, fault: Fault) -> io::Result<()> {
    // The ClientHello remains in the socket's buffer: closing with unread bytes resets.
    let mut hello = vec![0; 1 << 14];
    let length = loop {
        let peeked = client.peek(&mut hello)?;
        match hello {
            _ if peeked == 0 => return Ok(()),
            ref h if peeked >= 5 + usize::from(u16::from_be_bytes([h[3], h[4]])) => break peeked,
            _ => thread::sleep(Duration::from_millis(1)),
        }
    };
    if matches!(fault, Fault::Reset) {
        return Ok(());
    }
    let mut server = TcpStream::connect(to)?;
    server.write_all(&hello[..length])?;
    let mut answer = vec![0; 1 << 14];
    let received = server.read(&mut answer)?;
    client.write_all(&answer[..received / 2])?;
    if matches!(fault, Fault::EndInAnswer) {
        client.read_exact(&mut hello[..length])?;
        client.shutdown(Shutdown::Write)?;
        io::copy(&mut client, &mut io::sink())?;
    }
    Ok(())
}

/// Scans through a relay with these faults. Returns the report, without what differs in each scan.
fn scan_through(
    (server, ca): &(Server, String),
    fault: impl Fn(usize) -> Option<Fault> + Send + 'static,
) -> Value {
    let options = ["--ca", ca, "--name", "localhost", "--interval", "0"];
    let mut report = scan_json(&relay(&server.address, fault), &options);
    for key in ["port", "address", "milliseconds"] {
        report.as_object_mut().unwrap().remove(key);
    }
    // Its detail contains the port.
    report["features"].as_array_mut().unwrap().retain(|feature| feature["name"] != "HTTP/3");
    report
}

/// A report without the notes and the number of connections.
fn results(report: &Value) -> Value {
    let mut results = report.clone();
    for key in ["notes", "connections"] {
        results.as_object_mut().unwrap().remove(key);
    }
    results
}

/// The places in which `found` claims something that `all` does not contain. Less is no claim:
/// `null`, lists with fewer entries that are not complete, an unknown order.
fn claims(found: &Value, all: &Value, place: &str, claimed: &mut Vec<String>) {
    match (found, all) {
        _ if found == all || found.is_null() => {}
        (Value::Object(found), Value::Object(all)) => {
            let lacks_entries =
                ["suites", "names"].iter().any(|key| found.get(*key) != all.get(*key));
            if lacks_entries && found.get("complete") == Some(&true.into()) {
                claimed.push(format!("{place}: a list without all its entries is complete"));
            }
            for (key, value) in found {
                match (key.as_str(), value) {
                    // The reasons for what is unknown.
                    ("answer" | "detail" | "note", _) | ("complete", Value::Bool(false)) => {}
                    ("order", order) if order == "unknown" => {}
                    // The protocols are read in the highest version that can be read.
                    ("version", _) if place == ".alpn" => {}
                    _ => claims(value, &all[key], &format!("{place}.{key}"), claimed),
                }
            }
        }
        (Value::Array(found), Value::Array(all)) => {
            for entry in found {
                let matches = |other: &Value| {
                    let mut claimed = Vec::new();
                    claims(entry, other, "", &mut claimed);
                    claimed.is_empty()
                };
                if !all.iter().any(matches) {
                    let closest = all.iter().map(|other| {
                        let mut claimed = Vec::new();
                        claims(entry, other, place, &mut claimed);
                        claimed
                    });
                    claimed.extend(closest.min_by_key(Vec::len).unwrap_or_default());
                    claimed.push(format!("{place}: a new entry"));
                }
            }
        }
        _ => claimed.push(format!("{place}: {found} in place of {all}")),
    }
}

/// Calls `check` with each position and fault, several at the same time, because a scan mostly
/// waits. Returns what it returned.
fn at_each(positions: usize, check: impl Fn(usize, Fault) -> Option<String> + Sync) -> Vec<String> {
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                loop {
                    let position = next.fetch_add(1, Ordering::Relaxed);
                    if position >= positions {
                        return;
                    }
                    let fault = FAULTS[position % FAULTS.len()];
                    let failure = check(position, fault);
                    failures
                        .lock()
                        .unwrap()
                        .extend(failure.map(|f| format!("{position} {fault:?}: {f}")));
                }
            });
        }
    });
    failures.into_inner().unwrap()
}

/// A server with few values, so that scans are short, and with a certificate that does not expire
/// during the test. The second result is the file of the authority.
fn small_server(folder: &Folder) -> (Server, String) {
    let leaf = Leaf::new("localhost", 2099).write(folder, "leaf");
    let options = [
        "--suites",
        "TLS_AES_128_GCM_SHA256:TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
        "--groups",
        "x25519:secp384r1",
        "--alpn",
        "h2,http/1.1",
    ];
    let server = Server::start(&[&refs(&leaf)[..], &options].concat());
    (server, folder.file("leaf-ca.pem").display().to_string())
}

#[test]
fn an_interrupted_connection_changes_no_result() {
    let folder = Folder::new();
    let server = small_server(&folder);
    let whole = scan_through(&server, |_| None);
    assert_eq!(whole["complete"], true, "{whole}");
    let positions = usize::try_from(whole["connections"].as_u64().unwrap()).unwrap();
    let different = at_each(positions, |position, fault| {
        let report = scan_through(&server, move |at| (at == position).then_some(fault));
        (results(&report) != results(&whole)).then(|| {
            let mut claimed = Vec::new();
            claims(&results(&report), &results(&whole), "", &mut claimed);
            format!("{claimed:?} {:?}", report["notes"])
        })
    });
    assert!(different.is_empty(), "{} of {positions}:\n{}", different.len(), different.join("\n"));
}

#[test]
fn what_stays_unanswered_is_unknown() {
    let folder = Folder::new();
    let server = small_server(&folder);
    let whole = scan_through(&server, |_| None);
    let positions = usize::try_from(whole["connections"].as_u64().unwrap()).unwrap();
    let wrong = at_each(positions, |position, fault| {
        let interrupted = position..position + 2;
        let report = scan_through(&server, move |at| interrupted.contains(&at).then_some(fault));
        let mut claimed = Vec::new();
        claims(&results(&report), &results(&whole), "", &mut claimed);
        if results(&report) != results(&whole) && report["complete"] != false {
            claimed.push("the scan is complete".to_owned());
        }
        if report["complete"] == false && strings(&report["notes"]).is_empty() {
            claimed.push("no note says what is unknown".to_owned());
        }
        (!claimed.is_empty()).then(|| claimed.join("; "))
    });
    assert!(wrong.is_empty(), "{} of {positions}:\n{}", wrong.len(), wrong.join("\n"));
}

/// A server that closes the connection in place of an alert is alive, and its other values are
/// found.
#[test]
fn a_server_that_closes_in_place_of_alerts_is_scanned_to_its_end() {
    let folder = Folder::new();
    let (server, ca) = small_server(&folder);
    let to = server.address.clone();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let alerts = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&alerts);
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let (to, counter) = (to.clone(), Arc::clone(&counter));
            thread::spawn(move || -> io::Result<()> {
                let server = TcpStream::connect(to)?;
                let (from_client, to_server) = (client.try_clone()?, server.try_clone()?);
                thread::spawn(move || copy(&from_client, &to_server));
                let mut first = [0; 1];
                server.peek(&mut first)?;
                if first != [21] {
                    copy(&server, &client);
                    return Ok(());
                }
                counter.fetch_add(1, Ordering::Relaxed);
                client.shutdown(Shutdown::Both)
            });
        }
    });
    let options = ["--ca", &ca, "--name", "localhost", "--interval", "0"];
    let report = scan_json(&address, &[&options[..], &["--max-connections", "400"]].concat());
    assert!(alerts.load(Ordering::Relaxed) > 8);
    assert_eq!(versions(&report), ["TLS 1.3", "TLS 1.2"]);
    assert!(report["versions"].as_array().unwrap().iter().all(|v| v["accepted"] != false));
    let lists = ["cipher_suites", "groups", "signature_schemes"];
    for list in lists.iter().flat_map(|list| report[*list].as_array().unwrap()) {
        assert_eq!(list["complete"], false, "{list}");
    }
    assert_eq!(feature(&report, "fallback SCSV"), None);
    assert_eq!(feature(&report, "secure renegotiation"), Some(true));
    assert_eq!(report["complete"], false);
    let notes = strings(&report["notes"]).join("\n");
    assert!(notes.contains("TLS 1.1: no answer: closed the connection"), "{notes}");
    assert!(!notes.contains("stopped after"), "{notes}");
    assert!(findings(&report, "problem").is_empty(), "{report}");
}
