//! The handshakes of RFC 8448: every secret, key, Finished and record must equal the published
//! value.
//!
//! The tests compare key schedule, transcript and record protection with the published values.
//! Random values (signatures, randoms, shares) are taken from the traces.

mod file;
mod steps;

use tercel_crypto::{KeyExchange, KeyExchangeAlgorithm, SharedSecret};
use tercel_pki::RefusalReason;
use tercel_wire::{
    Certificate, CertificateVerify, CipherSuite, ClientHello, ContentType, HandshakeMessage,
    HandshakeType, ServerHello, SignatureScheme,
};

use crate::handshake::transcript::Transcript;
use crate::keys::direction::Keys;
use crate::keys::suite::Suite;
use crate::keys::tls13::{
    ApplicationSecrets, CLIENT_CONTEXT, EarlySecret, HandshakeKeys, HandshakeTraffic, PskKind,
    SERVER_CONTEXT, SignedContent,
};
use crate::keys::{scheme, suite};
use crate::record::frame::RecordVersion;
use crate::record::opener::Opener;
use crate::record::protection::Protection;
use crate::record::sealer::Sealer;
use crate::side::Side;
use file::{Step, Trace};

const SIMPLE: &str = include_str!("simple.txt");
const RESUMED: &str = include_str!("resumed.txt");
const RETRY: &str = include_str!("retry.txt");
const CLIENT_AUTH: &str = include_str!("client_auth.txt");
const COMPATIBILITY: &str = include_str!("compatibility.txt");

#[test]
fn simple_handshake() {
    Replay::of(&Trace::parse(SIMPLE), None).check_all(9);
}

/// RFC 9846 4.6
#[test]
fn resumed_handshake_with_early_data() {
    let (simple, resumed) = (Trace::parse(SIMPLE), Trace::parse(RESUMED));
    // The ticket of the simple handshake is resumed.
    let psk = simple.value("derive resumption", "expanded");
    assert_eq!(psk, resumed.step(Side::Client, "extract early").value("ikm"));
    Replay::of(&resumed, Some(psk)).check_all(10);
}

/// RFC 9846 4.1
#[test]
fn handshake_after_a_hello_retry_request() {
    Replay::of(&Trace::parse(RETRY), None).check_all(8);
}

/// RFC 9846 4.5
#[test]
fn handshake_with_client_authentication() {
    Replay::of(&Trace::parse(CLIENT_AUTH), None).check_all(6);
}

#[test]
fn handshake_in_compatibility_mode() {
    Replay::of(&Trace::parse(COMPATIBILITY), None).check_all(8);
}

/// Both ends of a trace, each with its own record layer.
struct Replay<'t> {
    trace: &'t Trace,
    psk: Option<&'t [u8]>,
    suite: &'static Suite,
    client: End,
    server: End,
    first_hello: Vec<u8>,
    transcript: Transcript,
    /// The handshake keys, which exist from the ServerHello.
    handshake: Option<HandshakeKeys>,
    /// The application secrets, which exist from the server's Finished, with its transcript hash.
    application: Option<ApplicationSecrets>,
}

struct End {
    sealer: Sealer,
    opener: Opener,
}

impl<'t> Replay<'t> {
    fn of(trace: &'t Trace, psk: Option<&'t [u8]>) -> Self {
        let suite = suite::find(CipherSuite::TLS_AES_128_GCM_SHA256).unwrap();
        let end = || End { sealer: Sealer::new(), opener: Opener::new() };
        let mut client = end();
        client.sealer.version = [3, 1];
        Self {
            trace,
            psk,
            suite,
            client,
            server: end(),
            first_hello: Vec::new(),
            transcript: Transcript::new(suite.hash),
            handshake: None,
            application: None,
        }
    }

    /// Checks every record. The trace must have `records` records.
    fn check_all(mut self, records: usize) {
        let mut played = 0;
        for step in self.trace.steps() {
            let Some(kind) = step.what.strip_prefix("record ") else { continue };
            self.record(step, kind);
            played += 1;
        }
        assert_eq!(played, records);
    }

    /// Seals the payload as the sender, compares the record, and opens it as the receiver.
    fn record(&mut self, step: &Step, kind: &str) {
        let (payload, expected) = (step.value("payload"), step.value("complete record"));
        let (content_type, mut record) = (content_type(kind), Vec::new());
        if content_type == ContentType::CHANGE_CIPHER_SPEC {
            // The record is always unprotected. RFC 9846 5
            Sealer::new().seal_to(content_type, payload, &mut record).unwrap();
        } else {
            self.end(step.side).sealer.seal_to(content_type, payload, &mut record).unwrap();
        }
        assert_eq!(record, expected, "{:?}: {}", step.side, step.what);

        let opener = &mut self.end(other(step.side)).opener;
        let frame = opener.frame(&record).unwrap().expect("a complete record");
        let opened = opener.open(frame, &mut record).unwrap().expect("a record with content");
        assert_eq!((opened.content_type, &record[opened.plaintext]), (content_type, payload));

        if content_type == ContentType::HANDSHAKE {
            self.end(step.side).sealer.version = [3, 3];
            let mut rest = payload;
            while !rest.is_empty() {
                let length = u32::from_be_bytes([0, rest[1], rest[2], rest[3]]) as usize + 4;
                let (message, after) = rest.split_at(length);
                self.message(step.side, message);
                rest = after;
            }
        }
    }

    fn message(&mut self, side: Side, message: &[u8]) {
        match (HandshakeType(message[0]), side) {
            (HandshakeType::CLIENT_HELLO, _) => self.client_hello(message),
            (HandshakeType::SERVER_HELLO, _) => self.server_hello(message),
            (HandshakeType::END_OF_EARLY_DATA, _) => {
                self.transcript.add(message);
                self.protect(Side::Client, |play| {
                    protection(&play.handshake.as_ref().unwrap().client)
                });
            }
            (HandshakeType::FINISHED, Side::Server) => self.server_finished(message),
            (HandshakeType::FINISHED, Side::Client) => self.client_finished(message),
            (HandshakeType::CERTIFICATE_VERIFY, _) => {
                self.certificate_verify(side, message);
                self.transcript.add(message);
            }
            // A ticket is not part of the transcript. RFC 9846 4.5.1
            (HandshakeType::NEW_SESSION_TICKET, _) => {}
            _ => self.transcript.add(message),
        }
    }

    fn client_hello(&mut self, message: &[u8]) {
        if self.first_hello.is_empty() {
            self.first_hello = message.to_vec();
        }
        self.transcript.add(message);
        if self.psk.is_some() {
            self.early_secrets(message);
        }
    }

    /// Checks the binder, and the secrets of early data.
    fn early_secrets(&mut self, message: &[u8]) {
        let early = EarlySecret::new(self.suite, self.psk);
        let hello = ClientHello::parse(&message[4..]).unwrap();
        let partial = hello.without_binders(message).unwrap();
        let digest = Transcript::new(self.suite.hash).digest_with(partial);
        assert_eq!(&*digest, self.trace.value("binder", "binder hash"));
        let binder = early.binder(PskKind::Resumption, &digest);
        assert_eq!(&*binder, self.trace.value("binder", "finished"));
        let offered = hello.extensions.pre_shared_key.unwrap();
        assert_eq!(offered.binders.first().unwrap().0, &*binder);

        let digest = self.transcript.digest();
        assert_eq!(&*digest, self.trace.value("derive c e traffic", "hash"));
        let (traffic, exporter) = early.early_secrets(&digest);
        assert_eq!(traffic.as_bytes(), self.trace.value("derive c e traffic", "expanded"));
        assert_eq!(exporter.as_bytes(), self.trace.value("derive e exp master", "expanded"));
        assert_eq!(early.early_exporter_secret(&digest).as_bytes(), exporter.as_bytes());
        self.protect(Side::Client, |_| traffic.protection().unwrap());
    }

    fn server_hello(&mut self, message: &[u8]) {
        if ServerHello::parse(&message[4..]).unwrap().is_hello_retry_request() {
            self.transcript = Transcript::after_retry(self.suite.hash, &self.first_hello);
            return self.transcript.add(message);
        }
        self.transcript.add(message);
        let hello = self.transcript.digest();
        let shared = self.key_exchange();
        let secret = EarlySecret::new(self.suite, self.psk).into_handshake(&shared);
        let secrets = secret.into_traffic_secrets(&hello);
        assert_eq!(&*hello, self.trace.value("derive c hs traffic", "hash"));
        assert_eq!(secrets.client(), self.trace.value("derive c hs traffic", "expanded"));
        assert_eq!(secrets.server(), self.trace.value("derive s hs traffic", "expanded"));
        let keys = secrets.into_keys();
        self.protect(Side::Server, |_| protection(&keys.server));
        if self.psk.is_none() {
            self.protect(Side::Client, |_| protection(&keys.client));
        }
        self.handshake = Some(keys);
    }

    /// The published signature must verify over the content that the library signs.
    fn certificate_verify(&mut self, side: Side, message: &[u8]) {
        let certificate = self.trace.step(side, "message Certificate").value("Certificate");
        let certificate = Certificate::parse(&certificate[4..]).unwrap();
        let leaf = certificate.certificate_list.first().unwrap().cert_data;
        let key = tercel_pki::end_entity_public_key(&[leaf.into()]);
        let verify = CertificateVerify::parse(&message[4..]).unwrap();
        if verify.algorithm == SignatureScheme::RSA_PSS_RSAE_SHA256 {
            // The RSA keys of the traces have 1024 bits, which the library refuses.
            return assert_eq!(key.err(), Some(RefusalReason::InvalidKey));
        }
        let context = if side == Side::Client { CLIENT_CONTEXT } else { SERVER_CONTEXT };
        let content = SignedContent::new(context, &self.transcript.digest());
        let algorithm = scheme::algorithm(verify.algorithm).unwrap();
        key.unwrap().verify(algorithm, &content, verify.signature).unwrap();
    }

    fn server_finished(&mut self, message: &[u8]) {
        let HandshakeKeys { main, server_finished, .. } = self.handshake.as_ref().unwrap();
        let expected = self.trace.step(Side::Server, "finished").value("finished");
        assert_eq!(&*server_finished.verify_data(&self.transcript.digest()), expected);
        assert_eq!(server_finished.check(&message[4..], &self.transcript.digest()), Ok(()));
        self.transcript.add(message);
        let finished = self.transcript.digest();
        let made = main.application_secrets(&finished);
        let ApplicationSecrets { client, server, exporter, .. } = &made;
        assert_eq!(&*finished, self.trace.value("derive c ap traffic", "hash"));
        assert_eq!(client.as_bytes(), self.trace.value("derive c ap traffic", "expanded"));
        assert_eq!(server.as_bytes(), self.trace.value("derive s ap traffic", "expanded"));
        assert_eq!(exporter.as_bytes(), self.trace.value("derive exp master", "expanded"));
        // The next secret and an exporter are checked too, although the traces do not contain them.
        // RFC 9846 7.2, 7.5
        let next = steps::expanded(client.as_bytes(), "traffic upd", &[]);
        assert_eq!(client.next().as_bytes(), next);
        let of_label = steps::expanded(exporter.as_bytes(), "label", &steps::sha256(b""));
        let mut exported = [0; 32];
        exporter.export(b"label", b"context", &mut exported).unwrap();
        assert_eq!(exported, *steps::expanded(&of_label, "exporter", &steps::sha256(b"context")));
        let [client_key, server_key] = made.write_keys();
        for (at_once, alone) in [(client_key, client.write_key()), (server_key, server.write_key())]
        {
            assert_eq!((at_once.key(), at_once.iv()), (alone.key(), alone.iv()));
        }
        self.protect(Side::Server, |_| server.protection().unwrap());
        self.application = Some(made);
    }

    fn client_finished(&mut self, message: &[u8]) {
        let HandshakeKeys { main, client_finished, .. } = self.handshake.as_ref().unwrap();
        let expected = self.trace.step(Side::Client, "finished").value("finished");
        let over = self.transcript.digest();
        assert_eq!(&*client_finished.verify_data(&over), expected);
        assert_eq!(client_finished.check(&message[4..], &over), Ok(()));
        self.transcript.add(message);
        let hash = self.trace.value("derive res master", "hash");
        let finished = self.transcript.digest();
        assert_eq!(&*finished, hash);
        let resumption = main.resumption_secret(&finished);
        let has_ticket = self.trace.steps().iter().any(|step| step.what == "derive resumption");
        if has_ticket {
            // The tickets of the traces have the nonce 00 00.
            let psk = resumption.psk(&[0, 0]);
            assert_eq!(psk.as_bytes(), self.trace.value("derive resumption", "expanded"));
        }
        let made = self.application.take().unwrap();
        self.protect(Side::Client, |_| made.client.protection().unwrap());
    }

    /// Sets the protection in one direction for all later records.
    fn protect(&mut self, side: Side, keys: impl Fn(&Self) -> Protection) {
        let (write, read) = (keys(self), keys(self));
        self.end(side).sealer.protection = Some(write);
        let opener = &mut self.end(other(side)).opener;
        opener.version = RecordVersion::Tls13;
        opener.install(read);
    }

    /// The shared secret, which both sides must compute.
    fn key_exchange(&self) -> SharedSecret {
        let mut pairs = self.trace.steps().iter().filter(|step| step.what.starts_with("key pair "));
        let client = pairs.clone().rfind(|pair| pair.side == Side::Client).unwrap();
        let server = pairs.find(|pair| pair.side == Side::Server).unwrap();
        let agree = |own: &Step, peer: &Step| {
            let exchange = exchange(own);
            exchange.agree(peer.value("public key")).unwrap()
        };
        let expected = self.trace.value("extract handshake", "ikm");
        assert_eq!(agree(server, client).as_bytes(), expected);
        assert_eq!(agree(client, server).as_bytes(), expected);
        agree(client, server)
    }

    fn end(&mut self, side: Side) -> &mut End {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }
}

/// The key exchange whose private key is in this step.
fn exchange(pair: &Step) -> KeyExchange {
    let algorithm = match pair.what.strip_prefix("key pair ") {
        Some("x25519") => KeyExchangeAlgorithm::X25519,
        Some("p-256") => KeyExchangeAlgorithm::P256,
        other => panic!("an unknown group: {other:?}"),
    };
    KeyExchange::from_private(algorithm, pair.value("private key")).unwrap()
}

fn content_type(kind: &str) -> ContentType {
    match kind {
        "handshake" => ContentType::HANDSHAKE,
        "application_data" => ContentType::APPLICATION_DATA,
        "change_cipher_spec" => ContentType::CHANGE_CIPHER_SPEC,
        "alert" => ContentType::ALERT,
        other => panic!("an unknown content type: {other}"),
    }
}

fn other(side: Side) -> Side {
    match side {
        Side::Client => Side::Server,
        Side::Server => Side::Client,
    }
}

fn protection(traffic: &HandshakeTraffic) -> Protection {
    match traffic {
        HandshakeTraffic::Key(key) => Keys::Handshake13(key.duplicate()).protection().unwrap(),
        #[cfg(feature = "quic")]
        HandshakeTraffic::Secret(secret) => secret.protection().unwrap(),
    }
}
