//! The switch that turns hash lanes off is for a whole process, so its test has one of its own.

use tercel_crypto::{HashLanes, hash_lanes, use_hash_lanes};

#[test]
fn the_switch_turns_lanes_off_and_on() {
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
