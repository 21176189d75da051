//! Functions that are there to be seen from outside: a program that counts instructions by function learns
//! from them whose work is under way.
//!
//! While repetitions are counted, each side's spans run inside the function of that side, and what is
//! taken out of a span inside [`untimed`]. None is ever inlined, none is made one with another. While time is
//! measured they are not called. Must not know: what counts. Next: `meter.rs`.

use std::cell::Cell;
use std::hint::black_box;

thread_local! {
    /// Whether the repetitions of this thread are being counted.
    static COUNTED: Cell<bool> = const { Cell::new(false) };
}

/// Whose work a span is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// Of no side that is judged.
    Nobody,
    /// The client's.
    Client,
    /// The server's.
    Server,
    /// The sender's.
    Send,
    /// The receiver's.
    Receive,
}

impl Span {
    /// Does `action` inside the function of this side.
    pub(crate) fn run<T>(self, action: impl FnOnce() -> T) -> T {
        match self {
            Self::Nobody => action(),
            Self::Client => client(action),
            Self::Server => server(action),
            Self::Send => send(action),
            Self::Receive => receive(action),
        }
    }
}

/// Whether spans are counted now, and not timed.
pub(crate) fn are_counted() -> bool {
    COUNTED.get()
}

macro_rules! visible {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $($(#[$doc])*
        #[inline(never)]
        pub(crate) fn $name<T>(action: impl FnOnce() -> T) -> T {
            // Keeps two functions from being merged because they do the same, and the call from being the
            // last thing in this one.
            black_box(stringify!($name));
            let result = action();
            black_box(());
            result
        })*
    };
}

visible! {
    /// The client's spans.
    client;
    /// The server's.
    server;
    /// The sender's.
    send;
    /// The receiver's.
    receive;
    /// What is taken out of the span around it.
    untimed;
    /// All repetitions that were asked for.
    all;
}

/// Counts what `action` does.
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
        let mut meter = Meter::<1>::new().counted_as([Span::Client]);
        let pause = || std::thread::sleep(std::time::Duration::from_millis(1));
        let seen = repetitions(|| meter.time::<0, _>(|| meter::untimed(are_counted)));
        assert!(seen && !are_counted());
        repetitions(|| meter.time::<0, _>(pause));
        assert!(meter.nanoseconds(0, 1) == 0.0);
        meter.time::<0, _>(pause);
        assert!(meter.nanoseconds(0, 1) > 0.9e6);
    }
}
