//! A connection with its transport: the code that OpenSSL and its forks have in common. Shared with
//! the worker for BoringSSL through `crate::ffi` and `crate::library`.

use std::ffi::{CStr, c_int};
use std::ptr;

use foreign_types::ForeignType;
use lab_scenario::{Accounting, Result, Row, Suite, TransportBuffers, Version};

use crate::ffi;
use crate::library::error::ErrorStack;
use crate::library::ssl::{Ssl, SslContext, SslVersion};
use crate::memory::Memory;
use crate::transport;

/// Buffers that a thread uses for all its connections.
pub(crate) struct Buffers {
    pub(crate) wire: TransportBuffers,
    /// Decrypted application data: a record, or in published accounting a whole write.
    pub(crate) opened: Vec<u8>,
}

impl Buffers {
    pub(crate) fn new(row: &Row, capacity: usize) -> Self {
        Self { wire: TransportBuffers::new(capacity), opened: vec![0; opened(row)] }
    }
}

/// A connection without the data that the crate attaches for callbacks that are not used here.
pub(crate) struct Connection {
    pub(crate) ssl: Ssl,
    /// The BIO, which the connection owns. Null in published accounting.
    bio: *mut ffi::BIO,
    /// The transport of published accounting.
    pub(crate) memory: Option<Memory>,
}

impl Connection {
    /// A client connection that verifies the server name, except in published accounting.
    pub(crate) fn client(
        context: &SslContext,
        host: &str,
        name: &CStr,
        published: bool,
    ) -> Result<Self> {
        let mut connection = Self::new(context, published)?;
        ask_for(&mut connection.ssl, host, name, !published)?;
        Ok(connection)
    }

    /// A server connection.
    pub(crate) fn server(context: &SslContext, published: bool) -> Result<Self> {
        let connection = Self::new(context, published)?;
        // SAFETY: the connection is valid.
        unsafe { ffi::SSL_set_accept_state(connection.ssl.as_ptr()) };
        Ok(connection)
    }

    fn new(context: &SslContext, published: bool) -> Result<Self> {
        let bio = if published { ptr::null_mut() } else { transport::new()? };
        let ssl = create(context)?;
        // SAFETY: both are valid, and the connection takes ownership of the BIO, if there is one.
        unsafe { ffi::SSL_set_bio(ssl.as_ptr(), bio, bio) };
        let memory = published.then(|| Memory::new(ssl.as_ptr())).transpose()?;
        Ok(Self { ssl, bio, memory })
    }

    /// A call that may read from and write to `wire`.
    pub(crate) fn with<T>(
        &self,
        wire: &mut TransportBuffers,
        call: impl FnOnce(*mut ffi::SSL) -> T,
    ) -> T {
        let ssl = self.ssl.as_ptr();
        transport::with_buffers(self.bio, wire, || call(ssl))
    }

    /// Continues the handshake. Returns whether it has ended.
    pub(crate) fn handshake(&self, wire: &mut TransportBuffers) -> Result<bool> {
        // SAFETY: the connection is valid.
        match self.with(wire, |ssl| unsafe { ffi::SSL_do_handshake(ssl) }) {
            1 => Ok(true),
            result => self.wants_more(result).map(|()| false),
        }
    }

    /// Whether a call that returned `result` must be repeated with more data; other failures are
    /// errors.
    pub(crate) fn wants_more(&self, result: c_int) -> Result<()> {
        // SAFETY: `result` is that of the last call for this connection.
        match unsafe { ffi::SSL_get_error(self.ssl.as_ptr(), result) } {
            ffi::SSL_ERROR_WANT_READ => Ok(()),
            code => Err(format!("SSL_get_error {code}: {}", ErrorStack::get()).into()),
        }
    }

    /// The negotiated version and suite.
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

/// A connection without a transport, and without the data that the crate attaches.
pub(crate) fn create(context: &SslContext) -> Result<Ssl> {
    // SAFETY: the context is valid; a null result means failure.
    unsafe {
        let ssl = ffi::SSL_new(context.as_ptr());
        if ssl.is_null() { Err(ErrorStack::get().into()) } else { Ok(Ssl::from_ptr(ssl)) }
    }
}

/// Makes it the client of this server, whose name is verified or only sent.
pub(crate) fn ask_for(ssl: &mut Ssl, host: &str, name: &CStr, verify: bool) -> Result<()> {
    if verify {
        ssl.param_mut().set_host(host)?;
    }
    // SAFETY: the connection is valid, and the library copies the name.
    let set = unsafe {
        ffi::SSL_set_connect_state(ssl.as_ptr());
        ffi::SSL_set_tlsext_host_name(ssl.as_ptr(), name.as_ptr().cast_mut())
    };
    if set == 1 { Ok(()) } else { Err(ErrorStack::get().into()) }
}

/// The maximum number of bytes that one receiving call returns.
fn opened(row: &Row) -> usize {
    match row.accounting {
        Accounting::Neutral => 16 << 10,
        Accounting::Published => row.write_size.max(16 << 10),
    }
}
