//! Parking of idle connections: frees expanded keys and buffers.
//!
//! The secrets are kept, and the keys are derived from them again for the next record. Parking is
//! invisible to the peer.
//!
//! With the feature `fips`, the key of a TLS 1.3 sender with AES-GCM is kept, because the FIPS
//! module accepts a new key of records only from sequence number 0 on.

use super::Connection;
use super::link::KeyCell;
use super::receiver::Receiver;
use super::sender::Sender;
use crate::error::{Error, InternalError, Misuse};
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
    /// Frees the expanded key, about 560 bytes. The next record derives the key again.
    ///
    /// With the feature `fips` this has no effect in TLS 1.3 with AES-GCM: the FIPS module makes no
    /// key for records that begin in the middle of a connection.
    pub fn park(&mut self) {
        let protection = self.sealer.protection.as_mut();
        park(protection.filter(|protection| !protection.seals_from_zero()));
    }

    /// Refuses if the records of this sender can be continued only with the expanded key that it
    /// has.
    pub(super) fn check_movable(&self) -> Result<(), Error> {
        match &self.sealer.protection {
            Some(protection) if protection.seals_from_zero() => {
                Err(Misuse::BoundToFipsModule.into())
            }
            _ => Ok(()),
        }
    }

    /// Derives the key again if the sender is parked.
    #[inline]
    pub(super) fn wake(&mut self) -> Result<(), Error> {
        wake(self.sealer.protection.as_mut(), || derive_protection(&self.keys))
    }
}

impl Receiver {
    /// Frees the expanded key, about 560 bytes, and unused buffer memory. The next record derives
    /// the key again. A partially received message is kept.
    ///
    /// [`crate::ReceiveBuffer::release`] frees the memory of the caller's receive buffer.
    pub fn park(&mut self) {
        park(self.opener.protection.as_mut());
        self.post_handshake.joiner.release();
    }

    /// Derives the key again if the receiver is parked.
    #[inline]
    pub(super) fn wake(&mut self) -> Result<(), Error> {
        wake(self.opener.protection.as_mut(), || derive_protection(&self.post_handshake.keys))
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
    // The secret of a parked key is in the key cell.
    keys.get().as_ref().ok_or(InternalError::Failed)?.protection()
}
