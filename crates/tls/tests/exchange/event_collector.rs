//! A subscriber of `tracing` that collects the events of a thread.

use std::fmt::Debug;
use std::sync::{Arc, LazyLock, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{DefaultGuard, Interest, set_default};
use tracing::{Dispatch, Event, Level, Metadata, Subscriber};

/// A second subscriber, which no thread uses. While only one subscriber exists, `tracing` asks that
/// of the thread which first reaches an event whether it collects the event, and remembers the
/// answer for all threads. Threads of other tests have none.
static ANOTHER: LazyLock<Dispatch> =
    LazyLock::new(|| Dispatch::new(Collecting { level: Level::ERROR, events: Arc::default() }));

/// Collects the events of this thread from its creation on.
pub(crate) struct Collector {
    events: Arc<Mutex<Vec<Collected>>>,
    _until: DefaultGuard,
}

/// An event. `fields` includes the message, whose name is `message`, and has the order of the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Collected {
    pub(crate) level: Level,
    pub(crate) target: String,
    pub(crate) fields: Vec<(&'static str, String)>,
}

impl Collector {
    /// Collects events down to this level.
    pub(crate) fn new(level: Level) -> Self {
        LazyLock::force(&ANOTHER);
        let events = Arc::default();
        let until = set_default(Collecting { level, events: Arc::clone(&events) });
        Self { events, _until: until }
    }

    /// Takes the events that were collected until now.
    pub(crate) fn take(&self) -> Vec<Collected> {
        std::mem::take(&mut self.events.lock().unwrap())
    }
}

impl Collected {
    /// The value of a field, if the event has it.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let field = self.fields.iter().find(|(known, _)| *known == name)?;
        Some(&field.1)
    }

    pub(crate) fn message(&self) -> &str {
        self.get("message").unwrap()
    }
}

struct Collecting {
    level: Level,
    events: Arc<Mutex<Vec<Collected>>>,
}

impl Subscriber for Collecting {
    /// Other threads have other subscribers, so that each event is a new decision.
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("tercel::") && *metadata.level() <= self.level
    }

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(Vec::new());
        event.record(&mut fields);
        let (level, target) = (*event.metadata().level(), event.metadata().target().to_owned());
        self.events.lock().unwrap().push(Collected { level, target, fields: fields.0 });
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Fields(Vec<(&'static str, String)>);

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.push((field.name(), value.to_owned()));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.push((field.name(), format!("{value:?}")));
    }
}
