//! BoringSSL, as the `boring` crate builds it.
//!
//! BoringSSL's server resumes. Its client does not, because the crate's function for setting a
//! session is `unsafe`. The crate has no early data.

use std::io::{self, Read, Write};
use std::net::{IpAddr, TcpStream};
use std::sync::OnceLock;

use anyhow::Result;
use boring::ssl::{
    CertificateCompressionAlgorithm, CertificateCompressor, HandshakeError, ShutdownResult, Ssl,
    SslContext, SslContextBuilder, SslFiletype, SslMethod, SslMode, SslOptions, SslStream,
    SslVerifyMode, SslVersion,
};
use boring::x509::X509Name;
use tercel_peers::{Options, Peer, Tls, Version};

fn main() -> Result<()> {
    tercel_peers::run(&Peer {
        keys: "rsa2048 p256 p384",
        // BoringSSL also has secp521r1, but not among its defaults.
        groups: "x25519 secp256r1 secp384r1 X25519MLKEM768",
        limits: "group hybrid suite1.2",
        remark: "resumes",
        as_client: "certificate-brotli",
        as_server: "resume-1.2-ticket resume-1.2-id resume-1.3-stateless certificate-brotli",
        accept,
        connect,
        fetch: None,
    })
}

fn accept(options: &Options, tcp: TcpStream) -> Result<Box<dyn Tls>> {
    // All connections share one context, which has the sessions and the ticket keys.
    static CONTEXT: OnceLock<SslContext> = OnceLock::new();
    let context = server_context(options)?;
    let ssl = Ssl::new(CONTEXT.get_or_init(|| context))?;
    Ok(Box::new(Stream(ssl.accept(tcp).map_err(explain)?)))
}

fn server_context(options: &Options) -> Result<SslContext> {
    let mut builder = context(options)?;
    if let Some(file) = &options.client_ca {
        builder.set_verify(SslVerifyMode::PEER | SslVerifyMode::FAIL_IF_NO_PEER_CERT);
        builder.set_ca_file(file)?;
        builder.set_client_ca_list(X509Name::load_client_ca_file(file)?);
        // Sessions of authenticated clients need a session ID context.
        builder.set_session_id_context(b"interop")?;
    }
    if options.has_feature("resume-1.2-id") {
        builder.set_options(SslOptions::NO_TICKET);
    }
    Ok(builder.build())
}

fn connect(options: &Options, tcp: TcpStream) -> Result<Box<dyn Tls>> {
    let mut builder = context(options)?;
    builder.set_verify(SslVerifyMode::PEER);
    builder.set_ca_file(options.roots()?)?;
    let mut ssl = Ssl::new(&builder.build())?;
    match options.name.parse::<IpAddr>() {
        Ok(address) => ssl.param_mut().set_ip(address)?,
        Err(_) => {
            ssl.set_hostname(&options.name)?;
            ssl.param_mut().set_host(&options.name)?;
        }
    }
    Ok(Box::new(Stream(ssl.connect(tcp).map_err(explain)?)))
}

fn context(options: &Options) -> Result<SslContextBuilder> {
    let mut builder = SslContext::builder(SslMethod::tls())?;
    builder.set_mode(
        SslMode::AUTO_RETRY | SslMode::ENABLE_PARTIAL_WRITE | SslMode::ACCEPT_MOVING_WRITE_BUFFER,
    );
    let version = options.version.map(|version| match version {
        Version::Tls12 => SslVersion::TLS1_2,
        Version::Tls13 => SslVersion::TLS1_3,
    });
    builder.set_min_proto_version(Some(version.unwrap_or(SslVersion::TLS1_2)))?;
    builder.set_max_proto_version(version)?;
    // BoringSSL has no option for TLS 1.3 suites.
    if let Some((Version::Tls12, suite)) = options.openssl_suite() {
        builder.set_cipher_list(&suite)?;
    }
    if let Some(group) = options.openssl_group() {
        builder.set_curves_list(group)?;
    }
    if let Some((chain, key)) = options.credential() {
        builder.set_certificate_chain_file(chain)?;
        builder.set_private_key_file(key, SslFiletype::PEM)?;
    }
    if options.has_feature("certificate-brotli") {
        builder.add_certificate_compression_algorithm(Brotli)?;
    }
    Ok(builder)
}

/// BoringSSL has an interface for compression but no algorithm. This algorithm prints its calls.
struct Brotli;

impl CertificateCompressor for Brotli {
    const ALGORITHM: CertificateCompressionAlgorithm = CertificateCompressionAlgorithm::BROTLI;
    const CAN_COMPRESS: bool = true;
    const CAN_DECOMPRESS: bool = true;

    fn compress<W: Write>(&self, mut input: &[u8], output: &mut W) -> io::Result<()> {
        eprintln!("certificate compressed");
        brotli::BrotliCompress(&mut input, output, &Default::default()).map(drop)
    }

    fn decompress<W: Write>(&self, mut input: &[u8], output: &mut W) -> io::Result<()> {
        eprintln!("certificate compressed");
        brotli::BrotliDecompress(&mut input, output)
    }
}

fn explain(error: HandshakeError<TcpStream>) -> anyhow::Error {
    anyhow::Error::msg(error.to_string())
}

struct Stream(SslStream<TcpStream>);

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Tls for Stream {
    fn set_nonblocking(&mut self, on: bool) -> io::Result<()> {
        self.0.get_ref().set_nonblocking(on)
    }

    fn close(&mut self) -> io::Result<()> {
        match self.0.shutdown() {
            Ok(ShutdownResult::Sent | ShutdownResult::Received) => Ok(()),
            Err(error) => Err(error.into_io_error().unwrap_or_else(io::Error::other)),
        }
    }

    fn resumed(&self) -> Option<bool> {
        Some(self.0.ssl().session_reused())
    }
}
