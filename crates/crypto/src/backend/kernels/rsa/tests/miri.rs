//! The operations by portable vectors, without AWS-LC, so that Miri runs them: `just miri`.

use super::super::key_parts::KeyParts;
use super::super::number::{MODULUS_LEN, PRIME_LEN};
use super::super::private::PrivateKey;
use super::super::public::PublicKey;
use super::super::self_test::{P, Q, hex};
use super::*;

#[test]
fn in_miri_a_signature_is_recovered() {
    let key = PublicKey::new(Portable, &N).unwrap();
    assert_eq!(key.recover(Portable, &SIGNATURE), Some(BLOCK));
    // Not less than the modulus.
    assert_eq!(key.recover(Portable, &N), None);
    assert!(PublicKey::new(Portable, &[0x7f; MODULUS_LEN]).is_none());
}

/// The first signature draws blinding factors, and the second one squares them.
#[test]
fn in_miri_a_block_is_signed() {
    let parts = KeyParts { p: P, q: Q, d_p: D_P, d_q: D_Q, q_inverse: Q_INVERSE };
    let key = PrivateKey::new(Portable, &N, &parts).unwrap();
    for _ in 0..if cfg!(miri) { 1 } else { 2 } {
        assert_eq!(key.sign(Portable, &BLOCK), Some(SIGNATURE));
    }
}

const BLOCK: [u8; MODULUS_LEN] = [0x17; MODULUS_LEN];

/// The other numbers of the key of the self-test, and the signature of the block, computed by
/// Python's integers.
const N: [u8; MODULUS_LEN] =
    hex(b"ae438e1ab7f1c09387cb48836e5e04c9b3e28087c33dfce6adb66c93dfeac10c\
      9e4a1432542652f5fda4e447c0b7281d59ca4e551e650bb801de6ed355e1798e\
      fcfadb1e553bd0e2da146497f2e2974c2e4d518016c248ac50471817ed7b291e\
      730e4c3954b115a11b0e6355d9b30da08ca5f6ae4f8a34b88beec2c220ad29cb\
      8bbcc54dac92aa031fd77c741b8ffd91dc9ad45d3cb94d1cbaaab2f7075c6523\
      7cd7005aa2866dfce36259fb0fe99a7f9cfdd857156f35235603b6d80c40e57c\
      de69804d3dbac185af8d6550865727c2304df8c60fd086640d437a9ed51de0a0\
      68d6a9753f35081bb82210d60966d75217e30f319d7edaeaf0e97a9e09c998a7");

const D_P: [u8; PRIME_LEN] =
    hex(b"6a7a2d0f45e2279ed83fd0418dcc467d21f828509ffc3890f747d587f7c06c39\
      c8dd502336cb02d5f4736f5ca5a663e4b588ca40ca8825e47072e4b5a1ee7fb6\
      7a7472567ae23499984ea94c511c471a773437d090a652977b35afa65dfbae0c\
      f00dc9c03f1fca4d6e3d9ce898f0ed2d9320f7147c8b00fe500c9ac23bd5b599");

const D_Q: [u8; PRIME_LEN] =
    hex(b"28aec200b5b311cf4e183e4e5f58a5c59f39f92a26b62cc53ceada489ec5f811\
      6e2e872b7a6d56520539ccb441374ea4f09d16bb91dad4f10600bd8275374d17\
      082ce10ecbe32b68fb704f5a506407d038d77321afd79303e5fc29616b6bb8da\
      a2b8a5b91047a3bda8be743035808ed1cd21bcbbafbbbfb9369c4db7e5a20433");

const Q_INVERSE: [u8; PRIME_LEN] =
    hex(b"7af74e09e9a4c5929c10419103f81e1c380c19dbf4251271d82bbdf93141624b\
      ac489e0e877fea4ffd38ae8dacce5fde70673d738b9ab9a04921496135ec8f5e\
      505ceea3df9c5f61e7f296fdb7f25ca6672ef53dbc28ade56037425a62e6bd98\
      c200937d7a401d906b64349f666a039213b4455520fe1456e65a298b28e5f67f");

const SIGNATURE: [u8; MODULUS_LEN] =
    hex(b"8c290b6476b54b000dd4edd398e557a09f323271a9f0378d5bf3e79c2b557cae\
      b4d1d84a451e09ba88c010b051b72f7a5d609adf98fc02d34bff38df9f1e0b64\
      200e6155425c561aab81ae2e7e543441301ea2e8b15acc38f02d27b7efaaa7f9\
      8797f7e89dbde316e36d82ce17184ba1c752e841052d7ab760ed2e145323623a\
      bbd52567c0cf971b3eaa2d4aa73b93a2b09c5524c98d1c624d72e615b2db25dc\
      4dd44077813683971b3ce5523e524b08de66f0cd7216ace6a6b8b05cf99cb599\
      4c327f3f36921cc31a6001b19776d7a960685f3383f00027b710983373ea2560\
      3e472ab6722f8f72e621786abb9b8a2d67ada56f181662611a6f9f6f99f6e80f");
