//! Connections as in rustls-bench 0.23: `bench_handshake_buffered` and `bench_bulk_buffered`.
//!
//! Each `read_tls` call takes as much data as it can, and processing follows. Flights pass through
//! a buffer of 256 KiB. In the program's source, received data is also read into a cleared array of
//! 16 KiB. Because the array is not used, the compiler removes both the clearing and the copy, as
//! instruction counts show. So this worker leaves data where the library put it, as in neutral
//! accounting.

use std::io::{IoSlice, Write};

use lab_scenario::Result;

/// The transfer size.
const BUFFER: usize = 256 << 10;

/// Fills `wire` up to the size of the program's buffer by calls of `write`, until one writes
/// nothing.
pub(crate) fn collect(
    wire: &mut Vec<u8>,
    mut write: impl FnMut(&mut Bounded<'_>) -> std::io::Result<usize>,
) -> Result<()> {
    let mut out = Bounded(wire);
    while write(&mut out)? > 0 {}
    Ok(())
}

/// A writer that is limited to the size of the program's buffer.
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
