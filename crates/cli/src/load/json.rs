//! A writer of JSON for the reports.

/// A JSON object under construction, with fields in the order in which they are added.
#[derive(Debug)]
pub(crate) struct Object(String);

impl Object {
    pub(crate) fn new() -> Self {
        Self(String::from("{"))
    }

    /// Adds a value that is already JSON.
    pub(crate) fn raw(mut self, key: &str, value: &str) -> Self {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push_str(&text(key));
        self.0.push(':');
        self.0.push_str(value);
        self
    }

    pub(crate) fn text(self, key: &str, value: &str) -> Self {
        self.raw(key, &text(value))
    }

    pub(crate) fn whole(self, key: &str, value: u64) -> Self {
        self.raw(key, &value.to_string())
    }

    /// Adds a number with three decimals; null if it is not finite.
    pub(crate) fn number(self, key: &str, value: f64) -> Self {
        match value.is_finite() {
            true => self.raw(key, &format!("{value:.3}")),
            false => self.raw(key, "null"),
        }
    }

    pub(crate) fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

pub(crate) fn list(values: impl Iterator<Item = String>) -> String {
    format!("[{}]", values.collect::<Vec<_>>().join(","))
}

/// A string in quotes. RFC 8259 7
fn text(value: &str) -> String {
    let mut out = String::from('"');
    for character in value.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            control if u32::from(control) < 0x20 => {
                out.push_str(&format!("\\u{:04x}", u32::from(control)));
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8259 7
    #[test]
    fn values_are_escaped_and_separated() {
        let inner = Object::new().number("x", 1.0).number("y", f64::NAN).end();
        let object = Object::new().text("a\"", "\\\n").whole("b", 7).raw("c", &inner).end();
        assert_eq!(object, r#"{"a\"":"\\\u000a","b":7,"c":{"x":1.000,"y":null}}"#);
        assert_eq!(list(["1".to_owned(), "2".to_owned()].into_iter()), "[1,2]");
        assert_eq!(list(std::iter::empty()), "[]");
    }
}
