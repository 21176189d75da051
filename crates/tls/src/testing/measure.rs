//! Measurements for `just size` and `just count`: the sizes of futures, the cost of resuming a
//! coroutine.

use core::hint::black_box;

use crate::handshake::runtime::command::Wanted;
use crate::handshake::runtime::coroutine::Coroutine;
use crate::handshake::runtime::flow::Flow;
use crate::handshake::runtime::mailbox::{Mailbox, Transport};
use crate::handshake::runtime::records::Records;
use crate::handshake::{start, tls12, tls13};
use crate::record::joiner::Joiner;
use crate::side::Side;

/// The size limit of a handshake's future.
pub(super) const FUTURE_LIMIT: usize = 4096;

#[test]
#[ignore = "prints, for `just size`"]
fn print_future_sizes() {
    // Ends the line that the test harness has begun.
    println!();
    println!("handshake futures (limit {FUTURE_LIMIT} bytes)");
    for (side, size) in future_sizes() {
        println!("  {side:<30} {size:>6} bytes");
    }
}

/// The number of runs is in the variable `TERCEL_RESUMES`.
#[test]
#[ignore = "for tools/count.sh, which counts its instructions"]
fn resumes_of_an_empty_coroutine() {
    let times = std::env::var("TERCEL_RESUMES").expect("TERCEL_RESUMES is set");
    resume_empty(times.parse().expect("a number"));
}

/// The size of each side's future, and of the futures that it temporarily holds in boxes. The
/// futures are not run.
pub(super) fn future_sizes() -> [(&'static str, usize); 8] {
    [
        ("client", size_of_future4(start::client)),
        ("client-1.3", size_of_future4(tls13::client::handshake)),
        ("client-1.2", size_of_future2(tls12::client::full_handshake)),
        ("client-1.2-resumed", size_of_future2(tls12::client::abbreviated_handshake)),
        ("server-1.3", size_of_future4(tls13::server::handshake)),
        ("server-1.3-first-flight", size_of_future4(tls13::server::send_first_flight)),
        ("server-1.2", size_of_future3(tls12::server::handshake)),
        ("server-1.2-awaiting", size_of_future4(tls12::server::finish)),
    ]
}

fn size_of_future2<A, B, F: Future + Send>(_: impl Fn(A, B) -> F) -> usize {
    size_of::<F>()
}

fn size_of_future3<A, B, C, F: Future + Send>(_: impl Fn(A, B, C) -> F) -> usize {
    size_of::<F>()
}

fn size_of_future4<A, B, C, D, F: Future + Send>(_: impl Fn(A, B, C, D) -> F) -> usize {
    size_of::<F>()
}

/// Measures the cost of a coroutine itself: one poll with one message, for which the mailbox is
/// passed in and out.
#[inline(never)]
fn resume_empty(times: usize) {
    let mut mailbox = Some(Box::new(Mailbox::new(Transport::Records(Records::new(Side::Server)))));
    let mut flow = Flow::default();
    let mut coroutine = Coroutine::<()>::new(|| async move {
        loop {
            black_box(flow.read().await);
        }
    });
    let mut joiner = Joiner::default();
    for _ in 0..times {
        black_box(coroutine.resume(&mut mailbox));
        let Some(mailbox) = &mut mailbox else { return };
        if mailbox.wanted == Some(Wanted::Message) {
            joiner.push(&[0; 4]);
            mailbox.message = joiner.next().ok().flatten();
        }
    }
}
