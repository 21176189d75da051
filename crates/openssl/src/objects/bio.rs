//! BIOs: the transport of a connection, and files.

use core::ffi::{CStr, c_int};
use core::ptr;

use crate::sys::bio::{
    self, BIO, BIO_ctrl, BIO_find_type, BIO_free_all, BIO_get_retry_reason, BIO_int_ctrl,
    BIO_method_type, BIO_new, BIO_new_file, BIO_read, BIO_s_socket, BIO_test_flags, BIO_up_ref,
    BIO_write,
};

super::owned! {
    /// A BIO, or a chain of them.
    Bio, BIO, BIO_free_all, BIO_up_ref
}

/// The result of reading or writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transferred {
    /// As many bytes, at least one.
    Bytes(usize),
    /// The operation has to be repeated later.
    Retry,
    /// The end of the input.
    End,
    /// The BIO returned 0, but does not report the end of its input.
    Nothing,
    /// An error of the transport.
    Failed,
}

impl Bio {
    /// A BIO for a socket, which it does not close.
    pub(crate) fn socket(descriptor: c_int) -> Option<Self> {
        // SAFETY: a new BIO is returned, or NULL; SET_FD takes a descriptor.
        unsafe {
            let bio = Self::from_raw(BIO_new(BIO_s_socket()))?;
            BIO_int_ctrl(bio.as_ptr(), bio::SET_FD, 0, descriptor);
            Some(bio)
        }
    }

    /// A BIO that reads a file. If it cannot be opened, an error is in the queue.
    pub(crate) fn file(name: &CStr) -> Option<Self> {
        // SAFETY: both texts end with a NUL. A new BIO is returned, or NULL.
        unsafe { Self::from_raw(BIO_new_file(name.as_ptr(), c"r".as_ptr())) }
    }

    pub(crate) fn read(&self, to: &mut [u8]) -> Transferred {
        let length = c_int::try_from(to.len()).unwrap_or(c_int::MAX);
        // SAFETY: the BIO exists, and the buffer has at least `length` bytes.
        let count = unsafe { BIO_read(self.as_ptr(), to.as_mut_ptr().cast(), length) };
        match usize::try_from(count) {
            Ok(count @ 1..) => Transferred::Bytes(count.min(to.len())),
            _ if self.has_flags(bio::FLAG_SHOULD_RETRY) => Transferred::Retry,
            _ if self.is_at_end() => Transferred::End,
            Ok(_) => Transferred::Nothing,
            Err(_) => Transferred::Failed,
        }
    }

    pub(crate) fn write(&self, from: &[u8]) -> Transferred {
        let length = c_int::try_from(from.len()).unwrap_or(c_int::MAX);
        // SAFETY: the BIO exists, and the buffer has at least `length` bytes.
        let count = unsafe { BIO_write(self.as_ptr(), from.as_ptr().cast(), length) };
        match usize::try_from(count) {
            Ok(count @ 1..) => Transferred::Bytes(count.min(from.len())),
            _ if self.has_flags(bio::FLAG_SHOULD_RETRY) => Transferred::Retry,
            _ => Transferred::Failed,
        }
    }

    /// Flushes a BIO that buffers. Whether it is done, or has to be repeated.
    pub(crate) fn flush(&self) -> Transferred {
        // SAFETY: the BIO exists; the command has no arguments.
        let result = unsafe { BIO_ctrl(self.as_ptr(), bio::CTRL_FLUSH, 0, ptr::null_mut()) };
        match result {
            1.. => Transferred::Bytes(1),
            _ if self.has_flags(bio::FLAG_SHOULD_RETRY) => Transferred::Retry,
            _ => Transferred::Failed,
        }
    }

    fn is_at_end(&self) -> bool {
        // SAFETY: the BIO exists; the command has no arguments.
        unsafe { BIO_ctrl(self.as_ptr(), bio::CTRL_EOF, 0, ptr::null_mut()) == 1 }
    }

    pub(crate) fn has_flags(&self, flags: c_int) -> bool {
        // SAFETY: the BIO exists.
        unsafe { BIO_test_flags(self.as_ptr(), flags) != 0 }
    }

    /// Marks the BIO as one from which has to be read again.
    pub(crate) fn set_retry_read(&self) {
        const ALL: c_int =
            bio::FLAG_READ | bio::FLAG_WRITE | bio::FLAG_IO_SPECIAL | bio::FLAG_SHOULD_RETRY;
        // SAFETY: the BIO exists.
        unsafe {
            bio::BIO_clear_flags(self.as_ptr(), ALL);
            bio::BIO_set_flags(self.as_ptr(), bio::FLAG_READ | bio::FLAG_SHOULD_RETRY);
        }
    }

    pub(crate) fn retry_reason(&self) -> c_int {
        // SAFETY: the BIO exists.
        unsafe { BIO_get_retry_reason(self.as_ptr()) }
    }

    /// The descriptor of the first BIO of the chain that has one; -1 if none has.
    pub(crate) fn descriptor(&self) -> c_int {
        // SAFETY: the BIO exists, and so do the others of its chain.
        unsafe {
            let found = BIO_find_type(self.as_ptr(), bio::TYPE_DESCRIPTOR);
            if found.is_null() {
                return -1;
            }
            let descriptor = BIO_ctrl(found, bio::GET_FD, 0, ptr::null_mut());
            c_int::try_from(descriptor).unwrap_or(-1)
        }
    }

    /// Whether this is a BIO of libcrypto for the socket with this descriptor.
    pub(crate) fn is_socket(&self, descriptor: c_int) -> bool {
        // SAFETY: the BIO exists.
        let kind = unsafe { BIO_method_type(self.as_ptr()) };
        kind == bio::TYPE_SOCKET && self.descriptor() == descriptor
    }
}
