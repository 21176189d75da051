//! Statistical tests of the times of AEADs against keys and contents. See `timing.rs` for the
//! method.

use core::cell::{Cell, RefCell};
use core::hint::black_box;

use super::timing::{Classes, LIMIT, Series, Source, Subject, calls, measure};
use crate::algorithm::AeadAlgorithm;
use crate::backend::aead::AeadContext;

const TAG_LEN: usize = AeadAlgorithm::TAG_LEN;

/// The operations of an implementation. Keys are replaced in their place.
pub(in crate::backend::kernels) trait Aead {
    fn set_key(&mut self, secret: &[u8]);
    fn seal(&self, nonce: &[u8; 12], aad: &[u8], data: &[u8], out: &mut [u8]);
    fn open(&self, nonce: &[u8; 12], aad: &[u8], sealed: &[u8], out: &mut [u8]) -> bool;
}

/// AWS-LC's implementation.
struct AwsLc {
    algorithm: AeadAlgorithm,
    context: Option<AeadContext>,
}

impl AwsLc {
    fn new(algorithm: AeadAlgorithm) -> Self {
        Self { algorithm, context: None }
    }

    fn context(&self) -> &AeadContext {
        self.context.as_ref().expect("the key is set")
    }
}

impl Aead for AwsLc {
    fn set_key(&mut self, secret: &[u8]) {
        // The memory of the old key is used again.
        self.context = None;
        self.context = AeadContext::by_aws_lc(self.algorithm, secret).ok();
    }

    fn seal(&self, nonce: &[u8; 12], aad: &[u8], data: &[u8], out: &mut [u8]) {
        self.context().sealer().seal(nonce, aad, data, &[], out).unwrap();
    }

    fn open(&self, nonce: &[u8; 12], aad: &[u8], sealed: &[u8], out: &mut [u8]) -> bool {
        let (body, tag) = sealed.split_at(sealed.len() - TAG_LEN);
        self.context().open(nonce, aad, body, tag, out).is_ok()
    }
}

/// An implementation whose comparison of tags ends at the first byte that differs.
struct EarlyExit<A> {
    aead: A,
    /// The last tag that was made.
    tag: Cell<[u8; TAG_LEN]>,
    /// The output of the work that opening takes.
    unused: RefCell<Vec<u8>>,
}

impl<A: Aead> Aead for EarlyExit<A> {
    fn set_key(&mut self, secret: &[u8]) {
        self.aead.set_key(secret);
    }

    fn seal(&self, nonce: &[u8; 12], aad: &[u8], data: &[u8], out: &mut [u8]) {
        self.aead.seal(nonce, aad, data, out);
        self.tag.set(*out.last_chunk().expect("the tag is last"));
    }

    fn open(&self, nonce: &[u8; 12], aad: &[u8], sealed: &[u8], _: &mut [u8]) -> bool {
        let (body, tag) = sealed.split_at(sealed.len() - TAG_LEN);
        self.aead.seal(nonce, aad, body, &mut self.unused.borrow_mut());
        for (byte, right) in tag.iter().zip(self.tag.get()) {
            if black_box(*byte) != right {
                return false;
            }
        }
        true
    }
}

/// What is timed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    SetKey,
    Seal,
    Open,
    /// Opens a message whose tag differs in its first or in its last byte.
    Reject,
}

/// One message. Everything in it is made again for each call.
struct Record<A> {
    aead: A,
    operation: Operation,
    secret: Vec<u8>,
    nonce: [u8; 12],
    aad: [u8; 5],
    data: Vec<u8>,
    sealed: Vec<u8>,
    opened: Vec<u8>,
}

impl<A: Aead> Record<A> {
    fn new(aead: A, algorithm: AeadAlgorithm, operation: Operation, len: usize) -> Self {
        let secret = vec![0; algorithm.key_len()];
        let (data, opened) = (vec![0; len], vec![0; len]);
        let sealed = vec![0; len + TAG_LEN];
        Self { aead, operation, secret, nonce: [0; 12], aad: [0; 5], data, sealed, opened }
    }
}

impl<A: Aead> Subject for Record<A> {
    fn prepare(&mut self, flag: u8, source: &mut Source) {
        source.fill(&mut self.secret);
        source.fill(&mut self.nonce);
        source.fill(&mut self.aad);
        source.fill(&mut self.data);
        self.aead.set_key(&self.secret);
        self.aead.seal(&self.nonce, &self.aad, &self.data, &mut self.sealed);
        if self.operation == Operation::Reject {
            let tag = &mut self.sealed[self.data.len()..];
            tag[0] ^= flag;
            tag[TAG_LEN - 1] ^= flag ^ 1;
        }
    }

    fn call(&mut self) {
        let Self { aead, nonce, aad, .. } = self;
        match self.operation {
            Operation::SetKey => aead.set_key(&self.secret),
            Operation::Seal => aead.seal(nonce, aad, &self.data, &mut self.sealed),
            Operation::Open => assert!(aead.open(nonce, aad, &self.sealed, &mut self.opened)),
            Operation::Reject => assert!(!aead.open(nonce, aad, &self.sealed, &mut self.opened)),
        }
    }
}

/// The lengths of a short record, of one that fills a packet, and of a full one.
const LENGTHS: [usize; 3] = [64, 1350, 16_384];

/// Tests that the times of a kernel depend neither on keys nor on contents, and not on the place
/// where a forged tag differs. The kernel whose comparison of tags ends early must be found out.
pub(in crate::backend::kernels) fn check<A: Aead>(
    algorithm: AeadAlgorithm,
    kernel: impl Fn() -> A,
) {
    let calls = calls(1_000_000);
    for len in LENGTHS {
        println!(
            "{algorithm:?}, {len} bytes, {calls} calls; t without the slowest 0, 1, 5, 10, 25, 50 %"
        );
        let by_kernel = |operation| Record::new(kernel(), algorithm, operation, len);
        let by_aws_lc = |operation| Record::new(AwsLc::new(algorithm), algorithm, operation, len);
        let t = measure(
            calls,
            &mut [
                Series::new("kernel, seal", Classes::Bytes, by_kernel(Operation::Seal)),
                Series::new("kernel, open", Classes::Bytes, by_kernel(Operation::Open)),
                Series::new("kernel, reject", Classes::Flag, by_kernel(Operation::Reject)),
                Series::new("kernel, set key", Classes::Bytes, by_kernel(Operation::SetKey)),
                Series::new(
                    "kernel, seal, equal classes",
                    Classes::Same,
                    by_kernel(Operation::Seal),
                ),
                Series::new("AWS-LC, seal", Classes::Bytes, by_aws_lc(Operation::Seal)),
                Series::new("AWS-LC, open", Classes::Bytes, by_aws_lc(Operation::Open)),
                Series::new("AWS-LC, reject", Classes::Flag, by_aws_lc(Operation::Reject)),
            ],
            5,
        );
        assert!(t[..5].iter().all(|t| *t < LIMIT), "{algorithm:?}, {len} bytes");
    }
    let len = LENGTHS[0];
    let (tag, unused) = (Cell::new([0; TAG_LEN]), RefCell::new(vec![0; len + TAG_LEN]));
    let leaking = EarlyExit { aead: kernel(), tag, unused };
    let leaking = Record::new(leaking, algorithm, Operation::Reject, len);
    let t =
        measure(calls / 10, &mut [Series::new("early exit, reject", Classes::Flag, leaking)], 0);
    assert!(t[0] > 2.0 * LIMIT, "the test does not find a comparison that ends early");
}
