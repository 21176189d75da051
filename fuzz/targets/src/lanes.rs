//! MACs, expansions and PRF outputs computed in parallel, compared with AWS-LC's hashes.
//!
//! The expected values are computed from whole hashes, as defined by RFC 2104, RFC 5869 and
//! RFC 5246.

use tercel::crypto::HashAlgorithm;
use tercel_crypto::{Expansion, Hash, HmacKey, Mac, Prk, Tls12Prf, expand_batch, mac_batch};

use crate::script::Script;

/// Computes all values that the input requests in one batch. Returns whether the batch had several.
pub fn hash_lanes(input: &[u8]) -> bool {
    let mut script = Script::new(input);
    let mut requests = Vec::new();
    while let Some(request) = Request::read(&mut script) {
        requests.push(request);
        if requests.len() == MAX_REQUESTS {
            break;
        }
    }
    check_expansions_and_macs(&requests);
    for pair in requests.windows(2) {
        check_prf(&pair[0], &pair[1]);
    }
    if let Ok(four) = <&[Request<'_>; 4]>::try_from(&requests[..requests.len().min(4)]) {
        check_keys(four);
    }
    requests.len() > 1
}

/// The limit of values in a batch, which is more than are computed in parallel.
const MAX_REQUESTS: usize = 20;

/// A value to compute.
struct Request<'a> {
    algorithm: HashAlgorithm,
    key: &'a [u8],
    parts: [&'a [u8]; 2],
    /// The length of an expansion, or `None` for another value.
    expanded: Option<usize>,
}

impl<'a> Request<'a> {
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

fn check_expansions_and_macs(requests: &[Request<'_>]) {
    let (expanded, plain): (Vec<_>, Vec<_>) =
        requests.iter().partition(|request| request.expanded.is_some());
    let prks: Vec<_> =
        expanded.iter().map(|request| Prk::from_bytes(request.algorithm, request.key)).collect();
    let keys: Vec<_> =
        plain.iter().map(|request| HmacKey::new(request.algorithm, request.key)).collect();
    let mut outs: Vec<_> =
        expanded.iter().map(|request| vec![0xee; request.expanded.unwrap_or_default()]).collect();
    let mut tags: Vec<_> =
        plain.iter().map(|request| vec![0xee; request.algorithm.output_len()]).collect();

    let mut expansions: Vec<_> = expanded
        .iter()
        .zip(&prks)
        .zip(&mut outs)
        .map(|((request, prk), out)| Expansion { prk, info: &request.parts, out })
        .collect();
    let with_tags = || plain.iter().zip(&keys);
    let mut beside: Vec<_> = with_tags()
        .zip(&mut tags)
        .map(|((request, key), out)| Mac { key, parts: &request.parts, out })
        .collect();
    expand_batch(&mut expansions, &mut beside);
    for (request, out) in expanded.iter().zip(&outs) {
        assert_eq!(*out, expand(request, out.len()), "an expansion");
    }
    for (request, tag) in plain.iter().zip(&tags) {
        assert_eq!(*tag, request.hmac(&request.text()), "a MAC in parallel with expansions");
    }

    tags.iter_mut().for_each(|tag| tag.fill(0xee));
    let mut alone: Vec<_> = with_tags()
        .zip(&mut tags)
        .map(|((request, key), out)| Mac { key, parts: &request.parts, out })
        .collect();
    mac_batch(&mut alone);
    for (request, tag) in plain.iter().zip(&tags) {
        assert_eq!(*tag, request.hmac(&request.text()), "a MAC");
    }
}

/// RFC 5869 2.3
fn expand(request: &Request<'_>, len: usize) -> Vec<u8> {
    let (mut out, mut previous) = (vec![], vec![]);
    for index in 1..=u8::MAX {
        if out.len() >= len {
            break;
        }
        previous = request.hmac(&[&previous[..], &request.text(), &[index]].concat());
        out.extend(&previous);
    }
    out.truncate(len);
    out
}

fn check_prf(first: &Request<'_>, second: &Request<'_>) {
    let prfs = [first, second].map(|request| Tls12Prf::new(request.algorithm, request.key));
    let [mut out, mut other] =
        [first, second].map(|request| vec![0xee; request.expanded.unwrap_or(request.key.len())]);
    let seeds = [[first.parts[1]], [second.parts[1]]];
    let mut beside = prfs[1].begin(second.parts[0], &seeds[1], &mut other);
    prfs[0].begin(first.parts[0], &seeds[0], &mut out).finish_with(&mut beside);
    beside.finish();
    assert_eq!(out, p_hash(first, out.len()), "an output of the PRF");
    assert_eq!(other, p_hash(second, other.len()), "an output of the PRF in parallel with another");
}

/// RFC 5246 5
fn p_hash(request: &Request<'_>, len: usize) -> Vec<u8> {
    let (mut a, mut out) = (request.text(), vec![]);
    while out.len() < len {
        a = request.hmac(&a);
        out.extend(request.hmac(&[&a[..], &request.text()].concat()));
    }
    out.truncate(len);
    out
}

fn check_keys(four: &[Request<'_>; 4]) {
    let algorithm = four[0].algorithm;
    let keys = HmacKey::batch(algorithm, four.each_ref().map(|request| request.key));
    for (request, key) in four.iter().zip(&keys) {
        assert_eq!(
            *key.sign(&request.parts),
            *hmac(algorithm, request.key, &request.text()),
            "a key"
        );
    }
}
