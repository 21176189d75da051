//! Connects a client to one of its route's backends.

use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Instant;

use crate::backend::endpoint::BackendStream;
use crate::observability::metrics::labels::BackendFailure;
use crate::worker::log_limits::LogKind;
use crate::worker::{WorkerConfig, WorkerContext};

/// A client's route, identified by its indices in the configuration under which the connection was
/// accepted.
#[derive(Clone)]
pub(crate) struct BackendConnector {
    pub(crate) worker: Rc<WorkerContext>,
    pub(crate) config: Rc<WorkerConfig>,
    pub(crate) client: SocketAddr,
    pub(crate) listener: u32,
    pub(crate) route: u32,
}

impl BackendConnector {
    /// Connects to the first reachable backend.
    pub(crate) async fn connect(&self) -> Option<BackendStream> {
        let config = &self.config;
        let (listener, number) = (usize::try_from(self.listener), usize::try_from(self.route));
        let (listener, number) = (listener.ok()?, number.ok()?);
        let route = config.listener(listener)?.routes.get(number)?;
        let round_robin = config.round_robin(listener, number)?;
        for at in round_robin.order() {
            let Some(endpoint) = route.backends.get(at) else { continue };
            let started = Instant::now();
            match endpoint.connect(config.active.timeouts.connect).await {
                Ok(stream) => {
                    round_robin.mark_reachable(at);
                    self.worker.shard.backend_connected(started.elapsed());
                    return Some(stream);
                }
                Err(error) => {
                    round_robin.mark_failed(at);
                    self.worker.shard.backend_failed(BackendFailure::of(&error));
                    let limits = &self.worker.log_limits;
                    if let Some(suppressed) = limits.admit(LogKind::Backend, started) {
                        let client = self.client;
                        tracing::warn!(
                            %client,
                            backend = %endpoint,
                            %error,
                            suppressed,
                            "connection to backend failed"
                        );
                    }
                }
            }
        }
        self.worker.shard.backend_failed(BackendFailure::NoneLeft);
        None
    }
}
