//! The identity of the server that a client connects to.

use tercel_pki::ServerName;

/// The server that a client connects to: the name and the port that the application gave, and the
/// outer name of Encrypted ClientHello, once the handshake continues under that name.
///
/// The outer name never takes the place of the name, so sessions cannot be stored under it.
pub(crate) struct ServerIdentity {
    name: ServerName<'static>,
    /// The port, if it distinguishes servers.
    port: Option<u16>,
    /// The public name of the Encrypted ClientHello that the server rejected. RFC 9849 6.1.6
    outer_name: Option<ServerName<'static>>,
}

impl ServerIdentity {
    pub(crate) fn new(name: ServerName<'static>, port: Option<u16>) -> Self {
        Self { name, port, outer_name: None }
    }

    /// Returns the name that the application gave. Sessions are stored under this name.
    pub(crate) fn name(&self) -> &ServerName<'static> {
        &self.name
    }

    /// Returns the port, if it distinguishes servers.
    pub(crate) fn port(&self) -> Option<u16> {
        self.port
    }

    /// Returns the name that this handshake requests, and for which the server's certificate has to
    /// be valid.
    pub(crate) fn handshake_name(&self) -> &ServerName<'static> {
        self.outer_name.as_ref().unwrap_or(&self.name)
    }

    /// Continues under the outer name, because the server rejected Encrypted ClientHello.
    /// RFC 9849 6.1.6
    #[cfg(feature = "ech")]
    pub(crate) fn continue_under_outer_name(&mut self, name: ServerName<'static>) {
        self.outer_name = Some(name);
    }
}
