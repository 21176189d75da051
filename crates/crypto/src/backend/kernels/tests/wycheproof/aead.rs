//! Sealing and opening.

use super::each_vector;
use super::json::Json;
use crate::algorithm::AeadAlgorithm;

/// Checks one vector, if its lengths are those of TLS.
fn check(
    vector: &Json,
    seal: impl Fn(&[u8; 12], &[u8], &[u8]) -> Vec<u8>,
    open: impl Fn(&[u8; 12], &[u8], &[u8]) -> Option<Vec<u8>>,
) -> bool {
    let [nonce, aad, plaintext, ciphertext, tag] =
        ["iv", "aad", "msg", "ct", "tag"].map(|name| vector.bytes(name));
    let Ok(nonce) = nonce.try_into() else { return false };
    if tag.len() != AeadAlgorithm::TAG_LEN {
        return false;
    }
    let is_valid = vector.text("result") == "valid";
    let sealed = [&ciphertext[..], &tag].concat();
    let case = format!("{} {}", vector.text("tcId"), vector.text("comment"));
    assert_eq!(seal(&nonce, &aad, &plaintext) == sealed, is_valid, "{case}");
    assert_eq!(open(&nonce, &aad, &sealed), is_valid.then_some(plaintext), "{case}");
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
            check(vector, seal, open)
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
        let by_kernel = tests::key(&secret).is_none_or(|key| {
            check(
                vector,
                |nonce, aad, plaintext| tests::seal(&key, nonce, aad, plaintext),
                |nonce, aad, sealed| tests::open(&key, nonce, aad, sealed),
            )
        });
        by_kernel
            && check(
                vector,
                |nonce, aad, plaintext| seal_portably(&secret, nonce, aad, plaintext, &[]),
                |nonce, aad, sealed| open_portably(&secret, nonce, aad, sealed),
            )
    });
    assert!(checked > 250, "{checked} vectors");
}
