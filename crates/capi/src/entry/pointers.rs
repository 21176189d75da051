//! The parameters of functions that are not handles: slices, and places for results.

use core::cell::Cell;
use core::ops::Range;
use core::{ptr, slice};

use super::Result;
use crate::status::codes::{
    TERCEL_MISUSE_INVALID_ARGUMENT, TERCEL_MISUSE_NULL_POINTER, TERCEL_MISUSE_OVERLAP,
    TERCEL_MISUSE_ZERO_LENGTH,
};

/// Returns the elements that a caller passes, at least one.
///
/// # Safety
/// The caller's duty for `data` and `len`, for as long as the result is used.
pub(crate) unsafe fn slice<'a, T>(data: *const T, len: usize) -> Result<&'a [T]> {
    check_length::<T>(data, len)?;
    // SAFETY: the pointer is neither NULL nor misaligned, the length is below the maximum, and the
    // rest is the caller's duty.
    Ok(unsafe { slice::from_raw_parts(data, len) })
}

/// Returns the elements that a caller passes, or an empty slice for a length of zero.
///
/// # Safety
/// The caller's duty for `data` and `len`, for as long as the result is used.
pub(crate) unsafe fn slice_or_empty<'a, T>(data: *const T, len: usize) -> Result<&'a [T]> {
    if len == 0 {
        return Ok(&[]);
    }
    // SAFETY: as this function's contract.
    unsafe { slice(data, len) }
}

/// Memory whose addresses are known, and to which no reference exists yet.
///
/// Functions that write to memory of a handle or of the caller refuse arguments that overlap it,
/// with [`separate`], before they make references.
#[derive(Clone, Copy)]
pub(crate) struct Memory {
    data: *const u8,
    len: usize,
}

impl Memory {
    /// Memory that a caller passes, at least one byte.
    pub(crate) fn new(data: *const u8, len: usize) -> Result<Self> {
        check_length(data, len)?;
        Ok(Self { data, len })
    }

    /// Memory that a caller passes, or none for a length of zero.
    pub(crate) fn or_empty(data: *const u8, len: usize) -> Result<Self> {
        if len == 0 { Ok(Self::of(&[])) } else { Self::new(data, len) }
    }

    /// The memory of a slice.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self::range(bytes.as_ptr_range())
    }

    /// The memory of elements, for comparison only.
    pub(crate) fn elements<T>(elements: &[T]) -> Self {
        let Range { start, end } = elements.as_ptr_range();
        Self::range(start.cast()..end.cast())
    }

    /// The memory at these addresses, for comparison only.
    pub(crate) fn range(range: Range<*const u8>) -> Self {
        Self { data: range.start, len: range.end.addr().saturating_sub(range.start.addr()) }
    }

    /// Fails if memory that is written overlaps other memory.
    pub(crate) fn separate(written: &[Self], read: &[Self]) -> Result<()> {
        for (at, one) in written.iter().enumerate() {
            let others = written[at + 1..].iter().chain(read);
            if others.copied().any(|other| one.overlaps(other)) {
                return Err(TERCEL_MISUSE_OVERLAP);
            }
        }
        Ok(())
    }

    fn overlaps(self, other: Self) -> bool {
        let (one, two) = (self.data.addr(), other.data.addr());
        let (one_end, two_end) = (one.saturating_add(self.len), two.saturating_add(other.len));
        self.len > 0 && other.len > 0 && one < two_end && two < one_end
    }

    /// Returns the bytes.
    ///
    /// # Safety The memory is that of `new` or `or_empty`, and nothing writes to it while the
    /// result is used: [`Self::separate`] was called if this function writes. The rest is the
    /// caller's duty.
    pub(crate) unsafe fn read<'a>(self) -> &'a [u8] {
        // SAFETY: the pointer is not NULL, the length is below the maximum, and the rest is this
        // function's contract.
        unsafe { slice::from_raw_parts(self.data, self.len) }
    }

    /// Returns the memory for output.
    ///
    /// # Safety The memory is that of `new` with a pointer to memory that may be written, and
    /// nothing else uses it while the result is used: [`Self::separate`] was called. The rest is
    /// the caller's duty.
    pub(crate) unsafe fn write<'a>(self) -> &'a mut [u8] {
        // SAFETY: the pointer is not NULL, the length is below the maximum, and the rest is this
        // function's contract. Every value of the memory is a valid `u8`.
        unsafe { slice::from_raw_parts_mut(self.data.cast_mut(), self.len) }
    }
}

fn check_length<T>(data: *const T, len: usize) -> Result<()> {
    if data.is_null() {
        return Err(TERCEL_MISUSE_NULL_POINTER);
    }
    if len == 0 {
        return Err(TERCEL_MISUSE_ZERO_LENGTH);
    }
    let most = isize::MAX.unsigned_abs() / size_of::<T>().max(1);
    if len > most || !data.is_aligned() {
        return Err(TERCEL_MISUSE_INVALID_ARGUMENT);
    }
    Ok(())
}

/// Runs the body of a function that returns a pointer, NULL after an error.
pub(crate) fn or_null<T>(body: impl FnOnce() -> Result<*mut T>) -> *mut T {
    let mut pointer = ptr::null_mut();
    _ = super::entry(|| {
        pointer = body()?;
        Ok(())
    });
    pointer
}

/// A place for a result, which is written when it is dropped: until then, the memory may be that of
/// another argument, and [`separate`] finds out.
pub(crate) struct Place<T: Copy> {
    place: *mut T,
    value: T,
    is_left: Cell<bool>,
}

impl<T: Copy> Place<T> {
    /// Checks a pointer for a result, which is `initial` if the function fails.
    ///
    /// # Safety
    /// The caller's duty for `place`, until the result is dropped.
    pub(crate) unsafe fn new(place: *mut T, initial: T) -> Result<Self> {
        if place.is_null() {
            return Err(TERCEL_MISUSE_NULL_POINTER);
        }
        if !place.is_aligned() {
            return Err(TERCEL_MISUSE_INVALID_ARGUMENT);
        }
        Ok(Self { place, value: initial, is_left: Cell::new(false) })
    }

    pub(crate) fn set(&mut self, value: T) {
        self.value = value;
    }

    /// Fails if the place overlaps an argument, and is then left as it is.
    pub(crate) fn separate(&self, read: &[Memory]) -> Result<()> {
        separate(&[self], &[], read)
    }
}

impl<T: Copy> Drop for Place<T> {
    fn drop(&mut self) {
        if !self.is_left.get() {
            // SAFETY: `new` checked that the pointer is neither NULL nor misaligned, and its
            // contract says that it refers to a variable.
            unsafe { self.place.write(self.value) }
        }
    }
}

/// A place of any type.
pub(crate) trait Unwritten {
    /// The memory of the variable.
    fn memory(&self) -> Memory;

    /// Leaves the variable as it is.
    fn leave(&self);
}

impl<T: Copy> Unwritten for Place<T> {
    fn memory(&self) -> Memory {
        Memory { data: self.place.cast_const().cast(), len: size_of::<T>() }
    }

    fn leave(&self) {
        self.is_left.set(true);
    }
}

/// Fails if a place or other memory that is written overlaps another argument. The places are then
/// left as they are.
pub(crate) fn separate(
    places: &[&dyn Unwritten],
    written: &[Memory],
    read: &[Memory],
) -> Result<()> {
    let overlaps_others = |(at, place): (usize, &&dyn Unwritten)| {
        let place = place.memory();
        places[at + 1..].iter().any(|other| place.overlaps(other.memory()))
            || written.iter().chain(read).any(|other| place.overlaps(*other))
    };
    let mut result = Memory::separate(written, read);
    if places.iter().enumerate().any(overlaps_others) {
        result = Err(TERCEL_MISUSE_OVERLAP);
    }
    if result.is_err() {
        for place in places {
            place.leave();
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_zero_and_impossible_lengths_are_errors() {
        let byte = 7_u8;
        let code = [1_u16; 2];
        // SAFETY: only the last call makes a slice, of a variable that lives long enough.
        unsafe {
            assert_eq!(slice::<u8>(ptr::null(), 1), Err(TERCEL_MISUSE_NULL_POINTER));
            assert_eq!(slice(&raw const byte, 0), Err(TERCEL_MISUSE_ZERO_LENGTH));
            assert_eq!(slice(&raw const byte, usize::MAX), Err(TERCEL_MISUSE_INVALID_ARGUMENT));
            let odd = (&raw const code).cast::<u8>().add(1).cast::<u16>();
            assert_eq!(slice(odd, 1), Err(TERCEL_MISUSE_INVALID_ARGUMENT));
            assert_eq!(slice_or_empty::<u8>(ptr::null(), 0), Ok(&[][..]));
            assert_eq!(slice_or_empty::<u8>(ptr::null(), 1), Err(TERCEL_MISUSE_NULL_POINTER));
            assert_eq!(slice(&raw const byte, 1), Ok(&[7][..]));
        }
    }

    #[test]
    fn written_memory_overlaps_no_other() {
        let bytes = [0; 10];
        let part = |range: Range<usize>| Memory::of(&bytes[range]);
        let check = |written: &[Memory], read: &[Memory]| Memory::separate(written, read);
        assert_eq!(check(&[part(0..5)], &[part(5..10), part(6..7)]), Ok(()));
        assert_eq!(check(&[part(0..6)], &[part(5..10)]), Err(TERCEL_MISUSE_OVERLAP));
        assert_eq!(check(&[part(5..10)], &[part(0..6)]), Err(TERCEL_MISUSE_OVERLAP));
        assert_eq!(check(&[part(0..10)], &[part(3..4)]), Err(TERCEL_MISUSE_OVERLAP));
        assert_eq!(check(&[part(3..4)], &[part(0..10)]), Err(TERCEL_MISUSE_OVERLAP));
        // Two parts that are written; two that are read.
        assert_eq!(check(&[part(0..1), part(2..9), part(8..10)], &[]), Err(TERCEL_MISUSE_OVERLAP));
        assert_eq!(check(&[part(0..1)], &[part(2..9), part(8..10)]), Ok(()));
        // Empty memory overlaps nothing.
        assert_eq!(check(&[part(0..10)], &[part(3..3)]), Ok(()));
        let mut number = 0_u64;
        // SAFETY: the variable lives longer than the place.
        let place = unsafe { Place::new(&raw mut number, 0) }.unwrap();
        assert_eq!(place.memory().len, 8);
    }

    #[test]
    fn a_place_gets_its_last_value_at_the_end() {
        let mut value = 1_usize;
        // SAFETY: NULL is not written to.
        assert!(unsafe { Place::new(ptr::null_mut(), 0_usize) }.is_err());
        for (set, result) in [(None, 2), (Some(3), 3)] {
            // SAFETY: the variable lives longer than the place.
            let mut place = unsafe { Place::new(&raw mut value, 2) }.unwrap();
            if let Some(set) = set {
                place.set(set);
            }
            drop(place);
            assert_eq!(value, result);
        }
    }

    #[test]
    fn a_place_that_overlaps_an_argument_is_left_as_it_is() {
        let mut values = [7_u64; 2];
        let read = Memory::elements(&values);
        let first = values.as_mut_ptr();
        let mut other = 7_u64;
        // SAFETY: the variables live longer than the places.
        unsafe {
            let place = Place::new(first.add(1), 0).unwrap();
            let last = Place::new(&raw mut other, 0).unwrap();
            assert_eq!(separate(&[&last, &place], &[], &[read]), Err(TERCEL_MISUSE_OVERLAP));
            drop((place, last));
            let (place, same) = (Place::new(first, 0).unwrap(), Place::new(first, 0).unwrap());
            assert_eq!(separate(&[&place, &same], &[], &[]), Err(TERCEL_MISUSE_OVERLAP));
            drop((place, same));
            assert_eq!((first.read(), first.add(1).read(), other), (7, 7, 7));
            let place = Place::new(first, 0).unwrap();
            assert_eq!(place.separate(&[Memory::of(&[1])]), Ok(()));
            drop(place);
            assert_eq!(first.read(), 0);
        }
    }
}
