//! What an operator asks for by signals.
//!
//! | signal | what it asks |
//! |---|---|
//! | SIGHUP | [`Signal::Reload`] |
//! | SIGTERM, SIGINT | [`Signal::Drain`], and at the second of them [`Signal::Stop`] |
//! | SIGQUIT | [`Signal::Stop`] (and no core dump, which would hold keys) |
//!
//! Must not know: how it is done. Next: [`super::notify`].

use std::io;
use std::task::Poll;

use tokio::signal::unix::{self, SignalKind};

/// What an operator asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Read certificates, ticket keys and configuration anew.
    Reload,
    /// Accept no more connections, finish those that are open, then end.
    Drain,
    /// End at once.
    Stop,
}

/// The signals of this process, one after the other.
#[derive(Debug)]
pub struct Signals {
    hangup: unix::Signal,
    terminate: unix::Signal,
    interrupt: unix::Signal,
    quit: unix::Signal,
    draining: bool,
}

impl Signals {
    /// Takes the signals from the system's defaults, for as long as the process lives. In a tokio runtime with `enable_io`.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            hangup: unix::signal(SignalKind::hangup())?,
            terminate: unix::signal(SignalKind::terminate())?,
            interrupt: unix::signal(SignalKind::interrupt())?,
            quit: unix::signal(SignalKind::quit())?,
            draining: false,
        })
    }

    /// The next of them. Dropping the future loses none.
    ///
    /// Signals of one kind that come faster than they are taken are one, as they are to the system.
    pub async fn next(&mut self) -> Signal {
        let signal = std::future::poll_fn(|context| {
            if self.quit.poll_recv(context).is_ready() {
                return Poll::Ready(Signal::Stop);
            }
            let terminate = self.terminate.poll_recv(context).is_ready();
            let interrupt = self.interrupt.poll_recv(context).is_ready();
            // Both at once are two.
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

    // In a process of its own: signals are for all threads of one.
    #[test]
    fn a_second_request_to_end_is_meant() {
        if !in_child() {
            let test = "system::signals::tests::a_second_request_to_end_is_meant";
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
