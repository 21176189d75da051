//! Binding of sessions. Each option of both builders is tested with two values: either a session
//! made under one value is not resumed under the other, or docs/sessions.md explains why it may be.
//!
//! `virtual_hosts.rs` tests a server's credentials in detail.

mod server_options;

use std::sync::Arc;

use tercel::crypto::HashAlgorithm;
use tercel::pki::Roots;
use tercel::pki_types::UnixTime;
use tercel::wire::{CertificateType, CipherSuite, NamedGroup, ProtocolVersion, SignatureScheme};
use tercel::{
    ClientConfig, Credential, Padding, Policy, Question, ServerConfig,
    certificates::{AcceptAnyPeer, SelectCredential, VerifyPeer},
    client::ClientConfigBuilder,
    clock::SystemClock,
    key_log::KeyLog,
    psk::PreSharedKey,
    server::ServerConfigBuilder,
    session::{ClientMemoryStore, ClientSessionStore, RotatingTickets},
};

use crate::fixtures::{Kind, NAME, credential, roots};
use crate::pair::Pair;
use crate::raw_public_keys::{public, raw};

const OTHER: &str = "other.example";
const RAW: CertificateType = CertificateType::RAW_PUBLIC_KEY;
const X509: CertificateType = CertificateType::X509;
const BOTH: &[ProtocolVersion] = &[ProtocolVersion::TLS1_2, ProtocolVersion::TLS1_3];
const TLS12: &[ProtocolVersion] = &[ProtocolVersion::TLS1_2];
const TLS13: &[ProtocolVersion] = &[ProtocolVersion::TLS1_3];

/// An option of a builder with two values.
pub(crate) struct Entry<B> {
    pub(crate) option: &'static str,
    pub(crate) is_bound: bool,
    versions: &'static [ProtocolVersion],
    first: Box<dyn Fn(B) -> B>,
    second: Box<dyn Fn(B) -> B>,
    /// The builder of the other side.
    peer: Peer,
    name: &'static str,
}

enum Peer {
    Client(Box<dyn Fn() -> ClientConfigBuilder>),
    Server(Box<dyn Fn() -> ServerConfigBuilder>),
}

impl<B> Entry<B> {
    fn versions(mut self, versions: &'static [ProtocolVersion]) -> Self {
        self.versions = versions;
        self
    }

    fn name(mut self, name: &'static str) -> Self {
        self.name = name;
        self
    }

    fn with_client(mut self, client: impl Fn() -> ClientConfigBuilder + 'static) -> Self {
        self.peer = Peer::Client(Box::new(client));
        self
    }

    fn with_server(mut self, server: impl Fn() -> ServerConfigBuilder + 'static) -> Self {
        self.peer = Peer::Server(Box::new(server));
        self
    }
}

fn plain_client() -> ClientConfigBuilder {
    ClientConfig::builder().roots(roots())
}

fn plain_server() -> ServerConfigBuilder {
    ServerConfig::builder().credential(credential(Kind::P256))
}

/// Makes a connection on which tickets arrive, and returns whether it was resumed. `None` if the
/// handshake failed.
fn visit(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>, name: &str) -> Option<bool> {
    complete(Pair::new(client, server, name).answering(|_, question| match question {
        // An application that has no keys.
        Question::OpenTicket(question) => question.answer(None),
        Question::SealTicket(question) => question.answer(None),
        other => panic!("{other:?}"),
    }))
}

fn complete(pair: Pair<'_>) -> Option<bool> {
    let mut ends = pair.connect().ok()?;
    ends.talk();
    Some(ends.server.connection.info.resumed)
}

/// Checks one entry. The argument of `visit` selects the second value.
fn check<B>(entry: &Entry<B>, version: ProtocolVersion, visit: impl Fn(bool) -> Option<bool>) {
    let what = format!("{} over {version}", entry.option);
    assert_eq!(visit(false), Some(false), "{what}: the first visit");
    assert_eq!(visit(false), Some(true), "{what}: under the same value");
    assert_eq!(visit(true) == Some(true), !entry.is_bound, "{what}: under another value");
}

fn entry<B>(
    option: &'static str,
    is_bound: bool,
    peer: Peer,
    first: impl Fn(B) -> B + 'static,
    second: impl Fn(B) -> B + 'static,
) -> Entry<B> {
    let (first, second) = (Box::new(first), Box::new(second));
    Entry { option, is_bound, versions: BOTH, first, second, peer, name: NAME }
}

fn server_entry(
    option: &'static str,
    is_bound: bool,
    first: impl Fn(ServerConfigBuilder) -> ServerConfigBuilder + 'static,
    second: impl Fn(ServerConfigBuilder) -> ServerConfigBuilder + 'static,
) -> Entry<ServerConfigBuilder> {
    entry(option, is_bound, Peer::Client(Box::new(plain_client)), first, second)
}

/// An entry for an option of servers that have a certificate.
fn server_option(
    option: &'static str,
    is_bound: bool,
    first: impl Fn(ServerConfigBuilder) -> ServerConfigBuilder + 'static,
    second: impl Fn(ServerConfigBuilder) -> ServerConfigBuilder + 'static,
) -> Entry<ServerConfigBuilder> {
    let with = |builder: ServerConfigBuilder| builder.credential(credential(Kind::P256));
    server_entry(option, is_bound, move |b| first(with(b)), move |b| second(with(b)))
}

fn client_option(
    option: &'static str,
    is_bound: bool,
    first: impl Fn(ClientConfigBuilder) -> ClientConfigBuilder + 'static,
    second: impl Fn(ClientConfigBuilder) -> ClientConfigBuilder + 'static,
) -> Entry<ClientConfigBuilder> {
    entry(option, is_bound, Peer::Server(Box::new(plain_server)), first, second)
}

fn same<B>(builder: B) -> B {
    builder
}

struct Refuses;

impl VerifyPeer for Refuses {
    fn verify_peer(
        &self,
        identity: &tercel::certificates::PeerIdentity<'_>,
    ) -> Result<(), Box<tercel::pki::Refusal>> {
        Err(Box::new(identity.refusal(tercel::pki::RefusalReason::Other)))
    }
}

/// A verifier of the application, without a fingerprint.
struct Accepts;

impl VerifyPeer for Accepts {
    fn verify_peer(
        &self,
        _: &tercel::certificates::PeerIdentity<'_>,
    ) -> Result<(), Box<tercel::pki::Refusal>> {
        Ok(())
    }
}

fn accepting() -> Policy<dyn VerifyPeer> {
    Policy::Here(Arc::new(Accepts))
}

fn refusing() -> Policy<dyn VerifyPeer> {
    Policy::Here(Arc::new(Refuses))
}

fn trusting(roots: Roots) -> Policy<dyn VerifyPeer> {
    let verifier = tercel::pki::ChainVerifier::builder(Arc::new(roots)).build().unwrap();
    Policy::Here(Arc::new(tercel::certificates::ChainPolicy::with_verifier(verifier)))
}

struct NoLog;

impl KeyLog for NoLog {
    fn log(&self, _: &str, _: &[u8; 32], _: &[u8]) {}
}

struct Chosen(Arc<Credential>);

impl SelectCredential for Chosen {
    fn select_credential(
        &self,
        _: &tercel::certificates::CredentialRequest<'_>,
    ) -> Option<Arc<Credential>> {
        Some(Arc::clone(&self.0))
    }
}

fn chosen() -> Policy<dyn SelectCredential> {
    Policy::Here(Arc::new(Chosen(Arc::new(credential(Kind::P256)))))
}

fn key(name: &str, secret: u8) -> PreSharedKey {
    PreSharedKey::external(name.as_bytes(), &[secret; 32], HashAlgorithm::Sha256).unwrap()
}

fn other_roots() -> Roots {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let mut roots = Roots::new();
    roots.add_pem(params.self_signed(&key).unwrap().pem().as_bytes()).unwrap();
    roots
}

const P256: &[SignatureScheme] = &[SignatureScheme::ECDSA_SECP256R1_SHA256];
const NOT_P256: &[SignatureScheme] = &[SignatureScheme::ED25519];
const SHA256_SUITES: &[CipherSuite] =
    &[CipherSuite::TLS_AES_128_GCM_SHA256, CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256];
const SHA384_SUITES: &[CipherSuite] =
    &[CipherSuite::TLS_AES_256_GCM_SHA384, CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384];

/// The options of both builders.
macro_rules! common_entries {
    ($option:ident) => {
        vec![
            $option("versions", true, |b| b.versions(TLS12), |b| b.versions(TLS13)).versions(TLS12),
            $option(
                "cipher_suites",
                true,
                |b| b.cipher_suites(SHA256_SUITES),
                |b| b.cipher_suites(SHA384_SUITES),
            ),
            // TLS 1.2 resumes without a key exchange, so groups do not matter; TLS 1.3 makes a new
            // key exchange.
            $option(
                "groups",
                true,
                |b| b.groups(&[NamedGroup::X25519, NamedGroup::SECP256R1]),
                |b| b.groups(&[NamedGroup::SECP256R1]),
            )
            .versions(TLS12),
            $option(
                "groups",
                false,
                |b| b.groups(&[NamedGroup::X25519, NamedGroup::SECP256R1]),
                |b| b.groups(&[NamedGroup::SECP256R1]),
            )
            .versions(TLS13),
            $option("certificate_compression", false, same, |b| {
                b.certificate_compression(Vec::new())
            }),
            $option("offer_certificate_compression", false, same, |b| {
                b.offer_certificate_compression(true)
            }),
            $option("certificate_signature_schemes", false, same, |b| {
                b.certificate_signature_schemes(P256)
            }),
            $option("record_size_limit", false, same, |b| b.record_size_limit(1000)),
            $option("max_fragment", false, same, |b| b.max_fragment(1000)),
            $option("padding", false, same, |b| b.padding(Padding::Block(64))).versions(TLS13),
            $option("require_extended_main_secret", false, same, |b| {
                b.require_extended_main_secret(true)
            }),
            $option("tolerate_truncation", false, same, |b| b.tolerate_truncation(true)),
            $option("key_log", false, same, |b| b.key_log(Arc::new(NoLog))),
            $option("clock", false, same, |b| b.clock(Arc::new(SystemClock))),
        ]
    };
}

/// The options of both builders that have an effect only over QUIC. Sessions over QUIC do not
/// depend on them either: `quic/early_data.rs` tests that only early data does.
#[cfg(feature = "quic")]
macro_rules! quic_entries {
    ($option:ident) => {
        [
            $option("quic_early_data_context", false, same, |b| b.quic_early_data_context(b"x")),
            $option("alpn_by_other_means", false, same, |b| b.alpn_by_other_means(true)),
        ]
    };
}

pub(crate) fn server_entries(tickets: &Arc<RotatingTickets>) -> Vec<Entry<ServerConfigBuilder>> {
    let mut entries: Vec<Entry<ServerConfigBuilder>> = common_entries!(server_option);
    entries.extend(server_options::identity_options(tickets));
    entries.extend(server_options::client_certificate_options());
    entries.extend(server_options::resumption_options());
    #[cfg(feature = "quic")]
    entries.extend(quic_entries!(server_option));
    #[cfg(feature = "ech")]
    entries.extend([
        server_option("ech", false, same, |b| {
            let key = tercel::ech::Key::generate("cover.example", 0).unwrap();
            let keys = tercel::ech::Keys::new(vec![(key, tercel::ech::Retry::Send)]);
            b.ech(Arc::new(keys.unwrap()))
        }),
        server_option("ech_backend", false, same, |b| b.ech_backend(true)),
    ]);
    entries
}

pub(crate) fn client_entries() -> Vec<Entry<ClientConfigBuilder>> {
    let mut entries: Vec<Entry<ClientConfigBuilder>> = common_entries!(client_option);
    #[cfg(feature = "quic")]
    entries.extend(quic_entries!(client_option));
    #[cfg(feature = "ech")]
    entries.push(client_option("ech_grease", false, same, |b| b.ech_grease(true)));
    let any = |b: ClientConfigBuilder| {
        b.verifier(Policy::Here(Arc::new(AcceptAnyPeer))).session_context(b"any")
    };
    entries.extend([
        client_option("alpn", true, |b| b.alpn(&["a"]), |b| b.alpn(&["b"]))
            .with_server(|| plain_server().alpn(&["a", "b"])),
        client_option("alpn", true, |b| b.alpn(&["a", "b"]), |b| b.alpn(&["ab"]))
            .with_server(|| plain_server().alpn(&["a", "ab"])),
        client_option(
            "signature_schemes",
            true,
            |b| b.signature_schemes(P256),
            |b| b.signature_schemes(NOT_P256),
        )
        .with_server(|| plain_server().credential(credential(Kind::Ed25519))),
        client_option("credential", true, same, |b| b.credential(credential(Kind::P256))),
        client_option(
            "credential",
            true,
            |b| b.credential(credential(Kind::P256)),
            |b| b.credential(credential(Kind::P384)),
        ),
        client_option("credentials", true, same, |b| b.credentials(chosen())),
        client_option(
            "pre_shared_keys",
            true,
            |b| b.pre_shared_keys([key("a", 1)]),
            |b| b.pre_shared_keys([key("b", 1)]),
        )
        .with_server(|| plain_server().pre_shared_keys([key("a", 1), key("b", 1)]))
        .versions(TLS13),
        client_option(
            "server_certificate_types",
            true,
            move |b| any(b).server_certificate_types(&[RAW]),
            move |b| any(b).server_certificate_types(&[X509]),
        )
        .with_server(|| plain_server().credential(raw(Kind::P256))),
        client_option("client_certificate_types", false, same, |b| {
            b.client_certificate_types(&[X509])
        }),
        client_option("post_handshake_auth", false, same, |b| b.post_handshake_auth(true)),
        client_option("key_shares", false, same, |b| b.key_shares(&[NamedGroup::X25519])),
        client_option("send_server_name", true, same, |b| b.send_server_name(false)),
        client_option(
            "legacy_peer_keys",
            true,
            |b| b.verifier(Policy::Ask),
            |b| b.verifier(Policy::Ask).legacy_peer_keys(true),
        ),
        client_option("request_ocsp", true, same, |b| b.request_ocsp(false)),
        client_option("request_signed_certificate_timestamps", true, same, |b| {
            b.request_signed_certificate_timestamps(true)
        }),
        client_option("certificate_authorities", false, same, |b| {
            b.certificate_authorities(roots().subjects().collect())
        }),
        client_option("middlebox_compatibility", false, same, |b| b.middlebox_compatibility(false)),
        client_option("shuffle_extensions", false, same, |b| b.shuffle_extensions(true)),
        client_option("grease", false, same, |b| b.grease(true)),
        // This client claims to have fallen back from a version that the server does not support.
        client_option("fallback_scsv", false, same, |b| b.fallback_scsv(true))
            .with_server(|| plain_server().versions(TLS12))
            .versions(TLS12),
        client_option("require_secure_renegotiation", false, same, |b| {
            b.require_secure_renegotiation(false)
        }),
    ]);
    entries.extend(client_trust_entries());
    entries.extend(client_session_entries());
    entries
}

/// Options that decide which servers are trusted.
fn client_trust_entries() -> Vec<Entry<ClientConfigBuilder>> {
    vec![
        client_option("roots", true, same, |b| b.roots(other_roots())),
        client_option("verifier", true, same, |b| b.verifier(Policy::Here(Arc::new(Refuses)))),
        // The application's verifiers, which have no fingerprint; this library's, with other
        // settings.
        client_option("verifier", true, |b| b.verifier(accepting()), |b| b.verifier(refusing())),
        client_option(
            "verifier",
            true,
            |b| b.verifier(trusting(roots())),
            |b| b.verifier(trusting(other_roots())),
        ),
        client_option("verifier", true, same, |b| {
            b.verifier(Policy::Here(Arc::new(AcceptAnyPeer)))
        }),
        client_option(
            "verifier",
            true,
            |b| b.verifier(accepting()),
            |b| b.verifier(Policy::Here(Arc::new(AcceptAnyPeer))),
        ),
        client_option("trusted_raw_keys", true, same, |b| {
            b.trusted_raw_keys(vec![public(Kind::P256)])
        }),
        client_option(
            "trusted_raw_keys",
            true,
            |b| b.trusted_raw_keys(vec![public(Kind::P256)]),
            |b| b.trusted_raw_keys(vec![public(Kind::P384)]),
        ),
        client_option(
            "trusted_raw_keys",
            true,
            |b| b.trusted_raw_keys(vec![public(Kind::P256)]),
            |b| b.roots(other_roots()).trusted_raw_keys(vec![public(Kind::P256)]),
        ),
    ]
}

/// Options of the storage and the use of sessions.
fn client_session_entries() -> Vec<Entry<ClientConfigBuilder>> {
    vec![
        client_option("session_store", true, same, |b| {
            b.session_store(Arc::new(ClientMemoryStore::default()))
        }),
        client_option("ask_for_session", false, same, |b| b.ask_for_session(true)),
        client_option("return_new_sessions", false, same, |b| b.return_new_sessions(true)),
        client_option("without_resumption", true, same, ClientConfigBuilder::without_resumption),
        client_option("tickets_tls12", true, same, |b| b.tickets_tls12(false)).versions(TLS12),
        client_option("early_data", false, same, |b| b.early_data(true)),
        client_option("verify_resumed", false, same, |b| b.verify_resumed(true)),
        client_option("resume_after_certificate", false, same, |b| {
            b.resume_after_certificate(true)
        }),
        client_option(
            "session_context",
            true,
            |b| b.session_context(b"one"),
            |b| b.session_context(b"two"),
        ),
    ]
}

/// The versions of an entry: both for the option `versions`.
fn versions_of<B>(
    entry: &Entry<B>,
    version: &'static ProtocolVersion,
) -> &'static [ProtocolVersion] {
    if entry.option == "versions" { BOTH } else { core::slice::from_ref(version) }
}

/// The session contexts of a walk through all options: none, or an equal one, which must not
/// replace anything that a session is bound to. An option that is itself a context keeps its
/// values.
const CONTEXTS: [&[u8]; 2] = [b"", b"equal"];

#[test]
fn a_session_is_bound_to_options_of_the_server() {
    for context in CONTEXTS {
        let tickets = Arc::new(RotatingTickets::new(UnixTime::now()).unwrap());
        for entry in server_entries(&tickets) {
            let Peer::Client(client) = &entry.peer else { panic!("{}", entry.option) };
            let base = || ServerConfig::builder().tickets(tickets.clone()).session_context(context);
            for version in entry.versions {
                let client = client().versions(versions_of(&entry, version)).build().unwrap();
                let [first, second] =
                    [&entry.first, &entry.second].map(|value| value(base()).build().unwrap());
                check(&entry, *version, |is_second| {
                    visit(&client, if is_second { &second } else { &first }, entry.name)
                });
            }
        }
    }
}

#[test]
fn a_session_is_bound_to_options_of_the_client() {
    for context in CONTEXTS {
        for entry in client_entries() {
            for version in entry.versions {
                check_client_entry(&entry, version, context);
            }
        }
    }
}

fn check_client_entry(
    entry: &Entry<ClientConfigBuilder>,
    version: &'static ProtocolVersion,
    context: &[u8],
) {
    let Peer::Server(server) = &entry.peer else { panic!("{}", entry.option) };
    let store = Arc::new(ClientMemoryStore::default());
    let base = || {
        let client = plain_client().session_store(store.clone()).session_context(context);
        client.versions(versions_of(entry, version))
    };
    let server = server().build().unwrap();
    let [first, second] = [&entry.first, &entry.second].map(|value| value(base()).build().unwrap());
    check(entry, *version, |is_second| {
        let client = if is_second { &second } else { &first };
        let pair = Pair::new(client, &server, entry.name);
        complete(pair.answering(|_, question| match question {
            Question::FindClientSession(question) => {
                question.answer(store.take_session(question.key(), UnixTime::now()))
            }
            Question::VerifyPeer(question) => question.answer(Ok(())),
            other => panic!("{other:?}"),
        }))
    });
}
