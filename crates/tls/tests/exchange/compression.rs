//! Certificate compression: who sends what to whom, and what a peer can get wrong. RFC 8879
//!
//! For: both directions, with the library's algorithms and with an application's own.
//! Must not know: how bytes are compressed. Next: `pair.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tercel::wire::{AlertDescription, CertificateCompressionAlgorithm, ProtocolVersion};
use tercel::{
    ClientAuth, ClientConfigBuilder, CompressCertificate, ConfigError, Credential,
    DecompressionFailed, Error, Peer, ServerConfigBuilder, Side,
};

use crate::identity::{Kind, NAME, client, credential, roots, server};
use crate::pair::{Ends, Failure, Pair};

/// An application's own: every certificate is "compressed" to itself and one byte.
struct Longer {
    code: u16,
    compressed: AtomicUsize,
    decompressed: AtomicUsize,
    /// What comes before the certificate, and what a reader expects there.
    marks: (u8, u8),
}

impl Longer {
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

impl CompressCertificate for Longer {
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

fn only(algorithm: &Arc<Longer>) -> Vec<Arc<dyn CompressCertificate>> {
    vec![Arc::clone(algorithm) as Arc<dyn CompressCertificate>]
}

fn connect(client: ClientConfigBuilder, server: ServerConfigBuilder) -> Result<Ends, Failure> {
    Pair::new(&client.build().unwrap(), &server.build().unwrap(), NAME).connect()
}

/// Bytes that a server sends up to its Finished, with this choice of the client.
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
fn a_chain_gets_smaller_if_the_client_wants_it() {
    let (plain, compressed) = (server_flight(false), server_flight(true));
    assert!(compressed + 300 < plain, "{compressed} {plain}");
}

#[test]
#[cfg(not(any(feature = "brotli", feature = "zstd")))]
fn without_algorithms_nothing_is_compressed() {
    assert!(server_flight(false).abs_diff(server_flight(true)) < 20);
}

/// A credential whose certificate gets smaller by any compression.
fn large_credential() -> Credential {
    let names: Vec<String> = (0..40).map(|host| format!("host{host}.{NAME}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).chain([NAME]).collect();
    crate::identity::credential_for(Kind::P256, &names)
}

/// There are peers that compress a certificate anew for their transcript, and deflate has many
/// encodings.
#[test]
fn by_default_neither_side_sends_zlib() {
    let zlib = CertificateCompressionAlgorithm::ZLIB.0;
    let (ours, theirs) = (Longer::new(zlib), Longer::new(zlib));
    let client = self::client()
        .certificate_compression(only(&ours))
        .offer_certificate_compression(true)
        .build()
        .unwrap();
    let server = tercel::ServerConfig::builder().credential(large_credential()).build().unwrap();
    let connected = Pair::new(&client, &server, NAME).connect().map(|mut ends| ends.talk());
    assert_eq!(connected, Ok(()), "of the server");
    let client = self::client().credential(large_credential()).build().unwrap();
    let server = crate::identity::server()
        .certificate_compression(only(&theirs))
        .offer_certificate_compression(true)
        .client_auth(ClientAuth::Required, roots())
        .build()
        .unwrap();
    let connected = Pair::new(&client, &server, NAME).connect().map(|mut ends| ends.talk());
    assert_eq!(connected, Ok(()), "of the client");
    assert_eq!((ours.uses(), theirs.uses()), ((0, 0), (0, 0)));
}

/// A server that names zlib has it used, and by default a client reads it.
#[test]
#[cfg(feature = "zlib")]
fn zlib_is_sent_where_it_is_named_and_read_by_default() {
    let flight = |offer| {
        let server = tercel::ServerConfig::builder()
            .credential(large_credential())
            .certificate_compression(vec![Arc::new(tercel::Zlib)])
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
fn both_sides_compress_for_each_other() {
    let (ours, theirs) = (Longer::new(0xff01), Longer::new(0xff01));
    let client = client()
        .certificate_compression(only(&ours))
        .offer_certificate_compression(true)
        .credential(credential(Kind::Ed25519));
    let server = server()
        .certificate_compression(only(&theirs))
        .offer_certificate_compression(true)
        .client_auth(ClientAuth::Required, roots());
    let mut ends = connect(client, server).unwrap();
    assert_eq!(ends.server.connection.facts.peer_chain().len(), 1);
    ends.talk();
    assert_eq!((ours.uses(), theirs.uses()), ((1, 1), (1, 1)));
}

#[test]
fn a_credential_is_compressed_once_for_each_form() {
    let algorithm = Longer::new(0xff01);
    let shared = credential(Kind::P256)
        .ocsp_response(vec![1; 100])
        .signed_certificate_timestamps(vec![0, 4, 0, 2, 8, 9])
        .unwrap();
    let server = tercel::ServerConfig::builder()
        .credential(shared)
        .certificate_compression(only(&algorithm))
        .build()
        .unwrap();
    let reader = Longer::new(0xff01);
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
            let facts = ends.client.connection.facts;
            assert_eq!(facts.ocsp_response, ocsp.then(|| vec![1; 100]));
            let expected = timestamps.then(|| vec![0, 4, 0, 2, 8, 9]);
            assert_eq!(facts.signed_certificate_timestamps, expected);
        }
        assert_eq!(algorithm.uses(), (forms, 0));
    }
    assert_eq!(reader.uses(), (0, 12));
}

#[test]
fn certificates_can_be_compressed_before_anybody_connects() {
    let shared = || {
        credential(Kind::P256)
            .ocsp_response(vec![1; 100])
            .signed_certificate_timestamps(vec![0, 4, 0, 2, 8, 9])
            .unwrap()
    };
    let algorithm = Longer::new(0xff01);
    let set = Arc::new(tercel::Credentials::new(vec![shared()]));
    let server = tercel::ServerConfig::builder()
        .replaceable_credentials(Arc::clone(&set))
        .certificate_compression(only(&algorithm))
        .compress_certificates_ahead(true)
        .build()
        .unwrap();
    let connect = |ocsp, timestamps| {
        let client = client()
            .certificate_compression(only(&Longer::new(0xff01)))
            .offer_certificate_compression(true)
            .request_ocsp(ocsp)
            .request_signed_certificate_timestamps(timestamps)
            .build()
            .unwrap();
        Pair::new(&client, &server, NAME).connect().unwrap().client.connection.facts
    };
    let connect_in_all_ways = || {
        for (ocsp, timestamps) in [(false, false), (true, false), (false, true), (true, true)] {
            connect(ocsp, timestamps);
        }
    };
    // Each form once, and none of them by a handshake.
    assert_eq!(algorithm.uses().0, 4);
    connect_in_all_ways();
    assert_eq!(algorithm.uses().0, 4);
    // A staple that is renewed, and a credential that is new, are ready before they are used.
    let leaf = connect(true, true).take_peer_chain().remove(0);
    assert!(set.renew_ocsp_response(&leaf, &[2; 50]));
    assert_eq!(algorithm.uses().0, 8);
    assert_eq!(connect(true, true).ocsp_response, Some(vec![2; 50]));
    set.replace(vec![credential(Kind::P256)]);
    assert_eq!(algorithm.uses().0, 9);
    connect_in_all_ways();
    assert_eq!(algorithm.uses().0, 9);
    // By hand, for credentials that come from elsewhere.
    let own = shared();
    server.compress_certificate(&own);
    assert_eq!(algorithm.uses().0, 13);
    server.compress_certificate(&own);
    assert_eq!(algorithm.uses().0, 13);
}

#[test]
fn nothing_is_compressed_ahead_by_default() {
    let algorithm = Longer::new(0xff01);
    server().certificate_compression(only(&algorithm)).build().unwrap();
    assert_eq!(algorithm.uses(), (0, 0));
}

#[test]
fn it_is_not_used_unasked_or_without_a_common_algorithm_or_before_tls13() {
    let everyone = [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2];
    for (offer, code, versions) in
        [(false, 0xff01, &everyone[..]), (true, 0xff02, &everyone), (true, 0xff01, &everyone[1..])]
    {
        let (ours, theirs) = (Longer::new(code), Longer::new(0xff01));
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
    let (first, second) = (Longer::new(0xff01), Longer::new(0xff02));
    let in_order = |a: &Arc<Longer>, b: &Arc<Longer>| [only(a), only(b)].concat();
    let client = client()
        .certificate_compression(in_order(&second, &first))
        .offer_certificate_compression(true);
    let server = server().certificate_compression(in_order(&first, &second));
    connect(client, server).unwrap();
    assert_eq!((first.uses(), second.uses()), ((1, 1), (0, 0)));
}

#[test]
fn a_certificate_that_does_not_decompress_is_a_bad_one() {
    for side in [Side::Server, Side::Client] {
        let liar = || Longer::with_marks(0xff01, (6, 6));
        let honest = || Longer::new(0xff01);
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
        let refused = Some(Error::Peer(Peer::BadCompressedCertificate));
        let told = Some(Error::AlertReceived(AlertDescription::BAD_CERTIFICATE));
        match side {
            Side::Server => assert_eq!(failure, Failure { client: refused, server: told }),
            // The client was through before the server looked.
            Side::Client => assert_eq!(failure.server, refused),
        }
    }
}

#[test]
fn a_credential_replaced_is_compressed_anew() {
    let algorithm = Longer::new(0xff01);
    let credentials = Arc::new(tercel::Credentials::new(vec![credential(Kind::P256)]));
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
        assert_eq!(ends.client.connection.facts.peer_chain()[0], expected);
    }
    assert_eq!(algorithm.uses(), (2, 2));
}

#[test]
fn two_algorithms_with_one_code_are_no_configuration() {
    let twice = [only(&Longer::new(1)), only(&Longer::new(1))].concat();
    let refused = client().certificate_compression(twice).build().err();
    assert_eq!(refused, Some(ConfigError::BadCertificateCompression));
}
