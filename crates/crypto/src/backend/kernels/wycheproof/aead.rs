//! Sealing and opening.

use super::each_vector;
use super::json::Json;
use crate::algorithm::AeadAlgorithm;

/// The kernel's key for one vector, by each kind of vectors of this machine.
struct Sealer<'a> {
    seal: &'a dyn Fn(&[u8; 12], &[u8], &[u8]) -> Vec<u8>,
    open: &'a dyn Fn(&[u8; 12], &[u8], &[u8]) -> Option<Vec<u8>>,
}

/// Checks one vector, if its lengths are those of TLS.
fn check(vector: &Json, sealers: &[Sealer<'_>]) -> bool {
    let [nonce, aad, plaintext, ciphertext, tag] =
        ["iv", "aad", "msg", "ct", "tag"].map(|name| vector.bytes(name));
    let Ok(nonce) = nonce.try_into() else { return false };
    if tag.len() != AeadAlgorithm::TAG_LEN {
        return false;
    }
    let is_valid = vector.text("result") == "valid";
    let sealed = [&ciphertext[..], &tag].concat();
    for sealer in sealers {
        let case = format!("{} {}", vector.text("tcId"), vector.text("comment"));
        assert_eq!((sealer.seal)(&nonce, &aad, &plaintext) == sealed, is_valid, "{case}");
        let opened = (sealer.open)(&nonce, &aad, &sealed);
        assert_eq!(opened, is_valid.then_some(plaintext.clone()), "{case}");
    }
    true
}

#[cfg(kernel_aes_gcm)]
#[test]
fn aes_gcm() {
    use crate::backend::kernels::aes_gcm::tests::Kernel;

    let checked = each_vector("aes_gcm_test.json", |_, vector| {
        let secret = vector.bytes("key");
        if ![16, 32].contains(&secret.len()) {
            return false;
        }
        let kernels = [Kernel::avx512(&secret), Some(Kernel::portable(&secret))];
        kernels.into_iter().flatten().all(|kernel| {
            let seal = |nonce: &[u8; 12], aad: &[u8], plaintext: &[u8]| {
                let mut out = vec![0; plaintext.len() + AeadAlgorithm::TAG_LEN];
                kernel.seal(nonce, aad, plaintext, &[], &mut out);
                out
            };
            let open = |nonce: &[u8; 12], aad: &[u8], sealed: &[u8]| {
                let mut out = vec![0; sealed.len() - AeadAlgorithm::TAG_LEN];
                kernel.open(nonce, aad, sealed, &mut out).ok().map(|()| out)
            };
            check(vector, &[Sealer { seal: &seal, open: &open }])
        })
    });
    assert!(checked > 100, "{checked} vectors");
}

#[cfg(kernel_chacha20_poly1305)]
#[test]
fn chacha20_poly1305() {
    use crate::backend::kernels::chacha20_poly1305::comparison::{open_portably, seal_portably};
    use crate::backend::kernels::chacha20_poly1305::tests;

    let checked = each_vector("chacha20_poly1305_test.json", |_, vector| {
        let Ok(secret) = vector.bytes("key").try_into() else { return false };
        let portable = Sealer {
            seal: &|nonce, aad, plaintext| seal_portably(&secret, nonce, aad, plaintext, &[]),
            open: &|nonce, aad, sealed| open_portably(&secret, nonce, aad, sealed),
        };
        let mut sealers = vec![portable];
        let key = tests::key(&secret);
        let seal = |nonce: &_, aad: &_, plaintext: &_| {
            tests::seal(key.as_ref().unwrap(), nonce, aad, plaintext)
        };
        let open =
            |nonce: &_, aad: &_, sealed: &_| tests::open(key.as_ref().unwrap(), nonce, aad, sealed);
        if key.is_some() {
            sealers.push(Sealer { seal: &seal, open: &open });
        }
        check(vector, &sealers)
    });
    assert!(checked > 250, "{checked} vectors");
}
