//! What the design decided by numbers: a future's size, a resume's cost. For `just size` and `just count`.
//!
//! In tests, so that no build of the library has it. Next: `handshake/coroutine.rs`.

use core::hint::black_box;

use crate::config::policy::Side;
use crate::handshake::coroutine::Coroutine;
use crate::handshake::flow::{Flow, Line, Post, Wanted};
use crate::handshake::records::Records;
use crate::handshake::{hello, tls12, tls13};
use crate::record::joiner::Joiner;

/// The most a handshake's future may take.
pub(super) const FUTURE_LIMIT: usize = 4096;

#[test]
#[ignore = "prints, for `just size`"]
fn print_future_sizes() {
    // On a line of its own.
    println!();
    println!("handshake futures (limit {FUTURE_LIMIT} bytes)");
    for (side, size) in future_sizes() {
        println!("  {side:<30} {size:>6} bytes");
    }
}

/// As often as the variable `TERCEL_RESUMES` says.
#[test]
#[ignore = "for tools/count.sh, which counts its instructions"]
fn resumes_of_an_empty_coroutine() {
    let times = std::env::var("TERCEL_RESUMES").expect("TERCEL_RESUMES is set");
    resume_empty(times.parse().expect("a number"));
}

/// The bytes of each side's future, and of those that it holds in boxes for a while, found without running
/// them.
pub(super) fn future_sizes() -> [(&'static str, usize); 8] {
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
#[inline(never)]
fn resume_empty(times: usize) {
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
