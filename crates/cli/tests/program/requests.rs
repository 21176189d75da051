//! `tercel connect --get` and `--head`: one request over HTTP/1.1 or HTTP/2.

use std::io::{Read, Write};
use std::sync::Arc;
use std::thread;

use tercel::Handshake;

use super::support::{Folder, Outcome, Server, connect, payload, run, server_of_ours, tercel};

fn request(server: &Server, path: &str, options: &[&str]) -> Outcome {
    let url = format!("https://{}{path}", server.address);
    connect(&url, &[&["--ca", server.ca.as_str()], options].concat(), b"")
}

#[test]
fn content_goes_to_standard_output_and_the_head_to_standard_error() {
    let folder = Folder::new();
    let data = payload(300_000);
    folder.write("data.bin", &data);
    let server = Server::start(&["--root", &folder.0.display().to_string()]);
    for (options, protocol, line) in [
        (&[][..], "h2", "HTTP/2 200 OK"),
        (&["--alpn", "http/1.1"], "http/1.1", "HTTP/1.1 200 OK"),
        (&["--tls1.2", "--alpn", "h2"], "h2", "HTTP/2 200 OK"),
        (&["--alpn", ""], "none", "HTTP/1.1 200 OK"),
    ] {
        let outcome = request(&server, "/data.bin?x=1", &[&["--get"], options].concat()).success();
        assert!(outcome.output == data, "{} bytes", outcome.output.len());
        assert_eq!(outcome.reported("alpn"), [protocol]);
        let said: Vec<&str> = outcome.said.lines().collect();
        assert!(said.contains(&line) && said.contains(&"content-length: 300000"), "{said:?}");

        let outcome = request(&server, "/data.bin", &[&["--head"], options].concat()).success();
        assert!(outcome.output.is_empty());
        assert!(outcome.said.contains("content-length: 300000"), "{}", outcome.said);
    }
    let quiet = request(&server, "/data.bin", &["--get", "--quiet"]).success();
    assert!(quiet.output == data && quiet.said.is_empty(), "{}", quiet.said);
    let absent = request(&server, "/absent", &["--get"]).success();
    assert!(absent.said.contains("HTTP/2 404 Not Found"), "{}", absent.said);
}

#[test]
fn a_request_without_a_path_is_for_the_root() {
    let server = Server::start(&[]);
    let options = ["--get", "--ca", &server.ca];
    let page = connect(&server.address, &options, b"").success().text();
    assert!(page.contains("<th>alpn</th><td>h2</td>"), "{page}");
}

#[test]
fn sessions_are_kept_for_the_next_request() {
    let (folder, server) = (Folder::new(), Server::start(&[]));
    let file = folder.file("sessions").display().to_string();
    for resumed in ["no", "yes"] {
        let outcome = request(&server, "/", &["--get", "--session-file", &file]).success();
        assert_eq!(outcome.reported("resumed"), [resumed]);
    }
}

/// Sends these bytes in answer to a request over HTTP/1.1, and then waits for the client or closes.
fn answer(bytes: &'static [u8], closes: bool) -> Outcome {
    let (config, listener, address) = server_of_ours();
    let server = thread::spawn(move || {
        let (socket, _) = listener.accept().unwrap();
        let mut stream = Handshake::server(Arc::clone(&config)).complete(&socket).unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.extend(byte);
        }
        let _ = stream.write_all(bytes);
        let _ = stream.flush();
        if closes {
            let _ = stream.close_now();
        }
        let _ = stream.read(&mut [0; 1]);
        String::from_utf8(head).unwrap()
    });
    let url = format!("https://{address}/a?b");
    let options = ["--get", "--insecure", "--alpn", "http/1.1", "--timeout", "2"];
    let outcome = connect(&url, &options, b"");
    let head = server.join().unwrap().to_lowercase();
    assert!(head.starts_with("get /a?b http/1.1\r\n"), "{head}");
    assert!(head.contains(&format!("\r\nhost: {address}\r\n")), "{head}");
    outcome
}

#[test]
fn responses_that_do_not_end_are_errors() {
    let silent = answer(b"", false);
    let expected = "the response did not arrive within 2 s (--timeout)";
    assert_eq!(silent.failure(), expected);
    let half = answer(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf", false);
    assert_eq!((half.failure(), half.output.as_slice()), (expected, &b"half"[..]));
    let cut = answer(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf", true);
    assert!(cut.failure().starts_with("HTTP: "), "{}", cut.said);
    let other = answer(b"SSH-2.0-x\r\n\r\n", true);
    assert!(other.failure().starts_with("HTTP: "), "{}", other.said);
    let closed = answer(b"HTTP/1.0 200 OK\r\nx: \x9b2J\r\n\r\nuntil the end", true).success();
    assert_eq!(closed.output, b"until the end");
    assert!(closed.said.contains("\nx: \\x9b2J"), "{}", closed.said);
}

#[test]
fn a_request_needs_http() {
    let server = Server::start(&["--echo", "--alpn", "spdy"]);
    let outcome = request(&server, "/", &["--get", "--alpn", "spdy"]);
    assert!(outcome.failure().contains("chose the protocol `spdy`"), "{}", outcome.said);
    for wrong in [
        &["imaps://a/x", "--get"][..],
        &["a", "--get", "--head"],
        &["a", "--get", "--starttls", "smtp"],
        &["a", "--get", "--json"],
        &["a", "--head", "--update-key"],
    ] {
        let outcome = run(tercel().arg("connect").args(wrong), b"");
        assert_eq!(outcome.status, Some(2), "{}", outcome.said);
    }
}
