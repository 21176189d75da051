//! Test support: terminators, clients and backends.

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use socket2::{Domain, Socket, Type};
use tercel::client::ClientConfigBuilder;
use tercel::pki::Roots;
use tercel::pki_types::PrivateKeyDer;
use tercel::wire::ProtocolVersion;
use tercel::{ClientConfig, Credential, Handshake, Next, ReceiveBuffer, ServerConfig};
use tercel_proxy::{Config, Proxy};
use tercel_tokio::{Acceptor, Connector, TlsStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

pub(crate) const VERSIONS: [ProtocolVersion; 2] =
    [ProtocolVersion::TLS1_2, ProtocolVersion::TLS1_3];

/// The limit of each wait for something that has to happen. Only a test that fails waits so long,
/// on a machine under any load.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// A temporary folder with `certs/NAME.crt`, `certs/NAME.key` and `ca.pem`, removed on drop.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// Creates a certificate for each name.
    pub(crate) fn new(names: &[&str]) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("tercel-terminator-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(path.join("certs")).unwrap();
        std::fs::write(path.join("ca.pem"), &AUTHORITY.pem).unwrap();
        let folder = Self(path);
        names.iter().for_each(|name| folder.certify(name));
        folder
    }

    /// Writes a new certificate for this name.
    pub(crate) fn certify(&self, name: &str) {
        let (chain, key) = AUTHORITY.leaf(name);
        let file = name.replace('*', "_");
        std::fs::write(self.path(&format!("certs/{file}.crt")), chain.pem()).unwrap();
        std::fs::write(self.path(&format!("certs/{file}.key")), key.serialize_pem()).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// TOML of a listener that uses these certificates.
    pub(crate) fn listener(&self) -> String {
        let certs = self.path("certs");
        format!("[[listener]]\naddress = \"127.0.0.1:0\"\ncertificates = \"{}\"\n", certs.display())
    }

    /// Starts one worker with one listener, which has the additional settings `more`.
    pub(crate) fn start(&self, more: &str) -> Proxy {
        start(&format!("workers = 1\n{}{more}", self.listener()))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn config(text: &str) -> Config {
    Config::parse("test.toml", text).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn start(text: &str) -> Proxy {
    Proxy::start(config(text)).unwrap_or_else(|error| panic!("{error:#}"))
}

/// A path as a TOML string.
pub(crate) fn quoted(path: &Path) -> String {
    format!("\"{}\"", path.display())
}

struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

static AUTHORITY: LazyLock<Authority> = LazyLock::new(|| {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, "test authority");
    let pem = params.self_signed(&key).unwrap().pem();
    Authority { pem, issuer: Issuer::new(params, key) }
});

impl Authority {
    fn leaf(&self, name: &str) -> (rcgen::Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        (params.signed_by(&key, &self.issuer).unwrap(), key)
    }
}

/// A client configuration that trusts the test authority.
pub(crate) fn client() -> ClientConfigBuilder {
    let mut roots = Roots::new();
    roots.add_pem(AUTHORITY.pem.as_bytes()).unwrap();
    ClientConfig::builder().roots(roots)
}

/// A client certificate with this name.
pub(crate) fn identity(name: &str) -> Credential {
    let (chain, key) = AUTHORITY.leaf(name);
    let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
    Credential::new(vec![chain.der().clone()], &key).unwrap()
}

/// Connects to the terminator's first listener.
pub(crate) async fn connect(
    proxy: &Proxy,
    name: &'static str,
    client: ClientConfigBuilder,
) -> io::Result<TlsStream<TcpStream>> {
    connect_with(proxy, name, client.build().unwrap()).await
}

pub(crate) async fn connect_with(
    proxy: &Proxy,
    name: &'static str,
    client: Arc<ClientConfig>,
) -> io::Result<TlsStream<TcpStream>> {
    let transport = TcpStream::connect(proxy.addresses()[0]).await?;
    Connector::new(client).connect(name.try_into().unwrap(), transport).await
}

/// Sends these bytes, closes, and reads until the end.
pub(crate) async fn exchange(
    stream: &mut TlsStream<TcpStream>,
    sent: &[u8],
) -> io::Result<Vec<u8>> {
    stream.write_all(sent).await?;
    stream.shutdown().await?;
    let mut received = Vec::new();
    stream.read_to_end(&mut received).await?;
    Ok(received)
}

/// Sends these bytes and reads the same number of bytes.
pub(crate) async fn echoed(stream: &mut TlsStream<TcpStream>, sent: &[u8]) -> Vec<u8> {
    stream.write_all(sent).await.unwrap();
    let mut received = vec![0; sent.len()];
    stream.read_exact(&mut received).await.unwrap();
    received
}

/// A backend that calls `serve` for each connection.
pub(crate) async fn backend<F>(serve: impl Fn(TcpStream) -> F + Send + 'static) -> SocketAddr
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((transport, _)) = listener.accept().await {
            tokio::spawn(serve(transport));
        }
    });
    address
}

/// A backend that sends the greeting and echoes all data.
pub(crate) async fn greeting_echo(greeting: &'static [u8]) -> SocketAddr {
    backend(move |mut transport| async move {
        let _ = transport.write_all(greeting).await;
        let (mut read, mut write) = transport.split();
        let _ = tokio::io::copy(&mut read, &mut write).await;
        let _ = write.shutdown().await;
    })
    .await
}

pub(crate) async fn echo() -> SocketAddr {
    greeting_echo(b"").await
}

/// An address without a listener. A terminator can listen there, because it reuses ports. Nothing
/// else can, because a socket has this port until the process ends.
pub(crate) async fn unused_address() -> SocketAddr {
    static RESERVED: Mutex<Vec<Socket>> = Mutex::new(Vec::new());
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_reuse_port(true).unwrap();
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    RESERVED.lock().unwrap().push(socket);
    address
}

/// Waits until `is_so` returns true.
pub(crate) async fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let end = tokio::time::Instant::now() + LIMIT;
    while !is_so() {
        assert!(tokio::time::Instant::now() < end, "{what}: not within {LIMIT:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Waits until the terminator has closed its first listener, as it does when it drains.
pub(crate) async fn wait_until_closed(address: SocketAddr) {
    let closed = async { while TcpStream::connect(address).await.is_ok() {} };
    tokio::time::timeout(LIMIT, closed).await.expect("the listener is still open");
}

/// Waits until the terminator has ended.
pub(crate) async fn wait_for_end(proxy: Proxy) {
    let ended = tokio::task::spawn_blocking(|| proxy.wait());
    tokio::time::timeout(LIMIT, ended).await.expect("the terminator still runs").unwrap().unwrap();
}

/// The value of a metric with these labels.
pub(crate) fn metric(proxy: &Proxy, name: &str) -> u64 {
    let rendered = proxy.metrics().render();
    let line = rendered
        .lines()
        .find(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(' ')));
    let line = line.unwrap_or_else(|| panic!("no {name} in\n{rendered}"));
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

/// A backend that reports all bytes that it receives, unless the connection is reset.
pub(crate) async fn recording_backend() -> (SocketAddr, mpsc::UnboundedReceiver<Vec<u8>>) {
    let (sender, events) = mpsc::unbounded_channel();
    let address = backend(move |mut transport| {
        let sender = sender.clone();
        async move {
            let mut all = Vec::new();
            if transport.read_to_end(&mut all).await.is_ok() {
                sender.send(all).unwrap();
            }
        }
    });
    (address.await, events)
}

/// A parsed header of version 2.
pub(crate) struct Header {
    pub(crate) source: SocketAddr,
    pub(crate) destination: SocketAddr,
    pub(crate) values: Vec<(u8, Vec<u8>)>,
    pub(crate) rest: Vec<u8>,
}

pub(crate) fn parse(bytes: &[u8]) -> Header {
    assert_eq!(&bytes[..13], b"\r\n\r\n\0\r\nQUIT\n\x21");
    assert_eq!(bytes[13], 0x11);
    let length = usize::from(u16::from_be_bytes([bytes[14], bytes[15]]));
    let (header, rest) = bytes[16..].split_at(length);
    let address = |at: usize, port: usize| {
        let ip: [u8; 4] = header[at..at + 4].try_into().unwrap();
        SocketAddr::from((ip, u16::from_be_bytes([header[port], header[port + 1]])))
    };
    Header {
        source: address(0, 8),
        destination: address(4, 10),
        values: values(&header[12..]),
        rest: rest.to_vec(),
    }
}

pub(crate) fn values(mut bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut values = Vec::new();
    while let [kind, high, low, rest @ ..] = bytes {
        let (value, after) = rest.split_at(usize::from(u16::from_be_bytes([*high, *low])));
        values.push((*kind, value.to_vec()));
        bytes = after;
    }
    assert!(bytes.is_empty());
    values
}

impl Header {
    pub(crate) fn value(&self, kind: u8) -> Option<&[u8]> {
        self.values.iter().find(|(own, _)| *own == kind).map(|(_, value)| value.as_slice())
    }
}

/// The record with the ClientHello of a client that asks for this name.
pub(crate) fn client_hello(name: &'static str) -> Vec<u8> {
    let config = client().build().unwrap();
    let mut handshake = Handshake::client(config, name.try_into().unwrap());
    let mut out = Vec::new();
    let step = handshake.advance(&mut ReceiveBuffer::new(), &mut out).unwrap();
    assert!(matches!(step, Next::Receive));
    out
}

/// A backend that terminates TLS with a certificate for this name, sends the greeting, and echoes
/// all data.
pub(crate) async fn tls_backend(name: &'static str, greeting: &'static [u8]) -> SocketAddr {
    let config = ServerConfig::builder().credential(identity(name)).build().unwrap();
    let acceptor = Acceptor::new(config);
    backend(move |transport| {
        let acceptor = acceptor.clone();
        async move {
            let Ok(mut stream) = acceptor.accept(transport).await else { return };
            let _ = stream.write_all(greeting).await;
            let mut buffer = [0; 1000];
            while let Ok(count @ 1..) = stream.read(&mut buffer).await {
                let _ = stream.write_all(&buffer[..count]).await;
            }
            let _ = stream.shutdown().await;
        }
    })
    .await
}
