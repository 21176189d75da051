//! The parameters of functions that are not handles: slices, and places for results.

use core::{ptr, slice};

use super::Result;
use crate::status::codes::{
    TERCEL_MISUSE_INVALID_ARGUMENT, TERCEL_MISUSE_NULL_POINTER, TERCEL_MISUSE_ZERO_LENGTH,
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

/// Returns the memory that a caller provides for output, at least one element.
///
/// # Safety
/// The caller's duty for `data` and `len`, for as long as the result is used.
pub(crate) unsafe fn slice_mut<'a>(data: *mut u8, len: usize) -> Result<&'a mut [u8]> {
    check_length(data.cast_const(), len)?;
    // SAFETY: the pointer is not NULL, the length is below the maximum, and the rest is the
    // caller's duty. Every value of the memory is a valid `u8`.
    Ok(unsafe { slice::from_raw_parts_mut(data, len) })
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

/// A place for a result.
pub(crate) struct Place<T>(*mut T);

impl<T> Place<T> {
    /// Checks a pointer for a result, and stores `initial` there, which remains if the function
    /// fails.
    ///
    /// # Safety
    /// The caller's duty for `place`, for as long as the result is used.
    pub(crate) unsafe fn new(place: *mut T, initial: T) -> Result<Self> {
        if place.is_null() {
            return Err(TERCEL_MISUSE_NULL_POINTER);
        }
        if !place.is_aligned() {
            return Err(TERCEL_MISUSE_INVALID_ARGUMENT);
        }
        let mut place = Self(place);
        place.set(initial);
        Ok(place)
    }

    pub(crate) fn set(&mut self, value: T) {
        // SAFETY: `new` checked that the pointer is neither NULL nor misaligned, and its contract
        // says that it refers to a variable. The values in places have no destructors.
        unsafe { self.0.write(value) }
    }
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
    fn a_place_has_its_initial_value_until_it_is_set() {
        let mut value = 1_usize;
        // SAFETY: the variable lives longer than the place.
        let mut place = unsafe { Place::new(&raw mut value, 2) }.unwrap();
        // SAFETY: NULL is not written to.
        assert!(unsafe { Place::new(ptr::null_mut(), 0_usize) }.is_err());
        place.set(3);
        assert_eq!(value, 3);
    }
}
