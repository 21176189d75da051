//! The state of a handle: both halves of a connection, or one.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tercel::client::CertificateRequested;
use tercel::server::{CertificateRequester, ClientCertificate};
use tercel::{Error, Exporter, Receiver, Sender};
use zeroize::Zeroizing;

use crate::entry::Result;
use crate::sessions::{GivenSessions, NewSession};
use crate::status::codes::{
    TERCEL_MISUSE_INVALID_ARGUMENT, TERCEL_MISUSE_KEY_NOT_LOCAL,
    TERCEL_MISUSE_NO_CERTIFICATE_REQUEST, TERCEL_MISUSE_WRONG_HALF,
};
use crate::status::{self, Status};

/// The parts of a connection that are in this half.
pub(crate) struct State {
    pub(super) sending: Option<Sending>,
    pub(super) receiving: Option<Receiving>,
    pub(super) error: String,
}

/// The sending half.
pub(super) struct Sending {
    pub(super) sender: Sender,
    pub(super) exporter: Exporter,
    pub(super) early_exporter: Option<Box<Exporter>>,
    pub(super) requester: Option<CertificateRequester>,
    pub(super) requests: Requests,
    /// Sessions for a server's application to store, last first.
    pub(super) stored: Vec<StoredSession>,
    pub(super) taken: Option<StoredSession>,
}

/// Requests that a client has not answered, in the order of their events. The receiving half adds
/// them, the sending one answers them.
#[derive(Clone, Default)]
pub(super) struct Requests(Arc<Mutex<VecDeque<CertificateRequested>>>);

impl Requests {
    pub(super) fn open(&self) -> MutexGuard<'_, VecDeque<CertificateRequested>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the first request if it can be answered with this credential.
    pub(super) fn take_for(
        &self,
        credential: Option<&tercel::Credential>,
    ) -> Result<CertificateRequested> {
        let mut requests = self.open();
        let request = requests.front().ok_or(TERCEL_MISUSE_NO_CERTIFICATE_REQUEST)?;
        if let Some(credential) = credential {
            if credential.is_remote() {
                return Err(TERCEL_MISUSE_KEY_NOT_LOCAL);
            }
            if request.request().scheme_for(credential).is_none() {
                return Err(TERCEL_MISUSE_INVALID_ARGUMENT);
            }
        }
        requests.pop_front().ok_or(TERCEL_MISUSE_NO_CERTIFICATE_REQUEST)
    }
}

/// A session for a server's application, which is wiped when it is dropped.
pub(super) struct StoredSession {
    pub(super) id: Vec<u8>,
    pub(super) new: NewSession,
}

impl From<tercel::session::NewSession> for StoredSession {
    fn from(stored: tercel::session::NewSession) -> Self {
        let session = Zeroizing::new(stored.session);
        Self { id: stored.id, new: NewSession { session, expires: stored.expires.as_secs() } }
    }
}

/// The receiving half.
pub(super) struct Receiving {
    pub(super) receiver: Receiver,
    pub(super) sessions: Option<Arc<GivenSessions>>,
    /// The session that was taken last.
    pub(super) taken: Option<NewSession>,
    /// The rest of a record that did not fit in the caller's memory.
    pub(super) rest: Rest,
    pub(super) requests: Requests,
    pub(super) client_certificate: Option<ClientCertificate>,
}

/// Plaintext that the caller has not read yet.
#[derive(Default)]
pub(super) struct Rest {
    pub(super) data: Zeroizing<Vec<u8>>,
    pub(super) read: usize,
}

impl Rest {
    /// Copies as much as fits. Returns the number of bytes.
    pub(super) fn read(&mut self, out: &mut [u8]) -> usize {
        let rest = &self.data[self.read..];
        let count = rest.len().min(out.len());
        out[..count].copy_from_slice(&rest[..count]);
        self.read += count;
        if self.read == self.data.len() {
            *self = Self::default();
        }
        count
    }
}

impl State {
    /// Calls `body` with the sending half.
    pub(super) fn send<R>(
        &mut self,
        body: impl FnOnce(&mut Sending) -> core::result::Result<R, Error>,
    ) -> Result<R> {
        let sending = self.sending.as_mut().ok_or(TERCEL_MISUSE_WRONG_HALF)?;
        body(sending).map_err(|error| self.fail(error))
    }

    pub(super) fn sending(&mut self) -> Result<&mut Sending> {
        self.sending.as_mut().ok_or(TERCEL_MISUSE_WRONG_HALF)
    }

    pub(super) fn receiving(&mut self) -> Result<&mut Receiving> {
        self.receiving.as_mut().ok_or(TERCEL_MISUSE_WRONG_HALF)
    }

    /// Remembers the text of an error, and returns its code.
    pub(super) fn fail(&mut self, error: Error) -> Status {
        let refusal = self.receiving.as_ref().and_then(|half| half.receiver.refusal());
        self.error = match refusal {
            Some(refusal) if matches!(error, Error::Refused(_)) => refusal.to_string(),
            _ => error.to_string(),
        };
        status::of(error)
    }
}
