//! No peer makes the program wait for longer than its limits, or store more than these.

use std::time::Duration;

use hyper::Request;

use super::super::support::{Folder, connect, payload};
use super::peer::{Client, idle_server, quic, raw_server, runtime};
use super::{request, start};

#[test]
fn a_client_without_requests_is_not_waited_for() {
    let server = start(&["--timeout", "1"]);
    runtime().block_on(async {
        let mut client = Box::pin(Client::connect(&server, b"h3")).await.unwrap();
        let page = client.send("GET", "/", b"").await.unwrap().receive().await.unwrap();
        assert_eq!(page.0.status(), 200);
        // The client keeps the connection, and the server ends it.
        client.connection.closed().await;
    });
    server.wait_for("timed out");
}

/// RFC 9000 8.1.2
#[test]
fn addresses_are_validated_when_connections_are_scarce() {
    let server = start(&["--max-connections", "1", "--timeout", "2"]);
    runtime().block_on(async {
        let (_endpoint, idle) = quic(&server, b"h3").await.unwrap();
        // The request is served once the first connection has ended.
        let waiting = tokio::task::spawn_blocking({
            let (address, ca) = (server.address.clone(), server.ca.clone());
            move || connect(&address, &["--http3", "--ca", &ca, "--name", "localhost"], b"")
        });
        let page = waiting.await.unwrap().success().text();
        assert!(page.contains("<th>alpn</th><td>h3</td>"), "{page}");
        drop(idle);
    });
}

/// quinn keeps a closed connection for a while. More of them than the server serves at once delay
/// new ones, and do not keep them away. RFC 9000 10.2
#[test]
fn closed_connections_make_room() {
    let server = start(&["--max-connections", "2"]);
    runtime().block_on(async {
        for _ in 0..20 {
            let (endpoint, connection) = quic(&server, b"h3").await.unwrap();
            connection.close(0x100_u32.into(), b"");
            // Otherwise the runtime can end before CONNECTION_CLOSE is sent, and the server waits.
            tokio::time::timeout(Duration::from_millis(20), endpoint.wait_idle()).await.ok();
        }
    });
    request(&server, "/", &[]).success();
}

/// A response in progress is delivered, and further requests are rejected. RFC 9114 5.2
#[cfg(unix)]
#[test]
fn a_signal_ends_the_server_after_the_responses() {
    let folder = Folder::new();
    let data = payload(8_000_000);
    folder.write("data.bin", &data);
    let server = start(&["--root", &folder.0.display().to_string()]);
    runtime().block_on(async {
        let mut client = Box::pin(Client::connect(&server, b"h3")).await.unwrap();
        let mut response = client.send("GET", "/data.bin", b"").await.unwrap();
        // The content is longer than the client's window, so the server cannot have sent it all.
        response.head().await.unwrap();
        server.terminate();
        tokio::time::sleep(Duration::from_millis(200)).await;
        let further = match client.send("GET", "/", b"").await {
            Ok(sent) => sent.receive().await.map(|_| ()),
            Err(error) => Err(error),
        };
        assert!(further.is_err());
        assert!(response.content().await.unwrap() == data);
        assert_eq!(server.ended(), Some(0));
    });
}

/// RFC 9114 4.2.2
#[test]
fn long_heads_are_refused() {
    let server = start(&[]);
    runtime().block_on(async {
        let mut client = Box::pin(Client::connect(&server, b"h3")).await.unwrap();
        let head = Request::get("https://localhost/").header("x", "y".repeat(20_000));
        // A client that knows the limit of the server does not send such a head.
        match client.send_head(head.body(()).unwrap(), b"").await {
            Ok(sent) => assert_eq!(sent.receive().await.unwrap().0.status(), 431),
            Err(error) => assert!(error.contains("Header too big"), "{error}"),
        }
        let page = client.send("GET", "/", b"").await.unwrap().receive().await.unwrap();
        assert_eq!(page.0.status(), 200);
    });
}

/// h3 remembers a stream without a head until the connection ends. RFC 9114 8.1, 10.5
#[test]
fn aborted_requests_are_limited() {
    let server = start(&[]);
    runtime().block_on(async {
        let (_endpoint, connection) = quic(&server, b"h3").await.unwrap();
        let abort = async || {
            let (mut send, mut receive) = connection.open_bi().await?;
            // A part of the type of a frame.
            let _ = send.write_all(&[0x40]).await;
            let _ = (send.reset(0x10c_u32.into()), receive.stop(0x10c_u32.into()));
            Ok::<_, quinn::ConnectionError>(())
        };
        for number in 0..2000 {
            if let Err(error) = abort().await {
                let quinn::ConnectionError::ApplicationClosed(close) = &error else {
                    panic!("{error}")
                };
                assert_eq!(u64::from(close.error_code), 0x107);
                assert!(number > 1000, "after {number}");
                return;
            }
        }
        panic!("the server permits any number of aborted requests");
    });
    server.wait_for("too many requests were aborted");
    // Others are still served.
    request(&server, "/", &[]).success();
}

/// A HEADERS frame of 2^30 bytes: nothing of it is collected. RFC 9114 8.1
#[test]
fn endless_frames_end_the_connection() {
    let server = start(&[]);
    runtime().block_on(async {
        for frame in [1, 0x21] {
            let (_endpoint, connection) = quic(&server, b"h3").await.unwrap();
            let (mut send, _receive) = connection.open_bi().await.unwrap();
            send.write_all(&[frame, 0xc0, 0, 0, 0, 0x40, 0, 0, 0]).await.unwrap();
            let error = connection.closed().await;
            let quinn::ConnectionError::ApplicationClosed(close) = &error else {
                panic!("{error}")
            };
            assert_eq!(u64::from(close.error_code), 0x107);
        }
    });
    // Others are still served.
    request(&server, "/", &[]).success();

    let server = raw_server(&[1, 0xc0, 0, 0, 0, 0x40, 0, 0, 0]);
    let options = ["--http3", "--ca", &server.ca, "--name", "localhost"];
    let outcome = connect(&server.address, &options, b"");
    let expected = "HTTP/3: the peer sent an HTTP/3 frame of more than 65536 bytes or in \
                    more than 256 parts";
    assert_eq!(outcome.failure(), expected);
}

#[test]
fn responses_that_do_not_end_are_errors() {
    let options = |ca: &str| {
        ["--http3", "--name", "localhost", "--timeout", "1", "--ca", ca].map(str::to_owned)
    };
    let server = idle_server(b"h3");
    let silent = connect(&server.address, &super::refs(&options(&server.ca)), b"");
    assert_eq!(silent.failure(), "the response did not arrive within 1 s (--timeout)");
    // A DATA frame is no response. RFC 9114 4.1
    let server = raw_server(&[0, 1, b'x']);
    let wrong = connect(&server.address, &super::refs(&options(&server.ca)), b"");
    let line = wrong.failure();
    assert!(line.starts_with("HTTP/3: the peer violates HTTP/3 (H3_FRAME_UNEXPECTED): "), "{line}");
}
