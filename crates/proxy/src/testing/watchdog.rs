//! Detection of blocked worker threads.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use tercel::wire::ClientHello;
use tercel::{Policy, ServerConfig, server::ChooseConfig};
use tercel_tokio::{Acceptor, Connector};
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::terminator::{Folder, client, config, unused_address, wait_until};
use crate::active_config::ActiveConfig;
use crate::listener::socket;
use crate::service::watchdog::Heartbeats;
use crate::service::worker_thread::{Control, Phase, WorkerSetup, run_worker};
use crate::worker::connection_limits::ConnectionCounts;

/// A selector that blocks until it receives a message, and then refuses the handshake.
struct BlockingSelector(Mutex<mpsc::Receiver<()>>);

impl ChooseConfig for BlockingSelector {
    fn choose_config(&self, _: &ClientHello<'_>) -> Option<Arc<ServerConfig>> {
        let _ = self.0.lock().unwrap().recv();
        None
    }
}

#[tokio::test]
async fn blocked_worker_misses_its_heartbeat() {
    let folder = Folder::new(&["a.example"]);
    let text = format!("workers = 2\n{}to = \"{}\"\n", folder.listener(), unused_address().await);
    let mut active = ActiveConfig::new(&config(&text), None).unwrap();
    let (unblock, blocked) = mpsc::channel();
    let blocked = Policy::Here(Arc::new(BlockingSelector(Mutex::new(blocked))) as _);
    let server = ServerConfig::builder().choose_config(blocked).without_tickets().build().unwrap();
    active.listeners[0].acceptor = Acceptor::new(server);
    let (control, _) = watch::channel(Control { active: Arc::new(active), phase: Phase::Serving });

    let mut heartbeats = Heartbeats::new();
    let (mut addresses, mut threads): (Vec<SocketAddr>, Vec<_>) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        let listener = socket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        addresses.push(listener.socket.local_addr().unwrap());
        let given = WorkerSetup {
            listeners: vec![listener],
            control: control.subscribe(),
            shard: Arc::default(),
            counts: ConnectionCounts::new(1),
            heartbeat: heartbeats.register(),
        };
        threads.push(thread::spawn(|| run_worker(given)));
    }
    heartbeats.ping();
    wait_until("both answer", || heartbeats.ping().is_empty()).await;

    let transport = TcpStream::connect(addresses[0]).await.unwrap();
    let connector = Connector::new(client().build().unwrap());
    let name = "a.example".try_into().unwrap();
    let handshake = tokio::spawn(async move { connector.connect(name, transport).await.map(drop) });
    wait_until("the first is blocked", || heartbeats.ping() == [0]).await;
    unblock.send(()).unwrap();
    wait_until("both answer again", || heartbeats.ping().is_empty()).await;
    handshake.await.unwrap().unwrap_err();

    // A worker that has exited does not count as unresponsive.
    control.send_modify(|control| control.phase = Phase::Stopped);
    threads.into_iter().for_each(|thread| thread.join().unwrap().unwrap());
    heartbeats.ping();
    assert!(heartbeats.ping().is_empty());
}
