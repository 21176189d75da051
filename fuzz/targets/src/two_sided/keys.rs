//! The keys of both sides, for an attacker who has them: derived from a key log, to open and seal
//! records.
//!
//! This module is written from the RFCs, without the library's record layer, which is under test.

use std::cell::{Cell, RefCell};

use tercel::crypto::{AeadAlgorithm, HashAlgorithm};
use tercel::{Side, key_log::KeyLog};
use tercel_crypto::{AeadKey, Prk, Tls12Prf};

/// A key log that records secrets for the side that runs on this thread.
pub(crate) struct ThreadLog;

struct Entry {
    side: Side,
    label: String,
    client_random: [u8; 32],
    secret: Vec<u8>,
}

thread_local! {
    static TURN: Cell<Option<Side>> = const { Cell::new(None) };
    static LOG: RefCell<Vec<Entry>> = const { RefCell::new(Vec::new()) };
}

impl KeyLog for ThreadLog {
    fn log(&self, label: &str, client_random: &[u8; 32], secret: &[u8]) {
        let Some(side) = TURN.get() else { return };
        let (label, client_random, secret) = (label.to_owned(), *client_random, secret.to_vec());
        LOG.with_borrow_mut(|log| log.push(Entry { side, label, client_random, secret }));
    }
}

/// Runs `action`, and records its secrets for this side.
pub(crate) fn log_for(side: Side, action: impl FnOnce()) {
    TURN.set(Some(side));
    action();
    TURN.set(None);
}

/// Removes all recorded secrets.
pub(super) fn clear() {
    LOG.take();
}

/// The protection of a record. RFC 9846 7.1
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Epoch {
    Clear,
    /// TLS 1.3 only.
    Handshake,
    Application,
}

/// The keys of one direction as one side has computed them. The two sides differ if a hello was
/// changed.
pub(super) struct Keys {
    owner: Side,
    sender: Side,
    epoch: Epoch,
    key: Option<Key>,
    /// TLS 1.2: the random of the ServerHello.
    pub(super) server_random: [u8; 32],
}

impl Keys {
    pub(super) fn new(owner: Side, sender: Side) -> Self {
        Self { owner, sender, epoch: Epoch::Clear, key: None, server_random: [0; 32] }
    }

    /// Opens a record with the current key or a later key.
    pub(super) fn open(&mut self, record: &[u8]) -> Option<(Epoch, u8, Vec<u8>)> {
        if let Some((kind, content)) = self.key.as_mut().and_then(|key| key.open(record)) {
            return Some((self.epoch, kind, content));
        }
        if self.epoch == Epoch::Application {
            let mut next = self.key.as_ref()?.next()?;
            let (kind, content) = next.open(record)?;
            self.key = Some(next);
            return Some((self.epoch, kind, content));
        }
        for epoch in [Epoch::Handshake, Epoch::Application] {
            let Some(mut next) = self.find(epoch).filter(|_| epoch > self.epoch) else { continue };
            if let Some((kind, content)) = next.open(record) {
                (self.epoch, self.key) = (epoch, Some(next));
                return Some((epoch, kind, content));
            }
        }
        None
    }

    /// Seals a record with the key of `epoch`, or leaves it in plaintext if the key does not exist
    /// yet.
    pub(super) fn seal(&mut self, epoch: Epoch, kind: u8, content: &[u8]) -> Vec<u8> {
        if epoch != self.epoch {
            self.key = self.find(epoch);
            self.epoch = epoch;
        }
        let Some(key) = &mut self.key else { return with_header(kind, content) };
        let record = key.seal(kind, content);
        // The receiver of a KeyUpdate changes to the next key. RFC 9846 4.7.3
        if epoch == Epoch::Application && kind == HANDSHAKE && is_key_update(content) {
            self.key = key.next().or_else(|| self.key.take());
        }
        record
    }

    fn find(&self, epoch: Epoch) -> Option<Key> {
        let label = match (epoch, self.sender) {
            (Epoch::Clear, _) => return None,
            (Epoch::Handshake, Side::Client) => "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
            (Epoch::Handshake, Side::Server) => "SERVER_HANDSHAKE_TRAFFIC_SECRET",
            (Epoch::Application, Side::Client) => "CLIENT_TRAFFIC_SECRET_0",
            (Epoch::Application, Side::Server) => "SERVER_TRAFFIC_SECRET_0",
        };
        LOG.with_borrow(|log| {
            let entry = |label| log.iter().find(|it| it.side == self.owner && it.label == label);
            if let Some(entry) = entry(label) {
                return Key::tls13(entry.secret.clone());
            }
            let entry = entry("CLIENT_RANDOM").filter(|_| epoch == Epoch::Application)?;
            Key::tls12(&entry.secret, &entry.client_random, &self.server_random, self.sender)
        })
    }
}

pub(super) const HANDSHAKE: u8 = 22;
pub(super) const APPLICATION_DATA: u8 = 23;

/// A record without protection.
pub(super) fn with_header(kind: u8, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).unwrap_or(u16::MAX).to_be_bytes();
    let mut record = vec![kind, 3, 3, length[0], length[1]];
    record.extend_from_slice(&content[..content.len().min(u16::MAX.into())]);
    record
}

fn is_key_update(content: &[u8]) -> bool {
    matches!(content, [24, 0, 0, 1, _])
}

/// A key of AES-128-GCM, the preferred suite.
struct Key {
    /// TLS 1.3: the secret from which the next key is derived.
    traffic_secret: Option<Vec<u8>>,
    key: AeadKey,
    iv: [u8; 12],
    sequence: u64,
}

const AEAD: AeadAlgorithm = AeadAlgorithm::Aes128Gcm;
const EXPLICIT_NONCE: usize = 8;

impl Key {
    fn tls13(traffic_secret: Vec<u8>) -> Option<Self> {
        let (mut key, mut iv) = ([0; 16], [0; 12]);
        expand_label(&traffic_secret, b"key", &mut key);
        expand_label(&traffic_secret, b"iv", &mut iv);
        let key = AeadKey::new(AEAD, &key).ok()?;
        Some(Self { traffic_secret: Some(traffic_secret), key, iv, sequence: 0 })
    }

    /// RFC 5246 6.3, RFC 5288 3
    fn tls12(main: &[u8], client: &[u8], server: &[u8], sender: Side) -> Option<Self> {
        let mut block = [0; 2 * (16 + 4)];
        let prf = Tls12Prf::new(HashAlgorithm::Sha256, main);
        prf.fill(b"key expansion", &[server, client], &mut block);
        let (key, fixed) = match sender {
            Side::Client => (&block[..16], &block[32..36]),
            Side::Server => (&block[16..32], &block[36..]),
        };
        let mut iv = [0; 12];
        iv[..4].copy_from_slice(fixed);
        Some(Self { traffic_secret: None, key: AeadKey::new(AEAD, key).ok()?, iv, sequence: 0 })
    }

    fn next(&self) -> Option<Self> {
        let mut next = vec![0; 32];
        expand_label(self.traffic_secret.as_ref()?, b"traffic upd", &mut next);
        Self::tls13(next)
    }

    fn open(&mut self, record: &[u8]) -> Option<(u8, Vec<u8>)> {
        let (header, body) = record.split_first_chunk::<5>()?;
        let mut content = vec![0; body.len()];
        let kind = if self.traffic_secret.is_some() {
            let length = self.key.open(&self.nonce(), header, body, &mut content).ok()?;
            content.truncate(length);
            while content.last() == Some(&0) {
                content.pop();
            }
            content.pop()?
        } else {
            let (explicit, body) = body.split_first_chunk::<EXPLICIT_NONCE>()?;
            let length = body.len().checked_sub(AeadAlgorithm::TAG_LEN)?;
            let aad = self.aad(header[0], length);
            let nonce = self.explicit_nonce(explicit);
            let length = self.key.open(&nonce, &aad, body, &mut content).ok()?;
            content.truncate(length);
            header[0]
        };
        self.sequence += 1;
        Some((kind, content))
    }

    fn seal(&mut self, kind: u8, content: &[u8]) -> Vec<u8> {
        let explicit = self.sequence.to_be_bytes();
        let sealed = if self.traffic_secret.is_some() {
            let mut body = vec![0; content.len() + 1 + AeadAlgorithm::TAG_LEN];
            let mut record = with_header(APPLICATION_DATA, &body);
            self.key.seal(&self.nonce(), &record[..5], content, &[kind], &mut body).map(|_| {
                record[5..].copy_from_slice(&body);
                record
            })
        } else {
            let mut body = vec![0; EXPLICIT_NONCE + content.len() + AeadAlgorithm::TAG_LEN];
            let (front, rest) = body.split_at_mut(EXPLICIT_NONCE);
            front.copy_from_slice(&explicit);
            let aad = self.aad(kind, content.len());
            let nonce = self.explicit_nonce(&explicit);
            self.key.seal(&nonce, &aad, content, &[], rest).map(|_| with_header(kind, &body))
        };
        self.sequence += 1;
        sealed.expect("a record fits")
    }

    /// RFC 9846 5.3
    fn nonce(&self) -> [u8; 12] {
        let mut nonce = self.iv;
        for (byte, with) in nonce[4..].iter_mut().zip(self.sequence.to_be_bytes()) {
            *byte ^= with;
        }
        nonce
    }

    /// RFC 5288 3
    fn explicit_nonce(&self, explicit: &[u8; EXPLICIT_NONCE]) -> [u8; 12] {
        let mut nonce = self.iv;
        nonce[4..].copy_from_slice(explicit);
        nonce
    }

    /// RFC 5246 6.2.3.3
    fn aad(&self, kind: u8, length: usize) -> Vec<u8> {
        let [.., high, low] = length.to_be_bytes();
        [&self.sequence.to_be_bytes()[..], &[kind, 3, 3, high, low]].concat()
    }
}

/// HKDF-Expand-Label without context. RFC 9846 7.1
fn expand_label(secret: &[u8], label: &[u8], out: &mut [u8]) {
    let [.., high, low] = out.len().to_be_bytes();
    let [.., length] = (6 + label.len()).to_be_bytes();
    let prk = Prk::from_bytes(HashAlgorithm::Sha256, secret);
    prk.expand(&[&[high, low, length], b"tls13 ", label, &[0]], out);
}
