//! A key log in a file, in the NSS format that network analysers read.
//!
//! Only what the application turns on writes here; no environment variable does.
//! Must not know: what the secrets are for. Next: `config/policy.rs`.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::config::policy::KeyLog;

/// Appends every secret to a file. Whoever reads the file reads the connections.
#[derive(Debug)]
pub struct KeyLogFile {
    file: Mutex<File>,
}

impl KeyLogFile {
    /// Opens or creates the file.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn append(path: impl AsRef<Path>) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self { file: Mutex::new(file) })
    }
}

impl KeyLog for KeyLogFile {
    fn log(&self, label: &str, client_random: &[u8; 32], secret: &[u8]) {
        let line = format!("{label} {} {}\n", hex(client_random), hex(secret));
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        // A debugging aid that cannot write must not end the connection.
        let _ = file.write_all(line.as_bytes());
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
