//! Texts for people, written to memory of the caller.

use core::ffi::c_char;

use super::Result;
use super::pointers::Memory;

/// Writes `text` and a terminating NUL to memory of the caller, shortened if it does not fit.
/// Returns the length of the whole text without the NUL. With NULL or no room, it only returns the
/// length.
///
/// # Safety
/// The caller's duty for `out` and `room`.
pub(crate) unsafe fn write(text: &str, out: *mut c_char, room: usize) -> Result<usize> {
    if !out.is_null() && room > 0 {
        // SAFETY: as this function's contract. The caller has no pointer to the text.
        let out = unsafe { Memory::new(out.cast_const().cast(), room)?.write() };
        let most = text.len().min(room - 1);
        let fits = (0..=most).rev().find(|length| text.is_char_boundary(*length)).unwrap_or(0);
        let shown = &text[..fits];
        out[..shown.len()].copy_from_slice(shown.as_bytes());
        out[shown.len()] = 0;
    }
    Ok(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_shortened_at_a_character() {
        for (room, shown) in [(1, ""), (2, "a"), (3, "a"), (4, "aé"), (6, "aéb"), (9, "aéb")] {
            let mut out = [0x55; 9];
            // SAFETY: the array has at least as much room.
            let length = unsafe { write("aéb", out.as_mut_ptr().cast(), room) };
            assert_eq!(length, Ok(4), "{room}");
            let end = out.iter().position(|byte| *byte == 0).unwrap();
            assert_eq!(std::str::from_utf8(&out[..end]), Ok(shown), "{room}");
        }
        // SAFETY: NULL is not written to.
        assert_eq!(unsafe { write("abc", core::ptr::null_mut(), 5) }, Ok(3));
    }
}
