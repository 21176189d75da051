//! Pre-shared keys that are offered or selected in violation of the RFC.

use super::*;
use tercel::wire::List;
use tercel::{Handshake, ReceiveBuffer, error::PeerError};
use tercel_wire::{
    ClientExtensions, CompressionMethod, KeyShareEntry, OfferedPsks, PskBinder, PskIdentity,
    PskKeyExchangeMode, Writer,
};

/// The errors of a connection on which the bytes of one side are changed.
fn failure(
    client: &Arc<ClientConfig>,
    server: &Arc<ServerConfig>,
    to_server: impl FnMut(&mut Vec<u8>),
    to_client: impl FnMut(&mut Vec<u8>),
) -> (Option<Error>, Option<Error>) {
    let pair = Pair::new(client, server, NAME).tap_to_server(to_server).tap_to_client(to_client);
    let failure = pair.connect().unwrap_err();
    (failure.client, failure.server)
}

#[test]
fn a_wrong_key_is_a_bad_binder() {
    let server = server().pre_shared_keys([plain("a", SHA256)]).build().unwrap();
    let wrong = PreSharedKey::external(b"a", &[1; 32], SHA256).unwrap();
    // The wrong key ends the handshake even though a certificate could be used. RFC 9846 4.3.11
    let client = client().pre_shared_keys([wrong]).build().unwrap();
    let failed = failure(&client, &server, |_| {}, |_| {});
    let alert = Error::AlertReceived(AlertDescription::DECRYPT_ERROR);
    assert_eq!(failed, (Some(alert), Some(PeerError::BadBinder.into())));
}

/// RFC 9846 4.3.11.2
#[test]
fn every_bit_of_a_binder_and_their_order_matter() {
    let other = PreSharedKey::external(b"b", &[1; 32], SHA256).unwrap();
    let client = key_client([plain("a", SHA256), other]).build().unwrap();
    let server = key_server([plain("a", SHA256)]).build().unwrap();
    // The binders are at the end of the ClientHello: two of 32 bytes, each after its length.
    let bend = |change: fn(&mut [u8])| {
        let mut first = true;
        failure(
            &client,
            &server,
            move |sent| {
                if std::mem::take(&mut first) {
                    let binders = sent.len() - 66;
                    change(&mut sent[binders..]);
                }
            },
            |_| {},
        )
    };
    let bad = Some(PeerError::BadBinder.into());
    assert_eq!(bend(|binders| binders[1] ^= 0x80).1, bad);
    assert_eq!(bend(|binders| binders[32] ^= 1).1, bad);
    let swapped = bend(|binders| {
        let (one, other) = binders.split_at_mut(33);
        one.swap_with_slice(other);
    });
    assert_eq!(swapped.1, bad);
    // The binder of a key that is not selected is not verified, but it is part of the transcript,
    // so the handshake fails later.
    let unseen = bend(|binders| binders[40] ^= 1);
    assert!(unseen.0.is_some() && unseen.1 != bad, "{unseen:?}");
}

#[test]
fn a_binder_of_the_first_hello_is_invalid_in_the_second() {
    let groups = [NamedGroup::X25519, NamedGroup::SECP256R1];
    let client = key_client([plain("a", SHA256)]).groups(&groups).build().unwrap();
    let server = key_server([plain("a", SHA256)]).groups(&groups[1..]).build().unwrap();
    let mut first: Option<Vec<u8>> = None;
    let failed = failure(
        &client,
        &server,
        move |sent| {
            let end = sent.len() - 32;
            match &first {
                None => first = Some(sent[end..].to_vec()),
                Some(binder) if sent.len() > 100 => sent[end..].copy_from_slice(binder),
                Some(_) => {}
            }
        },
        |_| {},
    );
    assert_eq!(failed.1, Some(PeerError::BadBinder.into()));
}

/// A client that offers keys again has to offer the selected one. RFC 9846 4.2.2
#[test]
fn a_second_hello_without_the_key_of_the_first_is_refused() {
    let groups = [NamedGroup::X25519, NamedGroup::SECP256R1];
    let without_keys = || {
        let mut count = 0;
        move |sent: &mut Vec<u8>| {
            let message = hello(sent);
            count += usize::from(message.first() == Some(&1));
            if count == 2 && message.first() == Some(&1) {
                let mut second = ClientHello::parse(&message[4..]).unwrap();
                assert!(second.extensions.pre_shared_key.take().is_some());
                let mut message = Vec::new();
                second.encode(&mut message).unwrap();
                sent.clear();
                sent.extend_from_slice(&[22, 3, 3]);
                Writer::new(sent).opaque16(&message);
            }
        }
    };
    let client = key_client([plain("a", SHA256)]).groups(&groups).build().unwrap();
    let server = key_server([plain("a", SHA256)]).groups(&groups[1..]).build().unwrap();
    let failed = failure(&client, &server, without_keys(), |_| {});
    assert_eq!(failed.1, Some(PeerError::MissingExtension.into()));

    // With the key of a session, the server makes a full handshake, which the client does not
    // continue: its second ClientHello was another one.
    let client = super::client().groups(&groups).build().unwrap();
    let server = super::server().groups(&groups[1..]).build().unwrap();
    Pair::new(&client, &server, NAME).connect().unwrap().talk();
    let failed = failure(&client, &server, without_keys(), |_| {});
    assert!(failed.0.is_some() && failed.1.is_some(), "{failed:?}");
}

#[test]
fn a_server_can_select_only_offered_keys() {
    let choose = |index: u8, server_hash| {
        let keys = [plain("a", SHA256), plain("b", SHA384)];
        let client = key_client(keys).build().unwrap();
        let server = key_server([plain("a", server_hash), plain("b", server_hash)]);
        let change = |sent: &mut Vec<u8>| {
            // The pre_shared_key extension with a body of two bytes.
            let place = sent.windows(4).position(|bytes| bytes == [0, 41, 0, 2]);
            if let Some(place) = place {
                sent[place + 5] = index;
            }
        };
        failure(&client, &server.build().unwrap(), |_| {}, change).0
    };
    assert_eq!(choose(2, SHA256), Some(PeerError::WrongPreSharedKeyChosen.into()));
    assert_eq!(choose(255, SHA256), Some(PeerError::WrongPreSharedKeyChosen.into()));
    // The suite's hash fits the key "a", but not the key "b". RFC 9846 4.3.11
    assert_eq!(choose(1, SHA256), Some(PeerError::WrongCipherSuiteChosen.into()));
}

#[test]
fn a_server_that_selects_no_key_is_refused_before_its_certificate() {
    let client = key_client([plain("a", SHA256)]).build().unwrap();
    let server = key_server([plain("a", SHA256)]).build().unwrap();
    // Removes the selection of the key. No other extension takes its place, because that would be
    // unsolicited.
    let strip = |sent: &mut Vec<u8>| {
        let Some(place) = sent.windows(6).position(|bytes| bytes == [0, 41, 0, 2, 0, 0]) else {
            return;
        };
        sent.drain(place..place + 6);
        // The lengths of the record, of the message (its low bytes) and of the extension block must
        // be reduced.
        let extensions = 5 + 4 + 2 + 32 + 1 + 32 + 2 + 1;
        for (at, by) in [(3, 6), (7, 6), (extensions, 6)] {
            let length = u16::from_be_bytes([sent[at], sent[at + 1]]) - by;
            sent[at..at + 2].copy_from_slice(&length.to_be_bytes());
        }
    };
    let failed = failure(&client, &server, |_| {}, strip);
    assert_eq!(failed.0, Some(PeerError::PreSharedKeyDeclined.into()));
}

/// The error of a server that has only keys, for a ClientHello with these identities and random
/// binders.
fn judged(
    identities: &[&[u8]],
    modes: &[PskKeyExchangeMode],
    server: ServerConfigBuilder,
) -> Error {
    let identities: Vec<PskIdentity<'_>> = identities
        .iter()
        .map(|identity| PskIdentity { identity, obfuscated_ticket_age: 9 })
        .collect();
    let binders = vec![PskBinder(&[5; 32]); identities.len()];
    let hello = ClientHello {
        legacy_version: ProtocolVersion::TLS1_2,
        random: &[1; 32],
        session_id: &[],
        cipher_suites: List::new(&[CipherSuite::TLS_AES_128_GCM_SHA256]),
        compression_methods: List::new(&[CompressionMethod::NULL]),
        extensions_present: true,
        extensions: ClientExtensions {
            supported_versions: Some(List::new(&[ProtocolVersion::TLS1_3])),
            supported_groups: Some(List::new(&[NamedGroup::X25519])),
            key_share: Some(List::new(&[KeyShareEntry {
                group: NamedGroup::X25519,
                key_exchange: &[9; 32],
            }])),
            psk_key_exchange_modes: Some(List::new(modes)),
            pre_shared_key: Some(OfferedPsks {
                identities: List::new(&identities),
                binders: List::new(&binders),
            }),
            ..ClientExtensions::default()
        },
    };
    let mut message = Vec::new();
    hello.encode(&mut message).unwrap();
    let mut record = vec![22, 3, 1];
    Writer::new(&mut record).opaque16(&message);
    let mut received = ReceiveBuffer::new();
    received.extend(&record);
    let mut handshake = Handshake::server(server.build().unwrap());
    handshake.advance(&mut received, &mut Vec::new()).unwrap_err()
}

const WITH_EXCHANGE: &[PskKeyExchangeMode] = &[PskKeyExchangeMode::PSK_DHE_KE];
const UNKNOWN: Error = Error::Peer(PeerError::UnknownPreSharedKey);
const BAD_BINDER: Error = Error::Peer(PeerError::BadBinder);

#[test]
fn the_number_of_examined_identities_is_limited() {
    let others: Vec<Vec<u8>> = (0..300_u32).map(|number| number.to_be_bytes().to_vec()).collect();
    let at = |place: usize| {
        let mut names: Vec<&[u8]> = others.iter().map(Vec::as_slice).collect();
        names[place] = b"mine";
        judged(&names, WITH_EXCHANGE, key_server([plain("mine", SHA256)]))
    };
    // Only the first 32 identities are examined. If the key is at one of the first 32 positions, it
    // is found and its binder is verified.
    assert_eq!(at(0), BAD_BINDER);
    assert_eq!(at(31), BAD_BINDER);
    assert_eq!(at(32), UNKNOWN);
    assert_eq!(at(299), UNKNOWN);
}

/// RFC 9846 4.3.9
#[test]
fn a_key_is_never_used_without_a_key_exchange() {
    let judge = |modes| judged(&[b"mine"], modes, key_server([plain("mine", SHA256)]));
    assert_eq!(judge(&[PskKeyExchangeMode::PSK_KE]), UNKNOWN);
    assert_eq!(judge(&[PskKeyExchangeMode(77)]), UNKNOWN);
    assert_eq!(judge(&[PskKeyExchangeMode::PSK_KE, PskKeyExchangeMode::PSK_DHE_KE]), BAD_BINDER);
}

#[test]
fn an_imported_identity_must_match_entirely() {
    let [short, long] = imported("a");
    let whole = short.identity().to_vec();
    let judge = |identity: &[u8]| judged(&[identity], WITH_EXCHANGE, key_server(imported("a")));
    assert_eq!(judge(&whole), BAD_BINDER);
    for length in 1..whole.len() {
        assert_eq!(judge(&whole[..length]), UNKNOWN);
    }
    assert_eq!(judge(&[&whole[..], b"x"].concat()), UNKNOWN);
    // Changes the imported identity to another protocol (DTLS 1.3), and to an unknown key
    // derivation function.
    for (place, byte) in [(4, 0xfe), (3, 0xfc), (2, 0x12), (1, 3)] {
        let mut other = whole.clone();
        let at = other.len() - place;
        other[at] = byte;
        assert_eq!(judge(&other), UNKNOWN, "{place}");
    }
    // The identity for the other hash fits no suite of this ClientHello.
    assert_eq!(judge(long.identity()), UNKNOWN);
    // The external name alone is not the imported identity.
    assert_eq!(judge(b"a"), UNKNOWN);
}

/// A sealer that seals every session to the same ticket.
struct OneTicket(Mutex<Vec<u8>>);

impl tercel::session::TicketSealer for OneTicket {
    fn seal(&self, session: &[u8], _: tercel::pki_types::UnixTime) -> Option<Vec<u8>> {
        *self.0.lock().unwrap() = session.to_vec();
        Some(b"same".to_vec())
    }

    fn open(&self, ticket: &[u8], _: tercel::pki_types::UnixTime) -> Option<Vec<u8>> {
        assert_eq!(ticket, b"same");
        Some(self.0.lock().unwrap().clone())
    }

    fn lifetime(&self) -> std::time::Duration {
        std::time::Duration::from_secs(1000)
    }
}

#[test]
fn the_name_of_a_key_is_not_tried_as_a_ticket() {
    let tickets = || Arc::new(OneTicket(Mutex::default()));
    let client = client().build().unwrap();
    let plainly = server().tickets(tickets()).build().unwrap();
    assert!(!crate::resumption::visit(&client, &plainly));
    assert!(crate::resumption::visit(&client, &plainly));
    // The key has the same name as the ticket. The server expects the key's binder and does not try
    // the binder of the ticket.
    let keyed = server().tickets(tickets()).pre_shared_keys([plain("same", SHA256)]);
    let keyed = keyed.build().unwrap();
    let failed = failure(&client, &keyed, |_| {}, |_| {});
    assert_eq!(failed.1, Some(BAD_BINDER));
}
