//! Early data that a server processes while the handshake is in progress.

use std::task::{Context, Poll};

use tercel::ConnectionInfo;
use tokio::io::ReadBuf;

/// A handler of early data. It may answer early data at once, a round trip before the client's
/// Finished arrives.
///
/// An attacker who has copied the client's first flight can send the copy instead of the client's
/// flight. The server then processes the early data in the copy, and the client sends the same data
/// again over another connection. The replay guard only prevents servers from accepting the same
/// early data twice as early data. So process early data only if processing it twice is harmless.
/// The answer is sent to a peer that is not authenticated yet, though only the client can decrypt
/// it. RFC 9846 8, 4.5.3, F.5
pub trait EarlyExchange {
    /// Receives the next piece. `info` describes the peer by the data of the resumed session. A
    /// piece that is returned is kept for
    /// [`TlsStream::take_early_data`](crate::TlsStream::take_early_data); once a piece is returned,
    /// all later pieces must be returned, too.
    fn take(&mut self, info: &ConnectionInfo, piece: Vec<u8>) -> Option<Vec<u8>>;

    /// Processes received early data, and writes the answer into `answer`. If nothing is written,
    /// the answer is complete. This method is polled only after a piece was received, and only
    /// while the client accepts the data that was sent before.
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
