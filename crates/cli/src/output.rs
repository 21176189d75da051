//! Standard output.

use std::fmt::Write as _;
use std::io::{self, Write};

use anyhow::{Result, anyhow};

use crate::explain;

/// Writes text to standard output.
pub(crate) fn print(text: impl AsRef<[u8]>) -> Result<()> {
    let mut output = io::stdout().lock();
    let written = output.write_all(text.as_ref()).and_then(|()| output.flush());
    written.map_err(|error| write_error(&error))
}

/// The error of writing to standard output.
pub(crate) fn write_error(error: &io::Error) -> anyhow::Error {
    anyhow!("cannot write to standard output: {}", explain::io_error(error))
}

/// Rows of a key and a value, with the values in one column.
pub(crate) fn aligned(rows: &[(&str, String)]) -> String {
    let width = rows.iter().map(|(key, _)| key.len()).max().unwrap_or_default();
    let mut text = String::new();
    for (key, value) in rows {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{key:width$}  {value}");
    }
    text.truncate(text.trim_end().len());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_in_one_column() {
        let text =
            aligned(&[("version", "TLS 1.3".to_owned()), ("tcp-connect", "1 ms".to_owned())]);
        assert_eq!(text, "version      TLS 1.3\ntcp-connect  1 ms");
    }
}
