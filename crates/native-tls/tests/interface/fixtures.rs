//! Certificates made by the test run, and connections over loopback sockets.

use std::fmt::Debug;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::thread;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rcgen::{SignatureAlgorithm, date_time_ymd};
use tercel_native_tls::{
    Certificate, Error, HandshakeError, Identity, TlsAcceptor, TlsConnector, TlsConnectorBuilder,
    TlsStream,
};

/// A certificate authority.
pub(crate) struct Authority {
    pub(crate) certificate: rcgen::Certificate,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate with its key, and the intermediate certificates above it.
pub(crate) struct Issued {
    pub(crate) certificate: rcgen::Certificate,
    pub(crate) key: KeyPair,
    pub(crate) intermediates: Vec<rcgen::Certificate>,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        Self::with_algorithm(name, &rcgen::PKCS_ECDSA_P256_SHA256)
    }

    /// An authority whose signatures are made with this algorithm.
    pub(crate) fn with_algorithm(name: &str, algorithm: &'static SignatureAlgorithm) -> Self {
        let key = KeyPair::generate_for(algorithm).unwrap();
        let params = authority_params(name);
        let certificate = params.self_signed(&key).unwrap();
        Self { certificate, issuer: Issuer::new(params, key) }
    }

    /// The key of a server's self-signed certificate, used as if it was that of an authority.
    pub(crate) fn without_rights(name: &str, is_ca: IsCa) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = is_ca;
        let certificate = params.self_signed(&key).unwrap();
        Self { certificate, issuer: Issuer::new(params, key) }
    }

    /// An authority below this one.
    pub(crate) fn intermediate(&self, name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let params = authority_params(name);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Self { certificate, issuer: Issuer::new(params, key) }
    }

    /// A server's certificate.
    pub(crate) fn issue(&self, name: &str) -> Issued {
        self.issue_with(&CertificateParams::new(vec![name.to_owned()]).unwrap())
    }

    pub(crate) fn issue_expired(&self, name: &str) -> Issued {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2021, 1, 1);
        self.issue_with(&params)
    }

    fn issue_with(&self, params: &CertificateParams) -> Issued {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Issued { certificate, key, intermediates: Vec::new() }
    }

    pub(crate) fn root(&self) -> Certificate {
        Certificate::from_der(self.certificate.der()).unwrap()
    }
}

fn authority_params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
}

impl Issued {
    /// A certificate that is its own issuer, of an authority or not.
    pub(crate) fn self_signed(name: &str, is_ca: IsCa) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.is_ca = is_ca;
        let certificate = params.self_signed(&key).unwrap();
        Self { certificate, key, intermediates: Vec::new() }
    }

    pub(crate) fn chain_pem(&self) -> String {
        let above = self.intermediates.iter().map(rcgen::Certificate::pem);
        std::iter::once(self.certificate.pem()).chain(above).collect()
    }

    pub(crate) fn identity(&self) -> Identity {
        let key = self.key.serialize_pem();
        Identity::from_pkcs8(self.chain_pem().as_bytes(), key.as_bytes()).unwrap()
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::new(self.identity()).unwrap()
    }
}

/// A builder of connectors that trust this authority only.
pub(crate) fn trusting(authority: &Authority) -> TlsConnectorBuilder {
    let mut builder = TlsConnector::builder();
    builder.disable_built_in_roots(true).add_root_certificate(authority.root());
    builder
}

/// An authority and a server's certificate for `localhost`.
pub(crate) fn localhost() -> (Authority, Issued) {
    let authority = Authority::new("authority");
    let issued = authority.issue("localhost");
    (authority, issued)
}

pub(crate) type Connected = TlsStream<TcpStream>;

/// The results of both sides' handshakes.
pub(crate) struct Handshakes {
    pub(crate) client: Result<Connected, Error>,
    pub(crate) server: Result<Connected, Error>,
}

/// Connects over a loopback socket.
pub(crate) fn connect(
    connector: &TlsConnector,
    domain: &str,
    acceptor: &TlsAcceptor,
) -> Handshakes {
    let (near, far) = sockets();
    let acceptor = acceptor.clone();
    let server = thread::spawn(move || failure(acceptor.accept(far)));
    let client = failure(connector.connect(domain, near));
    Handshakes { client, server: server.join().unwrap() }
}

/// Connects, exchanges data in both directions, and closes.
pub(crate) fn exchange(connector: &TlsConnector, domain: &str, acceptor: &TlsAcceptor) {
    let Handshakes { client, server } = connect(connector, domain, acceptor);
    let server = thread::spawn(move || {
        let mut server = server.unwrap();
        let mut request = [0; 5];
        server.read_exact(&mut request).unwrap();
        assert_eq!(&request, b"hello");
        server.write_all(b"world").unwrap();
        server.shutdown().unwrap();
    });
    let mut client = client.unwrap();
    client.write_all(b"hello").unwrap();
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).unwrap();
    assert_eq!(answer, b"world");
    server.join().unwrap();
}

/// The client's error text of a handshake that both sides report as failed.
pub(crate) fn refused(connector: &TlsConnector, domain: &str, acceptor: &TlsAcceptor) -> String {
    let Handshakes { client, server } = connect(connector, domain, acceptor);
    let error = client.unwrap_err().to_string();
    // In TLS 1.3 the alert may arrive after the server's handshake.
    if let Ok(mut server) = server {
        assert!(server.read(&mut [0]).is_err());
    }
    error
}

pub(crate) fn failure<S: Debug>(
    result: Result<TlsStream<S>, HandshakeError<S>>,
) -> Result<TlsStream<S>, Error> {
    result.map_err(|error| match error {
        HandshakeError::Failure(error) => error,
        HandshakeError::WouldBlock(_) => panic!("a blocking socket does not return WouldBlock"),
    })
}

pub(crate) fn sockets() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (near, listener.accept().unwrap().0)
}

/// An empty folder for the files of one test.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
