//! Connections.

use std::sync::Arc;

use tercel::Connection as CoreConnection;

use crate::config::codes::Side;
use crate::entry::entry;
use crate::entry::owned::{self, Owned};
use crate::fact::Facts;
use crate::sessions::GivenSessions;

use state::{Receiving, Requests, Rest, Sending, State};

mod state;

// `tercel.h` has the functions in the order of these modules, which the empty lines keep.
pub mod records;

pub mod established;

pub mod sessions;

pub mod authentication;

pub mod halves;

/// An established connection, or one half of it.
pub struct Connection(Owned<State, Arc<Facts>>);

owned_handle!(Connection, State, Arc<Facts>);

impl Connection {
    /// Creates the handle of a new connection.
    pub(crate) fn handle(
        connection: CoreConnection,
        side: Side,
        sessions: Option<Arc<GivenSessions>>,
    ) -> *mut Self {
        let CoreConnection { sender, receiver, mut info, exporter, early_exporter, requester } =
            connection;
        let stored = info.take_new_sessions().into_iter().rev().map(Into::into).collect();
        let requests = Requests::default();
        let state = State {
            sending: Some(Sending {
                sender,
                exporter,
                early_exporter,
                requester,
                requests: requests.clone(),
                stored,
                taken: None,
            }),
            receiving: Some(Receiving {
                receiver,
                sessions,
                taken: None,
                rest: Rest::default(),
                requests,
                client_certificate: None,
            }),
            error: String::new(),
        };
        owned::with_fixed(state, Arc::new(Facts::new(info, side)))
    }
}

/// Frees a connection, or one half. NULL has no effect. Without tercel_connection_close before, the
/// peer cannot distinguish the end from an attack.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_connection_free(connection: *mut Connection) {
    // SAFETY: the caller's duty.
    _ = entry(|| unsafe { owned::free(connection) });
}
