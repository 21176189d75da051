//! Coroutines, which a driver polls, and the passing of the mailbox between coroutine and driver.
//!
//! A handshake is an `async fn` in which `.await` returns control to the driver. The driver puts
//! the input into the mailbox, passes the mailbox to the coroutine, polls the coroutine once, and
//! takes the mailbox back with the coroutine's output. There is no executor, no waker, and no other
//! thread.
//!
//! A poll takes no argument, so the mailbox is passed through a thread-local cell. The cell is
//! occupied only from just before a poll until the coroutine takes the mailbox, and from the
//! coroutine's return until the driver takes the mailbox. While the coroutine runs, the cell is
//! empty, so code that the coroutine calls may run other handshakes. A mailbox that coroutine and
//! driver share would need a lock for each access.

use core::cell::Cell;
use core::future::Future;
use core::mem::ManuallyDrop;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use tercel_crypto::WipedFuture;

use super::mailbox::Mailbox;
use crate::error::Error;

thread_local! {
    /// A mailbox that is being passed from a driver to its coroutine, or back. The cell has no
    /// destructor, so that handshakes also run while a thread exits and destroys its other values.
    static PASSED: Cell<ManuallyDrop<Option<Box<Mailbox>>>> =
        const { Cell::new(ManuallyDrop::new(None)) };
}

fn replace(mailbox: Option<Box<Mailbox>>) -> Option<Box<Mailbox>> {
    ManuallyDrop::into_inner(PASSED.replace(ManuallyDrop::new(mailbox)))
}

/// Takes the passed mailbox. `None` if the coroutine is not polled by a driver.
pub(crate) fn receive() -> Option<Box<Mailbox>> {
    replace(None)
}

/// Passes the mailbox to the coroutine, or back to its driver.
pub(crate) fn pass(mailbox: Box<Mailbox>) {
    drop(replace(Some(mailbox)));
}

/// Boxes a future, which is constructed in place and zeroized on drop.
///
/// Boxing a constructed future would copy all of it: up to 3 KB for a handshake, most of which is
/// memory for later steps. A future contains secrets. It may also contain old copies of secrets,
/// because moving a value leaves its bytes in place.
pub(crate) fn boxed<F>(begin: impl FnOnce() -> F) -> Pin<Box<WipedFuture<F>>> {
    let mut place = Box::into_pin(Box::<WipedFuture<F>>::default());
    place.as_mut().set(begin());
    place
}

/// The boxed future of a coroutine.
pub(crate) type Sequence<E> = Pin<Box<dyn Future<Output = Result<Completion<E>, E>> + Send + Sync>>;

/// The result of a coroutine's future that did not fail.
pub(crate) enum Completion<E> {
    Done,
    /// Another future continues the coroutine. The first future is dropped, which frees its memory.
    Continue(Sequence<E>),
}

/// A coroutine that has not ended yet.
pub(crate) struct Coroutine<E> {
    sequence: Sequence<E>,
}

impl<E> Coroutine<E> {
    /// Creates a coroutine from the future that `begin` constructs.
    pub(crate) fn new<F>(begin: impl FnOnce() -> F) -> Self
    where
        F: Future<Output = Result<Completion<E>, E>> + Send + Sync + 'static,
    {
        Self::of(boxed(begin))
    }

    /// Creates a coroutine from this future.
    pub(crate) fn of(sequence: Sequence<E>) -> Self {
        Self { sequence }
    }

    /// Passes the mailbox to the coroutine, and runs the coroutine to its next wait or its end.
    pub(crate) fn resume(&mut self, mailbox: &mut Option<Box<Mailbox>>) -> Option<Result<(), E>> {
        if let Some(mailbox) = mailbox.take() {
            pass(mailbox);
        }
        let clear_on_unwind = ClearOnUnwind;
        let ended = self.poll();
        core::mem::forget(clear_on_unwind);
        *mailbox = receive();
        ended
    }

    fn poll(&mut self) -> Option<Result<(), E>> {
        loop {
            match self.sequence.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Pending => return None,
                Poll::Ready(Ok(Completion::Continue(sequence))) => self.sequence = sequence,
                Poll::Ready(Ok(Completion::Done)) => return Some(Ok(())),
                Poll::Ready(Err(error)) => return Some(Err(error)),
            }
        }
    }
}

/// Clears the thread-local cell if a panic left a mailbox there, since the mailbox contains keys.
struct ClearOnUnwind;

impl Drop for ClearOnUnwind {
    fn drop(&mut self) {
        drop(receive());
    }
}

/// The result of a handshake's future.
pub(crate) type Outcome = Result<Completion<Error>, Error>;
