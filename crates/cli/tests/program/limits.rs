//! No client ends the server, makes it wait, or excludes others for longer than the limits.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::support::{LIMIT, Server};

#[test]
fn garbage_gets_an_alert_and_other_clients_are_served() {
    let server = Server::start(&[]);
    for (nonsense, said) in [
        (&b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"[..], "plain HTTP"),
        (&[0xff; 4096], "protocol error: "),
        (b"", "connection closed by peer during the handshake"),
    ] {
        let mut socket = TcpStream::connect(&server.address).unwrap();
        socket.set_read_timeout(Some(LIMIT)).unwrap();
        socket.write_all(nonsense).unwrap();
        socket.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).unwrap();
        // The client gets a fatal alert in plaintext, or no answer if it sent no data.
        let alert = answer.first() == Some(&21) && answer.get(5) == Some(&2);
        assert!(alert != nonsense.is_empty(), "{answer:?}");
        server.wait_for(said);
    }
    assert!(server.get("/").contains("200 OK"));
}

#[test]
fn a_silent_client_is_not_waited_for() {
    let server = Server::start(&["--timeout", "1"]);
    let mut socket = TcpStream::connect(&server.address).unwrap();
    socket.set_read_timeout(Some(LIMIT)).unwrap();
    assert_eq!(socket.read(&mut [0; 1]).unwrap(), 0);
    server.wait_for("handshake timed out");
}

#[test]
fn connections_above_the_limit_wait_for_their_turn() {
    let server = Server::start(&["--max-connections", "1", "--timeout", "2"]);
    // The time of the first connection begins after this.
    let start = Instant::now();
    let idle = TcpStream::connect(&server.address).unwrap();
    // The request is served once the first connection has timed out.
    assert!(server.get("/").contains("200 OK"));
    assert!(start.elapsed() >= Duration::from_secs(2), "{:?}", start.elapsed());
    drop(idle);
}
