//! The error of a handshake whose state is not kept, with the details of a refusal.

use core::fmt;

use tercel_pki::Refusal;

use super::Error;

/// The reason why [`Stream::connect`](crate::Stream::connect) or
/// [`Stream::accept`](crate::Stream::accept) failed: the inner error of their [`std::io::Error`],
/// unless the transport failed.
///
/// ```
/// use tercel::error::HandshakeError;
///
/// fn explain(error: &std::io::Error) {
///     let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<HandshakeError>());
///     if let Some(refusal) = inner.and_then(|inner| inner.refusal.as_ref()) {
///         println!("the certificate names {:?}", refusal.names);
///     }
/// }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HandshakeError {
    /// The error.
    pub error: Error,
    /// The details of [`Error::Refused`]: the chain and the names. See
    /// [`Handshake::refusal`](crate::Handshake::refusal).
    pub refusal: Option<Box<Refusal>>,
}

impl HandshakeError {
    pub(crate) fn new(error: Error, refusal: Option<&Refusal>) -> Self {
        Self { error, refusal: refusal.cloned().map(Box::new) }
    }
}

impl fmt::Display for HandshakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.refusal {
            Some(refusal) => refusal.fmt(f),
            None => self.error.fmt(f),
        }
    }
}

// There is no source: the text has that of `error`, which a chain of errors would repeat.
impl core::error::Error for HandshakeError {}
