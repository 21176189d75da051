//! A table of the configuration, read key by key: each value of the right kind, each key known.
//!
//! Must not know: what the keys mean. Next: [`super::parse`], which asks for them.

use std::time::Duration;

use toml::{Table, Value};

use super::fault::Fault;

/// What is not read yet of one table, and where the table stands.
#[derive(Debug)]
pub(crate) struct Keys {
    place: Place,
    table: Table,
    known: Vec<&'static str>,
    was_empty: bool,
}

/// Where something stands in the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    source: String,
    /// With the dot behind it; empty for the whole.
    prefix: String,
    /// Keys are named as the options they come from.
    options: bool,
}

impl Place {
    /// The whole file of this name.
    pub(crate) fn file(name: &str) -> Self {
        Self { source: name.to_owned(), prefix: String::new(), options: false }
    }

    /// What was given as options.
    pub(crate) fn command_line() -> Self {
        Self { source: "command line".to_owned(), prefix: String::new(), options: true }
    }

    /// What is wrong with this key.
    pub(crate) fn fault(&self, key: &str, reason: impl Into<String>) -> Fault {
        let key = format!("{}{key}", self.prefix);
        let key = if self.options { option(&key) } else { key };
        Fault { source: self.source.clone(), key, reason: reason.into() }
    }

    /// What is wrong with the table as such.
    pub(crate) fn whole_fault(&self, reason: impl Into<String>) -> Fault {
        let key = if self.options { "" } else { self.prefix.trim_end_matches('.') };
        Fault { source: self.source.clone(), key: key.to_owned(), reason: reason.into() }
    }

    fn below(&self, key: &str) -> Self {
        Self { prefix: format!("{}{key}.", self.prefix), ..self.clone() }
    }
}

/// The option that a key comes from.
fn option(key: &str) -> String {
    let key = key.strip_prefix("listener[0].").unwrap_or(key);
    let name = match key.split('[').next().unwrap_or(key) {
        "address" => "listen",
        "certificates" => "cert-dir",
        "certificate" => "cert",
        "admin.address" => "admin",
        "log.format" => "log",
        "log.level" => "log-level",
        other => other,
    };
    format!("--{name}")
}

impl Keys {
    pub(crate) fn new(place: Place, table: Table) -> Self {
        let was_empty = table.is_empty();
        Self { place, table, known: Vec::new(), was_empty }
    }

    /// Nothing was said here at all.
    pub(crate) fn was_empty(&self) -> bool {
        self.was_empty
    }

    /// Where this table stands.
    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    pub(crate) fn fault(&self, key: &str, reason: impl Into<String>) -> Fault {
        self.place.fault(key, reason)
    }

    pub(crate) fn string(&mut self, key: &'static str) -> Result<Option<String>, Fault> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::String(text)) if text.is_empty() => Err(self.fault(key, "is empty")),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong_kind(key, "a string", &other)),
        }
    }

    /// A list of strings, or a string alone.
    pub(crate) fn strings(&mut self, key: &'static str) -> Result<Option<Vec<String>>, Fault> {
        let list = match self.take(key) {
            None => return Ok(None),
            Some(Value::Array(list)) => list,
            Some(one @ Value::String(_)) => vec![one],
            Some(other) => return Err(self.wrong_kind(key, "a string or a list of them", &other)),
        };
        let mut strings = Vec::with_capacity(list.len());
        for (at, value) in list.into_iter().enumerate() {
            match value {
                Value::String(text) if text.is_empty() => {
                    return Err(self.fault(&format!("{key}[{at}]"), "is empty"));
                }
                Value::String(text) => strings.push(text),
                other => return Err(self.wrong_kind(&format!("{key}[{at}]"), "a string", &other)),
            }
        }
        Ok(Some(strings))
    }

    pub(crate) fn flag(&mut self, key: &'static str) -> Result<Option<bool>, Fault> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Boolean(flag)) => Ok(Some(flag)),
            Some(other) => Err(self.wrong_kind(key, "true or false", &other)),
        }
    }

    /// A whole number from `least` to `most`.
    pub(crate) fn whole(
        &mut self,
        key: &'static str,
        least: u32,
        most: u32,
    ) -> Result<Option<u32>, Fault> {
        let outside = format!("must be a whole number from {least} to {most}");
        match self.take(key) {
            None => Ok(None),
            Some(Value::Integer(number)) => match u32::try_from(number) {
                Ok(number) if (least..=most).contains(&number) => Ok(Some(number)),
                _ => Err(self.fault(key, format!("{number} {outside}"))),
            },
            Some(other) => Err(self.wrong_kind(key, &outside, &other)),
        }
    }

    /// Seconds, whole or not, from `least` to `most`.
    pub(crate) fn seconds(
        &mut self,
        key: &'static str,
        least: f64,
        most: f64,
    ) -> Result<Option<Duration>, Fault> {
        let must = format!("must be a number of seconds from {least} to {most}");
        let seconds = match self.take(key) {
            None => return Ok(None),
            // More than a u32 is more than `most`.
            Some(Value::Integer(whole)) => u32::try_from(whole).map_or(-1.0, f64::from),
            Some(Value::Float(seconds)) => seconds,
            Some(other) => return Err(self.wrong_kind(key, &must, &other)),
        };
        match Duration::try_from_secs_f64(seconds) {
            Ok(duration) if (least..=most).contains(&seconds) => Ok(Some(duration)),
            _ => Err(self.fault(key, must)),
        }
    }

    /// One of these words.
    pub(crate) fn word<T: Copy>(
        &mut self,
        key: &'static str,
        words: &[(&str, T)],
    ) -> Result<Option<T>, Fault> {
        let Some(text) = self.string(key)? else { return Ok(None) };
        match words.iter().find(|(word, _)| *word == text) {
            Some((_, meaning)) => Ok(Some(*meaning)),
            None => {
                let all: Vec<_> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
                Err(self.fault(key, format!("\"{text}\" must be one of {}", all.join(", "))))
            }
        }
    }

    /// The table of this name, which may be absent.
    pub(crate) fn table(&mut self, key: &'static str) -> Result<Self, Fault> {
        match self.take(key) {
            None => Ok(Self::new(self.place.below(key), Table::new())),
            Some(Value::Table(table)) => Ok(Self::new(self.place.below(key), table)),
            Some(other) => Err(self.wrong_kind(key, "a table", &other)),
        }
    }

    /// The tables of this name, as `[[listener]]`.
    pub(crate) fn tables(&mut self, key: &'static str) -> Result<Vec<Self>, Fault> {
        let list = match self.take(key) {
            None => return Ok(Vec::new()),
            Some(Value::Array(list)) => list,
            Some(Value::Table(_)) => {
                return Err(self.fault(key, format!("must be written [[{key}]]")));
            }
            Some(other) => return Err(self.wrong_kind(key, "a list of tables", &other)),
        };
        let mut tables = Vec::with_capacity(list.len());
        for (at, value) in list.into_iter().enumerate() {
            let name = format!("{key}[{at}]");
            match value {
                Value::Table(table) => tables.push(Self::new(self.place.below(&name), table)),
                other => return Err(self.wrong_kind(&name, "a table", &other)),
            }
        }
        Ok(tables)
    }

    /// All was read: what is left is known to nobody.
    pub(crate) fn finish(&self) -> Result<(), Fault> {
        let Some(key) = self.table.keys().next() else { return Ok(()) };
        let known = self.known.join(", ");
        Err(self.fault(key, format!("no such key here; there are {known}")))
    }

    fn take(&mut self, key: &'static str) -> Option<Value> {
        self.known.push(key);
        self.table.remove(key)
    }

    fn wrong_kind(&self, key: &str, expected: &str, found: &Value) -> Fault {
        self.fault(key, format!("must be {}, not {}", trimmed(expected), kind(found)))
    }
}

fn trimmed(expected: &str) -> &str {
    expected.strip_prefix("must be ").unwrap_or(expected)
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "a string",
        Value::Integer(_) => "a whole number",
        Value::Float(_) => "a number",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date",
        Value::Array(_) => "a list",
        Value::Table(_) => "a table",
    }
}
