//! Routes that relay connections by server name without terminating TLS.

use std::io;
use std::net::{Shutdown, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use socket2::SockRef;
use tercel_proxy::{Config, Proxy};
use tercel_tokio::{Connector, TlsStream};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::support::{
    Folder, LIMIT, VERSIONS, backend, client, client_hello, config, connect, connect_with, echo,
    echoed, metric, parse, recording_backend, start, tls_backend, unused_address, wait_until,
};

const LISTENER: &str = "workers = 1\n[[listener]]\naddress = \"127.0.0.1:0\"\n";

/// A proxy with one listener, whose default route relays to this backend.
fn relay_to(to: impl std::fmt::Display, more: &str) -> Proxy {
    start(&format!("{LISTENER}passthrough = true\nto = \"{to}\"\n{more}"))
}

async fn connect_raw(proxy: &Proxy) -> TcpStream {
    let stream = TcpStream::connect(proxy.addresses()[0]).await.unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// Sends these bytes and returns all that the proxy answers until it closes or resets.
async fn answer_to(proxy: &Proxy, sent: &[u8]) -> Vec<u8> {
    let mut stream = connect_raw(proxy).await;
    // The proxy may close before it has read everything.
    let _ = stream.write_all(sent).await;
    let mut answer = Vec::new();
    let _ = timeout(LIMIT, stream.read_to_end(&mut answer)).await.unwrap();
    answer
}

async fn read(stream: &mut TlsStream<TcpStream>) -> Vec<u8> {
    let mut received = vec![0; 100];
    let count = stream.read(&mut received).await.unwrap();
    received.truncate(count);
    received
}

fn failures(proxy: &Proxy, reason: &str, alert: &str) -> u64 {
    metric(
        proxy,
        &format!("tercel_handshake_failures_total{{reason=\"{reason}\",alert=\"{alert}\"}}"),
    )
}

#[tokio::test]
async fn passthrough_and_terminated_routes_share_a_listener() {
    let folder = Folder::new(&["c.example"]);
    let [a, b] = [tls_backend("a.example", b"a").await, tls_backend("b.example", b"b").await];
    let proxy = folder.start(&format!(
        "to = \"{}\"\n[[listener.route]]\nnames = \"a.example\"\npassthrough = true\nto = \"{a}\"\n\
         [[listener.route]]\nnames = [\"b.example\", \"*.b.example\"]\npassthrough = true\n\
         to = \"{b}\"\n",
        echo().await
    ));
    for version in VERSIONS {
        let client = || client().versions(&[version]);
        for (name, expected) in [("a.example", b"a"), ("b.example", b"b")] {
            let mut stream = connect(&proxy, name, client()).await.unwrap();
            assert_eq!(read(&mut stream).await, expected, "{name}");
            assert_eq!(echoed(&mut stream, b"x").await, b"x");
        }
        let config = client().build().unwrap();
        for resumed in [false, true] {
            let stream = connect_with(&proxy, "c.example", config.clone()).await;
            let mut stream = stream.unwrap();
            assert_eq!(stream.info().resumed, resumed);
            assert_eq!(echoed(&mut stream, b"x").await, b"x");
        }
        // The backend has no certificate for this name of its route.
        assert!(connect(&proxy, "x.b.example", client()).await.is_err());
    }
    assert_eq!(metric(&proxy, "tercel_passthrough_connections_total"), 6);
    assert!(metric(&proxy, "tercel_passthrough_received_bytes_total") > 1000);
    assert!(metric(&proxy, "tercel_passthrough_sent_bytes_total") > 1000);
    // The terminator sees no plaintext of these connections.
    assert_eq!(metric(&proxy, "tercel_client_received_bytes_total"), 4);
    wait_until("connections are closed", || proxy.connections() == 0).await;
    assert_eq!(metric(&proxy, "tercel_connections_open"), 0);
}

/// A transport that sends one byte at a time.
struct OneByte(TcpStream);

impl AsyncRead for OneByte {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, out)
    }
}

impl AsyncWrite for OneByte {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, &bytes[..1])
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

#[tokio::test]
async fn handshakes_sent_byte_by_byte_are_relayed() {
    let proxy = relay_to(tls_backend("a.example", b"hello ").await, "");
    for version in VERSIONS {
        let transport = OneByte(connect_raw(&proxy).await);
        let connector = Connector::new(client().versions(&[version]).build().unwrap());
        let mut stream = connector.connect("a.example".try_into().unwrap(), transport).await;
        let stream = stream.as_mut().unwrap();
        stream.write_all(b"x").await.unwrap();
        let mut received = [0; 7];
        stream.read_exact(&mut received).await.unwrap();
        assert_eq!(&received, b"hello x");
    }
}

/// The same handshake messages in records with at most `size` bytes of content.
fn fragmented(record: &[u8], size: usize) -> Vec<u8> {
    let piece = |content: &[u8]| {
        let length = u16::try_from(content.len()).unwrap().to_be_bytes();
        [&record[..3], &length, content].concat()
    };
    record[5..].chunks(size).flat_map(piece).collect()
}

#[tokio::test]
async fn received_bytes_are_relayed_unchanged_in_any_fragmentation() {
    let (to, mut events) = recording_backend().await;
    let proxy = relay_to(to, "");
    let hello = client_hello("a.example");
    for size in [1, 2, 3, 4, 5, 38, 43, 100, 4091, hello.len()] {
        for later in [b"".as_slice(), b"\x14\x03\x03\x00\x01\x01", &[7; 40_000]] {
            let sent = [&fragmented(&hello, size), later].concat();
            if fragmented(&hello, size).len() > 16 * 1024 {
                continue;
            }
            let mut stream = connect_raw(&proxy).await;
            stream.write_all(&sent).await.unwrap();
            stream.shutdown().await.unwrap();
            let received = timeout(LIMIT, events.recv()).await.unwrap().unwrap();
            assert!(received == sent, "{size} {} {}", received.len(), sent.len());
        }
    }
}

#[tokio::test]
async fn too_long_client_hellos_are_refused() {
    let (to, mut events) = recording_backend().await;
    let proxy = relay_to(to, "");
    let decode_error = [21, 3, 3, 0, 2, 2, 50];
    // A ClientHello of 60,000 bytes, in records of 5 and of 16,000 bytes.
    let record = [&[22, 3, 1, 0, 0, 1, 0, 0xea, 0x60, 3, 3][..], &[0; 59_998]].concat();
    for size in [5, 16_000] {
        assert_eq!(answer_to(&proxy, &fragmented(&record, size)).await, decode_error);
    }
    // A ClientHello that fits, in records with so little content that the headers do not.
    let hello = fragmented(&client_hello("a.example"), 1);
    let hello = [hello, vec![0; 16_384]].concat();
    let small = if hello.len() > 2 * 16_384 { Some(hello) } else { None };
    if let Some(sent) = small {
        assert_eq!(answer_to(&proxy, &sent).await, decode_error);
    }
    assert!(failures(&proxy, "protocol", "decode_error") >= 2);
    assert!(events.try_recv().is_err(), "a refused connection reached the backend");
}

#[tokio::test]
async fn incomplete_client_hellos_time_out() {
    let (to, mut events) = recording_backend().await;
    let proxy = relay_to(to, "[timeouts]\nhandshake = 0.4");
    let hello = client_hello("a.example");
    for sent in [0, 1, 5, 9, hello.len() - 1] {
        let started = Instant::now();
        let answer = answer_to(&proxy, &hello[..sent]).await;
        assert!(answer.is_empty() && started.elapsed() >= Duration::from_millis(400), "{sent}");
    }
    // The time does not begin again with each byte: it ends before the ClientHello is complete.
    let mut stream = connect_raw(&proxy).await;
    let ended = async {
        for byte in &hello {
            if stream.write_all(&[*byte]).await.is_err() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(LIMIT, ended).await.unwrap();
    wait_until("all are counted", || failures(&proxy, "timed_out", "none") == 6).await;
    assert!(events.try_recv().is_err());
}

#[tokio::test]
async fn clients_that_close_early_are_counted() {
    let proxy = relay_to(unused_address().await, "");
    let hello = client_hello("a.example");
    for sent in [0, 7, hello.len() - 1] {
        let mut stream = connect_raw(&proxy).await;
        stream.write_all(&hello[..sent]).await.unwrap();
        stream.shutdown().await.unwrap();
        assert_eq!(stream.read(&mut [0]).await.unwrap(), 0);
    }
    wait_until("all are counted", || failures(&proxy, "closed", "none") == 3).await;
}

/// Clients of an IP address send no server_name. RFC 6066 3
#[tokio::test]
async fn names_without_a_route_go_to_the_default_route_or_are_refused() {
    let (to, mut events) = recording_backend().await;
    let named = format!(
        "[[listener.route]]\nnames = \"a.example\"\npassthrough = true\nto = \"{}\"\n",
        unused_address().await
    );
    let hellos = [client_hello("b.example"), client_hello("127.0.0.1")];
    let proxy = relay_to(to, &named);
    for hello in &hellos {
        let mut stream = connect_raw(&proxy).await;
        stream.write_all(hello).await.unwrap();
        stream.shutdown().await.unwrap();
        assert_eq!(&events.recv().await.unwrap(), hello);
    }
    let proxy = start(&format!("{LISTENER}{named}"));
    for hello in &hellos {
        assert_eq!(answer_to(&proxy, hello).await, [21, 3, 3, 0, 2, 2, 49]);
    }
    wait_until("both are counted", || failures(&proxy, "local", "access_denied") == 2).await;
    assert!(events.try_recv().is_err());
}

#[tokio::test]
async fn malformed_input_gets_an_alert() {
    let (to, mut events) = recording_backend().await;
    let proxy = relay_to(to, "");
    let hello = client_hello("a.example");
    let unexpected = [21, 3, 3, 0, 2, 2, 10];
    for (sent, expected) in [
        (b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n".to_vec(), None),
        (vec![0; 100], None),
        (b"\x16\x09\x01\x00\x05hello".to_vec(), None),
        ([&[22, 3, 1, 0, 4][..], &[2, 0, 0, 0]].concat(), Some(unexpected)),
        ([&[23, 3, 3, 0, 1, 0][..], &hello].concat(), Some(unexpected)),
        ([&[20, 3, 3, 0, 1, 1][..], &hello].concat(), Some(unexpected)),
        // A warning alert must not interrupt a message.
        ([&[22, 3, 1, 0, 1, 1][..], &[21, 3, 3, 0, 2, 1, 90], &hello].concat(), Some(unexpected)),
        // The length of the extensions is wrong.
        (
            {
                let mut cut = hello.clone();
                cut.pop();
                let length = u16::try_from(cut.len() - 5).unwrap().to_be_bytes();
                cut[3..5].copy_from_slice(&length);
                let length = u32::try_from(cut.len() - 9).unwrap().to_be_bytes();
                cut[6..9].copy_from_slice(&length[1..]);
                cut
            },
            Some([21, 3, 3, 0, 2, 2, 50]),
        ),
        // Empty records carry nothing, and are limited.
        ([22, 3, 1, 0, 0].repeat(3000), Some(unexpected)),
    ] {
        let answer = answer_to(&proxy, &sent).await;
        match expected {
            Some(alert) => assert_eq!(answer, alert, "{:?}", &sent[..16.min(sent.len())]),
            None => assert_eq!((answer.len(), answer[0], answer[5]), (7, 21, 2)),
        }
    }
    assert!(events.try_recv().is_err(), "malformed input reached the backend");
}

#[tokio::test]
async fn each_direction_ends_on_its_own() {
    let to = backend(|mut transport| async move {
        let mut received = Vec::new();
        transport.read_to_end(&mut received).await.unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        let _ = transport.write_all(&received.len().to_be_bytes()).await;
    });
    let proxy = relay_to(to.await, "");
    let hello = client_hello("a.example");
    let mut stream = connect_raw(&proxy).await;
    stream.write_all(&hello).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    assert_eq!(answer, hello.len().to_be_bytes());
    // The backend ends first.
    let (to, mut events) = {
        let (sender, events) = tokio::sync::mpsc::unbounded_channel();
        let to = backend(move |mut transport| {
            let sender = sender.clone();
            async move {
                transport.shutdown().await.unwrap();
                let mut received = Vec::new();
                let ended = transport.read_to_end(&mut received).await.map_err(|e| e.kind());
                sender.send((ended.map(|_| ()), received)).unwrap();
            }
        });
        (to.await, events)
    };
    for resets in [false, true] {
        let proxy = relay_to(to, "");
        let mut stream = connect_raw(&proxy).await;
        stream.write_all(&hello).await.unwrap();
        assert_eq!(stream.read(&mut [0]).await.unwrap(), 0);
        stream.write_all(b"more").await.unwrap();
        let received = "tercel_passthrough_received_bytes_total";
        let expected = [&hello[..], b"more"].concat();
        let count = u64::try_from(expected.len()).unwrap();
        wait_until("the data has arrived", || metric(&proxy, received) == count).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        if resets {
            SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
            drop(stream);
            let (ended, _) = events.recv().await.unwrap();
            assert_eq!(ended, Err(io::ErrorKind::ConnectionReset));
        } else {
            SockRef::from(&stream).shutdown(Shutdown::Write).unwrap();
            assert_eq!(events.recv().await.unwrap(), (Ok(()), expected));
        }
        wait_until("connections are closed", || proxy.connections() == 0).await;
    }
}

#[tokio::test]
async fn idle_and_half_closed_connections_time_out() {
    let to = backend(|mut transport| async move {
        let _ = transport.read_to_end(&mut Vec::new()).await;
        std::future::pending::<()>().await;
    });
    let proxy = relay_to(to.await, "[timeouts]\nidle = 0.3\nhalf_closed = 0.3");
    for half_closed in [false, true] {
        let mut stream = connect_raw(&proxy).await;
        stream.write_all(&client_hello("a.example")).await.unwrap();
        if half_closed {
            // The time may already have passed.
            let _ = stream.shutdown().await;
        }
        let ended = timeout(LIMIT, stream.read(&mut [0])).await.unwrap();
        assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
    }
    wait_until("connections are closed", || proxy.connections() == 0).await;
}

#[tokio::test]
async fn unreachable_backend_closes_the_connection() {
    let proxy = relay_to(unused_address().await, "");
    assert_eq!(answer_to(&proxy, &client_hello("a.example")).await, b"");
    assert_eq!(metric(&proxy, "tercel_backend_failures_total{reason=\"none_left\"}"), 1);
}

#[tokio::test]
async fn proxy_header_has_the_addresses_and_the_requested_name() {
    let (to, mut events) = recording_backend().await;
    let proxy = relay_to(to, "send_proxy_protocol = true\n");
    for (name, authority) in [("A.example", Some(&b"A.example"[..])), ("127.0.0.1", None)] {
        let hello = client_hello(name);
        let mut stream = connect_raw(&proxy).await;
        let own = stream.local_addr().unwrap();
        stream.write_all(&hello).await.unwrap();
        stream.shutdown().await.unwrap();
        let header = parse(&events.recv().await.unwrap());
        assert_eq!((header.source, header.destination), (own, proxy.addresses()[0]));
        assert!(
            header.value(2).is_some_and(|name| name.eq_ignore_ascii_case(b"A.example"))
                == authority.is_some()
        );
        assert_eq!(header.values.len(), usize::from(authority.is_some()));
        assert!(header.rest == hello);
    }
    // The addresses of a received header are sent on.
    let more = "accept_proxy_protocol = true\nsend_proxy_protocol = true\n";
    let proxy = relay_to(to, more);
    let mut stream = connect_raw(&proxy).await;
    let line = b"PROXY TCP4 192.0.2.1 198.51.100.2 5000 443\r\n";
    stream.write_all(&[&line[..], &client_hello("a.example")].concat()).await.unwrap();
    stream.shutdown().await.unwrap();
    let header = parse(&events.recv().await.unwrap());
    assert_eq!(header.source, "192.0.2.1:5000".parse().unwrap());
    assert_eq!(header.destination, "198.51.100.2:443".parse().unwrap());
}

#[test]
fn settings_of_tls_are_refused_on_passthrough_routes() {
    let error = |text: &str| Config::parse("f.toml", text).unwrap_err().to_string();
    let route = "to = \"127.0.0.1:1\"\n[[listener.route]]\nnames = \"a.example\"\n\
                 passthrough = true\n";
    let listener = format!("{LISTENER}certificates = \"/x\"\nalpn = \"h2\"\n{route}");
    let config = Config::parse("f.toml", &listener).unwrap();
    let route = &config.listeners[0].routes[0];
    assert!(route.passthrough && route.certificates.is_none() && route.alpn.is_empty());
    assert!(!config.listeners[0].routes[1].passthrough);
    for setting in ["alpn = \"h2\"", "certificates = \"/x\"", "early_data = 5"] {
        let key = setting.split(' ').next().unwrap();
        let expected = format!(
            "f.toml: listener[0].route[0].{key}: has no effect on a route without TLS \
             (passthrough, ech_front) (line 10)"
        );
        assert_eq!(error(&format!("{listener}{setting}\n")), expected);
    }
    assert!(error(&format!("{LISTENER}passthrough = true\n")).contains("to: is missing"));
    assert!(error(&format!("{LISTENER}passthrough = 1\n")).contains("must be true or false"));
}

/// A listener with a known port, whose default route relays to this backend.
fn relay_at(address: SocketAddr, to: impl std::fmt::Display, more: &str) -> String {
    let text = LISTENER.replace("127.0.0.1:0", &address.to_string());
    format!("{text}passthrough = true\nto = \"{to}\"\n{more}")
}

/// Two proxies cannot know that they relay connections to each other. The limits end the chain, and
/// the end of the client ends each connection of it.
#[tokio::test]
async fn limits_end_a_loop_of_two_proxies() {
    for (limits, reason, most) in [
        ("[limits]\nconnections = 60", "connection_limit", 60),
        ("[limits]\nper_client = 20", "address_limit", 20),
    ] {
        let address = unused_address().await;
        let first = relay_to(address, limits);
        let second = start(&relay_at(address, first.addresses()[0], limits));
        let mut stream = connect_raw(&first).await;
        stream.write_all(&client_hello("a.example")).await.unwrap();
        let ended = timeout(LIMIT, stream.read(&mut [0])).await.unwrap();
        assert!(!matches!(ended, Ok(1..)), "{ended:?}");
        drop(stream);
        let open = || first.connections() + second.connections();
        wait_until("connections are closed", || open() == 0).await;
        let refused = format!("tercel_connections_refused_total{{reason=\"{reason}\"}}");
        assert_eq!(metric(&first, &refused) + metric(&second, &refused), 1);
        let relayed = metric(&first, "tercel_passthrough_connections_total");
        assert!((most - 1..=most).contains(&relayed), "{relayed}");
    }
}

/// A client's connection would be relayed to the same listener until no more are possible.
#[tokio::test]
async fn a_listener_must_not_relay_to_itself() {
    let address = unused_address().await;
    let (port, other) = (address.port(), unused_address().await);
    let any = SocketAddr::from(([0, 0, 0, 0], port));
    for (own, to) in [
        (address, format!("\"{address}\"")),
        (address, format!("[\"{other}\", \"localhost:{port}\"]")),
        (any, format!("\"{address}\"")),
        (any, format!("\"0.0.0.0:{port}\"")),
    ] {
        let text = relay_at(own, "TO", "").replace("\"TO\"", &to);
        let error = tercel_proxy::check(&config(&text)).unwrap_err().to_string();
        let expected = "is this listener, which would relay to itself in a loop";
        assert!(error.starts_with("test.toml: listener[0].to: "), "{error}");
        assert!(error.contains(expected), "{error}");
    }
    // A terminated connection is not relayed as TLS, and another listener is not this one.
    let folder = Folder::new(&["a.example"]);
    let certificates = folder.path("certs").display().to_string();
    let terminated = relay_at(address, address, "")
        .replace("passthrough = true", &format!("certificates = \"{certificates}\""));
    assert_eq!(tercel_proxy::check(&config(&terminated)), Ok(Vec::new()));
    let exact = terminated.replace(LISTENER.lines().next().unwrap(), "");
    let both = format!("{}{exact}", relay_at(any, address, ""));
    assert_eq!(tercel_proxy::check(&config(&both)), Ok(Vec::new()));
}
