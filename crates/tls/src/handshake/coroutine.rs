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

/// A sequence that has not ended yet.
pub(crate) struct Coroutine<T> {
    sequence: Pin<Box<dyn Resume<T> + Send>>,
}

/// What a coroutine asks of its future.
trait Resume<T> {
    fn resume(self: Pin<&mut Self>) -> Option<T>;
}

impl<F: Future> Resume<F::Output> for Option<F> {
    fn resume(self: Pin<&mut Self>) -> Option<F::Output> {
        match self.as_pin_mut()?.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => Some(value),
            Poll::Pending => None,
        }
    }
}

impl<T> Coroutine<T> {
    /// The sequence that `begin` makes.
    ///
    /// It is made in its place. A future that is made first is copied there whole, and its 3 KB are nearly all
    /// room for what comes later; so would a `None` be that is not the default.
    pub(crate) fn new<F>(begin: impl FnOnce() -> F) -> Self
    where
        F: Future<Output = T> + Send + 'static,
    {
        let place: Box<Option<F>> = Box::default();
        let mut sequence = Box::into_pin(place);
        sequence.set(Some(begin()));
        Self { sequence }
    }

    /// Runs up to the next wait, or to the end.
    pub(crate) fn resume(&mut self) -> Option<T> {
        self.sequence.as_mut().resume()
    }
}
