//! Early data handed on, and answered, while the handshake is still under way.
//!
//! Must not know: transports. Next: [`crate::acceptor`], which takes one of these; [`crate::handshake`], which drives it.

use std::task::{Context, Poll};

use tercel::Facts;
use tokio::io::ReadBuf;

/// Takes early data as it comes, and may answer it at once, a round trip before the client's Finished.
///
/// Whoever holds a copy of the client's first flight can have it taken in the client's place, once if the replay guard
/// keeps its word, and the client then sends it again over another connection. So act on it only if doing so twice does
/// no harm; and the answer goes to somebody who has not shown yet to be that client, though only that client can read it.
/// RFC 9846 8, 4.5.3, F.5
pub trait EarlyExchange {
    /// Takes the next piece; `facts` say with whom, as far as the resumed session tells. Pieces that are given back are
    /// kept for [`TlsStream::take_early_data`](crate::TlsStream::take_early_data): from the first of them on, all.
    fn take(&mut self, facts: &Facts, piece: Vec<u8>) -> Option<Vec<u8>>;

    /// Goes on with what was taken, and puts what the client is to get for it into `answer`: nothing if there is nothing
    /// more to come. It is asked only while the client takes what it was sent before, and not before a piece was taken.
    fn poll_answer(&mut self, context: &mut Context<'_>, answer: &mut ReadBuf<'_>) -> Poll<()>;
}

/// Leaves early data to be read after the handshake.
pub(crate) struct Later;

impl EarlyExchange for Later {
    fn take(&mut self, _: &Facts, piece: Vec<u8>) -> Option<Vec<u8>> {
        Some(piece)
    }

    fn poll_answer(&mut self, _: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<()> {
        Poll::Ready(())
    }
}
