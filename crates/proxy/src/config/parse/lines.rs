//! The line of a key in a configuration file.

use toml::de::{DeTable, DeValue};

/// The line, from 1, of a key such as `listener[0].to[1]`. If the key is missing, the line is that
/// of the innermost table that contains it; `None` if that is the whole file.
pub(super) fn line_of(text: &str, key: &str) -> Option<usize> {
    let file = DeTable::parse(text).ok()?;
    let mut table = file.get_ref();
    let mut found = None;
    for part in key.split('.') {
        let (name, index) = match part.split_once('[') {
            Some((name, index)) => (name, index.trim_end_matches(']').parse::<usize>().ok()),
            None => (part, None),
        };
        let Some((key, value)) = table.iter().find(|(key, _)| key.get_ref() == name) else { break };
        found = Some(key.span().start);
        let mut value = value;
        if let (DeValue::Array(list), Some(index)) = (value.get_ref(), index) {
            let Some(element) = list.get(index) else { break };
            found = Some(element.span().start);
            value = element;
        }
        let DeValue::Table(inner) = value.get_ref() else { break };
        table = inner;
    }
    let before = text.get(..found?)?;
    Some(before.matches('\n').count().saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_at_every_depth() {
        let text = "workers = 1\n\n[log]\nlevel = \"x\"\n\n[[listener]]\naddress = 1\nto = [\n  \
                    \"a\",\n  \"b\",\n]\n[[listener.route]]\nnames = 1\n[[listener]]\nalpn = 1\n";
        for (key, line) in [
            ("workers", Some(1)),
            ("log", Some(3)),
            ("log.level", Some(4)),
            ("listener[0].address", Some(7)),
            ("listener[0].to", Some(8)),
            ("listener[0].to[1]", Some(10)),
            ("listener[0].route[0].names", Some(13)),
            ("listener[1].alpn", Some(15)),
            // A missing key.
            ("listener[1].address", Some(14)),
            ("log.format", Some(3)),
            ("user", None),
        ] {
            assert_eq!(line_of(text, key), line, "{key}");
        }
    }
}
