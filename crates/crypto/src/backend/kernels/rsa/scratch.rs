//! Memory for the intermediate values of a private-key operation.

use core::ops::{Deref, DerefMut};

#[cfg(test)]
use super::exponentiation::FillTable;
use super::exponentiation::TABLE_LEN;
#[cfg(test)]
use super::montgomery::Modulus;
use super::number::Number;
#[cfg(test)]
use super::vector::Instructions;
use crate::backend::memory::{Word, wipe_words};

/// The intermediate values. Some have different uses in turn.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Scratch {
    pub(super) table: [Number; TABLE_LEN],
    pub(super) low: Number,
    pub(super) high: Number,
    pub(super) base: Number,
    pub(super) result: Number,
    pub(super) other: Number,
}

// SAFETY: these are only integers without padding, for which zeros are valid.
unsafe impl Word for Scratch {}

/// The values in a box, wiped on drop.
pub(super) struct ScratchBox(Box<Scratch>);

impl ScratchBox {
    pub(super) fn new() -> Self {
        let zero = Number::ZERO;
        Self(Box::new(Scratch {
            table: [zero; TABLE_LEN],
            low: zero,
            high: zero,
            base: zero,
            result: zero,
            other: zero,
        }))
    }
}

impl Drop for ScratchBox {
    fn drop(&mut self) {
        wipe_words(core::slice::from_mut(&mut *self.0));
    }
}

impl Deref for ScratchBox {
    type Target = Scratch;

    fn deref(&self) -> &Scratch {
        &self.0
    }
}

impl DerefMut for ScratchBox {
    fn deref_mut(&mut self) -> &mut Scratch {
        &mut self.0
    }
}

#[cfg(test)]
impl Scratch {
    /// Fills the table with the powers of any base.
    pub(super) fn fill_table(&mut self, run: impl Instructions, primes: &Modulus) {
        let Self { table, base, .. } = self;
        run.run(FillTable { primes, r_squared: base, base, table });
    }
}
