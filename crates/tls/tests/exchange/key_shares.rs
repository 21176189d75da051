//! Which key shares of a ClientHello a server takes: in any order, for groups that are listed, one each.
//!
//! For: hellos that our own client would not write, shown to a server alone. Must not know: configurations beyond
//! groups. Next: `negotiation.rs`.

use std::sync::Arc;

use tercel::wire::{
    AlertDescription, ClientHello, DecodeError, HandshakeMessage, KeyShareEntry, List, NamedGroup,
    ServerHello,
};
use tercel::{Error, Handshake, Peer, Received, ServerConfig};

use crate::identity::{NAME, client, server};

const MLKEM: NamedGroup = NamedGroup::X25519MLKEM768;
const X25519: NamedGroup = NamedGroup::X25519;
const P256: NamedGroup = NamedGroup::SECP256R1;
const P384: NamedGroup = NamedGroup::SECP384R1;
const P521: NamedGroup = NamedGroup::SECP521R1;

#[test]
fn shares_are_accepted_in_any_order() {
    let server = server().build().unwrap();
    // The first is what rustls 0.23 sends once it remembers from a retry that a server likes the hybrid.
    let cases: [(&[NamedGroup], &[NamedGroup]); 4] = [
        (&[X25519, P256, P384, MLKEM], &[MLKEM, X25519]),
        (&[MLKEM, X25519, P256, P384], &[MLKEM, X25519]),
        (&[P256, P384, X25519, MLKEM], &[X25519, MLKEM]),
        (&[P521, P384, P256, X25519, MLKEM], &[MLKEM, X25519, P256, P384, P521]),
    ];
    for (groups, shares) in cases {
        let chosen = answer(&server, groups, shares).map(|(group, _)| group);
        assert_eq!(chosen, Ok(MLKEM), "{groups:?} {shares:?}");
    }
}

/// The share comes late, and is not asked for again.
#[test]
fn a_share_out_of_order_saves_the_retry() {
    let server = server().groups(&[X25519]).build().unwrap();
    let groups = [X25519, P256, MLKEM];
    assert_eq!(answer(&server, &groups, &[MLKEM, P256, X25519]), Ok((X25519, false)));
    assert_eq!(answer(&server, &groups, &[MLKEM, P256]), Ok((X25519, true)));
}

#[test]
fn a_share_for_a_group_that_is_not_listed_is_refused() {
    let server = server().build().unwrap();
    let refused = Err(Peer::IllegalParameter.into());
    assert_eq!(answer(&server, &[X25519, P256], &[X25519, MLKEM]), refused);
    assert_eq!(answer(&server, &[X25519, P256], &[P384, X25519]), refused);
    // More shares than are searched for one by one.
    assert_eq!(
        answer(&server, &[MLKEM, X25519, P256, P384], &[P384, P256, X25519, MLKEM, P521]),
        refused
    );
    assert_eq!(
        Error::from(Peer::IllegalParameter).alert(),
        Some(AlertDescription::ILLEGAL_PARAMETER)
    );
}

#[test]
fn two_shares_for_one_group_are_refused() {
    let server = server().build().unwrap();
    let twice = DecodeError::DuplicateKeyShare(X25519);
    assert_eq!(answer(&server, &[X25519, MLKEM], &[X25519, MLKEM, X25519]), Err(twice.into()));
    assert_eq!(Error::from(twice).alert(), Some(AlertDescription::ILLEGAL_PARAMETER));
}

/// The group that a server answers a hello with these groups and shares with, and whether it is a retry.
fn answer(
    server: &Arc<ServerConfig>,
    groups: &[NamedGroup],
    shares: &[NamedGroup],
) -> Result<(NamedGroup, bool), Error> {
    let all = [MLKEM, X25519, P256, P384, P521];
    let client = client().groups(&all).key_shares(&all).build().unwrap();
    let mut client = Handshake::client(client, NAME.try_into().unwrap());
    let mut out = Vec::new();
    client.advance(&mut Received::new(), &mut out).unwrap();
    let mut hello = ClientHello::parse(&out[9..]).unwrap();
    let made: Vec<KeyShareEntry<'_>> = hello.extensions.key_share.unwrap().iter().collect();
    let of = |group: &NamedGroup| *made.iter().find(|share| share.group == *group).unwrap();
    let shares: Vec<_> = shares.iter().map(of).collect();
    hello.extensions.supported_groups = Some(List::of(groups));
    hello.extensions.key_share = Some(List::of(&shares));
    let mut message = Vec::new();
    hello.encode(&mut message).unwrap();
    let length = u16::try_from(message.len()).unwrap().to_be_bytes();
    let mut received = Received::new();
    received.extend(&[&[22, 3, 1], &length[..], &message].concat());
    let mut flight = Vec::new();
    let mut server = Handshake::server(Arc::clone(server));
    server.advance(&mut received, &mut flight)?;
    let length = usize::from(u16::from_be_bytes([flight[3], flight[4]]));
    let message = &flight[5..5 + length];
    let answer = ServerHello::parse(&message[4..]).unwrap();
    let retry = answer.is_hello_retry_request();
    let share = answer.key_share().map(|share| share.group);
    Ok((share.or(answer.key_share_group()).unwrap(), retry))
}
