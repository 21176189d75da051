//! What connections cost a thread in memory, counted over everything that the thread does.

use std::future::Future;

use allocation_counter::AllocationInfo;
use rcgen::KeyPair;
use tercel::ClientConfig;
use tercel::pki::Roots;
use tercel_tokio::{Connector, TlsStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::*;
use crate::config::Config;
use crate::connection;
use crate::session::Session;
use crate::testing::Folder;

/// What a thread allocates that serves so many connections, one after the other and all of them kept,
/// with so many requests on the first.
async fn served(connections: usize, requests: usize) -> AllocationInfo {
    let folder = Folder::new();
    let key = KeyPair::generate().unwrap();
    let leaf = rcgen::CertificateParams::new(["a.example".to_owned()]).unwrap();
    let leaf = leaf.self_signed(&key).unwrap();
    std::fs::write(folder.path().join("a.crt"), leaf.pem()).unwrap();
    std::fs::write(folder.path().join("a.key"), key.serialize_pem()).unwrap();
    let backend = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let text = format!(
        "workers = 1\n[[listener]]\naddress = \"127.0.0.1:0\"\ncertificates = \"{}\"\nto = \"{}\"\n",
        folder.path().display(),
        backend.local_addr().unwrap()
    );
    tokio::spawn(async move {
        while let Ok((mut transport, _)) = backend.accept().await {
            tokio::spawn(async move {
                let (mut read, mut write) = transport.split();
                tokio::io::copy(&mut read, &mut write).await
            });
        }
    });

    let config = Config::parse("test.toml", &text).unwrap();
    let live = Arc::new(Live::new(&config, None).unwrap());
    let listener = listener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = listener.local_addr().unwrap();
    let (orders, receiver) = watch::channel(Orders { live, phase: Phase::Serving });
    let work_to_do = Work {
        listeners: vec![listener],
        orders: receiver,
        shard: Arc::default(),
        counts: Counts::new(1),
        beat: crate::pulse::Pulse::new().beat(),
    };
    let thread = std::thread::spawn(|| allocation_counter::measure(|| work(work_to_do).unwrap()));

    let mut roots = Roots::new();
    roots.add_der(leaf.der()).unwrap();
    let client = ClientConfig::builder().roots(roots).build().unwrap();
    let mut streams: Vec<TlsStream<TcpStream>> = Vec::new();
    for _ in 0..connections {
        let transport = TcpStream::connect(address).await.unwrap();
        let connecting = Connector::new(Arc::clone(&client));
        let name = "a.example".try_into().unwrap();
        streams.push(connecting.connect(name, transport).await.unwrap());
        let stream = streams.last_mut().unwrap();
        request(stream).await;
    }
    for _ in 0..requests {
        request(&mut streams[0]).await;
    }
    orders.send_modify(|orders| orders.phase = Phase::Stopped);
    let ended = tokio::task::spawn_blocking(|| thread.join().unwrap());
    tokio::time::timeout(Duration::from_secs(20), ended).await.unwrap().unwrap()
}

/// One kilobyte there and back.
async fn request(stream: &mut TlsStream<TcpStream>) {
    let mut piece = [7; 1000];
    stream.write_all(&piece).await.unwrap();
    let read = stream.read_exact(&mut piece);
    tokio::time::timeout(Duration::from_secs(20), read).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_request_is_relayed_without_an_allocation() {
    let (few, many) = (served(1, 100).await, served(1, 2100).await);
    let more = many.count_total.abs_diff(few.count_total);
    // A timer or a queue of the runtime's may have grown once, on either side.
    assert!(more < 20, "{more} allocations for 2000 requests");
}

#[tokio::test]
async fn an_idle_connection_takes_little() {
    let (few, many) = (served(4, 0).await, served(104, 0).await);
    let each = many.bytes_max.saturating_sub(few.bytes_max) / 100;
    let blocks = many.count_max.saturating_sub(few.count_max) / 100;
    assert!(each <= 3600, "{each} bytes each");
    assert!(blocks <= 12, "{blocks} blocks each");
}

#[test]
fn the_task_of_a_connection_is_small() {
    /// The future of a function.
    fn size<A, B, C, D, E, F, G, R: Future>(_: fn(A, B, C, D, E, F, G) -> R) -> usize {
        size_of::<R>()
    }
    assert!(size(connection::serve) <= 320, "{}", size(connection::serve));
    assert!(size_of::<Session>() <= 896, "{}", size_of::<Session>());
}

/// More than a task may take of a runtime before it is asked to yield.
#[tokio::test]
async fn the_whole_queue_is_accepted_before_a_drain_closes_it() {
    const CLIENTS: usize = 300;
    let config =
        "workers = 1\ndrain = 1\n[[listener]]\naddress = \"127.0.0.1:0\"\nto = \"127.0.0.1:1\"\n";
    let folder = Folder::new();
    let key = KeyPair::generate().unwrap();
    let leaf = rcgen::CertificateParams::new(["a.example".to_owned()]).unwrap();
    std::fs::write(folder.path().join("a.crt"), leaf.self_signed(&key).unwrap().pem()).unwrap();
    std::fs::write(folder.path().join("a.key"), key.serialize_pem()).unwrap();
    let config = format!("{config}certificates = \"{}\"\n", folder.path().display());
    let config = Config::parse("test.toml", &config).unwrap();
    let live = Arc::new(Live::new(&config, None).unwrap());
    let listener = listener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = listener.local_addr().unwrap();
    let clients: Vec<_> =
        (0..CLIENTS).map(|_| std::net::TcpStream::connect(address).unwrap()).collect();
    let until = Instant::now() + Duration::from_secs(1);
    let (_orders, receiver) = watch::channel(Orders { live, phase: Phase::Draining(until) });
    let metrics = crate::metrics::Metrics::new(1);
    let work_to_do = Work {
        listeners: vec![listener],
        orders: receiver,
        shard: metrics.shard(0),
        counts: Counts::new(1),
        beat: crate::pulse::Pulse::new().beat(),
    };
    tokio::task::spawn_blocking(|| work(work_to_do).unwrap()).await.unwrap();
    drop(clients);
    let rendered = metrics.render();
    assert!(rendered.contains("tercel_connections_accepted_total 300\n"), "{rendered}");
}
