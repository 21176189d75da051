//! Options of servers: their identity, their requirements on clients, and their sessions.

use std::sync::Arc;
use std::time::Duration;

use tercel::pki_types::UnixTime;
use tercel::{
    ClientConfig, Policy, ServerConfig,
    certificates::{AcceptAnyPeer, Credentials},
    client::ClientConfigBuilder,
    psk::PreSharedKeys,
    server::{ChooseConfig, ClientAuth, ServerConfigBuilder},
    session::{ForgetSession, RotatingTickets, ServerMemoryStore},
};

use super::{
    Entry, NOT_P256, OTHER, Refuses, TLS13, X509, accepting, chosen, key, other_roots,
    plain_client, plain_server, refusing, same, server_entry, server_option,
};
use crate::early_data::guard;
use crate::fixtures::{Kind, NAME, credential, credential_for, roots};
use crate::raw_public_keys::{public, raw};

/// Options for the identity of the server, and for the clients that it serves.
pub(super) fn identity_options(tickets: &Arc<RotatingTickets>) -> Vec<Entry<ServerConfigBuilder>> {
    let own = |kind| credential_for(kind, &[NAME]);
    let (one, other) = (Arc::clone(tickets), Arc::clone(tickets));
    vec![
        server_option("alpn", false, |b| b.alpn(&["a"]), |b| b.alpn(&["b"]))
            .with_client(|| plain_client().alpn(&["a", "b"])),
        server_option("signature_schemes", true, demanding, |b| {
            demanding(b).signature_schemes(NOT_P256)
        })
        .with_client(client_with_certificate),
        server_entry(
            "credential",
            true,
            move |b| b.credential(own(Kind::P256)),
            |b| b.credential(credential_for(Kind::P256, &[OTHER])),
        ),
        server_entry(
            "credentials",
            true,
            |b| b.credentials(chosen()).session_context(b"x"),
            |b| b.credentials(chosen()),
        ),
        server_entry(
            "replaceable_credentials",
            true,
            |b| b.replaceable_credentials(Arc::new(Credentials::new(vec![credential(Kind::P256)]))),
            |b| {
                let other = credential_for(Kind::P256, &[OTHER]);
                b.replaceable_credentials(Arc::new(Credentials::new(vec![other])))
            },
        ),
        server_option("require_known_name", true, same, ServerConfigBuilder::require_known_name)
            .with_client(|| {
                ClientConfig::builder()
                    .verifier(Policy::Here(Arc::new(AcceptAnyPeer)))
                    .session_context(b"any")
            })
            .name(OTHER),
        server_entry(
            "choose_config",
            true,
            move |b| b.choose_config(choosing(b"one", &one)),
            move |b| b.choose_config(choosing(b"two", &other)),
        ),
        server_entry(
            "pre_shared_keys",
            true,
            |b| b.pre_shared_keys([key("a", 1)]),
            |b| b.pre_shared_keys([key("a", 2)]),
        )
        .with_client(|| ClientConfig::builder().pre_shared_keys([key("a", 1)]))
        .versions(TLS13),
        server_entry(
            "find_pre_shared_key",
            true,
            |b| b.find_pre_shared_key(finder("a", 1)),
            |b| b.find_pre_shared_key(finder("b", 1)),
        )
        .with_client(|| ClientConfig::builder().pre_shared_keys([key("a", 1)]))
        .versions(TLS13),
        server_option("prefer_client_order", false, same, |b| b.prefer_client_order(true)),
        server_option("ignore_unknown_alpn", false, same, |b| b.ignore_unknown_alpn(true)),
        server_option("acknowledge_server_name", false, same, |b| b.acknowledge_server_name(false)),
        server_option("compress_certificates_ahead", false, same, |b| {
            b.compress_certificates_ahead(true)
        }),
    ]
}

/// Options for the server's requirements on clients.
pub(super) fn client_certificate_options() -> Vec<Entry<ServerConfigBuilder>> {
    vec![
        server_option("client_auth", true, demanding, |b| {
            b.client_auth(ClientAuth::Required, roots())
        })
        .with_client(client_with_certificate),
        server_option("client_verifier", true, demanding, |b| {
            b.client_verifier(ClientAuth::Optional, Policy::Here(Arc::new(Refuses)))
        })
        .with_client(client_with_certificate),
        server_option(
            "client_raw_keys",
            true,
            |b| b.client_raw_keys(ClientAuth::Optional, vec![public(Kind::P384)]),
            |b| b.client_raw_keys(ClientAuth::Optional, vec![public(Kind::P256)]),
        )
        .with_client(client_with_raw_key),
        // Without a second verification, the keys and the verifiers themselves are bound.
        server_option(
            "client_raw_keys",
            true,
            |b| unverified_raw(b, Kind::P384),
            |b| unverified_raw(b, Kind::P256),
        )
        .with_client(client_with_raw_key),
        server_option("client_auth", true, unverified, |b| {
            b.client_auth(ClientAuth::Optional, other_roots()).verify_resumed(false)
        })
        .with_client(client_with_certificate),
        server_option(
            "client_verifier",
            true,
            |b| b.client_verifier(ClientAuth::Optional, accepting()).verify_resumed(false),
            |b| b.client_verifier(ClientAuth::Optional, refusing()).verify_resumed(false),
        )
        .with_client(client_with_certificate),
        server_option(
            "client_verifier",
            true,
            |b| digests_only(b).client_verifier(ClientAuth::Optional, accepting()),
            |b| digests_only(b).client_verifier(ClientAuth::Optional, refusing()),
        )
        .with_client(client_with_certificate),
        server_option("client_authorities", false, demanding, |b| {
            demanding(b).client_authorities(vec![b"a name".to_vec()])
        })
        .with_client(client_with_certificate),
        server_option(
            "client_certificate_types",
            true,
            |b| demanding(b).client_raw_keys(ClientAuth::Optional, vec![public(Kind::P384)]),
            |b| {
                demanding(b)
                    .client_raw_keys(ClientAuth::Optional, vec![public(Kind::P384)])
                    .client_certificate_types(&[X509])
            },
        )
        .with_client(client_with_raw_key),
        server_option(
            "legacy_peer_keys",
            true,
            |b| b.client_verifier(ClientAuth::None, Policy::Ask),
            |b| b.client_verifier(ClientAuth::None, Policy::Ask).legacy_peer_keys(true),
        ),
        server_option("request_ocsp", true, unverified, |b| unverified(b).request_ocsp(true))
            .with_client(client_with_certificate),
        server_option("request_signed_certificate_timestamps", true, unverified, |b| {
            unverified(b).request_signed_certificate_timestamps(true)
        })
        .with_client(client_with_certificate),
        server_option("verify_resumed", true, demanding, unverified)
            .with_client(client_with_certificate),
        server_option("store_only_certificate_digests", true, unverified, |b| {
            unverified(b).store_only_certificate_digests(true)
        })
        .with_client(client_with_certificate),
    ]
}

/// Options for the server's resumption of sessions.
pub(super) fn resumption_options() -> Vec<Entry<ServerConfigBuilder>> {
    vec![
        server_option("tickets", true, same, |b| {
            b.tickets(Arc::new(RotatingTickets::new(UnixTime::now()).unwrap()))
        }),
        server_option("ask_for_tickets", true, same, |b| b.ask_for_tickets(Duration::from_secs(9))),
        server_option("without_tickets", true, same, ServerConfigBuilder::without_tickets),
        server_option("session_store", true, same, |b| {
            b.without_tickets().session_store(Policy::Here(Arc::new(ServerMemoryStore::new(10))))
        }),
        server_option("session_lifetime", false, same, |b| {
            b.session_lifetime(Duration::from_secs(1))
        }),
        server_option("ticket_counts", false, same, |b| b.ticket_counts(1, 0)),
        server_option(
            "session_context",
            true,
            |b| b.session_context(b"one"),
            |b| b.session_context(b"two"),
        ),
        server_option("early_data", false, same, |b| b.early_data(1000, guard())),
        server_option("replay_guard_id", false, same, |b| {
            b.early_data(1000, Policy::Ask).replay_guard_id([1; 16])
        }),
        server_option(
            "freshness_window",
            true,
            |b| b.early_data(1000, guard()),
            |b| b.early_data(1000, guard()).freshness_window(Duration::from_secs(10)),
        ),
        server_option("forget_session", false, same, |b| {
            let reported: Arc<dyn ForgetSession> = Arc::new(|_: &[u8; 32]| {});
            b.forget_session(reported)
        }),
        server_option("resumption_across_names", false, same, |b| b.resumption_across_names(true)),
    ]
}

struct Always(Arc<ServerConfig>);

impl ChooseConfig for Always {
    fn choose_config(&self, _: &tercel::wire::ClientHello<'_>) -> Option<Arc<ServerConfig>> {
        Some(Arc::clone(&self.0))
    }
}

fn choosing(label: &'static [u8], tickets: &Arc<RotatingTickets>) -> Policy<dyn ChooseConfig> {
    let tickets = Arc::clone(tickets);
    let chosen = plain_server().session_context(label).tickets(tickets).build().unwrap();
    Policy::Here(Arc::new(Always(chosen)))
}

fn finder(name: &str, secret: u8) -> Policy<dyn tercel::psk::FindPreSharedKey> {
    Policy::Here(Arc::new(PreSharedKeys::new([key(name, secret)])))
}

/// A client that sends a certificate on request.
fn client_with_certificate() -> ClientConfigBuilder {
    plain_client().credential(credential(Kind::P256))
}

fn client_with_raw_key() -> ClientConfigBuilder {
    plain_client().credential(raw(Kind::P384))
}

fn demanding(builder: ServerConfigBuilder) -> ServerConfigBuilder {
    builder.client_auth(ClientAuth::Optional, roots())
}

fn unverified(builder: ServerConfigBuilder) -> ServerConfigBuilder {
    demanding(builder).verify_resumed(false)
}

fn unverified_raw(builder: ServerConfigBuilder, kind: Kind) -> ServerConfigBuilder {
    builder.client_raw_keys(ClientAuth::Optional, vec![public(kind)]).verify_resumed(false)
}

fn digests_only(builder: ServerConfigBuilder) -> ServerConfigBuilder {
    builder.verify_resumed(false).store_only_certificate_digests(true)
}
