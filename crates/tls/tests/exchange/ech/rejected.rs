//! Servers that cannot open the inner ClientHello, or do not know the extension.

use std::sync::{Arc, Mutex};

use tercel::certificates::{PeerIdentity, VerifyPeer};
use tercel::ech::{ConfigList, Key, Offer, Retry};
use tercel::error::PeerError;
use tercel::pki::{Refusal, RefusalReason};
use tercel::pki_types::UnixTime;
use tercel::server::{ClientAuth, ServerConfigBuilder};
use tercel::session::{ClientMemoryStore, ClientSessionKey, ClientSessionStore};
use tercel::wire::{AlertDescription, NamedGroup, ProtocolVersion};
use tercel::{ClientConfig, Ech, Error, Handshake, Next, Policy, ReceiveBuffer, ServerConfig};

use super::{PUBLIC, SECRET, contains, offer, server, without_keys};
use crate::early_data::guard;
use crate::fixtures::{Kind, client, credential_for, roots};
use crate::pair::Pair;

/// A client whose handshake was rejected, with the bytes that it sent.
struct Rejected {
    error: Error,
    retry_configs: Option<ConfigList>,
    server: Option<Error>,
    sent: Vec<u8>,
}

/// Connects with a configuration whose key the server does not have.
fn reject(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> Rejected {
    let other = Key::generate(PUBLIC, 64).unwrap().config();
    reject_with(client, server, &other).0
}

/// Connects with these configurations, of which the server has no key. Sends early data whenever
/// that is possible, and also returns how often.
fn reject_with(
    client: &Arc<ClientConfig>,
    server: &Arc<ServerConfig>,
    configs: &ConfigList,
) -> (Rejected, usize) {
    let mut ours =
        Handshake::client(Arc::clone(client), SECRET.try_into().unwrap()).with_ech(offer(configs));
    let mut theirs = Handshake::server(Arc::clone(server));
    let mut early = 0;
    let (mut to_client, mut to_server) = (ReceiveBuffer::new(), ReceiveBuffer::new());
    let (mut sent, mut of_server) = (Vec::new(), None);
    let error = loop {
        let mut out = Vec::new();
        let step = ours.advance(&mut to_client, &mut out);
        if let Some(sender) = ours.early_sender() {
            sender.seal_to(b"early", &mut out).unwrap();
            early += 1;
        }
        sent.extend_from_slice(&out);
        to_server.extend(&out);
        let mut answer = Vec::new();
        while of_server.is_none() {
            match theirs.advance(&mut to_server, &mut answer) {
                Ok(Next::Receive) => break,
                Ok(Next::Connected(mut connection)) => {
                    assert_eq!(connection.info.ech, Ech::Rejected);
                    of_server = Some(connection.receiver.open(&mut to_server).map(|_| ()));
                }
                Ok(other) => panic!("{other:?}"),
                Err(error) => of_server = Some(Err(error)),
            }
        }
        to_client.extend(&answer);
        match step {
            Ok(Next::Receive) => {}
            Ok(other) => panic!("{other:?}"),
            Err(error) => break error,
        }
    };
    let server = of_server.and_then(Result::err);
    let retry_configs = ours.ech_retry_configs().cloned();
    (Rejected { error, retry_configs, server, sent }, early)
}

fn with_key() -> (ServerConfigBuilder, ConfigList) {
    let key = Key::generate(PUBLIC, 64).unwrap();
    let configs = key.config();
    (server(key), configs)
}

/// RFC 9849 6.1.6, 7.1
#[test]
fn the_server_sends_configurations_with_which_a_retry_succeeds() {
    for group in [NamedGroup::X25519MLKEM768, NamedGroup::SECP384R1] {
        let (builder, configs) = with_key();
        let server = builder.groups(&[group]).build().unwrap();
        let client = client().build().unwrap();
        let rejected = reject(&client, &server);
        assert_eq!(rejected.error, Error::EchRejected);
        assert_eq!(rejected.error.alert(), Some(AlertDescription::ECH_REQUIRED));
        assert_eq!(rejected.server, Some(Error::AlertReceived(AlertDescription::ECH_REQUIRED)));
        assert!(!contains(&rejected.sent, SECRET.as_bytes()));
        let retry = rejected.retry_configs.unwrap();
        assert_eq!(retry, configs);
        let ends = super::pair(&client, &server, &retry).connect().unwrap();
        assert_eq!(ends.client.connection.info.ech, Ech::Accepted);
    }
}

/// RFC 9849 6.1.6
#[test]
fn a_server_without_ech_securely_disables_it() {
    for group in [NamedGroup::X25519MLKEM768, NamedGroup::SECP384R1] {
        let server = without_keys().groups(&[group]).build().unwrap();
        let other = Key::generate(PUBLIC, 64).unwrap().config();
        let client = client().build().unwrap();
        let mut handshake = Handshake::client(client, SECRET.try_into().unwrap());
        handshake = handshake.with_ech(offer(&other));
        assert_eq!(handshake.ech_retry_configs(), None);
        let failure = Pair::of(handshake, Handshake::server(server)).connect().unwrap_err();
        assert_eq!(failure.client, Some(Error::EchRejected));
    }
}

/// RFC 9849 6.1.4, 6.1.6
#[test]
fn tls12_rejects_and_has_no_configurations() {
    let (builder, _) = with_key();
    for builder in [builder, without_keys()] {
        let server = builder.versions(&[ProtocolVersion::TLS1_2]).build().unwrap();
        let client = client().build().unwrap();
        let other = Key::generate(PUBLIC, 64).unwrap().config();
        let mut ours = Handshake::client(client, SECRET.try_into().unwrap());
        ours = ours.with_ech(offer(&other));
        let failure = Pair::of(ours, Handshake::server(server)).connect().unwrap_err();
        assert_eq!(failure.client, Some(Error::EchRejected));
    }
}

/// RFC 9849 6.1.6, 6.1.7
#[test]
fn the_public_name_is_verified() {
    for version in [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2] {
        let key = Key::generate(PUBLIC, 64).unwrap();
        let only_secret = ServerConfig::builder()
            .credential(credential_for(Kind::P256, &[SECRET]))
            .versions(&[version])
            .ech(super::keys(vec![key]))
            .build()
            .unwrap();
        let rejected = reject(&client().build().unwrap(), &only_secret);
        assert!(
            matches!(rejected.error, Error::Refused(RefusalReason::NameMismatch)),
            "{:?}",
            rejected.error
        );
        // Without authentication, there are no configurations.
        assert_eq!(rejected.retry_configs, None);
    }
}

/// RFC 9849 6.1.6, 6.1.7
#[test]
fn neither_a_session_nor_early_data_replaces_the_public_name() {
    for group in [NamedGroup::X25519MLKEM768, NamedGroup::SECP384R1] {
        for names in [&[SECRET, PUBLIC][..], &[SECRET]] {
            let old = Key::generate(PUBLIC, 64).unwrap();
            let (old_configs, keys) = (old.config(), super::keys(vec![old]));
            let mut builder = ServerConfig::builder().ech(Arc::clone(&keys)).groups(&[group]);
            for name in names {
                builder = builder.credential(credential_for(Kind::P256, &[name]));
            }
            let server = builder.early_data(1000, guard()).build().unwrap();
            let client = client().early_data(true).build().unwrap();
            super::pair(&client, &server, &old_configs).connect().unwrap().talk();
            let current = Key::generate(PUBLIC, 64).unwrap();
            let configs = current.config();
            keys.replace(vec![(current, Retry::Send)]).unwrap();

            // The server, which could resume the session, would deliver the early data.
            let (rejected, early) = reject_with(&client, &server, &old_configs);
            assert_eq!(early, 1);
            assert!(!contains(&rejected.sent, SECRET.as_bytes()));
            if names.contains(&PUBLIC) {
                assert_eq!(rejected.error, Error::EchRejected);
                assert_eq!(rejected.retry_configs, Some(configs));
            } else {
                assert_eq!(rejected.error, Error::Refused(RefusalReason::NameMismatch));
                assert_eq!(rejected.retry_configs, None);
            }
        }
    }
}

/// Records the names for which it verifies.
#[derive(Default)]
struct Names(Mutex<Vec<String>>);

impl VerifyPeer for Names {
    fn verify_peer(&self, peer: &PeerIdentity<'_>) -> Result<(), Box<Refusal>> {
        let name = peer.server_name.unwrap().to_str().into_owned();
        self.0.lock().unwrap().push(name);
        Ok(())
    }
}

/// RFC 9849 6.1.7
#[test]
fn the_client_does_not_authenticate_and_keeps_no_session() {
    for version in [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2] {
        let (builder, _) = with_key();
        let server = builder
            .versions(&[version])
            .client_auth(ClientAuth::Optional, roots())
            .build()
            .unwrap();
        let names = Arc::new(Names::default());
        let store = Arc::new(Puts::default());
        let client = ClientConfig::builder()
            .verifier(Policy::Here(Arc::clone(&names) as _))
            .session_store(Arc::clone(&store) as _)
            .credential(credential_for(Kind::P256, &["client.example"]))
            .build()
            .unwrap();
        let rejected = reject(&client, &server);
        assert_eq!(rejected.error, Error::EchRejected);
        assert_eq!(*names.0.lock().unwrap(), [PUBLIC]);
        assert_eq!(*store.0.lock().unwrap(), 0);
    }
    // A server that requires authentication refuses.
    let (builder, _) = with_key();
    let server = builder.client_auth(ClientAuth::Required, roots()).build().unwrap();
    let credential = credential_for(Kind::P256, &["client.example"]);
    let client = client().credential(credential).build().unwrap();
    assert_eq!(reject(&client, &server).server, Some(PeerError::CertificateRequired.into()));
}

/// Counts the sessions that are stored.
#[derive(Default)]
struct Puts(Mutex<usize>);

impl ClientSessionStore for Puts {
    fn put(&self, _: &ClientSessionKey, _: Vec<u8>, _: UnixTime) {
        *self.0.lock().unwrap() += 1;
    }

    fn take(&self, _: &ClientSessionKey, _: UnixTime) -> Option<Vec<u8>> {
        None
    }

    fn remove(&self, _: &ClientSessionKey) {}
}

/// RFC 9849 6.1
#[test]
fn sessions_of_tls12_are_not_offered() {
    let store = Arc::new(ClientMemoryStore::default());
    let builder = || client().session_store(Arc::clone(&store) as _);
    let old = without_keys().versions(&[ProtocolVersion::TLS1_2]).build().unwrap();
    let client = builder().build().unwrap();
    Pair::new(&client, &old, SECRET).connect().unwrap();
    let failure = super::pair(&client, &old, &Key::generate(PUBLIC, 0).unwrap().config())
        .connect()
        .unwrap_err();
    assert_eq!(failure.client, Some(Error::EchRejected));
}

/// RFC 9849 6.1, 6.2
#[test]
fn without_a_usable_configuration_nothing_or_random_contents_are_sent() {
    let (builder, configs) = with_key();
    let server = builder.build().unwrap();
    let mut unusable = configs.as_bytes().to_vec();
    unusable[2] ^= 1;
    let unusable = ConfigList::parse(&unusable).unwrap();
    let tls12 = client().versions(&[ProtocolVersion::TLS1_2]).build().unwrap();
    for (client, offer, expected) in [
        (client().build().unwrap(), Offer::Configs(unusable.clone()), Ech::NotOffered),
        (client().ech_grease(true).build().unwrap(), Offer::Configs(unusable), Ech::Grease),
        (client().ech_grease(true).build().unwrap(), Offer::None, Ech::NotOffered),
        (client().build().unwrap(), Offer::Grease, Ech::Grease),
        (tls12.clone(), Offer::Grease, Ech::NotOffered),
        (tls12, Offer::Configs(configs), Ech::NotOffered),
    ] {
        let ours = Handshake::client(client, SECRET.try_into().unwrap()).with_ech(offer);
        let ends = Pair::of(ours, Handshake::server(Arc::clone(&server))).connect().unwrap();
        assert_eq!(ends.client.connection.info.ech, expected);
        let of_server = if expected == Ech::Grease { Ech::Rejected } else { Ech::NotOffered };
        assert_eq!(ends.server.connection.info.ech, of_server);
    }
}

/// RFC 9849 6.2
#[test]
fn random_contents_are_ignored_with_and_without_a_retry() {
    let (builder, _) = with_key();
    for builder in [builder, without_keys()] {
        let builder = builder.groups(&[NamedGroup::SECP384R1, NamedGroup::X25519]);
        let server = builder.build().unwrap();
        for groups in [&[NamedGroup::X25519, NamedGroup::SECP384R1][..], &[NamedGroup::X25519], &[]]
        {
            let builder = client().ech_grease(true);
            let builder = if groups.is_empty() { builder } else { builder.groups(groups) };
            let client = builder.build().unwrap();
            for resumed in [false, true] {
                let mut ends = Pair::new(&client, &server, SECRET).connect().unwrap();
                assert_eq!(ends.client.connection.info.ech, Ech::Grease);
                assert_eq!(ends.client.connection.info.resumed, resumed);
                ends.talk();
            }
        }
    }
}

/// Changes the last byte of the random of a ServerHello.
fn change_random(bytes: &mut [u8]) {
    // The first record contains the ServerHello: the headers of record and message, the version,
    // and the random.
    bytes[5 + 4 + 2 + 31] ^= 1;
}

/// RFC 9849 6.1.4, 6.1.5
#[test]
fn both_answers_of_the_server_must_agree() {
    let (builder, configs) = with_key();
    let server = builder.groups(&[NamedGroup::SECP384R1]).build().unwrap();
    let client = client().build().unwrap();
    let mut answers = 0;
    let failure = super::pair(&client, &server, &configs)
        .tap_to_client(|bytes| {
            answers += 1;
            if answers == 2 {
                change_random(bytes);
            }
        })
        .connect()
        .unwrap_err();
    assert_eq!(failure.client, Some(PeerError::InconsistentConfirmation.into()));
    let alert = failure.client.and_then(Error::alert);
    assert_eq!(alert, Some(AlertDescription::ILLEGAL_PARAMETER));
}

/// RFC 9849 6.1.4, 6.2
#[test]
fn the_extension_of_a_retry_has_eight_bytes() {
    let (builder, configs) = with_key();
    let server = builder.groups(&[NamedGroup::SECP384R1]).build().unwrap();
    let other = Key::generate(PUBLIC, 64).unwrap().config();
    for offer in [Offer::Configs(configs), Offer::Configs(other), Offer::Grease] {
        let client = client().build().unwrap();
        let ours = Handshake::client(client, SECRET.try_into().unwrap()).with_ech(offer);
        let mut first = true;
        let failure = Pair::of(ours, Handshake::server(Arc::clone(&server)))
            .tap_to_client(|bytes| {
                if std::mem::take(&mut first) {
                    // Extension, extensions, message and record become one byte shorter.
                    let at = bytes.windows(4).position(|part| part == [0xfe, 0x0d, 0, 8]).unwrap();
                    let extensions = 5 + 4 + 2 + 32 + 33 + 3;
                    for length in [at + 3, extensions + 1, 5 + 3, 4] {
                        bytes[length] -= 1;
                    }
                    bytes.remove(at + 4);
                }
            })
            .connect()
            .unwrap_err();
        let expected = PeerError::Decode(tercel::wire::DecodeError::InvalidLength);
        assert_eq!(failure.client, Some(expected.into()));
    }
}
