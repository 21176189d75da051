//! What the design decided by numbers: a future's size, a resume's cost. For `just size` and `just count`.
//!
//! Must not know: anything but the outside of the coroutines. Next: [`super::coroutine`].

use core::hint::black_box;

use super::coroutine::Coroutine;
use super::flow::{Flow, Line, Post, Wanted};
use super::records::Records;
use super::{hello, tls12, tls13};
use crate::config::policy::Side;
use crate::record::joiner::Joiner;

/// The bytes of each side's future, and of those that it holds in boxes for a while, found without running
/// them.
pub(crate) fn future_sizes() -> [(&'static str, usize); 8] {
    [
        ("client", size_of_future3(hello::client)),
        ("client-1.3", size_of_future4(tls13::client::handshake)),
        ("client-1.2", size_of_future5(tls12::client::full)),
        ("client-1.2-resumed", size_of_future5(tls12::resumption::resume)),
        ("server-1.3", size_of_future3(tls13::server::handshake)),
        ("server-1.3-first-flight", size_of_future4(tls13::first_flight::send_first_flight)),
        ("server-1.2", size_of_future3(tls12::server::handshake)),
        ("server-1.2-awaiting", size_of_future3(tls12::server::finish)),
    ]
}

fn size_of_future3<A, B, C, F: Future + Send>(_: impl Fn(A, B, C) -> F) -> usize {
    size_of::<F>()
}

fn size_of_future4<A, B, C, D, F: Future + Send>(_: impl Fn(A, B, C, D) -> F) -> usize {
    size_of::<F>()
}

fn size_of_future5<A, B, C, D, E, F: Future + Send>(_: impl Fn(A, B, C, D, E) -> F) -> usize {
    size_of::<F>()
}

/// What the coroutine costs by itself: a poll, the post box there and back, a message in.
pub(crate) fn resume_empty(times: usize) {
    let mut post = Some(Box::new(Post::new(Line::Records(Records::new(Side::Server)))));
    let mut flow = Flow::default();
    let mut coroutine = Coroutine::<()>::new(|| async move {
        loop {
            black_box(flow.read().await);
        }
    });
    let mut joiner = Joiner::default();
    for _ in 0..times {
        black_box(coroutine.resume(&mut post));
        let Some(letters) = &mut post else { return };
        if letters.wanted == Some(Wanted::Message) {
            joiner.push(&[0; 4]);
            letters.message = joiner.next().ok().flatten();
        }
    }
}
