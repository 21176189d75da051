//! Configurations that cannot be built: each error, and the option with which its text begins.
//!
//! `tests/structure/config_errors.rs` checks that each variant is named in a test.

use std::sync::Arc;
use std::time::Duration;

use tercel::certificates::{
    AcceptAnyPeer, CompressCertificate, Credentials, DecompressionFailed, VerifyPeer,
};
use tercel::client::ClientConfigBuilder;
use tercel::crypto::HashAlgorithm;
use tercel::error::ConfigError;
use tercel::fips::FipsReason;
use tercel::pki::Roots;
use tercel::pki_types::{SubjectPublicKeyInfoDer, UnixTime};
use tercel::psk::PreSharedKey;
use tercel::server::{ClientAuth, ServerConfigBuilder};
use tercel::session::{AdmitEarlyData, ReplayGuard};
use tercel::wire::{
    CertificateCompressionAlgorithm, CertificateType, CipherSuite, NamedGroup, ProtocolVersion,
    SignatureScheme,
};
use tercel::{ClientConfig, Policy, ServerConfig};

use crate::fixtures::{KINDS, Kind, NAME, client, credential, credential_for, server};

/// Asserts that `build` fails with this error, and that its text names the option. The text begins
/// with all options that can cause the error.
#[track_caller]
fn assert_names(option: &str, result: Result<(), ConfigError>, expected: ConfigError) {
    assert_eq!(result, Err(expected), "{option}");
    let text = expected.to_string();
    let (options, explanation) = text.split_once(": ").unwrap();
    let options = options.replace(" or ", ", ");
    assert!(options.split(", ").any(|name| name == option), "{option} is not named: {text}");
    assert!(!explanation.is_empty() && !text.contains('\n'), "{text}");
}

type OfClient = fn(ClientConfigBuilder) -> ClientConfigBuilder;
type OfServer = fn(ServerConfigBuilder) -> ServerConfigBuilder;

#[track_caller]
fn client_error(option: &str, set: OfClient, expected: ConfigError) {
    assert_names(option, set(client()).build().map(drop), expected);
}

#[track_caller]
fn server_error(option: &str, set: OfServer, expected: ConfigError) {
    assert_names(option, set(server()).build().map(drop), expected);
}

/// Asserts the same for an option that both builders have.
macro_rules! assert_both {
    ($option:ident($($argument:expr),*), $expected:expr) => {{
        client_error(stringify!($option), |builder| builder.$option($($argument),*), $expected);
        server_error(stringify!($option), |builder| builder.$option($($argument),*), $expected);
    }};
}

/// `fips/status.rs` has the other reasons, which exist only with the feature.
#[test]
fn fips() {
    let expected = match cfg!(feature = "fips") {
        true => FipsReason::Group(NamedGroup::X25519),
        false => FipsReason::NotBuilt,
    };
    let set = |client: ClientConfigBuilder| client.groups(&[NamedGroup::X25519]).fips(true);
    client_error("fips", set, ConfigError::NotFips(expected));
    let set = |server: ServerConfigBuilder| server.groups(&[NamedGroup::X25519]).fips(true);
    server_error("fips", set, ConfigError::NotFips(expected));
    let status = client().build().unwrap().fips();
    assert_eq!(status.reason() == Some(FipsReason::NotBuilt), !cfg!(feature = "fips"));
    assert!(!status.is_approved());
}

#[test]
fn versions() {
    assert_both!(versions(&[]), ConfigError::NoVersion);
    let old = ProtocolVersion(0x0302);
    assert_both!(
        versions(&[ProtocolVersion::TLS1_3, ProtocolVersion(0x0302)]),
        ConfigError::UnknownVersion(old)
    );
    assert!(ConfigError::UnknownVersion(old).to_string().contains(&old.to_string()));
}

#[test]
fn cipher_suites() {
    assert_both!(cipher_suites(&[]), ConfigError::NoCipherSuite);
    let unknown = CipherSuite(0x0005);
    assert_both!(
        cipher_suites(&[CipherSuite::TLS_AES_128_GCM_SHA256, CipherSuite(0x0005)]),
        ConfigError::UnknownCipherSuite(unknown)
    );
    assert!(ConfigError::UnknownCipherSuite(unknown).to_string().contains(&unknown.to_string()));
    // There is no suite for the offered version.
    client_error(
        "cipher_suites",
        |client| {
            client
                .versions(&[ProtocolVersion::TLS1_2])
                .cipher_suites(&[CipherSuite::TLS_AES_128_GCM_SHA256])
        },
        ConfigError::NoCipherSuite,
    );
}

#[test]
fn groups_and_key_shares() {
    assert_both!(groups(&[]), ConfigError::NoGroup);
    assert_both!(
        groups(&[NamedGroup::X25519, NamedGroup::X448]),
        ConfigError::UnknownGroup(NamedGroup::X448)
    );
    let (x25519, p256) = (NamedGroup::X25519, NamedGroup::SECP256R1);
    client_error(
        "key_shares",
        |client| client.groups(&[NamedGroup::X25519]).key_shares(&[NamedGroup::SECP256R1]),
        ConfigError::BadKeyShare(p256),
    );
    client_error(
        "key_shares",
        |client| client.key_shares(&[NamedGroup::X25519, NamedGroup::X25519]),
        ConfigError::BadKeyShare(x25519),
    );
}

#[test]
fn signature_schemes() {
    assert_both!(signature_schemes(&[]), ConfigError::NoSignatureScheme);
    assert_both!(certificate_signature_schemes(&[]), ConfigError::NoSignatureScheme);
    assert_both!(
        signature_schemes(&[SignatureScheme::ED25519, SignatureScheme::RSA_PKCS1_SHA1]),
        ConfigError::UnknownSignatureScheme(SignatureScheme::RSA_PKCS1_SHA1)
    );
}

fn any_peer() -> Policy<dyn VerifyPeer> {
    Policy::Here(Arc::new(AcceptAnyPeer))
}

fn raw_key() -> SubjectPublicKeyInfoDer<'static> {
    SubjectPublicKeyInfoDer::from(vec![0x30, 0])
}

#[test]
fn trust() {
    assert_names("roots", ClientConfig::builder().build().map(drop), ConfigError::NoVerifier);
    let nothing = ConfigError::NoTrustConfigured;
    client_error("roots", |client| client.roots(Roots::new()), nothing);
    client_error("trusted_raw_keys", |client| client.trusted_raw_keys(vec![]), nothing);
    server_error(
        "client_auth",
        |server| server.client_auth(ClientAuth::Optional, Roots::new()),
        nothing,
    );
    server_error(
        "client_raw_keys",
        |server| server.client_raw_keys(ClientAuth::Required, vec![]),
        nothing,
    );
    let asks = ConfigError::RawKeysWithAsk;
    client_error(
        "trusted_raw_keys",
        |client| client.verifier(Policy::Ask).trusted_raw_keys(vec![raw_key()]),
        asks,
    );
    server_error(
        "client_raw_keys",
        |server| {
            server
                .client_verifier(ClientAuth::Optional, Policy::Ask)
                .client_raw_keys(ClientAuth::Optional, vec![raw_key()])
        },
        asks,
    );
}

/// A verifier that decides by itself does not look at the leaf's key.
#[test]
fn legacy_peer_keys() {
    let refused = ConfigError::LegacyPeerKeysWithoutAsk;
    assert_both!(legacy_peer_keys(true), refused);
    client_error(
        "legacy_peer_keys",
        |client| client.verifier(any_peer()).legacy_peer_keys(true),
        refused,
    );
    client_error(
        "legacy_peer_keys",
        |client| client.trusted_raw_keys(vec![raw_key()]).legacy_peer_keys(true),
        refused,
    );
    server_error(
        "legacy_peer_keys",
        |server| server.client_verifier(ClientAuth::None, any_peer()).legacy_peer_keys(true),
        refused,
    );
    server_error(
        "legacy_peer_keys",
        |server| {
            server.client_raw_keys(ClientAuth::Required, vec![raw_key()]).legacy_peer_keys(true)
        },
        refused,
    );
    let only_psks = ClientConfig::builder().pre_shared_keys(keys(1, 4)).legacy_peer_keys(true);
    assert_names("legacy_peer_keys", only_psks.build().map(drop), refused);
    client().verifier(Policy::Ask).legacy_peer_keys(true).build().unwrap();
    let asks = server().client_verifier(ClientAuth::Optional, Policy::Ask);
    asks.legacy_peer_keys(true).build().unwrap();
    client().legacy_peer_keys(true).legacy_peer_keys(false).build().unwrap();
}

/// Each option that requests client certificates also sets their verifier. So the error for a
/// missing verifier has no test: see the exemptions of `tests/structure/config_errors.rs`.
#[test]
fn each_demand_for_client_certificates_has_a_verifier() {
    let required = ClientAuth::Required;
    server().client_verifier(required, any_peer()).build().unwrap();
    server().client_verifier(required, Policy::Ask).build().unwrap();
    server().client_raw_keys(required, vec![raw_key()]).build().unwrap();
}

#[test]
fn credentials() {
    assert_names(
        "credential",
        ServerConfig::builder().build().map(drop),
        ConfigError::NoCredential,
    );
    let set = || Arc::new(Credentials::new(vec![credential(KINDS[1])]));
    let conflict = ConfigError::ConflictingCredentials;
    server_error("credentials", |server| server.credentials(Policy::Ask), conflict);
    let set_of_one = server().replaceable_credentials(set());
    assert_names("replaceable_credentials", set_of_one.build().map(drop), conflict);
    let known_names = ServerConfig::builder().credentials(Policy::Here(set())).require_known_name();
    assert_names("credentials", known_names.build().map(drop), conflict);
}

#[test]
fn application_protocols() {
    let bad = ConfigError::BadApplicationProtocol;
    assert_both!(alpn(&[""]), bad);
    assert_both!(alpn(&["h2", &"x".repeat(256)]), bad);
    // Each name has a length of one byte. RFC 7301 3.1
    assert_both!(alpn(&vec!["x".repeat(255); 256]), bad);
    client().alpn(&vec!["x".repeat(255); 255]).build().unwrap();
}

/// A compression algorithm with this code.
struct Coded(u16);

impl CompressCertificate for Coded {
    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        CertificateCompressionAlgorithm(self.0)
    }

    fn compress(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn decompress(&self, _: &[u8], _: &mut [u8]) -> Result<(), DecompressionFailed> {
        Err(DecompressionFailed)
    }
}

fn coded(codes: impl IntoIterator<Item = u16>) -> Vec<Arc<dyn CompressCertificate>> {
    codes.into_iter().map(|code| Arc::new(Coded(code)) as Arc<_>).collect()
}

#[test]
fn certificate_compression() {
    assert_both!(certificate_compression(coded([7, 8, 7])), ConfigError::BadCertificateCompression);
    assert_both!(certificate_compression(coded(0..128)), ConfigError::BadCertificateCompression);
    server().certificate_compression(coded(0..127)).build().unwrap();
}

#[test]
fn certificate_types() {
    let bad = ConfigError::BadCertificateTypes;
    client_error("server_certificate_types", |client| client.server_certificate_types(&[]), bad);
    assert_both!(client_certificate_types(&[]), bad);
    assert_both!(client_certificate_types(&[CertificateType(9)]), bad);
    assert_both!(client_certificate_types(&[CertificateType::X509, CertificateType::X509]), bad);
}

fn key(identity: &[u8], hash: HashAlgorithm) -> PreSharedKey {
    PreSharedKey::external(identity, &[7; 32], hash).unwrap()
}

fn keys(count: u8, length: usize) -> Vec<PreSharedKey> {
    (0..count).map(|number| key(&vec![number; length], HashAlgorithm::Sha256)).collect()
}

#[test]
fn pre_shared_keys() {
    let unusable = ConfigError::UnusablePreSharedKeys;
    let option = "pre_shared_keys";
    let tls12 = [ProtocolVersion::TLS1_2];
    let of_client = client().versions(&tls12).pre_shared_keys(keys(1, 4));
    assert_names(option, of_client.build().map(drop), unusable);
    let of_server = server().versions(&tls12).pre_shared_keys(keys(1, 4));
    assert_names(option, of_server.build().map(drop), unusable);
    let of_server = server().versions(&tls12).find_pre_shared_key(Policy::Ask);
    assert_names("find_pre_shared_key", of_server.build().map(drop), unusable);
    // There is no suite with the hash of a client's key.
    let suites = [CipherSuite::TLS_AES_128_GCM_SHA256];
    let other_hash = client().cipher_suites(&suites);
    let other_hash = other_hash.pre_shared_keys([key(b"k", HashAlgorithm::Sha384)]);
    assert_names(option, other_hash.build().map(drop), unusable);

    let too_many = ConfigError::TooManyPreSharedKeys;
    for keys in [
        keys(17, 4),
        keys(2, 16_385),
        vec![key(b"same", HashAlgorithm::Sha256), key(b"same", HashAlgorithm::Sha384)],
    ] {
        assert_names(option, client().pre_shared_keys(keys).build().map(drop), too_many);
    }
    client().pre_shared_keys(keys(16, 2048)).build().unwrap();
}

#[test]
fn stored_certificate_digests() {
    let option = "store_only_certificate_digests";
    let expected = ConfigError::DigestsCannotBeVerified;
    server_error(option, |server| server.store_only_certificate_digests(true), expected);
    server().store_only_certificate_digests(true).verify_resumed(false).build().unwrap();
}

#[test]
fn early_data() {
    server_error(
        "freshness_window",
        |server| server.freshness_window(Duration::from_secs(61)),
        ConfigError::BadFreshnessWindow,
    );
    let now = UnixTime::now();
    let narrow = ReplayGuard::for_freshness_window(10, now, Duration::from_secs(10));
    let guard = Policy::Here(Arc::new(narrow) as Arc<dyn AdmitEarlyData>);
    let result = server().early_data(100, guard).build().map(drop);
    assert_names("early_data", result, ConfigError::ReplayGuardTooShort);
}

#[test]
fn certificate_authorities() {
    let bad = ConfigError::BadAuthorities;
    let option = "certificate_authorities";
    client_error(option, |client| client.certificate_authorities(vec![vec![]]), bad);
    // Each name has a length of two bytes.
    let names = |length| vec![vec![0x30; length]];
    assert_names(option, client().certificate_authorities(names(32_767)).build().map(drop), bad);
    client().certificate_authorities(names(32_766)).build().unwrap();
}

#[test]
fn record_sizes() {
    assert_both!(record_size_limit(63), ConfigError::BadRecordSizeLimit);
    assert_both!(record_size_limit(16_386), ConfigError::BadRecordSizeLimit);
    assert_both!(max_fragment(63), ConfigError::BadMaxFragment);
    assert_both!(max_fragment(16_385), ConfigError::BadMaxFragment);
    client().record_size_limit(64).max_fragment(64).build().unwrap();
    server().record_size_limit(16_385).max_fragment(16_384).build().unwrap();
}

/// A setter never fails, and a later call replaces the value of an earlier one.
#[test]
fn a_bad_value_that_is_replaced_is_no_error() {
    client().versions(&[]).versions(&[ProtocolVersion::TLS1_3]).build().unwrap();
    let unknown = [CipherSuite(0x0005)];
    let good = [CipherSuite::TLS_AES_128_GCM_SHA256];
    client().cipher_suites(&unknown).cipher_suites(&good).build().unwrap();
    client().roots(Roots::new()).verifier(any_peer()).build().unwrap();
    server().max_fragment(1).max_fragment(100).build().unwrap();
    let window = |server: ServerConfigBuilder, seconds| {
        server.freshness_window(Duration::from_secs(seconds))
    };
    window(window(server(), 1), 10).build().unwrap();
}

#[test]
fn options_that_cannot_be_encoded_are_refused_at_build() {
    let none: [SignatureScheme; 0] = [];
    let error = Some(ConfigError::NoSignatureScheme);
    assert_eq!(client().signature_schemes(&none).build().err(), error);
    assert_eq!(server().certificate_signature_schemes(&none).build().err(), error);
    for bytes in [0, 63, 16_385] {
        let refused = client().max_fragment(bytes).build().err();
        assert_eq!(refused, Some(ConfigError::BadMaxFragment), "{bytes}");
    }
    client().max_fragment(64).build().unwrap();
    // Credentials have one source, and the requirement of known names must be set on that source.
    let set = || Arc::new(Credentials::new(vec![credential_for(Kind::P256, &[NAME])]));
    let twice = server().replaceable_credentials(set()).build().err();
    assert_eq!(twice, Some(ConfigError::ConflictingCredentials));
    let builder = ServerConfig::builder().replaceable_credentials(set());
    assert_eq!(
        builder.require_known_name().build().err(),
        Some(ConfigError::ConflictingCredentials)
    );
}
