//! The change from plaintext to TLS in protocols that begin without it (STARTTLS).
//!
//! Each protocol has a file, which names the document it follows. A protocol's function runs the
//! dialogue up to the server's permission to start the handshake. The caller sets the time limit of
//! the stream. [`dialogue`] limits the length of each answer and of the whole dialogue.
//!
//! Data that arrives with the permission is refused: it was sent in plaintext, and must not be
//! taken for data of the protected connection (command injection, as in CVE-2011-0411).

mod dialogue;
mod error;
mod ftp;
mod imap;
mod ldap;
mod mysql;
mod pop3;
mod postgres;
mod reply;
#[cfg(test)]
mod script;
mod smtp;
mod xmpp;

use std::io::{Read, Write};

use clap::ValueEnum;

use crate::explain::UsageError;
use crate::target::{Address, Target};

use dialogue::Dialogue;
pub(crate) use error::StarttlsError;

/// A protocol with a command that starts TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Protocol {
    Smtp,
    Imap,
    Pop3,
    Ftp,
    Postgres,
    Mysql,
    Ldap,
    Xmpp,
}

/// The server, at the default port of the protocol or of HTTPS unless the address has a port.
pub(crate) fn target(address: &Address, protocol: Option<Protocol>) -> Result<Target, UsageError> {
    match (protocol, address.scheme) {
        (Some(_), Some(scheme)) => Err(UsageError::new(format!(
            "with --starttls, write HOST or HOST:PORT: {} begins with TLS",
            scheme.name()
        ))),
        (Some(protocol), None) => Ok(address.target(protocol.default_port())),
        (None, _) => Ok(address.https_target()),
    }
}

impl Protocol {
    /// The port of the protocol without TLS.
    fn default_port(self) -> u16 {
        match self {
            Self::Smtp => 25,
            Self::Imap => 143,
            Self::Pop3 => 110,
            Self::Ftp => 21,
            Self::Postgres => 5432,
            Self::Mysql => 3306,
            Self::Ldap => 389,
            Self::Xmpp => 5222,
        }
    }

    /// Runs the dialogue until the client may send its ClientHello. `host` is the name of the
    /// server, which XMPP sends.
    pub(crate) fn begin<S: Read + Write>(
        self,
        stream: &mut S,
        host: &str,
    ) -> Result<(), StarttlsError> {
        let mut dialogue = Dialogue::new(stream);
        match self {
            Self::Smtp => smtp::begin(&mut dialogue)?,
            Self::Imap => imap::begin(&mut dialogue)?,
            Self::Pop3 => pop3::begin(&mut dialogue)?,
            Self::Ftp => ftp::begin(&mut dialogue)?,
            Self::Postgres => postgres::begin(&mut dialogue)?,
            Self::Mysql => mysql::begin(&mut dialogue)?,
            Self::Ldap => ldap::begin(&mut dialogue)?,
            Self::Xmpp => xmpp::begin(&mut dialogue, host)?,
        }
        dialogue.finish()
    }
}
