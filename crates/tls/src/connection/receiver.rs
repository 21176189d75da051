//! The reading half of a connection.
//!
//! Must not know: sockets, and the sender but for one atomic word. What is not application data goes
//! to [`super::post_handshake`]. Next: [`super::sender`].

use tercel_wire::ContentType;

use super::authentication::Event;
use super::authentication::client::CertificateRequested;
use super::authentication::server::ClientCertificate;
use super::buffer::Received;
use super::link::Link;
use super::post_handshake::{After, PostHandshake};
use crate::error::Error;
use crate::record::opener::{OpenedInto, Opener};

/// Opens application data. Independent of the [`crate::Sender`]: the two can live in two tasks.
pub struct Receiver {
    pub(super) opener: Opener,
    pub(super) post: PostHandshake,
    pub(super) state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Open,
    /// close_notify arrived.
    Closed,
    Failed(Error),
}

/// What [`Receiver::open`] found.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Opened<'a> {
    /// Application data, decrypted where it lay in the buffer.
    Data(&'a mut [u8]),
    /// No whole record is there: receive more.
    More,
    /// The peer sent close_notify: no more data will come. RFC 9846 6.1
    Closed,
    /// Client: the server asks for our certificate, which [`crate::Sender::authenticate`] answers.
    /// RFC 9846 4.7.2
    CertificateRequested(CertificateRequested),
    /// Server: the client answered a request for its certificate. RFC 9846 4.7.2
    ClientCertificate(ClientCertificate),
}

/// What [`Receiver::open_into`] found.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Filled {
    /// This many bytes of application data were written to the front of the output.
    Data(usize),
    /// No whole record is there: receive more.
    More,
    /// The next record may not fit into the output: use a larger one, or [`Receiver::open`].
    TooSmall,
    /// The peer sent close_notify: no more data will come. RFC 9846 6.1
    Closed,
    /// See [`Opened::CertificateRequested`].
    CertificateRequested(CertificateRequested),
    /// See [`Opened::ClientCertificate`].
    ClientCertificate(ClientCertificate),
}

impl Receiver {
    pub(crate) fn new(opener: Opener, post: PostHandshake) -> Self {
        Self { opener, post, state: State::Open }
    }

    /// Opens the next record of application data in `received`, in place.
    ///
    /// Records that carry protocol messages are handled on the way; what they call for is sent by the
    /// [`crate::Sender`], with its next data or by its `control`.
    ///
    /// # Errors
    /// If the peer breaks the protocol, or sent a fatal alert. The error is final; the alert that it
    /// calls for is sent by the sender.
    pub fn open<'a>(&mut self, received: &'a mut Received) -> Result<Opened<'a>, Error> {
        loop {
            match self.state {
                State::Open => {}
                State::Closed => return Ok(Opened::Closed),
                State::Failed(error) => return Err(error),
            }
            match self.post.next_event() {
                None => {}
                Some(Event::Requested(request)) => {
                    return Ok(Opened::CertificateRequested(request));
                }
                Some(Event::Answered(answer)) => return Ok(Opened::ClientCertificate(answer)),
            }
            let Some((length, data)) = self.next(received)? else { return Ok(Opened::More) };
            let Some(range) = data else { continue };
            let record = received.take(length);
            return Ok(Opened::Data(record.get_mut(range).unwrap_or_default()));
        }
    }

    /// Opens the next record of application data straight into `out`, which spares a copy.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_into(&mut self, received: &mut Received, out: &mut [u8]) -> Result<Filled, Error> {
        loop {
            match self.state {
                State::Open => {}
                State::Closed => return Ok(Filled::Closed),
                State::Failed(error) => return Err(error),
            }
            match self.post.next_event() {
                None => {}
                Some(Event::Requested(request)) => {
                    return Ok(Filled::CertificateRequested(request));
                }
                Some(Event::Answered(answer)) => return Ok(Filled::ClientCertificate(answer)),
            }
            let framed = self.opener.frame(received.unread());
            let Some(frame) = framed.map_err(|error| self.fail(error))? else {
                return Ok(Filled::More);
            };
            if out.len() < self.opener.room_needed(frame.total) {
                return Ok(Filled::TooSmall);
            }
            self.wake()?;
            let record = received.take(frame.total);
            let opened = self.opener.open_into(frame, record, out);
            match opened.map_err(|error| self.fail(error))? {
                None => {}
                Some(OpenedInto::Into(ContentType::APPLICATION_DATA, length)) => {
                    let whole = self.post.application_data(length);
                    whole.map_err(|error| self.fail(error))?;
                    if length > 0 {
                        return Ok(Filled::Data(length));
                    }
                }
                Some(OpenedInto::Into(content_type, length)) => {
                    // Not for the application: out of its buffer without a trace.
                    let region = out.get_mut(..length.saturating_add(1).min(out.len()));
                    let region = region.unwrap_or_default();
                    let handled =
                        self.handle(content_type, region.get(..length).unwrap_or_default());
                    tercel_crypto::wipe(region);
                    handled?;
                }
                Some(OpenedInto::Plain(opened)) => {
                    let content = record.get(opened.plaintext).unwrap_or_default();
                    self.handle(opened.content_type, content)?;
                }
            }
        }
    }

    /// Says that the transport has ended.
    ///
    /// # Errors
    /// [`Error::Truncated`] unless close_notify came first, or the configuration tolerates it.
    pub fn end_of_input(&mut self) -> Result<(), Error> {
        match self.state {
            State::Closed => Ok(()),
            State::Open if self.post.tolerate_truncation => {
                self.state = State::Closed;
                Ok(())
            }
            State::Open => {
                self.state = State::Failed(Error::Truncated);
                Err(Error::Truncated)
            }
            State::Failed(error) => Err(error),
        }
    }

    /// Records opened under the current key.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.opener.sequence()
    }

    /// The output length with which [`Self::open_into`] takes any record.
    #[must_use]
    pub fn max_opened_length(&self) -> usize {
        crate::record::limits::MAX_PROTECTED_TLS12
    }

    pub(crate) fn post_mut(&mut self) -> &mut PostHandshake {
        &mut self.post
    }

    pub(crate) fn link(&self) -> &Link {
        self.post.keys.link()
    }

    pub(crate) fn post(&self) -> &PostHandshake {
        &self.post
    }

    /// Opens one record. `None`: not there yet. The range, if it is application data, lies within the
    /// record, which then is still the first thing unread.
    #[allow(clippy::type_complexity)]
    fn next(
        &mut self,
        received: &mut Received,
    ) -> Result<Option<(usize, Option<core::ops::Range<usize>>)>, Error> {
        let framed = self.opener.frame(received.unread());
        let Some(frame) = framed.map_err(|error| self.fail(error))? else { return Ok(None) };
        self.wake()?;
        let record = received.peek(frame.total);
        let opened = self.opener.open(frame, record);
        let opened = match opened {
            Ok(Some(opened)) => opened,
            Ok(None) => {
                received.take(frame.total);
                return Ok(Some((frame.total, None)));
            }
            Err(error) => return Err(self.fail(error)),
        };
        if opened.content_type == ContentType::APPLICATION_DATA && self.opener.is_protected() {
            let whole = self.post.application_data(opened.plaintext.len());
            whole.map_err(|error| self.fail(error))?;
            if !opened.plaintext.is_empty() {
                return Ok(Some((frame.total, Some(opened.plaintext))));
            }
            received.take(frame.total);
            return Ok(Some((frame.total, None)));
        }
        let content = record.get(opened.plaintext).unwrap_or_default();
        let handled = self.handle(opened.content_type, content);
        received.take(frame.total);
        handled?;
        Ok(Some((frame.total, None)))
    }

    /// What is not for the application. Apart from the way of data, which is the shorter for it.
    #[cold]
    fn handle(&mut self, content_type: ContentType, content: &[u8]) -> Result<(), Error> {
        let after = self.post.handle(content_type, content, &mut self.opener);
        if after.map_err(|error| self.fail(error))? == After::Closed {
            self.state = State::Closed;
            self.link().peer_closed();
        }
        Ok(())
    }

    #[cold]
    pub(super) fn fail(&mut self, error: Error) -> Error {
        self.state = State::Failed(error);
        self.link().fail(error.alert());
        self.link().forget_session();
        error
    }
}

impl core::fmt::Debug for Receiver {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Receiver").field("state", &self.state).finish_non_exhaustive()
    }
}
