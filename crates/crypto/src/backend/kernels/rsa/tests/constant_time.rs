//! Checks by Valgrind and by a clock that time does not depend on a private key or on a block.
//!
//! `tools/constant-time.sh` runs the first check. Valgrind does not support AVX-512, so the
//! portable vectors run; both share the source text of the arithmetic. The second check runs with
//! AVX-512, by `just kernel-timing`.

use core::hint::black_box;

use super::super::blinding::Blinding;
use super::super::convert::read_bytes;
use super::super::exponentiation::{Exponentiate, Exponents, FillTable, TABLE_LEN};
use super::super::montgomery::Modulus;
use super::super::number::{HALF, MODULUS_LEN, PRIME_LEN, PRIME_LIMBS};
use super::super::operations::{Product, Square};
use super::super::private::PrivateKey;
use super::super::raw_key::RawKey;
use super::super::scratch::ScratchBox;
use super::super::seams::PUBLISH;
use super::super::self_test::Bytes;
use super::keys::TestKey;
use super::*;
use crate::backend::client_requests::{
    MAKE_DEFINED, MAKE_UNDEFINED, assert_that_leaks_are_detected, errors, mark, runs_under_valgrind,
};
use crate::backend::kernels::tests::timing::{
    Classes, LIMIT, Series, Source, Subject, calls, measure,
};

#[test]
#[ignore = "for tools/constant-time.sh, which runs it under Valgrind"]
fn nothing_depends_on_a_private_key() {
    assert!(runs_under_valgrind(), "this runs under Valgrind");
    assert_eq!(errors(), 0);
    let raw = TestKey::generate().raw();
    let before = errors();
    let (n, mut parts) = raw.parts().unwrap();
    let block = [0x17; MODULUS_LEN];
    let signature = raw.sign(&block).unwrap();
    // The size of the primes is public, and that they are odd.
    for prime in [&mut parts.p, &mut parts.q] {
        mark(MAKE_UNDEFINED, &mut prime[1..PRIME_LEN - 1]);
    }
    for part in [&mut parts.d_p, &mut parts.d_q, &mut parts.q_inverse] {
        mark(MAKE_UNDEFINED, part);
    }
    PUBLISH.set(Some(|bytes| mark(MAKE_DEFINED, bytes)));
    let key = PrivateKey::new(Portable, &n, &parts).unwrap();
    for _ in 0..3 {
        let mut found = key.sign(Portable, &block);
        mark(MAKE_DEFINED, found.as_mut_slice());
        assert!(found == Some(signature));
    }
    assert_eq!(errors(), before, "the time depends on secrets");
    PUBLISH.set(None);
    assert_that_leaks_are_detected();
}

/// An exponentiation without masks: it reads only the entry of the table that it needs, and skips
/// factors that are 1.
fn exponentiate_with_leak(
    run: Avx512,
    primes: &Modulus,
    windows: &[usize; WINDOWS],
    table: &[Number; TABLE_LEN],
    [result, other]: [&mut Number; 2],
) {
    *result = table[1];
    for window in windows {
        run.run(Square::<HALF> { modulus: primes, times: 5, number: result });
        let factor = &table[*window];
        if factor.0 != table[0].0 {
            run.run(Product::<HALF>::new(primes, result, factor, other));
            *result = *other;
        }
    }
}

const WINDOWS: usize = 204;

/// A number below any modulus: this small number, or one of the source. The time is the same.
fn number_below(source: &mut Source, (is_small, small): (u8, u8), bytes: &mut [u8]) {
    source.fill(bytes);
    let keep = is_small.wrapping_sub(1);
    let keep = black_box(keep);
    bytes.iter_mut().for_each(|byte| *byte &= keep);
    bytes[0] &= 0x7f;
    *bytes.last_mut().unwrap() |= small & !keep;
}

/// A power modulo both primes, for exponents that are sparse if the flag is set: each window is
/// zero, except the highest.
struct Exponentiation<'a> {
    run: Avx512,
    primes: &'a Modulus,
    table: Box<[Number; TABLE_LEN]>,
    exponents: Box<Exponents>,
    result: Box<Number>,
}

impl Subject for Exponentiation<'_> {
    fn prepare(&mut self, is_sparse: u8, source: &mut Source) {
        let mut bytes = [0; PRIME_LEN];
        number_below(source, (is_sparse, 1), &mut bytes);
        bytes[0] |= 0x80;
        self.exponents.read([&bytes, &bytes]);
    }

    fn call(&mut self) {
        let Self { run, primes, table, exponents, result } = self;
        run.run(Exponentiate { primes, exponents, table, result });
    }
}

/// A signature of a block, which is 2 if the flag is set.
struct Signature<'a> {
    run: Avx512,
    key: &'a PrivateKey,
    blinding: Box<Blinding>,
    scratch: ScratchBox,
    block: Box<Bytes>,
    signature: Box<Bytes>,
}

impl<'a> Signature<'a> {
    fn new(run: Avx512, key: &'a PrivateKey) -> Self {
        let (blinding, scratch) = (key.blinding_for_test(run), key.drawn());
        let [block, signature] = [(); 2].map(|()| Box::new([0; MODULUS_LEN]));
        Self { run, key, blinding, scratch, block, signature }
    }
}

impl Subject for Signature<'_> {
    fn prepare(&mut self, is_small: u8, source: &mut Source) {
        number_below(source, (is_small, 2), &mut *self.block);
    }

    fn call(&mut self) {
        let Self { run, key, blinding, scratch, block, signature } = self;
        assert!(key.sign_with(*run, blinding, block, scratch, signature));
        // The factors are squared after each signature.
        blinding.square(*run, &key.public.modulus);
    }
}

/// A signature by one of eight keys, which are all the same key if the flag is set. The key is
/// copied to the same place before each call.
struct SignatureByKeys {
    run: Avx512,
    keys: Vec<(Box<PrivateKey>, Box<Blinding>)>,
    key: Box<PrivateKey>,
    blinding: Box<Blinding>,
    scratch: ScratchBox,
    block: Box<Bytes>,
    signature: Box<Bytes>,
}

impl SignatureByKeys {
    fn new(run: Avx512) -> Self {
        let keys: Vec<_> = (0..9).map(|_| TestKey::generate()).collect();
        let kernel = |key: &TestKey| {
            let (n, parts) = key.raw().parts().unwrap();
            let key = PrivateKey::new(run, &n, &parts).unwrap();
            let blinding = key.blinding_for_test(run);
            (key, blinding)
        };
        let all = keys[1..].iter().chain([&keys[0]; 8]).map(kernel).collect();
        let ((key, blinding), scratch) = (kernel(&keys[0]), kernel(&keys[0]).0.drawn());
        let [block, signature] = [(); 2].map(|()| Box::new([0; MODULUS_LEN]));
        Self { run, keys: all, key, blinding, scratch, block, signature }
    }
}

impl Subject for SignatureByKeys {
    fn prepare(&mut self, is_fixed: u8, source: &mut Source) {
        let place = 8 * usize::from(is_fixed) + (source.word() % 8) as usize;
        let (key, blinding) = &self.keys[place];
        self.key.copy_numbers(key);
        (self.blinding.factor, self.blinding.inverse) = (blinding.factor, blinding.inverse);
        number_below(source, (0, 0), &mut *self.block);
    }

    fn call(&mut self) {
        let Self { run, key, blinding, scratch, block, signature, .. } = self;
        assert!(key.sign_with(*run, blinding, block, scratch, signature));
    }
}

/// AWS-LC's signature of a block, which is 2 if the flag is set.
struct SignatureByAwsLc {
    key: RawKey,
    block: Box<Bytes>,
}

impl Subject for SignatureByAwsLc {
    fn prepare(&mut self, is_small: u8, source: &mut Source) {
        number_below(source, (is_small, 2), &mut *self.block);
    }

    fn call(&mut self) {
        black_box(self.key.sign(&self.block).unwrap());
    }
}

/// A power of a block without blinding and without masks. If the flag is set, either the block is 1
/// or the exponent is sparse.
struct Unprotected<'a> {
    run: Avx512,
    primes: &'a Modulus,
    r_squared: &'a Number,
    of_blocks: bool,
    base: Box<Number>,
    windows: Box<[usize; WINDOWS]>,
    table: Box<[Number; TABLE_LEN]>,
    result: Box<[Number; 2]>,
}

impl Subject for Unprotected<'_> {
    fn prepare(&mut self, flag: u8, source: &mut Source) {
        let mut block = [0; PRIME_LEN];
        number_below(source, (flag & u8::from(self.of_blocks), 1), &mut block);
        for start in [0, PRIME_LIMBS] {
            read_bytes(&mut self.base, start, &block);
        }
        let mut windows = [0; WINDOWS];
        number_below(source, (flag & u8::from(!self.of_blocks), 0), &mut windows);
        for (to, from) in self.windows.iter_mut().zip(windows) {
            *to = usize::from(from % 32);
        }
    }

    fn call(&mut self) {
        let Self { run, primes, r_squared, base, windows, table, result, .. } = self;
        let [power, other] = &mut **result;
        run.run(Product::<HALF>::new(primes, base, r_squared, other));
        run.run(FillTable { primes, r_squared, base: other, table });
        exponentiate_with_leak(*run, primes, windows, table, [power, other]);
    }
}

#[test]
#[ignore = "takes minutes, for `just kernel-timing`"]
fn time_does_not_depend_on_keys_or_blocks() {
    let Some(run) = Avx512::detect() else { return };
    let raw = TestKey::generate().raw();
    let (n, parts) = raw.parts().unwrap();
    let key = PrivateKey::new(run, &n, &parts).unwrap();
    let primes = key.primes();
    let exponentiation = || {
        let mut scratch = key.drawn();
        scratch.fill_table(run, primes);
        let (exponents, result) = (Box::new(Exponents::ZERO), Box::new(Number::ZERO));
        Exponentiation { run, primes, table: Box::new(scratch.table), exponents, result }
    };
    let by_aws_lc = SignatureByAwsLc { key: raw, block: Box::new([0; MODULUS_LEN]) };
    let calls = calls(300_000);
    println!("RSA-2048, {calls} calls; t without the slowest 0, 1, 5, 10, 25, 50 %");
    let t = measure(
        calls,
        &mut [
            Series::new("kernel, power, exponents", Classes::Flag, exponentiation()),
            Series::new("kernel, sign, blocks", Classes::Bytes, Signature::new(run, &key)),
            Series::new("kernel, sign, block of 2", Classes::Flag, Signature::new(run, &key)),
            Series::new("kernel, sign, keys", Classes::Flag, SignatureByKeys::new(run)),
            Series::new("kernel, sign, equal classes", Classes::Same, Signature::new(run, &key)),
            Series::new("AWS-LC, sign, block of 2", Classes::Flag, by_aws_lc),
        ],
        5,
    );
    // The same test must find what blinding and masks hide.
    let unprotected = |of_blocks| Unprotected {
        run,
        primes,
        r_squared: key.r_squared_of_primes(),
        of_blocks,
        base: Box::new(Number::ZERO),
        windows: Box::new([0; WINDOWS]),
        table: Box::new([Number::ZERO; TABLE_LEN]),
        result: Box::new([Number::ZERO; 2]),
    };
    let leaks = measure(
        calls / 10,
        &mut [
            Series::new("unprotected power, exponents", Classes::Flag, unprotected(false)),
            Series::new("unprotected power, block of 1", Classes::Flag, unprotected(true)),
        ],
        0,
    );
    assert!(leaks.iter().all(|t| *t > 100.0), "the test does not find leaks");
    assert!(t[..5].iter().all(|t| *t < LIMIT));
}
