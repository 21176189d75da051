//! A listener without free file descriptors, or with silent clients.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tercel_tokio::{AcceptFailure, Acceptor, Connector, Listen, TlsListener};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::support::{client, name, server};

/// A source of transports whose behaviour the test controls.
#[derive(Clone, Default)]
struct FakeListener(Arc<Mutex<FakeListenerState>>);

#[derive(Default)]
struct FakeListenerState {
    next: VecDeque<DuplexStream>,
    /// If set, each attempt fails with this error.
    failing: Option<io::ErrorKind>,
    attempts: usize,
    accepted: usize,
    waker: Option<Waker>,
}

impl FakeListener {
    fn arrive(&self, transport: DuplexStream) {
        let mut script = self.0.lock().unwrap();
        script.next.push_back(transport);
        if let Some(waker) = script.waker.take() {
            waker.wake();
        }
    }

    fn fail(&self, how: Option<io::ErrorKind>) {
        self.0.lock().unwrap().failing = how;
    }
}

impl Listen for FakeListener {
    type Transport = DuplexStream;
    type Address = usize;

    fn poll_accept(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<(DuplexStream, usize)>> {
        let mut script = self.0.lock().unwrap();
        script.attempts += 1;
        assert!(script.attempts < 10_000, "it spins");
        if let Some(kind) = script.failing {
            return Poll::Ready(Err(kind.into()));
        }
        match script.next.pop_front() {
            Some(transport) => {
                script.accepted += 1;
                Poll::Ready(Ok((transport, script.accepted)))
            }
            None => {
                script.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

fn acceptor() -> Acceptor {
    Acceptor::new(server().build().unwrap())
}

fn good_client(source: &FakeListener) -> tokio::task::JoinHandle<()> {
    let (near, far) = duplex(1 << 16);
    source.arrive(far);
    tokio::spawn(async move {
        let connector = Connector::new(client().build().unwrap()).time_limit(None);
        let mut stream = connector.connect(name(), near).await.unwrap();
        stream.write_all(b"good").await.unwrap();
        stream.shutdown().await.unwrap();
    })
}

#[tokio::test(start_paused = true)]
async fn a_failing_source_is_polled_again_after_a_pause() {
    for (kind, most) in [(io::ErrorKind::OutOfMemory, 60), (io::ErrorKind::ConnectionAborted, 3000)]
    {
        let source = FakeListener::default();
        source.fail(Some(kind));
        let reported = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&reported);
        let mut listener =
            TlsListener::new(source.clone(), acceptor()).on_failure(move |failure| {
                assert!(matches!(failure, AcceptFailure::Accept { .. }), "{failure}");
                count.fetch_add(1, Ordering::Relaxed);
            });
        assert!(timeout(Duration::from_secs(10), listener.accept()).await.is_err());
        let attempts = source.0.lock().unwrap().attempts;
        assert!((10..most).contains(&attempts), "{kind}: {attempts} attempts in 10 seconds");
        assert_eq!(attempts, reported.load(Ordering::Relaxed));

        source.fail(None);
        let client = good_client(&source);
        let (mut stream, _) = timeout(Duration::from_secs(1), listener.accept()).await.unwrap();
        let mut said = Vec::new();
        stream.read_to_end(&mut said).await.unwrap();
        assert_eq!(said, b"good");
        client.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn handshakes_in_progress_are_limited_and_time_out() {
    const MOST: usize = 4;
    let source = FakeListener::default();
    let ended = Arc::new(AtomicUsize::new(0));
    let (count, script) = (Arc::clone(&ended), source.clone());
    let acceptor = acceptor().time_limit(Some(Duration::from_secs(1)));
    let mut listener = TlsListener::new(source.clone(), acceptor).max_handshakes(MOST).on_failure(
        move |failure| {
            assert!(matches!(failure, AcceptFailure::Handshake { .. }), "{failure}");
            let ended = count.fetch_add(1, Ordering::Relaxed);
            let open = script.0.lock().unwrap().accepted - ended;
            assert!(open <= MOST, "{open} handshakes at a time");
        },
    );
    let silent: Vec<_> = (0..3 * MOST)
        .map(|_| {
            let (near, far) = duplex(1 << 16);
            source.arrive(far);
            near
        })
        .collect();
    let client = good_client(&source);
    assert!(timeout(Duration::from_millis(500), listener.accept()).await.is_err());
    assert_eq!(source.0.lock().unwrap().accepted, MOST);
    let (mut stream, peer) = timeout(Duration::from_secs(10), listener.accept()).await.unwrap();
    assert_eq!((peer, ended.load(Ordering::Relaxed)), (3 * MOST + 1, 3 * MOST));
    let mut said = Vec::new();
    stream.read_to_end(&mut said).await.unwrap();
    assert_eq!(said, b"good");
    client.await.unwrap();
    drop(silent);
}

#[tokio::test]
async fn a_slow_client_holds_up_no_other() {
    let source = FakeListener::default();
    let (_silent, far) = duplex(1 << 16);
    source.arrive(far);
    let client = good_client(&source);
    let mut listener = TlsListener::new(source, acceptor());
    assert_eq!(listener.accept().await.1, 2);
    client.await.unwrap();
}

/// The test runs a process with few descriptors, over real sockets.
#[cfg(unix)]
#[tokio::test]
async fn without_file_descriptors_it_waits_until_some_are_free() {
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -n 40; exec \"$0\" \"$@\""]);
    shell.arg(std::env::current_exe().unwrap());
    shell.args(["--exact", "listener::serve_with_few_files", "--ignored", "--nocapture"]);
    let mut child = shell.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut line = |key: &str| {
        lines.find_map(|line| Some(line.split_once(key)?.1.to_owned())).expect("it has ended")
    };
    let address = line("listening on ");
    let mut idle = Vec::new();
    for _ in 0..100 {
        idle.push(TcpStream::connect(&address).await.unwrap());
    }
    // With pauses between them, the failures of a minute are fewer than a hundred.
    for _ in 0..4 {
        line("accept failed");
    }
    drop(idle);
    let transport = TcpStream::connect(&address).await.unwrap();
    let connector = Connector::new(client_of_anyone());
    connector.connect(name(), transport).await.unwrap();
    let failures: usize = line("failures: ").parse().unwrap();
    assert!((4..100).contains(&failures), "{failures} failures of accept");
    assert!(child.wait().unwrap().success());
}

/// The other process has its own certificate authority, so this client accepts every server.
fn client_of_anyone() -> Arc<tercel::ClientConfig> {
    let anyone = tercel::Policy::Here(Arc::new(tercel::certificates::AcceptAnyPeer) as _);
    tercel::ClientConfig::builder().verifier(anyone).build().unwrap()
}

#[tokio::test]
#[ignore = "run by `without_file_descriptors_it_waits_until_some_are_free`"]
async fn serve_with_few_files() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    println!("\nlistening on {}", listener.local_addr().unwrap());
    let failures = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&failures);
    let mut listener = TlsListener::new(listener, acceptor()).on_failure(move |failure| {
        if let AcceptFailure::Accept { .. } = failure {
            count.fetch_add(1, Ordering::Relaxed);
            println!("\naccept failed");
        }
    });
    drop(listener.accept().await);
    println!("\nfailures: {}", failures.load(Ordering::Relaxed));
}
