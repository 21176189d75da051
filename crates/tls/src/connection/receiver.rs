//! [`Receiver`]: the receiving part of a connection.
//!
//! [`super::post_handshake`] handles everything that is not application data.

use core::fmt;

use tercel_wire::ContentType;

use super::buffer::ReceiveBuffer;
use super::link::Link;
use super::post_handshake::{PostHandshake, RecordEffect};
use super::post_handshake_auth::Event;
use super::post_handshake_auth::client::CertificateRequested;
use super::post_handshake_auth::server::ClientCertificate;
use super::tickets::NewSessions;
use crate::error::Error;
use crate::record::opener::{OpenedContent, Opener};
use crate::resumption::session::new_client_session::NewClientSession;

/// The receiving part of a connection: decrypts application data. The receiver and the
/// [`crate::Sender`] can be used in different tasks.
///
/// ```
/// use tercel::{Error, Opened, ReceiveBuffer, Receiver};
///
/// /// Appends the data of all whole records to `data`; returns whether the peer has closed.
/// fn open(
///     receiver: &mut Receiver,
///     received: &mut ReceiveBuffer,
///     data: &mut Vec<u8>,
/// ) -> Result<bool, Error> {
///     loop {
///         match receiver.open(received)? {
///             Opened::Data(piece) => data.extend_from_slice(piece),
///             Opened::Closed => return Ok(true),
///             _ => return Ok(false), // receive more bytes first
///         }
///     }
/// }
/// ```
pub struct Receiver {
    pub(super) opener: Opener,
    pub(crate) post_handshake: PostHandshake,
    pub(super) state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Open,
    /// The peer sent close_notify.
    Closed,
    Failed(Error),
}

/// The result of [`Receiver::open`].
#[derive(PartialEq, Eq)]
#[non_exhaustive]
pub enum Opened<'a> {
    /// Application data, decrypted in place.
    Data(&'a mut [u8]),
    /// The buffer contains no complete record: more bytes have to be received.
    More,
    /// The peer sent close_notify: no more data will follow. RFC 9846 6.1
    Closed,
    /// Client: the server requests the client's certificate. [`crate::Sender::authenticate`]
    /// answers it. RFC 9846 4.7.2
    CertificateRequested(CertificateRequested),
    /// Server: the client answered a certificate request. RFC 9846 4.7.2
    ClientCertificate(ClientCertificate),
}

/// The output contains no data.
impl fmt::Debug for Opened<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Data(data) => write!(f, "Data({} bytes)", data.len()),
            Self::More => f.write_str("More"),
            Self::Closed => f.write_str("Closed"),
            Self::CertificateRequested(request) => request.fmt(f),
            Self::ClientCertificate(certificate) => certificate.fmt(f),
        }
    }
}

/// The result of [`Receiver::open_into`].
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Filled {
    /// This many bytes of application data were written to the beginning of the output.
    Data(usize),
    /// The buffer contains no complete record: more bytes have to be received.
    More,
    /// The next record may not fit in the output. Use a larger output, or [`Receiver::open`].
    TooSmall,
    /// The peer sent close_notify: no more data will follow. RFC 9846 6.1
    Closed,
    /// See [`Opened::CertificateRequested`].
    CertificateRequested(CertificateRequested),
    /// See [`Opened::ClientCertificate`].
    ClientCertificate(ClientCertificate),
}

impl Receiver {
    /// Returns the number of bytes of an incomplete handshake message.
    #[cfg(test)]
    pub(crate) fn stored_handshake_bytes(&self) -> usize {
        self.post_handshake.joiner.waiting().len()
    }

    pub(crate) fn new(opener: Opener, post_handshake: PostHandshake) -> Self {
        Self { opener, post_handshake, state: State::Open }
    }

    /// Decrypts the next record of application data in place.
    ///
    /// Preceding records that contain protocol messages are processed. The [`crate::Sender`] sends
    /// the responses, before its next data or in [`crate::Sender::control`].
    ///
    /// # Errors
    /// If the peer violates the protocol or sends a fatal alert. All later calls return the same
    /// error. The sender sends the alert for this error.
    pub fn open<'a>(&mut self, received: &'a mut ReceiveBuffer) -> Result<Opened<'a>, Error> {
        loop {
            match self.state {
                State::Open => {}
                State::Closed => return Ok(Opened::Closed),
                State::Failed(error) => return Err(error),
            }
            match self.post_handshake.next_event() {
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

    /// Decrypts the next record of application data into `out`. This avoids a copy by the caller.
    ///
    /// # Errors
    /// The errors of [`Self::open`].
    pub fn open_into(
        &mut self,
        received: &mut ReceiveBuffer,
        out: &mut [u8],
    ) -> Result<Filled, Error> {
        loop {
            match self.state {
                State::Open => {}
                State::Closed => return Ok(Filled::Closed),
                State::Failed(error) => return Err(error),
            }
            match self.post_handshake.next_event() {
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
                Some(OpenedContent::Output(ContentType::APPLICATION_DATA, length)) => {
                    let whole = self.post_handshake.application_data(length);
                    whole.map_err(|error| self.fail(error))?;
                    if length > 0 {
                        return Ok(Filled::Data(length));
                    }
                }
                Some(OpenedContent::Output(content_type, length)) => {
                    // Protocol messages are wiped from the application's buffer.
                    let region = out.get_mut(..length.saturating_add(1).min(out.len()));
                    let region = region.unwrap_or_default();
                    let handled =
                        self.handle(content_type, region.get(..length).unwrap_or_default());
                    tercel_crypto::wipe(region);
                    handled?;
                }
                Some(OpenedContent::Input(opened)) => {
                    let content = record.get(opened.plaintext).unwrap_or_default();
                    self.handle(opened.content_type, content)?;
                }
            }
        }
    }

    /// Reports the end of the transport's input.
    ///
    /// # Errors
    /// [`Error::Truncated`] if no close_notify was received and the configuration does not tolerate
    /// truncation. RFC 9846 6.1
    pub fn end_of_input(&mut self) -> Result<(), Error> {
        match self.state {
            State::Closed => Ok(()),
            State::Open if self.post_handshake.tolerate_truncation => {
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

    /// Client: takes the new sessions, if the configuration
    /// [returns them](crate::client::ClientConfigBuilder::return_new_sessions). There is one after
    /// [`Self::open`] or [`Self::open_into`] has received a ticket of TLS 1.3, and when a handshake
    /// of TLS 1.2 is complete.
    #[must_use]
    pub fn take_new_sessions(&mut self) -> Vec<NewClientSession> {
        NewSessions::take(&mut self.post_handshake.sessions)
    }

    /// Returns the number of records opened under the current key.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.opener.sequence()
    }

    /// Returns the output length that is sufficient for [`Self::open_into`] with any record.
    #[must_use]
    pub fn max_opened_length(&self) -> usize {
        crate::record::limits::MAX_PROTECTED_TLS12
    }

    pub(crate) fn link(&self) -> &Link {
        self.post_handshake.keys.link()
    }

    /// Opens one record, and returns its length, or `None` if the record is incomplete. For
    /// application data it also returns the range of the plaintext in the record, and does not
    /// consume the record.
    #[allow(clippy::type_complexity)]
    fn next(
        &mut self,
        received: &mut ReceiveBuffer,
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
            let whole = self.post_handshake.application_data(opened.plaintext.len());
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

    /// Handles a record that is not application data.
    #[cold]
    fn handle(&mut self, content_type: ContentType, content: &[u8]) -> Result<(), Error> {
        let effect = self.post_handshake.handle(content_type, content, &mut self.opener);
        if effect.map_err(|error| self.fail(error))? == RecordEffect::Closed {
            self.state = State::Closed;
            self.link().peer_closed();
        }
        Ok(())
    }

    #[cold]
    pub(super) fn fail(&mut self, error: Error) -> Error {
        self.state = State::Failed(error);
        self.link().fail(error.alert());
        self.link().invalidate_session();
        error
    }
}

debug_fields!(Receiver: state);
