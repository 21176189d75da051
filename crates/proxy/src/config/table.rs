//! Typed access to the keys of a TOML table, with errors for unknown keys and wrong types.

use std::time::Duration;

use toml::{Table, Value};

use super::error::ConfigError;

/// The unread keys of one table.
#[derive(Debug)]
pub(crate) struct TableReader {
    location: Location,
    table: Table,
    known: Vec<&'static str>,
    is_empty_table: bool,
    /// An error that is reported unless there is an unknown key, which may be its cause.
    deferred: Option<ConfigError>,
}

/// The location of a table in the configuration, for error messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    source: String,
    /// The path of the table with a trailing dot; empty at the top level.
    prefix: String,
    /// Whether errors name command line options instead of keys.
    options: bool,
}

impl Location {
    /// The top level of a file.
    pub(crate) fn file(name: &str) -> Self {
        Self { source: name.to_owned(), prefix: String::new(), options: false }
    }

    /// The command line.
    pub(crate) fn command_line() -> Self {
        Self { source: "command line".to_owned(), prefix: String::new(), options: true }
    }

    /// An error about this key.
    pub(crate) fn error(&self, key: &str, reason: impl Into<String>) -> ConfigError {
        let key = format!("{}{key}", self.prefix);
        let key = if self.options { option_name(&key) } else { key };
        ConfigError::new(&self.source, key, reason)
    }

    /// The path of the table, such as `listener[0].route[1]`.
    pub(crate) fn path(&self) -> &str {
        self.prefix.trim_end_matches('.')
    }

    /// An error about the table as a whole.
    pub(crate) fn table_error(&self, reason: impl Into<String>) -> ConfigError {
        let key = if self.options { "" } else { self.path() };
        ConfigError::new(&self.source, key, reason)
    }

    /// The table as it is written in the file, such as `[[listener.route]]`.
    fn header(&self) -> String {
        let path = self.path();
        let names = path.split('.').map(|part| part.split('[').next().unwrap_or(part));
        let name = names.collect::<Vec<_>>().join(".");
        match path.ends_with(']') {
            _ if path.is_empty() => "the top level".to_owned(),
            true => format!("[[{name}]]"),
            false => format!("[{name}]"),
        }
    }

    fn below(&self, key: &str) -> Self {
        Self { prefix: format!("{}{key}.", self.prefix), ..self.clone() }
    }
}

/// The command line option that sets this key.
fn option_name(key: &str) -> String {
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

impl TableReader {
    pub(crate) fn new(location: Location, table: Table) -> Self {
        let is_empty_table = table.is_empty();
        Self { location, table, known: Vec::new(), is_empty_table, deferred: None }
    }

    /// Whether the table has no keys.
    pub(crate) fn is_empty_table(&self) -> bool {
        self.is_empty_table
    }

    /// The first of these keys that the table has. Keys that were read are not found.
    pub(crate) fn first_of(&self, keys: &[&'static str]) -> Option<&'static str> {
        keys.iter().find(|key| self.table.contains_key(**key)).copied()
    }

    /// The location of this table.
    pub(crate) fn location(&self) -> &Location {
        &self.location
    }

    pub(crate) fn error(&self, key: &str, reason: impl Into<String>) -> ConfigError {
        self.location.error(key, reason)
    }

    pub(crate) fn string(&mut self, key: &'static str) -> Result<Option<String>, ConfigError> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::String(text)) if text.is_empty() => Err(self.error(key, "is empty")),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.type_error(key, "a string", &other)),
        }
    }

    /// Reads a list of strings, or one string.
    pub(crate) fn strings(
        &mut self,
        key: &'static str,
    ) -> Result<Option<Vec<String>>, ConfigError> {
        let list = match self.take(key) {
            None => return Ok(None),
            Some(Value::Array(list)) => list,
            Some(one @ Value::String(_)) => vec![one],
            Some(other) => return Err(self.type_error(key, "a string or a list of them", &other)),
        };
        let mut strings = Vec::with_capacity(list.len());
        for (at, value) in list.into_iter().enumerate() {
            match value {
                Value::String(text) if text.is_empty() => {
                    return Err(self.error(&format!("{key}[{at}]"), "is empty"));
                }
                Value::String(text) => strings.push(text),
                other => return Err(self.type_error(&format!("{key}[{at}]"), "a string", &other)),
            }
        }
        Ok(Some(strings))
    }

    pub(crate) fn boolean(&mut self, key: &'static str) -> Result<Option<bool>, ConfigError> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Boolean(flag)) => Ok(Some(flag)),
            Some(other) => Err(self.type_error(key, "true or false", &other)),
        }
    }

    /// Reads an integer from `least` to `most`.
    pub(crate) fn integer(
        &mut self,
        key: &'static str,
        least: u32,
        most: u32,
    ) -> Result<Option<u32>, ConfigError> {
        let outside = format!("must be a whole number from {least} to {most}");
        match self.take(key) {
            None => Ok(None),
            Some(Value::Integer(number)) => match u32::try_from(number) {
                Ok(number) if (least..=most).contains(&number) => Ok(Some(number)),
                _ => Err(self.error(key, format!("{number} {outside}"))),
            },
            Some(other) => Err(self.type_error(key, &outside, &other)),
        }
    }

    /// Reads a duration in seconds, possibly fractional, from `least` to `most`.
    pub(crate) fn seconds(
        &mut self,
        key: &'static str,
        least: f64,
        most: f64,
    ) -> Result<Option<Duration>, ConfigError> {
        let must = format!("must be a number of seconds from {least} to {most}");
        let seconds = match self.take(key) {
            None => return Ok(None),
            // A value out of range for u32 exceeds `most`.
            Some(Value::Integer(whole)) => u32::try_from(whole).map_or(-1.0, f64::from),
            Some(Value::Float(seconds)) => seconds,
            Some(other) => return Err(self.type_error(key, &must, &other)),
        };
        match Duration::try_from_secs_f64(seconds) {
            Ok(duration) if (least..=most).contains(&seconds) => Ok(Some(duration)),
            _ => Err(self.error(key, must)),
        }
    }

    /// Reads a string that must be one of these keywords.
    pub(crate) fn keyword<T: Copy>(
        &mut self,
        key: &'static str,
        words: &[(&str, T)],
    ) -> Result<Option<T>, ConfigError> {
        let Some(text) = self.string(key)? else { return Ok(None) };
        match words.iter().find(|(word, _)| *word == text) {
            Some((_, meaning)) => Ok(Some(*meaning)),
            None => {
                let all: Vec<_> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
                Err(self.error(key, format!("\"{text}\" must be one of {}", all.join(", "))))
            }
        }
    }

    /// Reads a subtable; a missing table counts as empty.
    pub(crate) fn table(&mut self, key: &'static str) -> Result<Self, ConfigError> {
        match self.take(key) {
            None => Ok(Self::new(self.location.below(key), Table::new())),
            Some(Value::Table(table)) => Ok(Self::new(self.location.below(key), table)),
            Some(other) => Err(self.type_error(key, "a table", &other)),
        }
    }

    /// Reads an array of tables, such as `[[listener]]`.
    pub(crate) fn tables(&mut self, key: &'static str) -> Result<Vec<Self>, ConfigError> {
        let list = match self.take(key) {
            None => return Ok(Vec::new()),
            Some(Value::Array(list)) => list,
            Some(Value::Table(_)) => {
                return Err(self.error(key, format!("must be written [[{key}]]")));
            }
            Some(other) => return Err(self.type_error(key, "a list of tables", &other)),
        };
        let mut tables = Vec::with_capacity(list.len());
        for (at, value) in list.into_iter().enumerate() {
            let name = format!("{key}[{at}]");
            match value {
                Value::Table(table) => tables.push(Self::new(self.location.below(&name), table)),
                other => return Err(self.type_error(&name, "a table", &other)),
            }
        }
        Ok(tables)
    }

    /// Records that a key is missing. [`Self::finish`] reports it unless there is an unknown key:
    /// that is probably the missing key, misspelt.
    pub(crate) fn missing(&mut self, key: &str, reason: &str) {
        let error = self.error(key, reason);
        self.deferred.get_or_insert(error);
    }

    /// Fails if a key has not been read, which means that it is unknown, or if a key is missing.
    pub(crate) fn finish(&self) -> Result<(), ConfigError> {
        let Some(key) = self.table.keys().next() else {
            return self.deferred.clone().map_or(Ok(()), Err);
        };
        let header = self.location.header();
        let nearest = match nearest(key, &self.known) {
            Some(known) => format!(" did you mean `{known}`?"),
            None => String::new(),
        };
        let known = self.known.join(", ");
        let reason = format!("unknown key in {header};{nearest} known keys: {known}");
        Err(self.error(key, reason))
    }

    fn take(&mut self, key: &'static str) -> Option<Value> {
        self.known.push(key);
        self.table.remove(key)
    }

    fn type_error(&self, key: &str, expected: &str, found: &Value) -> ConfigError {
        self.error(key, format!("must be {}, not {}", without_must_be(expected), type_name(found)))
    }
}

/// The known key that is most similar to this one, if at least half of it is the same.
fn nearest(key: &str, known: &[&'static str]) -> Option<&'static str> {
    let similarity = |known: &str| strsim::normalized_damerau_levenshtein(key, known);
    let nearest = known.iter().copied().max_by(|a, b| similarity(a).total_cmp(&similarity(b)));
    nearest.filter(|known| similarity(known) >= 0.5)
}

fn without_must_be(expected: &str) -> &str {
    expected.strip_prefix("must be ").unwrap_or(expected)
}

fn type_name(value: &Value) -> &'static str {
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
