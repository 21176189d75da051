//! Encrypted ClientHello: both sides through the public interface, and clients whose inner
//! ClientHello breaks a rule. RFC 9849

mod accepted;
mod front;
mod inner_hellos;
mod rejected;
mod shape;

use std::sync::Arc;

use tercel::ech::{ConfigList, Key, Keys, Offer, Retry};
use tercel::{ClientConfig, Handshake, ServerConfig, server::ServerConfigBuilder};
use tercel_crypto::HpkeKey;
use tercel_wire::{
    EchConfigContents, HpkeAead, HpkeKdf, HpkeKem, HpkeSymmetricCipherSuite, List, Writer,
};

use crate::fixtures::{Kind, credential_for};
use crate::pair::Pair;

const SECRET: &str = "secret.example";
const PUBLIC: &str = "cover.example";

/// A key of a server, of which the test knows the private key.
pub(crate) struct TestKey {
    pub(crate) config: Vec<u8>,
    pub(crate) private: [u8; 32],
}

impl TestKey {
    pub(crate) fn new(config_id: u8, aead: HpkeAead) -> Self {
        let private = HpkeKey::generate().unwrap();
        let suites = [HpkeSymmetricCipherSuite { kdf_id: HpkeKdf::HKDF_SHA256, aead_id: aead }];
        let contents = EchConfigContents {
            config_id,
            kem_id: HpkeKem::DHKEM_X25519_HKDF_SHA256,
            public_key: &private.public_key().unwrap(),
            cipher_suites: List::new(&suites),
            maximum_name_length: 40,
            public_name: PUBLIC.as_bytes(),
            extensions: List::new(&[]),
        };
        let mut config = Vec::new();
        contents.encode(&mut Writer::new(&mut config));
        let private = private.private_key().unwrap().as_bytes().try_into().unwrap();
        Self { config, private }
    }

    pub(crate) fn key(&self) -> Key {
        Key::from_parts(&self.config, &self.private).unwrap()
    }
}

/// The default key.
pub(crate) fn test_key() -> TestKey {
    TestKey::new(7, HpkeAead::AES_128_GCM)
}

fn keys(keys: Vec<Key>) -> Arc<Keys> {
    Arc::new(Keys::new(keys.into_iter().map(|key| (key, Retry::Send)).collect()).unwrap())
}

/// A server with credentials for both names and with this key.
fn server(key: Key) -> ServerConfigBuilder {
    without_keys().ech(keys(vec![key]))
}

fn without_keys() -> ServerConfigBuilder {
    ServerConfig::builder()
        .credential(credential_for(Kind::P256, &[PUBLIC]))
        .credential(credential_for(Kind::P256, &[SECRET]))
        .require_known_name()
}

fn offer(configs: &ConfigList) -> Offer {
    Offer::Configs(configs.clone())
}

fn pair<'t>(
    client: &Arc<ClientConfig>,
    server: &Arc<ServerConfig>,
    configs: &ConfigList,
) -> Pair<'t> {
    let client = Handshake::client(Arc::clone(client), SECRET.try_into().unwrap());
    Pair::of(client.with_ech(offer(configs)), Handshake::server(Arc::clone(server)))
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
