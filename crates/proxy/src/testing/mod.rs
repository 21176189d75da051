//! Test support: temporary folders, child processes, certificates; and tests of a whole terminator
//! that need a short startup window of the replay guard.

// These tests wait for the startup window, which is short only in test builds (CONTRIBUTING.md,
// "Test seams").
#[cfg(debug_assertions)]
mod early_data;
#[cfg(debug_assertions)]
mod shared_store;
mod watchdog;
// The integration tests use more of this module than the unit tests.
#[allow(dead_code)]
#[path = "../../tests/terminator/support.rs"]
pub(crate) mod terminator;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rcgen::{CertificateParams, Issuer, KeyPair};
use tercel::pki::Roots;
use tercel::pki_types::PrivateKeyDer;
use tercel::{ClientConfig, Credential, ServerConfig};
use tercel_tokio::{Acceptor, Connector, TlsStream};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream};

/// A temporary folder, removed on drop.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("tercel-proxy-test-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const CHILD: &str = "TERCEL_PROXY_TEST_CHILD";

/// Whether this process was started by [`run_in_child`].
pub(crate) fn in_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// Runs the test with this full name in its own process, because it changes state of the process.
pub(crate) fn run_in_child(test: &str, prepare: impl FnOnce(&mut Command)) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(CHILD, "1");
    prepare(&mut command);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("1 passed"), "{test} is not the name of a test: {text}");
}

/// The configurations of a server, and of a client that trusts it and resumes sessions.
pub(crate) fn configs() -> (Arc<ServerConfig>, Arc<ClientConfig>) {
    let mut params = CertificateParams::default();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority = KeyPair::generate().unwrap();
    let mut roots = Roots::new();
    roots.add_der(params.self_signed(&authority).unwrap().der()).unwrap();
    let key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new(["server.test".to_owned()]).unwrap();
    let leaf = leaf.signed_by(&key, &Issuer::new(params, authority)).unwrap();
    let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
    let credential = Credential::new(vec![leaf.der().clone()], &key).unwrap();
    let server = ServerConfig::builder().credential(credential).build().unwrap();
    (server, ClientConfig::builder().roots(roots).build().unwrap())
}

/// The server side and the client side of a connection. The client has not read any ticket.
pub(crate) async fn pair(
    server: &Arc<ServerConfig>,
    client: &Arc<ClientConfig>,
) -> (TlsStream<DuplexStream>, TlsStream<DuplexStream>) {
    pair_over(tokio::io::duplex(1 << 16), server, client).await
}

/// As [`pair`], over these transports.
pub(crate) async fn pair_over<T: AsyncRead + AsyncWrite + Unpin>(
    (near, far): (T, T),
    server: &Arc<ServerConfig>,
    client: &Arc<ClientConfig>,
) -> (TlsStream<T>, TlsStream<T>) {
    let (acceptor, connector) =
        (Acceptor::new(Arc::clone(server)), Connector::new(Arc::clone(client)));
    let name = "server.test".try_into().unwrap();
    let (server, client) = tokio::join!(acceptor.accept(near), connector.connect(name, far));
    (server.unwrap(), client.unwrap())
}

/// The server side of a connection over which the client has received a ticket.
pub(crate) async fn connected(
    server: &Arc<ServerConfig>,
    client: &Arc<ClientConfig>,
) -> TlsStream<DuplexStream> {
    let (mut server, mut client) = pair(server, client).await;
    server.write_all(b"x").await.unwrap();
    client.read_exact(&mut [0]).await.unwrap();
    server
}
