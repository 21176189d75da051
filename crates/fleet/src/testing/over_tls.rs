//! TLS clients that connect to one node and then to another.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use rcgen::{CertificateParams, Issuer, KeyPair};
use tercel::pki::Roots;
use tercel::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use tercel::wire::ProtocolVersion;
use tercel::{
    ClientConfig, Credential, EarlyData, ServerConfig, ServerName,
    session::{ClientMemoryStore, ClientSessionKey, ClientSessionStore},
};
use tercel_tokio::{Acceptor, Answers, Connector};
use tokio::io::{
    AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf, duplex,
};
use tokio::time::Instant;

use super::fake_store::FakeStore;
use super::nodes::{Folder, LIMIT, PATIENCE, wait_until};
use crate::fleet::Fleet;
use crate::settings::{Settings, StoreSettings, TicketKeys};

pub(super) const VERSIONS: [ProtocolVersion; 2] =
    [ProtocolVersion::TLS1_2, ProtocolVersion::TLS1_3];

/// A blind time that is short enough for tests to wait for.
pub(super) const BLIND: Duration = Duration::from_secs(2);

/// Whether the nodes share ticket keys or a session store.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Shares {
    Tickets,
    Sessions,
}

pub(super) fn settings(url: &str, folder: &Folder, shares: Shares) -> Settings {
    let mut store = StoreSettings::new(url, folder.write("secret", &[b'x'; 32]));
    store.time_limit = LIMIT;
    let from_store = shares == Shares::Tickets;
    Settings {
        ticket_keys: if from_store { TicketKeys::Store } else { TicketKeys::Own },
        sessions: !from_store,
        early_data: 1000,
        store: Some(store),
        ..Settings::default()
    }
}

/// A node with an acceptor.
pub(super) struct TlsNode {
    pub(super) fleet: Fleet,
    acceptor: Acceptor,
    has_ticket_keys: bool,
}

impl TlsNode {
    pub(super) async fn start(settings: &Settings) -> Self {
        let fleet = Fleet::with_blind_time(settings, BLIND).unwrap();
        assert!(fleet.reached(PATIENCE).await);
        let key = PrivateKeyDer::Pkcs8(IDENTITY.key.clone().into());
        let credential = Credential::new(vec![IDENTITY.leaf.clone()], &key).unwrap();
        let config = fleet.apply(ServerConfig::builder().credential(credential)).build().unwrap();
        Self {
            acceptor: Acceptor::new(config).answers(fleet.answers(Answers::new())),
            fleet,
            has_ticket_keys: matches!(settings.ticket_keys, TicketKeys::Store),
        }
    }

    /// Connects a client. Returns whether it resumed, and the outcome of its early data.
    pub(super) async fn connect(&self, client: &Connector, early: &[u8]) -> (bool, EarlyData) {
        Box::pin(self.connect_recorded(client, early)).await.0
    }

    /// Resumes a session of a client, and then corrupts one of the client's records in transit.
    async fn resume_and_abort(&self, client: &Connector) {
        let (near, far) = duplex(1 << 16);
        let corrupts = Arc::new(AtomicBool::new(false));
        let far = RecordingTransport {
            inner: far,
            seen: Arc::default(),
            corrupts: Arc::clone(&corrupts),
        };
        let name = ServerName::try_from("server.example").unwrap();
        let connect = Box::pin(client.connect(name, near));
        let both = tokio::join!(connect, Box::pin(self.acceptor.accept(far)));
        let (mut near, mut far) = (both.0.unwrap(), both.1.unwrap());
        assert!(far.info().resumed);
        corrupts.store(true, Ordering::SeqCst);
        near.write_all(b"x").await.unwrap();
        near.flush().await.unwrap();
        assert!(far.read(&mut [0]).await.is_err());
    }

    /// Connects a client, and records the bytes that it sends.
    async fn connect_recorded(
        &self,
        client: &Connector,
        early: &[u8],
    ) -> ((bool, EarlyData), Vec<u8>) {
        let (near, far) = duplex(1 << 16);
        let sent = Arc::new(Mutex::new(Vec::new()));
        let far =
            RecordingTransport { inner: far, seen: Arc::clone(&sent), corrupts: Arc::default() };
        let name = ServerName::try_from("server.example").unwrap();
        let connect = Box::pin(client.connect_early(name, near, early));
        let both = tokio::join!(connect, Box::pin(self.acceptor.accept(far)));
        let (mut near, mut far) = (both.0.unwrap().stream, both.1.unwrap());
        // The client reads its tickets together with the first data after the handshake.
        far.write_all(b"x").await.unwrap();
        far.flush().await.unwrap();
        near.read_exact(&mut [0]).await.unwrap();
        let info = far.info();
        let outcome = (info.resumed, info.early_data);
        let sent = sent.lock().unwrap().clone();
        (outcome, sent)
    }

    /// Sends recorded bytes, and waits until the node has answered.
    pub(super) async fn replay(&self, bytes: &[u8]) {
        let (mut near, far) = duplex(1 << 16);
        near.write_all(bytes).await.unwrap();
        let answered = async {
            let mut start = [0; 16];
            near.read_exact(&mut start).await.unwrap();
        };
        tokio::select! {
            _ = Box::pin(self.acceptor.accept(far)) => {}
            () = answered => {}
        }
    }

    /// Waits until new tickets are sealed and early data is admitted.
    pub(super) async fn ready(&self) {
        wait_until("early data", || self.fleet.state().early_data).await;
        self.ready_to_resume().await;
    }

    /// Waits until new tickets are sealed by a key of the fleet, if this node has such keys.
    pub(super) async fn ready_to_resume(&self) {
        // The first key of a fleet seals only after all nodes have read it.
        wait_until("tickets", || !self.has_ticket_keys || self.fleet.ticket_key_since().is_some())
            .await;
    }

    /// Checks that early data is rejected for the blind time after `lost`, a time before the store
    /// was available again.
    pub(super) async fn rejects_early_data_since(&self, lost: Instant, client: &Connector) {
        let (resumed, early) = self.connect(client, b"early").await;
        assert!(resumed);
        let is_over = lost.elapsed() >= BLIND;
        assert!(early == EarlyData::Rejected || is_over, "{early:?} after {:?}", lost.elapsed());
    }
}

pub(super) fn client(version: ProtocolVersion) -> Connector {
    let mut roots = Roots::new();
    roots.add_der(&IDENTITY.root).unwrap();
    let config = ClientConfig::builder()
        .roots(roots)
        .versions(&[version])
        .session_store(Arc::new(ClientMemoryStore::default()))
        .early_data(true);
    Connector::new(config.build().unwrap())
}

/// A client that keeps the last session that it received, even after its use or an alert.
pub(super) fn client_that_keeps_its_session(version: ProtocolVersion) -> Connector {
    #[derive(Default)]
    struct SingleSessionStore(Mutex<Option<Vec<u8>>>);
    impl ClientSessionStore for SingleSessionStore {
        fn put(&self, _: &ClientSessionKey, session: Vec<u8>, _: UnixTime) {
            *self.0.lock().unwrap() = Some(session);
        }

        fn take(&self, _: &ClientSessionKey, _: UnixTime) -> Option<Vec<u8>> {
            self.0.lock().unwrap().clone()
        }
    }
    let mut roots = Roots::new();
    roots.add_der(&IDENTITY.root).unwrap();
    let config = ClientConfig::builder().roots(roots).versions(&[version]).early_data(true);
    Connector::new(config.session_store(Arc::new(SingleSessionStore::default())).build().unwrap())
}

/// Clients of both versions connect to one node after the other, twice.
pub(super) async fn clients_resume_everywhere(nodes: &[&TlsNode]) {
    for version in VERSIONS {
        let client = client(version);
        assert!(!nodes[0].connect(&client, b"").await.0);
        for round in 0..2 {
            for node in nodes.iter().rev() {
                assert!(node.connect(&client, b"").await.0, "round {round} in {version:?}");
            }
        }
    }
}

/// Early data is accepted by one node, and rejected by both nodes when the same bytes are replayed.
pub(super) async fn early_data_is_accepted_once(a: &TlsNode, b: &TlsNode) {
    let client = client(ProtocolVersion::TLS1_3);
    a.connect(&client, b"").await;
    let before = [a, b].map(|node| node.fleet.counts());
    let ((resumed, early), sent) = Box::pin(b.connect_recorded(&client, b"early")).await;
    assert!(resumed);
    assert_eq!(early, EarlyData::Accepted);
    for node in [a, b] {
        node.replay(&sent).await;
    }
    let after = [a, b].map(|node| node.fleet.counts());
    let admitted = after.iter().map(|counts| counts.early_data_admitted).sum::<u64>();
    let was = before.iter().map(|counts| counts.early_data_admitted).sum::<u64>();
    assert_eq!(admitted, was + 1);
    // If sessions are in the store, a replay does not find its session.
    let replayed =
        after.iter().map(|counts| counts.early_data_replayed + counts.misses).sum::<u64>();
    let was = before.iter().map(|counts| counts.early_data_replayed + counts.misses).sum::<u64>();
    assert_eq!(replayed, was + 2);
}

async fn share(shares: Shares) {
    let (fake, folder) = (FakeStore::start(), Folder::new());
    let settings = settings(&fake.url(), &folder, shares);
    let (a, b) = (TlsNode::start(&settings).await, TlsNode::start(&settings).await);
    // Nodes resume sessions even during their blind time.
    a.ready().await;
    b.ready().await;
    clients_resume_everywhere(&[&a, &b]).await;
    early_data_is_accepted_once(&a, &b).await;
}

#[tokio::test]
async fn tickets_of_one_node_resume_on_another() {
    share(Shares::Tickets).await;
}

#[tokio::test]
async fn sessions_of_one_node_resume_on_another() {
    share(Shares::Sessions).await;
}

/// Resumption on another node proves that the session is still in the store. RFC 5246 7.2.2
pub(super) async fn a_fatal_alert_removes_the_session(nodes: [&TlsNode; 2]) {
    // The client must keep the session: a client that received the alert would discard it.
    let client = client_that_keeps_its_session(ProtocolVersion::TLS1_2);
    let store = || nodes[1].fleet.counts().removed;
    assert!(!nodes[0].connect(&client, b"").await.0);
    assert!(nodes[1].connect(&client, b"").await.0);
    let before = store();
    nodes[1].resume_and_abort(&client).await;
    wait_until("removed", || store() == before + 1).await;
    assert!(!nodes[0].connect(&client, b"").await.0);
    assert!(nodes[1].connect(&client, b"").await.0);
}

#[tokio::test]
async fn a_tls12_session_is_removed_after_a_fatal_alert() {
    let (fake, folder) = (FakeStore::start(), Folder::new());
    let mut settings = settings(&fake.url(), &folder, Shares::Sessions);
    settings.early_data = 0;
    let (a, b) = (TlsNode::start(&settings).await, TlsNode::start(&settings).await);
    a_fatal_alert_removes_the_session([&a, &b]).await;
}

#[tokio::test]
async fn without_a_store_handshakes_are_full_and_early_data_is_rejected() {
    let lose_store = async |shares| {
        let (fake, folder) = (FakeStore::start(), Folder::new());
        let node = TlsNode::start(&settings(&fake.url(), &folder, shares)).await;
        node.ready().await;
        let client = client(ProtocolVersion::TLS1_3);
        node.connect(&client, b"").await;
        fake.set_unresponsive(true);
        wait_until("disconnected", || !node.fleet.state().store).await;
        let (resumed, early) = node.connect(&client, b"early").await;
        assert_eq!(resumed, shares == Shares::Tickets);
        assert_eq!(early, EarlyData::Rejected);
        // The client resumes again, with the tickets of the last handshake.
        assert_eq!(node.connect(&client, b"").await.0, shares == Shares::Tickets);
        // After this time without an answer, the store may be a different store when it answers
        // again.
        tokio::time::sleep(Duration::from_millis(2500)).await;
        let lost = Instant::now();
        fake.set_unresponsive(false);
        wait_until("connected", || node.fleet.state().store).await;
        node.connect(&client, b"").await;
        node.rejects_early_data_since(lost, &client).await;
        wait_until("early data", || node.fleet.state().early_data).await;
        assert_eq!(node.connect(&client, b"early").await, (true, EarlyData::Accepted));
    };
    tokio::join!(Box::pin(lose_store(Shares::Tickets)), Box::pin(lose_store(Shares::Sessions)));
}

#[tokio::test]
async fn a_configuration_keeps_its_node_running() {
    let (fake, folder) = (FakeStore::start(), Folder::new());
    let mut settings = settings(&fake.url(), &folder, Shares::Tickets);
    settings.early_data = 0;
    let node = TlsNode::start(&settings).await;
    drop(node.fleet);
    let asked = fake.requests();
    wait_until("requests continue", || fake.requests() > asked + 1).await;
    drop(node.acceptor);
}

/// A transport that records the bytes read from it, and corrupts them on demand.
struct RecordingTransport {
    inner: DuplexStream,
    seen: Arc<Mutex<Vec<u8>>>,
    corrupts: Arc<AtomicBool>,
}

impl AsyncRead for RecordingTransport {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(context, buffer);
        self.seen.lock().unwrap().extend_from_slice(&buffer.filled()[before..]);
        if self.corrupts.load(Ordering::SeqCst) {
            buffer.filled_mut().last_mut().into_iter().for_each(|last| *last ^= 1);
        }
        read
    }
}

impl AsyncWrite for RecordingTransport {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

pub(super) struct Identity {
    pub(super) root: CertificateDer<'static>,
    pub(super) leaf: CertificateDer<'static>,
    pub(super) key: Vec<u8>,
}

pub(super) static IDENTITY: LazyLock<Identity> = LazyLock::new(|| {
    let mut params = CertificateParams::default();
    // Other libraries recognise a self-signed certificate by its names.
    params.distinguished_name.push(rcgen::DnType::CommonName, "authority");
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority = KeyPair::generate().unwrap();
    let root = params.self_signed(&authority).unwrap();
    let issuer = Issuer::new(params, authority);
    let key = KeyPair::generate().unwrap();
    let names = vec!["server.example".to_owned(), "localhost".to_owned()];
    let leaf = CertificateParams::new(names).unwrap().signed_by(&key, &issuer).unwrap();
    Identity { root: root.der().clone(), leaf: leaf.der().clone(), key: key.serialize_der() }
});
