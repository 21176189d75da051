//! A connection over its transport, with what OpenSSL and what came of it have alike; shared with the worker for
//! BoringSSL, by `crate::ffi` and `crate::library`.
//!
//! Must not know: which rows there are. Next: `main.rs`, which adds what differs; `transport.rs`.

use std::ffi::{CStr, c_int};
use std::ptr;

use foreign_types::ForeignType;
use lab_scenario::{Accounting, Result, Row, Suite, Version, Wire};

use crate::ffi;
use crate::library::error::ErrorStack;
use crate::library::ssl::{Ssl, SslContext, SslVersion};
use crate::memory::Memory;
use crate::transport;

/// Buffers that one thread of an application keeps for all its connections.
pub(crate) struct Buffers {
    pub(crate) wire: Wire,
    /// What application data is opened into: a record, or in published accounting a whole write.
    pub(crate) opened: Vec<u8>,
}

impl Buffers {
    pub(crate) fn new(row: &Row, at_once: usize) -> Self {
        Self { wire: Wire::new(at_once), opened: vec![0; opened(row)] }
    }
}

/// A connection, without what the crate attaches to each for callbacks that are not used here.
pub(crate) struct Connection {
    pub(crate) ssl: Ssl,
    /// The connection's, which frees it. Null in published accounting.
    bio: *mut ffi::BIO,
    /// The transport of published accounting.
    pub(crate) memory: Option<Memory>,
}

impl Connection {
    /// A client's, that wants a server of this name; in published accounting it does not look at the name.
    pub(crate) fn client(
        context: &SslContext,
        host: &str,
        name: &CStr,
        published: bool,
    ) -> Result<Self> {
        let mut connection = Self::new(context, published)?;
        if !published {
            connection.ssl.param_mut().set_host(host)?;
        }
        let ssl = connection.ssl.as_ptr();
        // SAFETY: the connection is ours, and the library copies the name.
        let set = unsafe {
            ffi::SSL_set_connect_state(ssl);
            ffi::SSL_set_tlsext_host_name(ssl, name.as_ptr().cast_mut())
        };
        if set == 1 { Ok(connection) } else { Err(ErrorStack::get().into()) }
    }

    /// A server's.
    pub(crate) fn server(context: &SslContext, published: bool) -> Result<Self> {
        let connection = Self::new(context, published)?;
        // SAFETY: the connection is ours.
        unsafe { ffi::SSL_set_accept_state(connection.ssl.as_ptr()) };
        Ok(connection)
    }

    fn new(context: &SslContext, published: bool) -> Result<Self> {
        let bio = if published { ptr::null_mut() } else { transport::new()? };
        // SAFETY: the context lives; a null pointer is no connection.
        let ssl = unsafe { ffi::SSL_new(context.as_ptr()) };
        if ssl.is_null() {
            return Err(ErrorStack::get().into());
        }
        // SAFETY: both are ours, and the connection takes the BIO, if there is one.
        let ssl = unsafe {
            ffi::SSL_set_bio(ssl, bio, bio);
            Ssl::from_ptr(ssl)
        };
        let memory = published.then(|| Memory::new(ssl.as_ptr())).transpose()?;
        Ok(Self { ssl, bio, memory })
    }

    /// A call that may read from and write to `wire`.
    pub(crate) fn with<T>(&self, wire: &mut Wire, call: impl FnOnce(*mut ffi::SSL) -> T) -> T {
        let ssl = self.ssl.as_ptr();
        transport::lend(self.bio, wire, || call(ssl))
    }

    /// Goes on with the handshake. Whether it has ended.
    pub(crate) fn handshake(&self, wire: &mut Wire) -> Result<bool> {
        // SAFETY: the connection is ours.
        match self.with(wire, |ssl| unsafe { ffi::SSL_do_handshake(ssl) }) {
            1 => Ok(true),
            result => self.wants_more(result).map(|()| false),
        }
    }

    /// Whether a call that returned `result` has to be made again once more has arrived; any other failure
    /// is an error.
    pub(crate) fn wants_more(&self, result: c_int) -> Result<()> {
        // SAFETY: `result` is that of the last call for this connection.
        match unsafe { ffi::SSL_get_error(self.ssl.as_ptr(), result) } {
            ffi::SSL_ERROR_WANT_READ => Ok(()),
            code => Err(format!("SSL_get_error {code}: {}", ErrorStack::get()).into()),
        }
    }

    /// What was agreed. An error before the handshake has ended.
    pub(crate) fn agreed(&self) -> Result<(Version, Suite)> {
        if !self.ssl.is_init_finished() {
            return Err("not connected".into());
        }
        let version = match self.ssl.version2() {
            Some(SslVersion::TLS1_2) => Version::Tls12,
            Some(SslVersion::TLS1_3) => Version::Tls13,
            other => return Err(format!("version {other:?}").into()),
        };
        let suite = self.ssl.current_cipher().and_then(|cipher| cipher.standard_name());
        let suite = Suite::ALL.iter().find(|each| Some(each.name()) == suite);
        Ok((version, *suite.ok_or("an unknown suite")?))
    }
}

/// Room for what one call of receiving fills.
fn opened(row: &Row) -> usize {
    match row.accounting {
        Accounting::Neutral => 16 << 10,
        Accounting::Published => row.write_size.max(16 << 10),
    }
}
