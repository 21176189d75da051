//! Standard output.

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
