//! rustls over aws-lc-rs, built twice: `peer-rustls` with its default feature for post-quantum
//! preference, and `peer-rustls-plain` without it.

use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::ops::DerefMut;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result, ensure};
use rustls::client::{Tls12Resumption, WebPkiServerVerifier};
use rustls::compress::{
    self, CertCompressor, CertDecompressor, CompressionFailed, CompressionLevel,
    DecompressionFailed,
};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::version::{TLS12, TLS13};
use rustls::{
    CertificateCompressionAlgorithm, ClientConfig, ClientConnection, ConnectionCommon,
    HandshakeKind, NamedGroup, RootCertStore, ServerConfig, ServerConnection, SideData,
    StreamOwned, SupportedCipherSuite, SupportedProtocolVersion,
};
use tercel_peers::{Options, Peer, Tls, Version};

#[cfg(all(feature = "rustls", feature = "as-it-comes"))]
compile_error!("both programs would have the post-quantum preference");

fn main() -> Result<()> {
    tercel_peers::run(&Peer {
        keys: "rsa2048 p256 p384 p521 ed25519",
        groups: "x25519 secp256r1 secp384r1 X25519MLKEM768 SecP256r1MLKEM768",
        limits: "group hybrid suite1.2 suite1.3 record-size",
        remark: "",
        // The client remembers the group of a retry, so later connections have no retry.
        as_client: "resume-1.2-ticket resume-1.2-id resume-1.3-stateless resume-1.3-stateful \
                    early-data early-data-other-server certificate-zlib certificate-brotli",
        as_server: "resume-1.2-ticket resume-1.2-id resume-1.3-stateless resume-1.3-stateful \
                    early-data early-data-rejected early-data-other-server \
                    certificate-zlib certificate-brotli",
        accept,
        connect,
        fetch: None,
    })
}

fn accept(options: &Options, tcp: TcpStream) -> Result<Box<dyn Tls>> {
    // All connections share one configuration, which has the sessions.
    static CONFIG: OnceLock<Arc<ServerConfig>> = OnceLock::new();
    let config = server_config(options)?;
    let config = CONFIG.get_or_init(|| config).clone();
    let mut early = Vec::new();
    let mut connection = ServerConnection::new(config)?;
    let tcp = complete(&mut connection, tcp, |connection| {
        if let Some(mut data) = connection.early_data() {
            data.read_to_end(&mut early)?;
        }
        Ok(())
    })?;
    if !early.is_empty() {
        eprintln!("early-data accepted");
    }
    let mut stream = StreamOwned::new(connection, tcp);
    stream.write_all(&early)?;
    Ok(Box::new(Stream(stream)))
}

fn server_config(options: &Options) -> Result<Arc<ServerConfig>> {
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
    if options.has_feature("resume-1.2-ticket") || options.has_feature("resume-1.3-stateless") {
        config.ticketer = aws_lc_rs::Ticketer::new()?;
    }
    if options.early() {
        config.max_early_data_size = 1000;
    }
    if options.has_feature("certificate-zlib") {
        config.cert_compressors = vec![&Reporting(compress::ZLIB_COMPRESSOR)];
    } else if options.has_feature("certificate-brotli") {
        config.cert_compressors = vec![&Reporting(compress::BROTLI_COMPRESSOR)];
    }
    Ok(Arc::new(config))
}

fn connect(options: &Options, tcp: TcpStream) -> Result<Box<dyn Tls>> {
    // All connections share one configuration, which has the sessions.
    static CONFIG: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    let config = client_config(options)?;
    let config = CONFIG.get_or_init(|| config).clone();
    let name = ServerName::try_from(options.name.clone())?;
    let mut connection = ClientConnection::new(config, name)?;
    let words = options.early_data.as_ref().map(fs::read).transpose()?;
    if let (Some(words), Some(mut early)) = (&words, connection.early_data()) {
        early.write_all(words)?;
    }
    let tcp = complete(&mut connection, tcp, |_| Ok(()))?;
    let accepted = connection.is_early_data_accepted();
    let mut stream = StreamOwned::new(connection, tcp);
    if let Some(words) = words {
        eprintln!("early-data {}", if accepted { "accepted" } else { "rejected" });
        if !accepted {
            stream.write_all(&words)?;
        }
    }
    Ok(Box::new(Stream(stream)))
}

fn client_config(options: &Options) -> Result<Arc<ClientConfig>> {
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
    config.enable_early_data = options.early();
    if options.has_feature("resume-1.2-id") {
        config.resumption = config.resumption.tls12_resumption(Tls12Resumption::SessionIdOnly);
    }
    if options.has_feature("certificate-zlib") {
        config.cert_decompressors = vec![&Reporting(compress::ZLIB_DECOMPRESSOR)];
    } else if options.has_feature("certificate-brotli") {
        config.cert_decompressors = vec![&Reporting(compress::BROTLI_DECOMPRESSOR)];
    }
    Ok(Arc::new(config))
}

/// A compression algorithm that prints its calls.
#[derive(Debug)]
struct Reporting<T>(T);

impl CertCompressor for Reporting<&'static dyn CertCompressor> {
    fn compress(
        &self,
        input: Vec<u8>,
        level: CompressionLevel,
    ) -> Result<Vec<u8>, CompressionFailed> {
        eprintln!("certificate compressed");
        self.0.compress(input, level)
    }

    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        self.0.algorithm()
    }
}

impl CertDecompressor for Reporting<&'static dyn CertDecompressor> {
    fn decompress(&self, input: &[u8], output: &mut [u8]) -> Result<(), DecompressionFailed> {
        eprintln!("certificate compressed");
        self.0.decompress(input, output)
    }

    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        self.0.algorithm()
    }
}

/// Completes the handshake, and calls the closure after each step.
fn complete<C, S>(
    connection: &mut C,
    mut tcp: TcpStream,
    mut look: impl FnMut(&mut C) -> io::Result<()>,
) -> Result<TcpStream>
where
    C: DerefMut<Target = ConnectionCommon<S>>,
    S: SideData,
{
    while connection.is_handshaking() {
        // `complete_io` is not used, because it does not return between early data and its end.
        if connection.wants_write() {
            connection.write_tls(&mut tcp)?;
            continue;
        }
        ensure!(connection.read_tls(&mut tcp)? > 0, "the peer closed during the handshake");
        let processed = connection.process_new_packets();
        if processed.is_err() {
            // There may be an alert to send.
            let _ = connection.write_tls(&mut tcp);
        }
        processed?;
        look(connection)?;
    }
    while connection.wants_write() {
        connection.write_tls(&mut tcp)?;
    }
    Ok(tcp)
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

    fn resumed(&self) -> Option<bool> {
        Some(self.0.conn.handshake_kind() == Some(HandshakeKind::Resumed))
    }
}

fn provider(options: &Options) -> Result<Arc<CryptoProvider>> {
    let mut provider = aws_lc_rs::default_provider();
    if let Some(suite) = &options.suite {
        // rustls names TLS 1.3 suites TLS13_...
        let name = if suite.contains("_WITH_") {
            suite.clone()
        } else {
            suite.replacen("TLS_", "TLS13_", 1)
        };
        let named = |s: &SupportedCipherSuite| format!("{:?}", s.suite()) == name;
        provider.cipher_suites.retain(named);
        ensure!(!provider.cipher_suites.is_empty(), "unknown suite {suite}");
    }
    // A retry, which this group causes, rules out early data.
    let retrying = options.has_feature("early-data-rejected") && options.ca.is_none();
    let group = options.group.as_deref().or(retrying.then_some("secp384r1"));
    if let Some(group) = group {
        let wanted = NamedGroup::from(match group {
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
