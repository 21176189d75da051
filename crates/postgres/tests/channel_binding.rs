//! The start of a PostgreSQL connection: TLS, the channel binding of SCRAM, and refusals. The
//! server is a part of the test, up to the proof of the client; `just rust-users` runs a real one.
#![allow(clippy::unwrap_used)]

use std::io;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use rcgen::{
    CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519,
};
use tercel_postgres::MakeTlsConnector;
use tercel_postgres::tercel::pki::{Roots, tls_server_end_point};
use tercel_postgres::tercel::pki_types::{CertificateDer, PrivateKeyDer};
use tercel_postgres::tercel::{ClientConfig, Credential, ServerConfig};
use tercel_postgres::tercel_tokio::{Acceptor, TlsStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What a client did after the TLS handshake.
#[derive(Debug, PartialEq)]
struct Login {
    mechanism: String,
    /// The channel binding attribute of the client's last message, decoded. RFC 5802 5.1
    binding: Vec<u8>,
    /// Whether the session of an earlier connection was resumed.
    resumed: bool,
}

/// Serves the start of a connection; the password is not checked.
async fn login(transport: TcpStream, config: Arc<ServerConfig>) -> io::Result<Login> {
    let mut transport = transport;
    let mut request = [0; 8];
    transport.read_exact(&mut request).await?;
    assert_eq!(request, [0, 0, 0, 8, 4, 210, 22, 47], "SSLRequest");
    transport.write_all(b"S").await?;
    let mut stream = Acceptor::new(config).accept(transport).await?;
    let resumed = stream.info().resumed;
    let length = stream.read_u32().await?;
    let mut startup = vec![0; length as usize - 4];
    stream.read_exact(&mut startup).await?;

    // AuthenticationSASL
    let mut mechanisms = 10u32.to_be_bytes().to_vec();
    mechanisms.extend(b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0");
    send(&mut stream, &mechanisms).await?;
    let initial = receive(&mut stream).await?;
    let end = initial.iter().position(|byte| *byte == 0).unwrap();
    let mechanism = String::from_utf8(initial[..end].to_vec()).unwrap();
    let message = String::from_utf8(initial[end + 5..].to_vec()).unwrap();
    let nonce = message.split_once(",r=").unwrap().1;

    // AuthenticationSASLContinue
    let mut challenge = 11u32.to_be_bytes().to_vec();
    challenge.extend(format!("r={nonce}server,s={},i=4096", BASE64.encode("salt")).bytes());
    send(&mut stream, &challenge).await?;
    let last = String::from_utf8(receive(&mut stream).await?).unwrap();
    let binding = last.strip_prefix("c=").unwrap().split(',').next().unwrap();
    Ok(Login { mechanism, binding: BASE64.decode(binding).unwrap(), resumed })
}

async fn send(stream: &mut TlsStream<TcpStream>, authentication: &[u8]) -> io::Result<()> {
    stream.write_all(b"R").await?;
    stream.write_u32(u32::try_from(authentication.len() + 4).unwrap()).await?;
    stream.write_all(authentication).await?;
    stream.flush().await
}

async fn receive(stream: &mut TlsStream<TcpStream>) -> io::Result<Vec<u8>> {
    assert_eq!(stream.read_u8().await?, b'p', "a message with a password");
    let length = stream.read_u32().await?;
    let mut message = vec![0; length as usize - 4];
    stream.read_exact(&mut message).await?;
    Ok(message)
}

struct Server {
    config: Arc<ServerConfig>,
    certificate: CertificateDer<'static>,
}

impl Server {
    fn new(algorithm: &'static rcgen::SignatureAlgorithm, name: &str) -> Self {
        let key = KeyPair::generate_for(algorithm).unwrap();
        let certificate = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = certificate.self_signed(&key).unwrap().der().clone();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let credential = Credential::new(vec![certificate.clone()], &key).unwrap();
        Self {
            config: ServerConfig::builder().credential(credential).build().unwrap(),
            certificate,
        }
    }

    fn tls(&self) -> MakeTlsConnector {
        let mut roots = Roots::new();
        roots.add_der(&self.certificate).unwrap();
        MakeTlsConnector::new(ClientConfig::builder().roots(roots).build().unwrap())
    }

    /// Connects to this server; returns both sides' results.
    async fn connect(&self, tls: MakeTlsConnector) -> (io::Result<Login>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let config = Arc::clone(&self.config);
        let server = tokio::spawn(async move { login(listener.accept().await?.0, config).await });
        let parameters = format!(
            "host=localhost port={port} user=u password=p dbname=d sslmode=require \
             channel_binding=prefer"
        );
        let error = tokio_postgres::connect(&parameters, tls).await.err().unwrap();
        (server.await.unwrap(), causes(&error))
    }
}

fn causes(error: &dyn std::error::Error) -> String {
    let cause = error.source().map(causes).unwrap_or_default();
    format!("{error}: {cause}")
}

/// RFC 5929 4.1: the hash is that of the certificate's signature.
#[tokio::test]
async fn scram_is_bound_to_the_certificate_with_its_hash() {
    for (algorithm, length) in [(&PKCS_ECDSA_P256_SHA256, 32), (&PKCS_ECDSA_P384_SHA384, 48)] {
        let server = Server::new(algorithm, "localhost");
        let tls = server.tls();
        let digest = tls_server_end_point(&server.certificate).unwrap().unwrap();
        assert_eq!(digest.len(), length);
        let expected = [b"p=tls-server-end-point,,", digest.as_slice()].concat();
        for resumed in [false, true] {
            let (login, _) = server.connect(tls.clone()).await;
            let mechanism = "SCRAM-SHA-256-PLUS".to_owned();
            // A session contains the certificate, so its resumption has the same binding.
            assert_eq!(
                login.unwrap(),
                Login { mechanism, binding: expected.clone(), resumed },
                "{length}"
            );
        }
    }
}

/// RFC 5929 4.1: the binding is undefined for a signature without a hash of its own.
#[tokio::test]
async fn scram_without_a_binding_is_used_where_none_is_defined() {
    let server = Server::new(&PKCS_ED25519, "localhost");
    let login = server.connect(server.tls()).await.0.unwrap();
    assert_eq!(
        (login.mechanism.as_str(), login.binding.as_slice()),
        ("SCRAM-SHA-256", &b"n,,"[..])
    );
}

#[tokio::test]
async fn a_certificate_of_another_host_is_refused_although_sslmode_is_require() {
    let server = Server::new(&PKCS_ECDSA_P256_SHA256, "other.example");
    let (login, error) = server.connect(server.tls()).await;
    assert!(login.is_err());
    assert!(error.contains("other.example"), "{error}");
}

/// A connection without TLS has no name of a server: the host is a directory.
#[cfg(unix)]
#[tokio::test]
async fn a_unix_socket_is_used_without_tls() {
    let folder = std::env::temp_dir().join(format!("tercel-postgres-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let listener = tokio::net::UnixListener::bind(folder.join(".s.PGSQL.5432")).unwrap();
    let server = tokio::spawn(async move {
        let mut transport = listener.accept().await.unwrap().0;
        transport.read_u32().await.unwrap();
        transport.read_u32().await.unwrap()
    });
    let parameters = format!("host={} user=u dbname=d sslmode=disable", folder.display());
    let tls = Server::new(&PKCS_ECDSA_P256_SHA256, "localhost").tls();
    let connected = tokio_postgres::connect(&parameters, tls).await;
    assert!(connected.is_err(), "the server closes");
    assert_eq!(server.await.unwrap(), 3 << 16, "the version of a StartupMessage");
    std::fs::remove_dir_all(&folder).unwrap();
}
