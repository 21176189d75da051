//! Files that hold secrets.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use zeroize::Zeroizing;

use crate::error::FleetError;

/// Reads a file, and refuses it if it is exposed to other users.
pub(crate) fn read_private(path: &Path) -> Result<Zeroizing<Vec<u8>>, FleetError> {
    let failed = |error| FleetError::File(path.to_owned(), error);
    let file = open(path).map_err(failed)?;
    // The open file is checked, because the path may refer to another file by now.
    let about = file.metadata().map_err(failed)?;
    if !about.is_file() {
        return Err(FleetError::Content(path.to_owned(), "not a regular file"));
    }
    if is_exposed(&about) {
        return Err(FleetError::Exposed(path.to_owned()));
    }
    // The capacity suffices from the start: growing would leave copies of the secret behind.
    let mut content = Zeroizing::new(Vec::with_capacity(LONGEST));
    let most = u64::try_from(LONGEST).unwrap_or(u64::MAX);
    file.take(most).read_to_end(&mut content).map_err(failed)?;
    if content.len() >= LONGEST {
        return Err(FleetError::Content(path.to_owned(), "file too long"));
    }
    Ok(content)
}

/// Opens without blocking: opening a named pipe would otherwise wait for a writer.
#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    File::options().read(true).custom_flags(nix::fcntl::OFlag::O_NONBLOCK.bits()).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Whether a file can be read by users other than its owner and group, or written by users other
/// than its owner. Such a file must not hold secrets. Always `false` where there are no Unix
/// permissions.
#[cfg(unix)]
#[must_use]
pub fn is_exposed(about: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    const GROUP_WRITES: u32 = 0o020;
    const OTHERS: u32 = 0o007;
    about.mode() & (GROUP_WRITES | OTHERS) != 0
}

/// Always `false`: this system has no Unix permissions.
#[cfg(not(unix))]
#[must_use]
pub fn is_exposed(_: &std::fs::Metadata) -> bool {
    false
}

/// The length from which on files are refused.
const LONGEST: usize = 1 << 14;

#[cfg(all(test, unix))]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use nix::sys::stat::Mode;

    use super::*;

    #[test]
    fn a_named_pipe_is_refused_without_blocking() {
        let name = format!("tercel-fleet-pipe-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        nix::unistd::mkfifo(&path, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
        let (sender, receiver) = mpsc::channel();
        let pipe = path.clone();
        std::thread::spawn(move || sender.send(read_private(&pipe).map(drop)));
        let read = receiver.recv_timeout(Duration::from_secs(10));
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(read.unwrap(), Err(FleetError::Content(_, "not a regular file"))));
    }
}
