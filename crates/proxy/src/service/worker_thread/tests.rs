//! Memory use of connections, measured as everything that a worker thread allocates.

use std::future::Future;
use std::time::Duration;

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
use crate::listener::socket;
use crate::relay::proxied_connection::ProxiedConnection;
use crate::testing::Folder;

/// The limit of each wait. Only a test that fails waits so long.
const LIMIT: Duration = Duration::from_secs(60);

/// The allocations of a worker that serves this many concurrent connections, with this many
/// requests on the first one.
async fn measure_worker(connections: usize, requests: usize) -> AllocationInfo {
    let folder = Folder::new();
    let key = KeyPair::generate().unwrap();
    let leaf = rcgen::CertificateParams::new(["a.example".to_owned()]).unwrap();
    let leaf = leaf.self_signed(&key).unwrap();
    std::fs::write(folder.path().join("a.crt"), leaf.pem()).unwrap();
    std::fs::write(folder.path().join("a.key"), key.serialize_pem()).unwrap();
    let backend = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let text = format!(
        "workers = 1\n[[listener]]\naddress = \"127.0.0.1:0\"\n\
         certificates = \"{}\"\nto = \"{}\"\n",
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
    let active = Arc::new(ActiveConfig::new(&config, None).unwrap());
    let listener = socket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = listener.socket.local_addr().unwrap();
    let (control, receiver) = watch::channel(Control { active, phase: Phase::Serving });
    let setup = WorkerSetup {
        listeners: vec![listener],
        control: receiver,
        shard: Arc::default(),
        counts: ConnectionCounts::new(1),
        heartbeat: crate::service::watchdog::Heartbeats::new().register(),
    };
    let thread = std::thread::spawn(|| allocation_counter::measure(|| run_worker(setup).unwrap()));

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
    control.send_modify(|control| control.phase = Phase::Stopped);
    let ended = tokio::task::spawn_blocking(|| thread.join().unwrap());
    tokio::time::timeout(LIMIT, ended).await.unwrap().unwrap()
}

/// Sends and receives one kilobyte.
async fn request(stream: &mut TlsStream<TcpStream>) {
    let mut piece = [7; 1000];
    stream.write_all(&piece).await.unwrap();
    let read = stream.read_exact(&mut piece);
    tokio::time::timeout(LIMIT, read).await.unwrap().unwrap();
}

#[tokio::test]
async fn relaying_a_request_allocates_nothing() {
    let (few, many) = (measure_worker(1, 100).await, measure_worker(1, 2100).await);
    let more = many.count_total.abs_diff(few.count_total);
    // The two runs may differ because a timer wheel or a queue of the runtime grew.
    assert!(more < 20, "{more} allocations for 2000 requests");
}

#[tokio::test]
async fn idle_connection_memory_is_bounded() {
    let (few, many) = (measure_worker(4, 0).await, measure_worker(104, 0).await);
    let each = many.bytes_max.saturating_sub(few.bytes_max) / 100;
    let blocks = many.count_max.saturating_sub(few.count_max) / 100;
    assert!(each <= 3600, "{each} bytes each");
    assert!(blocks <= 12, "{blocks} blocks each");
}

#[test]
fn connection_task_is_small() {
    /// The size of a function's future.
    fn size<A, B, C, R: Future>(_: fn(A, B, C) -> R) -> usize {
        size_of::<R>()
    }
    assert!(size(connection::serve) <= 320, "{}", size(connection::serve));
    assert!(size_of::<ProxiedConnection>() <= 896, "{}", size_of::<ProxiedConnection>());
}

/// The queue has more connections than a task may accept before the runtime makes it yield.
#[tokio::test]
async fn drain_accepts_the_whole_queue_first() {
    const CLIENTS: usize = 300;
    let config = "workers = 1\n[[listener]]\naddress = \"127.0.0.1:0\"\nto = \"127.0.0.1:1\"\n";
    let folder = Folder::new();
    let key = KeyPair::generate().unwrap();
    let leaf = rcgen::CertificateParams::new(["a.example".to_owned()]).unwrap();
    std::fs::write(folder.path().join("a.crt"), leaf.self_signed(&key).unwrap().pem()).unwrap();
    std::fs::write(folder.path().join("a.key"), key.serialize_pem()).unwrap();
    let config = format!("{config}certificates = \"{}\"\n", folder.path().display());
    let config = Config::parse("test.toml", &config).unwrap();
    let active = Arc::new(ActiveConfig::new(&config, None).unwrap());
    let listener = socket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = listener.socket.local_addr().unwrap();
    let clients: Vec<_> =
        (0..CLIENTS).map(|_| std::net::TcpStream::connect(address).unwrap()).collect();
    // They wait in the queue, and end at once when they are served.
    drop(clients);
    let until = Instant::now() + LIMIT;
    let (_orders, receiver) = watch::channel(Control { active, phase: Phase::Draining(until) });
    let metrics = crate::observability::metrics::Metrics::new(1);
    let setup = WorkerSetup {
        listeners: vec![listener],
        control: receiver,
        shard: metrics.shard(0),
        counts: ConnectionCounts::new(1),
        heartbeat: crate::service::watchdog::Heartbeats::new().register(),
    };
    tokio::task::spawn_blocking(|| run_worker(setup).unwrap()).await.unwrap();
    let rendered = metrics.render();
    assert!(rendered.contains("tercel_connections_accepted_total 300\n"), "{rendered}");
}
