//! The configurations that inputs select, and the application that answers questions.
//!
//! The configurations are built once, so that runs are fast. Cipher suites are configured, so that
//! every machine prefers the same suites.

use std::sync::{Arc, OnceLock};

use tercel::crypto::HashAlgorithm;
use tercel::questions::{ChooseConfigQuestion, FindSessionQuestion};
use tercel::wire::{CipherSuite, ClientHello, NamedGroup, ProtocolVersion};
use tercel::{
    Answer, ClientConfig, Handshake, Padding, Policy, Question, ServerConfig, ServerName,
    certificates::{AcceptAnyPeer, Credentials, SelectCredential},
    client::ClientConfigBuilder,
    psk::{PreSharedKey, PreSharedKeys},
    server::{ChooseConfig, ClientAuth, ServerConfigBuilder},
    session::AdmitEarlyData,
};

use crate::material;
use crate::resumption::{self, FixedGuard, Storage};
use crate::two_sided::keys::ThreadLog;

/// The number of configurations of each side that an input can select.
pub const CONFIGS: usize = 8;

/// The number of configurations of each side. The last configuration has a key whose signatures are
/// random. It is used only to record flights for the other side.
const COUNT: usize = CONFIGS + 1;

const SUITES: [CipherSuite; 6] = [
    CipherSuite::TLS_AES_128_GCM_SHA256,
    CipherSuite::TLS_CHACHA20_POLY1305_SHA256,
    CipherSuite::TLS_AES_256_GCM_SHA384,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
    CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
];

/// A client's handshake: the default one, one with additional extensions and pre-shared keys, TLS
/// 1.2, one that asks questions; four that resume, with sessions of TLS 1.3 and early data, sealed
/// and stored, and of TLS 1.2; one with another type of key.
pub(crate) fn client(choice: usize) -> Handshake {
    let name = ServerName::try_from("localhost").expect("a name");
    Handshake::client(client_config(choice), name)
}

/// A server's handshake: the default one, one that retries and has pre-shared keys, TLS 1.2, one
/// that asks questions; four that resume, from tickets with early data, from a store with
/// questions, with early data rejected, and after a retry; one with another type of key.
pub(crate) fn server(choice: usize) -> Handshake {
    Handshake::server(server_config(choice))
}

/// The configuration of [`client`].
pub(crate) fn client_config(choice: usize) -> Arc<ClientConfig> {
    static CONFIGS: OnceLock<[Arc<ClientConfig>; COUNT]> = OnceLock::new();
    Arc::clone(&CONFIGS.get_or_init(clients)[choice % COUNT])
}

/// The configuration of [`server`].
pub(crate) fn server_config(choice: usize) -> Arc<ServerConfig> {
    Arc::clone(&servers()[choice % COUNT])
}

/// The application's answer to a question.
pub(crate) fn answer(question: &Question) -> Answer {
    match question {
        Question::ChooseConfig(question) => question.resolve(&Application),
        Question::SelectCredential(question) => question.resolve(&Application),
        Question::FindPreSharedKey(question) => question.resolve(&PreSharedKeys::new(keys())),
        Question::VerifyPeer(question) => question.resolve(&AcceptAnyPeer),
        Question::Sign(question) => {
            // Server and client have different leaves: a leaf with the server's names belongs to
            // the server.
            let key = match question.credential().chain() == material::remote_server().chain() {
                true => material::server_key(),
                false => material::client_key(),
            };
            question.resolve(&key)
        }
        Question::FindSession(question) => question.answer(resumption::stored(question.identity())),
        Question::ClaimSession(question) => question.answer(true),
        Question::AdmitEarlyData(question) => question.answer(true),
        _ => panic!("an unknown question: {question:?}"),
    }
}

/// An answer that does not fit `question`.
pub(crate) fn wrong_answer(question: &Question) -> Answer {
    match question {
        Question::FindSession(_) => ChooseConfigQuestion::answer_from(None),
        _ => FindSessionQuestion::answer_from(None),
    }
}

struct Application;

impl ChooseConfig for Application {
    fn choose_config(&self, hello: &ClientHello<'_>) -> Option<Arc<ServerConfig>> {
        let asking = &servers()[3];
        (!hello.cipher_suites.is_empty()).then(|| Arc::clone(asking))
    }
}

impl SelectCredential for Application {
    fn select_credential(
        &self,
        request: &tercel::certificates::CredentialRequest<'_>,
    ) -> Option<Arc<tercel::Credential>> {
        static KNOWN: OnceLock<[Credentials; 2]> = OnceLock::new();
        let [server, client] = KNOWN.get_or_init(|| {
            [material::remote_server(), material::remote_client()]
                .map(|credential| Credentials::new(vec![credential]))
        });
        match request.side {
            tercel::Side::Server => server.select_credential(request),
            tercel::Side::Client => client.select_credential(request),
        }
    }
}

/// A plain key and an imported key.
fn keys() -> Vec<PreSharedKey> {
    let hash = HashAlgorithm::Sha256;
    let plain = PreSharedKey::external(b"plain", &[1; 32], hash).expect("a key");
    let imported = PreSharedKey::import(b"imported", b"fuzz", &[2; 32], hash).expect("keys");
    [plain].into_iter().chain(imported).collect()
}

/// Groups in order of preference. Few configurations use the first one, which is the slowest.
pub(crate) const GROUPS: [NamedGroup; 3] =
    [NamedGroup::X25519MLKEM768, NamedGroup::X25519, NamedGroup::SECP256R1];

/// The limit of early data that servers state.
pub(crate) const EARLY_DATA: u32 = 300;

/// The common options of all clients.
pub(crate) fn client_builder() -> ClientConfigBuilder {
    let builder = ClientConfig::builder().clock(material::clock()).key_log(Arc::new(ThreadLog));
    builder.cipher_suites(&SUITES).alpn(&["h2", "http/1.1"])
}

/// The common options of all servers.
pub(crate) fn server_builder() -> ServerConfigBuilder {
    let builder = ServerConfig::builder().clock(material::clock()).key_log(Arc::new(ThreadLog));
    // Tickets are off, because ticket keys are random and generated once per process.
    let builder = builder.without_tickets();
    builder.cipher_suites(&SUITES).alpn(&["http/1.1", "h2"])
}

fn clients() -> [Arc<ClientConfig>; COUNT] {
    // An input must not leave sessions in a store for the next input.
    let builder = || client_builder().without_resumption();
    let resuming_client = |version, storage| {
        let builder = client_builder().roots(material::roots()).groups(&GROUPS[1..]);
        resumption::client_with_session(builder, version, storage)
    };
    let groups = GROUPS;
    [
        builder()
            .roots(material::roots())
            .groups(&groups)
            .credential(material::client())
            .record_size_limit(4097),
        builder()
            .roots(material::roots())
            .versions(&[ProtocolVersion::TLS1_3])
            .groups(&groups[1..])
            .key_shares(&[NamedGroup::X25519])
            .credential(material::client())
            .pre_shared_keys(keys())
            .shuffle_extensions(true)
            .grease(true)
            .request_signed_certificate_timestamps(true)
            .padding(Padding::Block(64)),
        builder()
            .roots(material::roots())
            .versions(&[ProtocolVersion::TLS1_2])
            .groups(&groups[1..])
            .credential(material::client()),
        builder()
            .verifier(Policy::Ask)
            .credentials(Policy::Ask)
            .groups(&groups[1..])
            .middlebox_compatibility(false)
            .tolerate_truncation(true),
        resuming_client(ProtocolVersion::TLS1_3, Storage::Sealed),
        resuming_client(ProtocolVersion::TLS1_3, Storage::Stored)
            .grease(true)
            .shuffle_extensions(true),
        resuming_client(ProtocolVersion::TLS1_2, Storage::Sealed)
            .versions(&[ProtocolVersion::TLS1_2]),
        resuming_client(ProtocolVersion::TLS1_2, Storage::Stored)
            .versions(&[ProtocolVersion::TLS1_2]),
        builder().roots(material::roots()).groups(&groups[1..]).credential(material::p256_client()),
    ]
    .map(|builder| builder.build().expect("a client's configuration"))
}

fn servers() -> &'static [Arc<ServerConfig>; COUNT] {
    static CONFIGS: OnceLock<[Arc<ServerConfig>; COUNT]> = OnceLock::new();
    let builder = server_builder;
    let resuming_server = |storage| {
        let builder = builder().credential(material::server()).groups(&GROUPS[1..]);
        resumption::resuming(builder, storage)
    };
    let fixed_guard =
        |admitted| Policy::Here(Arc::new(FixedGuard(admitted)) as Arc<dyn AdmitEarlyData>);
    let groups = GROUPS;
    CONFIGS.get_or_init(|| {
        [
            builder()
                .credential(material::server())
                .client_auth(ClientAuth::Optional, material::roots())
                .groups(&groups)
                .record_size_limit(2000),
            builder()
                .credential(material::server())
                .client_auth(ClientAuth::Required, material::roots())
                .pre_shared_keys(keys().into_iter().skip(1))
                .groups(&groups[2..])
                .padding(Padding::Block(4096)),
            builder()
                .credential(material::server())
                .client_auth(ClientAuth::Optional, material::roots())
                .versions(&[ProtocolVersion::TLS1_2])
                .groups(&groups[1..]),
            builder()
                .choose_config(Policy::Ask)
                .credentials(Policy::Ask)
                .find_pre_shared_key(Policy::Ask)
                .client_verifier(ClientAuth::Required, Policy::Ask)
                .groups(&groups[1..])
                .ignore_unknown_alpn(true),
            resuming_server(Storage::Sealed).early_data(EARLY_DATA, fixed_guard(true)),
            resuming_server(Storage::Stored)
                .early_data(EARLY_DATA, Policy::Ask)
                .replay_guard_id([7; 16]),
            resuming_server(Storage::Sealed).early_data(EARLY_DATA, fixed_guard(false)),
            resuming_server(Storage::Sealed)
                .groups(&groups[2..])
                .early_data(EARLY_DATA, fixed_guard(true)),
            builder().credential(material::rsa_server()).groups(&groups[1..]),
        ]
        .map(|builder| builder.build().expect("a server's configuration"))
    })
}
