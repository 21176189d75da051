//! Resumption between runs of the program, with early data.

use super::support::{
    Folder, Leaf, Outcome, Server, connect, openssl_resumes, payload, run, tercel,
};

/// Runs the client twice with one session file.
fn twice(server: &Server, folder: &Folder, options: &[&str], input: &[u8]) -> [Outcome; 2] {
    let file = folder.file("sessions").display().to_string();
    let options = [&["--session-file", file.as_str()], options].concat();
    [(); 2].map(|()| {
        let outcome = server.connect(&options, input).success();
        assert!(outcome.output == input, "{}", outcome.said);
        outcome
    })
}

#[test]
fn a_session_is_resumed_by_a_later_run() {
    for how in ["both", "tickets", "memory"] {
        let server = Server::start(&["--echo", "--sessions", how]);
        for version in ["--tls1.3", "--tls1.2"] {
            let folder = Folder::new();
            let [first, second] = twice(&server, &folder, &[version], b"word");
            assert_eq!(first.reported("resumed"), ["no"], "{how} {version}");
            assert_eq!(second.reported("resumed"), ["yes"], "{how} {version}");
        }
        // The server logs a connection when it ends, which may be later than for the client.
        server.wait_for("TLS 1.2 TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 x25519 resumed");
        let said = server.end();
        assert_eq!(said.matches(" resumed").count(), 2, "{said}");
    }
}

#[test]
fn servers_at_two_ports_have_their_own_sessions() {
    let servers = [Server::start(&["--echo"]), Server::start(&["--echo"])];
    let file = Folder::new();
    let name = file.file("sessions").display().to_string();
    let options = ["--insecure", "--session-file", &name, "--name", "localhost"];
    for resumed in ["no", "yes"] {
        for server in &servers {
            let outcome = connect(&server.address, &options, b"word").success();
            assert_eq!(outcome.reported("resumed"), [resumed], "{}", server.address);
        }
    }
}

/// curl, Erlang and Bouncy Castle do not support tickets in TLS 1.2. RFC 5246 7.3
#[test]
fn clients_without_tickets_resume_by_session_id() {
    for (options, with_tickets, without) in [
        (&[][..], 5, 5),
        (&["--sessions", "tickets"], 5, 0),
        (&["--sessions", "memory"], 5, 5),
        (&["--sessions", "none"], 0, 0),
    ] {
        let server = Server::start(options);
        let Some(resumed) = openssl_resumes(&server.address, &[]) else { return };
        assert_eq!(resumed, with_tickets, "{options:?}");
        assert_eq!(openssl_resumes(&server.address, &["-no_ticket"]), Some(without), "{options:?}");
    }
}

#[test]
fn a_server_without_sessions_resumes_none() {
    let server = Server::start(&["--echo", "--sessions", "none"]);
    for version in ["--tls1.3", "--tls1.2"] {
        let [_, second] = twice(&server, &Folder::new(), &[version], b"word");
        assert_eq!(second.reported("resumed"), ["no"]);
    }
}

#[test]
fn unverified_sessions_are_not_resumed_with_verification() {
    let server = Server::start(&["--echo"]);
    let folder = Folder::new();
    let file = folder.file("sessions").display().to_string();
    let options = ["--insecure", "--session-file", &file, "--name", "localhost"];
    for resumed in ["no", "yes"] {
        let outcome = connect(&server.address, &options, b"word").success();
        assert_eq!(outcome.reported("resumed"), [resumed]);
    }
    let options = ["--session-file", file.as_str(), "--name", "localhost"];
    let verified = server.connect(&options, b"word").success();
    assert_eq!(verified.reported("resumed"), ["no"]);
}

#[test]
fn sessions_verified_by_other_roots_are_not_resumed() {
    let server = Server::start(&["--echo"]);
    let folder = Folder::new();
    let file = folder.file("sessions").display().to_string();
    let key = rcgen::KeyPair::generate().unwrap();
    // With a trusted key the client's verifier has no fingerprint of its own.
    let key = folder.write("key.pub", key.public_key_pem());
    Leaf::new("other.example", 2099).write(&folder, "other");
    let other = folder.file("other-ca.pem").display().to_string();
    let options = ["--session-file", &file, "--name", "localhost", "--server-keys", &key];
    for resumed in ["no", "yes"] {
        let outcome = server.connect(&options, b"word").success();
        assert_eq!(outcome.reported("resumed"), [resumed]);
    }
    let outcome = connect(&server.address, &[&options[..], &["--ca", &other]].concat(), b"word");
    assert!(outcome.failure().contains("issuer is unknown"), "{}", outcome.said);
}

#[cfg(unix)]
#[test]
fn a_session_file_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let server = Server::start(&["--echo"]);
    let folder = Folder::new();
    twice(&server, &folder, &[], b"word");
    let mode = std::fs::metadata(folder.file("sessions")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// A session is believed in place of the server's certificate.
#[test]
#[cfg(unix)]
fn a_file_that_other_users_can_write_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let server = Server::start(&["--echo"]);
    let folder = Folder::new();
    twice(&server, &folder, &[], b"word");
    let file = folder.file("sessions").display().to_string();
    for (mode, accepted) in [(0o620, false), (0o602, false), (0o644, true)] {
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        let outcome = server.connect(&["--session-file", &file], b"word");
        if accepted {
            assert_eq!(outcome.success().reported("resumed"), ["yes"]);
        } else {
            assert!(outcome.failure().contains("other users can write it"), "{}", outcome.said);
        }
    }
}

#[test]
fn a_file_without_sessions_is_named() {
    let folder = Folder::new();
    let file = folder.write("sessions", b"something else");
    let options = ["connect", "localhost:1", "--session-file", &file, "--insecure"];
    let outcome = run(tercel().args(options), b"");
    assert!(outcome.failure().contains(&file), "{}", outcome.said);
}

#[test]
fn early_data_is_accepted_on_resumption_only() {
    let server = Server::start(&["--echo", "--early-data", "1000"]);
    let folder = Folder::new();
    let words = folder.write("words", "early words, ");
    let options = ["--early-data", words.as_str()];
    let file = folder.file("sessions").display().to_string();
    let options = [&options[..], &["--session-file", &file]].concat();
    for expected in ["none", "accepted", "accepted"] {
        let outcome = server.connect(&options, b"and others").success();
        assert_eq!(outcome.reported("early-data"), [expected]);
        assert_eq!(outcome.text(), "early words, and others");
    }
    server.wait_for(" resumed early-data=13");
}

#[test]
fn data_beyond_the_early_data_limit_is_sent_later() {
    let server = Server::start(&["--echo", "--early-data", "1000"]);
    let folder = Folder::new();
    let data = payload(100_000);
    let words = folder.write("words", &data);
    let file = folder.file("sessions").display().to_string();
    for expected in ["none", "accepted"] {
        let options = ["--session-file", file.as_str(), "--early-data", &words];
        let outcome = server.connect(&options, b"end").success();
        assert_eq!(outcome.reported("early-data"), [expected]);
        assert!(outcome.output == [&data[..], b"end"].concat());
    }
    server.wait_for("early-data=1000");
}

#[test]
fn rejected_early_data_is_sent_again() {
    // HelloRetryRequest, which this group causes, rules out early data. RFC 9846 4.2.2
    let server = Server::start(&["--echo", "--early-data", "1000", "--groups", "secp384r1"]);
    let folder = Folder::new();
    let words = folder.write("words", "early words");
    let file = folder.file("sessions").display().to_string();
    for expected in ["none", "rejected"] {
        let options = ["--session-file", file.as_str(), "--early-data", &words];
        let outcome = server.connect(&options, b"").success();
        assert_eq!(outcome.reported("early-data"), [expected]);
        assert_eq!(outcome.text(), "early words");
    }
    server.wait_for(" resumed early-data=rejected");
}

#[test]
fn a_request_may_be_early_data() {
    let server = Server::start(&["--early-data", "1000"]);
    let folder = Folder::new();
    let request = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    let words = folder.write("request", request);
    let file = folder.file("sessions").display().to_string();
    for expected in ["none", "accepted"] {
        let options = ["--session-file", file.as_str(), "--early-data", &words];
        let outcome = server.connect(&options, b"").success();
        let row = format!("<th>early-data</th><td>{expected}</td>");
        let page = outcome.text();
        assert!(page.starts_with("HTTP/1.1 200 OK") && page.contains(&row), "{page}");
    }
}
