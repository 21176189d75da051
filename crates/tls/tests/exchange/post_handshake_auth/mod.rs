//! Post-handshake client authentication: a server requests a certificate, and a client answers.
//! RFC 9846 4.7.2
//!
//! This file has the helpers for the tests in this folder.

mod answers;
mod credentials;
mod refusals;
mod streams;

use std::sync::Arc;

use tercel::{
    ClientConfig, Credential, Error, Opened, ServerConfig,
    client::{CertificateRequested, ClientConfigBuilder},
    server::{ClientAuth, ClientCertificate, ServerConfigBuilder},
};

use crate::fixtures::{NAME, client, roots, server};
use crate::pair::{Delivery, End, Ends, Pair};

/// A client that offers post-handshake authentication and has no credential.
fn offering_client() -> ClientConfigBuilder {
    client().post_handshake_auth(true)
}

/// A server that has roots, and requests nothing during the handshake.
fn server_with_roots() -> ServerConfigBuilder {
    server().client_auth(ClientAuth::None, roots())
}

fn connect(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> Ends {
    Pair::new(client, server, NAME).connect().unwrap()
}

fn connected_pair() -> Ends {
    connect(&offering_client().build().unwrap(), &server_with_roots().build().unwrap())
}

/// Sends a request, and returns it as the client receives it.
fn ask(ends: &mut Ends, demand: ClientAuth) -> CertificateRequested {
    let mut wire = Vec::new();
    ends.server.connection.request_certificate(demand, &mut wire).unwrap();
    requested(&mut ends.client, &wire, Delivery::Whole)
}

fn requested(end: &mut End, wire: &[u8], delivery: Delivery) -> CertificateRequested {
    match next(end, wire, delivery).unwrap() {
        Event::Requested(request) => request,
        other => panic!("{other:?}"),
    }
}

fn answered(end: &mut End, wire: &[u8], delivery: Delivery) -> ClientCertificate {
    match next(end, wire, delivery).unwrap() {
        Event::Answered(answer) => answer,
        other => panic!("{other:?}"),
    }
}

#[derive(Debug)]
enum Event {
    Requested(CertificateRequested),
    Answered(ClientCertificate),
    Nothing,
}

/// The first event among these bytes. Data before it means an error of the test.
fn next(end: &mut End, mut wire: &[u8], delivery: Delivery) -> Result<Event, Error> {
    let mut step = match delivery {
        Delivery::Whole => wire.len(),
        _ => 1,
    };
    loop {
        match end.connection.receiver.open(&mut end.received)? {
            Opened::CertificateRequested(request) => return Ok(Event::Requested(request)),
            Opened::ClientCertificate(answer) => return Ok(Event::Answered(answer)),
            Opened::More if !wire.is_empty() => {
                step = step.min(wire.len());
                end.received.extend(&wire[..step]);
                wire = &wire[step..];
            }
            Opened::More => return Ok(Event::Nothing),
            other => panic!("{other:?}"),
        }
    }
}

fn answer(end: &mut End, request: CertificateRequested, with: Option<&Arc<Credential>>) -> Vec<u8> {
    let mut wire = Vec::new();
    end.connection.sender.authenticate(request, with, &mut wire).unwrap();
    wire
}
