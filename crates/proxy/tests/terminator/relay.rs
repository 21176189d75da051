//! Relaying in both directions.

use std::time::Duration;

use tercel_tokio::TlsStream;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use crate::support::{
    Folder, LIMIT, VERSIONS, backend, client, connect, echo, echoed, exchange, greeting_echo,
    metric, unused_address, wait_until,
};

#[tokio::test]
async fn one_megabyte_is_echoed_in_both_versions() {
    let folder = Folder::new(&["a.example"]);
    let proxy = folder.start(&format!("to = \"{}\"", echo().await));
    let sent: Vec<u8> = (0..250_000_u32).flat_map(u32::to_be_bytes).collect();
    for version in VERSIONS {
        let stream = connect(&proxy, "a.example", client().versions(&[version])).await.unwrap();
        let (mut read, mut write) = tokio::io::split(stream);
        let sending = async {
            write.write_all(&sent).await.unwrap();
            write.flush().await.unwrap();
        };
        let receiving = async {
            let mut received = vec![0; sent.len()];
            read.read_exact(&mut received).await.unwrap();
            received
        };
        let ((), received) = tokio::join!(sending, receiving);
        assert!(received == sent, "{version:?}");
    }
    wait_until("bytes are counted", || {
        metric(&proxy, "tercel_client_received_bytes_total") == 2_000_000
    })
    .await;
    wait_until("bytes are counted", || {
        metric(&proxy, "tercel_client_sent_bytes_total") == 2_000_000
    })
    .await;
    wait_until("connections are closed", || proxy.connections() == 0).await;
}

#[tokio::test]
async fn slow_client_applies_back_pressure_to_the_backend() {
    const ALL: usize = 64 << 20;
    let folder = Folder::new(&["a.example"]);
    let (taken, mut taking) = mpsc::unbounded_channel();
    let source = backend(move |mut transport| {
        let taken = taken.clone();
        async move {
            let piece = vec![1; 1 << 16];
            for _ in 0..ALL / piece.len() {
                if transport.write_all(&piece).await.is_err() {
                    return;
                }
                let _ = taken.send(piece.len());
            }
        }
    })
    .await;
    let proxy = folder.start(&format!("to = \"{source}\""));
    let mut stream = connect(&proxy, "a.example", client()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    let mut written = 0;
    while let Ok(bytes) = taking.try_recv() {
        written += bytes;
    }
    assert!(written < ALL / 2, "{written} bytes are somewhere on the way");
    let mut received = vec![0; 1 << 16];
    let mut count = 0;
    while count < ALL {
        count += stream.read(&mut received).await.unwrap();
    }
    assert_eq!(count, ALL);
}

/// Coalescing of records does not delay data for long, and does not retain data.
#[tokio::test]
async fn coalesced_reads_are_delivered_promptly() {
    let folder = Folder::new(&["a.example"]);
    let source = backend(|mut transport| async move {
        let mut wanted = [0];
        while transport.read_exact(&mut wanted).await.is_ok() {
            for piece in 0..wanted[0] {
                transport.write_all(&[piece; 100]).await.unwrap();
                tokio::task::yield_now().await;
            }
        }
    })
    .await;
    let proxy = folder.start(&format!("to = \"{source}\""));
    let ask = async |stream: &mut TlsStream<TcpStream>, pieces: u8| {
        stream.write_all(&[pieces]).await.unwrap();
        let mut all = vec![0; usize::from(pieces) * 100];
        stream.read_exact(&mut all).await.unwrap();
        assert!(all.chunks(100).zip(0..pieces).all(|(piece, number)| piece == [number; 100]));
    };
    let one = connect(&proxy, "a.example", client());
    let other = connect(&proxy, "a.example", client());
    let (mut one, mut other) = (one.await.unwrap(), other.await.unwrap());
    let all = async {
        for pieces in [1, 2, 3, 200, 255, 1, 200] {
            tokio::join!(ask(&mut one, pieces), ask(&mut other, 1));
        }
    };
    tokio::time::timeout(LIMIT, all).await.unwrap();
}

#[tokio::test]
async fn parked_connections_resume() {
    let folder = Folder::new(&["a.example"]);
    let more = format!("to = \"{}\"\n[timeouts]\npark = 0.1", echo().await);
    let proxy = folder.start(&more);
    for version in VERSIONS {
        let mut stream = connect(&proxy, "a.example", client().versions(&[version])).await.unwrap();
        for _ in 0..3 {
            assert_eq!(echoed(&mut stream, b"hello").await, b"hello");
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    }
}

#[tokio::test]
async fn http_backend_is_connected_at_the_first_byte() {
    let folder = Folder::new(&["a.example"]);
    let (came, mut coming) = mpsc::unbounded_channel();
    let to = backend(move |mut transport| {
        let _ = came.send(());
        async move {
            let mut request = [0; 7];
            transport.read_exact(&mut request).await.unwrap();
            transport.write_all(&request).await.unwrap();
        }
    })
    .await;
    let proxy = folder.start(&format!("to = \"{to}\"\nalpn = [\"h2\", \"http/1.1\"]"));
    let mut stream = connect(&proxy, "a.example", client().alpn(&["http/1.1"])).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(coming.try_recv().is_err());
    assert_eq!(echoed(&mut stream, b"request").await, b"request");
    assert!(coming.try_recv().is_ok());
    // Without ALPN the protocol is unknown, and the server may send first.
    let _stream = connect(&proxy, "a.example", client()).await.unwrap();
    coming.recv().await.unwrap();
}

#[tokio::test]
async fn unix_socket_backend_can_send_first() {
    let folder = Folder::new(&["a.example"]);
    let path = folder.path("backend");
    let listener = tokio::net::UnixListener::bind(&path).unwrap();
    tokio::spawn(async move {
        let (mut transport, _) = listener.accept().await.unwrap();
        transport.write_all(b"welcome").await.unwrap();
    });
    let proxy = folder.start(&format!("to = \"unix:{}\"", path.display()));
    let mut stream = connect(&proxy, "a.example", client()).await.unwrap();
    let mut greeting = Vec::new();
    stream.read_to_end(&mut greeting).await.unwrap();
    assert_eq!(greeting, b"welcome");
}

#[tokio::test]
async fn unreachable_backend_is_skipped() {
    let folder = Folder::new(&["a.example"]);
    let (one, two) = (greeting_echo(b"1").await, greeting_echo(b"2").await);
    let proxy =
        folder.start(&format!("to = [\"{one}\", \"{}\", \"{two}\"]", unused_address().await));
    let mut served = [0; 2];
    for _ in 0..12 {
        let mut stream = connect(&proxy, "a.example", client()).await.unwrap();
        match exchange(&mut stream, b"").await.unwrap().as_slice() {
            b"1" => served[0] += 1,
            b"2" => served[1] += 1,
            other => panic!("{other:?}"),
        }
    }
    assert!(served[0] >= 4 && served[1] >= 4, "{served:?}");
    let failed = metric(&proxy, "tercel_backend_failures_total{reason=\"refused\"}");
    assert!((1..=3).contains(&failed), "{failed} tries of a backend that is known to be down");
}
