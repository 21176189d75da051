//! MACs, expansions and outputs of the PRF made side by side, held against AWS-LC's hashes one after the other.
//!
//! What each must be is put together here from whole hashes, as RFC 2104, RFC 5869 and RFC 5246 write it. Must not know: how
//! things go side by side. Next: `crates/crypto/src/side_by_side.rs`.

use tercel::crypto::{
    Expansion, Hash, HashAlgorithm, HmacKey, Mac, Prk, Tls12Prf, expand_several, macs,
};

use crate::script::Script;

/// Makes what the input asks for, all of it together. Whether that was several things.
pub fn hash_lanes(input: &[u8]) -> bool {
    let mut script = Script::new(input);
    let mut wishes = Vec::new();
    while let Some(wish) = Wish::read(&mut script) {
        wishes.push(wish);
        if wishes.len() == MAX_WISHES {
            break;
        }
    }
    check_expansions_and_macs(&wishes);
    for pair in wishes.windows(2) {
        check_prf(&pair[0], &pair[1]);
    }
    if let Ok(four) = <&[Wish<'_>; 4]>::try_from(&wishes[..wishes.len().min(4)]) {
        check_keys(four);
    }
    wishes.len() > 1
}

/// More than go side by side.
const MAX_WISHES: usize = 20;

/// Something to be made.
struct Wish<'a> {
    algorithm: HashAlgorithm,
    key: &'a [u8],
    parts: [&'a [u8]; 2],
    /// The length of an expansion, if that is what is wished for.
    expanded: Option<usize>,
}

impl<'a> Wish<'a> {
    fn read(script: &mut Script<'a>) -> Option<Self> {
        let kind = script.byte()?;
        let algorithm = match kind & 0b111 {
            0 => HashAlgorithm::Sha256,
            1..=3 => HashAlgorithm::Sha512,
            _ => HashAlgorithm::Sha384,
        };
        let [key, head, tail, out] =
            [script.byte()?, script.byte()?, script.byte()?, script.byte()?];
        Some(Self {
            algorithm,
            key: script.take(usize::from(key)),
            parts: [script.take(usize::from(head)), script.take(usize::from(tail))],
            expanded: (kind & 0b1000 != 0).then_some(usize::from(out)),
        })
    }

    fn text(&self) -> Vec<u8> {
        self.parts.concat()
    }

    fn hmac(&self, message: &[u8]) -> Vec<u8> {
        hmac(self.algorithm, self.key, message)
    }
}

/// RFC 2104 2
fn hmac(algorithm: HashAlgorithm, key: &[u8], message: &[u8]) -> Vec<u8> {
    let mut block = vec![0; algorithm.block_len()];
    if key.len() > block.len() {
        let digest = Hash::digest(algorithm, &[key]);
        block[..digest.len()].copy_from_slice(&digest);
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let pad = |with: u8| block.iter().map(|byte| byte ^ with).collect::<Vec<_>>();
    let inner = Hash::digest(algorithm, &[&pad(0x36), message]);
    Hash::digest(algorithm, &[&pad(0x5c), &inner]).to_vec()
}

fn check_expansions_and_macs(wishes: &[Wish<'_>]) {
    let (expanded, plain): (Vec<_>, Vec<_>) =
        wishes.iter().partition(|wish| wish.expanded.is_some());
    let prks: Vec<_> =
        expanded.iter().map(|wish| Prk::from_bytes(wish.algorithm, wish.key)).collect();
    let keys: Vec<_> = plain.iter().map(|wish| HmacKey::new(wish.algorithm, wish.key)).collect();
    let mut outs: Vec<_> =
        expanded.iter().map(|wish| vec![0xee; wish.expanded.unwrap_or_default()]).collect();
    let mut tags: Vec<_> =
        plain.iter().map(|wish| vec![0xee; wish.algorithm.output_len()]).collect();

    let mut expansions: Vec<_> = expanded
        .iter()
        .zip(&prks)
        .zip(&mut outs)
        .map(|((wish, prk), out)| Expansion { prk, info: &wish.parts, out })
        .collect();
    let with_tags = || plain.iter().zip(&keys);
    let mut beside: Vec<_> = with_tags()
        .zip(&mut tags)
        .map(|((wish, key), out)| Mac { key, parts: &wish.parts, out })
        .collect();
    expand_several(&mut expansions, &mut beside);
    for (wish, out) in expanded.iter().zip(&outs) {
        assert_eq!(*out, expand(wish, out.len()), "an expansion");
    }
    for (wish, tag) in plain.iter().zip(&tags) {
        assert_eq!(*tag, wish.hmac(&wish.text()), "a MAC beside expansions");
    }

    tags.iter_mut().for_each(|tag| tag.fill(0xee));
    let mut alone: Vec<_> = with_tags()
        .zip(&mut tags)
        .map(|((wish, key), out)| Mac { key, parts: &wish.parts, out })
        .collect();
    macs(&mut alone);
    for (wish, tag) in plain.iter().zip(&tags) {
        assert_eq!(*tag, wish.hmac(&wish.text()), "a MAC");
    }
}

/// RFC 5869 2.3
fn expand(wish: &Wish<'_>, len: usize) -> Vec<u8> {
    let (mut out, mut previous) = (vec![], vec![]);
    for index in 1..=u8::MAX {
        if out.len() >= len {
            break;
        }
        previous = wish.hmac(&[&previous[..], &wish.text(), &[index]].concat());
        out.extend(&previous);
    }
    out.truncate(len);
    out
}

fn check_prf(first: &Wish<'_>, second: &Wish<'_>) {
    let prfs = [first, second].map(|wish| Tls12Prf::new(wish.algorithm, wish.key));
    let [mut out, mut other] =
        [first, second].map(|wish| vec![0xee; wish.expanded.unwrap_or(wish.key.len())]);
    let seeds = [[first.parts[1]], [second.parts[1]]];
    let mut beside = prfs[1].begin(second.parts[0], &seeds[1], &mut other);
    prfs[0].begin(first.parts[0], &seeds[0], &mut out).finish_beside(&mut beside);
    beside.finish();
    assert_eq!(out, p_hash(first, out.len()), "an output of the PRF");
    assert_eq!(other, p_hash(second, other.len()), "an output of the PRF beside another");
}

/// RFC 5246 5
fn p_hash(wish: &Wish<'_>, len: usize) -> Vec<u8> {
    let (mut a, mut out) = (wish.text(), vec![]);
    while out.len() < len {
        a = wish.hmac(&a);
        out.extend(wish.hmac(&[&a[..], &wish.text()].concat()));
    }
    out.truncate(len);
    out
}

fn check_keys(four: &[Wish<'_>; 4]) {
    let algorithm = four[0].algorithm;
    let keys = HmacKey::several(algorithm, four.each_ref().map(|wish| wish.key));
    for (wish, key) in four.iter().zip(&keys) {
        assert_eq!(*key.sign(&wish.parts), *hmac(algorithm, wish.key, &wish.text()), "a key");
    }
}
