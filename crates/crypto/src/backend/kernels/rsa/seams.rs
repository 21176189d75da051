//! Test seams of the private-key operation: planted faults, which show that no wrong signature is
//! returned, and marks of what is public, for the check of constant time. Other builds have none.

use super::number::Number;

/// The intermediate values of a private-key operation, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The blinded block.
    Blinded,
    /// The base, modulo both primes.
    Base,
    /// One entry of the table of powers.
    Table,
    /// The powers modulo both primes.
    Power,
    /// The quotient of the Chinese remainder theorem.
    Quotient,
    /// The blinded result.
    Recombined,
    /// The result.
    Signature,
}

/// The entry of the table in which faults are planted.
pub(super) const TABLE_ENTRY: usize = 13;

/// Changes the number if the test of this thread has planted a fault at this place.
#[inline(always)]
pub(super) fn fault_at(place: Place, number: &mut Number) {
    #[cfg(test)]
    if let Some((planted, limb, bit)) = PLANTED.get()
        && planted == place
    {
        *number.limb_mut(limb) ^= 1 << bit;
    }
    let _ = (place, number);
}

/// States that a branch may depend on these bytes.
#[inline(always)]
pub(super) fn publish(bytes: &mut [u8]) {
    #[cfg(test)]
    if let Some(mark) = PUBLISH.get() {
        mark(bytes);
    }
    let _ = bytes;
}

#[cfg(test)]
thread_local! {
    /// The place of the fault, and the limb and its bit that change.
    pub(super) static PLANTED: core::cell::Cell<Option<(Place, usize, u32)>> =
        const { core::cell::Cell::new(None) };

    /// The function that marks bytes as public.
    pub(super) static PUBLISH: core::cell::Cell<Option<Mark>> =
        const { core::cell::Cell::new(None) };
}

#[cfg(test)]
type Mark = fn(&mut [u8]);
