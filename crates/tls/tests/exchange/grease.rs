//! Reserved values in a ClientHello: their positions, and when they change. RFC 8701
//!
//! `src/testing/misbehaving_peer/` tests servers that select such a value.

use std::collections::HashSet;
use std::sync::Arc;

use tercel::wire::{CipherSuite, ClientHello, List, NamedGroup, ProtocolVersion, SignatureScheme};
use tercel::{ClientConfig, Handshake, ReceiveBuffer, ServerName, client::ClientConfigBuilder};
use tercel_wire::{ExtensionType, HandshakeMessage, ProtocolName, PskKeyExchangeMode};

use crate::fixtures::{NAME, client, plain, server};
use crate::pair::{Pair, first_message, records};
use crate::resumption::visit;

/// The reserved values of a ClientHello. Each list begins with a reserved value.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Reserved {
    cipher_suite: CipherSuite,
    group: NamedGroup,
    share: Option<NamedGroup>,
    version: Option<ProtocolVersion>,
    scheme: SignatureScheme,
    scheme_of_certificates: Option<SignatureScheme>,
    protocol: Option<Vec<u8>>,
    mode: Option<PskKeyExchangeMode>,
    extensions: [ExtensionType; 2],
}

impl Reserved {
    fn of(body: &[u8]) -> Self {
        let hello = ClientHello::parse(body).unwrap();
        let all = &hello.extensions;
        // No type occurs twice in a block. RFC 9846 4.3
        let types: Vec<_> = all.types().collect();
        assert_eq!(types.iter().collect::<HashSet<_>>().len(), types.len());
        let extensions: Vec<_> = types.into_iter().filter(|kind| kind.is_grease()).collect();
        Self {
            cipher_suite: first(&hello.cipher_suites.iter().collect::<Vec<_>>(), |s| s.is_grease()),
            group: first(&listed(all.supported_groups).unwrap(), |group| group.is_grease()),
            share: listed(all.key_share).and_then(|shares| {
                let groups: Vec<_> = shares.iter().map(|share| share.group).collect();
                let any = groups.iter().any(|group| group.is_grease());
                any.then(|| first(&groups, |group| group.is_grease()))
            }),
            version: listed(all.supported_versions).map(|list| first(&list, |v| v.is_grease())),
            scheme: first(&listed(all.signature_algorithms).unwrap(), |s| s.is_grease()),
            scheme_of_certificates: listed(all.signature_algorithms_cert)
                .map(|list| first(&list, |scheme| scheme.is_grease())),
            protocol: listed(all.alpn)
                .map(|list| first(&list, ProtocolName::is_grease))
                .map(|name| name.0.to_vec()),
            mode: listed(all.psk_key_exchange_modes).map(|list| first(&list, |m| m.is_grease())),
            extensions: extensions.try_into().unwrap(),
        }
    }
}

fn listed<'a, T: tercel_wire::Element<'a>>(list: Option<List<'a, T>>) -> Option<Vec<T>> {
    list.map(|list| list.iter().collect())
}

/// Returns the only reserved value of a list, which must be its first value.
fn first<T: Copy + std::fmt::Debug>(list: &[T], is_reserved: impl Fn(&T) -> bool) -> T {
    let places: Vec<_> = (0..list.len()).filter(|place| is_reserved(&list[*place])).collect();
    assert_eq!(places, [0], "{list:?}");
    list[0]
}

fn greased() -> ClientConfigBuilder {
    let groups = [NamedGroup::X25519, NamedGroup::SECP256R1];
    client()
        .groups(&groups)
        .key_shares(&groups[..1])
        .alpn(&[&b"h2"[..], b"http/1.1"])
        .certificate_signature_schemes(&[SignatureScheme::ECDSA_SECP256R1_SHA256])
        .grease(true)
}

/// The ClientHello of a client.
fn hello_of(config: &Arc<ClientConfig>) -> Vec<u8> {
    let to = ServerName::try_from(NAME).unwrap();
    let mut out = Vec::new();
    Handshake::client(Arc::clone(config), to).advance(&mut ReceiveBuffer::new(), &mut out).unwrap();
    first_message(&out)
}

#[test]
fn reserved_values_are_first_in_every_list_that_may_have_one() {
    let reserved = Reserved::of(&hello_of(&greased().build().unwrap()));
    // A key share is for a group that is listed. RFC 9846 4.3.8
    assert_eq!(reserved.share, Some(reserved.group));
    let Reserved { version, scheme_of_certificates, protocol, mode, .. } = reserved;
    assert!(version.is_some() && scheme_of_certificates.is_some());
    assert!(protocol.is_some() && mode.is_some());

    // A list that is not sent gets no reserved value.
    let old = client().versions(&[ProtocolVersion::TLS1_2]).grease(true).build().unwrap();
    let reserved = Reserved::of(&hello_of(&old));
    assert_eq!((reserved.version, reserved.share), (None, None));
    assert_eq!((reserved.mode, reserved.protocol), (None, None));
}

#[test]
fn by_default_a_client_sends_no_reserved_value() {
    let body = hello_of(&greased().grease(false).build().unwrap());
    let hello = ClientHello::parse(&body).unwrap();
    let all = &hello.extensions;
    assert!(!hello.cipher_suites.iter().any(CipherSuite::is_grease));
    assert!(!all.types().any(ExtensionType::is_grease));
    assert!(!all.supported_groups.unwrap().iter().any(NamedGroup::is_grease));
    assert!(!all.signature_algorithms.unwrap().iter().any(SignatureScheme::is_grease));
}

#[test]
fn each_connection_draws_its_own_values() {
    let config = greased().build().unwrap();
    let all: Vec<_> = (0..64).map(|_| Reserved::of(&hello_of(&config))).collect();
    // There are sixteen reserved values, or eight for modes. If 64 draws give fewer than four
    // different results, the values are not random.
    fn many<T: Eq + std::hash::Hash>(all: &[Reserved], what: impl Fn(&Reserved) -> T) -> bool {
        all.iter().map(what).collect::<HashSet<_>>().len() >= 4
    }
    assert!(many(&all, |reserved| reserved.cipher_suite));
    assert!(many(&all, |reserved| reserved.group));
    assert!(many(&all, |reserved| reserved.version));
    assert!(many(&all, |reserved| reserved.scheme));
    assert!(many(&all, |reserved| reserved.protocol.clone()));
    assert!(many(&all, |reserved| reserved.mode));
    assert!(many(&all, |reserved| reserved.extensions[0]));
    assert!(many(&all, |reserved| reserved.extensions[1]));
    // Each value is drawn independently.
    assert!(many(&all, |reserved| reserved.group.0 ^ reserved.scheme.0));
    assert!(many(&all, |reserved| reserved.group.0 ^ reserved.cipher_suite.0));
}

/// The only key share is for the requested group, and no other value changes. RFC 9846 4.2.2
#[test]
fn a_second_hello_has_the_values_of_the_first() {
    let server = server().groups(&[NamedGroup::SECP256R1]).alpn(&[b"h2"]).build().unwrap();
    for shuffled in [false, true] {
        let client = greased().shuffle_extensions(shuffled).build().unwrap();
        let mut sent = Vec::new();
        let pair = Pair::new(&client, &server, NAME);
        let mut ends = pair.tap_to_server(|bytes| sent.push(bytes.clone())).connect().unwrap();
        assert!(ends.client.connection.info.retried);
        ends.talk();
        let bodies: Vec<Vec<u8>> = sent
            .iter()
            .flat_map(|flight| records(flight))
            .filter(|(kind, content)| *kind == 22 && content[0] == 1)
            .map(|(_, content)| content[4..].to_vec())
            .collect();
        let [first, second] = &bodies[..] else { panic!("{} hellos", bodies.len()) };
        let (before, after) = (Reserved::of(first), Reserved::of(second));
        assert_eq!(before.share, Some(before.group));
        assert_eq!(after, Reserved { share: None, ..before });
        let rest = |body| {
            let hello = ClientHello::parse(body).unwrap();
            let received = hello.extensions.received.iter();
            let rest = received.filter(|(kind, _)| *kind != ExtensionType::KEY_SHARE);
            rest.map(|(kind, body)| (kind, body.to_vec())).collect::<Vec<_>>()
        };
        assert_eq!(rest(first), rest(second));
    }
}

#[test]
fn sessions_are_resumed_with_reserved_values() {
    for version in [ProtocolVersion::TLS1_2, ProtocolVersion::TLS1_3] {
        let client = greased().versions(&[version]).shuffle_extensions(true).build().unwrap();
        let server = server().alpn(&[b"h2"]).build().unwrap();
        assert!(!visit(&client, &server));
        assert!(visit(&client, &server), "{version}");
    }
    let (_, server) = plain();
    Pair::new(&greased().build().unwrap(), &server, NAME).connect().unwrap().talk();
}
