//! A container that wipes the memory of a future.
//!
//! Futures hold the variables of an `async fn` across its awaits, and a value that was moved out
//! of a variable leaves its bytes there. See [`super::memory`].

use core::future::Future;
use core::mem::ManuallyDrop;
use core::pin::Pin;
use core::task::{Context, Poll};

use super::memory::cleanse;

/// Storage for a future, overwritten with zeros after the future is dropped. In a box, the storage
/// is overwritten before the box is freed.
///
/// Secrets are wiped when they are dropped. But Rust moves values by copying their bytes, and
/// leaves the old bytes in place. On the stack they are soon overwritten; in a freed heap block
/// they may stay for a long time.
///
/// Storage without a future is always pending.
pub struct WipedFuture<F>(ManuallyDrop<Option<F>>);

impl<F> Default for WipedFuture<F> {
    fn default() -> Self {
        Self(ManuallyDrop::new(None))
    }
}

impl<F> WipedFuture<F> {
    /// Stores a future, after dropping the previous one.
    pub fn set(self: Pin<&mut Self>, future: F) {
        self.inner().set(Some(future));
    }

    fn inner(self: Pin<&mut Self>) -> Pin<&mut Option<F>> {
        // SAFETY: the future is pinned together with its storage: nothing here moves it out, `Drop`
        // drops it in place, and `WipedFuture` is `Unpin` only if the future is.
        unsafe { self.map_unchecked_mut(|wiped| &mut *wiped.0) }
    }
}

impl<F> Future for WipedFuture<F>
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

impl<F> Drop for WipedFuture<F> {
    fn drop(&mut self) {
        // SAFETY: the future is dropped only here, and not used as a future after that.
        unsafe { ManuallyDrop::drop(&mut self.0) };
        // SAFETY: the memory is exclusively accessible, and not used again.
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
    fn a_dropped_future_is_dropped_once_and_wiped() {
        let witness = Arc::new(());
        let mut cell = MaybeUninit::new(WipedFuture::default());
        // SAFETY: the value is initialised, and not moved from here on.
        let mut pinned = unsafe { Pin::new_unchecked(cell.assume_init_mut()) };
        pinned.as_mut().set(with_secret(Arc::clone(&witness)));
        assert!(pinned.poll(&mut Context::from_waker(Waker::noop())).is_pending());
        assert_eq!(Arc::strong_count(&witness), 2);
        // SAFETY: the value is initialised, and not used as such after this.
        unsafe { core::ptr::drop_in_place(cell.as_mut_ptr()) };
        assert_eq!(Arc::strong_count(&witness), 1);
        let length = size_of_val(&cell);
        assert!(length >= 100);
        // SAFETY: every byte was written when the future was dropped, including padding.
        let bytes = unsafe { core::slice::from_raw_parts(cell.as_ptr().cast::<u8>(), length) };
        assert!(bytes.iter().all(|byte| *byte == 0));
    }

    #[test]
    fn a_completed_future_returns_its_value() {
        let mut room = Box::pin(WipedFuture::default());
        let poll =
            |room: Pin<&mut WipedFuture<_>>| room.poll(&mut Context::from_waker(Waker::noop()));
        assert_eq!(poll(room.as_mut()), Poll::Pending);
        room.as_mut().set(async { 7 });
        assert_eq!(poll(room.as_mut()), Poll::Ready(7));
    }
}
