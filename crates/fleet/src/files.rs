//! Files that hold secrets.
//!
//! Must not know: what the secrets are for. Next: [`crate::secret`], [`crate::ticket_keys`].

use std::fs::File;
use std::io::Read;
use std::path::Path;

use zeroize::Zeroizing;

use crate::error::FleetError;

/// What is in the file, if nobody can read it who should not.
pub(crate) fn read_private(path: &Path) -> Result<Zeroizing<Vec<u8>>, FleetError> {
    let failed = |error| FleetError::File(path.to_owned(), error);
    let file = File::open(path).map_err(failed)?;
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

#[cfg(unix)]
fn is_exposed(about: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    const GROUP_WRITES: u32 = 0o020;
    const OTHERS: u32 = 0o007;
    about.mode() & (GROUP_WRITES | OTHERS) != 0
}

#[cfg(not(unix))]
fn is_exposed(_: &std::fs::Metadata) -> bool {
    false
}

/// Bytes of a file that are read.
const LONGEST: usize = 1 << 14;
