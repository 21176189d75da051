//! Threads that are stuck, told from those that turn.
//!
//! Must not know: who asks for it. Next: [`crate::pulse`].

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use tercel::wire::ClientHello;
use tercel::{ChooseConfig, Policy, ServerConfig};
use tercel_tokio::{Acceptor, Connector};
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::terminator::{Folder, client, config, nobody, until};
use crate::limits::Counts;
use crate::listener;
use crate::live::Live;
use crate::pulse::Pulse;
use crate::worker::{Orders, Phase, Work, work};

/// Keeps whoever asks it until it is told to let go, and then refuses.
struct Held(Mutex<mpsc::Receiver<()>>);

impl ChooseConfig for Held {
    fn choose_config(&self, _: &ClientHello<'_>) -> Option<Arc<ServerConfig>> {
        let _ = self.0.lock().unwrap().recv();
        None
    }
}

#[tokio::test]
async fn a_thread_that_is_stuck_does_not_answer_and_others_do() {
    let folder = Folder::new(&["a.example"]);
    let text = format!("workers = 2\n{}to = \"{}\"\n", folder.listener(), nobody().await);
    let mut live = Live::new(&config(&text), None).unwrap();
    let (let_go, held) = mpsc::channel();
    let held = Policy::Here(Arc::new(Held(Mutex::new(held))) as _);
    let server = ServerConfig::builder().choose_config(held).without_tickets().build().unwrap();
    live.listeners[0].acceptor = Acceptor::new(server);
    let (orders, _) = watch::channel(Orders { live: Arc::new(live), phase: Phase::Serving });

    let mut pulse = Pulse::new();
    let (mut addresses, mut threads): (Vec<SocketAddr>, Vec<_>) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        let listener = listener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        addresses.push(listener.local_addr().unwrap());
        let given = Work {
            listeners: vec![listener],
            orders: orders.subscribe(),
            shard: Arc::default(),
            counts: Counts::new(1),
            beat: pulse.beat(),
        };
        threads.push(thread::spawn(|| work(given)));
    }
    pulse.ask();
    until("both answer", || pulse.ask().is_empty()).await;

    let transport = TcpStream::connect(addresses[0]).await.unwrap();
    let connector = Connector::new(client().build().unwrap());
    let name = "a.example".try_into().unwrap();
    let meets = tokio::spawn(async move { connector.connect(name, transport).await.map(drop) });
    until("the first is stuck", || pulse.ask() == [0]).await;
    let_go.send(()).unwrap();
    until("both answer again", || pulse.ask().is_empty()).await;
    meets.await.unwrap().unwrap_err();

    // Who has ended is not missed.
    orders.send_modify(|orders| orders.phase = Phase::Stopped);
    threads.into_iter().for_each(|thread| thread.join().unwrap().unwrap());
    pulse.ask();
    assert!(pulse.ask().is_empty());
}
