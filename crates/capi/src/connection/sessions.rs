//! Sessions of a connection, which the application stores.

use super::Connection;
use super::state::StoredSession;
use crate::entry::bytes::Bytes;
use crate::entry::entry;
use crate::entry::owned::with;
use crate::entry::pointers::{self, Place};
use crate::status::Status;

/// Client: takes a session that a later connection can offer with tercel_handshake_offer_session,
/// and stores the time at which it expires, in seconds since 1970. Data is NULL if there is none
/// now; a TLS 1.3 server sends sessions after the handshake, so ask again after
/// tercel_connection_open.
///
/// The bytes are valid until the next call of this function. They contain secrets. Offer each
/// session once, and remove those of a TLS 1.2 connection that fails. The configuration needs
/// TERCEL_SESSIONS_GIVEN.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_connection_take_session(
    connection: *mut Connection,
    session: *mut Bytes,
    expires: *mut u64,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let (mut place, mut expires) = (Place::new(session, Bytes::NONE)?, Place::new(expires, 0)?);
        pointers::separate(&[&place, &expires], &[], &[])?;
        with(connection, |state| {
            let half = state.receiving()?;
            half.taken = half.sessions.as_ref().and_then(|sessions| sessions.take_new());
            if let Some(new) = &half.taken {
                place.set(Bytes::some(&new.session));
                expires.set(new.expires);
            }
            Ok(())
        })
    })
}

/// Server: takes a session that the caller has to store under its identity, for the answer to
/// TERCEL_QUESTION_FIND_SESSION, and stores the time at which it expires, in seconds since 1970.
/// Data is NULL if there is none.
///
/// The bytes are valid until the next call of this function. They contain secrets. Remove the
/// session of a TLS 1.2 connection that fails. The configuration needs TERCEL_ASK_FIND_SESSION.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_connection_take_stored_session(
    connection: *mut Connection,
    identity: *mut Bytes,
    session: *mut Bytes,
    expires: *mut u64,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let mut identity = Place::new(identity, Bytes::NONE)?;
        let (mut place, mut expires) = (Place::new(session, Bytes::NONE)?, Place::new(expires, 0)?);
        pointers::separate(&[&identity, &place, &expires], &[], &[])?;
        with(connection, |state| {
            let half = state.sending()?;
            half.taken = half.stored.pop();
            if let Some(StoredSession { id, new }) = &half.taken {
                identity.set(Bytes::some(id));
                place.set(Bytes::some(&new.session));
                expires.set(new.expires);
            }
            Ok(())
        })
    })
}
