//! The whole runtime: a post box that changes hands, and a poll.
//!
//! A handshake is an `async fn` whose `.await` means "give control back to the caller". The caller
//! puts what it has into the post box, hands that over, polls once, and gets it back with what the protocol
//! text wants done. There is no executor, no waker, and no other thread.
//! Must not know: TLS. Next: [`super::flow`], the protocol's view of the post box.
//!
//! A poll takes no argument, so the box goes through a place that belongs to the thread: it is there from just
//! before a poll to the coroutine's first look, and from the coroutine's last word to just after. In between
//! it is empty, so what the protocol text calls may run handshakes of its own. A box in shared memory would
//! do as well and cost a lock at every look.

use core::cell::Cell;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use tercel_crypto::Wiped;

use super::flow::Post;

thread_local! {
    /// On its way from a driver to its coroutine, or back.
    static PASSED: Cell<Option<Box<Post>>> = const { Cell::new(None) };
}

/// Takes what was passed. `None` if nothing was, as to a coroutine that no driver runs.
pub(crate) fn receive() -> Option<Box<Post>> {
    // A thread that ends has no such place any more, and its handshakes end with it.
    PASSED.try_with(Cell::take).ok().flatten()
}

/// Passes it on, to whoever comes next: the coroutine, or its driver.
pub(crate) fn pass(post: Box<Post>) {
    _ = PASSED.try_with(|place| place.set(Some(post)));
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

/// A sequence in its box.
pub(crate) type Sequence<E> = Pin<Box<dyn Future<Output = Result<Turn<E>, E>> + Send>>;

/// What a sequence comes to if it does not fail.
pub(crate) enum Turn<E> {
    Over,
    /// Another goes on with what it was given: nobody holds the room of the first any longer.
    Next(Sequence<E>),
}

/// A sequence that has not ended yet.
pub(crate) struct Coroutine<E> {
    sequence: Sequence<E>,
}

impl<E> Coroutine<E> {
    /// The sequence that `begin` makes.
    pub(crate) fn new<F>(begin: impl FnOnce() -> F) -> Self
    where
        F: Future<Output = Result<Turn<E>, E>> + Send + 'static,
    {
        Self::of(boxed(begin))
    }

    /// This sequence.
    pub(crate) fn of(sequence: Sequence<E>) -> Self {
        Self { sequence }
    }

    /// Runs up to the next wait, or to the end, with the post box in its hands.
    pub(crate) fn resume(&mut self, post: &mut Option<Box<Post>>) -> Option<Result<(), E>> {
        if let Some(post) = post.take() {
            pass(post);
        }
        let left_behind = LeftBehind;
        let ended = self.poll();
        core::mem::forget(left_behind);
        *post = receive();
        ended
    }

    fn poll(&mut self) -> Option<Result<(), E>> {
        loop {
            match self.sequence.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Pending => return None,
                Poll::Ready(Ok(Turn::Next(sequence))) => self.sequence = sequence,
                Poll::Ready(Ok(Turn::Over)) => return Some(Ok(())),
                Poll::Ready(Err(error)) => return Some(Err(error)),
            }
        }
    }
}

/// Empties the place where a panic left it full: whose post that was is over, and the keys in it are to go too.
struct LeftBehind;

impl Drop for LeftBehind {
    fn drop(&mut self) {
        drop(receive());
    }
}
