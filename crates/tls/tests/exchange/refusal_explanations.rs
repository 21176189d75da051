//! A verifier's own explanation of a refusal: it is not sent, and the alert depends on the reason
//! only.

use std::sync::Arc;

use tercel::certificates::{PeerIdentity, VerifyPeer};
use tercel::pki::{Refusal, RefusalReason};
use tercel::server::ClientAuth;
use tercel::wire::{AlertDescription, ProtocolVersion};
use tercel::{
    ClientConfig, Connection, Error, Handshake, Next, Policy, Question, ReceiveBuffer,
    ServerConfig, Side,
};

use crate::fixtures::{KINDS, NAME, client, credential, leaf, server};

const BOTH_VERSIONS: [ProtocolVersion; 2] = [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2];

const EXPLANATION: &str = "not a service of the shop";

/// A verifier that refuses each peer for this reason, with this explanation if there is one.
#[derive(Clone, Copy)]
struct Refuses(RefusalReason, Option<&'static str>);

impl VerifyPeer for Refuses {
    fn verify_peer(&self, identity: &PeerIdentity<'_>) -> Result<(), Box<Refusal>> {
        let refusal = identity.refusal(self.0);
        assert_eq!(refusal.chain, identity.chain);
        assert_eq!(refusal.requested_name.as_ref(), identity.server_name);
        Err(Box::new(match self.1 {
            Some(text) => refusal.with_explanation(text),
            None => refusal,
        }))
    }
}

/// One side of a connection, until its handshake or its connection fails.
struct Party {
    handshake: Handshake,
    /// The connection of a TLS 1.3 client, whose handshake is complete before the server refuses
    /// it.
    connection: Option<Box<Connection>>,
    received: ReceiveBuffer,
    sent: Vec<u8>,
    error: Option<Error>,
}

impl Party {
    fn new(handshake: Handshake) -> Self {
        let (received, sent) = (ReceiveBuffer::new(), Vec::new());
        Self { handshake, connection: None, received, sent, error: None }
    }

    /// Continues until input is missing, and returns the bytes to send. Questions are answered as
    /// `verifier` would.
    fn step(&mut self, verifier: &dyn VerifyPeer) -> Vec<u8> {
        let mut out = Vec::new();
        while self.error.is_none() {
            if let Some(connection) = &mut self.connection {
                self.error = connection.receiver.open(&mut self.received).err();
                break;
            }
            match self.handshake.advance(&mut self.received, &mut out) {
                Ok(Next::Receive) => break,
                Ok(Next::Answer(Question::VerifyPeer(question))) => {
                    self.handshake.answer(question.resolve(verifier)).unwrap();
                }
                Ok(Next::Connected(connection)) => self.connection = Some(connection),
                Ok(other) => panic!("{other:?}"),
                Err(error) => self.error = Some(error),
            }
        }
        self.sent.extend_from_slice(&out);
        out
    }
}

/// Runs a handshake in which `side` refuses its peer. Returns that side, then the other side.
fn refuse(side: Side, version: ProtocolVersion, refuses: Refuses, asks: bool) -> [Party; 2] {
    let policy = || match asks {
        true => Policy::Ask,
        false => Policy::Here(Arc::new(refuses) as Arc<dyn VerifyPeer>),
    };
    let (client, server): (Arc<ClientConfig>, Arc<ServerConfig>) = match side {
        Side::Client => (
            ClientConfig::builder().versions(&[version]).verifier(policy()).build().unwrap(),
            server().build().unwrap(),
        ),
        Side::Server => (
            client().versions(&[version]).credential(credential(KINDS[1])).build().unwrap(),
            server().client_verifier(ClientAuth::Required, policy()).build().unwrap(),
        ),
    };
    let mut client = Party::new(Handshake::client(client, NAME.try_into().unwrap()));
    let mut server = Party::new(Handshake::server(server));
    while client.error.is_none() || server.error.is_none() {
        server.received.extend(&client.step(&refuses));
        let out = server.step(&refuses);
        client.received.extend(&out);
        assert!(client.sent.len() + server.sent.len() < 20_000, "no end in sight");
    }
    match side {
        Side::Client => [client, server],
        Side::Server => [server, client],
    }
}

const REASONS: [(RefusalReason, AlertDescription); 4] = [
    (RefusalReason::NameMismatch, AlertDescription::BAD_CERTIFICATE),
    (RefusalReason::UnknownIssuer, AlertDescription::UNKNOWN_CA),
    (RefusalReason::Revoked, AlertDescription::CERTIFICATE_REVOKED),
    (
        RefusalReason::ByVerifier { alert: AlertDescription::ACCESS_DENIED.0 },
        AlertDescription::ACCESS_DENIED,
    ),
];

/// Calls `test` for each side and version, with the verifier as an object and as an answer.
fn each_case(test: impl Fn(Side, ProtocolVersion, bool)) {
    for side in [Side::Client, Side::Server] {
        for version in BOTH_VERSIONS {
            for asks in [false, true] {
                test(side, version, asks);
            }
        }
    }
}

#[test]
fn the_explanation_reaches_the_refusal_of_the_handshake() {
    each_case(|side, version, asks| {
        for (reason, _) in REASONS {
            let [ours, other] = refuse(side, version, Refuses(reason, Some(EXPLANATION)), asks);
            assert_eq!(ours.error, Some(Error::Refused(reason)), "{side:?} {version}");
            let refusal = ours.handshake.refusal().unwrap();
            assert_eq!(refusal.reason, reason);
            assert_eq!(refusal.explanation.as_deref(), Some(EXPLANATION));
            let text = refusal.to_string();
            assert!(text.ends_with(&format!(": {EXPLANATION}")), "{text}");
            assert_eq!(refusal.chain.len(), 1);
            assert_eq!(refusal.names, [NAME]);
            assert!(other.handshake.refusal().is_none());
        }
    });
}

/// RFC 9846 6.2
#[test]
fn the_alert_is_that_of_the_reason() {
    each_case(|side, version, asks| {
        for (reason, alert) in REASONS {
            let [ours, other] = refuse(side, version, Refuses(reason, Some(EXPLANATION)), asks);
            assert_eq!(ours.error.and_then(Error::alert), Some(alert));
            assert_eq!(other.error, Some(Error::AlertReceived(alert)), "{side:?} {version}");
        }
    });
}

/// An alert has two bytes. All records have the same lengths as without an explanation. In TLS 1.2
/// a client's alert is not encrypted, and its bytes are compared too.
#[test]
fn nothing_of_the_explanation_is_sent() {
    each_case(|side, version, asks| {
        let sent = |explanation| {
            let refuses = Refuses(RefusalReason::UnknownIssuer, explanation);
            let [ours, _] = refuse(side, version, refuses, asks);
            assert!(!ours.sent.windows(7).any(|window| window == &EXPLANATION.as_bytes()[..7]));
            ours.sent
        };
        let (with, without) = (sent(Some(EXPLANATION)), sent(None));
        // Only the last record is compared, because ECDSA signatures have no fixed length.
        let alert = |sent: &[u8]| crate::pair::records(sent).pop().unwrap();
        let (with, without) = (alert(&with), alert(&without));
        assert_eq!((with.0, with.1.len()), (without.0, without.1.len()));
        match version {
            // The alert, its type and the tag, in a record of protected data.
            ProtocolVersion::TLS1_3 => assert_eq!((with.0, with.1.len()), (23, 2 + 1 + 16)),
            _ => assert_eq!(with, (21, vec![2, AlertDescription::UNKNOWN_CA.0])),
        }
    });
}

/// A raw public key has no chain, so the refusal contains only the explanation.
#[test]
fn a_raw_public_key_is_refused_with_an_explanation() {
    use tercel::pki_types::{PrivateKeyDer, SubjectPublicKeyInfoDer};
    use tercel::wire::CertificateType;
    let (chain, key) = leaf(KINDS[1], &[NAME]);
    let spki = tercel::pki::subject_public_key_info(&chain[0]).unwrap().to_vec();
    let key = PrivateKeyDer::Pkcs8(key.into());
    let raw = tercel::Credential::raw_public_key(SubjectPublicKeyInfoDer::from(spki), &key);
    let server = ServerConfig::builder().credential(raw.unwrap()).build().unwrap();
    let refuses = Refuses(RefusalReason::UntrustedRawKey, Some(EXPLANATION));
    let client = ClientConfig::builder()
        .verifier(Policy::Here(Arc::new(refuses)))
        .server_certificate_types(&[CertificateType::RAW_PUBLIC_KEY])
        .build()
        .unwrap();
    let mut client = Party::new(Handshake::client(client, NAME.try_into().unwrap()));
    let mut server = Party::new(Handshake::server(server));
    server.received.extend(&client.step(&refuses));
    let out = server.step(&refuses);
    client.received.extend(&out);
    client.step(&refuses);
    assert_eq!(client.error, Some(Error::Refused(RefusalReason::UntrustedRawKey)));
    let refusal = client.handshake.refusal().unwrap();
    assert!(refusal.chain.is_empty() && refusal.names.is_empty());
    assert_eq!(refusal.to_string(), format!("{}: {EXPLANATION}", refusal.reason));
}
