//! Finished: authenticates the transcript of the handshake. RFC 9846 4.5.3, RFC 5246 7.4.9
//!
//! The length of verify_data depends on the cipher suite. The caller checks it when it compares
//! verify_data in constant time.

use super::message;
use crate::structure::{Rest, structure};

structure! {
    /// A Finished message.
    Finished {
        /// The whole body: twelve bytes in TLS 1.2, the length of a hash in TLS 1.3.
        verify_data: &'a [u8] as Rest,
    }
}
message! { Finished<'a> = FINISHED }
