//! Whether the server has the private key of each chain that it sent. The prober does not check
//! signatures, and any server can send the certificates of another one, which are public.

use std::sync::Arc;

use tercel::certificates::AcceptAnyPeer;
use tercel::{ClientConfig, Policy, ServerName};

use super::handshake::{self, HandshakeFailure};
use super::reply::ServerFlight;
use super::scanner::Scanner;

/// The result for a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    /// A handshake was completed with the end-entity certificate.
    Proven,
    /// The handshake failed because of the server, for this reason.
    Refuted(String),
    /// No handshake was completed with it, for this reason.
    Unknown(String),
}

/// Tries a handshake for each observed chain with which none was completed yet.
pub(crate) fn find(scanner: &mut Scanner, name: &ServerName<'static>) -> Vec<Proof> {
    let chains = scanner.observed.chains.clone();
    chains.iter().map(|flight| prove(scanner, flight, name)).collect()
}

fn prove(scanner: &mut Scanner, flight: &ServerFlight, name: &ServerName<'static>) -> Proof {
    if scanner.is_proven(flight) {
        return Proof::Proven;
    }
    let Some(config) = config(flight) else {
        return Proof::Unknown("the library has no such version or signature scheme".to_owned());
    };
    let mut lost = String::new();
    for _ in 0..2 {
        let transport = match scanner.connections.open() {
            Ok(transport) => transport,
            Err(why) => return Proof::Unknown(why),
        };
        match handshake::complete(&transport, &config, name) {
            Ok((connection, _)) => {
                scanner.note_completed(&connection.info);
                transport.close_gracefully();
                if scanner.is_proven(flight) {
                    return Proof::Proven;
                }
                return Proof::Unknown("the server then sent another certificate".to_owned());
            }
            Err(HandshakeFailure::Breach(why)) => {
                scanner.connections.answered();
                return Proof::Refuted(why);
            }
            Err(failure @ HandshakeFailure::Answered(_)) => {
                return Proof::Unknown(scanner.note_failure(failure));
            }
            Err(failure @ HandshakeFailure::Unanswered(_)) => lost = scanner.note_failure(failure),
        }
    }
    scanner.confirm();
    Proof::Unknown(lost)
}

/// A configuration with which the server should send the same chain. `None` if the library does not
/// implement the version or the signature.
fn config(flight: &ServerFlight) -> Option<Arc<ClientConfig>> {
    let builder = ClientConfig::builder()
        .versions(&[flight.version])
        .signature_schemes(&[flight.scheme?])
        // The chain is judged elsewhere, and no data is exchanged.
        .verifier(Policy::Here(Arc::new(AcceptAnyPeer)))
        .require_secure_renegotiation(false)
        .without_resumption();
    builder.build().ok()
}
