//! Early data that a server processes while the handshake is in progress.

use std::task::{Context, Poll};

use tercel::ConnectionInfo;
use tokio::io::ReadBuf;

/// A handler of early data, which may answer at once, a round trip before the client's Finished.
///
/// An attacker with a copy of the client's first flight can have it processed in the client's
/// place, once if the replay guard works, and the client then sends the data again over another
/// connection. So process early data only if doing so twice is harmless. The answer goes to a peer
/// that has not yet proved to be the client, though only the client can decrypt it.
/// RFC 9846 8, 4.5.3, F.5
pub trait EarlyExchange {
    /// Receives the next piece. `info` describes the peer as far as the resumed session does. A
    /// piece that is returned is kept for
    /// [`TlsStream::take_early_data`](crate::TlsStream::take_early_data); from the first one on,
    /// all pieces must be returned.
    fn take(&mut self, info: &ConnectionInfo, piece: Vec<u8>) -> Option<Vec<u8>>;

    /// Processes received early data, and writes the answer into `answer`; writes nothing if there
    /// is no more to come. Polled only after a piece was received, and while the client accepts
    /// what was sent before.
    fn poll_answer(&mut self, context: &mut Context<'_>, answer: &mut ReadBuf<'_>) -> Poll<()>;
}

/// Keeps early data to be read after the handshake.
pub(crate) struct BufferedEarlyData;

impl EarlyExchange for BufferedEarlyData {
    fn take(&mut self, _: &ConnectionInfo, piece: Vec<u8>) -> Option<Vec<u8>> {
        Some(piece)
    }

    fn poll_answer(&mut self, _: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<()> {
        Poll::Ready(())
    }
}
