//! The error of this crate.

use std::{error, fmt, io};

use tercel::certificates::CredentialError;
use tercel::error::ConfigError;
use tercel::pki::{PemError, Refusal, RefusalReason, RootsError};
use tercel_crypto::Pkcs12Error;

use crate::protocol::Protocol;

/// The result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of a configuration, a certificate, an identity or a handshake.
///
/// Its text contains everything that is known. Its [source](error::Error::source) is the typed
/// error: after a failed handshake a [`tercel::Error`], or the [`io::Error`] of the transport.
pub struct Error(Box<Kind>);

#[derive(Debug)]
pub(crate) enum Kind {
    /// The transport failed during the handshake.
    Transport(io::Error),
    /// The handshake failed.
    Handshake {
        error: tercel::Error,
        refusal: Option<Refusal>,
    },
    /// The domain is neither a DNS name nor an IP address.
    Domain(String),
    /// The maximum version is too old.
    TooOld(Protocol),
    /// The minimum version is above the maximum version.
    NoVersion {
        min: Protocol,
        max: Protocol,
    },
    Config(ConfigError),
    /// The identity of a connector or acceptor.
    Credential(CredentialError),
    Certificate(RefusalReason),
    Root(RootsError),
    Pem(PemError),
    Pkcs12(Pkcs12Error),
    /// The file contains no private key.
    Pkcs12WithoutKey,
    /// No certificate in the file is for its private key.
    Pkcs12WithoutCertificate,
    /// The private key is in another form than PKCS#8.
    NotPkcs8,
}

impl Error {
    /// Returns the error of a handshake from the error of [`tercel::Handshake::complete`].
    pub(crate) fn of_handshake(error: io::Error, refusal: Option<&Refusal>) -> Self {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<tercel::Error>());
        match inner {
            Some(&error) => Kind::Handshake { error, refusal: refusal.cloned() }.into(),
            None => Kind::Transport(error).into(),
        }
    }
}

impl From<Kind> for Error {
    fn from(kind: Kind) -> Self {
        Self(Box::new(kind))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Kind::Transport(error) => error.fmt(f),
            Kind::Handshake { refusal: Some(refusal), .. } => {
                write!(f, "certificate refused: {refusal}")
            }
            Kind::Handshake { error, refusal: None } => error.fmt(f),
            Kind::Domain(domain) => {
                write!(f, "the domain {domain:?} is neither a DNS name nor an IP address")
            }
            Kind::TooOld(protocol) => {
                write!(
                    f,
                    "max_protocol_version: {protocol:?} is not supported, only Tlsv12 and newer"
                )
            }
            Kind::NoVersion { min, max } => {
                write!(f, "min_protocol_version {min:?} is above max_protocol_version {max:?}")
            }
            Kind::Config(error) => error.fmt(f),
            Kind::Credential(error) => write!(f, "identity: {error}"),
            Kind::Certificate(reason) => write!(f, "the certificate cannot be parsed: {reason}"),
            Kind::Root(error) => write!(f, "add_root_certificate: {error}"),
            Kind::Pem(error) => error.fmt(f),
            Kind::Pkcs12(error) => write!(f, "PKCS#12: {error}"),
            Kind::Pkcs12WithoutKey => f.write_str("PKCS#12: the file contains no private key"),
            Kind::Pkcs12WithoutCertificate => {
                f.write_str("PKCS#12: the file contains no certificate for its private key")
            }
            Kind::NotPkcs8 => f.write_str("the private key is not in the form PKCS#8"),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match &*self.0 {
            Kind::Transport(error) => Some(error),
            Kind::Handshake { error, .. } => Some(error),
            Kind::Config(error) => Some(error),
            Kind::Credential(error) => Some(error),
            Kind::Root(error) => Some(error),
            Kind::Pem(error) => Some(error),
            Kind::Pkcs12(error) => Some(error),
            Kind::Domain(_)
            | Kind::TooOld(_)
            | Kind::NoVersion { .. }
            | Kind::Certificate(_)
            | Kind::Pkcs12WithoutKey
            | Kind::Pkcs12WithoutCertificate
            | Kind::NotPkcs8 => None,
        }
    }
}
