//! Errors of a handshake over a transport.

use std::fmt;
use std::io;
use std::time::Duration;

use tercel::pki::Refusal;

/// The reason why a handshake failed. It is the inner error of the [`io::Error`] that `accept` and
/// `connect` return.
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
    /// The handshake failed.
    Protocol {
        /// The error.
        error: tercel::Error,
        /// The chain and the names of a refused certificate.
        refusal: Option<Box<Refusal>>,
    },
    /// Client: the server rejected Encrypted ClientHello, and has authenticated itself under the
    /// public name. See [`tercel::Handshake::ech_retry_configs`].
    #[cfg(feature = "ech")]
    EchRejected {
        /// The configurations for one further attempt.
        retry_configs: tercel::ech::ConfigList,
    },
    /// The handshake was not complete in time.
    TimedOut(Duration),
    /// The configuration needs an answer for which no function was set. See [`crate::Answers`].
    Unanswered(&'static str),
    /// The handshake has a time limit, but is not run in a tokio runtime with timers: build the
    /// runtime with `enable_time`, or set the time limit to `None`.
    NoTimer,
    /// [`crate::TlsListener`] is not polled in a tokio runtime, where handshakes are tasks.
    NoRuntime,
}

impl fmt::Display for HandshakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Protocol { refusal: Some(refusal), .. } => write!(f, "{refusal}"),
            Self::Protocol { error, .. } => write!(f, "{error}"),
            #[cfg(feature = "ech")]
            Self::EchRejected { .. } => tercel::Error::EchRejected.fmt(f),
            Self::TimedOut(limit) => write!(f, "handshake timed out after {limit:?}"),
            Self::Unanswered(question) => {
                write!(f, "no answer function is set for the question {question}")
            }
            Self::NoTimer => f.write_str(
                "time_limit needs a tokio runtime with timers: use Builder::enable_time, or no limit",
            ),
            Self::NoRuntime => f.write_str("TlsListener needs a tokio runtime for its handshakes"),
        }
    }
}

impl std::error::Error for HandshakeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Protocol { error, .. } => Some(error),
            #[cfg(feature = "ech")]
            Self::EchRejected { .. } => Some(&tercel::Error::EchRejected),
            Self::TimedOut(_) | Self::Unanswered(_) | Self::NoTimer | Self::NoRuntime => None,
        }
    }
}

impl From<HandshakeError> for io::Error {
    fn from(error: HandshakeError) -> Self {
        let kind = match &error {
            HandshakeError::Protocol { error, .. } => Self::from(*error).kind(),
            #[cfg(feature = "ech")]
            HandshakeError::EchRejected { .. } => Self::from(tercel::Error::EchRejected).kind(),
            HandshakeError::TimedOut(_) => io::ErrorKind::TimedOut,
            HandshakeError::Unanswered(_) => io::ErrorKind::InvalidInput,
            HandshakeError::NoTimer | HandshakeError::NoRuntime => io::ErrorKind::Unsupported,
        };
        Self::new(kind, error)
    }
}
