//! The key schedule of TLS 1.3: one type per stage, so that a secret cannot be derived from the wrong one.
//! RFC 9846 7
//!
//! ```text
//! EarlySecret::new(psk) -> .into_handshake(shared) -> HandshakeSecret -> .into_main() -> MainSecret
//! ```
//! Must not know: messages, sockets, who is client. Next: `handshake/tls13/`, which walks these stages.

use tercel_crypto::{
    AeadAlgorithm, Digest, Hash, HashAlgorithm, HmacKey, Prk, Secret, SharedSecret, ShortSecret,
};
use tercel_wire::{Reader, Writer};

use super::constants::Constants;
use super::direction::{Keys, WriteKey};
use super::suite::Suite;
use crate::error::{Error, Local};
use crate::record::protection::Protection;

/// HKDF-Expand-Label. RFC 9846 7.1
pub(super) fn expand_label(prk: &Prk, label: &[u8], context: &[u8], out: &mut [u8]) {
    let [.., high, low] = out.len().to_be_bytes();
    let [.., label_length] = label.len().wrapping_add(PREFIX.len()).to_be_bytes();
    let [.., context_length] = context.len().to_be_bytes();
    let info: [&[u8]; 5] = [&[high, low, label_length], PREFIX, label, &[context_length], context];
    prk.expand(&info, out);
}

const PREFIX: &[u8] = b"tls13 ";

/// What the prefix leaves of the 255 bytes a label may have. RFC 9846 7.1
const MAX_LABEL: usize = 249;

/// Derive-Secret, with the transcript hash already taken. RFC 9846 7.1
pub(super) fn derive_secret(prk: &Prk, label: &[u8], transcript: &[u8]) -> Secret {
    Secret::with(prk.hmac().algorithm().output_len(), |out| {
        expand_label(prk, label, transcript, out);
    })
}

/// The first stage: with a pre-shared key, or without.
pub(crate) struct EarlySecret {
    /// `None`: without a pre-shared key it is the same in every handshake.
    prk: Option<Prk>,
    suite: &'static Suite,
}

impl EarlySecret {
    /// Without a pre-shared key its place is taken by zeros. RFC 9846 7.1
    pub(crate) fn new(suite: &'static Suite, psk: Option<&[u8]>) -> Self {
        let prk = psk.map(|psk| Prk::extract_with(&Constants::of(suite.hash).zeros, psk));
        Self { prk, suite }
    }

    /// The same secret in another suite of its hash. RFC 9846 4.3.11
    pub(crate) fn for_suite(self, suite: &'static Suite) -> Self {
        Self { suite, ..self }
    }

    fn prk(&self) -> &Prk {
        self.prk.as_ref().unwrap_or(&Constants::of(self.suite.hash).early_secret)
    }

    /// The HMAC over a hello without its binders, by which a client shows that it has the key. RFC 9846 4.3.11.2
    pub(crate) fn binder(&self, kind: PskKind, partial_hello: &Digest) -> Digest {
        let empty = &Constants::of(self.suite.hash).empty;
        let binder_key = derive_secret(self.prk(), kind.binder_label(), empty);
        TrafficSecret::new(self.suite, &binder_key).verify_data(partial_hello)
    }

    /// Protects early data. `hello` is the transcript hash of the ClientHello.
    pub(crate) fn client_early_traffic_secret(&self, hello: &Digest) -> TrafficSecret {
        TrafficSecret::new(self.suite, &derive_secret(self.prk(), b"c e traffic", hello))
    }

    /// For exporters before the handshake is complete. `hello` is the transcript hash of the ClientHello.
    pub(crate) fn early_exporter_secret(&self, hello: &Digest) -> ExporterSecret {
        ExporterSecret::new(self.suite.hash, &derive_secret(self.prk(), b"e exp master", hello))
    }

    /// Mixes in the (EC)DHE secret.
    pub(crate) fn into_handshake(self, shared: &SharedSecret) -> HandshakeSecret {
        let constants = Constants::of(self.suite.hash);
        let prk = match &self.prk {
            None => Prk::extract_with(&constants.derived, shared.as_bytes()),
            Some(prk) => {
                let salt = derive_secret(prk, b"derived", &constants.empty);
                Prk::extract(self.suite.hash, salt.as_bytes(), shared.as_bytes())
            }
        };
        HandshakeSecret { prk, suite: self.suite }
    }
}

/// The second stage: protects the rest of the handshake.
pub(crate) struct HandshakeSecret {
    prk: Prk,
    suite: &'static Suite,
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

/// The last stage: application data, exporters, resumption.
pub(crate) struct MainSecret {
    prk: Prk,
    suite: &'static Suite,
}

impl MainSecret {
    /// `finished` is the transcript hash of ClientHello to the server's Finished.
    pub(crate) fn client_application_traffic_secret(&self, finished: &Digest) -> TrafficSecret {
        TrafficSecret::new(self.suite, &derive_secret(&self.prk, b"c ap traffic", finished))
    }

    /// `finished` is the transcript hash of ClientHello to the server's Finished.
    pub(crate) fn server_application_traffic_secret(&self, finished: &Digest) -> TrafficSecret {
        TrafficSecret::new(self.suite, &derive_secret(&self.prk, b"s ap traffic", finished))
    }

    /// `finished` is the transcript hash of ClientHello to the client's Finished.
    pub(crate) fn resumption_secret(&self, finished: &Digest) -> ResumptionSecret {
        ResumptionSecret {
            secret: derive_secret(&self.prk, b"res master", finished),
            hash: self.suite.hash,
        }
    }

    /// `finished` is the transcript hash of ClientHello to the server's Finished.
    pub(crate) fn exporter_secret(&self, finished: &Digest) -> ExporterSecret {
        ExporterSecret::new(self.suite.hash, &derive_secret(&self.prk, b"exp master", finished))
    }
}

/// Where a pre-shared key comes from, which its binder says too. RFC 9846 7.1
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PskKind {
    Resumption,
    External,
    /// RFC 9258 5.2
    Imported,
}

impl PskKind {
    fn binder_label(self) -> &'static [u8] {
        match self {
            Self::Resumption => b"res binder",
            Self::External => b"ext binder",
            Self::Imported => b"imp binder",
        }
    }
}

/// The secret behind the pre-shared keys of new tickets. RFC 9846 7.1
pub(crate) struct ResumptionSecret {
    secret: Secret,
    hash: HashAlgorithm,
}

impl ResumptionSecret {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.secret.as_bytes()
    }

    /// Out of what [`Self::as_bytes`] gave, if that is as long as this suite's secrets are.
    pub(crate) fn from_bytes(suite: &'static Suite, bytes: &[u8]) -> Option<Self> {
        let fits = bytes.len() == suite.hash.output_len();
        fits.then(|| Self { secret: Secret::new(bytes), hash: suite.hash })
    }

    /// The key that goes with the ticket of this nonce. RFC 9846 4.7.1
    pub(crate) fn psk(&self, nonce: &[u8]) -> Secret {
        self.keyed().psk(nonce)
    }

    /// Absorbed once, for several tickets.
    pub(crate) fn keyed(&self) -> KeyedResumptionSecret {
        KeyedResumptionSecret(Prk::from_bytes(self.hash, self.secret.as_bytes()))
    }
}

/// A [`ResumptionSecret`] that is about to give several keys.
pub(crate) struct KeyedResumptionSecret(Prk);

impl KeyedResumptionSecret {
    /// As [`ResumptionSecret::psk`].
    pub(crate) fn psk(&self, nonce: &[u8]) -> Secret {
        derive_secret(&self.0, b"resumption", nonce)
    }
}

/// A secret from which one direction's keys are made, and its successor.
pub(crate) struct TrafficSecret {
    secret: ShortSecret,
    hash: HashAlgorithm,
    aead: AeadAlgorithm,
}

impl TrafficSecret {
    fn new(suite: &'static Suite, secret: &Secret) -> Self {
        let secret = ShortSecret::new(secret.as_bytes());
        Self { secret, hash: suite.hash, aead: suite.aead }
    }

    /// Out of what [`Self::as_bytes`] gave, if that is as long as this suite's secrets are.
    pub(crate) fn from_bytes(suite: &'static Suite, bytes: &[u8]) -> Option<Self> {
        let fits = bytes.len() == suite.hash.output_len();
        fits.then(|| Self::new(suite, &Secret::new(bytes)))
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.secret.as_bytes()
    }

    pub(crate) fn duplicate(&self) -> Self {
        Self { secret: self.secret.duplicate(), ..*self }
    }

    pub(crate) fn algorithm(&self) -> AeadAlgorithm {
        self.aead
    }

    /// Key and IV. RFC 9846 7.3
    pub(crate) fn write_key(&self) -> WriteKey {
        expand_write_key(&Prk::from_bytes(self.hash, self.secret.as_bytes()), self.aead)
    }

    /// What that key and IV protect.
    pub(crate) fn protection(&self) -> Result<Protection, Error> {
        let made = self.write_key();
        Protection::tls13(self.aead, made.key(), made.iv())
    }

    /// `application_traffic_secret_N+1`. RFC 9846 7.2
    pub(crate) fn next(&self) -> Self {
        let prk = Prk::from_bytes(self.hash, self.secret.as_bytes());
        let next = derive_secret(&prk, b"traffic upd", &[]);
        Self { secret: ShortSecret::new(next.as_bytes()), ..*self }
    }

    /// The `verify_data` of a Finished made under this secret. RFC 9846 4.5.3
    pub(crate) fn verify_data(&self, transcript: &Digest) -> Digest {
        self.finished_key().sign(&[transcript])
    }

    /// Compares in constant time.
    pub(crate) fn verifies(&self, transcript: &Digest, verify_data: &[u8]) -> bool {
        self.finished_key().verify(&[transcript], verify_data)
    }

    fn finished_key(&self) -> HmacKey {
        let prk = Prk::from_bytes(self.hash, self.secret.as_bytes());
        let key = derive_secret(&prk, b"finished", &[]);
        HmacKey::new(self.hash, key.as_bytes())
    }

    /// All that a handshake makes of its traffic secret, which is absorbed once for it.
    pub(crate) fn into_handshake_keys(self) -> HandshakeKeys {
        let prk = Prk::from_bytes(self.hash, self.secret.as_bytes());
        HandshakeKeys {
            write_key: expand_write_key(&prk, self.aead),
            finished_key: ShortSecret::with(self.hash.output_len(), |out| {
                expand_label(&prk, b"finished", &[], out);
            }),
            hash: self.hash,
        }
    }
}

/// What protects a handshake's own records and makes its Finished. There is no successor to it.
pub(crate) struct HandshakeKeys {
    write_key: WriteKey,
    finished_key: ShortSecret,
    hash: HashAlgorithm,
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

fn expand_write_key(prk: &Prk, aead: AeadAlgorithm) -> WriteKey {
    WriteKey::with(aead, AeadAlgorithm::NONCE_LEN, |key, iv| {
        expand_label(prk, b"key", &[], key);
        expand_label(prk, b"iv", &[], iv);
    })
}

/// The secret behind exporters. RFC 9846 7.5
pub(crate) struct ExporterSecret {
    secret: ShortSecret,
    hash: HashAlgorithm,
}

impl ExporterSecret {
    /// Its length says which hash it is for.
    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.opaque8(self.secret.as_bytes());
    }

    /// What [`Self::write`] wrote.
    pub(crate) fn read(r: &mut Reader<'_>) -> Option<Self> {
        let bytes = r.opaque8().ok()?;
        let hash = match bytes.len() {
            32 => HashAlgorithm::Sha256,
            48 => HashAlgorithm::Sha384,
            _ => return None,
        };
        Some(Self { secret: ShortSecret::new(bytes), hash })
    }

    fn new(hash: HashAlgorithm, secret: &Secret) -> Self {
        Self { secret: ShortSecret::new(secret.as_bytes()), hash }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.secret.as_bytes()
    }

    /// TLS-Exporter. An absent context and an empty one give the same value. RFC 9846 7.5
    pub(crate) fn export(&self, label: &[u8], context: &[u8], out: &mut [u8]) -> Result<(), Error> {
        let longest = self.hash.output_len().saturating_mul(255);
        if out.len() > longest || label.len() > MAX_LABEL {
            return Err(Local::Encode.into());
        }
        let prk = Prk::from_bytes(self.hash, self.secret.as_bytes());
        let secret = derive_secret(&prk, label, &Constants::of(self.hash).empty);
        let prk = Prk::from_bytes(self.hash, secret.as_bytes());
        expand_label(&prk, b"exporter", &Hash::digest(self.hash, &[context]), out);
        Ok(())
    }
}

/// What `CertificateVerify` signs. RFC 9846 4.5.2
pub(crate) struct SignedContent {
    bytes: [u8; PADDING + CONTEXT + 1 + Digest::MAX_LEN],
    length: usize,
}

const PADDING: usize = 64;
const CONTEXT: usize = 33;

impl SignedContent {
    pub(crate) fn new(context: &[u8; CONTEXT], transcript: &Digest) -> Self {
        let mut bytes = [0x20; PADDING + CONTEXT + 1 + Digest::MAX_LEN];
        let behind = context.iter().chain(&[0]).chain(transcript.iter());
        for (to, from) in bytes.iter_mut().skip(PADDING).zip(behind) {
            *to = *from;
        }
        Self { bytes, length: (PADDING + CONTEXT + 1_usize).saturating_add(transcript.len()) }
    }
}

impl core::ops::Deref for SignedContent {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

/// The context string of a server's `CertificateVerify`.
pub(crate) const SERVER_CONTEXT: &[u8; 33] = b"TLS 1.3, server CertificateVerify";

/// The context string of a client's `CertificateVerify`.
pub(crate) const CLIENT_CONTEXT: &[u8; 33] = b"TLS 1.3, client CertificateVerify";
