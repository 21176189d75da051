//! rustls over aws-lc-rs, with its post-quantum preference.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::ops::DerefMut;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use rustls::client::WebPkiServerVerifier;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::version::{TLS12, TLS13};
use rustls::{
    ClientConfig, ClientConnection, ConnectionCommon, NamedGroup, RootCertStore, ServerConfig,
    ServerConnection, SideData, StreamOwned, SupportedCipherSuite, SupportedProtocolVersion,
};
use tercel_peers::{Options, Peer, Tls, Version};

fn main() -> Result<()> {
    tercel_peers::run(&Peer {
        keys: "rsa2048 p256 p384 p521 ed25519",
        groups: "x25519 secp256r1 secp384r1 X25519MLKEM768 SecP256r1MLKEM768",
        limits: "group hybrid suite1.2 suite1.3 record-size",
        remark: "",
        accept,
        connect,
    })
}

fn accept(options: &Options, tcp: TcpStream) -> Result<Box<dyn Tls>> {
    let provider = provider(options)?;
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(versions(options))?;
    let builder = match &options.client_ca {
        Some(file) => builder.with_client_cert_verifier(
            WebPkiClientVerifier::builder_with_provider(roots(file)?, provider).build()?,
        ),
        None => builder.with_no_client_auth(),
    };
    let (chain, key) = credential(options)?.context("a server needs a certificate")?;
    let mut config = builder.with_single_cert(chain, key)?;
    config.max_fragment_size = options.record_size;
    finish(ServerConnection::new(Arc::new(config))?, tcp)
}

fn connect(options: &Options, tcp: TcpStream) -> Result<Box<dyn Tls>> {
    let provider = provider(options)?;
    let verifier =
        WebPkiServerVerifier::builder_with_provider(roots(options.roots()?)?, provider.clone());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions(options))?
        .with_webpki_verifier(verifier.build()?);
    let mut config = match credential(options)? {
        Some((chain, key)) => builder.with_client_auth_cert(chain, key)?,
        None => builder.with_no_client_auth(),
    };
    config.max_fragment_size = options.record_size;
    let name = ServerName::try_from(options.name.clone())?;
    finish(ClientConnection::new(Arc::new(config), name)?, tcp)
}

fn finish<C, S>(mut connection: C, mut tcp: TcpStream) -> Result<Box<dyn Tls>>
where
    C: DerefMut<Target = ConnectionCommon<S>> + 'static,
    S: SideData,
{
    while connection.is_handshaking() {
        // On an error this has tried to send the alert.
        let (read, written) = connection.complete_io(&mut tcp)?;
        ensure!(read + written > 0, "the peer ended during the handshake");
    }
    Ok(Box::new(Stream(StreamOwned::new(connection, tcp))))
}

struct Stream<C>(StreamOwned<C, TcpStream>);

impl<C, S> Read for Stream<C>
where
    C: DerefMut<Target = ConnectionCommon<S>>,
    S: SideData,
{
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl<C, S> Write for Stream<C>
where
    C: DerefMut<Target = ConnectionCommon<S>>,
    S: SideData,
{
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl<C, S> Tls for Stream<C>
where
    C: DerefMut<Target = ConnectionCommon<S>>,
    S: SideData,
{
    fn set_nonblocking(&mut self, on: bool) -> io::Result<()> {
        self.0.sock.set_nonblocking(on)
    }

    fn close(&mut self) -> io::Result<()> {
        self.0.conn.send_close_notify();
        self.0.flush()
    }
}

fn provider(options: &Options) -> Result<Arc<CryptoProvider>> {
    let mut provider = aws_lc_rs::default_provider();
    if let Some(suite) = &options.suite {
        // rustls calls TLS 1.3 suites TLS13_...
        let name = if suite.contains("_WITH_") {
            suite.clone()
        } else {
            suite.replacen("TLS_", "TLS13_", 1)
        };
        let named = |s: &SupportedCipherSuite| format!("{:?}", s.suite()) == name;
        provider.cipher_suites.retain(named);
        ensure!(!provider.cipher_suites.is_empty(), "unknown suite {suite}");
    }
    if let Some(group) = &options.group {
        let wanted = NamedGroup::from(match group.as_str() {
            "x25519" => 0x001d,
            "secp256r1" => 0x0017,
            "secp384r1" => 0x0018,
            "X25519MLKEM768" => 0x11ec,
            "SecP256r1MLKEM768" => 0x11eb,
            _ => anyhow::bail!("unknown group {group}"),
        });
        let all = aws_lc_rs::ALL_KX_GROUPS.iter().copied();
        provider.kx_groups = all.filter(|group| group.name() == wanted).collect();
    }
    Ok(Arc::new(provider))
}

fn versions(options: &Options) -> &'static [&'static SupportedProtocolVersion] {
    static BOTH: [&SupportedProtocolVersion; 2] = [&TLS13, &TLS12];
    match options.version {
        Some(Version::Tls12) => &BOTH[1..],
        Some(Version::Tls13) => &BOTH[..1],
        None => &BOTH,
    }
}

type Credential = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn credential(options: &Options) -> Result<Option<Credential>> {
    let Some((chain, key)) = options.credential() else { return Ok(None) };
    let chain = CertificateDer::pem_file_iter(chain)?.collect::<Result<_, _>>()?;
    Ok(Some((chain, PrivateKeyDer::from_pem_file(key)?)))
}

fn roots(file: &Path) -> Result<Arc<RootCertStore>> {
    let mut roots = RootCertStore::empty();
    for root in CertificateDer::pem_file_iter(file)? {
        roots.add(root?)?;
    }
    Ok(Arc::new(roots))
}
