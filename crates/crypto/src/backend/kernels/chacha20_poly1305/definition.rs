//! The AEAD as RFC 8439 defines it, for comparison: ChaCha20 on an array of words, Poly1305 on
//! numbers of any size.

/// ChaCha20's block function. RFC 8439 2.3
#[cfg(test)]
pub(super) fn block(key: &[u8; 32], counter: u32, nonce: &[u8; 12]) -> [u8; 64] {
    let mut start =
        [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let counter = counter.to_le_bytes();
    let words = key.chunks(4).chain([&counter[..]]).chain(nonce.chunks(4));
    for (place, bytes) in start[4..].iter_mut().zip(words) {
        *place = u32::from_le_bytes(bytes.try_into().unwrap());
    }
    let mut state = start;
    for _ in 0..10 {
        for at in 0..4 {
            quarter_round(&mut state, [at, at + 4, at + 8, at + 12]);
        }
        for at in 0..4 {
            quarter_round(&mut state, [at, (at + 1) % 4 + 4, (at + 2) % 4 + 8, (at + 3) % 4 + 12]);
        }
    }
    let mut out = [0; 64];
    for ((bytes, word), start) in out.chunks_mut(4).zip(state).zip(start) {
        bytes.copy_from_slice(&word.wrapping_add(start).to_le_bytes());
    }
    out
}

/// RFC 8439 2.1
#[cfg(test)]
fn quarter_round(state: &mut [u32; 16], [a, b, c, d]: [usize; 4]) {
    for (rotation_of_d, rotation_of_b) in [(16, 12), (8, 7)] {
        state[a] = state[a].wrapping_add(state[b]);
        state[d] = (state[d] ^ state[a]).rotate_left(rotation_of_d);
        state[c] = state[c].wrapping_add(state[d]);
        state[b] = (state[b] ^ state[c]).rotate_left(rotation_of_b);
    }
}

/// Poly1305. RFC 8439 2.5
pub(super) fn poly1305(key: &[u8; 32], message: &[u8]) -> [u8; 16] {
    let mut r = [0; 16];
    r.copy_from_slice(&key[..16]);
    for at in [3, 7, 11, 15] {
        r[at] &= 15;
    }
    for at in [4, 8, 12] {
        r[at] &= 252;
    }
    let r = Number::from_bytes(&r);
    let mut sum = Number([0; 9]);
    for part in message.chunks(16) {
        let mut block = part.to_vec();
        block.push(1);
        sum = sum.add(&Number::from_bytes(&block)).multiply(&r).modulo_prime();
    }
    let sum = sum.add(&Number::from_bytes(&key[16..]));
    core::array::from_fn(|at| (sum.0[at / 4] >> (8 * (at % 4))) as u8)
}

/// A number of 288 bits, least significant word first.
#[derive(Clone, Copy)]
struct Number([u32; 9]);

impl Number {
    fn from_bytes(bytes: &[u8]) -> Self {
        let mut words = [0; 9];
        for (at, byte) in bytes.iter().enumerate() {
            words[at / 4] |= u32::from(*byte) << (8 * (at % 4));
        }
        Self(words)
    }

    fn add(&self, other: &Self) -> Self {
        let mut carry = 0;
        Self(core::array::from_fn(|at| {
            let sum = u64::from(self.0[at]) + u64::from(other.0[at]) + carry;
            carry = sum >> 32;
            sum as u32
        }))
    }

    fn multiply(&self, other: &Self) -> Self {
        let mut product = [0; 9];
        for (i, a) in self.0.into_iter().enumerate() {
            let mut carry = 0;
            for (j, b) in other.0.into_iter().enumerate().take(9 - i) {
                let sum = u64::from(a) * u64::from(b) + u64::from(product[i + j]) + carry;
                product[i + j] = sum as u32;
                carry = sum >> 32;
            }
            assert_eq!(carry, 0, "the product has more than 288 bits");
        }
        Self(product)
    }

    /// The remainder of the division by 2^130 - 5, bit by bit.
    fn modulo_prime(&self) -> Self {
        // The negative of the prime, modulo 2^288.
        let mut negative = [!0; 9];
        (negative[0], negative[1], negative[2], negative[3]) = (5, 0, 0, 0);
        negative[4] = !3;
        let negative = Self(negative);
        let mut rest = Self([0; 9]);
        for bit in (0..288).rev() {
            rest = rest.add(&rest);
            rest.0[0] |= self.0[bit / 32] >> (bit % 32) & 1;
            // The difference is negative if its highest bit is set.
            let difference = rest.add(&negative);
            if difference.0[8] >> 31 == 0 {
                rest = difference;
            }
        }
        rest
    }
}

/// The ciphertext and the tag. RFC 8439 2.8
#[cfg(test)]
pub(super) fn seal(key: &[u8; 32], nonce: &[u8; 12], aad: &[u8], plaintext: &[u8]) -> Vec<u8> {
    let mut sealed = plaintext.to_vec();
    for (counter, part) in (1..).zip(sealed.chunks_mut(64)) {
        for (byte, stream) in part.iter_mut().zip(block(key, counter, nonce)) {
            *byte ^= stream;
        }
    }
    let one_time_key = block(key, 0, nonce);
    let mut message = Vec::new();
    for part in [aad, &sealed] {
        message.extend(part);
        message.resize(message.len().next_multiple_of(16), 0);
    }
    message.extend((aad.len() as u64).to_le_bytes());
    message.extend((plaintext.len() as u64).to_le_bytes());
    sealed.extend(poly1305(one_time_key.first_chunk().unwrap(), &message));
    sealed
}
