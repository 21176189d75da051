//! A file of sessions, kept between runs of the program.

use std::fs::{File, Metadata};
use std::io::{self, Read};
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
        let store = match read(file) {
            Ok((metadata, _)) if others_may_write(&metadata) => {
                return Err(anyhow!(
                    "{}: other users can write it, and a session in it is believed in place of the \
                     server's certificate; remove it, or make it your own",
                    credential_files::display_name(file)
                ));
            }
            Ok((_, bytes)) => {
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

fn read(file: &Path) -> io::Result<(Metadata, Vec<u8>)> {
    let mut file = File::open(file)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok((file.metadata()?, bytes))
}

/// Whether another user, other than root, owns the file or can write it. Such a user could place a
/// session in the file whose key the user knows, and then answer in place of the server.
fn others_may_write(metadata: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        const GROUP_AND_OTHERS: u32 = 0o022;
        let owners = [0, nix::unistd::geteuid().as_raw()];
        metadata.mode() & GROUP_AND_OTHERS != 0 || !owners.contains(&metadata.uid())
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        false
    }
}
