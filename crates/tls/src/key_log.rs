//! A key log in a file, in the NSS format that network analysers read.
//!
//! Only what the application turns on writes here; no environment variable does.
//! Must not know: what the secrets are for. Next: `config/policy.rs`.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::PoisonError;

use tercel_crypto::lock::Mutex;

use crate::config::policy::KeyLog;

/// Appends every secret to a file. Whoever reads the file reads the connections.
#[derive(Debug)]
pub struct KeyLogFile {
    file: Mutex<File>,
}

impl KeyLogFile {
    /// Opens or creates the file. On Unix a new file is for its owner alone; the rights of one that is
    /// there already stay as they are.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn append(path: impl AsRef<Path>) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Ok(Self { file: Mutex::new(options.open(path)?) })
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

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_new_file_is_for_its_owner_alone() {
        let name = format!("tercel-key-log-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        KeyLogFile::append(&path).unwrap().log("LABEL", &[1; 32], &[2; 2]);
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(mode & 0o077, 0);
        assert_eq!(text, format!("LABEL {} 0202\n", "01".repeat(32)));
    }
}
