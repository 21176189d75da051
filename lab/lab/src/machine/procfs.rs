//! Reading of `/proc` and `/sys`. These files are empty on other systems than Linux.

use std::fs;
use std::path::Path;

/// The text of a file; empty if it cannot be read.
pub(super) fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// The value of a `name: value` line.
pub(super) fn field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "cpu family\t: 6\nmodel\t\t: 143\nmodel name\t: A CPU: fast\n";
        assert_eq!(field(text, "model name"), Some("A CPU: fast"));
        assert_eq!(field(text, "model"), Some("143"));
        assert_eq!(field(text, "name"), None);
    }
}
