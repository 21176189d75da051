//! What rustls-bench does otherwise with a connection: `bench_handshake_buffered` and `bench_bulk_buffered`
//! of its releases 0.23.
//!
//! One `read_tls`, of as much as that takes, is followed by the processing of it; flights go through a buffer of
//! 256 KiB. By its source the program also reads data into an array of 16 KiB that it clears each time. Nobody looks at
//! that array, so its compiler leaves out both the clearing and the copy: callgrind sees one copy of what is received
//! less than the source has. So data is taken here where the library left it, as in neutral accounting.
//! Must not know: what is timed.

use std::io::{IoSlice, Write};

use lab_scenario::Result;

/// What is moved at once.
const BUFFER: usize = 256 << 10;

/// Fills `wire` up to the size of the program's buffer by calls of `write`, until that writes nothing.
pub(crate) fn collect(
    wire: &mut Vec<u8>,
    mut write: impl FnMut(&mut Bounded<'_>) -> std::io::Result<usize>,
) -> Result<()> {
    let mut out = Bounded(wire);
    while write(&mut out)? > 0 {}
    Ok(())
}

/// A vector that takes no more than the program's buffer.
pub(crate) struct Bounded<'w>(&'w mut Vec<u8>);

impl Write for Bounded<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let room = BUFFER.saturating_sub(self.0.len());
        let taken = bytes.get(..room).unwrap_or(bytes);
        self.0.extend_from_slice(taken);
        Ok(taken.len())
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> std::io::Result<usize> {
        slices.iter().try_fold(0, |sum, slice| Ok(sum + self.write(slice)?))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
