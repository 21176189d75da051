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
//! | `suppressed` | events of this kind and worker omitted since the last one logged |
//!
//! Keys, tickets, session IDs and plaintext are never logged. Values that a client chooses
//! (`server_name`, `alpn`) must be recorded in `Debug` format (`?name`), which escapes control
//! characters, so that no client can inject a log line.
//!
//! Events that clients can cause at will are rate limited by [`LogRateLimit`], each kind
//! separately.
//!
//! A thread that logs never waits: lines go through a queue to a thread that writes them.

mod queue;
mod rate_limit;

use std::io::{self, IsTerminal};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;

use queue::{LogQueue, QueueWriter};
pub use rate_limit::LogRateLimit;

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

/// Logging of the process. When dropped, it waits for lines that are not written yet, for a second
/// at most.
#[derive(Debug)]
#[must_use = "the last lines may be lost if it is not kept until the end"]
pub struct Logging {
    queue: Arc<LogQueue>,
    thread: JoinHandle<()>,
}

/// The queue of the process, for [`dropped_lines`].
static QUEUE: OnceLock<Arc<LogQueue>> = OnceLock::new();

/// How long the end of the process waits for standard error.
const FLUSH_TIME: Duration = Duration::from_secs(1);

/// Initializes logging to standard error, which a thread of its own writes.
///
/// Panics are logged, too: the standard library would write to standard error and might wait for
/// its reader.
///
/// # Errors
///
/// If logging is initialized already, or the thread cannot be started.
pub fn start(format: Format, level: LevelFilter) -> io::Result<Logging> {
    let (queue, thread) = LogQueue::start(io::stderr())?;
    let writer = QueueWriter(Arc::clone(&queue));
    let colours = io::stderr().is_terminal();
    tracing::subscriber::set_global_default(subscriber(format, level, colours, writer))
        .map_err(io::Error::other)?;
    let _ = QUEUE.set(Arc::clone(&queue));
    std::panic::set_hook(Box::new(log_panic));
    Ok(Logging { queue, thread })
}

/// The number of log lines that could not be written, or found no room in the queue.
#[must_use]
pub fn dropped_lines() -> u64 {
    QUEUE.get().map_or(0, |queue| queue.dropped())
}

impl Logging {
    /// Whether the thread that writes has ended, which is a defect.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }
}

impl Drop for Logging {
    fn drop(&mut self) {
        self.queue.flush(FLUSH_TIME);
    }
}

fn log_panic(info: &std::panic::PanicHookInfo<'_>) {
    let thread = std::thread::current();
    let thread = thread.name().unwrap_or("unnamed");
    let location = info.location().map(tracing::field::display);
    let payload = info.payload();
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let reason = text.or_else(|| payload.downcast_ref::<&str>().copied());
    tracing::error!(thread, location, reason, "panic");
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
    // The subscriber would report its own errors with a macro that panics if it cannot write.
    let common = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(writer)
        .log_internal_errors(false);
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
}
