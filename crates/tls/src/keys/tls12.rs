//! The key schedule of TLS 1.2: main secret, key block, Finished. RFC 5246 5, 6.3, 8.1; RFC 7627
//!
//! Must not know: messages, sockets. "Main secret" is what RFC 5246 calls the master secret.
//! Next: `handshake/tls12/`.

use tercel_crypto::{Digest, HashAlgorithm, Secret, SharedSecret, ShortSecret, Tls12Prf};
use tercel_wire::{Reader, Writer};

use super::direction::{Keys, WriteKey};
use super::suite::Suite;
use crate::error::{Error, Misuse};
use crate::record::protection::Construction;

/// The main secret, keyed once for all that is derived from it.
pub(crate) struct MainSecret12 {
    prf: Tls12Prf,
    secret: Secret,
    suite: &'static Suite,
}

/// Bytes of the main secret. RFC 5246 8.1
const MAIN_SECRET: usize = 48;

/// Bytes of `verify_data`. RFC 5246 7.4.9
pub(crate) const VERIFY_DATA: usize = 12;

impl MainSecret12 {
    /// The extended main secret, bound to the handshake so far. RFC 7627 4
    pub(crate) fn extended(
        suite: &'static Suite,
        shared: &SharedSecret,
        session_hash: &Digest,
    ) -> Self {
        Self::derive(suite, shared, b"extended master secret", &[session_hash])
    }

    /// The main secret without that binding. RFC 5246 8.1
    pub(crate) fn plain(
        suite: &'static Suite,
        shared: &SharedSecret,
        client_random: &[u8; 32],
        server_random: &[u8; 32],
    ) -> Self {
        Self::derive(suite, shared, b"master secret", &[client_random, server_random])
    }

    /// The main secret of a session that is resumed. RFC 5246 F.1.4
    pub(crate) fn resumed(suite: &'static Suite, secret: Secret) -> Self {
        Self { prf: Tls12Prf::new(suite.hash, secret.as_bytes()), secret, suite }
    }

    fn derive(suite: &'static Suite, shared: &SharedSecret, label: &[u8], seed: &[&[u8]]) -> Self {
        let premaster = Tls12Prf::new(suite.hash, shared.as_bytes());
        let secret = Secret::with(MAIN_SECRET, |out| premaster.fill(label, seed, out));
        Self { prf: Tls12Prf::new(suite.hash, secret.as_bytes()), secret, suite }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.secret.as_bytes()
    }

    /// The keys of (client, server). RFC 5246 6.3
    pub(crate) fn keys(&self, client_random: &[u8; 32], server_random: &[u8; 32]) -> (Keys, Keys) {
        let aead = self.suite.aead;
        let (key, iv) = (aead.key_len(), Construction::tls12(aead).iv_len());
        let mut block = [0_u8; 2 * (32 + 12)];
        let used = key.saturating_add(iv).saturating_mul(2);
        let filled = block.get_mut(..used).unwrap_or_default();
        self.prf.fill(b"key expansion", &[server_random, client_random], filled);
        let (client_key, rest) = filled.split_at(key);
        let (server_key, rest) = rest.split_at(key);
        let (client_iv, server_iv) = rest.split_at(iv);
        let keys = |key: &[u8], iv: &[u8]| {
            Keys::Tls12(WriteKey::with(aead, iv.len(), |key_out, iv_out| {
                key_out.copy_from_slice(key);
                iv_out.copy_from_slice(iv);
            }))
        };
        let both = (keys(client_key, client_iv), keys(server_key, server_iv));
        tercel_crypto::wipe(&mut block);
        both
    }

    /// A client's `verify_data`. RFC 5246 7.4.9
    pub(crate) fn client_verify_data(&self, transcript: &Digest) -> [u8; VERIFY_DATA] {
        self.verify_data(b"client finished", transcript)
    }

    /// A server's `verify_data`. RFC 5246 7.4.9
    pub(crate) fn server_verify_data(&self, transcript: &Digest) -> [u8; VERIFY_DATA] {
        self.verify_data(b"server finished", transcript)
    }

    fn verify_data(&self, label: &[u8], transcript: &Digest) -> [u8; VERIFY_DATA] {
        let mut out = [0; VERIFY_DATA];
        self.prf.fill(label, &[transcript], &mut out);
        out
    }
}

/// What stays of a TLS 1.2 handshake for exporters. RFC 5705
///
/// The main secret, not yet keyed: few connections export, all of them keep this.
pub(crate) struct Exporter12 {
    secret: ShortSecret,
    hash: HashAlgorithm,
    /// Only an extended main secret is this connection's alone. RFC 7627 5.4
    extended: bool,
    client_random: [u8; 32],
    server_random: [u8; 32],
}

impl Exporter12 {
    pub(crate) fn new(
        main: &MainSecret12,
        client_random: [u8; 32],
        server_random: [u8; 32],
        extended: bool,
    ) -> Self {
        let (secret, hash) = (ShortSecret::new(main.as_bytes()), main.suite.hash);
        Self { secret, hash, client_random, server_random, extended }
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.opaque8(self.secret.as_bytes());
        w.u8(u8::from(self.extended));
        w.bytes(&self.client_random);
        w.bytes(&self.server_random);
    }

    /// What [`Self::write`] wrote, in a connection of this suite.
    pub(crate) fn read(r: &mut Reader<'_>, suite: &Suite) -> Option<Self> {
        let secret = r.opaque8().ok().filter(|secret| secret.len() == MAIN_SECRET)?;
        let extended = match r.u8().ok()? {
            0 => false,
            1 => true,
            _ => return None,
        };
        let (client_random, server_random) = (*r.array().ok()?, *r.array().ok()?);
        let (secret, hash) = (ShortSecret::new(secret), suite.hash);
        Some(Self { secret, hash, extended, client_random, server_random })
    }

    /// Unlike in TLS 1.3, no context and an empty context differ. RFC 5705 4
    pub(crate) fn export(
        &self,
        label: &[u8],
        context: Option<&[u8]>,
        out: &mut [u8],
    ) -> Result<(), Error> {
        if !self.extended {
            return Err(Misuse::NoExtendedMainSecret.into());
        }
        let prf = Tls12Prf::new(self.hash, self.secret.as_bytes());
        let (client, server) = (&self.client_random[..], &self.server_random[..]);
        match context {
            None => prf.fill(label, &[client, server], out),
            Some(context) => {
                let [.., high, low] = context.len().to_be_bytes();
                prf.fill(label, &[client, server, &[high, low], context], out);
            }
        }
        Ok(())
    }
}
