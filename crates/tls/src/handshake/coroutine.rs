//! The whole runtime: a mailbox and a poll.
//!
//! A handshake is an `async fn` whose `.await` means "give control back to the caller". The caller
//! puts what it has into the mailbox, polls once, and takes out what the protocol text wants done.
//! There is no executor, no waker, and no other thread: the lock is never contended and is there only
//! because a future must be `Send` without `unsafe`.
//! Must not know: TLS. Next: [`super::flow`], the protocol's view of the mailbox.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tercel_crypto::Wiped;

/// Shared between a coroutine and the code that drives it.
pub(crate) struct Mailbox<M>(Arc<Mutex<M>>);

impl<M> Mailbox<M> {
    pub(crate) fn new(contents: M) -> Self {
        Self(Arc::new(Mutex::new(contents)))
    }

    pub(crate) fn share(&self) -> Self {
        Self(Arc::clone(&self.0))
    }

    /// Opens the mailbox. A panic in another holder cannot leave half a letter: contents stay usable.
    pub(crate) fn open(&self) -> MutexGuard<'_, M> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A sequence, or a part of one, in a box: made in its place, and wiped when it is dropped.
///
/// A future that is made first is copied to its place whole, and a handshake's 3 KB are nearly all room for what comes
/// later. It holds secrets, and what moving them left behind.
pub(crate) fn boxed<F>(begin: impl FnOnce() -> F) -> Pin<Box<Wiped<F>>> {
    let mut place = Box::into_pin(Box::<Wiped<F>>::default());
    place.as_mut().set(begin());
    place
}

/// A sequence that has not ended yet.
pub(crate) struct Coroutine<T> {
    sequence: Pin<Box<dyn Future<Output = T> + Send>>,
}

impl<T> Coroutine<T> {
    /// The sequence that `begin` makes.
    pub(crate) fn new<F>(begin: impl FnOnce() -> F) -> Self
    where
        F: Future<Output = T> + Send + 'static,
    {
        Self { sequence: boxed(begin) }
    }

    /// Runs up to the next wait, or to the end.
    pub(crate) fn resume(&mut self) -> Option<T> {
        match self.sequence.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => Some(value),
            Poll::Pending => None,
        }
    }
}
