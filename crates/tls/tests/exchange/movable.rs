//! Configurations and connections that can be saved and exported.
//!
//! With the feature `fips` they have no AES-GCM suite of TLS 1.3, because the keys of such a sender
//! stay in the FIPS module: `fips_senders.rs`.

use tercel::client::ClientConfigBuilder;
use tercel::wire::{CipherSuite, ProtocolVersion};

use crate::fixtures::{self, NAME, server};
use crate::pair::{Ends, Pair};

pub(crate) fn client() -> ClientConfigBuilder {
    limited(fixtures::client())
}

/// The same options, with suites whose connections can be saved and exported.
pub(crate) fn limited(client: ClientConfigBuilder) -> ClientConfigBuilder {
    if !cfg!(feature = "fips") {
        return client;
    }
    client.cipher_suites(&[
        CipherSuite::TLS_CHACHA20_POLY1305_SHA256,
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    ])
}

/// Both ends of a connection of this version.
pub(crate) fn connect(version: ProtocolVersion) -> Ends {
    let client = client().versions(&[version]).build().unwrap();
    Pair::new(&client, &server().build().unwrap(), NAME).connect().unwrap()
}
