//! No session crosses from one setting of trust to another. Each ordered pair of settings is tried
//! with an equal session context and with none, with stores and tickets that both share.
//!
//! A session that is offered under another setting is resumed only if the verifiers of both have no
//! fingerprint, the contexts are equal, and the second verifier has accepted the peer again.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tercel::certificates::{
    AcceptAnyPeer, ChainPolicy, PeerIdentity, RefuseAnyPeer, TrustedRawKeys, VerifyPeer,
};
use tercel::client::ClientConfigBuilder;
use tercel::pki::{
    CertificateAlgorithm, ChainVerifier, ChainVerifierBuilder, Refusal, RefusalReason, Roots,
};
use tercel::pki_types::UnixTime;
use tercel::server::{ClientAuth, ServerConfigBuilder};
use tercel::session::{ClientSessionKey, ClientSessionStore, RotatingTickets, ServerMemoryStore};
use tercel::wire::{CertificateType, ProtocolVersion};
use tercel::{ClientConfig, Error, Policy, Question, ServerConfig, Side};

use crate::fixtures::{Kind, NAME, credential, leaf, roots};
use crate::pair::Pair;
use crate::raw_public_keys::{public, raw};

const VERSIONS: [ProtocolVersion; 2] = [ProtocolVersion::TLS1_2, ProtocolVersion::TLS1_3];
const CONTEXTS: [&[u8]; 2] = [b"", b"equal"];
const RAW: CertificateType = CertificateType::RAW_PUBLIC_KEY;
const X509: CertificateType = CertificateType::X509;

/// A setting of trust in peers.
struct Trust {
    name: &'static str,
    verifier: Policy<dyn VerifyPeer>,
    /// The answer to questions, if the verifier is `Policy::Ask`.
    answer: bool,
    /// The types of certificates that are accepted.
    types: &'static [CertificateType],
    has_fingerprint: bool,
}

impl Trust {
    fn new(name: &'static str, verifier: impl VerifyPeer + 'static) -> Self {
        let has_fingerprint = verifier.fingerprint().is_some();
        let verifier: Policy<dyn VerifyPeer> = Policy::Here(Arc::new(verifier));
        Self { name, verifier, answer: false, types: &[X509], has_fingerprint }
    }

    fn asking(name: &'static str, answer: bool) -> Self {
        let verifier = Policy::Ask;
        Self { name, verifier, answer, types: &[X509], has_fingerprint: false }
    }

    fn types(mut self, types: &'static [CertificateType]) -> Self {
        self.types = types;
        self
    }

    fn verifier(&self) -> Policy<dyn VerifyPeer> {
        match &self.verifier {
            Policy::Here(verifier) => Policy::Here(Arc::clone(verifier)),
            Policy::Ask => Policy::Ask,
        }
    }

    fn answer(&self, question: Question) -> tercel::Answer {
        let Question::VerifyPeer(question) = question else { panic!("{question:?}") };
        let refused = || Box::new(question.identity().refusal(RefusalReason::Other));
        question.answer(if self.answer { Ok(()) } else { Err(refused()) })
    }
}

/// A verifier of the application, without a fingerprint.
struct OfApplication(bool);

impl VerifyPeer for OfApplication {
    fn verify_peer(&self, identity: &PeerIdentity<'_>) -> Result<(), Box<Refusal>> {
        let refused = || Box::new(identity.refusal(RefusalReason::Other));
        if self.0 { Ok(()) } else { Err(refused()) }
    }
}

fn other_root() -> Roots {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let mut roots = Roots::new();
    roots.add_pem(params.self_signed(&key).unwrap().pem().as_bytes()).unwrap();
    roots
}

fn chains(
    roots: Roots,
    set: impl Fn(ChainVerifierBuilder) -> ChainVerifierBuilder,
) -> impl VerifyPeer {
    ChainPolicy::with_verifier(set(ChainVerifier::builder(Arc::new(roots))).build().unwrap())
}

fn keys(kinds: &[Kind]) -> TrustedRawKeys {
    TrustedRawKeys::new(kinds.iter().map(|kind| public(*kind)).collect()).unwrap()
}

/// Different settings of trust. The own chains of the tests end in `roots`, and their raw key is
/// that of `Kind::P384`.
fn settings() -> Vec<Trust> {
    let both = || {
        let mut roots = roots();
        let key = rcgen::KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        roots.add_pem(params.self_signed(&key).unwrap().pem().as_bytes()).unwrap();
        roots
    };
    let pinned = |kind| {
        let leaf = leaf(kind, &["another.example"]).0.remove(0);
        move |b: ChainVerifierBuilder| b.pin(leaf.clone())
    };
    vec![
        Trust::new("roots", chains(roots(), |b| b)),
        Trust::new("other roots", chains(other_root(), |b| b)),
        Trust::new("both roots", chains(both(), |b| b)),
        Trust::new("pin", chains(roots(), pinned(Kind::P256))),
        Trust::new("only other pins", chains(Roots::new(), pinned(Kind::P384))),
        Trust::new("anchors of any age", chains(roots(), |b| b.ignore_anchor_validity(true))),
        Trust::new(
            "one algorithm",
            chains(roots(), |b| b.algorithms(&CertificateAlgorithm::ALL[..1])),
        ),
        Trust::new("any peer", AcceptAnyPeer).types(&[X509, RAW]),
        Trust::new("no peer", RefuseAnyPeer).types(&[X509, RAW]),
        Trust::new("accepts", OfApplication(true)).types(&[X509, RAW]),
        Trust::new("refuses", OfApplication(false)).types(&[X509, RAW]),
        Trust::asking("accepts when asked", true).types(&[X509, RAW]),
        Trust::asking("refuses when asked", false).types(&[X509, RAW]),
        Trust::new("raw key", keys(&[Kind::P384])).types(&[RAW]),
        Trust::new("other raw key", keys(&[Kind::P256])).types(&[RAW]),
        Trust::new("raw keys", keys(&[Kind::P256, Kind::P384])).types(&[RAW]),
        Trust::new(
            "raw key, roots",
            keys(&[Kind::P384]).or_chains(Arc::new(chains(roots(), |b| b))),
        )
        .types(&[RAW, X509]),
        Trust::new(
            "raw key, other roots",
            keys(&[Kind::P384]).or_chains(Arc::new(chains(other_root(), |b| b))),
        )
        .types(&[RAW, X509]),
        Trust::new(
            "raw key, accepts",
            keys(&[Kind::P384]).or_chains(Arc::new(OfApplication(true))),
        )
        .types(&[RAW, X509]),
        Trust::new(
            "other raw key, refuses",
            keys(&[Kind::P256]).or_chains(Arc::new(OfApplication(false))),
        )
        .types(&[RAW, X509]),
    ]
}

/// A store that returns its session under any key, any number of times, like a store that is
/// shared by mistake.
#[derive(Default)]
struct OneForAll {
    session: Mutex<Option<Vec<u8>>>,
    taken: AtomicUsize,
}

impl ClientSessionStore for OneForAll {
    fn put(&self, _: &ClientSessionKey, session: Vec<u8>, _: UnixTime) {
        self.session.lock().unwrap().get_or_insert(session);
    }

    fn take(&self, _: &ClientSessionKey, _: UnixTime) -> Option<Vec<u8>> {
        self.taken.fetch_add(1, Ordering::Relaxed);
        self.session.lock().unwrap().clone()
    }
}

/// Connects, with tickets. `None` if the handshake failed.
fn visit(
    client: &Arc<ClientConfig>,
    server: &Arc<ServerConfig>,
    trust: &Trust,
    judge: Side,
) -> Option<bool> {
    let pair = Pair::new(client, server, NAME).answering(|side, question| {
        assert_eq!(side, judge);
        trust.answer(question)
    });
    let mut ends = pair.connect().ok()?;
    ends.talk();
    Some(ends.server.connection.info.resumed)
}

/// Checks a second visit under another setting.
fn check(
    what: &str,
    (first, second): (&Trust, &Trust),
    context: &[u8],
    outcome: Option<bool>,
    full: bool,
) {
    let may_share = !context.is_empty() && !first.has_fingerprint && !second.has_fingerprint;
    match outcome {
        Some(true) => assert!(may_share && full, "{what}: resumed"),
        Some(false) => assert!(full, "{what}: accepted"),
        None => assert!(!full, "{what}: refused"),
    }
    if may_share && full {
        assert_eq!(outcome, Some(true), "{what}: the verifier accepts the peer again");
    }
}

fn client_of(trust: &Trust, version: ProtocolVersion, context: &[u8]) -> ClientConfigBuilder {
    ClientConfig::builder()
        .verifier(trust.verifier())
        .server_certificate_types(trust.types)
        .versions(&[version])
        .session_context(context)
}

#[test]
fn a_verifier_of_no_peer_refuses_chains_and_raw_keys() {
    for (own, reason) in [
        (credential(Kind::P256), RefusalReason::UnknownIssuer),
        (raw(Kind::P384), RefusalReason::UntrustedRawKey),
    ] {
        let trust = Trust::new("no peer", RefuseAnyPeer).types(&[X509, RAW]);
        let server = ServerConfig::builder().credential(own).build().unwrap();
        for version in VERSIONS {
            let client = client_of(&trust, version, b"").build().unwrap();
            let failure = Pair::new(&client, &server, NAME).connect().unwrap_err();
            assert_eq!(failure.client, Some(Error::Refused(reason)));
        }
    }
}

#[test]
fn no_session_of_a_client_crosses_settings_of_trust() {
    let settings = settings();
    // A server with a chain, and one with a raw key.
    let servers = [credential(Kind::P256), raw(Kind::P384)]
        .map(|own| ServerConfig::builder().credential(own).build().unwrap());
    let mut resumed = 0;
    for (server, version, context) in all(&servers) {
        let config = |trust: &Trust, store: Arc<OneForAll>| {
            client_of(trust, version, context).session_store(store).build().unwrap()
        };
        let full = |trust| visit(&config(trust, Arc::default()), server, trust, Side::Client);
        let accepts: Vec<_> = settings.iter().map(|trust| full(trust).is_some()).collect();
        for (at, first) in settings.iter().enumerate().filter(|(at, _)| accepts[*at]) {
            let store = Arc::new(OneForAll::default());
            let own = config(first, store.clone());
            assert_eq!(visit(&own, server, first, Side::Client), Some(false));
            assert_eq!(visit(&own, server, first, Side::Client), Some(true), "{}", first.name);
            let others = settings.iter().enumerate().filter(|(other, _)| *other != at);
            for (other, second) in others {
                let what = format!("{version} {context:?} {} -> {}", first.name, second.name);
                let taken = store.taken.load(Ordering::Relaxed);
                let outcome = visit(&config(second, store.clone()), server, second, Side::Client);
                assert_ne!(store.taken.load(Ordering::Relaxed), taken, "{what}: not looked up");
                check(&what, (first, second), context, outcome, accepts[other]);
                resumed += usize::from(outcome == Some(true));
            }
        }
    }
    assert_ne!(resumed, 0, "no session was shared at all");
}

/// Whether clients of resumed sessions are verified again, and what sessions contain.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Resumed {
    VerifiedAgain,
    NotVerified,
    OnlyDigests,
}

fn server_of(trust: &Trust, resumed: Resumed, demand: ClientAuth) -> ServerConfigBuilder {
    let builder = ServerConfig::builder()
        .credential(credential(Kind::P256))
        .client_verifier(demand, trust.verifier())
        .client_certificate_types(trust.types);
    match resumed {
        Resumed::VerifiedAgain => builder,
        Resumed::NotVerified => builder.verify_resumed(false),
        Resumed::OnlyDigests => builder.verify_resumed(false).store_only_certificate_digests(true),
    }
}

#[test]
fn no_session_of_a_server_crosses_settings_of_trust() {
    let settings = settings();
    let clients = [credential(Kind::P256), raw(Kind::P384)];
    let mut resumed = [0; 3];
    for (own, version, context) in all(&clients) {
        let tickets = Arc::new(RotatingTickets::new(UnixTime::now()).unwrap());
        let sessions = Arc::new(ServerMemoryStore::new(100_000));
        // Half of the servers keep sessions in a store, half in tickets.
        for (mode, stored) in [
            (Resumed::VerifiedAgain, false),
            (Resumed::VerifiedAgain, true),
            (Resumed::NotVerified, false),
            (Resumed::NotVerified, true),
            (Resumed::OnlyDigests, false),
        ] {
            let config = |trust: &Trust| {
                let builder = server_of(trust, mode, ClientAuth::Required).session_context(context);
                let builder = if stored {
                    builder.without_tickets().session_store(Policy::Here(sessions.clone()))
                } else {
                    builder.tickets(tickets.clone())
                };
                builder.build().unwrap()
            };
            let client = |store: Arc<OneForAll>| {
                let client = ClientConfig::builder().versions(&[version]).credential(own.clone());
                let client = client.verifier(Policy::Here(Arc::new(AcceptAnyPeer)));
                client.session_store(store).build().unwrap()
            };
            let full = |trust| visit(&client(Arc::default()), &config(trust), trust, Side::Server);
            let accepts: Vec<_> = settings.iter().map(|trust| full(trust).is_some()).collect();
            for (at, first) in settings.iter().enumerate().filter(|(at, _)| accepts[*at]) {
                let (offering, issuer) = (client(Arc::default()), config(first));
                assert_eq!(visit(&offering, &issuer, first, Side::Server), Some(false));
                let others = settings.iter().enumerate().filter(|(other, _)| *other != at);
                for (other, second) in others {
                    let what =
                        format!("{version} {mode:?} {context:?} {} -> {}", first.name, second.name);
                    let offering = if stored {
                        // A stored session may be for single use.
                        let offering = client(Arc::default());
                        assert_eq!(visit(&offering, &issuer, first, Side::Server), Some(false));
                        offering
                    } else {
                        offering.clone()
                    };
                    let outcome = visit(&offering, &config(second), second, Side::Server);
                    check_server(&what, mode, (first, second), context, outcome, accepts[other]);
                    resumed[mode as usize] += usize::from(outcome == Some(true));
                }
            }
        }
    }
    assert!(resumed[0] > 0 && resumed[1] > 0, "{resumed:?}");
}

/// A server that verifies a resumed client again needs no fingerprint for this.
fn check_server(
    what: &str,
    mode: Resumed,
    pair: (&Trust, &Trust),
    context: &[u8],
    outcome: Option<bool>,
    full: bool,
) {
    if mode != Resumed::VerifiedAgain {
        // A digest cannot be verified again.
        let context = if mode == Resumed::OnlyDigests { b"" } else { context };
        return check(what, pair, context, outcome, full);
    }
    assert_eq!(outcome.is_some(), full, "{what}: {outcome:?}");
}

/// Each item with each version and each context.
fn all<T>(items: &[T]) -> impl Iterator<Item = (&T, ProtocolVersion, &'static [u8])> {
    items.iter().flat_map(|item| {
        let each = VERSIONS.into_iter();
        each.flat_map(move |version| CONTEXTS.into_iter().map(move |one| (item, version, one)))
    })
}
