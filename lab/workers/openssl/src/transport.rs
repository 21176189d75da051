//! The transport of a connection: a BIO of our own over buffers of fixed size that outlive connections.
//!
//! OpenSSL and what came of it ask for bytes, and hand them over, from within their calls. That copy stands
//! for a system call, so it is not timed where it lasts longer than reading the clock does. Shared with the
//! worker for BoringSSL, by `crate::ffi`.
//! Must not know: TLS. Next: `main.rs`.

use std::ffi::{c_char, c_int, c_long, c_void};
use std::ptr;
use std::sync::LazyLock;

use lab_scenario::{Result, untimed};

use crate::ffi;

/// Shorter copies take less time than reading the clock around them.
const WORTH_A_CLOCK: usize = 1 << 10;

/// What arrived and what is to be sent, for one connection at a time.
pub(crate) struct Wire {
    received: Vec<u8>,
    /// Of `received`, what has come and is not read yet.
    start: usize,
    end: usize,
    sent: Vec<u8>,
    /// How far `sent` is filled.
    written: usize,
}

impl Wire {
    /// Buffers for so many bytes each way.
    pub(crate) fn new(at_once: usize) -> Self {
        Self { received: vec![0; at_once], start: 0, end: 0, sent: vec![0; at_once], written: 0 }
    }

    /// Takes bytes from the transport, as far as there is room.
    pub(crate) fn deliver(&mut self, bytes: &[u8]) -> usize {
        self.received.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        let room = &mut self.received[self.end..];
        let count = room.len().min(bytes.len());
        room[..count].copy_from_slice(&bytes[..count]);
        self.end += count;
        count
    }

    /// Appends what is to be sent.
    pub(crate) fn collect(&mut self, wire: &mut Vec<u8>) {
        wire.extend_from_slice(&self.sent[..self.written]);
        self.written = 0;
    }

    /// Whether something has come that is not read yet.
    pub(crate) fn has_more(&self) -> bool {
        self.start < self.end
    }

    fn read(&mut self, into: &mut [u8]) -> usize {
        let count = into.len().min(self.end - self.start);
        into[..count].copy_from_slice(&self.received[self.start..self.start + count]);
        self.start += count;
        count
    }

    fn write(&mut self, bytes: &[u8]) -> Option<usize> {
        let end = self.written + bytes.len();
        self.sent.get_mut(self.written..end)?.copy_from_slice(bytes);
        self.written = end;
        Some(bytes.len())
    }
}

/// A BIO that reads from and writes to the [`Wire`] it was [lent](lend) last. Its owner has to free it.
pub(crate) fn new() -> Result<*mut ffi::BIO> {
    // SAFETY: the method is complete and lives as long as the process.
    let bio = unsafe { ffi::BIO_new(METHOD.0) };
    if bio.is_null() {
        return Err("no memory for a BIO".into());
    }
    // SAFETY: it was just made.
    unsafe { ffi::BIO_set_init(bio, 1) };
    Ok(bio)
}

/// Lends `wire` to `bio` for the time of `call`. Null is the BIO of a connection with a transport of its own.
pub(crate) fn lend<T>(bio: *mut ffi::BIO, wire: &mut Wire, call: impl FnOnce() -> T) -> T {
    if bio.is_null() {
        return call();
    }
    // SAFETY: callers hold the connection that owns the BIO. The borrow outlives `call`, after which the
    // pointer is gone.
    unsafe {
        ffi::BIO_set_data(bio, ptr::from_mut(wire).cast());
        let result = call();
        ffi::BIO_set_data(bio, ptr::null_mut());
        result
    }
}

struct Method(*mut ffi::BIO_METHOD);

// SAFETY: it is written once, before anyone else sees it.
unsafe impl Send for Method {}
// SAFETY: as above.
unsafe impl Sync for Method {}

static METHOD: LazyLock<Method> = LazyLock::new(|| {
    // SAFETY: the name is a C string; the callbacks have the types that are asked for. Should there be
    // no memory, the method is null, which all these functions take.
    unsafe {
        let method = ffi::BIO_meth_new(ffi::BIO_TYPE_NONE, c"wire".as_ptr());
        ffi::BIO_meth_set_read(method, Some(read));
        ffi::BIO_meth_set_write(method, Some(write));
        ffi::BIO_meth_set_ctrl(method, Some(control));
        Method(method)
    }
});

unsafe extern "C" fn read(bio: *mut ffi::BIO, into: *mut c_char, length: c_int) -> c_int {
    // SAFETY: the library's buffer has this length, and the data is null or what is lent at the moment.
    let (wire, into) = unsafe {
        ffi::BIO_clear_retry_flags(bio);
        let wire = ffi::BIO_get_data(bio).cast::<Wire>().as_mut();
        let length = usize::try_from(length).unwrap_or_default();
        (wire, std::slice::from_raw_parts_mut(into.cast::<u8>(), length))
    };
    let Some(wire) = wire else { return -1 };
    let count =
        if into.len() < WORTH_A_CLOCK { wire.read(into) } else { untimed(|| wire.read(into)) };
    if count == 0 {
        // SAFETY: it is the BIO that called.
        unsafe { ffi::BIO_set_retry_read(bio) };
        return -1;
    }
    c_int::try_from(count).unwrap_or(-1)
}

unsafe extern "C" fn write(bio: *mut ffi::BIO, from: *const c_char, length: c_int) -> c_int {
    // SAFETY: as in `read`.
    let (wire, from) = unsafe {
        ffi::BIO_clear_retry_flags(bio);
        let wire = ffi::BIO_get_data(bio).cast::<Wire>().as_mut();
        let length = usize::try_from(length).unwrap_or_default();
        (wire, std::slice::from_raw_parts(from.cast::<u8>(), length))
    };
    let Some(wire) = wire else { return -1 };
    let count =
        if from.len() < WORTH_A_CLOCK { wire.write(from) } else { untimed(|| wire.write(from)) };
    count.and_then(|count| c_int::try_from(count).ok()).unwrap_or(-1)
}

unsafe extern "C" fn control(
    _: *mut ffi::BIO,
    command: c_int,
    _: c_long,
    _: *mut c_void,
) -> c_long {
    // Nothing is held back, so there is nothing to flush.
    c_long::from(command == ffi::BIO_CTRL_FLUSH)
}
