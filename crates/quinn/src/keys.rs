//! Keys of packets, as quinn uses them.

use std::sync::Arc;

use bytes::BytesMut;
use quinn_proto::Side;
use quinn_proto::crypto::{self, CryptoError, KeyPair, Keys};
use tercel::quic::{self, DirectionKeys, PacketKeys, Version};

/// The message of a panic that has no other cause, because quinn's traits have no errors.
pub(crate) const NO_MEMORY: &str = "the cryptographic library got no memory";

/// The keys of Initial packets.
pub(crate) fn initial_keys(version: Version, connection_id: &[u8], side: Side) -> Keys {
    let side = match side {
        Side::Client => tercel::Side::Client,
        Side::Server => tercel::Side::Server,
    };
    keys(quic::initial_keys(version, connection_id, side).expect(NO_MEMORY))
}

pub(crate) fn keys(keys: quic::Keys) -> Keys {
    let (local_header, local_packet) = direction(keys.local);
    let (remote_header, remote_packet) = direction(keys.remote);
    Keys {
        header: KeyPair { local: local_header, remote: remote_header },
        packet: KeyPair { local: local_packet, remote: remote_packet },
    }
}

fn direction(keys: DirectionKeys) -> (Box<dyn crypto::HeaderKey>, Box<dyn crypto::PacketKey>) {
    (Box::new(HeaderKey(keys.header)), Box::new(PacketKey(keys.packet)))
}

pub(crate) fn packet_keys(keys: PacketKeys) -> KeyPair<Box<dyn crypto::PacketKey>> {
    KeyPair { local: Box::new(PacketKey(keys.local)), remote: Box::new(PacketKey(keys.remote)) }
}

/// The keys of 0-RTT packets, which quinn may ask for more than once.
pub(crate) fn early(
    keys: &Arc<DirectionKeys>,
) -> (Box<dyn crypto::HeaderKey>, Box<dyn crypto::PacketKey>) {
    (Box::new(HeaderKey(Arc::clone(keys))), Box::new(PacketKey(Arc::clone(keys))))
}

/// A value that contains the keys of a direction, or one of them.
trait Contains<K>: Send + Sync {
    fn key(&self) -> &K;
}

impl<K: Send + Sync> Contains<K> for K {
    fn key(&self) -> &K {
        self
    }
}

impl Contains<quic::PacketKey> for Arc<DirectionKeys> {
    fn key(&self) -> &quic::PacketKey {
        &self.packet
    }
}

impl Contains<quic::HeaderKey> for Arc<DirectionKeys> {
    fn key(&self) -> &quic::HeaderKey {
        &self.header
    }
}

struct PacketKey<T>(T);

impl<T: Contains<quic::PacketKey>> crypto::PacketKey for PacketKey<T> {
    fn encrypt(&self, packet: u64, buf: &mut [u8], header_len: usize) {
        let (header, payload) = buf.split_at_mut(header_len);
        self.0.key().seal(packet, header, payload).expect("quinn leaves room for the tag");
    }

    fn decrypt(
        &self,
        packet: u64,
        header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        let length = self.0.key().open(packet, header, payload).map_err(|_| CryptoError)?;
        payload.truncate(length);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        quic::PacketKey::TAG_LEN
    }

    fn confidentiality_limit(&self) -> u64 {
        self.0.key().confidentiality_limit()
    }

    fn integrity_limit(&self) -> u64 {
        self.0.key().integrity_limit()
    }
}

struct HeaderKey<T>(T);

/// The message of a panic: quinn checks received packets, and pads those that it sends.
const TOO_SHORT: &str = "the packet is too short for a sample";

impl<T: Contains<quic::HeaderKey>> crypto::HeaderKey for HeaderKey<T> {
    fn decrypt(&self, pn_offset: usize, packet: &mut [u8]) {
        assert!(self.0.key().unprotect(pn_offset, packet), "{TOO_SHORT}");
    }

    fn encrypt(&self, pn_offset: usize, packet: &mut [u8]) {
        assert!(self.0.key().protect(pn_offset, packet), "{TOO_SHORT}");
    }

    fn sample_size(&self) -> usize {
        quic::HeaderKey::SAMPLE_LEN
    }
}
