//! Wrong inputs, as people make them: each leads to one line that says what was found and what to
//! do, and to the status 1 for a failure or 2 for an invalid command line.
//!
//! In commands and expected lines, `{NAME}` is a file of the test's folder or an address of the
//! test; `*` in an expected line stands for any text.

mod cases;
mod fixture;

use std::net::{Ipv4Addr, TcpStream};
use std::process::Command;

use super::support::{Folder, Leaf, OpenSsl, Outcome, Server, run, tercel, unused_address};
use cases::{ALERTS, COMMAND_LINES, FILES, PROXY, REFUSED_CERTIFICATES, SERVERS};
use fixture::{Fixture, answering};

/// A command line, its exit status and the line that it prints.
type Case = (&'static str, i32, &'static str);

#[test]
fn command_lines() {
    check(&Fixture::new(), COMMAND_LINES);
}

#[test]
fn files_of_serve_and_connect() {
    check(&Fixture::new().files(), FILES);
}

#[test]
fn servers_that_cannot_be_reached_or_do_not_speak_tls() {
    check(&Fixture::new().servers(), SERVERS);
}

#[cfg(feature = "http3")]
#[test]
fn http3() {
    check(&Fixture::new().udp(), cases::HTTP3);
}

#[test]
fn alerts_have_hints() {
    for (alert, expected) in ALERTS {
        let answer = [21, 3, 3, 0, 2, 2, *alert];
        let server = answering(Box::leak(Box::new(answer)));
        let outcome = execute(&format!("connect {server} --insecure --quiet"));
        assert_line(&outcome, 1, &format!("tercel: the peer sent the fatal alert {expected}"));
    }
}

#[test]
fn refused_certificates_have_hints() {
    let server = Server::start(&[]);
    let fixture = Fixture::new().files().with("server", server.address.clone());
    let fixture = fixture.with("its-ca", server.ca.clone());
    check(&fixture, REFUSED_CERTIFICATES);
    server.wait_for("alert unknown_ca; the client does not trust the issuer of this server's");
}

#[cfg(unix)]
#[test]
fn configurations_of_the_proxy() {
    check(&Fixture::new().files().configurations(), PROXY);
}

/// A real server that has only CBC suites.
#[test]
fn a_server_with_only_cbc_suites() {
    let folder = Folder::new();
    let [_, certificate, _, key] = Leaf::new("localhost", 2099).write(&folder, "one");
    let options = ["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA256"];
    let Some(openssl) = OpenSsl::serve(&certificate, &key, &options) else { return };
    let outcome = execute(&format!("connect {} --insecure --quiet", openssl.address));
    let expected = "tercel: the peer sent the fatal alert handshake_failure; usually no cipher \
                    suite or group in common, *suites with CBC or RSA key exchange are not \
                    supported";
    assert_line(&outcome, 1, expected);
}

/// A handshake with an expired certificate fails on the other side only.
#[test]
fn an_expired_certificate_is_warned_of() {
    let folder = Folder::new();
    let [_, certificate, _, key] = Leaf::new("localhost", 2020).write(&folder, "old");
    let closed = unused_address();
    let command = format!("connect {closed} --insecure --cert {certificate} --key {key}");
    let outcome = execute(&command);
    let warning = format!("warning: {certificate}: the certificate expired at 2020-12-31");
    assert!(outcome.said.contains(&warning), "{}", outcome.said);
}

/// Root may listen on every port. If the test runs as root, it runs the program as `nobody`.
#[cfg(target_os = "linux")]
#[test]
fn a_privileged_port_is_refused() {
    let setting = std::fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start");
    if setting.is_ok_and(|first| first.trim() != "1024") {
        eprintln!("skipped: unprivileged users may use every port");
        return;
    }
    // `nobody` may lack access to the folder of the program, so the test runs a copy of it.
    let copy = std::env::temp_dir().join(format!("tercel-{}", std::process::id()));
    std::fs::copy(env!("CARGO_BIN_EXE_tercel"), &copy).unwrap();
    let mut setpriv = Command::new("setpriv");
    setpriv.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"]);
    setpriv.arg(&copy).args(["serve", "--listen", "127.0.0.1:80"]);
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout == b"0\n");
    let mut plain = Command::new(&copy);
    plain.args(["serve", "--listen", "127.0.0.1:80"]);
    if is_root && Command::new("setpriv").arg("--version").output().is_err() {
        eprintln!("skipped: there is no setpriv");
    } else {
        let outcome = run(if is_root { &mut setpriv } else { &mut plain }, b"");
        let expected = "tercel: cannot listen on 127.0.0.1:80: permission denied; choose a port \
                        from 1024 on, or run with CAP_NET_BIND_SERVICE";
        assert_line(&outcome, 1, expected);
    }
    std::fs::remove_file(copy).unwrap();
}

/// `:PORT` means all addresses, as in `tercel proxy`.
#[test]
fn a_port_alone_can_be_listened_on() {
    let server = Server::listen(":0", &[]);
    let port = server.address.strip_prefix("[::]:").unwrap().parse().unwrap();
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
}

fn check(fixture: &Fixture, cases: &[Case]) {
    for (command, status, expected) in cases {
        let outcome = execute(&fixture.fill_in(command));
        assert_line(&outcome, *status, &fixture.fill_in(expected));
    }
}

fn execute(command: &str) -> Outcome {
    run(tercel().args(command.split(' ')), b"")
}

/// Checks the status, and that standard error has this line and no other but warnings.
fn assert_line(outcome: &Outcome, status: i32, expected: &str) {
    // The terminator logs, with the time at the beginning, before it opens its listeners.
    let other = |line: &&str| !line.starts_with("warning: ") && !line.starts_with("20");
    let lines: Vec<_> = outcome.said.lines().filter(other).collect();
    let [line] = lines.as_slice() else { panic!("not one line: {outcome:?}\nfor {expected}") };
    assert!(matches(line, expected), "{line}\nis not\n{expected}");
    assert_eq!(outcome.status, Some(status), "{line}");
    assert!(!line.contains(char::is_control) && !line.contains("os error"), "{line:?}");
    assert!(outcome.output.is_empty(), "{outcome:?}");
}

/// Whether the line matches a pattern in which `*` stands for any text.
fn matches(line: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = line.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}
