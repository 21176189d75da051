//! The transport of openssl-bench: memory BIOs. The BIO for reading is created again for each
//! flight.
//!
//! A flight is read from the sender's BIO into an array of 256 KiB, which is cleared each time, and
//! appended to the receiver's unread data. Used in published accounting only, where all of that is
//! timed. Shared with the worker for BoringSSL through `crate::ffi`.

use std::ffi::{c_int, c_long, c_void};
use std::ptr;

use lab_scenario::Result;

use crate::ffi;

/// The transfer size.
const BUFFER: usize = 256 << 10;

/// The memory BIOs of a connection.
pub(crate) struct Memory {
    ssl: *mut ffi::SSL,
    /// The BIOs, which the connection owns.
    reads_from: *mut ffi::BIO,
    writes_to: *mut ffi::BIO,
    /// The data of `reads_from`.
    received: Vec<u8>,
}

impl Memory {
    /// Sets the BIOs of a connection, which must be freed before this value is dropped.
    pub(crate) fn new(ssl: *mut ffi::SSL) -> Result<Self> {
        // SAFETY: the connection is valid and takes ownership of the BIO.
        let writes_to = unsafe {
            let bio = ffi::BIO_new(ffi::BIO_s_mem());
            if bio.is_null() {
                return Err("no memory for a BIO".into());
            }
            ffi::SSL_set0_wbio(ssl, bio);
            bio
        };
        let mut memory = Self { ssl, reads_from: ptr::null_mut(), writes_to, received: Vec::new() };
        memory.install()?;
        Ok(memory)
    }

    /// Takes all bytes from the transport.
    pub(crate) fn deliver(&mut self, bytes: &[u8]) -> Result<usize> {
        let mut unread: *mut c_void = ptr::null_mut();
        // SAFETY: the BIO belongs to the connection; the control writes a pointer and returns the
        // unread length.
        let left =
            unsafe { ffi::BIO_ctrl(self.reads_from, CTRL_INFO, 0, (&raw mut unread).cast()) };
        let read = self.received.len().saturating_sub(usize::try_from(left)?);
        self.received.drain(..read);
        self.received.extend_from_slice(bytes);
        self.install()?;
        Ok(bytes.len())
    }

    /// Appends bytes for the transport.
    #[inline(never)]
    pub(crate) fn collect(&mut self, wire: &mut Vec<u8>) -> Result<()> {
        let mut buffer = [0_u8; BUFFER];
        let room = c_int::try_from(buffer.len())?;
        loop {
            // SAFETY: the BIO belongs to the connection, and the buffer has the given length.
            let count = unsafe { ffi::BIO_read(self.writes_to, buffer.as_mut_ptr().cast(), room) };
            match usize::try_from(count) {
                Ok(count @ 1..) => wire.extend_from_slice(&buffer[..count]),
                _ => return Ok(()),
            }
        }
    }

    /// Replaces the BIO for reading by a new BIO over the received data. The old BIO is freed.
    fn install(&mut self) -> Result<()> {
        let length = self.received.len().try_into()?;
        // SAFETY: the old BIO, whose data may be gone, is not read any more. The received data does
        // not move while the new BIO is in use.
        unsafe {
            let bio = ffi::BIO_new_mem_buf(self.received.as_ptr().cast(), length);
            if bio.is_null() {
                return Err("no memory for a BIO".into());
            }
            ffi::BIO_ctrl(bio, SET_MEM_EOF_RETURN, RETRY, ptr::null_mut());
            ffi::SSL_set0_rbio(self.ssl, bio);
            self.reads_from = bio;
        }
        Ok(())
    }
}

// Controls of <openssl/bio.h>, with equal numbers in both libraries.
const CTRL_INFO: c_int = 3;
const SET_MEM_EOF_RETURN: c_int = 130;
/// The result at the end of a memory BIO, which means that more data may come.
const RETRY: c_long = -1;
