//! Which of a route's backends a client is connected to.
//!
//! Must not know: TLS, what is sent there. Next: [`crate::backend`]; [`crate::connection`], [`crate::early`], which ask.

use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Instant;

use crate::backend::BackendStream;
use crate::metrics::labels::BackendFailure;
use crate::worker::{Hub, View};

/// A route, by the places in the configuration that its connection began with.
#[derive(Clone)]
pub(crate) struct Way {
    pub(crate) hub: Rc<Hub>,
    pub(crate) view: Rc<View>,
    pub(crate) client: SocketAddr,
    pub(crate) listener: u32,
    pub(crate) route: u32,
}

impl Way {
    /// A connection to the first backend that can be reached.
    pub(crate) async fn reach(&self) -> Option<BackendStream> {
        let view = &self.view;
        let (listener, number) = (usize::try_from(self.listener), usize::try_from(self.route));
        let (listener, number) = (listener.ok()?, number.ok()?);
        let route = view.listener(listener)?.routes.get(number)?;
        let turns = view.turns(listener, number)?;
        for at in turns.order() {
            let Some(endpoint) = route.backends.get(at) else { continue };
            let begun = Instant::now();
            match endpoint.connect(view.live.timeouts.connect).await {
                Ok(stream) => {
                    turns.reached(at);
                    self.hub.shard.backend_connected(begun.elapsed());
                    return Some(stream);
                }
                Err(error) => {
                    turns.failed(at);
                    self.hub.shard.backend_failed(BackendFailure::of(&error));
                    if let Some(left_out) = self.hub.repeats.admit(begun) {
                        let client = self.client;
                        tracing::warn!(%client, backend = %endpoint, %error, left_out, "no backend");
                    }
                }
            }
        }
        self.hub.shard.backend_failed(BackendFailure::NoneLeft);
        None
    }
}
