//! What the design decided by numbers: a future's size, a resume's cost. For `just size` and `just count`.
//!
//! Must not know: anything but the outside of the coroutines. Next: [`super::coroutine`].

use core::hint::black_box;

use super::coroutine::{Coroutine, Mailbox};
use super::flow::{Flow, Post, Wanted};
use super::hello;

/// The bytes of each side's future, found without running it.
pub(crate) fn future_sizes() -> [(&'static str, usize); 2] {
    [("client", size_of_future3(hello::client)), ("server", size_of_future2(hello::server))]
}

fn size_of_future2<A, B, F: Future + Send>(_: impl Fn(A, B) -> F) -> usize {
    size_of::<F>()
}

fn size_of_future3<A, B, C, F: Future + Send>(_: impl Fn(A, B, C) -> F) -> usize {
    size_of::<F>()
}

/// What the coroutine costs by itself: a poll, the mailbox's lock, a message in, a command out.
pub(crate) fn resume_empty(times: usize) {
    let post = Mailbox::new(Post::default());
    let mut flow = Flow::new(post.share());
    let mut coroutine = Coroutine::new(|| async move {
        loop {
            black_box(flow.read().await);
        }
    });
    for _ in 0..times {
        let ended: Option<()> = coroutine.resume();
        black_box(ended);
        let mut letters = post.open();
        if letters.wanted == Some(Wanted::Message) {
            letters.message = Some(Vec::new());
        }
    }
}
