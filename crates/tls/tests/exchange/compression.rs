//! Certificate compression: the algorithms that each side uses, and faults of the peer. RFC 8879
//!
//! Tests both directions, with the library's algorithms and with an algorithm of the application.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tercel::wire::{AlertDescription, CertificateCompressionAlgorithm, ProtocolVersion};
use tercel::{
    Credential, Error, Side,
    certificates::{CompressCertificate, DecompressionFailed},
    client::ClientConfigBuilder,
    error::{ConfigError, PeerError},
    server::{ClientAuth, ServerConfigBuilder},
};

use crate::fixtures::{Kind, NAME, client, credential, roots, server};
use crate::pair::{Ends, Failure, Pair};

/// An algorithm of the application, which adds one byte to the certificate.
struct OneByteLonger {
    code: u16,
    compressed: AtomicUsize,
    decompressed: AtomicUsize,
    /// The byte that the writer adds, and the byte that a reader expects.
    marks: (u8, u8),
}

impl OneByteLonger {
    fn new(code: u16) -> Arc<Self> {
        Self::with_marks(code, (5, 5))
    }

    fn with_marks(code: u16, marks: (u8, u8)) -> Arc<Self> {
        let (compressed, decompressed) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Arc::new(Self { code, compressed, decompressed, marks })
    }

    fn uses(&self) -> (usize, usize) {
        (self.compressed.load(Ordering::SeqCst), self.decompressed.load(Ordering::SeqCst))
    }
}

impl CompressCertificate for OneByteLonger {
    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        CertificateCompressionAlgorithm(self.code)
    }

    fn compress(&self, certificate: &[u8]) -> Option<Vec<u8>> {
        self.compressed.fetch_add(1, Ordering::SeqCst);
        Some([&[self.marks.0], certificate].concat())
    }

    fn decompress(&self, compressed: &[u8], out: &mut [u8]) -> Result<(), DecompressionFailed> {
        self.decompressed.fetch_add(1, Ordering::SeqCst);
        let rest = compressed.strip_prefix(&[self.marks.1]).ok_or(DecompressionFailed)?;
        if rest.len() != out.len() {
            return Err(DecompressionFailed);
        }
        out.copy_from_slice(rest);
        Ok(())
    }
}

fn only(algorithm: &Arc<OneByteLonger>) -> Vec<Arc<dyn CompressCertificate>> {
    vec![Arc::clone(algorithm) as Arc<dyn CompressCertificate>]
}

fn connect(client: ClientConfigBuilder, server: ServerConfigBuilder) -> Result<Ends, Failure> {
    Pair::new(&client.build().unwrap(), &server.build().unwrap(), NAME).connect()
}

/// The number of bytes that a server sends up to and including its Finished. `offer` states whether
/// the client offers compression.
fn server_flight(offer: bool) -> usize {
    let server = tercel::ServerConfig::builder().credential(large_credential()).build().unwrap();
    let client = client().offer_certificate_compression(offer).build().unwrap();
    let mut sent = 0;
    let tap = |bytes: &mut Vec<u8>| sent += bytes.len();
    Pair::new(&client, &server, NAME).tap_to_client(tap).connect().unwrap().talk();
    sent
}

#[test]
#[cfg(any(feature = "brotli", feature = "zstd"))]
fn a_chain_gets_smaller_if_the_client_offers_compression() {
    let (plain, compressed) = (server_flight(false), server_flight(true));
    assert!(compressed + 300 < plain, "{compressed} {plain}");
}

#[test]
#[cfg(not(any(feature = "brotli", feature = "zstd")))]
fn without_algorithms_nothing_is_compressed() {
    assert!(server_flight(false).abs_diff(server_flight(true)) < 20);
}

/// A credential whose certificate becomes smaller with every algorithm.
fn large_credential() -> Credential {
    let names: Vec<String> = (0..40).map(|host| format!("host{host}.{NAME}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).chain([NAME]).collect();
    crate::fixtures::credential_for(Kind::P256, &names)
}

/// Some peers compress a certificate again for their transcript, and deflate has several encodings
/// of the same data.
#[test]
fn by_default_neither_side_sends_zlib() {
    let zlib = CertificateCompressionAlgorithm::ZLIB.0;
    let (ours, theirs) = (OneByteLonger::new(zlib), OneByteLonger::new(zlib));
    let client = self::client()
        .certificate_compression(only(&ours))
        .offer_certificate_compression(true)
        .build()
        .unwrap();
    let server = tercel::ServerConfig::builder().credential(large_credential()).build().unwrap();
    let connected = Pair::new(&client, &server, NAME).connect().map(|mut ends| ends.talk());
    assert_eq!(connected, Ok(()), "of the server");
    let client = self::client().credential(large_credential()).build().unwrap();
    let server = crate::fixtures::server()
        .certificate_compression(only(&theirs))
        .offer_certificate_compression(true)
        .client_auth(ClientAuth::Required, roots())
        .build()
        .unwrap();
    let connected = Pair::new(&client, &server, NAME).connect().map(|mut ends| ends.talk());
    assert_eq!(connected, Ok(()), "of the client");
    assert_eq!((ours.uses(), theirs.uses()), ((0, 0), (0, 0)));
}

/// A server that configures zlib uses it, and a client decompresses it by default.
#[test]
#[cfg(feature = "zlib")]
fn zlib_is_sent_if_configured_and_read_by_default() {
    let flight = |offer| {
        let server = tercel::ServerConfig::builder()
            .credential(large_credential())
            .certificate_compression(vec![Arc::new(tercel::certificates::Zlib)])
            .build()
            .unwrap();
        let client = client().offer_certificate_compression(offer).build().unwrap();
        let mut sent = 0;
        let tap = |bytes: &mut Vec<u8>| sent += bytes.len();
        Pair::new(&client, &server, NAME).tap_to_client(tap).connect().unwrap().talk();
        sent
    };
    assert!(flight(true) + 300 < flight(false));
}

#[test]
fn both_sides_compress_their_certificates() {
    let (ours, theirs) = (OneByteLonger::new(0xff01), OneByteLonger::new(0xff01));
    let client = client()
        .certificate_compression(only(&ours))
        .offer_certificate_compression(true)
        .credential(credential(Kind::Ed25519));
    let server = server()
        .certificate_compression(only(&theirs))
        .offer_certificate_compression(true)
        .client_auth(ClientAuth::Required, roots());
    let mut ends = connect(client, server).unwrap();
    assert_eq!(ends.server.connection.info.peer_chain().len(), 1);
    ends.talk();
    assert_eq!((ours.uses(), theirs.uses()), ((1, 1), (1, 1)));
}

#[test]
fn a_credential_is_compressed_once_for_each_form() {
    let algorithm = OneByteLonger::new(0xff01);
    let shared = credential(Kind::P256)
        .ocsp_response(vec![1; 100])
        .signed_certificate_timestamps(vec![0, 4, 0, 2, 8, 9])
        .unwrap();
    let server = tercel::ServerConfig::builder()
        .credential(shared)
        .certificate_compression(only(&algorithm))
        .build()
        .unwrap();
    let reader = OneByteLonger::new(0xff01);
    for (forms, ocsp, timestamps) in
        [(1, false, false), (2, true, false), (3, false, true), (4, true, true)]
    {
        let client = client()
            .certificate_compression(only(&reader))
            .offer_certificate_compression(true)
            .request_ocsp(ocsp)
            .request_signed_certificate_timestamps(timestamps)
            .build()
            .unwrap();
        for _ in 0..3 {
            let ends = Pair::new(&client, &server, NAME).connect().unwrap();
            let info = ends.client.connection.info;
            assert_eq!(info.ocsp_response, ocsp.then(|| vec![1; 100]));
            let expected = timestamps.then(|| vec![0, 4, 0, 2, 8, 9]);
            assert_eq!(info.signed_certificate_timestamps, expected);
        }
        assert_eq!(algorithm.uses(), (forms, 0));
    }
    assert_eq!(reader.uses(), (0, 12));
}

#[test]
fn certificates_can_be_compressed_before_the_first_handshake() {
    let shared = || {
        credential(Kind::P256)
            .ocsp_response(vec![1; 100])
            .signed_certificate_timestamps(vec![0, 4, 0, 2, 8, 9])
            .unwrap()
    };
    let algorithm = OneByteLonger::new(0xff01);
    let set = Arc::new(tercel::certificates::Credentials::new(vec![shared()]));
    let server = tercel::ServerConfig::builder()
        .replaceable_credentials(Arc::clone(&set))
        .certificate_compression(only(&algorithm))
        .compress_certificates_ahead(true)
        .build()
        .unwrap();
    let connect = |ocsp, timestamps| {
        let client = client()
            .certificate_compression(only(&OneByteLonger::new(0xff01)))
            .offer_certificate_compression(true)
            .request_ocsp(ocsp)
            .request_signed_certificate_timestamps(timestamps)
            .build()
            .unwrap();
        Pair::new(&client, &server, NAME).connect().unwrap().client.connection.info
    };
    let connect_in_all_ways = || {
        for (ocsp, timestamps) in [(false, false), (true, false), (false, true), (true, true)] {
            connect(ocsp, timestamps);
        }
    };
    // Each form was compressed once, when the server was built. No form was compressed during a
    // handshake.
    assert_eq!(algorithm.uses().0, 4);
    connect_in_all_ways();
    assert_eq!(algorithm.uses().0, 4);
    // A renewed OCSP response or a new credential is compressed before its first use.
    let leaf = connect(true, true).take_peer_chain().remove(0);
    assert!(set.renew_ocsp_response(&leaf, &[2; 50]));
    assert_eq!(algorithm.uses().0, 8);
    assert_eq!(connect(true, true).ocsp_response, Some(vec![2; 50]));
    set.replace(vec![credential(Kind::P256)]);
    assert_eq!(algorithm.uses().0, 9);
    connect_in_all_ways();
    assert_eq!(algorithm.uses().0, 9);
    // The application calls this explicitly for credentials that are not in the configuration.
    let own = shared();
    server.compress_certificate(&own);
    assert_eq!(algorithm.uses().0, 13);
    server.compress_certificate(&own);
    assert_eq!(algorithm.uses().0, 13);
}

#[test]
fn nothing_is_compressed_ahead_by_default() {
    let algorithm = OneByteLonger::new(0xff01);
    server().certificate_compression(only(&algorithm)).build().unwrap();
    assert_eq!(algorithm.uses(), (0, 0));
}

#[test]
fn compression_needs_an_offer_a_common_algorithm_and_tls13() {
    let everyone = [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2];
    for (offer, code, versions) in
        [(false, 0xff01, &everyone[..]), (true, 0xff02, &everyone), (true, 0xff01, &everyone[1..])]
    {
        let (ours, theirs) = (OneByteLonger::new(code), OneByteLonger::new(0xff01));
        let client = client()
            .versions(versions)
            .certificate_compression(only(&ours))
            .offer_certificate_compression(offer);
        let server = server().certificate_compression(only(&theirs));
        connect(client, server).unwrap().talk();
        assert_eq!((ours.uses(), theirs.uses()), ((0, 0), (0, 0)));
    }
}

#[test]
fn the_sender_s_order_decides() {
    let (first, second) = (OneByteLonger::new(0xff01), OneByteLonger::new(0xff02));
    let in_order = |a: &Arc<OneByteLonger>, b: &Arc<OneByteLonger>| [only(a), only(b)].concat();
    let client = client()
        .certificate_compression(in_order(&second, &first))
        .offer_certificate_compression(true);
    let server = server().certificate_compression(in_order(&first, &second));
    connect(client, server).unwrap();
    assert_eq!((first.uses(), second.uses()), ((1, 1), (0, 0)));
}

#[test]
fn a_certificate_that_does_not_decompress_is_refused() {
    for side in [Side::Server, Side::Client] {
        let liar = || OneByteLonger::with_marks(0xff01, (6, 6));
        let honest = || OneByteLonger::new(0xff01);
        let (of_client, of_server) = match side {
            Side::Server => (honest(), liar()),
            Side::Client => (liar(), honest()),
        };
        let client = client()
            .certificate_compression(only(&of_client))
            .offer_certificate_compression(side == Side::Server)
            .credential(credential(Kind::P256));
        let server = server()
            .certificate_compression(only(&of_server))
            .offer_certificate_compression(true)
            .client_auth(ClientAuth::Required, roots());
        let failure = connect(client, server).unwrap_err();
        let refused = Some(Error::Peer(PeerError::BadCompressedCertificate));
        let reported = Some(Error::AlertReceived(AlertDescription::BAD_CERTIFICATE));
        match side {
            Side::Server => assert_eq!(failure, Failure { client: refused, server: reported }),
            // The client completed its handshake before the server read the certificate.
            Side::Client => assert_eq!(failure.server, refused),
        }
    }
}

#[test]
fn a_replaced_credential_is_compressed_again() {
    let algorithm = OneByteLonger::new(0xff01);
    let credentials =
        Arc::new(tercel::certificates::Credentials::new(vec![credential(Kind::P256)]));
    let server = tercel::ServerConfig::builder()
        .replaceable_credentials(Arc::clone(&credentials))
        .certificate_compression(only(&algorithm))
        .build()
        .unwrap();
    let client = client()
        .certificate_compression(only(&algorithm))
        .offer_certificate_compression(true)
        .build()
        .unwrap();
    let leaf = |credential: &Credential| credential.chain()[0].clone();
    for kind in [Kind::P384, Kind::Ed25519] {
        let next = credential(kind);
        let expected = leaf(&next);
        credentials.replace(vec![next]);
        let ends = Pair::new(&client, &server, NAME).connect().unwrap();
        assert_eq!(ends.client.connection.info.peer_chain()[0], expected);
    }
    assert_eq!(algorithm.uses(), (2, 2));
}

#[test]
fn two_algorithms_with_one_code_are_refused() {
    let twice = [only(&OneByteLonger::new(1)), only(&OneByteLonger::new(1))].concat();
    let refused = client().certificate_compression(twice).build().err();
    assert_eq!(refused, Some(ConfigError::BadCertificateCompression));
}
