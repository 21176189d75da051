//! A store over TLS whose certificate authority, or whose client's certificate, is replaced while
//! nodes are connected to it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rcgen::{CertificateParams, DnType, Issuer, KeyPair};
use tercel::pki::Roots;
use tercel::pki_types::{CertificateDer, PrivateKeyDer};
use tercel::server::ClientAuth;
use tercel::{Credential, ServerConfig};
use tercel_tokio::Acceptor;
use tokio::io::{copy, split};
use tokio::net::{TcpListener, TcpStream};

use super::fake_store::FakeStore;
use super::nodes::{Folder, LIMIT, PATIENCE, wait_until};
use crate::error::FleetError;
use crate::fleet::Fleet;
use crate::settings::{Settings, StoreSettings};
use crate::store::client::StoreTls;

/// A certificate authority.
struct Authority {
    root: rcgen::Certificate,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "authority");
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        Self { root: params.self_signed(&key).unwrap(), issuer: Issuer::new(params, key) }
    }

    fn leaf(&self) -> (rcgen::Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        (leaf.signed_by(&key, &self.issuer).unwrap(), key)
    }

    /// A server with a certificate of this authority, which requests certificates of it.
    fn acceptor(&self) -> Acceptor {
        let (leaf, key) = self.leaf();
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        let credential = Credential::new(vec![leaf.der().clone()], &key).unwrap();
        let mut clients = Roots::new();
        clients.add_der(self.root.der()).unwrap();
        let config = ServerConfig::builder().credential(credential);
        Acceptor::new(config.client_auth(ClientAuth::Optional, clients).build().unwrap())
    }

    /// Writes the files of a client, and returns its certificate.
    fn write_client(&self, folder: &Folder) -> CertificateDer<'static> {
        let (leaf, key) = self.leaf();
        folder.write("client.crt", leaf.pem().as_bytes());
        folder.write("client.key", key.serialize_pem().as_bytes());
        leaf.der().clone()
    }

    fn write_roots(&self, folder: &Folder) -> PathBuf {
        folder.write("roots.pem", self.root.pem().as_bytes())
    }
}

/// A store over TLS: a relay to a store without TLS.
#[derive(Clone)]
struct TlsStore {
    acceptor: Arc<Mutex<Acceptor>>,
    /// The certificate of the client that connected last.
    client: Arc<Mutex<Option<CertificateDer<'static>>>>,
    open: Arc<AtomicUsize>,
}

impl TlsStore {
    async fn start(acceptor: Acceptor, fake: &FakeStore) -> (Self, String) {
        let store = Self {
            acceptor: Arc::new(Mutex::new(acceptor)),
            client: Arc::default(),
            open: Arc::default(),
        };
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("rediss://{}", listener.local_addr().unwrap());
        let (serving, to) = (store.clone(), fake.address);
        tokio::spawn(async move {
            loop {
                let (socket, _) = listener.accept().await.unwrap();
                let serving = serving.clone();
                tokio::spawn(async move {
                    let acceptor = serving.acceptor.lock().unwrap().clone();
                    let Ok(stream) = acceptor.accept(socket).await else { return };
                    *serving.client.lock().unwrap() = stream.info().peer_chain().first().cloned();
                    serving.open.fetch_add(1, Ordering::SeqCst);
                    let (mut read, mut write) = split(stream);
                    let (mut from, mut to) = split(TcpStream::connect(to).await.unwrap());
                    tokio::select! {
                        _ = copy(&mut read, &mut to) => {}
                        _ = copy(&mut from, &mut write) => {}
                    }
                    serving.open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        (store, url)
    }

    fn client(&self) -> Option<CertificateDer<'static>> {
        self.client.lock().unwrap().clone()
    }

    fn open(&self) -> usize {
        self.open.load(Ordering::SeqCst)
    }
}

#[tokio::test]
async fn replaced_files_are_used_and_end_connections_under_the_old_ones() {
    let (fake, folder) = (FakeStore::start(), Folder::new());
    let (old, new) = (Authority::new(), Authority::new());
    let (front, url) = TlsStore::start(old.acceptor(), &fake).await;
    let mut settings = StoreSettings::new(url, folder.write("secret", &[7; 32]));
    settings.time_limit = LIMIT;
    settings.connections = 1;
    settings.roots = Some(old.write_roots(&folder));
    let first = old.write_client(&folder);
    settings.certificate =
        Some((folder.path().join("client.crt"), folder.path().join("client.key")));
    let node = Fleet::connect(&Settings {
        sessions: true,
        store: Some(settings.clone()),
        ..Settings::default()
    });
    let node = node.unwrap();
    assert!(node.reached(PATIENCE).await);
    assert_eq!((front.client(), front.open()), (Some(first), 1));
    let read = || StoreTls::read(&settings);
    let connected = async |count| {
        wait_until("connected again", || node.counts().connected == count).await;
        wait_until("the old connection is closed", || front.open() == 1).await;
        assert!(node.state().store);
    };
    // Another certificate of the client.
    let second = old.write_client(&folder);
    node.use_store_tls(read().unwrap());
    connected(2).await;
    assert_eq!(front.client(), Some(second));
    // Another authority of the store. The same files again, whose certificates are the same in
    // another file, change nothing.
    *front.acceptor.lock().unwrap() = new.acceptor();
    let second = new.write_client(&folder);
    new.write_roots(&folder);
    node.use_store_tls(read().unwrap());
    connected(3).await;
    assert_eq!(front.client(), Some(second));
    let with_comment = format!("# the same\n{}", new.root.pem());
    folder.write("roots.pem", with_comment.as_bytes());
    node.use_store_tls(read().unwrap());
    let asked = fake.requests();
    wait_until("the store is checked", || fake.requests() > asked + 2).await;
    assert_eq!((node.counts().connected, front.open()), (3, 1));
    // The authority of the store is no longer trusted: an open connection is no exception.
    old.write_roots(&folder);
    node.use_store_tls(read().unwrap());
    wait_until("it is no longer used", || !node.state().store && front.open() == 0).await;
    new.write_roots(&folder);
    node.use_store_tls(read().unwrap());
    connected(4).await;
    assert_eq!(node.counts().failures, 0, "no request failed");
    // Files that cannot be read change nothing.
    std::fs::remove_file(folder.path().join("client.key")).unwrap();
    assert!(
        matches!(read().unwrap_err(), FleetError::File(path, _) if path.ends_with("client.key"))
    );
    folder.write("roots.pem", b"-----BEGIN CERTIFICATE-----");
    assert!(matches!(read().unwrap_err(), FleetError::Content(..)));
    assert!(node.state().store);
}
