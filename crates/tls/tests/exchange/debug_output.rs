//! `Debug` of an application's values prints no certificate, staple, plaintext or secret.

use std::fmt::Debug;
use std::io::{self, Cursor, Read, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tercel::certificates::{
    ChainPolicy, CredentialRequest, Credentials, PeerIdentity, SelectCredential, TrustedRawKeys,
    VerifyPeer,
};
use tercel::crypto::{HashAlgorithm, SigningKey};
use tercel::key_log::KeyLog;
use tercel::pki::{ChainVerifier, Refusal, RefusalReason, Staple, subject_public_key_info};
use tercel::pki_types::{CertificateDer, PrivateKeyDer, SubjectPublicKeyInfoDer, UnixTime};
use tercel::psk::{PreSharedKey, PreSharedKeys};
use tercel::questions::{
    AdmitEarlyDataQuestion, ChooseConfigQuestion, FindPreSharedKeyQuestion, FindSessionQuestion,
    SelectCredentialQuestion, SignQuestion, VerifyPeerQuestion,
};
use tercel::server::ClientAuth;
use tercel::session::{
    ClientMemoryStore, ServerMemoryStore, SharedTickets, TicketKey, TicketKeySet,
};
use tercel::wire::ProtocolVersion;
use tercel::{
    ClientConfig, Credential, Handshake, Next, Opened, Policy, Question, ReceiveBuffer,
    ServerConfig, Side, Stream,
};

use crate::early_data::guard;
use crate::fixtures::{KINDS, NAME, authority, client, credential, leaf, roots, server};
use crate::pair::Pair;

const TLS13: ProtocolVersion = ProtocolVersion::TLS1_3;
const BOTH_VERSIONS: [ProtocolVersion; 2] = [TLS13, ProtocolVersion::TLS1_2];

const SHA256: HashAlgorithm = HashAlgorithm::Sha256;

const PLAINTEXT: &[u8] = b"a word of the application";

/// The printed texts, and the bytes that must not occur in them.
#[derive(Default)]
struct Output {
    texts: Mutex<Vec<(String, String)>>,
    secrets: Mutex<Vec<(String, Vec<u8>)>>,
}

impl Output {
    /// Adds both forms of `Debug`.
    fn print(&self, what: &str, value: &dyn Debug) {
        for text in [format!("{value:?}"), format!("{value:#?}")] {
            self.texts.lock().unwrap().push((what.to_owned(), text));
        }
    }

    fn conceal(&self, what: &str, bytes: &[u8]) {
        assert!(bytes.len() >= LENGTH, "{what}");
        self.secrets.lock().unwrap().push((what.to_owned(), bytes.to_vec()));
    }

    fn check(&self) {
        let (texts, secrets) = (self.texts.lock().unwrap(), self.secrets.lock().unwrap());
        assert!(!texts.is_empty() && !secrets.is_empty());
        let texts: Vec<_> = texts.iter().map(|(what, text)| (what, text, compact(text))).collect();
        for (name, bytes) in secrets.iter() {
            let forms = forms(bytes);
            for (what, text, compact) in &texts {
                let is_printed = forms.iter().any(|form| compact.contains(form));
                assert!(!is_printed, "{what} prints {name}: {text}");
            }
        }
    }
}

/// A key log whose secrets must not be printed.
impl KeyLog for Output {
    fn log(&self, label: &str, _: &[u8; 32], secret: &[u8]) {
        self.conceal(label, secret);
    }
}

/// A verifier that prints its arguments, and accepts the peer.
struct Printing(Arc<Output>);

impl VerifyPeer for Printing {
    fn verify_peer(&self, identity: &PeerIdentity<'_>) -> Result<(), Box<Refusal>> {
        self.0.print("PeerIdentity", identity);
        for reason in [RefusalReason::UnknownIssuer, RefusalReason::NameMismatch] {
            let refusal = identity.refusal(reason).with_explanation("unknown here");
            self.0.print("Refusal", &refusal);
            self.0.print("Result", &Err::<(), _>(Box::new(refusal)));
        }
        identity.chain.iter().for_each(|certificate| self.0.conceal("certificate", certificate));
        Ok(())
    }
}

/// The number of consecutive bytes for which the texts are searched.
const LENGTH: usize = 6;

/// Consecutive parts of these bytes in each form in which they could be printed: as a list of
/// numbers, as digits, and as text if they are text. The names in a certificate may be printed.
fn forms(bytes: &[u8]) -> Vec<String> {
    let is_text = std::str::from_utf8(bytes).is_ok();
    let mut forms = Vec::new();
    for part in bytes.chunks_exact(LENGTH) {
        let mut join = |write: fn(&u8) -> String, between: &str| {
            forms.push(part.iter().map(write).collect::<Vec<_>>().join(between));
        };
        join(|byte| format!("{byte}"), ",");
        join(|byte| format!("{byte:02x}"), "");
        join(|byte| format!("{byte:02x}"), ",");
        join(|byte| format!("{byte:x}"), ",");
        join(|byte| format!("{byte:#x}"), ",");
        join(|byte| format!("{byte:#04x}"), ",");
        if is_text {
            forms.push(compact(&String::from_utf8_lossy(part)));
        }
    }
    forms
}

/// The text in a form that is the same for both forms of `Debug` and for both cases of digits.
fn compact(text: &str) -> String {
    text.split_whitespace().collect::<String>().to_lowercase()
}

fn contains(text: &str, bytes: &[u8]) -> bool {
    let text = compact(text);
    forms(bytes).iter().any(|form| text.contains(form))
}

#[test]
fn the_search_finds_bytes_in_each_form() {
    let bytes = [0x30, 0x82, 0x01, 0x0a, 0xff, 0x00, 0x7f, 0x61];
    for text in [
        format!("{bytes:?}"),
        format!("{bytes:#?}"),
        format!("{bytes:x?}"),
        format!("{bytes:02X?}"),
        format!("{bytes:#04x?}"),
        format!("x: {:?}", tercel::pki_types::CertificateDer::from(bytes.to_vec())),
    ] {
        assert!(contains(&text, &bytes), "{text}");
        assert!(!contains(&text, &[0x31; 8]), "{text}");
    }
    assert!(contains("Data(\"a word of\")", PLAINTEXT));
    assert!(!contains("Data(25 bytes)", PLAINTEXT));
}

/// A server's and a client's credential with remote keys, an OCSP response and timestamps.
fn credentials(output: &Output) -> [Credential; 2] {
    [17_u8, 19].map(|seed| {
        let (chain, key) = leaf(KINDS[1], &[NAME]);
        output.conceal("certificate", &chain[0]);
        output.conceal("private key", &key);
        let staple: Vec<u8> = (0..200).map(|at: u8| at.wrapping_mul(seed) ^ 0x5a).collect();
        let timestamp: Vec<u8> = (0..50).map(|at: u8| at.wrapping_mul(seed) ^ 0xa5).collect();
        output.conceal("staple", &staple);
        output.conceal("timestamps", &timestamp);
        let list = [&[0, 52, 0, 50], &timestamp[..]].concat();
        let credential = Credential::remote(chain).unwrap().ocsp_response(staple);
        credential.signed_certificate_timestamps(list).unwrap()
    })
}

#[test]
fn connections_questions_and_refusals() {
    for version in BOTH_VERSIONS {
        for asks in [true, false] {
            let output = Arc::new(Output::default());
            connect(version, asks, &output);
            output.check();
        }
    }
}

/// Runs a handshake with client authentication. With `asks`, each decision is a question to the
/// application.
fn connect(version: ProtocolVersion, asks: bool, output: &Arc<Output>) {
    let signer = SigningKey::from_der(&leaf(KINDS[1], &[NAME]).1).unwrap();
    let credentials = credentials(output).map(Arc::new);
    let verifier = || match asks {
        true => Policy::Ask,
        false => Policy::Here(Arc::new(Printing(output.clone())) as Arc<dyn VerifyPeer>),
    };
    let select = |at: usize| match asks {
        true => Policy::Ask,
        false => Policy::Here(Arc::new(One(credentials[at].clone())) as Arc<dyn SelectCredential>),
    };
    let client = ClientConfig::builder()
        .versions(&[version])
        .verifier(verifier())
        .credentials(select(1))
        .request_signed_certificate_timestamps(true)
        .key_log(output.clone())
        .build()
        .unwrap();
    let server = ServerConfig::builder()
        .credentials(select(0))
        .client_verifier(ClientAuth::Required, verifier())
        .request_ocsp(true)
        .request_signed_certificate_timestamps(true)
        .session_store(Policy::Ask)
        .session_context(b"one server")
        .key_log(output.clone())
        .build()
        .unwrap();
    let mut ends = Pair::new(&client, &server, NAME)
        .answering(|side, question| {
            let next = Next::Answer(question);
            output.print("Next", &next);
            let Next::Answer(question) = next else { unreachable!() };
            output.print("Question", &question);
            let answer = match &question {
                Question::SelectCredential(question) => {
                    let at = usize::from(side == Side::Client);
                    question.answer(Some(credentials[at].clone()))
                }
                Question::Sign(question) => question.resolve(&signer),
                Question::VerifyPeer(question) => question.resolve(&Printing(output.clone())),
                other => panic!("{other:?}"),
            };
            output.print("Answer", &answer);
            answer
        })
        .connect()
        .unwrap();
    let info = &ends.client.connection.info;
    assert!(info.ocsp_response.is_some() && info.signed_certificate_timestamps.is_some());
    assert_eq!(ends.server.connection.info.peer_chain().len(), 1);
    let mut exported = [0; 32];
    ends.client.connection.exporter.export(b"EXPORTER-test", None, &mut exported).unwrap();
    output.conceal("exported secret", &exported);
    output.conceal("plaintext", PLAINTEXT);
    for end in [&ends.client, &ends.server] {
        output.print("Connection", &end.connection);
        output.print("ConnectionInfo", &end.connection.info);
        output.print("Sender", &end.connection.sender);
        output.print("Receiver", &end.connection.receiver);
        output.print("Exporter", &end.connection.exporter);
    }

    // The plaintext stays in the buffer, since the record was opened in place.
    let mut wire = Vec::new();
    ends.server.connection.sender.seal_to(PLAINTEXT, &mut wire).unwrap();
    ends.client.received.extend(&wire);
    let opened = ends.client.connection.receiver.open(&mut ends.client.received).unwrap();
    assert!(matches!(&opened, Opened::Data(data) if *data == PLAINTEXT));
    output.print("Opened", &opened);
    output.print("ReceiveBuffer", &ends.client.received);
    output.print("Connected", &Next::Connected(Box::new(ends.client.connection)));
    let sessions = ends.server.connection.info.take_new_sessions();
    assert!(!sessions.is_empty());
    for session in &sessions {
        output.conceal("session", &session.session);
        output.conceal("ID of a session", &session.id);
        output.print("NewSession", session);
    }
}

/// A selector that always selects the same credential.
struct One(Arc<Credential>);

impl SelectCredential for One {
    fn select_credential(&self, _: &CredentialRequest<'_>) -> Option<Arc<Credential>> {
        Some(self.0.clone())
    }
}

#[test]
fn the_other_questions_and_answers() {
    let output = Output::default();
    let key = Arc::new(PreSharedKey::external(b"identity", &[0xab; 32], SHA256).unwrap());
    output.conceal("pre-shared key", &[0xab; 32]);
    let session: Vec<u8> = (0..60).collect();
    output.conceal("session", &session);
    output.conceal("signature", &[0xcd; 64]);
    let refusal = || refusal_of(&leaf(KINDS[1], &[NAME]).0);
    output.conceal("certificate", &leaf(KINDS[1], &[NAME]).0[0]);
    for answer in [
        FindSessionQuestion::answer_from(Some(session)),
        FindPreSharedKeyQuestion::answer_from(Some(key)),
        AdmitEarlyDataQuestion::answer_from(true),
        SignQuestion::answer_from(Some(vec![0xcd; 64])),
        VerifyPeerQuestion::answer_from(Err(Box::new(refusal()))),
        SelectCredentialQuestion::answer_from(Some(Arc::new(credential(KINDS[1])))),
        ChooseConfigQuestion::answer_from(Some(server().build().unwrap())),
    ] {
        output.print("Answer", &answer);
    }
    output.check();
}

fn refusal_of(chain: &[CertificateDer<'_>]) -> Refusal {
    let now = UnixTime::now();
    Refusal::new(RefusalReason::UnknownIssuer, chain, None, now).with_explanation("unknown here")
}

#[test]
fn early_data_and_the_handshakes_around_it() {
    let output = Output::default();
    output.conceal("plaintext", PLAINTEXT);
    let client = client().versions(&[TLS13]).early_data(true).build().unwrap();
    let server = server().early_data(1000, guard()).build().unwrap();
    assert!(!crate::resumption::visit(&client, &server));
    let (mut ours, mut theirs) =
        (Handshake::client(client, NAME.try_into().unwrap()), Handshake::server(server));
    let (mut received, mut out) = (ReceiveBuffer::new(), Vec::new());
    ours.advance(&mut received, &mut out).unwrap();
    ours.early_sender().unwrap().seal_to(PLAINTEXT, &mut out).unwrap();
    received.extend(&out);
    let next = theirs.advance(&mut received, &mut Vec::new()).unwrap();
    assert!(matches!(&next, Next::EarlyData(data) if data == PLAINTEXT));
    output.print("Next", &next);
    output.print("ReceiveBuffer", &received);
    for handshake in [&ours, &theirs] {
        output.print("Handshake", handshake);
    }
    output.print("ConnectionInfo", theirs.early_info().unwrap());
    output.check();
}

/// Plaintext that was opened and not read, because the caller's buffer was too small.
#[test]
fn a_stream_with_unread_plaintext() {
    let output = Output::default();
    output.conceal("plaintext", PLAINTEXT);
    for version in BOTH_VERSIONS {
        let mut ends = crate::fixtures::connect(version);
        let mut wire = Vec::new();
        ends.server.connection.sender.seal_to(PLAINTEXT, &mut wire).unwrap();
        let transport = Wire(Cursor::new(wire));
        let mut stream = Stream::new(transport, ends.client.connection, ends.client.received);
        let mut first = [0; 4];
        assert_eq!(stream.read(&mut first).unwrap(), 4);
        assert_eq!(first, PLAINTEXT[..4]);
        output.print("Stream", &stream);
        let mut rest = vec![0; PLAINTEXT.len() - 4];
        stream.read_exact(&mut rest).unwrap();
        assert_eq!(rest, PLAINTEXT[4..]);
    }
    output.check();
}

/// A transport that has bytes to read, and accepts all writes.
struct Wire(Cursor<Vec<u8>>);

impl Debug for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Wire")
    }
}

impl Read for Wire {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.0.read(out)
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn parts_of_configurations() {
    let output = Output::default();
    let (chain, pkcs8) = leaf(KINDS[1], &[NAME]);
    output.conceal("certificate", &chain[0]);
    output.conceal("certificate of a root", &authority().0);
    output.conceal("private key", &pkcs8);
    let spki = subject_public_key_info(&chain[0]).unwrap().to_vec();
    let (secret, staple) = ([0xab; 32], [0xcd; 100]);
    output.conceal("secret", &secret);
    output.conceal("staple", &staple);

    let der = PrivateKeyDer::Pkcs8(pkcs8.clone().into());
    let credential = || Credential::new(chain.clone(), &der).unwrap();
    output.print("Credential", &credential().ocsp_response(staple.to_vec()));
    output.print("Result", &Ok::<_, ()>(credential()));
    output.print("Credentials", &Credentials::new(vec![credential()]));
    output.print("SigningKey", &SigningKey::from_der(&pkcs8).unwrap());
    let raw = SubjectPublicKeyInfoDer::from(spki);
    output.print("Credential", &Credential::raw_public_key(raw.clone(), &der).unwrap());
    output.print("TrustedRawKeys", &TrustedRawKeys::new(vec![raw]).unwrap());

    output.print("Roots", &roots());
    output.print("ChainPolicy", &ChainPolicy::new(roots()).unwrap());
    let verifier = || ChainVerifier::builder(Arc::new(roots())).pin(chain[0].clone());
    output.print("ChainVerifierBuilder", &verifier());
    let verifier = verifier().build().unwrap();
    output.print("ChainVerifier", &verifier);
    output.print("ChainPolicy", &ChainPolicy::with_verifier(verifier));
    output.print("Staple", &Staple::Response(&staple));
    output.print("Policy", &Policy::Here(Arc::new(credential())));

    let key = || PreSharedKey::external(b"identity", &secret, SHA256).unwrap();
    output.print("PreSharedKey", &key());
    output.print("PreSharedKeys", &PreSharedKeys::new([key()]));
    let key = || TicketKey::new([1; 16], &secret, UnixTime::now());
    output.print("TicketKey", &key());
    let set = TicketKeySet::new(key(), None, None).unwrap();
    output.print("TicketKeySet", &set);
    output.print("SharedTickets", &SharedTickets::new(&set, Duration::from_secs(60)));
    output.check();
}

#[test]
fn stores_and_sessions() {
    let output = Arc::new(Output::default());
    for version in BOTH_VERSIONS {
        let (ours, theirs) =
            (Arc::new(ClientMemoryStore::default()), Arc::new(ServerMemoryStore::new(10)));
        let client = client().versions(&[version]).session_store(ours.clone());
        let client = client.key_log(output.clone()).build().unwrap();
        let server = server().session_store(Policy::Here(theirs.clone()));
        let server = server.key_log(output.clone()).build().unwrap();
        assert!(!crate::resumption::visit(&client, &server));
        assert!(crate::resumption::visit(&client, &server));
        output.print("ClientMemoryStore", &ours);
        output.print("ServerMemoryStore", &theirs);
    }
    output.check();
}
