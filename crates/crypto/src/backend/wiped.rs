//! A future that leaves nothing behind.
//!
//! What it is for: futures hold the variables of an `async fn` across its waits, and what was moved out of a variable
//! still lies there. What it must not know: what they hold. Where to look next: [`super::memory`].

use core::future::Future;
use core::mem::ManuallyDrop;
use core::pin::Pin;
use core::task::{Context, Poll};

use super::memory::cleanse;

/// Room for a future, overwritten with zeros once the future was dropped, wherever it lies: in a box, before that is freed.
///
/// Secrets wipe themselves when they are dropped. But Rust moves values by copying their bytes, and leaves the old ones where
/// they were. What is left on the stack is overwritten soon; what is left in a freed block may stay for long.
///
/// Without a future in it, it is pending.
pub struct Wiped<F>(ManuallyDrop<Option<F>>);

impl<F> Default for Wiped<F> {
    fn default() -> Self {
        Self(ManuallyDrop::new(None))
    }
}

impl<F> Wiped<F> {
    /// Puts a future in its place, which drops the one before.
    pub fn set(self: Pin<&mut Self>, future: F) {
        self.inner().set(Some(future));
    }

    fn inner(self: Pin<&mut Self>) -> Pin<&mut Option<F>> {
        // SAFETY: what is inside is pinned with this: nothing here moves it out, `Drop` drops it in place, and `Wiped` is
        // `Unpin` only if it is.
        unsafe { self.map_unchecked_mut(|wiped| &mut *wiped.0) }
    }
}

impl<F> Future for Wiped<F>
where
    F: Future,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        match self.inner().as_pin_mut() {
            Some(future) => future.poll(context),
            None => Poll::Pending,
        }
    }
}

impl<F> Drop for Wiped<F> {
    fn drop(&mut self) {
        // SAFETY: dropped here and nowhere else, and not touched as a future after that.
        unsafe { ManuallyDrop::drop(&mut self.0) };
        // SAFETY: exclusively accessible, and not used again.
        unsafe { cleanse(&raw mut self.0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::mem::MaybeUninit;
    use core::task::Waker;
    use std::sync::Arc;

    async fn with_secret(witness: Arc<()>) -> u8 {
        let secret = [0xaa_u8; 100];
        core::future::ready(()).await;
        let moved = std::hint::black_box(secret);
        core::future::pending::<()>().await;
        drop(witness);
        moved[7]
    }

    #[test]
    fn a_dropped_future_was_dropped_once_and_is_zeros() {
        let witness = Arc::new(());
        let mut cell = MaybeUninit::new(Wiped::default());
        // SAFETY: initialised, and not moved from here on.
        let mut pinned = unsafe { Pin::new_unchecked(cell.assume_init_mut()) };
        pinned.as_mut().set(with_secret(Arc::clone(&witness)));
        assert!(pinned.poll(&mut Context::from_waker(Waker::noop())).is_pending());
        assert_eq!(Arc::strong_count(&witness), 2);
        // SAFETY: initialised, and not used as such after this.
        unsafe { core::ptr::drop_in_place(cell.as_mut_ptr()) };
        assert_eq!(Arc::strong_count(&witness), 1);
        let length = size_of_val(&cell);
        assert!(length >= 100);
        // SAFETY: every byte was written, padding too, when the future was dropped.
        let bytes = unsafe { core::slice::from_raw_parts(cell.as_ptr().cast::<u8>(), length) };
        assert!(bytes.iter().all(|byte| *byte == 0));
    }

    #[test]
    fn a_future_that_ends_gives_its_value() {
        let mut room = Box::pin(Wiped::default());
        let poll = |room: Pin<&mut Wiped<_>>| room.poll(&mut Context::from_waker(Waker::noop()));
        assert_eq!(poll(room.as_mut()), Poll::Pending);
        room.as_mut().set(async { 7 });
        assert_eq!(poll(room.as_mut()), Poll::Ready(7));
    }
}
