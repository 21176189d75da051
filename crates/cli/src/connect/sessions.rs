//! Sessions that outlive the program: a file they are read from and written back to.
//!
//! Must not know: what is in a session. Next: [`super`].

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use tercel::ClientMemoryStore;

use crate::material;

/// The sessions of a file, in memory until they are saved.
#[derive(Debug)]
pub(crate) struct SessionFile {
    file: PathBuf,
    pub(crate) store: Arc<ClientMemoryStore>,
}

impl SessionFile {
    /// Reads the file; without it there are no sessions yet.
    pub(crate) fn open(file: &Path) -> Result<Self> {
        let store = match fs::read(file) {
            Ok(bytes) => {
                let store = ClientMemoryStore::from_bytes(&bytes, SERVERS, SESSIONS_EACH);
                store.with_context(|| material::name(file))?
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                ClientMemoryStore::new(SERVERS, SESSIONS_EACH)
            }
            Err(error) => return Err(error).with_context(|| material::name(file)),
        };
        Ok(Self { file: file.to_owned(), store: Arc::new(store) })
    }

    /// Writes what there is now: a ticket that was used is gone, also if the connection failed.
    pub(crate) fn save(&self) -> Result<()> {
        material::write_private(&self.file, &self.store.to_bytes())
    }
}

const SERVERS: usize = 256;
const SESSIONS_EACH: usize = 4;
