//! Keys of QUIC packets: derivation from traffic secrets, protection of packets and headers, key
//! updates, and Retry packets. RFC 9001 5.1, 5.8, 6; RFC 9369 3.3.2
//!
//! Keys of a server for tokens and stateless resets are in `tokens.rs`.

pub(crate) mod initial;
pub(crate) mod packet;
pub(crate) mod tokens;
pub(crate) mod update;

use tercel_crypto::{AeadAlgorithm, HashAlgorithm, Prk, SecretBytes};

use super::label::{ExpandLabel, Label, expand_labels};
use super::tls13::TrafficSecret;
use crate::error::Error;
use packet::{HeaderKey, PacketKey};

/// A version of QUIC. It determines the labels and constants of the key schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Version {
    /// Version 1. RFC 9000
    V1,
    /// Version 2. RFC 9369
    V2,
}

impl Version {
    /// Returns the version with this number, as it is in the header of packets. `None` if it is not
    /// supported.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Self> {
        match number {
            0x0000_0001 => Some(Self::V1),
            0x6b33_43cf => Some(Self::V2),
            _ => None,
        }
    }

    /// Returns the number of the version in the header of packets. RFC 9000 15, RFC 9369 3.1
    #[must_use]
    pub fn number(self) -> u32 {
        match self {
            Self::V1 => 0x0000_0001,
            Self::V2 => 0x6b33_43cf,
        }
    }

    /// The labels for the keys of packets. RFC 9001 5.1, RFC 9369 3.3.2
    fn labels(self) -> Labels {
        match self {
            Self::V1 => Labels {
                key: Label::QUIC_KEY,
                iv: Label::QUIC_IV,
                header: Label::QUIC_HP,
                update: Label::QUIC_KU,
            },
            Self::V2 => Labels {
                key: Label::QUICV2_KEY,
                iv: Label::QUICV2_IV,
                header: Label::QUICV2_HP,
                update: Label::QUICV2_KU,
            },
        }
    }
}

/// The labels of HKDF-Expand-Label in one version.
struct Labels {
    key: Label,
    iv: Label,
    header: Label,
    update: Label,
}

/// The keys of both directions.
#[derive(Debug)]
#[non_exhaustive]
pub struct Keys {
    /// The keys for packets that this side sends.
    pub local: DirectionKeys,
    /// The keys for packets that this side receives.
    pub remote: DirectionKeys,
}

/// The keys of one direction.
#[derive(Debug)]
#[non_exhaustive]
pub struct DirectionKeys {
    /// The key for the headers of packets. It does not change at a key update.
    pub header: HeaderKey,
    /// The key for the payloads of packets.
    pub packet: PacketKey,
}

impl Keys {
    /// Derives the keys of both directions at once. RFC 9001 5.1
    pub(crate) fn derive(
        version: Version,
        local: &TrafficSecret,
        remote: &TrafficSecret,
    ) -> Result<Self, Error> {
        let (aead, hash) = (local.algorithm(), local.hash());
        let prks = Prk::batch(hash, [local.as_bytes(), remote.as_bytes()]);
        let [local, remote] = Material::derive(version, aead, prks.each_ref());
        Ok(Self { local: local.direction(aead)?, remote: remote.direction(aead)? })
    }
}

impl DirectionKeys {
    /// Derives the keys of one direction. RFC 9001 5.1
    pub(crate) fn derive(version: Version, secret: &TrafficSecret) -> Result<Self, Error> {
        let prk = Prk::from_bytes(secret.hash(), secret.as_bytes());
        let [material] = Material::derive(version, secret.algorithm(), [&prk]);
        material.direction(secret.algorithm())
    }
}

/// The key for payloads, the key for headers, and the IV of one direction, in this order.
struct Material(SecretBytes<{ 32 + 32 + 12 }>);

impl Material {
    /// Derives the material of several directions at once. RFC 9001 5.1
    fn derive<const N: usize>(
        version: Version,
        aead: AeadAlgorithm,
        secrets: [&Prk; N],
    ) -> [Self; N] {
        let labels = version.labels();
        let key = aead.key_len();
        let length = key.saturating_mul(2).saturating_add(AeadAlgorithm::NONCE_LEN);
        let made = SecretBytes::batch([length; N], |outs| {
            let mut outs = outs.into_iter();
            let directions = secrets.map(|prk| {
                let (to_key, rest) = outs.next().unwrap_or_default().split_at_mut(key);
                let (to_header, to_iv) = rest.split_at_mut(key);
                [
                    step(prk, labels.key, to_key),
                    step(prk, labels.header, to_header),
                    step(prk, labels.iv, to_iv),
                ]
            });
            expand_directions(directions);
        });
        made.map(Self)
    }

    fn direction(&self, aead: AeadAlgorithm) -> Result<DirectionKeys, Error> {
        let (key, rest) = self.0.as_bytes().split_at(aead.key_len());
        let (header, iv) = rest.split_at(aead.key_len());
        Ok(DirectionKeys {
            header: HeaderKey::new(aead, header)?,
            packet: PacketKey::new(aead, key, iv)?,
        })
    }
}

/// Returns the HKDF expansion of a secret with this label. RFC 9001 5.1
fn step<'a>(prk: &'a Prk, label: Label, out: &'a mut [u8]) -> ExpandLabel<'a> {
    ExpandLabel { prk, label, context: &[], out }
}

/// Computes the expansions of one direction or of two.
fn expand_directions<const N: usize>(directions: [[ExpandLabel<'_>; 3]; N]) {
    let mut directions = directions.into_iter();
    match (directions.next(), directions.next()) {
        (Some([a, b, c]), Some([d, e, f])) => expand_labels([a, b, c, d, e, f], &mut []),
        (Some(one), _) => expand_labels(one, &mut []),
        (None, _) => {}
    }
}

/// Creates a traffic secret of AES-128-GCM and SHA-256, the suite of Initial packets. RFC 9001 5.2
fn initial_traffic_secret(prk: &Prk, label: Label) -> TrafficSecret {
    TrafficSecret::of(
        HashAlgorithm::Sha256,
        AeadAlgorithm::Aes128Gcm,
        super::label::derive(prk, label, &[]),
    )
}

#[cfg(test)]
mod tests;
