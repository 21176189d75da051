//! The key schedule of TLS 1.2: main secret, key block, Finished. RFC 5246 5, 6.3, 8.1; RFC 7627

use tercel_crypto::{Digest, HashAlgorithm, PrfRun, Secret, SharedSecret, ShortSecret, Tls12Prf};
use tercel_wire::{Reader, Writer};

use super::direction::Keys;
use super::suite::Suite;
use super::write_key::WriteKey;
use crate::error::{Error, Misuse};
use crate::record::protection::Construction;

/// The main secret of TLS 1.2, and the PRF with this secret as key.
pub(crate) struct MainSecret12 {
    prf: Tls12Prf,
    secret: Secret,
    suite: &'static Suite,
}

/// The length of the main secret in bytes. RFC 5246 8.1
const MAIN_SECRET: usize = 48;

/// The length of `verify_data` in bytes. RFC 5246 7.4.9
pub(crate) const VERIFY_DATA: usize = 12;

impl MainSecret12 {
    /// Derives the extended main secret, which is bound to the handshake's messages. RFC 7627 4
    pub(crate) fn extended(
        suite: &'static Suite,
        shared: &SharedSecret,
        session_hash: &Digest,
    ) -> Self {
        Self::derive(suite, shared, b"extended master secret", &[session_hash])
    }

    /// Derives the main secret without the extension. Such a secret is bound only to the random
    /// values. RFC 5246 8.1
    pub(crate) fn plain(
        suite: &'static Suite,
        shared: &SharedSecret,
        client_random: &[u8; 32],
        server_random: &[u8; 32],
    ) -> Self {
        Self::derive(suite, shared, b"master secret", &[client_random, server_random])
    }

    /// Restores the main secret of a session that is resumed. RFC 5246 F.1.4
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

    /// Derives the keys and the client's `verify_data` over `transcript_hash`, for a full
    /// handshake, in which the client sends the first Finished.
    pub(crate) fn keys_and_client_finished(
        &self,
        randoms: &Randoms,
        transcript_hash: &Digest,
    ) -> (KeyBlock, VerifyData) {
        self.derive_keys(randoms, |run| self.verify_data(CLIENT, transcript_hash, Some(run)))
    }

    /// Derives the keys, and the `verify_data` of server and client, for an abbreviated handshake.
    /// The server's `verify_data` covers `transcript_hash`. The client's `verify_data` covers the
    /// hash that `hash_with_server_finished` returns; this hash includes the server's Finished.
    /// RFC 5246 7.3
    pub(crate) fn keys_and_both_finished(
        &self,
        randoms: &Randoms,
        transcript_hash: &Digest,
        hash_with_server_finished: impl FnOnce(&VerifyData) -> Digest,
    ) -> (KeyBlock, VerifyData, VerifyData) {
        let (keys, (server, client)) = self.derive_keys(randoms, |run| {
            let server = self.verify_data(SERVER, transcript_hash, Some(run));
            (server, self.verify_data(CLIENT, &hash_with_server_finished(&server), Some(run)))
        });
        (keys, server, client)
    }

    /// Derives the keys, interleaved with the independent computations of `finished`. RFC 5246 6.3
    fn derive_keys<T>(
        &self,
        randoms: &Randoms,
        finished: impl FnOnce(&mut PrfRun<'_>) -> T,
    ) -> (KeyBlock, T) {
        let aead = self.suite.aead;
        let (key, iv) = (aead.key_len(), Construction::tls12(aead).iv_len());
        let mut block = [0_u8; 2 * (32 + 12)];
        let used = key.saturating_add(iv).saturating_mul(2);
        let filled = block.get_mut(..used).unwrap_or_default();
        let seed: [&[u8]; 2] = [&randoms.server, &randoms.client];
        let mut run = self.prf.begin(b"key expansion", &seed, filled);
        let made = finished(&mut run);
        run.finish();
        let (client_key, rest) = filled.split_at(key);
        let (server_key, rest) = rest.split_at(key);
        let (client_iv, server_iv) = rest.split_at(iv);
        let keys = |key, iv| Keys::Tls12(WriteKey::new(aead, key, iv));
        let both =
            KeyBlock { client: keys(client_key, client_iv), server: keys(server_key, server_iv) };
        tercel_crypto::wipe(&mut block);
        (both, made)
    }

    /// Computes a server's `verify_data`. RFC 5246 7.4.9
    pub(crate) fn server_verify_data(&self, transcript_hash: &Digest) -> VerifyData {
        self.verify_data(SERVER, transcript_hash, None)
    }

    fn verify_data(
        &self,
        label: &[u8],
        transcript_hash: &Digest,
        run: Option<&mut PrfRun<'_>>,
    ) -> VerifyData {
        let (mut out, seed): (_, [&[u8]; 1]) = ([0; VERIFY_DATA], [transcript_hash]);
        match run {
            None => self.prf.fill(label, &seed, &mut out),
            Some(run) => self.prf.begin(label, &seed, &mut out).finish_with(run),
        }
        out
    }
}

/// The client random and the server random of a handshake.
pub(crate) struct Randoms {
    pub(crate) client: [u8; 32],
    pub(crate) server: [u8; 32],
}

/// The write keys of both sides.
pub(crate) struct KeyBlock {
    pub(crate) client: Keys,
    pub(crate) server: Keys,
}

/// The `verify_data` of a Finished. RFC 5246 7.4.9
pub(crate) type VerifyData = [u8; VERIFY_DATA];

const CLIENT: &[u8] = b"client finished";
const SERVER: &[u8] = b"server finished";

/// The exporter of a TLS 1.2 connection. RFC 5705
///
/// The exporter contains only the main secret, and no PRF state, since all connections keep an
/// exporter and few use it.
pub(crate) struct Exporter12 {
    secret: ShortSecret,
    hash: HashAlgorithm,
    /// Whether exporting is allowed: only an extended main secret is unique to the connection.
    /// RFC 7627 5.4
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

    /// Reads an exporter that [`Self::write`] wrote, for a connection with this suite.
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

    /// Exports keying material. Unlike in TLS 1.3, an absent context differs from an empty one.
    /// RFC 5705 4
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

#[cfg(test)]
mod tests {
    use tercel_crypto::{Hash, KeyExchange, KeyExchangeAlgorithm};

    use super::*;
    use crate::keys::suite;

    /// Compares the results with values computed separately, as RFC 5246 5, 6.3 and 7.4.9 define
    /// them.
    #[test]
    fn values_derived_at_once_equal_those_derived_separately() {
        let randoms = Randoms { client: [1; 32], server: [2; 32] };
        for suite in suite::ALL.iter().filter(|suite| !suite.is_tls13()) {
            let hash = suite.hash;
            let main = MainSecret12::resumed(suite, Secret::new(&[3; MAIN_SECRET]));
            let prf = |label: &[u8], seed: &[&[u8]], length| {
                let mut out = vec![0; length];
                Tls12Prf::new(hash, &[3; MAIN_SECRET]).fill(label, seed, &mut out);
                out
            };
            let over_hello = Hash::digest(hash, &[b"hello"]);
            let over_server = Hash::digest(hash, &[b"hello", b"server"]);
            let client = prf(b"client finished", &[&over_server], 12);
            let server = prf(b"server finished", &[&over_hello], 12);
            let (key, iv) = (suite.aead.key_len(), Construction::tls12(suite.aead).iv_len());
            let seed: [&[u8]; 2] = [&randoms.server, &randoms.client];
            let block = prf(b"key expansion", &seed, 2 * (key + iv));
            let (client_iv, server_iv) = block[2 * key..].split_at(iv);
            let (client_key, server_key) = block[..2 * key].split_at(key);
            let check = |keys: &KeyBlock| {
                assert_eq!(keys.client.as_bytes(), [client_key, client_iv].concat(), "{suite:?}");
                assert_eq!(keys.server.as_bytes(), [server_key, server_iv].concat(), "{suite:?}");
            };

            let (keys, made) = main.keys_and_client_finished(&randoms, &over_server);
            check(&keys);
            assert_eq!(made, *client, "{suite:?}");
            let (keys, first, second) =
                main.keys_and_both_finished(&randoms, &over_hello, |first| {
                    assert_eq!(first, &*server, "{suite:?}");
                    over_server
                });
            check(&keys);
            assert_eq!((&first[..], &second[..]), (&*server, &*client), "{suite:?}");
            assert_eq!(main.server_verify_data(&over_hello), *server, "{suite:?}");
        }
    }

    /// RFC 5246 8.1, RFC 7627 4
    #[test]
    fn an_extended_main_secret_is_bound_to_the_session_hash_and_a_plain_one_to_the_randoms() {
        let algorithm = KeyExchangeAlgorithm::X25519;
        let client = KeyExchange::generate(algorithm).unwrap();
        let (_, shared) = KeyExchange::respond(algorithm, client.public_share()).unwrap();
        for suite in suite::ALL.iter().filter(|suite| !suite.is_tls13()) {
            let premaster = Tls12Prf::new(suite.hash, shared.as_bytes());
            let mut expected = [0; MAIN_SECRET];
            let session_hash = Hash::digest(suite.hash, &[b"messages"]);
            premaster.fill(b"extended master secret", &[&session_hash], &mut expected);
            let extended = MainSecret12::extended(suite, &shared, &session_hash);
            assert_eq!(extended.as_bytes(), expected, "{suite:?}");
            premaster.fill(b"master secret", &[&[1; 32], &[2; 32]], &mut expected);
            let plain = MainSecret12::plain(suite, &shared, &[1; 32], &[2; 32]);
            assert_eq!(plain.as_bytes(), expected, "{suite:?}");
        }
    }

    /// RFC 7627 5.4
    #[test]
    fn nothing_is_exported_from_a_plain_main_secret() {
        let suite = suite::ALL.iter().find(|suite| !suite.is_tls13()).unwrap();
        let main = MainSecret12::resumed(suite, Secret::new(&[3; MAIN_SECRET]));
        for (extended, expected) in [(true, Ok(())), (false, Err(Misuse::NoExtendedMainSecret))] {
            let exporter = Exporter12::new(&main, [1; 32], [2; 32], extended);
            let exported = exporter.export(b"label", None, &mut [0; 32]);
            assert_eq!(exported, expected.map_err(Error::from));
        }
    }
}
