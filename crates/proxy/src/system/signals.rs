//! Signals with which an operator controls the process.
//!
//! | signal | request |
//! |---|---|
//! | SIGHUP | [`Signal::Reload`] |
//! | SIGTERM, SIGINT | [`Signal::Drain`], the second time [`Signal::Stop`] |
//! | SIGQUIT | [`Signal::Stop`], without a core dump, which would contain keys |

use std::io;
use std::task::Poll;

use tokio::signal::unix::{self, SignalKind};

/// A request made by a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Reload certificates, ticket keys and configuration.
    Reload,
    /// Stop accepting, and exit when all connections are closed.
    Drain,
    /// Exit at once.
    Stop,
}

/// A stream of signals.
#[derive(Debug)]
pub struct Signals {
    hangup: unix::Signal,
    terminate: unix::Signal,
    interrupt: unix::Signal,
    quit: unix::Signal,
    draining: bool,
}

impl Signals {
    /// Installs the handlers for the lifetime of the process. Requires a tokio runtime with
    /// `enable_io`.
    ///
    /// # Errors
    ///
    /// If a handler cannot be installed.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            hangup: unix::signal(SignalKind::hangup())?,
            terminate: unix::signal(SignalKind::terminate())?,
            interrupt: unix::signal(SignalKind::interrupt())?,
            quit: unix::signal(SignalKind::quit())?,
            draining: false,
        })
    }

    /// Waits for the next signal. Cancel safe.
    ///
    /// As usual, signals of the same kind that arrive before the first is taken count once.
    pub async fn next(&mut self) -> Signal {
        let signal = std::future::poll_fn(|context| {
            if self.quit.poll_recv(context).is_ready() {
                return Poll::Ready(Signal::Stop);
            }
            let terminate = self.terminate.poll_recv(context).is_ready();
            let interrupt = self.interrupt.poll_recv(context).is_ready();
            // A SIGTERM and a SIGINT count as two signals.
            if (terminate && interrupt) || ((terminate || interrupt) && self.draining) {
                return Poll::Ready(Signal::Stop);
            }
            if terminate || interrupt {
                return Poll::Ready(Signal::Drain);
            }
            self.hangup.poll_recv(context).map(|_| Signal::Reload)
        })
        .await;
        self.draining |= signal == Signal::Drain;
        signal
    }
}

#[cfg(test)]
mod tests {
    use nix::sys::signal::{self, Signal as Number};
    use nix::unistd::getpid;

    use super::*;
    use crate::testing::{in_child, run_in_child};

    // This runs in a process of its own, because signals affect all threads.
    #[test]
    fn second_termination_signal_stops_at_once() {
        if !in_child() {
            let test = "system::signals::tests::second_termination_signal_stops_at_once";
            run_in_child(test, |_| ());
            return;
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut signals = Signals::new().unwrap();
            let send = |number| signal::kill(getpid(), number).unwrap();
            send(Number::SIGHUP);
            assert_eq!(signals.next().await, Signal::Reload);
            send(Number::SIGTERM);
            assert_eq!(signals.next().await, Signal::Drain);
            send(Number::SIGHUP);
            assert_eq!(signals.next().await, Signal::Reload, "still possible in a drain");
            send(Number::SIGINT);
            assert_eq!(signals.next().await, Signal::Stop);
            send(Number::SIGQUIT);
            assert_eq!(signals.next().await, Signal::Stop);
        });
    }
}
