//! Marker functions for instruction counts.
//!
//! While repetitions are counted, the spans of each side run inside the function of that side, and
//! excluded work inside [`untimed`], so that callgrind can attribute instructions. The functions
//! are never inlined or merged. They are not called while time is measured.

use std::cell::Cell;
use std::hint::black_box;

thread_local! {
    /// Whether this thread counts repetitions.
    static COUNTED: Cell<bool> = const { Cell::new(false) };
}

/// The side to which a span is attributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// The span belongs to no judged side.
    Unattributed,
    /// The span belongs to the client.
    Client,
    /// The span belongs to the server.
    Server,
    /// The span belongs to the sender.
    Send,
    /// The span belongs to the receiver.
    Receive,
}

impl Span {
    /// Runs `action` inside the function of this side.
    pub(crate) fn run<T>(self, action: impl FnOnce() -> T) -> T {
        match self {
            Self::Unattributed => action(),
            Self::Client => client(action),
            Self::Server => server(action),
            Self::Send => send(action),
            Self::Receive => receive(action),
        }
    }
}

/// Whether spans are counted instead of timed.
pub(crate) fn is_counting() -> bool {
    COUNTED.get()
}

macro_rules! marker_functions {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $($(#[$doc])*
        #[inline(never)]
        pub(crate) fn $name<T>(action: impl FnOnce() -> T) -> T {
            // Prevents the compiler from merging identical functions, and from turning the call
            // into a tail call.
            black_box(stringify!($name));
            let result = action();
            black_box(());
            result
        })*
    };
}

marker_functions! {
    /// The function for the client's spans.
    client;
    /// The function for the server's spans.
    server;
    /// The function for the sender's spans.
    send;
    /// The function for the receiver's spans.
    receive;
    /// The function for work that is excluded from the span around it.
    untimed;
    /// The function around all requested repetitions.
    all;
}

/// Runs `action`, and counts its spans instead of timing them.
pub(crate) fn repetitions<T>(action: impl FnOnce() -> T) -> T {
    COUNTED.set(true);
    let result = all(action);
    COUNTED.set(false);
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::{self, Meter};

    #[test]
    fn what_is_counted_is_not_timed() {
        let mut meter = Meter::<1>::new().with_spans([Span::Client]);
        let pause = || std::thread::sleep(std::time::Duration::from_millis(1));
        let seen = repetitions(|| meter.time::<0, _>(|| meter::untimed(is_counting)));
        assert!(seen && !is_counting());
        repetitions(|| meter.time::<0, _>(pause));
        assert!(meter.nanoseconds(0, 1) == 0.0);
        meter.time::<0, _>(pause);
        assert!(meter.nanoseconds(0, 1) > 0.9e6);
    }
}
