//! Logs on standard error, one line for each event, as text or JSON.
//!
//! # Fields
//!
//! Events of a connection carry these fields as far as they are known:
//!
//! | field | meaning |
//! |---|---|
//! | `listener` | the local address |
//! | `client` | the client's address, or the one in its PROXY header |
//! | `server_name` | the server name requested |
//! | `version`, `suite`, `group`, `alpn` | negotiated parameters |
//! | `resumed`, `early_data` | whether a session was resumed, and early data accepted |
//! | `backend` | the backend's address |
//! | `received`, `sent` | plaintext bytes from and to the client |
//! | `milliseconds` | duration |
//! | `error` | the error |
//! | `suppressed` | rate-limited events of this worker omitted since the last one logged |
//!
//! Keys, tickets, session IDs and plaintext are never logged. Values that a client chooses
//! (`server_name`, `alpn`) must be recorded in `Debug` format (`?name`), which escapes control
//! characters, so that no client can inject a log line.
//!
//! Events that clients can cause at will are rate limited by [`LogRateLimit`].

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;

/// The output format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Human-readable: time, level, message, fields; coloured on a terminal.
    #[default]
    Text,
    /// One JSON object per line: `timestamp`, `level`, `message`, `target` and the event's fields.
    Json,
}

impl std::str::FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            other => Err(format!("unknown log format `{other}`: must be `text` or `json`")),
        }
    }
}

/// Parses a log level: `off`, `error`, `warn`, `info`, `debug` or `trace`.
///
/// # Errors
///
/// If `text` is not one of these levels.
pub fn level(text: &str) -> Result<LevelFilter, String> {
    let known = ["off", "error", "warn", "info", "debug", "trace"];
    // `LevelFilter` would also accept numbers.
    let level = known.contains(&text).then(|| text.parse().ok()).flatten();
    level.ok_or_else(|| format!("unknown log level `{text}`: must be one of {}", known.join(", ")))
}

/// Initializes logging to standard error.
///
/// # Errors
///
/// If logging is initialized already.
pub fn start(format: Format, level: LevelFilter) -> io::Result<()> {
    let colours = io::stderr().is_terminal();
    tracing::subscriber::set_global_default(subscriber(format, level, colours, io::stderr))
        .map_err(io::Error::other)
}

fn subscriber<W>(
    format: Format,
    level: LevelFilter,
    colours: bool,
    writer: W,
) -> Box<dyn tracing::Subscriber + Send + Sync>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let common = tracing_subscriber::fmt().with_max_level(level).with_writer(writer);
    match format {
        Format::Text => Box::new(common.with_ansi(colours).finish()),
        Format::Json => Box::new(
            common
                .with_ansi(false)
                .json()
                .flatten_event(true)
                .with_current_span(false)
                .with_span_list(false)
                .finish(),
        ),
    }
}

/// A rate limit that admits the first events of each second and counts the suppressed ones.
///
/// Each worker has one limit for all its rate-limited events, so no cache line is contended. The
/// number of suppressed events is returned with the first event of a later second, or by
/// [`LogRateLimit::take_suppressed`].
#[derive(Debug)]
pub struct LogRateLimit {
    per_second: u32,
    start: Instant,
    /// The current second since `start` (high half), and the events in that second (low half).
    window: AtomicU64,
    suppressed: AtomicU64,
}

impl LogRateLimit {
    /// Admits `per_second` events per second.
    #[must_use]
    pub fn new(per_second: u32) -> Self {
        Self::starting(per_second, Instant::now())
    }

    fn starting(per_second: u32, start: Instant) -> Self {
        Self { per_second, start, window: AtomicU64::new(0), suppressed: AtomicU64::new(0) }
    }

    /// Admits or suppresses an event. Returns the number of events suppressed since the last
    /// admitted event, or `None` if this event is suppressed.
    #[must_use]
    pub fn admit(&self, now: Instant) -> Option<u64> {
        let second = self.second(now);
        let next = |window: u64| {
            let (of, seen) = (window >> 32, window & COUNT);
            let seen = if of == second { seen.saturating_add(1).min(COUNT) } else { 1 };
            Some((second << 32) | seen)
        };
        let before = self.window.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        // The closure always returns `Some`, so the previous value is returned in both cases.
        let before = before.unwrap_or_else(|before| before);
        let seen = if before >> 32 == second { before & COUNT } else { 0 };
        if seen < u64::from(self.per_second) {
            return Some(self.suppressed.swap(0, Ordering::Relaxed));
        }
        self.suppressed.fetch_add(1, Ordering::Relaxed);
        None
    }

    /// Returns the number of events that were suppressed in past seconds, if any, and resets it. A
    /// caller can thus log the number even if no further event occurs.
    #[must_use]
    pub fn take_suppressed(&self, now: Instant) -> Option<u64> {
        if self.window.load(Ordering::Relaxed) >> 32 == self.second(now) {
            return None;
        }
        Some(self.suppressed.swap(0, Ordering::Relaxed)).filter(|suppressed| *suppressed > 0)
    }

    /// The second of `now` since `start`, truncated to 32 bits, which wrap around after 136 years.
    fn second(&self, now: Instant) -> u64 {
        now.checked_duration_since(self.start).unwrap_or(Duration::ZERO).as_secs() & COUNT
    }
}

const COUNT: u64 = u32::MAX as u64;

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(format: Format, level: LevelFilter, events: impl FnOnce()) -> String {
        let lines = Lines::default();
        let writer = lines.clone();
        let subscriber = subscriber(format, level, false, move || writer.clone());
        tracing::subscriber::with_default(subscriber, events);
        let bytes = lines.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn json_log_is_one_flat_object_per_line() {
        let text = logged(Format::Json, LevelFilter::INFO, || {
            tracing::info!(client = "192.0.2.1:7", received = 12_u64, "closed");
            tracing::debug!("left out");
        });
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 1, "{text}");
        assert_eq!(lines[0]["level"], "INFO");
        assert_eq!(lines[0]["message"], "closed");
        assert_eq!(lines[0]["client"], "192.0.2.1:7");
        assert_eq!(lines[0]["received"], 12);
        assert!(lines[0]["timestamp"].as_str().unwrap().ends_with('Z'));
    }

    #[test]
    fn client_cannot_inject_log_lines() {
        for format in [Format::Text, Format::Json] {
            let text = logged(format, LevelFilter::INFO, || {
                tracing::info!(server_name = ?"evil\n2026 INFO all is well\u{1b}[2J", "handshake");
            });
            assert_eq!(text.lines().count(), 1, "{text}");
            assert!(!text.contains('\u{1b}'), "{text}");
        }
    }

    #[test]
    fn levels_and_formats_are_parsed() {
        assert_eq!(level("warn"), Ok(LevelFilter::WARN));
        assert_eq!(level("off"), Ok(LevelFilter::OFF));
        assert!(level("3").unwrap_err().contains("`3`"));
        assert!(level("loud").unwrap_err().contains("debug"));
        assert_eq!("json".parse(), Ok(Format::Json));
        assert!("xml".parse::<Format>().unwrap_err().contains("xml"));
    }

    #[test]
    fn excess_events_of_a_second_are_counted() {
        let start = Instant::now();
        let limit = LogRateLimit::starting(3, start);
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        let admitted: Vec<_> = (0..10).map(|each| limit.admit(at(each))).collect();
        assert_eq!(admitted.iter().flatten().count(), 3);
        assert_eq!(limit.take_suppressed(at(999)), None, "the second is not over");
        assert_eq!(limit.admit(at(1000)), Some(7));
        assert_eq!(limit.admit(at(1001)), Some(0));
        assert_eq!(limit.take_suppressed(at(2000)), None, "nothing was left out since");
    }

    #[test]
    fn suppressed_count_is_reported_after_the_flood() {
        let start = Instant::now();
        let limit = LogRateLimit::starting(1, start);
        for _ in 0..1000 {
            let _ = limit.admit(start);
        }
        let later = start + Duration::from_secs(5);
        assert_eq!(limit.take_suppressed(later), Some(999));
        assert_eq!(limit.take_suppressed(later), None);
        assert_eq!(limit.admit(later), Some(0));
    }

    #[test]
    fn limit_of_zero_admits_nothing() {
        let limit = LogRateLimit::new(0);
        assert_eq!(limit.admit(Instant::now()), None);
    }

    #[test]
    fn rate_limit_is_shared_between_threads() {
        let start = Instant::now();
        let limit = LogRateLimit::starting(10, start);
        let admitted: usize = std::thread::scope(|scope| {
            let each = || (0..1000).filter_map(|_| limit.admit(start)).count();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(each)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(admitted, 10);
        assert_eq!(limit.take_suppressed(start + Duration::from_secs(1)), Some(3990));
    }
}
