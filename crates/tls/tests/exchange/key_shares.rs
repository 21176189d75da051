//! The key shares that a server accepts in a ClientHello: in any order, for listed groups, one for
//! each group.
//!
//! The tests send ClientHellos that Tercel's client does not send.

use std::sync::Arc;

use tercel::wire::{AlertDescription, ClientHello, DecodeError, List, NamedGroup};
use tercel::{Error, Handshake, ReceiveBuffer, ServerConfig, error::PeerError};
use tercel_wire::{HandshakeMessage, KeyShareEntry, ServerHello};

use crate::fixtures::{NAME, client, server};

const MLKEM: NamedGroup = NamedGroup::X25519MLKEM768;
const X25519: NamedGroup = NamedGroup::X25519;
const P256: NamedGroup = NamedGroup::SECP256R1;
const P384: NamedGroup = NamedGroup::SECP384R1;
const P521: NamedGroup = NamedGroup::SECP521R1;

#[test]
fn shares_are_accepted_in_any_order() {
    let server = server().build().unwrap();
    // rustls 0.23 sends shares in the order of the first case to a server that has sent a
    // HelloRetryRequest for the hybrid group before.
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

/// A share whose position differs from its group's is used, without a retry.
#[test]
fn a_share_out_of_order_is_used() {
    let server = server().groups(&[X25519]).build().unwrap();
    let groups = [X25519, P256, MLKEM];
    assert_eq!(answer(&server, &groups, &[MLKEM, P256, X25519]), Ok((X25519, false)));
    assert_eq!(answer(&server, &groups, &[MLKEM, P256]), Ok((X25519, true)));
}

/// A retry is requested for a preferred post-quantum group, but not for the better one of two
/// groups of the same kind. RFC 9846 4.2.1
#[test]
fn a_share_does_not_outweigh_a_preferred_post_quantum_group() {
    for (ours, share, expected) in [
        ([MLKEM, X25519], X25519, (MLKEM, true)),
        ([X25519, MLKEM], MLKEM, (X25519, true)),
        ([P384, X25519], X25519, (X25519, false)),
    ] {
        let server = server().groups(&ours).build().unwrap();
        assert_eq!(answer(&server, &[MLKEM, X25519, P384], &[share]), Ok(expected), "{ours:?}");
    }
}

#[test]
fn a_share_for_an_unlisted_group_is_refused() {
    let server = server().build().unwrap();
    let refused = Err(PeerError::IllegalParameter.into());
    assert_eq!(answer(&server, &[X25519, P256], &[X25519, MLKEM]), refused);
    assert_eq!(answer(&server, &[X25519, P256], &[P384, X25519]), refused);
    // The ClientHello has more shares than the server compares one by one.
    assert_eq!(
        answer(&server, &[MLKEM, X25519, P256, P384], &[P384, P256, X25519, MLKEM, P521]),
        refused
    );
    assert_eq!(
        Error::from(PeerError::IllegalParameter).alert(),
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

/// The group that a server selects for these groups and shares, and whether it sends a retry.
fn answer(
    server: &Arc<ServerConfig>,
    groups: &[NamedGroup],
    shares: &[NamedGroup],
) -> Result<(NamedGroup, bool), Error> {
    let all = [MLKEM, X25519, P256, P384, P521];
    let client = client().groups(&all).key_shares(&all).build().unwrap();
    let mut client = Handshake::client(client, NAME.try_into().unwrap());
    let mut out = Vec::new();
    client.advance(&mut ReceiveBuffer::new(), &mut out).unwrap();
    let mut hello = ClientHello::parse(&out[9..]).unwrap();
    let made: Vec<KeyShareEntry<'_>> = hello.extensions.key_share.unwrap().iter().collect();
    let of = |group: &NamedGroup| *made.iter().find(|share| share.group == *group).unwrap();
    let shares: Vec<_> = shares.iter().map(of).collect();
    hello.extensions.supported_groups = Some(List::new(groups));
    hello.extensions.key_share = Some(List::new(&shares));
    let mut message = Vec::new();
    hello.encode(&mut message).unwrap();
    let length = u16::try_from(message.len()).unwrap().to_be_bytes();
    let mut received = ReceiveBuffer::new();
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
