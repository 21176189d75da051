//! s2n-tls, whose suites and groups are selected by policies only.

use std::fs;
use std::future::Future;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream as StdTcpStream;
use std::pin::Pin;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use anyhow::Result;
use s2n_tls::callbacks::{ConnectionFuture, SessionTicket, SessionTicketCallback};
use s2n_tls::config::{Builder, Config, ConnectionInitializer};
use s2n_tls::connection::Connection;
use s2n_tls::enums::ClientAuthType;
use s2n_tls::security::Policy;
use s2n_tls_tokio::{TlsAcceptor, TlsConnector, TlsStream};
use tercel_peers::{Options, Peer, Tls, Version};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::{self, Runtime};
use tokio::time::timeout;

fn main() -> Result<()> {
    tercel_peers::run(&Peer {
        keys: "rsa2048 p256 p384 p521",
        groups: "x25519 secp256r1 secp384r1 secp521r1 \
                 X25519MLKEM768 SecP256r1MLKEM768 SecP384r1MLKEM1024",
        limits: "",
        remark: "lacks alerts\ngives",
        as_client: "resume-1.2-ticket resume-1.3-stateless resume-1.3-stateful",
        as_server: "resume-1.2-ticket resume-1.3-stateless",
        accept,
        connect,
        fetch: None,
    })
}

fn accept(options: &Options, tcp: StdTcpStream) -> Result<Box<dyn Tls>> {
    // All connections share one configuration, which has the ticket key.
    static CONFIG: OnceLock<Config> = OnceLock::new();
    let config = server_config(options)?;
    let acceptor = TlsAcceptor::new(CONFIG.get_or_init(|| config).clone());
    finish(tcp, async |tcp| acceptor.accept(tcp).await)
}

fn server_config(options: &Options) -> Result<Config> {
    let mut builder = builder(options)?;
    match &options.client_ca {
        Some(file) => {
            builder.set_client_auth_type(ClientAuthType::Required)?;
            builder.trust_pem(&fs::read(file)?)?;
            // By default, the library would verify the name of a server.
            builder.set_verify_host_callback(AnyName)?;
        }
        None => drop(builder.set_client_auth_type(ClientAuthType::None)?),
    }
    if options.has_feature("resume-1.2-ticket") || options.has_feature("resume-1.3-stateless") {
        // The key is fixed, since this program has no secrets.
        builder.add_session_ticket_key(b"key", &[7; 32], SystemTime::now())?;
    }
    Ok(builder.build()?)
}

fn connect(options: &Options, tcp: StdTcpStream) -> Result<Box<dyn Tls>> {
    let mut builder = builder(options)?;
    builder.trust_pem(&fs::read(options.roots()?)?)?;
    if options.cert.is_some() {
        builder.set_client_auth_type(ClientAuthType::Optional)?;
    }
    builder.set_session_ticket_callback(Tickets)?.set_connection_initializer(Tickets)?;
    let connector = TlsConnector::new(builder.build()?);
    finish(tcp, async |tcp| connector.connect(&options.name, tcp).await)
}

/// Stores the newest ticket of all connections, for the next connection.
struct Tickets;

static TICKET: Mutex<Vec<u8>> = Mutex::new(Vec::new());

impl SessionTicketCallback for Tickets {
    fn on_session_ticket(&self, _: &mut Connection, ticket: &SessionTicket) {
        let mut bytes = vec![0; ticket.len().unwrap_or_default()];
        if ticket.data(&mut bytes).is_ok() {
            *TICKET.lock().unwrap_or_else(PoisonError::into_inner) = bytes;
        }
    }
}

impl ConnectionInitializer for Tickets {
    fn initialize_connection(
        &self,
        connection: &mut Connection,
    ) -> Result<Option<Pin<Box<dyn ConnectionFuture>>>, s2n_tls::error::Error> {
        let ticket = TICKET.lock().unwrap_or_else(PoisonError::into_inner);
        if !ticket.is_empty() {
            connection.set_session_ticket(&ticket)?;
        }
        Ok(None)
    }
}

struct AnyName;

impl s2n_tls::callbacks::VerifyHostNameCallback for AnyName {
    fn verify_host_name(&self, _: &str) -> bool {
        true
    }
}

fn builder(options: &Options) -> Result<Builder> {
    let policy = match options.version {
        Some(Version::Tls12) => "test_all_tls12",
        // The test policy for TLS 1.3 still offers TLS 1.2.
        Some(Version::Tls13) => "CloudFront-Upstream-TLS-1-3-2025-PQ",
        None => "test_all",
    };
    let mut builder = Config::builder();
    builder.with_system_certs(false)?;
    builder.set_security_policy(&Policy::from_version(policy)?)?;
    // Errors end the connection at once. The library's delay protects secrets, and this program has
    // none.
    builder.set_max_blinding_delay(1)?;
    if let Some((chain, key)) = options.credential() {
        builder.load_pem(&fs::read(chain)?, &fs::read(key)?)?;
    }
    Ok(builder)
}

fn finish<F>(tcp: StdTcpStream, handshake: impl FnOnce(TcpStream) -> F) -> Result<Box<dyn Tls>>
where
    F: Future<Output = Result<TlsStream<TcpStream>, s2n_tls::error::Error>>,
{
    tcp.set_nonblocking(true)?;
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let tls = runtime.block_on(async {
        handshake(TcpStream::from_std(tcp)?).await.map_err(anyhow::Error::from)
    })?;
    Ok(Box::new(Stream { runtime, tls, nonblocking: false, closed: false }))
}

/// The asynchronous stream with its runtime.
struct Stream {
    runtime: Runtime,
    tls: TlsStream<TcpStream>,
    nonblocking: bool,
    closed: bool,
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.closed {
            return Ok(0);
        }
        let read = self.tls.read(buffer);
        if !self.nonblocking {
            return self.runtime.block_on(read);
        }
        // Without a short wait the runtime would not poll the socket.
        let soon = async { timeout(Duration::from_millis(1), read).await };
        self.runtime.block_on(soon).unwrap_or_else(|_| Err(ErrorKind::WouldBlock.into()))
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A write must be completed with the same bytes, so it waits in both modes.
        self.runtime.block_on(self.tls.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.runtime.block_on(self.tls.flush())
    }
}

impl Tls for Stream {
    fn set_nonblocking(&mut self, on: bool) -> io::Result<()> {
        self.nonblocking = on;
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        // `shutdown` also waits for the peer's close_notify, after which s2n reads no more.
        self.closed = true;
        self.runtime.block_on(self.tls.shutdown())
    }

    fn resumed(&self) -> Option<bool> {
        Some(self.tls.as_ref().resumed())
    }
}
