//! Clients and servers that break the rules of authentication after the handshake. RFC 9846 4.7.2
//!
//! What it is for: messages that only a peer with the right keys can send, sealed by a connection's own
//! sender. Must not know: how the answer of an honest client is made, but by its parts.
//! Next: `connection/authentication/`.

use std::sync::Arc;

use tercel_crypto::Hash;
use tercel_wire::{
    AlertDescription, AlertLevel, Certificate, CertificateRequest, CertificateRequestExtensions,
    CertificateVerify, ContentType, Finished, HandshakeMessage, HandshakeType, List,
    SignatureScheme,
};

use super::adversary::{credential, name};
use crate::config::client::ClientConfig;
use crate::config::compression::{CompressCertificate, DecompressionFailed};
use crate::config::credential::{Credential, Key};
use crate::config::policy::{Policy, Side};
use crate::config::scheme;
use crate::config::server::{ClientAuth, ServerConfig, ServerConfigBuilder};
use crate::config::verifier::AcceptAnyPeer;
use crate::connection::Connection;
use crate::connection::authentication::certificate::content_to_sign;
use crate::connection::authentication::compression::compress;
use crate::connection::buffer::Received;
use crate::connection::receiver::Opened;
use crate::error::{Error, Peer};
use crate::handshake::{Handshake, Next};
use crate::keys::tls13::TrafficSecret;

const SCHEME: SignatureScheme = SignatureScheme::ECDSA_SECP256R1_SHA256;

/// A connection with a client whose words the tests choose, or a server's.
struct Ends {
    client: Connection,
    server: Connection,
    to_server: Received,
    to_client: Received,
}

/// What a receiver found last.
#[derive(Debug, PartialEq)]
enum Seen {
    Nothing,
    Data,
    Requested,
    Answered { verified: bool },
    Closed,
}

/// A client's answer in parts, to be spoilt.
struct Parts {
    id: Vec<u8>,
    transcript: Hash,
    secret: TrafficSecret,
    credential: Arc<Credential>,
}

impl Parts {
    /// To the request that was written last.
    fn to(ends: &mut Ends, demand: ClientAuth) -> Self {
        let requester = ends.server.requester.as_ref().unwrap();
        let mut message = Vec::new();
        let pending = requester.request(demand, &mut message).unwrap();
        let (id, transcript) = (pending.context().to_vec(), pending.transcript().clone());
        ends.server.receiver.expect(pending).unwrap();
        let secret = secret_of(&ends.client);
        Self { id, transcript, secret, credential: Arc::new(credential()) }
    }

    fn add(&mut self, message: Vec<u8>) -> Vec<u8> {
        self.transcript.update(&message);
        message
    }

    fn certificate(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        let extensions = Default::default();
        Certificate::encode_chain(&self.id, self.credential.chain(), &extensions, &mut out)
            .unwrap();
        self.add(out)
    }

    fn nothing(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        let certificate_list = List::of(&[]);
        Certificate { certificate_request_context: &self.id, certificate_list }
            .encode(&mut out)
            .unwrap();
        self.add(out)
    }

    fn verify(&mut self) -> Vec<u8> {
        self.verify_as(Side::Client, SCHEME)
    }

    fn verify_as(&mut self, side: Side, algorithm: SignatureScheme) -> Vec<u8> {
        let content = content_to_sign(side, &self.transcript.fork_finish());
        let Key::Here(signer) = self.credential.key() else { panic!() };
        let signature = signer.sign(scheme::algorithm(SCHEME).unwrap(), &content).unwrap();
        let mut out = Vec::new();
        CertificateVerify { algorithm, signature: &signature }.encode(&mut out).unwrap();
        self.add(out)
    }

    fn finished(&mut self) -> Vec<u8> {
        let verify_data = self.secret.verify_data(&self.transcript.fork_finish());
        let mut out = Vec::new();
        Finished { verify_data: &verify_data }.encode(&mut out).unwrap();
        out
    }

    fn flight(&mut self) -> Vec<u8> {
        [self.certificate(), self.verify(), self.finished()].concat()
    }
}

impl Ends {
    fn new() -> Self {
        Self::with(true, |server| server)
    }

    fn with(
        offered: bool,
        change: impl FnOnce(ServerConfigBuilder) -> ServerConfigBuilder,
    ) -> Self {
        let anyone = || Policy::Here(Arc::new(AcceptAnyPeer) as _);
        let client = ClientConfig::builder().verifier(anyone()).post_handshake_auth(offered);
        let server = ServerConfig::builder()
            .credential(credential())
            .without_tickets()
            .client_verifier(ClientAuth::None, anyone());
        let mut client = Handshake::client(client.build().unwrap(), name());
        let mut server = Handshake::server(change(server).build().unwrap());
        let (mut to_server, mut to_client) = (Received::new(), Received::new());
        let (mut of_client, mut of_server) = (None, None);
        while of_client.is_none() || of_server.is_none() {
            advance(&mut client, &mut of_client, &mut to_client, &mut to_server);
            advance(&mut server, &mut of_server, &mut to_server, &mut to_client);
        }
        let (client, server) = (*of_client.unwrap(), *of_server.unwrap());
        Self { client, server, to_server, to_client }
    }

    /// The client says this in handshake records; what the server makes of it.
    fn client_says(&mut self, messages: &[u8]) -> Result<Seen, Error> {
        say(&mut self.client, ContentType::HANDSHAKE, messages, &mut self.to_server);
        hear(&mut self.server, &mut self.to_server)
    }

    fn server_says(&mut self, messages: &[u8]) -> Result<Seen, Error> {
        say(&mut self.server, ContentType::HANDSHAKE, messages, &mut self.to_client);
        hear(&mut self.client, &mut self.to_client)
    }

    /// Application data of the client.
    fn data(&mut self, data: &[u8]) -> Result<Seen, Error> {
        say(&mut self.client, ContentType::APPLICATION_DATA, data, &mut self.to_server);
        hear(&mut self.server, &mut self.to_server)
    }

    /// The client changes its key.
    fn update(&mut self) -> Result<Seen, Error> {
        let mut out = Vec::new();
        self.client.sender.update_key(false, &mut out).unwrap();
        self.to_server.extend(&out);
        hear(&mut self.server, &mut self.to_server)
    }
}

fn advance(
    handshake: &mut Handshake,
    connection: &mut Option<Box<Connection>>,
    received: &mut Received,
    sent: &mut Received,
) {
    if connection.is_some() {
        return;
    }
    let mut out = Vec::new();
    if let Next::Connected(connected) = handshake.advance(received, &mut out).unwrap() {
        *connection = Some(connected);
    }
    sent.extend(&out);
}

fn say(from: &mut Connection, kind: ContentType, content: &[u8], to: &mut Received) {
    let mut out = Vec::new();
    from.sender.sealer().unwrap().seal_to(kind, content, &mut out).unwrap();
    to.extend(&out);
}

/// What it seals under.
fn secret_of(end: &Connection) -> TrafficSecret {
    end.sender.keys().as_ref().unwrap().traffic_secret().unwrap().duplicate()
}

/// A record of application data without any, which our sealer never makes.
fn empty_data(from: &mut Connection, to: &mut Received) {
    let protection = from.sender.sealer().unwrap().protection_mut().unwrap();
    let length = protection.overhead();
    let [.., high, low] = length.to_be_bytes();
    let mut record = vec![ContentType::APPLICATION_DATA.0, 3, 3, high, low];
    record.resize(5 + length, 0);
    let kind = ContentType::APPLICATION_DATA;
    protection.seal(kind, &[], &[kind.0], &mut record).unwrap();
    to.extend(&record);
}

/// Everything up to the first that is not data, or the last data.
fn hear(end: &mut Connection, received: &mut Received) -> Result<Seen, Error> {
    let mut seen = Seen::Nothing;
    loop {
        match end.receiver.open(received)? {
            Opened::Data(_) => seen = Seen::Data,
            Opened::More => return Ok(seen),
            Opened::Closed => return Ok(Seen::Closed),
            Opened::CertificateRequested(_) => seen = Seen::Requested,
            Opened::ClientCertificate(answer) => {
                seen = Seen::Answered { verified: answer.is_verified() };
            }
        }
    }
}

fn bad(peer: Peer) -> Result<Seen, Error> {
    Err(peer.into())
}

const ANSWERED: Result<Seen, Error> = Ok(Seen::Answered { verified: true });
const DECLINED: Result<Seen, Error> = Ok(Seen::Answered { verified: false });

#[test]
fn the_parts_make_an_answer() {
    let mut ends = Ends::new();
    let mut parts = Parts::to(&mut ends, ClientAuth::Required);
    let flight = parts.flight();
    assert_eq!(ends.client_says(&flight), ANSWERED);
    let mut parts = Parts::to(&mut ends, ClientAuth::Optional);
    let flight = [parts.nothing(), parts.finished()].concat();
    assert_eq!(ends.client_says(&flight), DECLINED);
    // One record for each message is as good.
    let mut parts = Parts::to(&mut ends, ClientAuth::Required);
    let (certificate, verify) = (parts.certificate(), parts.verify());
    assert_eq!(ends.client_says(&certificate), Ok(Seen::Nothing));
    assert_eq!(ends.client_says(&verify), Ok(Seen::Nothing));
    assert_eq!(ends.client_says(&parts.finished()), ANSWERED);
    assert_eq!(ends.data(b"data"), Ok(Seen::Data));
}

#[test]
fn an_answer_that_nobody_asked_for_is_refused() {
    let mut ends = Ends::new();
    let mut parts = Parts::to(&mut ends, ClientAuth::Required);
    let flight = parts.flight();
    assert_eq!(ends.client_says(&flight), ANSWERED);
    assert_eq!(ends.client_says(&flight), bad(Peer::UnexpectedMessage), "a second time");
    for kind in [
        HandshakeType::CERTIFICATE,
        HandshakeType::COMPRESSED_CERTIFICATE,
        HandshakeType::CERTIFICATE_VERIFY,
        HandshakeType::FINISHED,
        HandshakeType::CERTIFICATE_REQUEST,
    ] {
        let refused = Ends::new().client_says(&[kind.0, 0, 0, 1, 0]);
        assert_eq!(refused, bad(Peer::UnexpectedMessage), "{kind:?}");
        // Nor is a request answered by anything but a Certificate.
        let mut ends = Ends::new();
        let _ = Parts::to(&mut ends, ClientAuth::Required);
        if kind != HandshakeType::CERTIFICATE {
            let refused = ends.client_says(&[kind.0, 0, 0, 1, 0]);
            assert_eq!(refused, bad(Peer::UnexpectedMessage), "{kind:?}");
        }
    }
}

#[test]
fn an_answer_has_the_context_of_a_request() {
    for id in [&[][..], &[7; 32], &[7; 255]] {
        let mut ends = Ends::new();
        let mut parts = Parts::to(&mut ends, ClientAuth::Required);
        parts.id = id.to_vec();
        assert_eq!(ends.client_says(&parts.flight()), bad(Peer::WrongCertificateContext));
    }
    // The context of one request does not go with the transcript of another.
    let mut ends = Ends::new();
    let first = Parts::to(&mut ends, ClientAuth::Required);
    let mut second = Parts::to(&mut ends, ClientAuth::Required);
    second.id = first.id;
    assert_eq!(ends.client_says(&second.flight()), bad(Peer::BadSignature));
    let mut ends = Ends::new();
    let first = Parts::to(&mut ends, ClientAuth::Optional);
    let mut second = Parts::to(&mut ends, ClientAuth::Optional);
    second.id = first.id;
    let flight = [second.nothing(), second.finished()].concat();
    assert_eq!(ends.client_says(&flight), bad(Peer::BadFinished));
}

#[test]
fn who_shows_a_certificate_proves_to_have_its_key() {
    let mut ends = Ends::new();
    let mut parts = Parts::to(&mut ends, ClientAuth::Required);
    let flight = [parts.certificate(), parts.finished()].concat();
    assert_eq!(ends.client_says(&flight), bad(Peer::InterruptedAuthentication));

    let mut ends = Ends::new();
    let mut parts = Parts::to(&mut ends, ClientAuth::Required);
    let flight = [parts.certificate(), parts.verify_as(Side::Server, SCHEME)].concat();
    assert_eq!(ends.client_says(&flight), bad(Peer::BadSignature), "the server's context string");

    let mut ends = Ends::new();
    let mut parts = Parts::to(&mut ends, ClientAuth::Required);
    let mut flight = [parts.certificate(), parts.verify()].concat();
    *flight.last_mut().unwrap() ^= 1;
    assert_eq!(ends.client_says(&flight), bad(Peer::BadSignature));

    let mut ends = Ends::with(true, |server| server.signature_schemes(&[SCHEME]));
    let mut parts = Parts::to(&mut ends, ClientAuth::Required);
    let other = SignatureScheme::ECDSA_SECP384R1_SHA384;
    let flight = [parts.certificate(), parts.verify_as(Side::Client, other)].concat();
    assert_eq!(ends.client_says(&flight), bad(Peer::WrongSignatureScheme));
}

#[test]
fn who_shows_nothing_signs_nothing() {
    let mut ends = Ends::new();
    let mut parts = Parts::to(&mut ends, ClientAuth::Optional);
    let flight = [parts.nothing(), parts.verify()].concat();
    assert_eq!(ends.client_says(&flight), bad(Peer::InterruptedAuthentication));
    let mut ends = Ends::new();
    let mut parts = Parts::to(&mut ends, ClientAuth::Required);
    assert_eq!(ends.client_says(&parts.nothing()), bad(Peer::CertificateRequired));
}

#[test]
fn finished_is_made_under_the_current_key_over_the_whole_answer() {
    for declines in [false, true] {
        let begin = |parts: &mut Parts| {
            if declines {
                return parts.nothing();
            }
            [parts.certificate(), parts.verify()].concat()
        };
        let mut ends = Ends::new();
        let mut parts = Parts::to(&mut ends, ClientAuth::Optional);
        let mut flight = [begin(&mut parts), parts.finished()].concat();
        *flight.last_mut().unwrap() ^= 1;
        assert_eq!(ends.client_says(&flight), bad(Peer::BadFinished));

        // An update later, the secret is another.
        let mut ends = Ends::new();
        let mut parts = Parts::to(&mut ends, ClientAuth::Optional);
        assert_eq!(ends.update(), Ok(Seen::Nothing));
        let flight = [begin(&mut parts), parts.finished()].concat();
        assert_eq!(ends.client_says(&flight), bad(Peer::BadFinished), "the old key's");
        let mut ends = Ends::new();
        let mut parts = Parts::to(&mut ends, ClientAuth::Optional);
        parts.secret = parts.secret.next();
        let flight = [begin(&mut parts), parts.finished()].concat();
        assert_eq!(ends.client_says(&flight), bad(Peer::BadFinished), "the next key's");

        // The server's secret is no base for it.
        let mut ends = Ends::new();
        let mut parts = Parts::to(&mut ends, ClientAuth::Optional);
        parts.secret = secret_of(&ends.server);
        let flight = [begin(&mut parts), parts.finished()].concat();
        assert_eq!(ends.client_says(&flight), bad(Peer::BadFinished));
    }
}

#[test]
fn nothing_comes_between_the_messages_of_an_answer() {
    // RFC 9846 4.7.2
    for messages in 1..=2 {
        let begun = || {
            let mut ends = Ends::new();
            let mut parts = Parts::to(&mut ends, ClientAuth::Required);
            let certificate = parts.certificate();
            assert_eq!(ends.client_says(&certificate), Ok(Seen::Nothing));
            if messages == 2 {
                let verify = parts.verify();
                assert_eq!(ends.client_says(&verify), Ok(Seen::Nothing));
            }
            (ends, certificate)
        };
        let interrupted = || bad(Peer::InterruptedAuthentication);
        assert_eq!(begun().0.data(b"data"), interrupted());
        let (mut ends, _) = begun();
        empty_data(&mut ends.client, &mut ends.to_server);
        assert_eq!(hear(&mut ends.server, &mut ends.to_server), interrupted());
        assert_eq!(begun().0.update(), interrupted());
        let (mut ends, _) = begun();
        let canceled = [AlertLevel::WARNING.0, AlertDescription::USER_CANCELED.0];
        say(&mut ends.client, ContentType::ALERT, &canceled, &mut ends.to_server);
        assert_eq!(hear(&mut ends.server, &mut ends.to_server), interrupted());
        let (mut ends, certificate) = begun();
        assert_eq!(ends.client_says(&certificate), interrupted());
        // Not even the beginning of another answer.
        let (mut ends, _) = begun();
        let mut other = Parts::to(&mut ends, ClientAuth::Required);
        assert_eq!(ends.client_says(&other.certificate()), interrupted());
    }
    // Nor within a message. RFC 9846 5.1
    let mut ends = Ends::new();
    let mut parts = Parts::to(&mut ends, ClientAuth::Required);
    let certificate = parts.certificate();
    assert_eq!(ends.client_says(&certificate[..100]), Ok(Seen::Nothing));
    assert_eq!(ends.data(b"data"), bad(Peer::InterruptedHandshakeMessage));
}

#[test]
fn of_a_message_without_a_place_not_even_a_part_is_kept() {
    let unexpected = || bad(Peer::UnexpectedMessage);
    let head = |kind: HandshakeType| [&[kind.0, 0, 0x40, 0][..], &[0; 100]].concat();
    let late =
        [HandshakeType::CERTIFICATE, HandshakeType::CERTIFICATE_VERIFY, HandshakeType::FINISHED];
    for kind in [HandshakeType::NEW_SESSION_TICKET, HandshakeType::CLIENT_HELLO, late[0], late[1]] {
        assert_eq!(Ends::new().client_says(&head(kind)), unexpected());
    }
    for kind in [HandshakeType::SERVER_HELLO, late[0], late[1]] {
        assert_eq!(Ends::new().server_says(&head(kind)), unexpected());
    }
    // Nor of an answer, once it was given.
    let mut ends = Ends::new();
    let flight = Parts::to(&mut ends, ClientAuth::Required).flight();
    assert_eq!(ends.client_says(&flight), Ok(Seen::Answered { verified: true }));
    assert_eq!(ends.client_says(&head(HandshakeType::CERTIFICATE)), unexpected());
    // One byte tells what it is to be.
    assert_eq!(Ends::new().client_says(&[late[2].0]), unexpected());
}

#[test]
fn a_close_within_an_answer_is_a_close() {
    let mut ends = Ends::new();
    let mut parts = Parts::to(&mut ends, ClientAuth::Required);
    assert_eq!(ends.client_says(&parts.certificate()), Ok(Seen::Nothing));
    let mut out = Vec::new();
    ends.client.sender.close(&mut out).unwrap();
    ends.to_server.extend(&out);
    assert_eq!(hear(&mut ends.server, &mut ends.to_server), Ok(Seen::Closed));
}

#[test]
fn a_certificate_is_no_longer_than_in_a_handshake() {
    let mut ends = Ends::new();
    let _ = Parts::to(&mut ends, ClientAuth::Required);
    assert_eq!(ends.client_says(&[11, 1, 0xff, 0xff]), bad(Peer::MessageTooLong));
    let mut ends = Ends::new();
    let _ = Parts::to(&mut ends, ClientAuth::Required);
    let refused = ends.client_says(&[11, 0, 0, 1, 9]);
    assert!(matches!(refused, Err(Error::Peer(Peer::Decode(_)))), "{refused:?}");
}

#[test]
fn a_compressed_certificate_is_read_if_that_was_offered() {
    for offered in [true, false] {
        let mut ends = Ends::with(true, |server| {
            let algorithms: Vec<Arc<dyn CompressCertificate>> = vec![Arc::new(Copied)];
            server.certificate_compression(algorithms).offer_certificate_compression(offered)
        });
        let mut parts = Parts::to(&mut ends, ClientAuth::Required);
        let certificate = parts.transcript.clone();
        let compressed = compress(&Copied, &parts.certificate()).unwrap().unwrap();
        // What was sent counts. RFC 8879 4
        parts.transcript = certificate;
        let certificate = parts.add(compressed);
        let flight = [certificate, parts.verify(), parts.finished()].concat();
        let expected = if offered { ANSWERED } else { bad(Peer::UnexpectedMessage) };
        assert_eq!(ends.client_says(&flight), expected);
    }
}

/// Leaves everything as it is.
struct Copied;

impl CompressCertificate for Copied {
    fn algorithm(&self) -> tercel_wire::CertificateCompressionAlgorithm {
        tercel_wire::CertificateCompressionAlgorithm(0x4000)
    }

    fn compress(&self, certificate: &[u8]) -> Option<Vec<u8>> {
        Some(certificate.to_vec())
    }

    fn decompress(&self, compressed: &[u8], out: &mut [u8]) -> Result<(), DecompressionFailed> {
        if out.len() != compressed.len() {
            return Err(DecompressionFailed);
        }
        out.copy_from_slice(compressed);
        Ok(())
    }
}

fn request(context: &[u8], schemes: &[SignatureScheme]) -> Vec<u8> {
    let mut out = Vec::new();
    let extensions = CertificateRequestExtensions {
        signature_algorithms: (!schemes.is_empty()).then(|| List::of(schemes)),
        certificate_authorities: None,
        ..Default::default()
    };
    CertificateRequest { certificate_request_context: context, extensions }
        .encode(&mut out)
        .unwrap();
    out
}

#[test]
fn a_client_that_did_not_offer_it_refuses_a_request() {
    let mut ends = Ends::with(false, |server| server);
    assert_eq!(ends.server_says(&request(&[1], &[SCHEME])), bad(Peer::UnexpectedMessage));
}

#[test]
fn a_request_names_signature_schemes() {
    // RFC 9846 4.4.2
    let refused = Ends::new().server_says(&request(&[1], &[]));
    assert_eq!(refused, bad(Peer::MissingServerExtension));
    let refused = Ends::new().server_says(&[13, 0, 0, 1, 9]);
    assert!(matches!(refused, Err(Error::Peer(Peer::Decode(_)))), "{refused:?}");
}

#[test]
fn a_context_is_used_once() {
    // RFC 9846 4.4.2
    for context in [&[][..], &[1], &[1; 255]] {
        let mut ends = Ends::new();
        assert_eq!(ends.server_says(&request(context, &[SCHEME])), Ok(Seen::Requested));
        assert_eq!(ends.server_says(&request(&[2], &[SCHEME])), Ok(Seen::Requested));
        let again = request(context, &[SCHEME, SignatureScheme::ED25519]);
        assert_eq!(ends.server_says(&again), bad(Peer::WrongCertificateContext));
    }
}

#[test]
fn requests_that_are_not_answered_are_few() {
    let flood = |from: u8, to: u8| -> Vec<u8> {
        (from..to).flat_map(|context| request(&[context], &[SCHEME])).collect()
    };
    let mut ends = Ends::new();
    assert_eq!(ends.server_says(&flood(0, 8)), Ok(Seen::Requested));
    // Each of those was let go: there is room for as many more.
    assert_eq!(ends.server_says(&flood(8, 16)), Ok(Seen::Requested));
    assert_eq!(ends.server_says(&flood(16, 25)), bad(Peer::TooManyCertificateRequests));
    // Many more contexts than are remembered are no trouble.
    let mut ends = Ends::new();
    for context in 0..100 {
        assert_eq!(ends.server_says(&flood(context, context + 1)), Ok(Seen::Requested));
    }
}

#[test]
fn a_request_may_come_in_pieces_but_not_around_data() {
    let mut ends = Ends::new();
    let message = request(&[1], &[SCHEME]);
    let (begin, end) = message.split_at(6);
    assert_eq!(ends.server_says(begin), Ok(Seen::Nothing));
    assert_eq!(ends.server_says(end), Ok(Seen::Requested));
    let message = request(&[2], &[SCHEME]);
    assert_eq!(ends.server_says(&message[..6]), Ok(Seen::Nothing));
    say(&mut ends.server, ContentType::APPLICATION_DATA, b"data", &mut ends.to_client);
    let refused = hear(&mut ends.client, &mut ends.to_client);
    assert_eq!(refused, bad(Peer::InterruptedHandshakeMessage));
}
