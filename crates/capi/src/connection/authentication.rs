//! Authentication of the client after the handshake.

use std::sync::Arc;

use tercel::server::{ClientAuth as CoreClientAuth, ClientCertificate};

use super::Connection;
use super::state::{Receiving, Sending, State};
use crate::config::codes::{ClientAuth, TERCEL_CLIENT_AUTH_OPTIONAL, TERCEL_CLIENT_AUTH_REQUIRED};
use crate::credential::Credential;
use crate::entry::bytes::Bytes;
use crate::entry::owned::with;
use crate::entry::{entry, shared, value};
use crate::output::Output;
use crate::status::Status;
use crate::status::codes::{TERCEL_MISUSE_UNKNOWN_NUMBER, TERCEL_MISUSE_WRONG_HALF};

/// Client: answers TERCEL_EVENT_CERTIFICATE_REQUESTED with a credential, whose key is in the
/// library, or declines with NULL. Appends the messages to the output. After a split, it is a
/// function of the sending half. Several requests are answered in the order of their events. After
/// an error of the class TERCEL_CLASS_MISUSE, the request remains to be answered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_connection_authenticate(
    connection: *mut Connection,
    credential: *const Credential,
    output: *mut Output,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let credential = if credential.is_null() { None } else { Some(shared::get(credential)?) };
        with(connection, |state| {
            with(output, |output| {
                let credential = credential.as_ref().map(|credential| &credential.0);
                let request = state.sending()?.requests.take_for(credential.map(Arc::as_ref))?;
                state.send(|half| half.sender.authenticate(request, credential, output.bytes()))
            })
        })
    })
}

/// Server: requests a certificate of the client, TERCEL_CLIENT_AUTH_OPTIONAL or _REQUIRED. Appends
/// the message to the output. The answer is TERCEL_EVENT_CLIENT_CERTIFICATE. Not after a split, and
/// not with TERCEL_ASK_VERIFY_PEER, because the roots of the configuration verify the certificate.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_connection_request_certificate(
    connection: *mut Connection,
    demand: ClientAuth,
    output: *mut Output,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let demand = match demand {
            TERCEL_CLIENT_AUTH_OPTIONAL => CoreClientAuth::Optional,
            TERCEL_CLIENT_AUTH_REQUIRED => CoreClientAuth::Required,
            _ => return Err(TERCEL_MISUSE_UNKNOWN_NUMBER),
        };
        with(connection, |state| {
            with(output, |output| {
                let State { sending: Some(sending), receiving: Some(receiving), .. } = state else {
                    return Err(TERCEL_MISUSE_WRONG_HALF);
                };
                let mut request = |sending: &mut Sending, receiving: &mut Receiving| {
                    // An answer comes as an event, after which no question can be asked.
                    let requester = sending.requester.as_ref();
                    let requester = requester.filter(|one| one.check_verifies().is_ok());
                    let requester = requester.ok_or(tercel::error::Misuse::NoPostHandshakeAuth)?;
                    let sender = &mut sending.sender;
                    let pending = sender.request_certificate(requester, demand, output.bytes())?;
                    receiving.receiver.expect(pending)
                };
                request(sending, receiving).map_err(|error| state.fail(error))
            })
        })
    })
}

/// Server: returns a certificate (DER) of the last TERCEL_EVENT_CLIENT_CERTIFICATE, the leaf at
/// index 0. Data is NULL behind the last one, and if the client declined. It was verified.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_connection_client_certificate(
    connection: *const Connection,
    index: usize,
) -> Bytes {
    // SAFETY: the caller's duty.
    value(|| unsafe {
        with(connection, |state| {
            let certificate = state.receiving()?.client_certificate.as_ref();
            let identity = certificate.and_then(ClientCertificate::identity);
            let der = identity.and_then(|identity| identity.chain.get(index));
            Ok(Bytes::optional(der.map(AsRef::as_ref)))
        })
    })
}
