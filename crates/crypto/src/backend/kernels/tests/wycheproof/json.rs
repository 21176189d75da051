//! Reads the files of vectors: JSON, without escapes in the strings that are used.

use std::collections::BTreeMap;

pub(super) enum Json {
    Object(BTreeMap<String, Json>),
    Array(Vec<Json>),
    Text(String),
    /// A number, or a word such as `true`.
    Other(String),
}

impl Json {
    pub(super) fn parse(text: &str) -> Self {
        let mut rest = text;
        let value = Self::read(&mut rest);
        assert!(rest.trim().is_empty(), "something follows the value");
        value
    }

    fn read(rest: &mut &str) -> Self {
        *rest = rest.trim_start();
        match rest.as_bytes()[0] {
            b'{' => Self::Object(
                items(rest, "}", |rest| {
                    let name = text(rest);
                    take(rest, ":");
                    (name, Self::read(rest))
                })
                .into_iter()
                .collect(),
            ),
            b'[' => Self::Array(items(rest, "]", Self::read)),
            b'"' => Self::Text(text(rest)),
            _ => {
                let end = rest.find([',', '}', ']']).unwrap();
                let (value, after) = rest.split_at(end);
                *rest = after;
                Self::Other(value.trim().to_owned())
            }
        }
    }

    /// The field of this name, if the object has it.
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        let Self::Object(fields) = self else { panic!("not an object") };
        fields.get(name)
    }

    pub(super) fn list(&self, name: &str) -> &[Self] {
        let Some(Self::Array(items)) = self.get(name) else { panic!("no list {name}") };
        items
    }

    /// A text or a number.
    pub(super) fn text(&self, name: &str) -> &str {
        match self.get(name) {
            Some(Self::Text(text) | Self::Other(text)) => text,
            _ => panic!("no text {name}"),
        }
    }

    /// The bytes that a text has as hexadecimal digits.
    pub(super) fn bytes(&self, name: &str) -> Vec<u8> {
        let digits = self.text(name);
        let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
        (0..digits.len()).step_by(2).map(byte).collect()
    }
}

/// Items between brackets, with commas between them.
fn items<T>(rest: &mut &str, end: &str, mut item: impl FnMut(&mut &str) -> T) -> Vec<T> {
    let mut items = Vec::new();
    *rest = &rest[1..];
    while !rest.trim_start().starts_with(end) {
        if !items.is_empty() {
            take(rest, ",");
        }
        items.push(item(rest));
    }
    take(rest, end);
    items
}

fn take(rest: &mut &str, token: &str) {
    *rest = rest.trim_start().strip_prefix(token).unwrap_or_else(|| panic!("no {token}"));
}

/// A text. Escapes are kept as they are.
fn text(rest: &mut &str) -> String {
    take(rest, "\"");
    let mut is_escaped = false;
    let is_end = |character| {
        let ends = character == '"' && !is_escaped;
        is_escaped = character == '\\' && !is_escaped;
        ends
    };
    let (text, after) = rest.split_at(rest.find(is_end).unwrap());
    *rest = &after[1..];
    text.to_owned()
}

#[test]
fn values_are_read() {
    let json = Json::parse(r#" {"a": [ {"b": "00ff"}, 12, [] ], "c" : "x\"\\", "d": true } "#);
    assert_eq!(json.list("a")[0].bytes("b"), [0, 0xff]);
    assert_eq!(json.list("a").len(), 3);
    assert_eq!(json.text("c"), r#"x\"\\"#);
    assert_eq!(json.text("d"), "true");
    assert!(json.get("e").is_none());
}
