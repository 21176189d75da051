//! The number of tickets that a server sends to a client with ticket_request. RFC 9149 3
//!
//! The tests parse ClientHellos with this extension and compute the number of tickets. They cannot
//! make a handshake: the library's client does not send the extension, and a ClientHello to which a
//! test adds it no longer matches the client's transcript.

use std::sync::Arc;

use tercel_wire::{
    CipherSuite, ClientHello, HandshakeMessage, List, ProtocolVersion, PskKeyExchangeMode,
    TicketRequest,
};

use super::misbehaving_peer::any_case;
use crate::connection::info::ConnectionInfo;
use crate::handshake::tls13::resumption::tickets_to_send;
use crate::policy::Policy;
use crate::record::limits;
use crate::{
    Handshake, ReceiveBuffer, ServerConfig,
    server::ServerConfigBuilder,
    session::{RotatingTickets, ServerMemoryStore},
};

/// The number of tickets for this request, after a full and after a resumed handshake.
fn given(server: &ServerConfig, request: Option<(u8, u8)>) -> [u8; 2] {
    let mut sent = Vec::new();
    let name = "localhost".try_into().unwrap();
    let mut client = Handshake::client(any_case().client(), name);
    client.advance(&mut ReceiveBuffer::new(), &mut sent).unwrap();
    let mut hello = ClientHello::parse(&sent[limits::HEADER + 4..]).unwrap();
    let modes = [PskKeyExchangeMode::PSK_DHE_KE];
    hello.extensions.psk_key_exchange_modes = Some(List::new(&modes));
    hello.extensions.ticket_request = request.map(|(new_session_count, resumption_count)| {
        TicketRequest { new_session_count, resumption_count }
    });
    [false, true].map(|resumed| {
        let suite = CipherSuite::TLS_AES_128_GCM_SHA256;
        let mut info = ConnectionInfo::new(ProtocolVersion::TLS1_3, suite);
        info.resumed = resumed;
        tickets_to_send(server, &hello, &info, true)
    })
}

fn server(builder: ServerConfigBuilder) -> Arc<ServerConfig> {
    builder.credentials(Policy::Ask).session_context(b"test").build().unwrap()
}

#[test]
fn a_client_gets_the_requested_number_of_tickets_up_to_ten() {
    let tickets = Arc::new(RotatingTickets::new(pki_types::UnixTime::now()).unwrap());
    let config = |builder: ServerConfigBuilder| server(builder.tickets(tickets.clone()));
    let sealing = config(ServerConfig::builder());
    assert_eq!(given(&sealing, None), [2, 1]);
    assert_eq!(given(&sealing, Some((5, 3))), [5, 3]);
    assert_eq!(given(&sealing, Some((255, 11))), [10, 10]);
    assert_eq!(given(&sealing, Some((0, 0))), [0, 0]);
    let without = config(ServerConfig::builder().ticket_counts(0, 1));
    assert_eq!(given(&without, Some((5, 5))), [0, 5]);
}

#[test]
fn the_number_of_stored_sessions_is_that_of_the_configuration() {
    for store in [Policy::Here(Arc::new(ServerMemoryStore::new(10)) as _), Policy::Ask] {
        let config = |builder: ServerConfigBuilder| server(builder.session_store(store.clone()));
        let storing = config(ServerConfig::builder());
        assert_eq!(given(&storing, None), [2, 1]);
        assert_eq!(given(&storing, Some((10, 10))), [2, 1]);
        assert_eq!(given(&storing, Some((1, 0))), [1, 0]);
        let more = config(ServerConfig::builder().ticket_counts(4, 3));
        assert_eq!(given(&more, Some((10, 10))), [4, 3]);
    }
}
