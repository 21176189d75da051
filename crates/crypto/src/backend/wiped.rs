//! A future that leaves nothing behind.
//!
//! What it is for: futures hold the variables of an `async fn` across its waits, and what was moved out of a variable
//! still lies there. What it must not know: what they hold. Where to look next: [`super::memory`].

use core::future::Future;
use core::mem::ManuallyDrop;
use core::pin::Pin;
use core::task::{Context, Poll};

use super::memory::cleanse;

/// A future whose memory is overwritten with zeros once it was dropped, wherever it lies: in a box, before that is freed.
///
/// Secrets wipe themselves when they are dropped. But Rust moves values by copying their bytes, and leaves the old ones where
/// they were. What is left on the stack is overwritten soon; what is left in a freed block may stay for long.
pub struct Wiped<F>(ManuallyDrop<F>);

impl<F> Wiped<F> {
    /// Takes the future over. Nothing secret may be in it yet: this moves it.
    pub fn new(future: F) -> Self {
        Self(ManuallyDrop::new(future))
    }
}

impl<F> Future for Wiped<F>
where
    F: Future,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: the inner future is pinned with this one: nothing here moves it out, `Drop` drops it in place, and
        // `Wiped` is `Unpin` only if it is.
        let inner = unsafe { self.map_unchecked_mut(|wiped| &mut *wiped.0) };
        inner.poll(context)
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
        let mut cell = MaybeUninit::new(Wiped::new(with_secret(Arc::clone(&witness))));
        // SAFETY: initialised, and not moved from here on.
        let pinned = unsafe { Pin::new_unchecked(cell.assume_init_mut()) };
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
        let mut future = Box::pin(Wiped::new(async { 7 }));
        let polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert_eq!(polled, Poll::Ready(7));
    }
}
