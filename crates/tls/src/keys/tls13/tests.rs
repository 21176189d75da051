//! Compares the key schedule with a second implementation that computes each value separately, with
//! HMAC and a hash only. RFC 9846 7.1
//!
//! The comparison is needed because the published traces cover SHA-256 only, and no interleaved
//! computation.

use tercel_crypto::{
    Digest, Hash, HashAlgorithm, HmacKey, InterleavedHash, KeyExchange, KeyExchangeAlgorithm,
};

use super::{ApplicationSecrets, EarlySecret, HandshakeKeys, HandshakeTraffic, PskKind};
use crate::keys::suite::{self, Suite};

/// HKDF-Expand-Label for an output of at most one block.
fn expanded(
    hash: HashAlgorithm,
    secret: &[u8],
    label: &str,
    context: &[u8],
    length: usize,
) -> Vec<u8> {
    let byte = |length: usize| u8::try_from(length).unwrap();
    let mut info = vec![0, byte(length), byte(6 + label.len())];
    info.extend_from_slice(b"tls13 ");
    info.extend_from_slice(label.as_bytes());
    info.push(byte(context.len()));
    info.extend_from_slice(context);
    info.push(1);
    HmacKey::new(hash, secret).sign(&[&info])[..length].to_vec()
}

/// Derive-Secret.
fn derived(hash: HashAlgorithm, secret: &[u8], label: &str, transcript: &[u8]) -> Vec<u8> {
    expanded(hash, secret, label, transcript, hash.output_len())
}

fn mac(hash: HashAlgorithm, key: &[u8], message: &[u8]) -> Vec<u8> {
    HmacKey::new(hash, key).sign(&[message]).to_vec()
}

/// The key, followed by the IV.
fn key_and_iv(suite: &Suite, secret: &[u8]) -> Vec<u8> {
    let key = expanded(suite.hash, secret, "key", &[], suite.aead.key_len());
    [key, expanded(suite.hash, secret, "iv", &[], 12)].concat()
}

#[test]
fn values_derived_at_once_equal_those_derived_separately() {
    for suite in suite::ALL.iter().filter(|suite| suite.is_tls13()) {
        for psk in [None, Some([7; 32].as_slice())] {
            walk(suite, psk);
        }
    }
}

fn walk(suite: &'static Suite, psk: Option<&[u8]>) {
    let hash = suite.hash;
    let zeros = vec![0; hash.output_len()];
    let over = |messages: &[&[u8]]| Hash::digest(hash, messages);
    let (empty, hello) = (over(&[]), over(&[b"hello"]));

    let early_secret = mac(hash, &zeros, psk.unwrap_or(&zeros));
    let salt = derived(hash, &early_secret, "derived", &empty);
    let binder_key = derived(hash, &early_secret, "res binder", &empty);
    let binder = mac(hash, &derived(hash, &binder_key, "finished", &[]), &hello);

    let early = EarlySecret::new(suite, psk);
    if let Some(psk) = psk {
        // The binder is computed twice, as after a HelloRetryRequest. The second time, the salt has
        // already been derived.
        assert_eq!(*early.binder(PskKind::Resumption, &hello), *binder);
        assert_eq!(*early.binder(PskKind::Resumption, &hello), *binder);
        let alone = EarlySecret::for_binder(suite, psk);
        assert_eq!(*alone.binder(PskKind::Resumption, &hello), *binder);
    }
    let (traffic, exporter) = early.early_secrets(&hello);
    assert_eq!(traffic.as_bytes(), derived(hash, &early_secret, "c e traffic", &hello));
    assert_eq!(exporter.as_bytes(), derived(hash, &early_secret, "e exp master", &hello));

    let pairs = [(); 2].map(|()| KeyExchange::generate(KeyExchangeAlgorithm::X25519).unwrap());
    let [one, other] = pairs;
    let shared = one.agree(other.public_share()).unwrap();
    let handshake_secret = mac(hash, &salt, shared.as_bytes());
    // A server's early secret is computed interleaved with the hash of a ClientHello. One
    // ClientHello is short, the other has many blocks.
    let interleaved = [5, 2000].into_iter().filter_map(|length| {
        let (message, mut running) = (vec![7; length], Hash::new(hash));
        let mut interleaved = InterleavedHash::new(&mut running, &message);
        let made = EarlySecret::with_binder_key(suite, psk?, PskKind::Resumption, &mut interleaved);
        interleaved.finish();
        assert_eq!(running.finish(), over(&[&message]));
        assert_eq!(*made.1.verify_data(&hello), *binder);
        Some(made.0)
    });
    // The second early secret has no derived salt yet, like a client's early secret for an external
    // key.
    for early in [early, EarlySecret::new(suite, psk)].into_iter().chain(interleaved) {
        let secrets = early.into_handshake(&shared).into_traffic_secrets(&hello);
        let client = derived(hash, &handshake_secret, "c hs traffic", &hello);
        let server = derived(hash, &handshake_secret, "s hs traffic", &hello);
        assert_eq!((secrets.client(), secrets.server()), (&*client, &*server));
        check_keys(suite, &secrets.into_keys(), [&client, &server], &handshake_secret);
        #[cfg(feature = "quic")]
        {
            let early = EarlySecret::new(suite, psk);
            let secrets = early.into_handshake(&shared).into_traffic_secrets(&hello);
            check_keys(suite, &secrets.into_secrets(), [&client, &server], &handshake_secret);
        }
    }
}

fn check_keys(
    suite: &Suite,
    keys: &HandshakeKeys,
    [client, server]: [&[u8]; 2],
    handshake_secret: &[u8],
) {
    let hash = suite.hash;
    let HandshakeKeys { client_finished, server_finished, main, .. } = keys;
    for (traffic, secret) in [(&keys.client, client), (&keys.server, server)] {
        match traffic {
            HandshakeTraffic::Key(key) => {
                assert_eq!(key.bytes.as_bytes(), key_and_iv(suite, secret));
            }
            #[cfg(feature = "quic")]
            HandshakeTraffic::Secret(made) => assert_eq!(made.as_bytes(), secret),
        }
    }
    let finished =
        |secret, digest: &Digest| mac(hash, &derived(hash, secret, "finished", &[]), digest);
    let digest = Hash::digest(hash, &[b"hello", b"server"]);
    assert_eq!(*client_finished.verify_data(&digest), *finished(client, &digest));
    assert_eq!(*server_finished.verify_data(&digest), *finished(server, &digest));

    let salt = derived(hash, handshake_secret, "derived", &Hash::digest(hash, &[]));
    let main_secret = mac(hash, &salt, &vec![0; hash.output_len()]);
    let made = main.application_secrets(&digest);
    let [client_key, server_key] = made.write_keys();
    let ApplicationSecrets { client, server, exporter, .. } = made;
    for (secret, label, at_once) in
        [(client, "c ap traffic", client_key), (server, "s ap traffic", server_key)]
    {
        assert_eq!(secret.as_bytes(), derived(hash, &main_secret, label, &digest));
        let expected = key_and_iv(suite, secret.as_bytes());
        for made in [at_once, secret.write_key()] {
            assert_eq!([made.key(), made.iv()].concat(), expected);
        }
        let next = derived(hash, secret.as_bytes(), "traffic upd", &[]);
        assert_eq!(secret.next().as_bytes(), next);
    }
    assert_eq!(exporter.as_bytes(), derived(hash, &main_secret, "exp master", &digest));

    let resumption = main.resumption_secret(&digest);
    let secret = derived(hash, &main_secret, "res master", &digest);
    assert_eq!(resumption.as_bytes(), secret);
    let psk = |nonce: &[u8]| derived(hash, &secret, "resumption", nonce);
    assert_eq!(resumption.psk(b"nonce").as_bytes(), psk(b"nonce"));
    let at_once = resumption.keyed().psks([b"", b"1", b"nonce"]);
    assert_eq!(
        at_once.each_ref().map(|made| made.as_bytes().to_vec()),
        [psk(b""), psk(b"1"), psk(b"nonce")]
    );
}
