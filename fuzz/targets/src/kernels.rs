//! Kernels, compared with AWS-LC.
//!
//! A key keeps the implementation with which it was made, so that two keys of the same bytes
//! compute the same by the kernel and by AWS-LC. Numbers at which carries reach their limits are
//! unlikely in random bytes; [`pattern`] makes them out of short inputs.

use std::sync::{Mutex, PoisonError};

use tercel_crypto::{AeadAlgorithm, AeadKey, CryptoError, Kernel, kernel_checks, use_kernel};

use crate::script::Script;

const TAG_LEN: usize = AeadAlgorithm::TAG_LEN;

/// Seals and opens messages with AES-GCM. Returns whether a message was sealed.
pub fn aes_gcm(input: &[u8]) -> bool {
    let mut script = Script::new(input);
    let Some(kind) = script.byte() else { return false };
    let algorithm = [AeadAlgorithm::Aes128Gcm, AeadAlgorithm::Aes256Gcm][usize::from(kind & 1)];
    let [by_kernel, by_aws_lc] = keys(Kernel::AesGcm, algorithm, &mut script);
    // Portable AES takes microseconds for each block, so that it is only run for few messages.
    messages(&mut script, 0b1111, &by_kernel, &by_aws_lc)
}

/// Seals and opens messages with ChaCha20-Poly1305, and computes tags of Poly1305 with any one-time
/// key. Returns whether a message was sealed.
pub fn chacha20_poly1305(input: &[u8]) -> bool {
    let mut script = Script::new(input);
    let Some(kind) = script.byte() else { return false };
    if kind & 1 == 1 {
        let key = pattern(&mut script);
        let blocks = 1 + usize::from(script.byte().unwrap_or_default()) % 80;
        let mut message = vec![0; 16 * blocks];
        fill(&mut script, &mut message);
        kernel_checks::poly1305(&key, &message);
    }
    let algorithm = AeadAlgorithm::ChaCha20Poly1305;
    let [by_kernel, by_aws_lc] = keys(Kernel::ChaCha20Poly1305, algorithm, &mut script);
    messages(&mut script, 0b1, &by_kernel, &by_aws_lc)
}

/// Computes RSA's operations for moduli, exponents and bases of any kind, and signatures with any
/// blinding factor. Returns whether each number had a result.
pub fn rsa_2048(input: &[u8]) -> bool {
    let mut script = Script::new(input);
    let Some(kind) = script.byte() else { return false };
    // The portable vectors take milliseconds.
    let with_portable = kind & 0b1111_0000 == 0;
    match kind % 4 {
        0 | 1 => {
            let numbers = core::array::from_fn(|_| pattern(&mut script));
            kernel_checks::rsa_private(numbers, pattern(&mut script), with_portable)
        }
        2 => kernel_checks::rsa_public(pattern(&mut script), &pattern(&mut script), with_portable),
        _ => kernel_checks::rsa_signature(pattern(&mut script), pattern(&mut script)),
    }
}

/// A key, its bytes, and the implementation that it uses.
struct Key {
    key: AeadKey,
    secret: Vec<u8>,
}

/// Keys of the same bytes, for the kernel and for AWS-LC.
fn keys(kernel: Kernel, algorithm: AeadAlgorithm, script: &mut Script<'_>) -> [Key; 2] {
    // The switch is one of the process, in which other tests may run.
    static SWITCH: Mutex<()> = Mutex::new(());

    let mut secret = vec![0; algorithm.key_len()];
    fill(script, &mut secret);
    let _guard = SWITCH.lock().unwrap_or_else(PoisonError::into_inner);
    let keys = [false, true].map(|wanted| {
        use_kernel(kernel, wanted);
        AeadKey::new(algorithm, &secret).expect("the key has its length")
    });
    let [by_aws_lc, by_kernel] = keys.map(|key| Key { key, secret: secret.clone() });
    [by_kernel, by_aws_lc]
}

/// Seals and opens up to eight messages. Those for which the bits of `rarely` are zero are also
/// sealed by portable vectors, unless they are long.
fn messages(script: &mut Script<'_>, rarely: usize, kernel: &Key, aws_lc: &Key) -> bool {
    let mut is_sealed = false;
    for _ in 0..8 {
        let Some(message) = Message::read(script) else { break };
        let expected = message.check(&kernel.key, &aws_lc.key);
        if message.forged >> 8 & rarely == 0 && message.data.len() <= 3000 {
            let Message { nonce, aad, data, extra, .. } = &message;
            let (algorithm, secret) = (kernel.key.algorithm(), &kernel.secret);
            let sealed = kernel_checks::seal_portably(algorithm, secret, nonce, aad, [data, extra]);
            assert!(sealed.is_none_or(|sealed| sealed == expected), "by portable vectors");
        }
        is_sealed = true;
    }
    is_sealed
}

/// What is sealed, and how.
struct Message {
    nonce: [u8; 12],
    aad: Vec<u8>,
    data: Vec<u8>,
    extra: Vec<u8>,
    /// Unused bytes before each buffer.
    shift: usize,
    /// The bit that a forgery changes.
    forged: usize,
}

impl Message {
    fn read(script: &mut Script<'_>) -> Option<Self> {
        let (len, lengths) = (script.number()?, script.number()?);
        // Most messages are short, and some longer than a record.
        let len = if lengths & 0x8000 == 0 { len % 1500 } else { len % 20_000 };
        let aad_len = if lengths & 0x4000 == 0 { lengths % 41 } else { lengths % 600 };
        let extra_len = [1, 0, 2, 70][lengths >> 6 & 0b11];
        let (shift, forged) = (lengths >> 8 & 63, script.number()?);
        let [mut aad, mut data, mut extra] = [aad_len, len, extra_len].map(|len| vec![0; len]);
        [&mut aad, &mut data, &mut extra].into_iter().for_each(|bytes| fill(script, bytes));
        Some(Self { nonce: pattern(script), aad, data, extra, shift, forged })
    }

    /// Seals and opens, in place and apart, and returns what was sealed.
    fn check(&self, kernel: &AeadKey, aws_lc: &AeadKey) -> Vec<u8> {
        let Self { nonce, aad, data, extra, .. } = self;
        let plain = [&data[..], extra].concat();
        let total = plain.len() + TAG_LEN;
        let mut expected = vec![0; total];
        assert_eq!(aws_lc.seal(nonce, aad, data, extra, &mut expected), Ok(total));

        let mut sealed = self.buffer(total);
        assert_eq!(kernel.seal(nonce, aad, data, extra, self.used(&mut sealed, total)), Ok(total));
        self.assert_written(&sealed, &expected);
        let mut sealed = self.buffer(total);
        sealed[self.shift..][..data.len()].copy_from_slice(data);
        let used = self.used(&mut sealed, total);
        assert_eq!(kernel.seal_in_place(nonce, aad, used, data.len(), extra), Ok(total));
        self.assert_written(&sealed, &expected);

        let mut opened = self.buffer(plain.len());
        let used = self.used(&mut opened, plain.len());
        assert_eq!(kernel.open(nonce, aad, &expected, used), Ok(plain.len()));
        self.assert_written(&opened, &plain);
        let used = self.used(&mut sealed, total);
        assert_eq!(kernel.open_in_place(nonce, aad, used), Ok(plain.len()));
        let tag = &expected[plain.len()..];
        self.assert_written(&sealed, &[&plain[..], tag].concat());
        self.check_forgery(kernel, expected.clone());
        expected
    }

    /// Opens a message of which one bit was changed.
    fn check_forgery(&self, kernel: &AeadKey, mut sealed: Vec<u8>) {
        let (mut nonce, mut aad) = (self.nonce, self.aad.clone());
        let (byte, bit) = (self.forged / 8, 1 << (self.forged % 8));
        match byte % 16 {
            0 => nonce[byte / 16 % 12] ^= bit,
            1 if !aad.is_empty() => {
                let at = byte / 16 % aad.len();
                aad[at] ^= bit;
            }
            // The tag.
            2..=5 => {
                let at = sealed.len() - 1 - byte % TAG_LEN;
                sealed[at] ^= bit;
            }
            _ => {
                let at = byte % sealed.len();
                sealed[at] ^= bit;
            }
        }
        let len = sealed.len() - TAG_LEN;
        let mut opened = self.buffer(len);
        let used = self.used(&mut opened, len);
        assert_eq!(kernel.open(&nonce, &aad, &sealed, used), Err(CryptoError::Rejected));
        self.assert_written(&opened, &vec![0; len]);
        let rejected = kernel.open_in_place(&nonce, &aad, &mut sealed);
        assert_eq!(rejected, Err(CryptoError::Rejected));
        assert!(sealed[..len].iter().all(|byte| *byte == 0));
    }

    /// A buffer with unused bytes on both sides.
    fn buffer(&self, len: usize) -> Vec<u8> {
        vec![UNUSED; self.shift + len + GUARD]
    }

    fn used<'a>(&self, buffer: &'a mut [u8], len: usize) -> &'a mut [u8] {
        &mut buffer[self.shift..][..len]
    }

    /// Checks what was written, and that nothing else was.
    fn assert_written(&self, buffer: &[u8], expected: &[u8]) {
        let (before, rest) = buffer.split_at(self.shift);
        let (written, after) = rest.split_at(expected.len());
        assert!(written == expected, "{} bytes of data", self.data.len());
        assert!(before.iter().chain(after).all(|byte| *byte == UNUSED));
    }
}

const UNUSED: u8 = 0xee;
const GUARD: usize = 80;

/// Bytes of a fixed number: see [`fill`].
fn pattern<const LEN: usize>(script: &mut Script<'_>) -> [u8; LEN] {
    let mut bytes = [0; LEN];
    fill(script, &mut bytes);
    bytes
}

/// Fills a big-endian number or a text: with bytes of the input, with runs of equal bytes, with
/// bytes that look random, or with a power of two plus or minus a small number.
fn fill(script: &mut Script<'_>, bytes: &mut [u8]) {
    match script.byte().unwrap_or_default() {
        kind @ 0..64 => {
            let given = script.take(bytes.len());
            bytes[..given.len()].copy_from_slice(given);
            bytes[given.len()..].fill(kind.wrapping_neg());
        }
        kind @ 64..128 => {
            let mut rest = bytes;
            while !rest.is_empty() {
                let Some(len) = script.byte() else { break };
                let len = (1 + usize::from(len)).min(rest.len());
                let (run, others) = rest.split_at_mut(len);
                run.fill(script.byte().unwrap_or(kind));
                rest = others;
            }
        }
        kind @ 128..192 => {
            let mut state = u64::from(kind) << 32 | script.number().unwrap_or_default() as u64;
            for byte in bytes {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                *byte = state.to_le_bytes()[4];
            }
        }
        kind => {
            let bit = script.number().unwrap_or_default() % (8 * bytes.len()).max(1);
            let small = script.byte().unwrap_or_default();
            let minus = kind & 1 == 1;
            let Some((last, _)) = bytes.split_last_mut() else { return };
            // Below the power all bits are ones, and above the number is zero.
            *last = if minus { !small } else { small };
            let high = bytes.len() - 1 - bit / 8;
            if minus {
                bytes[high + 1..].iter_mut().rev().skip(1).for_each(|byte| *byte = 0xff);
                bytes[high] |= (1 << (bit % 8)) - 1;
            } else {
                bytes[high] |= 1 << (bit % 8);
            }
        }
    }
}
