//! Sessions of quinn that record what quinn does not report: Retry packets, HelloRetryRequests,
//! early data, key updates, client certificates.

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::BytesMut;
use quinn_proto::crypto::{
    self, CryptoError, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, Session,
    UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError};

/// What was observed of one session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observed {
    pub(crate) retry: bool,
    pub(crate) hello_retry: bool,
    /// The packets that were protected or opened with the keys of 0-RTT.
    pub(crate) early_packets: usize,
    pub(crate) early_data_accepted: bool,
    /// For each key phase after the first: whether this side began it. `None` before it begins.
    pub(crate) key_phases: Vec<Option<bool>>,
    /// The certificates in the client's Certificate message.
    pub(crate) client_certificates: usize,
}

type Shared = Arc<Mutex<Observed>>;

fn open<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The sessions of an endpoint, in the order of their start.
#[derive(Clone, Default)]
pub(crate) struct Sessions(Arc<Mutex<Vec<Shared>>>);

impl Sessions {
    pub(crate) fn count(&self) -> usize {
        open(&self.0).len()
    }

    pub(crate) fn observed(&self, number: usize) -> Observed {
        open(&self.0).get(number).map(|shared| open(shared).clone()).unwrap_or_default()
    }

    fn watch(&self, inner: Box<dyn Session>, is_client: bool) -> Box<dyn Session> {
        let observed = Shared::default();
        open(&self.0).push(Arc::clone(&observed));
        let (sent, received) = (Messages::default(), Messages::default());
        Box::new(Watched { inner, is_client, observed, sent, received })
    }
}

/// A configuration whose sessions are watched.
pub(crate) struct WatchedConfig<C: ?Sized> {
    pub(crate) inner: Arc<C>,
    pub(crate) sessions: Sessions,
}

impl crypto::ClientConfig for WatchedConfig<dyn crypto::ClientConfig> {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        let inner = Arc::clone(&self.inner).start_session(version, server_name, params)?;
        Ok(self.sessions.watch(inner, true))
    }
}

impl crypto::ServerConfig for WatchedConfig<dyn crypto::ServerConfig> {
    fn initial_keys(&self, version: u32, id: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        self.inner.initial_keys(version, id)
    }

    fn retry_tag(&self, version: u32, id: &ConnectionId, packet: &[u8]) -> [u8; 16] {
        self.inner.retry_tag(version, id, packet)
    }

    fn start_session(
        self: Arc<Self>,
        version: u32,
        params: &TransportParameters,
    ) -> Box<dyn Session> {
        let inner = Arc::clone(&self.inner).start_session(version, params);
        self.sessions.watch(inner, false)
    }
}

struct Watched {
    inner: Box<dyn Session>,
    is_client: bool,
    observed: Shared,
    sent: Messages,
    received: Messages,
}

impl Watched {
    fn watch(&self, inner: Box<dyn PacketKey>, kind: KeyKind) -> Box<dyn PacketKey> {
        Box::new(WatchedKey { inner, kind, observed: Arc::clone(&self.observed) })
    }

    fn note(&self, messages: Vec<(u8, Vec<u8>)>, by_client: bool) {
        let mut observed = open(&self.observed);
        for (kind, body) in messages {
            match kind {
                SERVER_HELLO => observed.hello_retry |= body.get(2..34) == Some(&RETRY_RANDOM[..]),
                CERTIFICATE if by_client => observed.client_certificates += certificates(&body),
                _ => {}
            }
        }
    }
}

impl Session for Watched {
    fn initial_keys(&self, dst_cid: &ConnectionId, side: Side) -> Keys {
        self.inner.initial_keys(dst_cid, side)
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.inner.handshake_data()
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.inner.peer_identity()
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        let (header, packet) = self.inner.early_crypto()?;
        // A server has these keys if it accepted early data.
        open(&self.observed).early_data_accepted |= !self.is_client;
        Some((header, self.watch(packet, KeyKind::Early)))
    }

    fn early_data_accepted(&self) -> Option<bool> {
        let accepted = self.inner.early_data_accepted();
        open(&self.observed).early_data_accepted |= accepted == Some(true);
        accepted
    }

    fn is_handshaking(&self) -> bool {
        self.inner.is_handshaking()
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        let messages = self.received.push(buf);
        self.note(messages, !self.is_client);
        self.inner.read_handshake(buf)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        self.inner.transport_parameters()
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        let before = buf.len();
        let keys = self.inner.write_handshake(buf);
        let messages = self.sent.push(&buf[before..]);
        self.note(messages, self.is_client);
        keys
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        let KeyPair { local, remote } = self.inner.next_1rtt_keys()?;
        let mut observed = open(&self.observed);
        let phase = observed.key_phases.len();
        observed.key_phases.push(None);
        drop(observed);
        let watch = |inner| self.watch(inner, KeyKind::Phase(phase));
        Some(KeyPair { local: watch(local), remote: watch(remote) })
    }

    fn is_valid_retry(&self, id: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        let is_valid = self.inner.is_valid_retry(id, header, payload);
        open(&self.observed).retry |= is_valid;
        is_valid
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.inner.export_keying_material(output, label, context)
    }
}

/// A key whose use is recorded.
struct WatchedKey {
    inner: Box<dyn PacketKey>,
    kind: KeyKind,
    observed: Shared,
}

/// The packets that a key protects.
enum KeyKind {
    /// 0-RTT packets.
    Early,
    /// Packets of this key phase after the first. The side that uses a key first began the phase.
    Phase(usize),
}

impl WatchedKey {
    fn record(&self, by_this_side: bool) {
        let mut observed = open(&self.observed);
        match self.kind {
            KeyKind::Early => observed.early_packets += 1,
            KeyKind::Phase(phase) => {
                if let Some(phase) = observed.key_phases.get_mut(phase) {
                    phase.get_or_insert(by_this_side);
                }
            }
        }
    }
}

impl PacketKey for WatchedKey {
    fn encrypt(&self, packet: u64, buf: &mut [u8], header_len: usize) {
        self.record(true);
        self.inner.encrypt(packet, buf, header_len);
    }

    fn decrypt(
        &self,
        packet: u64,
        header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        self.inner.decrypt(packet, header, payload)?;
        self.record(false);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        self.inner.tag_len()
    }

    fn confidentiality_limit(&self) -> u64 {
        self.inner.confidentiality_limit()
    }

    fn integrity_limit(&self) -> u64 {
        self.inner.integrity_limit()
    }
}

/// Joins CRYPTO data to messages.
#[derive(Default)]
struct Messages(Vec<u8>);

impl Messages {
    /// The types and bodies of the messages that are complete with this data.
    fn push(&mut self, data: &[u8]) -> Vec<(u8, Vec<u8>)> {
        self.0.extend_from_slice(data);
        let mut complete = Vec::new();
        while let [kind, a, b, c, rest @ ..] = &self.0[..] {
            let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
            let Some(body) = rest.get(..length) else { break };
            complete.push((*kind, body.to_vec()));
            self.0.drain(..length + 4);
        }
        complete
    }
}

/// The number of entries of a Certificate message.
fn certificates(body: &[u8]) -> usize {
    // An empty context, then the length of the list.
    let mut list = body.get(4..).unwrap_or_default();
    let mut count = 0;
    while let [a, b, c, rest @ ..] = list {
        let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
        let Some([high, low, rest @ ..]) = rest.get(length..) else { break };
        count += 1;
        list = rest.get(usize::from(u16::from_be_bytes([*high, *low]))..).unwrap_or_default();
    }
    count
}

const SERVER_HELLO: u8 = 2;
const CERTIFICATE: u8 = 11;

/// The random value of a HelloRetryRequest. RFC 9846 4.2.3
const RETRY_RANDOM: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
    0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_joined() {
        let mut messages = Messages::default();
        assert_eq!(messages.push(&[2, 0, 0, 2, 7]), []);
        assert_eq!(messages.push(&[8, 11, 0, 0, 0, 9]), [(2, vec![7, 8]), (11, vec![])]);
    }

    #[test]
    fn certificates_are_counted() {
        assert_eq!(certificates(&[0, 0, 0, 0]), 0);
        assert_eq!(certificates(&[0, 0, 0, 6, 0, 0, 1, 9, 0, 0]), 1);
        assert_eq!(certificates(&[0, 0, 0, 12, 0, 0, 1, 9, 0, 0, 0, 0, 1, 9, 0, 0]), 2);
    }
}
