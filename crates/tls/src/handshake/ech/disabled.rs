//! Handshakes without the feature `ech`: empty types, whose functions are compiled to nothing.

/// A server that ignores the extension.
#[allow(clippy::unnecessary_wraps, clippy::unused_self)]
pub(crate) mod server {
    use tercel_wire::{ClientHello, ServerHello};

    use crate::config::server::ServerConfig;
    use crate::connection::info::ConnectionInfo;
    use crate::error::Error;
    use crate::handshake::runtime::flow::Flow;
    use crate::handshake::transcript::Transcript;
    use crate::record::joiner::Message;

    #[derive(Default)]
    pub(crate) struct ServerEch;

    pub(crate) fn open(_: &ServerConfig, hello: Message) -> Result<(Message, ServerEch), Error> {
        Ok((hello, ServerEch))
    }

    impl ServerEch {
        pub(crate) fn report(&self, _: &mut ConnectionInfo) {}

        pub(crate) fn send(
            &self,
            flow: &mut Flow,
            message: &ServerHello<'_>,
            transcript: &mut Transcript,
            _: &[u8; 32],
        ) -> Result<(), Error> {
            flow.send(message, transcript)
        }

        pub(crate) fn open_second(&mut self, second: Message) -> Result<Message, Error> {
            Ok(second)
        }

        pub(crate) fn retry_configs(&self) -> Option<&[u8]> {
            None
        }
    }

    pub(crate) fn report_tls12(_: &ServerConfig, _: &ClientHello<'_>, _: &mut ConnectionInfo) {}
}

/// A client that does not offer the extension.
#[allow(clippy::unnecessary_wraps, clippy::unused_self)]
pub(crate) mod client {
    use tercel_wire::{ClientHello, ClientHelloEncoding, ServerHello};

    use super::super::{RequestedOffer, Written};
    use crate::config::client::ClientConfig;
    use crate::connection::info::ConnectionInfo;
    use crate::error::{Error, PeerError};
    use crate::handshake::runtime::flow::Flow;
    use crate::handshake::transcript::Transcript;

    #[derive(Default)]
    pub(crate) struct ClientEch;

    pub(crate) enum Settled {
        Unchanged,
    }

    impl ClientEch {
        pub(crate) fn new(
            _: &mut Flow,
            _: RequestedOffer,
            _: &ClientConfig,
        ) -> Result<Self, Error> {
            Ok(Self)
        }

        pub(crate) fn requires_tls13(&self) -> bool {
            false
        }

        pub(crate) fn write(
            &mut self,
            hello: &ClientHello<'_>,
            encoding: &ClientHelloEncoding,
            capacity: usize,
            bind: impl FnOnce(&ClientHello<'_>, &mut Vec<u8>) -> Result<Option<Box<Transcript>>, Error>,
        ) -> Result<Written, Error> {
            let mut message = Vec::with_capacity(capacity);
            hello.encode_with(encoding, &mut message)?;
            let transcript = bind(hello, &mut message)?;
            Ok(Written { message, sent: None, transcript })
        }

        pub(crate) fn settle_by_retry(
            &mut self,
            _: &[u8],
            _: &ServerHello<'_>,
            _: &[u8; 32],
            _: impl FnOnce() -> Option<Transcript>,
        ) -> Result<Settled, Error> {
            Ok(Settled::Unchanged)
        }

        pub(crate) fn settle(
            &mut self,
            _: &[u8],
            _: &[u8; 32],
            _: impl FnOnce() -> Option<Transcript>,
        ) -> Result<Settled, Error> {
            Ok(Settled::Unchanged)
        }

        pub(crate) fn reject(&mut self) -> Settled {
            Settled::Unchanged
        }

        pub(crate) fn receive_retry_configs(
            &self,
            _: &[u8],
            _: &mut ConnectionInfo,
        ) -> Result<(), Error> {
            Err(PeerError::UnexpectedExtension.into())
        }

        pub(crate) fn report(&self, _: &mut ConnectionInfo) {}
    }
}
