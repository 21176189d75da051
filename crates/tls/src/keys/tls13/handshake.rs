//! The handshake secret: what protects the rest of the handshake, and makes both Finished. RFC 9846 7.1
//!
//! Must not know: messages. Next: [`super::main_secret`].

use tercel_crypto::{Digest, HashAlgorithm, HmacKey, Prk, ShortSecret};

use super::label::derive_secret;
use super::main_secret::MainSecret;
use super::traffic::TrafficSecret;
use crate::keys::constants::Constants;
use crate::keys::direction::{Keys, WriteKey};
use crate::keys::suite::Suite;

/// The second stage: protects the rest of the handshake.
pub(crate) struct HandshakeSecret {
    pub(super) prk: Prk,
    pub(super) suite: &'static Suite,
}

impl HandshakeSecret {
    /// `hello` is the transcript hash of ClientHello to ServerHello.
    pub(crate) fn client_handshake_traffic_secret(&self, hello: &Digest) -> TrafficSecret {
        TrafficSecret::new(self.suite, &derive_secret(&self.prk, b"c hs traffic", hello))
    }

    /// `hello` is the transcript hash of ClientHello to ServerHello.
    pub(crate) fn server_handshake_traffic_secret(&self, hello: &Digest) -> TrafficSecret {
        TrafficSecret::new(self.suite, &derive_secret(&self.prk, b"s hs traffic", hello))
    }

    /// The last stage.
    pub(crate) fn into_main(self) -> MainSecret {
        let hash = self.suite.hash;
        let salt = derive_secret(&self.prk, b"derived", &Constants::of(hash).empty);
        let zeros = [0_u8; 64];
        let zeros = zeros.get(..hash.output_len()).unwrap_or_default();
        MainSecret { prk: Prk::extract(hash, salt.as_bytes(), zeros), suite: self.suite }
    }
}

/// What protects a handshake's own records and makes its Finished. There is no successor to it.
pub(crate) struct HandshakeKeys {
    pub(super) write_key: WriteKey,
    pub(super) finished_key: ShortSecret,
    pub(super) hash: HashAlgorithm,
}

impl HandshakeKeys {
    /// What protects records.
    pub(crate) fn keys(&self) -> Keys {
        Keys::Handshake13(self.write_key.duplicate())
    }

    /// The `verify_data` of a Finished made under this secret. RFC 9846 4.5.3
    pub(crate) fn verify_data(&self, transcript: &Digest) -> Digest {
        HmacKey::new(self.hash, self.finished_key.as_bytes()).sign(&[transcript])
    }

    /// Compares in constant time.
    pub(crate) fn verifies(&self, transcript: &Digest, verify_data: &[u8]) -> bool {
        HmacKey::new(self.hash, self.finished_key.as_bytes()).verify(&[transcript], verify_data)
    }
}
