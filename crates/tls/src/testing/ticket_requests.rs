//! How many tickets a client gets that says how many it would like. RFC 9149 3
//!
//! What it is for: our clients never say, and a word that is added on the way breaks the handshake. Must not know: what a
//! ticket holds. Next: `handshake/tls13/resumption.rs`.

use std::sync::Arc;

use tercel_wire::{
    CipherSuite, ClientHello, HandshakeMessage, List, ProtocolVersion, PskKeyExchangeMode,
    TicketRequest,
};

use super::adversary::any_scene;
use crate::config::policy::Policy;
use crate::connection::facts::Facts;
use crate::handshake::tls13::resumption::tickets_to_send;
use crate::record::limits;
use crate::{Handshake, MemoryStore, Received, RotatingTickets, ServerConfig, ServerConfigBuilder};

/// What a client gets that says this, after a full and after a resumed handshake.
fn given(server: &ServerConfig, said: Option<(u8, u8)>) -> [u8; 2] {
    let mut sent = Vec::new();
    let name = "localhost".try_into().unwrap();
    let mut client = Handshake::client(any_scene().client(), name);
    client.advance(&mut Received::new(), &mut sent).unwrap();
    let mut hello = ClientHello::parse(&sent[limits::HEADER + 4..]).unwrap();
    let modes = [PskKeyExchangeMode::PSK_DHE_KE];
    hello.extensions.psk_key_exchange_modes = Some(List::of(&modes));
    hello.extensions.ticket_request = said.map(|(new_session_count, resumption_count)| {
        TicketRequest { new_session_count, resumption_count }
    });
    [false, true].map(|resumed| {
        let suite = CipherSuite::TLS_AES_128_GCM_SHA256;
        let mut facts = Facts::new(ProtocolVersion::TLS1_3, suite);
        facts.resumed = resumed;
        tickets_to_send(server, &hello, &facts, true)
    })
}

fn server(builder: ServerConfigBuilder) -> Arc<ServerConfig> {
    builder.credentials(Policy::Ask).session_context(b"test").build().unwrap()
}

#[test]
fn a_client_that_keeps_them_itself_gets_as_many_as_it_likes_up_to_ten() {
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
fn of_sessions_in_a_store_it_gets_no_more_than_the_configuration_gives() {
    for store in [Policy::Here(Arc::new(MemoryStore::new(10)) as _), Policy::Ask] {
        let config = |builder: ServerConfigBuilder| server(builder.session_store(store.clone()));
        let storing = config(ServerConfig::builder());
        assert_eq!(given(&storing, None), [2, 1]);
        assert_eq!(given(&storing, Some((10, 10))), [2, 1]);
        assert_eq!(given(&storing, Some((1, 0))), [1, 0]);
        let more = config(ServerConfig::builder().ticket_counts(4, 3));
        assert_eq!(given(&more, Some((10, 10))), [4, 3]);
    }
}
