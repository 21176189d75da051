//! Key logs in the NSS format, which network analysers read.
//!
//! The application has to configure a log; no environment variable enables one.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::PoisonError;

use tercel_crypto::lock::Mutex;

/// A receiver of the secrets of connections, with the labels of the NSS key log format. For
/// debugging only: the secrets suffice to decrypt the connections.
pub trait KeyLog: Send + Sync {
    /// Logs one secret of the connection that `client_random` identifies.
    fn log(&self, label: &str, client_random: &[u8; 32], secret: &[u8]);
}

/// A key log file. Its content suffices to decrypt the connections.
#[derive(Debug)]
pub struct KeyLogFile {
    file: Mutex<File>,
}

impl KeyLogFile {
    /// Opens or creates the file, to which secrets are appended. On Unix, only the owner can read a
    /// new file. The permissions of an existing file are not changed.
    ///
    /// # Errors
    /// If the file cannot be opened or created.
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
        // A failure to write the log must not end the connection.
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
    fn a_new_file_is_readable_only_by_its_owner() {
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
