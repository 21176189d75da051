//! The certificate authorities of the operating system, read once for many connectors.
//!
//! Some programs build a connector for each connection (sqlx does). Reading and parsing the
//! authorities takes longer than a handshake, so the result is kept for a minute.

use std::env;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tercel::certificates::native_roots;
use tercel::pki::Roots;

/// How long the authorities are used without reading them again.
const LIFETIME: Duration = Duration::from_secs(60);

/// The authorities that the operating system trusts now, or trusted within the last minute. `None`
/// if there are none; this is not kept.
pub(crate) fn system_roots() -> Option<Arc<Roots>> {
    static LAST: Mutex<Option<Reading>> = Mutex::new(None);
    // While one thread reads, the others wait, because they need the same result. A panic while
    // reading leaves the previous result.
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let read = || native_roots().ok();
    kept_or_read(&mut last, Instant::now(), Locations::of_process(), read)
}

/// The environment variables that replace the locations of the operating system.
#[derive(Clone, PartialEq, Eq)]
struct Locations([Option<OsString>; 2]);

impl Locations {
    fn of_process() -> Self {
        Self(["SSL_CERT_FILE", "SSL_CERT_DIR"].map(env::var_os))
    }
}

struct Reading {
    at: Instant,
    locations: Locations,
    roots: Arc<Roots>,
}

/// The roots of the last reading, or of a new one if that is too old or was made elsewhere.
fn kept_or_read(
    last: &mut Option<Reading>,
    now: Instant,
    locations: Locations,
    read: impl FnOnce() -> Option<Roots>,
) -> Option<Arc<Roots>> {
    let is_current = |reading: &Reading| {
        reading.locations == locations && now.saturating_duration_since(reading.at) < LIFETIME
    };
    if !last.as_ref().is_some_and(is_current) {
        *last = read().map(|roots| Reading { at: now, locations, roots: Arc::new(roots) });
    }
    last.as_ref().map(|reading| Arc::clone(&reading.roots))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_read_again_after_a_minute_or_at_another_location() {
        let (mut last, mut readings) = (None, 0);
        let start = Instant::now();
        let mut get = |seconds: u64, directory: Option<&str>, exists: bool| {
            let now = start + Duration::from_secs(seconds);
            let locations = Locations([None, directory.map(OsString::from)]);
            let found = kept_or_read(&mut last, now, locations, || {
                readings += 1;
                exists.then(Roots::new)
            });
            (readings, found.is_some())
        };
        assert_eq!(get(0, None, true), (1, true));
        assert_eq!(get(59, None, true), (1, true));
        assert_eq!(get(60, None, true), (2, true));
        assert_eq!(get(61, Some("other"), true), (3, true));
        // A failure is not kept, and ends the use of what was read before.
        assert_eq!(get(200, Some("other"), false), (4, false));
        assert_eq!(get(201, Some("other"), true), (5, true));
    }

    #[test]
    fn connectors_share_the_roots_of_the_system() {
        // A machine without authorities has nothing to share.
        if let (Some(first), Some(second)) = (system_roots(), system_roots()) {
            assert!(Arc::ptr_eq(&first, &second));
        }
    }
}
