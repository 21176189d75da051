//! Notifications for the service manager (systemd's `sd_notify` protocol).
//!
//! Without a service manager (`NOTIFY_SOCKET` is not set) every call does nothing. A failed
//! notification is logged and does not stop the service.

use std::time::Duration;

use sd_notify::NotifyState;

/// Sends READY: startup or a reload is complete.
pub fn ready() {
    send(&[NotifyState::Ready]);
}

/// Sends RELOADING: a reload has begun, and [`ready`] must follow. The message has the timestamp
/// that `Type=notify-reload` requires.
pub fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => send(&[NotifyState::Reloading, now]),
        Err(error) => tracing::warn!(%error, "cannot notify the service manager of the reload"),
    }
}

/// Sends STOPPING: a drain has begun.
pub fn stopping() {
    send(&[NotifyState::Stopping]);
}

/// Sets the line shown by `systemctl status`. Newlines, which would begin another assignment, are
/// replaced by spaces.
pub fn status(line: &str) {
    let line = line.replace(['\n', '\r'], " ");
    send(&[NotifyState::Status(&line)]);
}

/// Extends the manager's timeout for a start or a drain, counted from now.
pub fn extend_timeout(time: Duration) {
    send(&[NotifyState::ExtendTimeoutUsec(u32::try_from(time.as_micros()).unwrap_or(u32::MAX))]);
}

/// Interval at which to call [`keep_alive`], half of the watchdog timeout. `None`: the watchdog is
/// disabled.
#[must_use]
pub fn watchdog_interval() -> Option<Duration> {
    sd_notify::watchdog_enabled()?.checked_div(2).filter(|interval| !interval.is_zero())
}

/// Sends WATCHDOG, a keep-alive. Call it only if the workers respond, not in an independent thread.
pub fn keep_alive() {
    send(&[NotifyState::Watchdog]);
}

fn send(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!(%error, "cannot notify the service manager");
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram;
    use std::time::Duration;

    use super::*;
    use crate::testing::{Folder, in_child};

    #[test]
    fn service_manager_is_notified() {
        let child = "system::notify::tests::service_manager_is_notified";
        if in_child() {
            ready();
            reloading();
            status("two\nlines");
            extend_timeout(Duration::from_secs(90));
            keep_alive();
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
    fn notifications_without_a_manager_do_nothing() {
        if std::env::var_os("NOTIFY_SOCKET").is_none() {
            ready();
            assert_eq!(watchdog_interval(), None);
        }
    }
}
