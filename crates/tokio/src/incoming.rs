//! The reading side of a stream: from a transport through the receiver into the reader's buffer.
//!
//! Must not know: the sender. Next: [`crate::stream`], [`crate::split`].

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tercel::{CertificateRequested, ClientCertificate, Filled, Opened, Received, Receiver};
use tokio::io::{AsyncRead, ReadBuf};

use crate::pool;

/// What has arrived and is not read yet.
#[derive(Default)]
pub(crate) struct Incoming {
    /// Lent by the thread, or of its own size while the transport has nothing more.
    received: Option<Received>,
    /// Plaintext of a record that the reader's buffer had no room for.
    plain: Vec<u8>,
    taken: usize,
    late: Option<Box<Late>>,
}

/// What belongs to authentication after the handshake. RFC 9846 4.7.2
#[derive(Default)]
struct Late {
    /// Client: what `after` has to answer.
    requests: Vec<CertificateRequested>,
    /// Server: answers that nobody has taken.
    certificates: Vec<ClientCertificate>,
    /// Why a request could not be answered; it is for the next read to tell, after what came before.
    failed: Option<io::Error>,
}

impl Incoming {
    /// Begins with what a handshake has read too far.
    pub(crate) fn new(received: Received) -> Self {
        let received = (!received.is_empty()).then_some(received);
        Self { received, plain: Vec::new(), taken: 0, late: None }
    }

    /// Fills `out` with what is there, or waits for the transport. `after` is called whenever the
    /// receiver has handled records, which may have left something to be sent, or to be answered.
    pub(crate) fn poll_read<T: AsyncRead + Unpin>(
        &mut self,
        receiver: &mut Receiver,
        transport: &mut T,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
        after: impl FnMut(&mut T, &mut Context<'_>, Requests) -> io::Result<()>,
    ) -> Poll<io::Result<()>> {
        if out.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        if self.take_plain(out) {
            return Poll::Ready(Ok(()));
        }
        let open = |incoming: &mut Self, receiver: &mut Receiver, received: &mut Received| {
            incoming.open(receiver, received, out)
        };
        self.poll_open(receiver, transport, context, open, after)
    }

    /// Waits until the client has answered the request of this context; data is kept for later reads.
    pub(crate) fn poll_certificate<T: AsyncRead + Unpin>(
        &mut self,
        receiver: &mut Receiver,
        transport: &mut T,
        context: &mut Context<'_>,
        request: &[u8],
        after: impl FnMut(&mut T, &mut Context<'_>, Requests) -> io::Result<()>,
    ) -> Poll<io::Result<ClientCertificate>> {
        let open = |incoming: &mut Self, receiver: &mut Receiver, received: &mut Received| {
            while incoming.place(request).is_none() {
                if incoming.plain.len() > MAX_HELD {
                    return Err(io::Error::other("too much data instead of a certificate"));
                }
                match receiver.open(received)? {
                    Opened::Closed => return Err(io::ErrorKind::UnexpectedEof.into()),
                    Opened::More => return Ok(Step::More),
                    opened => incoming.keep(opened),
                }
            }
            Ok(Step::Done)
        };
        ready!(self.poll_open(receiver, transport, context, open, after))?;
        let place = self.place(request);
        let found = self.late.as_mut().zip(place);
        let found = found.map(|(late, place)| late.certificates.swap_remove(place));
        // The transport may have ended, where that is tolerated.
        Poll::Ready(found.ok_or_else(|| io::ErrorKind::UnexpectedEof.into()))
    }

    /// Server: the clients' answers that have come.
    pub(crate) fn take_certificates(&mut self) -> Vec<ClientCertificate> {
        let late = self.late.as_mut();
        late.map(|late| std::mem::take(&mut late.certificates)).unwrap_or_default()
    }

    fn place(&self, request: &[u8]) -> Option<usize> {
        let mut certificates = self.late.as_ref()?.certificates.iter();
        certificates.position(|certificate| certificate.context() == request)
    }

    /// Lets `open` have what was received until it is done, and gets more for it.
    fn poll_open<T: AsyncRead + Unpin>(
        &mut self,
        receiver: &mut Receiver,
        transport: &mut T,
        context: &mut Context<'_>,
        mut open: impl FnMut(&mut Self, &mut Receiver, &mut Received) -> io::Result<Step>,
        mut after: impl FnMut(&mut T, &mut Context<'_>, Requests) -> io::Result<()>,
    ) -> Poll<io::Result<()>> {
        loop {
            let mut received = self.received.take().unwrap_or_else(pool::lend_received);
            let step = open(self, receiver, &mut received);
            let late = self.late.as_mut();
            let requests = late.map(|late| std::mem::take(&mut late.requests)).unwrap_or_default();
            let answered = after(transport, context, requests);
            if let Err(error) = answered {
                self.late().failed = Some(error);
            }
            let failed = self.late.as_mut().and_then(|late| late.failed.take());
            match (step, failed) {
                (Ok(Step::More), None) => {}
                (Ok(Step::More), Some(error)) | (Err(error), _) => {
                    self.put_back(received);
                    return Poll::Ready(Err(error));
                }
                (Ok(Step::Done), failed) => {
                    if failed.is_some() {
                        self.late().failed = failed;
                    }
                    self.put_back(received);
                    return Poll::Ready(Ok(()));
                }
            }
            let mut spare = ReadBuf::new(received.spare());
            let polled = Pin::new(&mut *transport).poll_read(context, &mut spare);
            let count = spare.filled().len();
            received.filled(count);
            match polled {
                Poll::Ready(Ok(())) if count > 0 => self.received = Some(received),
                Poll::Ready(Ok(())) => {
                    self.put_back(received);
                    return Poll::Ready(receiver.end_of_input().map_err(io::Error::from));
                }
                Poll::Ready(Err(error)) => {
                    self.put_back(received);
                    return Poll::Ready(Err(error));
                }
                Poll::Pending => {
                    self.put_aside(received);
                    return Poll::Pending;
                }
            }
        }
    }

    /// Opens records into `out` for as long as whole ones are there and fit.
    fn open(
        &mut self,
        receiver: &mut Receiver,
        received: &mut Received,
        out: &mut ReadBuf<'_>,
    ) -> io::Result<Step> {
        let mut some = false;
        loop {
            // An error after data is found again by the next read.
            let filled = match receiver.open_into(received, out.initialize_unfilled()) {
                Err(_) if some => return Ok(Step::Done),
                other => other?,
            };
            match filled {
                Filled::Data(count) => {
                    out.advance(count);
                    some = true;
                }
                Filled::TooSmall if some => return Ok(Step::Done),
                Filled::TooSmall => {
                    if self.open_aside(receiver, received)? {
                        self.take_plain(out);
                        return Ok(Step::Done);
                    }
                }
                Filled::More => return Ok(if some { Step::Done } else { Step::More }),
                // They come with no data, and end nothing: an empty read would say that all is over.
                Filled::CertificateRequested(request) => self.late().requests.push(request),
                Filled::ClientCertificate(answer) => self.late().certificates.push(answer),
                // Closed; and what is not for streams ends nothing but this turn.
                _ => return Ok(Step::Done),
            }
        }
    }

    /// Opens one record in place and keeps its content; `false` if it had none.
    fn open_aside(&mut self, receiver: &mut Receiver, received: &mut Received) -> io::Result<bool> {
        let opened = receiver.open(received)?;
        let is_data = matches!(opened, Opened::Data(_));
        self.keep(opened);
        Ok(is_data)
    }

    fn keep(&mut self, opened: Opened<'_>) {
        match opened {
            Opened::Data(data) => {
                self.plain.extend_from_slice(data);
                // The buffer may soon be another stream's.
                tercel::crypto::wipe(data);
            }
            Opened::CertificateRequested(request) => self.late().requests.push(request),
            Opened::ClientCertificate(answer) => self.late().certificates.push(answer),
            _ => {}
        }
    }

    fn late(&mut self) -> &mut Late {
        self.late.get_or_insert_default()
    }

    /// Hands out what lies aside; `false` if nothing does.
    fn take_plain(&mut self, out: &mut ReadBuf<'_>) -> bool {
        let rest = self.plain.get(self.taken..).unwrap_or_default();
        if rest.is_empty() {
            return false;
        }
        let now = rest.get(..out.remaining()).unwrap_or(rest);
        out.put_slice(now);
        self.taken += now.len();
        if self.taken == self.plain.len() {
            self.plain = Vec::new();
            self.taken = 0;
        }
        true
    }

    /// Keeps what is unread, otherwise gives the buffer back to the thread. In a buffer of its own size there
    /// is room for one record, and where data is, more may come at once: the rest moves to a lent one.
    fn put_back(&mut self, received: Received) {
        if received.is_empty() {
            pool::give_back_received(received);
        } else if pool::is_lent(&received) {
            self.received = Some(received);
        } else {
            let mut lent = pool::lend_received();
            lent.extend(received.unread());
            self.received = Some(lent);
        }
    }

    /// Nothing more comes for now: what is half there moves to memory of its own size.
    fn put_aside(&mut self, received: Received) {
        if received.is_empty() {
            pool::give_back_received(received);
            return;
        }
        let mut kept = Received::with_capacity(received.unread().len());
        kept.extend(received.unread());
        self.received = Some(kept);
    }
}

/// Requests for our certificate.
pub(crate) type Requests = Vec<CertificateRequested>;

/// Plaintext that is held back while a client's certificate is waited for.
const MAX_HELD: usize = 1 << 18;

enum Step {
    /// Data, or the end of it.
    Done,
    /// The transport has to give more first.
    More,
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if let Some(received) = self.received.take() {
            pool::give_back_received(received);
        }
    }
}

impl std::fmt::Debug for Incoming {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Incoming").finish_non_exhaustive()
    }
}
