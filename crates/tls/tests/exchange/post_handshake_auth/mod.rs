//! Authentication after the handshake: a server asks, a client answers. RFC 9846 4.7.2
//!
//! For: every way to ask and to answer; here is what all of its files use. Must not know: clients and servers that break
//! the rules, which are in `src/testing/late_authentication/`. Next: `answers.rs`, then `credentials.rs`, `refusals.rs`
//! and `streams.rs`.

mod answers;
mod credentials;
mod refusals;
mod streams;

use std::sync::Arc;

use tercel::{
    CertificateRequested, ClientAuth, ClientCertificate, ClientConfig, ClientConfigBuilder,
    Credential, Error, Opened, ServerConfig, ServerConfigBuilder,
};

use crate::identity::{NAME, client, roots, server};
use crate::pair::{Delivery, End, Ends, Pair};

/// A client that may be asked, and has nothing to show by itself.
fn willing() -> ClientConfigBuilder {
    client().post_handshake_auth(true)
}

/// A server that does not ask during the handshake but knows whom to trust.
fn curious() -> ServerConfigBuilder {
    server().client_auth(ClientAuth::None, roots())
}

fn connect(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> Ends {
    Pair::new(client, server, NAME).connect().unwrap()
}

fn willing_and_curious() -> Ends {
    connect(&willing().build().unwrap(), &curious().build().unwrap())
}

/// Asks, and what the client is given.
fn ask(ends: &mut Ends, demand: ClientAuth) -> CertificateRequested {
    let mut wire = Vec::new();
    ends.server.connection.request_certificate(demand, &mut wire).unwrap();
    requested(&mut ends.client, &wire, Delivery::Whole)
}

fn requested(end: &mut End, wire: &[u8], delivery: Delivery) -> CertificateRequested {
    match next(end, wire, delivery).unwrap() {
        Seen::Requested(request) => request,
        other => panic!("{other:?}"),
    }
}

fn answered(end: &mut End, wire: &[u8], delivery: Delivery) -> ClientCertificate {
    match next(end, wire, delivery).unwrap() {
        Seen::Answered(answer) => answer,
        other => panic!("{other:?}"),
    }
}

#[derive(Debug)]
enum Seen {
    Requested(CertificateRequested),
    Answered(ClientCertificate),
    Nothing,
}

/// The first event among these bytes; data before it is an error of the test.
fn next(end: &mut End, mut wire: &[u8], delivery: Delivery) -> Result<Seen, Error> {
    let mut step = match delivery {
        Delivery::Whole => wire.len(),
        _ => 1,
    };
    loop {
        match end.connection.receiver.open(&mut end.received)? {
            Opened::CertificateRequested(request) => return Ok(Seen::Requested(request)),
            Opened::ClientCertificate(answer) => return Ok(Seen::Answered(answer)),
            Opened::More if !wire.is_empty() => {
                step = step.min(wire.len());
                end.received.extend(&wire[..step]);
                wire = &wire[step..];
            }
            Opened::More => return Ok(Seen::Nothing),
            other => panic!("{other:?}"),
        }
    }
}

fn answer(end: &mut End, request: CertificateRequested, with: Option<&Arc<Credential>>) -> Vec<u8> {
    let mut wire = Vec::new();
    end.connection.sender.authenticate(request, with, &mut wire).unwrap();
    wire
}
