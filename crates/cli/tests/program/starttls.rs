//! `tercel connect --starttls`: the dialogue in plaintext, then TLS over the same connection.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use tercel::{Handshake, ServerConfig};

use super::support::{Outcome, connect, run, server_of_ours, tercel};

/// A part of a dialogue: what the server sends, and what it then waits for.
pub(crate) type Part = (&'static [u8], &'static [u8]);

/// The dialogue of each protocol. The last part ends with the permission.
const DIALOGUES: [(&str, &[Part]); 8] = [
    (
        "smtp",
        &[
            (b"220 mx ESMTP\r\n", b"EHLO [127.0.0.1]\r\n"),
            (b"250-mx\r\n250-STARTTLS\r\n250 HELP\r\n", b"STARTTLS\r\n"),
            (b"220 Go ahead\r\n", b""),
        ],
    ),
    ("imap", &[(b"* OK ready\r\n", b"a STARTTLS\r\n"), (b"a OK begin\r\n", b"")]),
    ("pop3", &[(b"+OK ready\r\n", b"STLS\r\n"), (b"+OK begin\r\n", b"")]),
    ("ftp", &[(b"220 ready\r\n", b"AUTH TLS\r\n"), (b"234 begin\r\n", b"")]),
    ("postgres", &[(b"", b"\0\0\0\x08\x04\xd2\x16\x2f"), (b"S", b"")]),
    (
        "mysql",
        &[(
            b"\x29\0\0\0\x0a8.4\0\x01\0\0\0challeng\0\xff\xff\x2d\x02\0\xff\xdf\x15\0\0\0\0\0\0\0\0\
              \0\0rest\0",
            b"\x20\0\0\x01\0\x8a\x08\0\0\0\0\x01\x2d\0\0\0\0\0\0\0\0\0\0\0\0\
              \0\0\0\0\0\0\0\0\0\0\0",
        )],
    ),
    (
        "ldap",
        &[
            (b"", b"\x30\x1d\x02\x01\x01\x77\x18\x80\x161.3.6.1.4.1.1466.20037"),
            (b"\x30\x0c\x02\x01\x01\x78\x07\x0a\x01\x00\x04\x00\x04\x00", b""),
        ],
    ),
    (
        "xmpp",
        &[
            (
                b"",
                b"<?xml version='1.0'?><stream:stream to='localhost' version='1.0' \
                  xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams'>",
            ),
            (
                b"<stream:stream xmlns='jabber:client' version='1.0'><stream:features><starttls \
                  xmlns='urn:ietf:params:xml:ns:xmpp-tls'/></stream:features>",
                b"<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>",
            ),
            (b"<proceed xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>", b""),
        ],
    ),
];

/// The dialogue of this protocol.
pub(crate) fn dialogue_of(protocol: &str) -> &'static [Part] {
    DIALOGUES.iter().find(|(name, _)| *name == protocol).unwrap().1
}

/// Runs the server's side of a dialogue.
pub(crate) fn speak(mut socket: &TcpStream, dialogue: &[Part]) {
    for (send, expected) in dialogue {
        socket.write_all(send).unwrap();
        let mut received = vec![0; expected.len()];
        socket.read_exact(&mut received).unwrap();
        assert_eq!(received.escape_ascii().to_string(), expected.escape_ascii().to_string());
    }
}

/// Runs the dialogue and a handshake with one client, and sends it `text` over TLS.
fn serve(
    listener: TcpListener,
    config: Arc<ServerConfig>,
    dialogue: &'static [Part],
    text: &'static [u8],
) -> JoinHandle<()> {
    thread::spawn(move || {
        let (socket, _) = listener.accept().unwrap();
        speak(&socket, dialogue);
        let mut stream = Handshake::server(config).complete(&socket).unwrap();
        stream.write_all(text).unwrap();
        stream.flush().unwrap();
        stream.close_now().unwrap();
        // The client's close_notify, so that the connection does not end with a reset.
        let _ = stream.read(&mut [0; 1]);
    })
}

#[test]
fn tls_follows_the_dialogue_of_each_protocol() {
    for (protocol, dialogue) in DIALOGUES {
        let (config, listener, address) = server_of_ours();
        let server = serve(listener, config, dialogue, b"over TLS");
        let options = ["--starttls", protocol, "--insecure", "--name", "localhost"];
        let outcome = connect(&address, &options, b"").success();
        assert_eq!(outcome.reported("version"), ["TLS 1.3"], "{protocol}");
        assert_eq!(outcome.reported("starttls").len(), 1, "{protocol}");
        assert_eq!(outcome.output, b"over TLS", "{protocol}");
        server.join().unwrap();
    }
}

/// Runs the program against a server that says this and then nothing more.
fn outcome(protocol: &str, says: &'static [u8]) -> Outcome {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let _ = socket.write_all(says);
        let mut rest = Vec::new();
        // Until the client closes.
        let _ = socket.read_to_end(&mut rest);
        rest
    });
    let outcome = connect(&address, &["--starttls", protocol, "--insecure", "--timeout", "2"], b"");
    let sent = server.join().unwrap();
    assert!(
        !sent.windows(2).any(|pair| pair == [0x16, 3]),
        "a handshake was begun: {}",
        sent.escape_ascii()
    );
    outcome
}

#[test]
fn a_server_that_refuses_is_quoted() {
    for (protocol, says, error) in [
        ("smtp", &b"220 mx\r\n250-mx\r\n250 HELP\r\n"[..], "the server does not offer STARTTLS"),
        ("imap", b"* OK ready\r\na NO not here\r\n", "the server refused STARTTLS"),
        ("pop3", b"+OK ready\r\n-ERR not here\r\n", "the server refused STARTTLS"),
        ("postgres", b"N", "the server does not offer STARTTLS"),
        ("ftp", b"SSH-2.0-other\r\n", "the server does not speak FTP; it sent `SSH-2.0-other`"),
    ] {
        let outcome = outcome(protocol, says);
        assert!(outcome.failure().starts_with(error), "{}", outcome.said);
        assert!(outcome.output.is_empty());
    }
}

/// CVE-2011-0411 was the acceptance of such data.
#[test]
fn plaintext_after_the_permission_is_refused() {
    for (protocol, says) in [
        ("smtp", &b"220 mx\r\n250-mx\r\n250 STARTTLS\r\n220 Go ahead\r\n250 injected\r\n"[..]),
        ("imap", b"* OK ready\r\na OK begin\r\n* CAPABILITY x\r\n"),
        ("postgres", b"SR"),
    ] {
        let outcome = outcome(protocol, says);
        assert!(outcome.failure().contains("may have been injected"), "{}", outcome.said);
    }
}

/// Plaintext that arrives during the handshake is not taken for a server without TLS.
#[test]
fn plaintext_in_place_of_the_handshake_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = thread::spawn(move || {
        let (socket, _) = listener.accept().unwrap();
        speak(&socket, &[(b"* OK ready\r\n", b"a STARTTLS\r\n"), (b"a OK begin\r\n", b"\x16\x03")]);
        let _ = (&socket).write_all(b"* CAPABILITY late\r\n");
        while (&socket).read(&mut [0; 1024]).is_ok_and(|count| count > 0) {}
    });
    let outcome = connect(&address, &["--starttls", "imap", "--insecure"], b"");
    let line = outcome.failure();
    assert!(line.contains("`* CAPABILITY late`; it may have been injected"), "{line}");
    server.join().unwrap();
}

#[test]
fn answers_are_limited_in_time_and_length() {
    assert_eq!(outcome("smtp", b"220 m").failure(), "timed out before STARTTLS");
    static ENDLESS: [u8; 1 << 20] = [b'x'; 1 << 20];
    assert!(outcome("smtp", &ENDLESS).failure().contains("longer than 8192 bytes"));
}

#[test]
fn the_default_port_is_the_protocols() {
    for (protocol, port) in [("smtp", 25), ("postgres", 5432), ("xmpp", 5222)] {
        let options = ["127.43.21.9", "--starttls", protocol, "--insecure", "--timeout", "2"];
        let outcome = run(tercel().arg("connect").args(options), b"");
        let expected = format!("cannot connect to 127.43.21.9:{port}: ");
        assert!(outcome.failure().starts_with(&expected), "{}", outcome.said);
    }
    for wrong in [&["a:1", "--starttls", "gopher"][..], &["https://a", "--starttls", "smtp"]] {
        let outcome = run(tercel().arg("connect").args(wrong), b"");
        assert_eq!(outcome.status, Some(2), "{}", outcome.said);
    }
}
