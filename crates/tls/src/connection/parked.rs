//! Parking of idle connections: frees expanded keys and buffers.
//!
//! The secrets stay, and the next record derives the key from them again. The peer does not notice.

use super::Connection;
use super::link::KeyCell;
use super::receiver::Receiver;
use super::sender::Sender;
use crate::error::{Error, InternalError};
use crate::record::protection::Protection;

impl Connection {
    /// Frees the memory that an idle connection does not need. See [`Sender::park`] and
    /// [`Receiver::park`].
    pub fn park(&mut self) {
        self.sender.park();
        self.receiver.park();
    }
}

impl Sender {
    /// Frees the expanded key, about 560 bytes. The next record derives it again.
    pub fn park(&mut self) {
        park(self.sealer.protection_mut());
    }

    /// Derives the key again if the sender is parked.
    #[inline]
    pub(super) fn wake(&mut self) -> Result<(), Error> {
        wake(self.sealer.protection_mut(), || derive_protection(&self.keys))
    }
}

impl Receiver {
    /// Frees the expanded key, about 560 bytes, and unused buffer memory. The next record derives
    /// the key again. A partially received message is kept.
    ///
    /// For the caller's buffer of received bytes see [`crate::ReceiveBuffer::release`].
    pub fn park(&mut self) {
        park(self.opener.protection_mut());
        self.post_handshake.joiner.release();
    }

    /// Derives the key again if the receiver is parked.
    #[inline]
    pub(super) fn wake(&mut self) -> Result<(), Error> {
        wake(self.opener.protection_mut(), || derive_protection(&self.post_handshake.keys))
            .map_err(|error| self.fail(error))
    }
}

fn park(protection: Option<&mut Protection>) {
    if let Some(protection) = protection {
        protection.park();
    }
}

#[inline]
fn wake(
    protection: Option<&mut Protection>,
    derive: impl FnOnce() -> Result<Protection, Error>,
) -> Result<(), Error> {
    match protection {
        Some(protection) if protection.is_parked() => {
            protection.wake(derive()?);
            Ok(())
        }
        _ => Ok(()),
    }
}

#[cold]
fn derive_protection<const WRITES: bool>(keys: &KeyCell<WRITES>) -> Result<Protection, Error> {
    // A parked key has its secret here.
    keys.get().as_ref().ok_or(InternalError::Failed)?.protection()
}
