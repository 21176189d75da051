//! A handshake's sequence, and before it, on a server, the wait for something to begin it with.
//!
//! A client's hello decides which sequence there is to be, so that a server needs none before the hello is whole.
//! Must not know: records. Next: [`super::hello`], [`super::driver`].

use std::sync::Arc;

use super::coroutine::Coroutine;
use super::flow::{Flow, Post, Wanted};
use super::hello;
use crate::config::client::ClientConfig;
use crate::config::server::ServerConfig;
use crate::error::Error;
use crate::session::client_store::ClientSessionKey;

/// A handshake on its way.
pub(crate) enum Running {
    /// A server's, by this configuration; it is taken when the handshake goes on.
    Listening(Option<Arc<ServerConfig>>),
    Sequence(Coroutine<Error>),
}

impl Running {
    pub(crate) fn client(config: Arc<ClientConfig>, to: ClientSessionKey) -> Self {
        Self::Sequence(Coroutine::new(|| hello::client(Flow::default(), config, to)))
    }

    pub(crate) fn server(config: Arc<ServerConfig>) -> Self {
        Self::Listening(Some(config))
    }

    /// Runs up to the next wait, or to the end, with the post box in its hands.
    pub(crate) fn resume(&mut self, post: &mut Option<Box<Post>>) -> Option<Result<(), Error>> {
        if let Self::Listening(config) = self {
            let letters = post.as_deref_mut()?;
            let Some(hello) = letters.message.take() else {
                letters.wanted = Some(Wanted::Message);
                return None;
            };
            letters.wanted = None;
            match hello::server(config.take()?, hello) {
                Ok(sequence) => *self = Self::Sequence(Coroutine::of(sequence)),
                Err(error) => return Some(Err(error)),
            }
        }
        match self {
            Self::Sequence(coroutine) => coroutine.resume(post),
            // It has just become one; this is for the compiler.
            Self::Listening(_) => None,
        }
    }
}
