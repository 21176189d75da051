//! A file of sessions, kept between runs of the program.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use tercel::session::ClientMemoryStore;

use crate::credential_files;

/// The sessions of a file, in memory until they are saved.
#[derive(Debug)]
pub(crate) struct SessionFile {
    file: PathBuf,
    pub(crate) store: Arc<ClientMemoryStore>,
}

impl SessionFile {
    /// Reads the file; a missing file holds no sessions.
    pub(crate) fn open(file: &Path) -> Result<Self> {
        let store = match fs::read(file) {
            Ok(bytes) => {
                let store = ClientMemoryStore::from_bytes(&bytes, SERVERS, SESSIONS_EACH);
                store.map_err(|error| {
                    let name = credential_files::display_name(file);
                    anyhow!(
                        "{name}: does not contain sessions of this version: {error}; \
                         name another file, or remove it"
                    )
                })?
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                ClientMemoryStore::new(SERVERS, SESSIONS_EACH)
            }
            Err(error) => return Err(error).with_context(|| credential_files::display_name(file)),
        };
        Ok(Self { file: file.to_owned(), store: Arc::new(store) })
    }

    /// Writes the current sessions. A used ticket is removed even if the connection failed.
    pub(crate) fn save(&self) -> Result<()> {
        credential_files::write_private(&self.file, &self.store.to_bytes())
    }
}

const SERVERS: usize = 256;
const SESSIONS_EACH: usize = 4;
