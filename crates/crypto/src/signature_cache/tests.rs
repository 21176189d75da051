//! Lookups, and what replaces what.

use super::*;

const ENTRIES: usize = 1024;
const PARTS: [&[u8]; 5] = [b"key algorithm", b"key", b"signature algorithm", b"message", b"good"];

#[test]
fn an_inserted_signature_is_found() {
    let cache = SignatureCache::new(ENTRIES).unwrap();
    let digest = cache.digest(PARTS);
    assert!(!cache.contains(&digest));
    for _ in 0..3 {
        cache.insert(&digest);
        assert!(cache.contains(&digest));
    }
    assert_eq!(cache.len(), 1);
}

#[test]
fn the_digest_depends_on_each_value_and_its_length() {
    let cache = SignatureCache::new(ENTRIES).unwrap();
    let digest = cache.digest(PARTS);
    for index in 0..PARTS.len() {
        let mut changed = PARTS;
        changed[index] = b"changed";
        assert_ne!(cache.digest(changed), digest, "{index}");
        // The last byte of one value is the first of the next.
        let mut moved = PARTS;
        let Some(next) = PARTS.get(index + 1) else { break };
        let (rest, last) = PARTS[index].split_at(PARTS[index].len() - 1);
        let longer = [last, next].concat();
        (moved[index], moved[index + 1]) = (rest, &longer);
        assert_ne!(cache.digest(moved), digest, "{index}");
    }
}

#[test]
fn the_digest_depends_on_the_cache() {
    let (one, other) =
        (SignatureCache::new(ENTRIES).unwrap(), SignatureCache::new(ENTRIES).unwrap());
    assert_eq!(one.digest(PARTS), one.digest(PARTS));
    assert_ne!(one.digest(PARTS), other.digest(PARTS));
}

fn numbered(cache: &SignatureCache, number: usize) -> SignatureDigest {
    let message = number.to_be_bytes();
    cache.digest([b"key algorithm", b"key", b"signature algorithm", &message, b"good"])
}

#[test]
fn a_full_cache_replaces_entries() {
    let cache = SignatureCache::new(ENTRIES).unwrap();
    for number in 0..8 * ENTRIES {
        let digest = numbered(&cache, number);
        cache.insert(&digest);
        // The entry that was stored last is in the cache.
        assert!(cache.contains(&digest));
    }
    assert!(cache.len() <= ENTRIES);
    assert!(cache.len() > ENTRIES * 9 / 10, "{}", cache.len());
}

#[test]
fn concurrent_reads_and_writes_give_correct_results() {
    let cache = SignatureCache::new(ENTRIES).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4_usize {
            let cache = &cache;
            scope.spawn(move || {
                for index in 0..4000_usize {
                    cache.insert(&numbered(cache, index % 1500 + thread * 100));
                    assert!(!cache.contains(&numbered(cache, 1_000_000 + index)));
                }
            });
        }
    });
    assert!(cache.len() > ENTRIES / 2);
}

#[test]
fn the_number_of_entries_is_rounded_up() {
    for (entries, stored) in [(0, 4), (1, 4), (4, 4), (5, 8), (8, 8)] {
        let cache = SignatureCache::new(entries).unwrap();
        (0..1000).for_each(|number| cache.insert(&numbered(&cache, number)));
        assert_eq!(cache.len(), stored);
    }
}

#[test]
fn debug_shows_nothing() {
    let cache = SignatureCache::new(4).unwrap();
    assert_eq!(format!("{cache:?}"), "SignatureCache(..)");
    assert_eq!(format!("{:?}", cache.digest(PARTS)), "SignatureDigest(..)");
}
