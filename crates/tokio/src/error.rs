//! Why a handshake over a transport came to nothing.
//!
//! Must not know: tokio. Next: [`crate::handshake`], its only source.

use std::fmt;
use std::io;
use std::time::Duration;

use tercel::pki::Refusal;

/// What ended a handshake. It is the inner error of the [`io::Error`] that `accept` and `connect` return.
///
/// ```
/// # fn explain(error: &std::io::Error) {
/// use tercel_tokio::HandshakeError;
/// let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<HandshakeError>());
/// if let Some(HandshakeError::Protocol { refusal: Some(refusal), .. }) = inner {
///     println!("the certificate names {:?}", refusal.names);
/// }
/// # }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum HandshakeError {
    /// The protocol ended it.
    Protocol {
        /// Why.
        error: tercel::Error,
        /// The chain and names behind a refused certificate.
        refusal: Option<Box<Refusal>>,
    },
    /// It was not complete in time.
    TimedOut(Duration),
    /// The configuration asks a question for which there is no answer. See [`crate::Answers`].
    Unanswered(&'static str),
}

impl fmt::Display for HandshakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Protocol { refusal: Some(refusal), .. } => write!(f, "{refusal}"),
            Self::Protocol { error, .. } => write!(f, "{error}"),
            Self::TimedOut(limit) => write!(f, "no complete handshake within {limit:?}"),
            Self::Unanswered(question) => {
                write!(f, "the configuration asks {question}, and nothing answers it")
            }
        }
    }
}

impl std::error::Error for HandshakeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Protocol { error, .. } => Some(error),
            Self::TimedOut(_) | Self::Unanswered(_) => None,
        }
    }
}

impl From<HandshakeError> for io::Error {
    fn from(error: HandshakeError) -> Self {
        let kind = match &error {
            HandshakeError::Protocol { error, .. } => Self::from(*error).kind(),
            HandshakeError::TimedOut(_) => io::ErrorKind::TimedOut,
            HandshakeError::Unanswered(_) => io::ErrorKind::InvalidInput,
        };
        Self::new(kind, error)
    }
}
