//! Shutdown: when all connections have ended, at the time limit, or at the second signal.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

use super::{Proxy, backend, configuration, folder, path};
use crate::support::tercel;

/// Without free descriptors the clients in the backlog cannot be accepted, and no connection ends
/// within the time that the test waits.
#[test]
fn it_ends_in_time_also_where_no_more_can_be_accepted() {
    let folder = folder();
    for (drain, twice) in [(1, false), (600, true)] {
        let text = configuration(&folder, backend("x"), "[timeouts]\nhandshake = 600");
        let text = text.replace("drain = 20", &format!("drain = {drain}"));
        let file = folder.write("proxy.toml", text);
        let mut proxy = Proxy::start_with_files(64, &["--config", &file]);
        let address = proxy.address("listener");
        let _silent: Vec<_> = (0..200).map(|_| TcpStream::connect(&address).unwrap()).collect();
        proxy.wait_for("accept failed; retrying", 1);
        proxy.signal("-TERM");
        proxy.wait_for("no new connections", 1);
        if twice {
            proxy.signal("-TERM");
        }
        assert_eq!(proxy.status(), Some(0), "{}", proxy.said());
    }
}

#[test]
fn it_ends_when_its_connections_have_or_at_the_second_word() {
    let folder = folder();
    for twice in [false, true] {
        // Shutdown closes idle connections early only if their protocol is known to be HTTP.
        let file = folder.write("proxy.toml", configuration(&folder, backend("x"), ""));
        let mut proxy = Proxy::start(&["--config", &file, "--check"]);
        assert_eq!(proxy.status(), Some(0));
        let mut proxy = Proxy::start(&["--config", &file]);
        let address = proxy.address("listener");
        let ca = path(&folder, "ca.pem");
        let mut client = tercel()
            .args(["connect", &address, "--ca", &ca, "--name", "localhost", "--quiet"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut input, mut output) = (client.stdin.take().unwrap(), client.stdout.take().unwrap());
        let mut ask = || {
            input.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
            let mut answer = [0; 39];
            output.read_exact(&mut answer).unwrap();
            assert!(answer.ends_with(b"\r\n\r\nx"), "{}", String::from_utf8_lossy(&answer));
        };
        ask();
        proxy.signal("-TERM");
        proxy.wait_for("no new connections", 1);
        ask();
        assert_eq!(proxy.child.try_wait().unwrap(), None, "{}", proxy.said());
        if twice {
            proxy.signal("-TERM");
            proxy.wait_for("stopping immediately", 1);
        } else {
            drop(input);
        }
        assert_eq!(proxy.status(), Some(0), "{}", proxy.said());
        let _ = client.kill();
        client.wait().unwrap();
    }
}
