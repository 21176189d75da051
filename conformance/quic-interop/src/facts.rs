//! What an endpoint observed of one connection, as a line of its output.

use std::collections::BTreeMap;
use std::fmt;

/// The facts of one connection, by name. A program prints those that it knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts(BTreeMap<String, String>);

impl Facts {
    pub(crate) fn set(&mut self, name: &str, value: impl fmt::Display) {
        self.0.insert(name.to_owned(), value.to_string());
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }

    /// The facts in a line of the form `connection name=value ...`.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let words = line.trim().strip_prefix("connection ")?.split_whitespace();
        let pairs = words.filter_map(|word| word.split_once('='));
        Some(Self(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()))
    }
}

impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("connection")?;
        self.0.iter().try_for_each(|(name, value)| write!(f, " {name}={value}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_all_facts() {
        let mut facts = Facts::default();
        facts.set("resumed", 1);
        facts.set("protocol", "h3");
        assert_eq!(facts.to_string(), "connection protocol=h3 resumed=1");
        assert_eq!(Facts::parse(&facts.to_string()), Some(facts));
        assert_eq!(Facts::parse("something else"), None);
    }
}
