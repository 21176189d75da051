//! Files that hold secrets.
//!
//! Must not know: what the secrets are for. Next: [`crate::secret`], [`crate::ticket_keys`].

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use zeroize::Zeroizing;

use crate::error::FleetError;

/// What is in the file, if nobody can read it who should not.
pub(crate) fn read_private(path: &Path) -> Result<Zeroizing<Vec<u8>>, FleetError> {
    let failed = |error| FleetError::File(path.to_owned(), error);
    let file = open(path).map_err(failed)?;
    // Of the file that is open, not of the one that has the name by now.
    let about = file.metadata().map_err(failed)?;
    if !about.is_file() {
        return Err(FleetError::Content(path.to_owned(), "not a file"));
    }
    if is_exposed(&about) {
        return Err(FleetError::Exposed(path.to_owned()));
    }
    // With room for all, so that growing leaves no copy behind.
    let mut content = Zeroizing::new(Vec::with_capacity(LONGEST));
    let most = u64::try_from(LONGEST).unwrap_or(u64::MAX);
    file.take(most).read_to_end(&mut content).map_err(failed)?;
    if content.len() >= LONGEST {
        return Err(FleetError::Content(path.to_owned(), "too long"));
    }
    Ok(content)
}

/// A pipe must not stop who reads it for good.
#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    File::options().read(true).custom_flags(nix::fcntl::OFlag::O_NONBLOCK.bits()).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Whether others than a file's owner and group can read it, or others than its owner change it: then it is no place
/// for a secret. Only Unix tells.
#[cfg(unix)]
#[must_use]
pub fn is_exposed(about: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    const GROUP_WRITES: u32 = 0o020;
    const OTHERS: u32 = 0o007;
    about.mode() & (GROUP_WRITES | OTHERS) != 0
}

/// Whether others can read a file: only Unix tells.
#[cfg(not(unix))]
#[must_use]
pub fn is_exposed(_: &std::fs::Metadata) -> bool {
    false
}

/// Bytes of a file that are read.
const LONGEST: usize = 1 << 14;

#[cfg(all(test, unix))]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use nix::sys::stat::Mode;

    use super::*;

    #[test]
    fn a_pipe_is_no_file_and_is_not_waited_for() {
        let name = format!("tercel-fleet-pipe-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        nix::unistd::mkfifo(&path, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
        let (told, telling) = mpsc::channel();
        let pipe = path.clone();
        std::thread::spawn(move || told.send(read_private(&pipe).map(drop)));
        let read = telling.recv_timeout(Duration::from_secs(10));
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(read.unwrap(), Err(FleetError::Content(_, "not a file"))));
    }
}
