//! Logs: one line for each event, as text for people or as JSON for machines, on standard error.
//!
//! # Fields
//!
//! Events of a connection carry these, as far as they are known:
//!
//! | field | what it is |
//! |---|---|
//! | `listener` | the address that was connected to |
//! | `client` | the client's address, after a PROXY header the one it names |
//! | `server_name` | the name that the client asked for |
//! | `version`, `suite`, `group`, `alpn` | what was agreed |
//! | `resumed`, `early_data` | whether an earlier session was resumed, and early data accepted |
//! | `backend` | where the connection went |
//! | `received`, `sent` | bytes of plaintext from and to the client |
//! | `milliseconds` | how long it took |
//! | `error` | why it failed |
//!
//! Keys, tickets, session ids and plaintext are never logged. What a client chooses (`server_name`, `alpn`) is to be recorded by
//! its `Debug` form (`?name`), which escapes control characters: then no client can begin a line of its own.
//!
//! # Floods
//!
//! A thousand bad clients a second must not become a thousand lines: see [`Repeats`].
//!
//! Must not know: what is logged. Next: [`crate::metrics`], which counts what is left out here.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;

/// How an event is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// For people: time, level, text, fields. Coloured on a terminal.
    #[default]
    Text,
    /// One JSON object on each line: `timestamp`, `level`, `message`, `target`, and the fields beside them.
    Json,
}

impl std::str::FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            other => Err(format!("`{other}` is neither `text` nor `json`")),
        }
    }
}

/// Least weighty events that are logged: `off`, `error`, `warn`, `info`, `debug` or `trace`.
///
/// # Errors
/// If it is none of these words.
pub fn level(text: &str) -> Result<LevelFilter, String> {
    let known = ["off", "error", "warn", "info", "debug", "trace"];
    // Numbers, which the type would take as well, say nothing to a reader.
    let level = known.contains(&text).then(|| text.parse().ok()).flatten();
    level.ok_or_else(|| format!("`{text}` is none of {}", known.join(", ")))
}

/// Logs to standard error from now on.
///
/// # Errors
/// If the process logs already.
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

/// Lets the first so many events of each second through and counts the rest.
///
/// One for each worker and kind of event: then nothing is shared. The count comes with the first event of a later second, or from
/// [`Repeats::rest`] when none comes.
#[derive(Debug)]
pub struct Repeats {
    a_second: u32,
    start: Instant,
    /// The second since `start` in the upper half, how many events it has had in the lower.
    window: AtomicU64,
    left_out: AtomicU64,
}

impl Repeats {
    /// Lets `a_second` events through each second.
    #[must_use]
    pub fn new(a_second: u32) -> Self {
        Self::starting(a_second, Instant::now())
    }

    fn starting(a_second: u32, start: Instant) -> Self {
        Self { a_second, start, window: AtomicU64::new(0), left_out: AtomicU64::new(0) }
    }

    /// Whether to log an event now: with how many were left out since the last that was, or `None` if it is to be left out.
    #[must_use]
    pub fn admit(&self, now: Instant) -> Option<u64> {
        let second = self.second(now);
        let next = |window: u64| {
            let (of, seen) = (window >> 32, window & COUNT);
            let seen = if of == second { seen.saturating_add(1).min(COUNT) } else { 1 };
            Some((second << 32) | seen)
        };
        let before = self.window.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        // The update never declines, so both arms hold what was before.
        let before = before.unwrap_or_else(|before| before);
        let seen = if before >> 32 == second { before & COUNT } else { 0 };
        if seen < u64::from(self.a_second) {
            return Some(self.left_out.swap(0, Ordering::Relaxed));
        }
        self.left_out.fetch_add(1, Ordering::Relaxed);
        None
    }

    /// How many were left out in seconds that are over, if any: for a line after the flood. Those are counted no second time.
    #[must_use]
    pub fn rest(&self, now: Instant) -> Option<u64> {
        if self.window.load(Ordering::Relaxed) >> 32 == self.second(now) {
            return None;
        }
        Some(self.left_out.swap(0, Ordering::Relaxed)).filter(|left_out| *left_out > 0)
    }

    /// Cut to half a word: it turns over after 136 years.
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
    fn json_is_one_object_a_line_with_the_fields_beside_the_message() {
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
    fn no_client_begins_a_line_of_its_own() {
        for format in [Format::Text, Format::Json] {
            let text = logged(format, LevelFilter::INFO, || {
                tracing::info!(server_name = ?"evil\n2026 INFO all is well\u{1b}[2J", "handshake");
            });
            assert_eq!(text.lines().count(), 1, "{text}");
            assert!(!text.contains('\u{1b}'), "{text}");
        }
    }

    #[test]
    fn levels_and_formats_are_words() {
        assert_eq!(level("warn"), Ok(LevelFilter::WARN));
        assert_eq!(level("off"), Ok(LevelFilter::OFF));
        assert!(level("3").unwrap_err().contains("`3`"));
        assert!(level("loud").unwrap_err().contains("debug"));
        assert_eq!("json".parse(), Ok(Format::Json));
        assert!("xml".parse::<Format>().unwrap_err().contains("xml"));
    }

    #[test]
    fn a_flood_is_some_lines_and_a_count() {
        let start = Instant::now();
        let repeats = Repeats::starting(3, start);
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        let admitted: Vec<_> = (0..10).map(|each| repeats.admit(at(each))).collect();
        assert_eq!(admitted.iter().flatten().count(), 3);
        assert_eq!(repeats.rest(at(999)), None, "the second is not over");
        assert_eq!(repeats.admit(at(1000)), Some(7));
        assert_eq!(repeats.admit(at(1001)), Some(0));
        assert_eq!(repeats.rest(at(2000)), None, "nothing was left out since");
    }

    #[test]
    fn the_rest_is_told_when_the_flood_is_over() {
        let start = Instant::now();
        let repeats = Repeats::starting(1, start);
        for _ in 0..1000 {
            let _ = repeats.admit(start);
        }
        let later = start + Duration::from_secs(5);
        assert_eq!(repeats.rest(later), Some(999));
        assert_eq!(repeats.rest(later), None);
        assert_eq!(repeats.admit(later), Some(0));
    }

    #[test]
    fn none_a_second_is_none() {
        let repeats = Repeats::new(0);
        assert_eq!(repeats.admit(Instant::now()), None);
    }

    #[test]
    fn threads_together_get_no_more_than_one_would() {
        let start = Instant::now();
        let repeats = Repeats::starting(10, start);
        let admitted: usize = std::thread::scope(|scope| {
            let each = || (0..1000).filter_map(|_| repeats.admit(start)).count();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(each)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(admitted, 10);
        assert_eq!(repeats.rest(start + Duration::from_secs(1)), Some(3990));
    }
}
