//! What is made beside a hash, and the hash, against what each is alone.

use super::*;
use crate::fill_random;

#[test]
fn each_value_is_what_it_is_alone_and_so_is_the_hash() {
    let mut random = [0; 4096];
    fill_random(&mut random).unwrap();
    for algorithm in [HashAlgorithm::Sha256, HashAlgorithm::Sha384, HashAlgorithm::Sha512] {
        let salt = HmacKey::new(algorithm, b"salt");
        for before in [0, 1, 100, 127, 128, 129, 300] {
            for length in [0, 1, 128, 255, 256, 257, 700, 1500, 3000] {
                let (before, message) = random.split_at(before);
                let mut hash = Hash::new(algorithm);
                hash.update(before);
                let mut beside = HashBeside::new(&mut hash, &message[..length]);
                // Longer than a block, so that it goes another way.
                for parts in [&[b"a".as_slice(), &random[..47]][..], &[&random[..200]], &[]] {
                    let mac = beside.mac::<64>(&salt, parts);
                    assert_eq!(mac.as_bytes(), salt.secret_tag(parts).as_bytes());
                }
                let keys: [&[u8]; 2] = [&random[..48], &random[5..133]];
                let made = beside.keys(algorithm, keys);
                for (made, key) in made.iter().zip(keys) {
                    assert_eq!(*made.sign(&[b"x"]), *HmacKey::new(algorithm, key).sign(&[b"x"]));
                }
                let [long] = beside.keys(algorithm, [&random[..129]]);
                let expected = HmacKey::new(algorithm, &random[..129]).sign(&[b"x"]);
                assert_eq!(*long.sign(&[b"x"]), *expected);
                let prk = Prk::from_bytes(algorithm, &random[..32]);
                let infos: [[&[u8]; 2]; 2] = [[b"one", b""], [b"two", &random[..64]]];
                for (made, info) in beside.expand::<64, 2>(&prk, infos).iter().zip(infos) {
                    let mut expected = vec![0; algorithm.output_len()];
                    prk.expand(&info, &mut expected);
                    assert_eq!(made.as_bytes(), expected);
                }
                beside.finish();
                hash.update(b"after");
                let expected = Hash::digest(algorithm, &[before, &message[..length], b"after"]);
                assert_eq!(hash.finish(), expected);
            }
        }
    }
}
