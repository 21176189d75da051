//! The status of configurations, and the reasons against it.

use std::sync::Arc;
use std::time::Duration;

use tercel::certificates::{
    AcceptAnyPeer, ChainPolicy, Credentials, PeerIdentity, RefuseAnyPeer, TrustedRawKeys,
    VerifyPeer,
};
use tercel::client::ClientConfigBuilder;
use tercel::crypto::{HashAlgorithm, Signer, SigningKey};
use tercel::error::ConfigError;
use tercel::fips::FipsReason;
use tercel::key_log::KeyLog;
use tercel::pki::Refusal;
use tercel::pki_types::UnixTime;
use tercel::psk::PreSharedKey;
use tercel::server::{ClientAuth, ServerConfigBuilder};
use tercel::session::TicketSealer;
use tercel::wire::{CipherSuite, NamedGroup, ProtocolVersion, SignatureScheme};
use tercel::{Credential, Policy, fips::FipsStatus};

use super::{WeakChain, approved, weak_credential};
use crate::fixtures::{Kind, authority, client, leaf, roots, server};

/// Asserts that a client with this option is not approved, and cannot be built with `fips`.
#[track_caller]
fn client_breaks(reason: FipsReason, set: impl Fn(ClientConfigBuilder) -> ClientConfigBuilder) {
    let text = reason.to_string();
    let refused = set(client().fips(true)).build().err();
    assert_eq!(refused, Some(ConfigError::NotFips(reason)), "{text}");
    // An approved configuration in every other regard.
    let config = set(hand_made(client())).build().unwrap();
    assert_eq!(config.fips(), FipsStatus::No(reason), "{text}");
    assert!(!config.fips().is_approved() && config.fips().reason() == Some(reason));
}

#[track_caller]
fn server_breaks(reason: FipsReason, set: impl Fn(ServerConfigBuilder) -> ServerConfigBuilder) {
    let refused = set(server().fips(true)).build().err();
    assert_eq!(refused, Some(ConfigError::NotFips(reason)));
    let server = server().cipher_suites(&SUITES).groups(&GROUPS).require_extended_main_secret(true);
    assert_eq!(set(server).build().unwrap().fips(), FipsStatus::No(reason));
}

const SUITES: [CipherSuite; 2] =
    [CipherSuite::TLS_AES_128_GCM_SHA256, CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256];
const GROUPS: [NamedGroup; 1] = [NamedGroup::SECP256R1];

/// Restricts a client by single options instead of the option `fips`.
fn hand_made(client: ClientConfigBuilder) -> ClientConfigBuilder {
    client.cipher_suites(&SUITES).groups(&GROUPS).require_extended_main_secret(true)
}

#[test]
fn defaults_are_restricted_to_approved_options() {
    let (client, server) = (super::approved_client(), super::approved_server());
    assert_eq!((client.fips(), server.fips()), (approved(), approved()));
}

/// Without the option, the first broken rule is reported, and at the end that nothing is enforced.
#[test]
fn each_rule_is_reported_in_order() {
    let status = |client: ClientConfigBuilder| client.build().unwrap().fips().reason();
    let chacha20 = CipherSuite::TLS_CHACHA20_POLY1305_SHA256;
    let suites_of_13 = [CipherSuite::TLS_AES_128_GCM_SHA256, chacha20];
    assert_eq!(
        status(client().cipher_suites(&suites_of_13)),
        Some(FipsReason::CipherSuite(chacha20))
    );
    let suites = client().cipher_suites(&SUITES);
    assert_eq!(status(suites.clone()), Some(FipsReason::Group(NamedGroup::X25519)));
    let groups = suites.groups(&GROUPS);
    assert_eq!(status(groups.clone()), Some(FipsReason::ExtendedMainSecret));
    let only_13 = groups.clone().versions(&[ProtocolVersion::TLS1_3]);
    assert_eq!(status(only_13), Some(FipsReason::NotEnforced));
    assert_eq!(status(hand_made(client())), Some(FipsReason::NotEnforced));
}

#[test]
fn options_that_are_not_approved_are_refused() {
    let chacha20 = CipherSuite::TLS_CHACHA20_POLY1305_SHA256;
    client_breaks(FipsReason::CipherSuite(chacha20), |b| b.cipher_suites(&[chacha20]));
    server_breaks(FipsReason::CipherSuite(chacha20), |b| b.cipher_suites(&[chacha20]));
    for group in [NamedGroup::X25519, NamedGroup::MLKEM768, NamedGroup::MLKEM1024] {
        client_breaks(FipsReason::Group(group), |b| b.groups(&[NamedGroup::SECP256R1, group]));
        server_breaks(FipsReason::Group(group), |b| b.groups(&[group]));
    }
    let sha1 = SignatureScheme::RSA_PKCS1_SHA1;
    let reason = FipsReason::SignatureScheme(sha1);
    client_breaks(reason, |b| b.certificate_signature_schemes(&[sha1]));
    server_breaks(reason, |b| b.certificate_signature_schemes(&[sha1]));
    client_breaks(FipsReason::KeyLog, |b| b.key_log(Arc::new(Log)));
    server_breaks(FipsReason::KeyLog, |b| b.key_log(Arc::new(Log)));
    let psk = || PreSharedKey::external(b"name", &[7; 32], HashAlgorithm::Sha256).unwrap();
    client_breaks(FipsReason::PreSharedKeys, |b| b.pre_shared_keys([psk()]));
    server_breaks(FipsReason::PreSharedKeys, |b| b.pre_shared_keys([psk()]));
}

#[test]
fn verifiers_have_to_be_of_this_library() {
    let any = || Policy::Here(Arc::new(AcceptAnyPeer) as Arc<dyn VerifyPeer>);
    client_breaks(FipsReason::Verifier, |b| b.verifier(any()));
    client_breaks(FipsReason::Verifier, |b| b.verifier(Policy::Ask));
    server_breaks(FipsReason::Verifier, |b| b.client_verifier(ClientAuth::Optional, any()));
    server_breaks(FipsReason::Verifier, |b| b.client_verifier(ClientAuth::Optional, Policy::Ask));

    let raw = tercel::pki::subject_public_key_info(&authority().0).unwrap().to_vec();
    let keys = TrustedRawKeys::new(vec![raw.into()]).unwrap();
    let own: [Arc<dyn VerifyPeer>; 5] = [
        Arc::new(RefuseAnyPeer),
        Arc::new(ChainPolicy::new(roots()).unwrap()),
        Arc::new(keys),
        Arc::new(
            TrustedRawKeys::new(vec![vec![1].into()])
                .unwrap()
                .or_chains(Arc::new(ChainPolicy::new(roots()).unwrap())),
        ),
        Arc::new(Asserting),
    ];
    for verifier in own {
        let config = client().fips(true).verifier(Policy::Here(verifier)).build();
        assert_eq!(config.unwrap().fips(), approved());
    }
}

#[test]
fn private_keys_and_chains_are_checked() {
    let (chain, key) = leaf(Kind::P256, &["client.example"]);
    let signer = |approved| {
        let key = SigningKey::from_der(&key).unwrap();
        Credential::with_signer(chain.clone(), Arc::new(Foreign { key, approved })).unwrap()
    };
    let remote = || Credential::remote(chain.clone()).unwrap();
    client_breaks(FipsReason::Signer, |b| b.credential(signer(false)));
    client_breaks(FipsReason::Signer, |b| b.credential(remote()));
    server_breaks(FipsReason::Signer, |b| b.credential(remote()));
    let config = client().fips(true).credential(signer(true)).build().unwrap();
    assert_eq!(config.fips(), approved());
    for which in [WeakChain::ShortKey, WeakChain::Sha1] {
        client_breaks(FipsReason::CredentialChain, |b| b.credential(weak_credential(which)));
        server_breaks(FipsReason::CredentialChain, |b| b.credential(weak_credential(which)));
    }
    // A selection by the application takes the place of the single credential. It is checked when
    // it selects.
    let selection = Credentials::new(vec![weak_credential(WeakChain::Sha1)]);
    let builder = client().fips(true).credential(weak_credential(WeakChain::Sha1));
    let builder = builder.credentials(Policy::Here(Arc::new(selection)));
    assert_eq!(builder.build().unwrap().fips(), approved());
}

#[test]
fn tickets_have_to_be_sealed_by_this_library() {
    server_breaks(FipsReason::TicketSealer, |b| b.tickets(Arc::new(OwnSealer)));
    server_breaks(FipsReason::TicketSealer, |b| b.ask_for_tickets(Duration::from_secs(60)));
    let without = server().fips(true).without_tickets().build().unwrap();
    assert_eq!(without.fips(), approved());
}

#[cfg(feature = "ech")]
#[test]
fn encrypted_client_hello_is_not_approved() {
    client_breaks(FipsReason::Ech, |b| b.ech_grease(true));
    let key = tercel::ech::Key::generate("cover.example", 0).unwrap();
    let keys = Arc::new(tercel::ech::Keys::new(vec![(key, tercel::ech::Retry::Send)]).unwrap());
    server_breaks(FipsReason::Ech, |b| b.ech(Arc::clone(&keys)));
}

struct Log;

impl KeyLog for Log {
    fn log(&self, _: &str, _: &[u8; 32], _: &[u8]) {}
}

/// A verifier of the application, which states that it uses only this library.
struct Asserting;

impl VerifyPeer for Asserting {
    fn verify_peer(&self, _: &PeerIdentity<'_>) -> Result<(), Box<Refusal>> {
        Ok(())
    }

    fn is_fips_approved(&self) -> bool {
        true
    }
}

/// A signer of the application, such as a hardware module.
struct Foreign {
    key: SigningKey,
    approved: bool,
}

impl Signer for Foreign {
    fn kind(&self) -> tercel::crypto::KeyKind {
        self.key.kind()
    }

    fn sign(
        &self,
        algorithm: tercel::crypto::SignatureAlgorithm,
        message: &[u8],
    ) -> Result<Vec<u8>, tercel::crypto::CryptoError> {
        self.key.sign(algorithm, message)
    }

    fn public_key_spki(&self) -> Option<Vec<u8>> {
        Some(self.key.public_key_spki())
    }

    fn is_fips_approved(&self) -> bool {
        self.approved
    }
}

struct OwnSealer;

impl TicketSealer for OwnSealer {
    fn seal(&self, _: &[u8], _: UnixTime) -> Option<Vec<u8>> {
        None
    }

    fn open(&self, _: &[u8], _: UnixTime) -> Option<Vec<u8>> {
        None
    }

    fn lifetime(&self) -> Duration {
        Duration::from_secs(1)
    }
}
