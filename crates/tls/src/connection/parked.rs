//! Connections that wait for long: without keys that are expanded, and without buffers.
//!
//! What stays is what the key is made of; the next record makes it again. Nothing of it shows on the wire.
//! Must not know: how a key is made. Next: `keys/direction.rs`, `record/protection.rs`.

use super::Connection;
use super::link::KeyCell;
use super::receiver::Receiver;
use super::sender::Sender;
use crate::error::{Error, Local};
use crate::record::protection::Protection;

impl Connection {
    /// Lets go of the memory that both halves can do without while nothing is sent or received: see
    /// [`Sender::park`] and [`Receiver::park`].
    pub fn park(&mut self) {
        self.sender.park();
        self.receiver.park();
    }
}

impl Sender {
    /// Lets the expanded key go, some 560 bytes. The next record makes it again, at the price of one key
    /// derivation; nothing else changes.
    pub fn park(&mut self) {
        park(self.sealer.protection_mut());
    }

    /// The key is at hand afterwards.
    #[inline]
    pub(super) fn wake(&mut self) -> Result<(), Error> {
        wake(self.sealer.protection_mut(), || made_again(&self.keys))
    }
}

impl Receiver {
    /// Lets the expanded key go, some 560 bytes, and memory that no message waits in. The next record
    /// makes the key again; half a message stays where it is.
    ///
    /// The buffer of received bytes is the caller's: see [`crate::Received::release`].
    pub fn park(&mut self) {
        park(self.opener.protection_mut());
        self.post.joiner.release();
    }

    /// The key is at hand afterwards.
    #[inline]
    pub(super) fn wake(&mut self) -> Result<(), Error> {
        wake(self.opener.protection_mut(), || made_again(&self.post.keys))
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
    make_again: impl FnOnce() -> Result<Protection, Error>,
) -> Result<(), Error> {
    match protection {
        Some(protection) if protection.is_parked() => {
            protection.wake(make_again()?);
            Ok(())
        }
        _ => Ok(()),
    }
}

#[cold]
fn made_again<const WRITES: bool>(keys: &KeyCell<WRITES>) -> Result<Protection, Error> {
    // Where there is a key to let go, there is what it was made of.
    keys.get().as_ref().ok_or(Local::Failed)?.protection()
}
