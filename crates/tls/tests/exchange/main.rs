//! Tests of both sides through the public interface, in one thread and without sockets.
//!
//! The tests check what an application observes of handshakes and connections. The modules under
//! `debug_assertions` need test seams, which no other build has (CONTRIBUTING.md, "Test seams").

#[path = "../../../pki/tests/ocsp_maker/mod.rs"]
mod ocsp_maker;
#[path = "../../../pki/tests/pem_cases/mod.rs"]
mod pem_cases;

mod aborted;
mod anonymous_clients;
mod application_session_stores;
mod certificates;
mod client_identities;
mod client_store_updates;
mod close_notify;
mod closing;
mod combinations;
mod compression;
mod config_errors;
mod config_options;
mod cookie;
mod credential_requests;
mod credential_selection;
mod debug_output;
mod documented_options;
mod durations;
mod early_data;
mod early_data_rejection;
// The tests of `tercel-tokio` enable the feature, and with them a test of the whole workspace.
// Measurements of this crate are made without it.
#[cfg(feature = "ech")]
mod ech;
#[cfg(feature = "tracing")]
mod event_collector;
#[cfg(feature = "tracing")]
mod events;
#[cfg(feature = "fips")]
mod fips;
#[cfg(feature = "fips")]
mod fips_senders;
mod fixtures;
mod forged_sessions;
mod freshness_window;
mod grease;
mod host_names;
mod ignored_extensions;
mod key_shares;
// `tercel-openssl` enables the feature, and with it a test of the whole workspace.
mod clients_without_key;
#[cfg(feature = "message-tap")]
mod message_tap;
mod ml_dsa;
mod movable;
mod negotiation;
mod nested_handshakes;
mod ocsp_renewal;
mod pair;
#[cfg(debug_assertions)]
mod parked;
mod pem_credentials;
mod pending_records;
mod pinning_and_revocation;
mod post_handshake_auth;
mod pre_shared_keys;
mod public_roots;
mod questions;
#[cfg(feature = "quic")]
mod quic;
mod raw_public_keys;
#[cfg(debug_assertions)]
mod read_sizes;
mod refusal_explanations;
mod replay;
mod resumption;
mod resumption_after_config_changes;
mod retry_cost;
mod returned_sessions;
mod rotation;
#[cfg(debug_assertions)]
mod saved;
mod secrets;
mod server_names;
mod server_sessions;
mod session_binding;
mod session_ids;
mod sessions_after_alerts;
mod sessions_by_port;
mod signatures;
mod sizes;
mod staples;
mod stream_connect_accept;
mod streams;
mod thread_safety;
mod ticket_questions;
mod traffic_keys;
mod trust_pairs;
mod unauthenticated_records;
mod unknown_extensions;
mod updates;
mod virtual_hosts;
mod would_block;
mod wrong_answers;
