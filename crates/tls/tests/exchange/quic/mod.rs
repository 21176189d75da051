//! Handshakes over QUIC: both sides in memory, connected by CRYPTO data. RFC 9001

mod early_data;
mod given_keys;
mod handshakes;
mod messages;
mod pair;
mod rules;
mod sessions;
