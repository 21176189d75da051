//! A handshake's coroutine and, on a server, the wait for a ClientHello that precedes it.
//!
//! The ClientHello decides which coroutine is needed, so a server allocates no coroutine before the
//! ClientHello is complete.

use std::sync::Arc;

use super::ech::RequestedOffer;
use super::runtime::command::Wanted;
use super::runtime::coroutine::Coroutine;
use super::runtime::flow::Flow;
use super::runtime::mailbox::Mailbox;
use super::start;
use crate::auth::server_identity::ServerIdentity;
use crate::config::client::ClientConfig;
use crate::config::server::ServerConfig;
use crate::error::Error;

/// The current state of a handshake.
pub(crate) enum Task {
    /// A server that waits for a ClientHello. The configuration is taken when the ClientHello
    /// arrives.
    AwaitingClientHello(Option<Arc<ServerConfig>>),
    Running(Coroutine<Error>),
}

impl Task {
    pub(crate) fn client(
        config: Arc<ClientConfig>,
        server: ServerIdentity,
        ech: RequestedOffer,
    ) -> Self {
        Self::Running(Coroutine::new(|| start::client(Flow::default(), config, server, ech)))
    }

    pub(crate) fn server(config: Arc<ServerConfig>) -> Self {
        Self::AwaitingClientHello(Some(config))
    }

    /// Runs the coroutine to its next wait or its end.
    pub(crate) fn resume(
        &mut self,
        mailbox: &mut Option<Box<Mailbox>>,
    ) -> Option<Result<(), Error>> {
        if let Self::AwaitingClientHello(config) = self {
            let mailbox = mailbox.as_deref_mut()?;
            let Some(hello) = mailbox.message.take() else {
                mailbox.wanted = Some(Wanted::Message);
                return None;
            };
            mailbox.wanted = None;
            match start::server(config.take()?, hello) {
                Ok(sequence) => *self = Self::Running(Coroutine::of(sequence)),
                Err(error) => return Some(Err(error)),
            }
        }
        match self {
            Self::Running(coroutine) => coroutine.resume(mailbox),
            // This arm is unreachable, because the state was replaced above.
            Self::AwaitingClientHello(_) => None,
        }
    }
}
