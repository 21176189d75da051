//! The switch that turns hash lanes off affects the whole process, so its tests have their own
//! binary.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use tercel_crypto::{
    Expansion, Hash, HashAlgorithm, HashLanes, HmacKey, InterleavedHash, Mac, Prk, Tls12Prf,
    expand_batch, hash_lanes, mac_batch, use_hash_lanes,
};

const ALL: [HashAlgorithm; 3] =
    [HashAlgorithm::Sha256, HashAlgorithm::Sha384, HashAlgorithm::Sha512];

#[test]
fn the_switch_turns_lanes_off_and_on() {
    let _alone = alone();
    let found = hash_lanes();
    use_hash_lanes(false);
    assert_eq!(hash_lanes(), HashLanes::None);
    use_hash_lanes(true);
    assert_eq!(hash_lanes(), found);
    #[cfg(not(all(feature = "hash-lanes", target_arch = "x86_64")))]
    assert_eq!(found, HashLanes::None);
    #[cfg(all(feature = "hash-lanes", target_arch = "x86_64"))]
    assert_eq!(found == HashLanes::None, !std::is_x86_feature_detected!("avx2"));
}

/// A hash that was begun with lanes can be finished without lanes, and vice versa. The same applies
/// to the MACs in the same lanes.
#[test]
fn a_hash_may_be_begun_with_lanes_and_finished_without() {
    let _alone = alone();
    for (algorithm, length) in ALL.into_iter().flat_map(|one| [300, 5000].map(|len| (one, len))) {
        let message = vec![7; length];
        use_hash_lanes(false);
        let [key] = HmacKey::batch(algorithm, [b"key"]);
        let expected = (key.sign(&[b"text"]), Hash::digest(algorithm, &[&message]));
        for moments in 0..16_u8 {
            let moment = |at: u8| use_hash_lanes(moments >> at & 1 != 0);
            let mut hash = Hash::new(algorithm);
            moment(0);
            let mut beside = InterleavedHash::new(&mut hash, &message);
            moment(1);
            let [key] = beside.keys(algorithm, [b"key"]);
            moment(2);
            let mac = beside.mac::<64>(&key, &[b"text"]);
            moment(3);
            beside.finish();
            assert_eq!(mac.as_bytes(), &*expected.0, "{algorithm:?}, {length}, {moments:04b}");
            assert_eq!(hash.finish(), expected.1, "{algorithm:?}, {length}, {moments:04b}");
        }
    }
    use_hash_lanes(true);
}

/// An output of the PRF that was begun with lanes can be continued without lanes from any step, and
/// vice versa.
#[test]
fn prf_runs_may_be_begun_with_lanes_and_finished_without() {
    let _alone = alone();
    for (of_first, of_second) in ALL.into_iter().flat_map(|one| ALL.map(|other| (one, other))) {
        let first = Tls12Prf::new(of_first, b"first");
        let second = Tls12Prf::new(of_second, b"second");
        let seed: [&[u8]; 2] = [&[7; 32], &[9; 40]];
        for (len, other_len) in [1, 48, 72, 96, 97, 300].map(|len| (len, 300 - len % 290)) {
            let mut expected = (vec![0; len], vec![0; other_len]);
            use_hash_lanes(false);
            first.fill(b"label", &seed, &mut expected.0);
            second.fill(b"other", &seed, &mut expected.1);
            // The bits select which of the four calls use lanes.
            for moments in 0..16_u8 {
                let moment = |at: u8| use_hash_lanes(moments >> at & 1 != 0);
                let mut made = (vec![0xee; len], vec![0xee; other_len]);
                let mut again = vec![0xee; len];
                moment(0);
                let mut beside = second.begin(b"other", &seed, &mut made.1);
                let run = first.begin(b"label", &seed, &mut made.0);
                moment(1);
                run.finish_with(&mut beside);
                moment(2);
                first.begin(b"label", &seed, &mut again).finish_with(&mut beside);
                moment(3);
                beside.finish();
                assert_eq!(made, expected, "{of_first:?}, {of_second:?}, {len}, {moments:04b}");
                assert_eq!(again, expected.0);
            }
        }
    }
    use_hash_lanes(true);
}

#[test]
fn switching_at_any_moment_changes_no_result() {
    let _alone = alone();
    thread::scope(|scope| {
        let asking = scope.spawn(compute_every_kind);
        while !asking.is_finished() {
            use_hash_lanes(false);
            use_hash_lanes(true);
        }
    });
}

fn compute_every_kind() {
    for algorithm in ALL {
        let key = HmacKey::new(algorithm, b"key");
        let prk = Prk::from_bytes(algorithm, b"prk");
        let expected = (key.sign(&[b"message"]), prk.expand_secret(&[b"info"], 60));
        for _ in 0..300 {
            let [key, other] = HmacKey::batch(algorithm, [b"key", b"prk"]);
            let prk = Prk::from_key(other);
            let mut tags = [[0_u8; 64]; 2];
            let [one, two] = tags.each_mut().map(|tag| &mut tag[..algorithm.output_len()]);
            let mut long = [[0_u8; 60]; 3];
            let mac = |out| Mac { key: &key, parts: &[b"message"], out };
            let mut all = long.each_mut().map(|out| Expansion { prk: &prk, info: &[b"info"], out });
            expand_batch(&mut all, &mut [mac(one)]);
            mac_batch(&mut [mac(two)]);
            for tag in &tags {
                assert_eq!(tag[..algorithm.output_len()], *expected.0);
            }
            assert!(long.iter().all(|out| out == expected.1.as_bytes()));
        }
    }
}

fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
