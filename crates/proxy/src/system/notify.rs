//! What the service manager is told (systemd's `sd_notify`, which others speak too).
//!
//! Without a service manager (`NOTIFY_SOCKET` is not set) every call does nothing. A manager that cannot be reached is no reason to
//! stop serving: the failure is logged.
//!
//! Must not know: why. Next: [`super::signals`].

use std::time::Duration;

use sd_notify::NotifyState;

/// Serving: after start, and after a reload is done.
pub fn ready() {
    send(&[NotifyState::Ready]);
}

/// Reading files anew; [`ready`] follows, whatever came of it. With the time that `Type=notify-reload` demands.
pub fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => send(&[NotifyState::Reloading, now]),
        Err(error) => tracing::warn!(%error, "the service manager cannot be told of the reload"),
    }
}

/// About to end: a drain has begun.
pub fn stopping() {
    send(&[NotifyState::Stopping]);
}

/// A line for `systemctl status`. Line breaks, which would begin another assignment, become spaces.
pub fn status(line: &str) {
    let line = line.replace(['\n', '\r'], " ");
    send(&[NotifyState::Status(&line)]);
}

/// Asks for more time before the manager loses patience with a drain or a start, from now on.
pub fn extend_timeout(time: Duration) {
    send(&[NotifyState::ExtendTimeoutUsec(u32::try_from(time.as_micros()).unwrap_or(u32::MAX))]);
}

/// How often [`alive`] is to be called, if the manager wants to know: half of what it allows.
#[must_use]
pub fn watchdog_interval() -> Option<Duration> {
    sd_notify::watchdog_enabled()?.checked_div(2).filter(|interval| !interval.is_zero())
}

/// Still alive. To be sent by who can vouch for the workers, not by a thread that does nothing else.
pub fn alive() {
    send(&[NotifyState::Watchdog]);
}

fn send(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!(%error, "the service manager cannot be told");
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram;
    use std::time::Duration;

    use super::*;
    use crate::testing::{Folder, in_child};

    #[test]
    fn the_manager_is_told() {
        let child = "system::notify::tests::the_manager_is_told";
        if in_child() {
            ready();
            reloading();
            status("two\nlines");
            extend_timeout(Duration::from_secs(90));
            alive();
            stopping();
            assert_eq!(watchdog_interval(), Some(Duration::from_secs(1)));
            return;
        }
        let folder = Folder::new();
        let path = folder.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        crate::testing::run_in_child(child, |command| {
            command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "2000000");
        });
        let mut received = Vec::new();
        for _ in 0..6 {
            let mut buffer = [0; 256];
            let length = socket.recv(&mut buffer).unwrap();
            received.push(String::from_utf8(buffer[..length].to_vec()).unwrap());
        }
        assert_eq!(received[0], "READY=1\n");
        let reloading: Vec<_> = received[1].lines().collect();
        assert_eq!(reloading[0], "RELOADING=1");
        let microseconds = reloading[1].strip_prefix("MONOTONIC_USEC=").unwrap();
        assert!(microseconds.parse::<u64>().unwrap() > 0);
        assert_eq!(received[2], "STATUS=two lines\n");
        assert_eq!(received[3], "EXTEND_TIMEOUT_USEC=90000000\n");
        assert_eq!(received[4..], ["WATCHDOG=1\n", "STOPPING=1\n"]);
    }

    #[test]
    fn without_a_manager_nothing_happens() {
        if std::env::var_os("NOTIFY_SOCKET").is_none() {
            ready();
            assert_eq!(watchdog_interval(), None);
        }
    }
}
