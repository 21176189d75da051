//! External pre-shared keys: plain and imported, with and without certificates as an alternative.

mod hostile;
mod sessions;

use std::sync::{Arc, Mutex};

use tercel::crypto::HashAlgorithm;
use tercel::wire::{AlertDescription, CipherSuite, ClientHello, NamedGroup, ProtocolVersion};
use tercel::{
    ClientConfig, Connection, EarlyData, Error, Policy, Question, ServerConfig, Side,
    client::ClientConfigBuilder,
    error::ConfigError,
    psk::{FindPreSharedKey, PreSharedKey, PreSharedKeyRequest, PreSharedKeys},
    server::{ClientAuth, ServerConfigBuilder},
};
use tercel_wire::{ExtensionType, HandshakeMessage, ImportedIdentity, KdfIdentifier};

use crate::fixtures::{Kind, NAME, client, credential, roots, server};
use crate::pair::{Delivery, Pair, records};

const SHA256: HashAlgorithm = HashAlgorithm::Sha256;
const SHA384: HashAlgorithm = HashAlgorithm::Sha384;
const SECRET: &[u8] = b"thirty-two bytes of good secret!";

fn plain(name: &str, hash: HashAlgorithm) -> PreSharedKey {
    PreSharedKey::external(name.as_bytes(), SECRET, hash).unwrap()
}

fn imported(name: &str) -> [PreSharedKey; 2] {
    PreSharedKey::import(name.as_bytes(), b"client to server", SECRET, SHA256).unwrap()
}

/// Both sides with pre-shared keys only.
fn key_client(keys: impl IntoIterator<Item = PreSharedKey>) -> ClientConfigBuilder {
    ClientConfig::builder().pre_shared_keys(keys)
}

fn key_server(keys: impl IntoIterator<Item = PreSharedKey>) -> ServerConfigBuilder {
    ServerConfig::builder().pre_shared_keys(keys)
}

const SUITES: [(CipherSuite, HashAlgorithm); 2] =
    [(CipherSuite::TLS_AES_128_GCM_SHA256, SHA256), (CipherSuite::TLS_AES_256_GCM_SHA384, SHA384)];

/// The ClientHello in the records that were sent.
fn hello(sent: &[u8]) -> Vec<u8> {
    let of_handshake = records(sent).into_iter().filter(|(kind, _)| *kind == 22);
    of_handshake.flat_map(|(_, fragment)| fragment).collect()
}

/// RFC 9846 2.2
#[test]
fn a_key_authenticates_peers_without_certificates() {
    for (suite, hash) in SUITES {
        for delivery in [Delivery::Whole, Delivery::Bytes] {
            let client = key_client([plain("a", hash)]).build().unwrap();
            let server = key_server([plain("a", hash)]).build().unwrap();
            let mut ends = Pair::new(&client, &server, NAME).delivery(delivery).connect().unwrap();
            for info in [&ends.client.connection.info, &ends.server.connection.info] {
                assert_eq!(info.version, ProtocolVersion::TLS1_3);
                assert_eq!(info.cipher_suite, suite);
                assert_eq!(info.pre_shared_key(), Some(&b"a"[..]));
                assert!(!info.resumed && !info.retried && info.peer_chain().is_empty());
                assert!(info.group.is_some(), "there is always a key exchange");
                assert_eq!(info.peer_signature_scheme, None);
            }
            ends.talk();
        }
    }
}

#[test]
fn an_imported_key_is_used_with_suites_of_both_hashes() {
    for (suite, _) in SUITES {
        let client = key_client(imported("a")).cipher_suites(&[suite]).build().unwrap();
        let server = key_server(imported("a")).build().unwrap();
        let mut ends = Pair::new(&client, &server, NAME).connect().unwrap();
        let info = &ends.server.connection.info;
        assert_eq!(info.cipher_suite, suite);
        assert_eq!(info.pre_shared_key(), Some(&b"a"[..]));
        ends.talk();
    }
}

#[test]
fn keys_imported_with_another_context_or_hash_differ() {
    let import = |context: &[u8], hash| PreSharedKey::import(b"a", context, SECRET, hash).unwrap();
    let server = || key_server(import(b"x", SHA256)).build().unwrap();
    let with = |keys: [PreSharedKey; 2]| {
        let client = key_client(keys).build().unwrap();
        Pair::new(&client, &server(), NAME).connect().map(|_| ()).map_err(|failure| failure.server)
    };
    assert_eq!(with(import(b"x", SHA256)), Ok(()));
    let unknown = Error::Peer(tercel::error::PeerError::UnknownPreSharedKey);
    assert_eq!(with(import(b"y", SHA256)), Err(Some(unknown)));
    // The hash of the external key is not in the identity, but in the key.
    let bad = Error::Peer(tercel::error::PeerError::BadBinder);
    assert_eq!(with(import(b"x", SHA384)), Err(Some(bad)));
}

#[test]
fn the_binder_is_computed_again_after_a_retry() {
    for (_, hash) in SUITES {
        let groups = [NamedGroup::X25519, NamedGroup::SECP256R1];
        let client = key_client([plain("a", hash)]).groups(&groups).build().unwrap();
        let server = key_server([plain("a", hash)]).groups(&groups[1..]).build().unwrap();
        let mut ends = Pair::new(&client, &server, NAME).connect().unwrap();
        let info = &ends.client.connection.info;
        assert!(info.retried && info.pre_shared_key().is_some());
        ends.talk();
    }
}

#[test]
fn after_a_retry_only_keys_with_the_hash_of_its_suite_are_offered() {
    let keys = || [plain("short", SHA256), plain("long", SHA384)];
    let client = client().groups(&[NamedGroup::X25519, NamedGroup::SECP256R1]);
    let client = client.pre_shared_keys(keys()).build().unwrap();
    let server = key_server([plain("long", SHA384)]).groups(&[NamedGroup::SECP256R1]);
    let server = server.build().unwrap();
    let hellos = Mutex::new(Vec::new());
    let pair = Pair::new(&client, &server, NAME)
        .tap_to_server(|sent| hellos.lock().unwrap().push(hello(sent)));
    let ends = pair.connect().unwrap();
    assert_eq!(ends.server.connection.info.pre_shared_key(), Some(&b"long"[..]));
    let offered = |message: &[u8]| -> Vec<Vec<u8>> {
        let hello = ClientHello::parse(&message[4..]).unwrap();
        let offered = hello.extensions.pre_shared_key.unwrap();
        offered.identities.iter().map(|each| each.identity.to_vec()).collect()
    };
    let hellos = hellos.lock().unwrap();
    assert_eq!(offered(&hellos[0]), [b"short".to_vec(), b"long".to_vec()]);
    assert_eq!(offered(&hellos[1]), [b"long".to_vec()]);
}

#[test]
fn the_server_selects_a_known_key() {
    let client = key_client([plain("a", SHA256), plain("b", SHA256), plain("c", SHA256)]);
    let client = client.build().unwrap();
    let server = key_server([plain("c", SHA256), plain("d", SHA256)]).build().unwrap();
    let mut ends = Pair::new(&client, &server, NAME).connect().unwrap();
    assert_eq!(ends.client.connection.info.pre_shared_key(), Some(&b"c"[..]));
    ends.talk();
}

#[test]
fn a_key_affects_the_selection_of_the_suite() {
    let preferred = [CipherSuite::TLS_AES_128_GCM_SHA256, CipherSuite::TLS_AES_256_GCM_SHA384];
    let suite_of = |client: Vec<PreSharedKey>, known: Vec<PreSharedKey>| {
        let client = crate::fixtures::client().pre_shared_keys(client).build().unwrap();
        let server = server().cipher_suites(&preferred).pre_shared_keys(known);
        let ends = Pair::new(&client, &server.build().unwrap(), NAME).connect().unwrap();
        let info = &ends.server.connection.info;
        (info.cipher_suite, info.pre_shared_key().map(<[u8]>::to_vec))
    };
    let (short, long) = (preferred[0], preferred[1]);
    let both = || vec![plain("long", SHA384), plain("short", SHA256)];
    assert_eq!(suite_of(both(), vec![]), (short, None));
    assert_eq!(suite_of(both(), vec![plain("long", SHA384)]), (long, Some(b"long".to_vec())));
    // A ClientHello with the suites of one hash does not indicate whether the client has fast AES.
    let theirs = [long, CipherSuite::TLS_CHACHA20_POLY1305_SHA256, short];
    let config = key_client([plain("short", SHA256)]).cipher_suites(&theirs);
    let config = config.roots(roots()).build().unwrap();
    let ends = Pair::new(&config, &key_server(both()).build().unwrap(), NAME).connect().unwrap();
    let fast = tercel_crypto::has_fast_aes();
    let best = if fast { short } else { CipherSuite::TLS_CHACHA20_POLY1305_SHA256 };
    assert_eq!(ends.server.connection.info.cipher_suite, best);
    // If several suites are possible, the suite that the server prefers is selected.
    assert_eq!(suite_of(both(), both()), (short, Some(b"short".to_vec())));
}

#[test]
fn certificates_are_used_without_a_common_key() {
    // Each connection offers the session of the previous connection in addition to the key.
    let client = client().pre_shared_keys([plain("a", SHA256)]).build().unwrap();
    for known in [vec![], vec![plain("b", SHA256)]] {
        let server = server().pre_shared_keys(known).build().unwrap();
        let mut ends = Pair::new(&client, &server, NAME).connect().unwrap();
        assert_eq!(ends.client.connection.info.pre_shared_key(), None);
        assert_eq!(ends.client.connection.info.peer_chain().len(), 1);
        ends.talk();
    }
    // The key is also offered to a TLS 1.2 server, which cannot use it.
    let old = server().versions(&[ProtocolVersion::TLS1_2]).build().unwrap();
    Pair::new(&client, &old, NAME).connect().unwrap().talk();
    // The key is used, and the server's certificate, which would be refused, is not sent.
    let unrelated_peers = ServerConfig::builder()
        .credential(crate::fixtures::credential_for(Kind::P256, &["other.example"]))
        .pre_shared_keys([plain("a", SHA256)])
        .build()
        .unwrap();
    Pair::new(&client, &unrelated_peers, NAME).connect().unwrap().talk();
}

#[test]
fn without_key_and_certificate_in_common_there_is_an_alert() {
    let missing = |client: &Arc<ClientConfig>, server: &Arc<ServerConfig>| {
        let failure = Pair::new(client, server, NAME).connect().unwrap_err();
        (failure.client.unwrap(), failure.server.unwrap())
    };
    let alert = Error::AlertReceived;
    let keys = key_client([plain("a", SHA256)]).build().unwrap();
    let without = client().build().unwrap();
    let certificates = server().build().unwrap();
    let others = key_server([plain("b", SHA256)]).build().unwrap();
    let unknown = Error::Peer(tercel::error::PeerError::UnknownPreSharedKey);
    for client in [&keys, &without] {
        let reported = (alert(AlertDescription::HANDSHAKE_FAILURE), unknown);
        assert_eq!(missing(client, &others), reported);
    }
    // A client that has only keys sends no signature_algorithms, so it cannot get a certificate.
    let lacking = Error::Peer(tercel::error::PeerError::MissingExtension);
    let reported = (alert(AlertDescription::MISSING_EXTENSION), lacking);
    assert_eq!(missing(&keys, &certificates), reported);
    let old = server().versions(&[ProtocolVersion::TLS1_2]).build().unwrap();
    let reported = (
        alert(AlertDescription::PROTOCOL_VERSION),
        Error::Peer(tercel::error::PeerError::UnsupportedVersion),
    );
    assert_eq!(missing(&keys, &old), reported);
}

#[test]
fn a_client_with_keys_alone_sends_no_certificate_extensions() {
    let config = key_client(imported("a")).request_signed_certificate_timestamps(true);
    let config = config.offer_certificate_compression(true).build().unwrap();
    let server = key_server(imported("a")).build().unwrap();
    let seen = Mutex::new(Vec::new());
    Pair::new(&config, &server, NAME)
        .tap_to_server(|sent| seen.lock().unwrap().push(hello(sent)))
        .connect()
        .unwrap();
    let seen = seen.lock().unwrap();
    let hello = ClientHello::parse(&seen[0][4..]).unwrap();
    let of_certificates = [
        ExtensionType::SIGNATURE_ALGORITHMS,
        ExtensionType::STATUS_REQUEST,
        ExtensionType::SIGNED_CERTIFICATE_TIMESTAMP,
        ExtensionType::COMPRESS_CERTIFICATE,
    ];
    assert!(hello.extensions.types().all(|kind| !of_certificates.contains(&kind)));
    let offered = hello.extensions.pre_shared_key.unwrap();
    let ages = offered.identities.iter().map(|each| each.obfuscated_ticket_age);
    assert_eq!(ages.collect::<Vec<_>>(), [0, 0], "external keys have no age");
    let kdfs = offered.identities.iter().map(|each| {
        let identity = ImportedIdentity::parse(each.identity).unwrap();
        assert_eq!(identity.target_protocol, ProtocolVersion::TLS1_3);
        identity.target_kdf
    });
    let both = [KdfIdentifier::HKDF_SHA256, KdfIdentifier::HKDF_SHA384];
    assert_eq!(kdfs.collect::<Vec<_>>(), both);
}

#[test]
fn a_key_replaces_a_required_client_certificate() {
    let server = server()
        .client_auth(ClientAuth::Required, roots())
        .pre_shared_keys([plain("a", SHA256)])
        .build()
        .unwrap();
    let config = client().credential(credential(Kind::P256)).pre_shared_keys([plain("a", SHA256)]);
    let ends = Pair::new(&config.build().unwrap(), &server, NAME).connect().unwrap();
    // RFC 9846 F.1 forbids a pre-shared key together with a certificate.
    assert!(ends.server.connection.info.peer_chain().is_empty());
    assert_eq!(ends.client.connection.info.own_signature_scheme, None);
    assert!(ends.server.connection.info.pre_shared_key().is_some());
    let failure = Pair::new(&client().build().unwrap(), &server, NAME).connect().unwrap_err();
    assert_eq!(failure.server, Some(tercel::error::PeerError::CertificateRequired.into()));
}

#[test]
fn an_external_key_allows_no_early_data() {
    let client = key_client([plain("a", SHA256)]).early_data(true).build().unwrap();
    let server = key_server([plain("a", SHA256)]).early_data(1000, crate::early_data::guard());
    let ends = Pair::new(&client, &server.build().unwrap(), NAME).connect().unwrap();
    assert_eq!(ends.client.connection.info.early_data, EarlyData::NotOffered);
    assert_eq!(ends.server.connection.info.early_data, EarlyData::NotOffered);
}

#[test]
fn both_ends_export_the_same() {
    let client = key_client(imported("a")).build().unwrap();
    let server = key_server(imported("a")).build().unwrap();
    let ends = Pair::new(&client, &server, NAME).connect().unwrap();
    let [ours, theirs] = [&ends.client, &ends.server].map(|end| {
        let mut out = [0; 40];
        end.connection.exporter.export(b"label", None, &mut out).unwrap();
        out
    });
    assert_eq!(ours, theirs);
}

#[test]
#[cfg_attr(feature = "fips", ignore = "the FIPS module does not continue a saved connection")]
fn a_saved_connection_keeps_the_name_of_the_key() {
    let client = key_client([plain("a", SHA256)]).build().unwrap();
    let server = key_server([plain("a", SHA256)]).build().unwrap();
    let mut ends = Pair::new(&client, &server, NAME).connect().unwrap();
    let saved = ends.server.connection.save().unwrap();
    ends.server.connection = Connection::restore_server(&saved, &server).unwrap();
    let saved = ends.client.connection.save().unwrap();
    ends.client.connection = Connection::restore_client(&saved, &client).unwrap();
    for info in [&ends.client.connection.info, &ends.server.connection.info] {
        assert_eq!(info.pre_shared_key(), Some(&b"a"[..]));
    }
    ends.talk();
}

#[test]
fn the_application_can_look_keys_up() {
    let client = key_client(imported("a")).build().unwrap();
    let config = || ServerConfig::builder().find_pre_shared_key(Policy::Ask).build().unwrap();
    let connect = |answer: &dyn Fn(PreSharedKeyRequest<'_>) -> Option<PreSharedKey>| {
        let server = config();
        let pair = Pair::new(&client, &server, NAME).answering(|side, question| {
            assert_eq!(side, Side::Server);
            let Question::FindPreSharedKey(question) = question else { panic!("{question:?}") };
            let request = question.request();
            assert_eq!((request.server_name, request.hashes.len()), (Some(NAME), 2));
            question.answer(answer(request).map(Arc::new))
        });
        pair.connect().map(|mut ends| ends.talk()).map_err(|failure| failure.server)
    };
    // Answers like an application that looks keys up in a database by their external names.
    let looked_up = connect(&|request| {
        let find = |identity| {
            let parts = ImportedIdentity::parse(identity).ok()?;
            assert_eq!(parts.external_identity, b"a");
            let keys = PreSharedKey::import(b"a", parts.context, SECRET, SHA256).unwrap();
            keys.into_iter().find(|key| request.fits(key) && key.identity() == identity)
        };
        request.identities().find_map(find)
    });
    assert_eq!(looked_up, Ok(()));
    let unknown = Err(Some(Error::Peer(tercel::error::PeerError::UnknownPreSharedKey)));
    assert_eq!(connect(&|_| None), unknown);
    // A key that the client did not offer is not a valid answer.
    assert_eq!(connect(&|_| Some(plain("b", SHA256))), unknown);
}

#[test]
fn there_is_no_question_without_offered_keys() {
    // A client without external keys sends psk_key_exchange_modes, but it has no ticket yet, so the
    // server asks no question.
    let client = client().build().unwrap();
    let server = server().find_pre_shared_key(Policy::Ask).build().unwrap();
    let mut asked = 0;
    let pair = Pair::new(&client, &server, NAME).answering(|_, question| {
        let Question::FindPreSharedKey(question) = question else { panic!("{question:?}") };
        assert_ne!(question.request().identities().count(), 0);
        asked += 1;
        question.answer(None)
    });
    pair.connect().unwrap().talk();
    assert_eq!(asked, 0);
    // With a ticket the question is asked, because only the application can decide whether the
    // ticket is a key's name.
    let pair = Pair::new(&client, &server, NAME).answering(|_, question| {
        let Question::FindPreSharedKey(question) = question else { panic!("{question:?}") };
        assert_eq!(question.request().identities().count(), 1);
        asked += 1;
        question.answer(None)
    });
    assert!(pair.connect().unwrap().client.connection.info.resumed);
    assert_eq!(asked, 1);
}

#[test]
fn debug_output_has_no_key() {
    let name = "hunter2";
    let names_it = |shown: String| {
        let bytes = format!("{:?}", name.as_bytes());
        shown.contains(name) || shown.contains(bytes.trim_matches(['[', ']']))
    };
    let client = key_client([plain(name, SHA256)]).build().unwrap();
    let server = ServerConfig::builder().find_pre_shared_key(Policy::Ask).build().unwrap();
    let answer = |_, question| {
        let Question::FindPreSharedKey(question) = question else { panic!("{question:?}") };
        assert!(!names_it(format!("{:?}", question.request())));
        question.answer(Some(Arc::new(plain(name, SHA256))))
    };
    let ends = Pair::new(&client, &server, NAME).answering(answer).connect().unwrap();
    let info = &ends.server.connection.info;
    assert_eq!(info.pre_shared_key(), Some(name.as_bytes()));
    assert!(!names_it(format!("{info:?}")));
}

#[test]
fn an_application_may_prefer_the_certificate() {
    struct OnlyIfNeeded(PreSharedKeys);
    impl FindPreSharedKey for OnlyIfNeeded {
        fn find_pre_shared_key(
            &self,
            request: &PreSharedKeyRequest<'_>,
        ) -> Option<Arc<PreSharedKey>> {
            let needed = request.signature_schemes.is_none();
            self.0.find_pre_shared_key(request).filter(|_| needed)
        }

        fn knows(&self, external_identity: &[u8], fingerprint: &[u8; 32]) -> bool {
            self.0.knows(external_identity, fingerprint)
        }
    }
    let keys = Arc::new(OnlyIfNeeded(PreSharedKeys::new(imported("a"))));
    let server = server().find_pre_shared_key(Policy::Here(keys)).build().unwrap();
    let used = |client: ClientConfigBuilder| {
        let ends = Pair::new(&client.build().unwrap(), &server, NAME).connect().unwrap();
        ends.client.connection.info.pre_shared_key().is_some()
    };
    assert!(!used(client().pre_shared_keys(imported("a"))));
    assert!(used(key_client(imported("a"))));
}

#[test]
fn unusable_keys_are_refused_at_build() {
    let error = |builder: ClientConfigBuilder| builder.build().err();
    let old = [ProtocolVersion::TLS1_2];
    let key = || [plain("a", SHA384)];
    let unusable = Some(ConfigError::UnusablePreSharedKeys);
    assert_eq!(error(ClientConfig::builder()), Some(ConfigError::NoVerifier));
    assert_eq!(error(client().versions(&old).pre_shared_keys(key())), unusable);
    assert_eq!(error(key_client(key()).versions(&old)), unusable);
    let other_hash = [CipherSuite::TLS_AES_128_GCM_SHA256];
    assert_eq!(error(key_client(key()).cipher_suites(&other_hash)), unusable);

    let too_many = Some(ConfigError::TooManyPreSharedKeys);
    assert_eq!(error(key_client([plain("a", SHA256), plain("a", SHA256)])), too_many);
    let names: Vec<String> = (0..17).map(|number| number.to_string()).collect();
    let keys = |count: usize| names.iter().take(count).map(|name| plain(name, SHA256));
    assert_eq!(error(key_client(keys(17))), too_many);
    assert_eq!(error(key_client(keys(16))), None);
    let long = |name: u8| PreSharedKey::external(&[name; 20_000], SECRET, SHA256).unwrap();
    assert_eq!(error(key_client([long(1), long(2)])), too_many);

    let server = ServerConfig::builder().build().err();
    assert_eq!(server, Some(ConfigError::NoCredential));
    assert_eq!(key_server(key()).versions(&old).build().err(), unusable);
    let offers =
        key_server(key()).cipher_suites(&[CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]);
    assert_eq!(offers.build().err(), unusable);
}
