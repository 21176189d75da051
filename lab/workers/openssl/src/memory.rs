//! The transport of openssl-bench: memory BIOs, of which the one to read from is made anew for each flight.
//!
//! A flight is read from the sender's BIO into an array of 256 KiB, cleared each time, and appended to what the
//! receiver has not read yet. Used in published accounting only, where all that is timed. Shared with the
//! worker for BoringSSL, by `crate::ffi`.
//! Must not know: TLS. Next: `transport.rs`, the one of neutral accounting.

use std::ffi::{c_int, c_long, c_void};
use std::ptr;

use lab_scenario::Result;

use crate::ffi;

/// What is moved at once.
const BUFFER: usize = 256 << 10;

/// A connection's memory BIOs.
pub(crate) struct Memory {
    ssl: *mut ffi::SSL,
    /// Both are the connection's, which frees them.
    reads_from: *mut ffi::BIO,
    writes_to: *mut ffi::BIO,
    /// What `reads_from` reads.
    received: Vec<u8>,
}

impl Memory {
    /// Gives BIOs to a connection, which has to be gone before this is dropped.
    pub(crate) fn new(ssl: *mut ffi::SSL) -> Result<Self> {
        // SAFETY: the connection is alive, and takes the BIO.
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

    /// Takes bytes from the transport, all of them.
    pub(crate) fn deliver(&mut self, bytes: &[u8]) -> Result<usize> {
        let mut unread: *mut c_void = ptr::null_mut();
        // SAFETY: the BIO is the connection's; the control writes a pointer and returns how much is not read.
        let left =
            unsafe { ffi::BIO_ctrl(self.reads_from, CTRL_INFO, 0, (&raw mut unread).cast()) };
        let read = self.received.len().saturating_sub(usize::try_from(left)?);
        self.received.drain(..read);
        self.received.extend_from_slice(bytes);
        self.install()?;
        Ok(bytes.len())
    }

    /// Appends what is to be sent.
    #[inline(never)]
    pub(crate) fn collect(&mut self, wire: &mut Vec<u8>) -> Result<()> {
        let mut buffer = [0_u8; BUFFER];
        let room = c_int::try_from(buffer.len())?;
        loop {
            // SAFETY: the BIO is the connection's, and the buffer has the length that is told.
            let count = unsafe { ffi::BIO_read(self.writes_to, buffer.as_mut_ptr().cast(), room) };
            match usize::try_from(count) {
                Ok(count @ 1..) => wire.extend_from_slice(&buffer[..count]),
                _ => return Ok(()),
            }
        }
    }

    /// A new BIO over what was received. It takes the place of the one before, which is freed.
    fn install(&mut self) -> Result<()> {
        let length = self.received.len().try_into()?;
        // SAFETY: nothing is read from the BIO that is there, and may point to where bytes were; what was received
        // stays where it is while anything is read from the new one.
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

// Controls of <openssl/bio.h>, of the same number in both libraries.
const CTRL_INFO: c_int = 3;
const SET_MEM_EOF_RETURN: c_int = 130;
/// At its end, a BIO of memory says that more may come.
const RETRY: c_long = -1;
