//! Negotiation: pure functions that select parameters from a ClientHello and the configuration.

use tercel_crypto::HashAlgorithm;
use tercel_wire::{
    CertificateRequestTls12, CipherSuite, ClientCertificateType, ClientHello, ClientVersions,
    HandshakeMessage, List, NamedGroup, ProtocolName, ProtocolVersion, PskKeyExchangeMode,
    SignatureScheme,
};

use super::certificate_type_negotiation;
use crate::auth::certificate_types::TypeSet;
use crate::auth::credential::{CredentialRequest, PeerLists};
use crate::config::common::Common;
use crate::config::server::ServerConfig;
use crate::error::{Error, InternalError, PeerError};
use crate::keys::group::KnownGroups;
use crate::keys::scheme::SchemeSet;
use crate::keys::suite::{self, Authentication, Suite};
use crate::known_values::KnownValues;
use crate::psk::PreSharedKey;
use crate::psk::request::PreSharedKeyRequest;
use crate::record::joiner::Message;
use crate::record::limits;
use crate::side::Side;

/// Returns the highest version in common. RFC 9846 4.3.1, 4.2.1
pub(crate) fn version(
    hello: &ClientVersions<'_>,
    common: &Common,
) -> Result<ProtocolVersion, Error> {
    let offered = |version| match &hello.supported_versions {
        Some(versions) => versions.contains(version),
        // Without the extension, legacy_version is the highest offered version. RFC 9846 4.2.1
        None => {
            version == ProtocolVersion::TLS1_2 && hello.legacy_version >= ProtocolVersion::TLS1_2
        }
    };
    let both = |version: &ProtocolVersion| common.has_version(*version) && offered(*version);
    let best = [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2];
    let chosen = best.into_iter().find(both);
    let highest = best.into_iter().find(|version| common.has_version(*version));
    let fallback = hello.cipher_suites.contains(CipherSuite::TLS_FALLBACK_SCSV);
    // The signalling suite means that the client supports a higher version than it offers now. The
    // handshake is refused if the server supports a higher version too, even if it does not support
    // the offered version. RFC 7507 3
    if fallback && highest != chosen {
        return Err(PeerError::InappropriateFallback.into());
    }
    chosen.ok_or_else(|| PeerError::UnsupportedVersion.into())
}

/// The supported suites among those that a client offers, in its order.
#[derive(Clone, Copy)]
pub(crate) struct KnownSuites(KnownValues);

impl KnownSuites {
    pub(crate) fn of(hello: &ClientHello<'_>) -> Self {
        Self(KnownValues::of(hello.cipher_suites.iter().map(suite::index)))
    }

    fn has(&self, suite: &Suite) -> bool {
        suite::index(suite.code).is_some_and(|index| self.0.has(index))
    }

    fn iter(&self) -> impl Iterator<Item = &'static Suite> {
        self.0.iter().filter_map(|index| suite::ALL.get(usize::from(index)))
    }
}

/// Returns the best common suite of TLS 1.3. If a pre-shared key is to be used, the suite must have
/// the hash of the key. RFC 9846 4.3.11
pub(crate) fn suite13(
    theirs: &KnownSuites,
    config: &ServerConfig,
    hash: Option<HashAlgorithm>,
) -> Result<&'static Suite, Error> {
    choose_suite(theirs, config, Suite::is_tls13, hash)
}

/// Returns the hashes of the common suites of TLS 1.3. The hash of the best suite is the first.
pub(crate) fn hashes13(
    theirs: &KnownSuites,
    config: &ServerConfig,
) -> Result<Vec<HashAlgorithm>, Error> {
    let mut hashes = vec![suite13(theirs, config, None)?.hash];
    for other in [HashAlgorithm::Sha256, HashAlgorithm::Sha384] {
        if !hashes.contains(&other) && suite13(theirs, config, Some(other)).is_ok() {
            hashes.push(other);
        }
    }
    Ok(hashes)
}

/// Returns the best common suite of TLS 1.2 with this kind of authentication.
pub(crate) fn suite12(
    theirs: &KnownSuites,
    config: &ServerConfig,
    authentication: Authentication,
) -> Result<&'static Suite, Error> {
    choose_suite(theirs, config, |suite| suite.authentication == Some(authentication), None)
}

fn choose_suite(
    theirs: &KnownSuites,
    config: &ServerConfig,
    fits: impl Fn(&Suite) -> bool,
    hash: Option<HashAlgorithm>,
) -> Result<&'static Suite, Error> {
    let allowed = |suite: &&'static Suite| hash.is_none_or(|hash| suite.hash == hash);
    let ours = || config.common.usable_suites().filter(|suite| fits(suite));
    let in_their_order = || theirs.iter().filter(|suite| ours().any(|own| own == *suite));
    let in_our_order = || ours().filter(|suite| theirs.has(suite));
    let chosen = if config.client_order {
        in_their_order().find(allowed)
    } else if config.common.suites_chosen {
        in_our_order().find(allowed)
    } else {
        // A client whose first common suite has ChaCha20 presumably lacks fast AES, so this suite
        // is selected. The required hash does not affect which suite counts as the first.
        let chacha = |suite: &&Suite| suite.aead == tercel_crypto::AeadAlgorithm::ChaCha20Poly1305;
        let first = in_their_order().next().filter(chacha).filter(allowed);
        first.or_else(|| in_our_order().find(allowed))
    };
    chosen.ok_or_else(|| PeerError::NoSharedCipherSuite.into())
}

/// Selects the group of a TLS 1.3 handshake. The preferred common group determines the kind,
/// traditional or post-quantum. The best common group of this kind with a key share is selected, or
/// the preferred group if there is none.
///
/// So a HelloRetryRequest is sent to change from a traditional to a post-quantum group or vice
/// versa, but not to get another group of the same kind.
pub(crate) fn group13(hello: &ClientHello<'_>, config: &ServerConfig) -> Result<NamedGroup, Error> {
    let theirs = hello.extensions.supported_groups.ok_or(PeerError::MissingExtension)?;
    let shares = hello.extensions.key_share.ok_or(PeerError::MissingExtension)?;
    let theirs = KnownGroups::of(theirs.iter());
    let shared = KnownGroups::of(shares.iter().map(|share| share.group));
    let ours = || config.common.groups.iter().copied().enumerate();
    let rank = |(ours, group): (usize, NamedGroup)| {
        let theirs = theirs.rank(group)?;
        Some((if config.client_order { theirs } else { ours }, group))
    };
    let (_, best) =
        ours().filter_map(rank).min_by_key(|(rank, _)| *rank).ok_or(PeerError::NoSharedGroup)?;
    let equal = |group: NamedGroup| is_post_quantum(group) == is_post_quantum(best);
    let there = ours().filter(|(_, group)| equal(*group) && shared.has(*group)).filter_map(rank);
    Ok(there.min_by_key(|(rank, _)| *rank).map_or(best, |(_, group)| group))
}

/// Selects the group of a TLS 1.2 handshake, which is never a post-quantum group.
pub(crate) fn group12(hello: &ClientHello<'_>, config: &ServerConfig) -> Result<NamedGroup, Error> {
    let mut ours = config.common.groups.iter().copied().filter(|group| !is_post_quantum(*group));
    let theirs = hello.extensions.supported_groups.map(|list| KnownGroups::of(list.iter()));
    let chosen = match theirs {
        // A client that sends no supported_groups accepts any group, and all clients support P-256.
        // RFC 8422 4
        None => ours.find(|group| *group == NamedGroup::SECP256R1),
        Some(theirs) if config.client_order => theirs
            .iter()
            .find(|group| config.common.groups.contains(group) && !is_post_quantum(*group)),
        Some(theirs) => ours.find(|group| theirs.has(*group)),
    };
    chosen.ok_or_else(|| PeerError::NoSharedGroup.into())
}

/// Whether a group uses ML-KEM, alone or in a hybrid. Such groups are for TLS 1.3 only.
pub(crate) fn is_post_quantum(group: NamedGroup) -> bool {
    matches!(
        group,
        NamedGroup::X25519MLKEM768
            | NamedGroup::SECP256R1MLKEM768
            | NamedGroup::SECP384R1MLKEM1024
            | NamedGroup::MLKEM768
            | NamedGroup::MLKEM1024
    )
}

/// Selects the application protocol, by the server's preference. RFC 7301 3.2
pub(crate) fn alpn<'c>(
    hello: &ClientHello<'_>,
    config: &'c ServerConfig,
) -> Result<Option<&'c [u8]>, Error> {
    let Some(theirs) = &hello.extensions.alpn else { return Ok(None) };
    if config.common.alpn.is_empty() {
        return Ok(None);
    }
    match config.common.alpn.best(theirs.iter().map(|name| name.0)) {
        Some(name) => Ok(Some(name)),
        None if config.ignore_unknown_alpn => Ok(None),
        None => Err(PeerError::NoApplicationProtocol.into()),
    }
}

/// Returns the application protocol that the server selected. It must be one that the client
/// offered. RFC 7301 3.2
pub(crate) fn accept_alpn(
    selected: Option<&ProtocolName<'_>>,
    config: &Common,
) -> Result<Option<Vec<u8>>, Error> {
    let Some(ProtocolName(name)) = selected else { return Ok(None) };
    if !config.alpn.iter().any(|ours| ours.as_slice() == *name) {
        return Err(PeerError::WrongApplicationProtocol.into());
    }
    Ok(Some(name.to_vec()))
}

/// Returns the requirements on a server's credential, or `None` without `signature_algorithms`.
pub(crate) fn credential_request<'a>(
    hello: &ClientHello<'a>,
    version: ProtocolVersion,
    config: &ServerConfig,
) -> Option<CredentialRequest<'a>> {
    let schemes = hello.extensions.signature_algorithms?;
    Some(request_for(hello, version, config, schemes, SchemeSet::of(schemes)))
}

/// Returns the requirements on the server's credential if the client offers a session. Such a
/// client may omit `signature_algorithms`, since a resumption contains no signature to verify. Then
/// the credential is selected as if the client supported all schemes. RFC 9846 9.2
pub(crate) fn request_to_resume<'a>(
    hello: &ClientHello<'a>,
    version: ProtocolVersion,
    config: &ServerConfig,
) -> CredentialRequest<'a> {
    credential_request(hello, version, config)
        .unwrap_or_else(|| request_for(hello, version, config, List::new(&[]), SchemeSet::all()))
}

fn request_for<'a>(
    hello: &ClientHello<'a>,
    version: ProtocolVersion,
    config: &ServerConfig,
    signature_schemes: List<'a, SignatureScheme>,
    known_schemes: SchemeSet,
) -> CredentialRequest<'a> {
    let tls13 = version == ProtocolVersion::TLS1_3;
    let suites = (!tls13).then(|| KnownSuites::of(hello));
    let serves = |authentication: Authentication| {
        suites.is_none_or(|suites| suite12(&suites, config, authentication).is_ok())
    };
    let certificate_signature_schemes = hello.extensions.signature_algorithms_cert;
    let certificate_types = certificate_type_negotiation::of_server(hello);
    // In TLS 1.3 supported_groups does not apply to certificates. RFC 9846 4.3.7
    let groups_of_certificates = hello.extensions.supported_groups.filter(|_| !tls13);
    let known = PeerLists::of(
        known_schemes,
        certificate_signature_schemes,
        groups_of_certificates,
        certificate_types,
    );
    CredentialRequest {
        side: Side::Server,
        version,
        server_name: hello.host_name(),
        alpn: hello.extensions.alpn,
        cipher_suites: hello.cipher_suites,
        known,
        signature_schemes,
        certificate_signature_schemes,
        groups: hello.extensions.supported_groups,
        certificate_types,
        key_kinds: (serves(Authentication::Rsa), serves(Authentication::Ecdsa)),
        client_certificate_types: None,
        authorities: hello.extensions.certificate_authorities,
    }
}

/// Returns the error for a server that has no suitable credential.
pub(crate) fn no_credential(hello: &ClientHello<'_>, config: &ServerConfig) -> Error {
    let unknown =
        |known: &crate::auth::credential::Credentials| known.refuses_name(hello.host_name());
    if config.credential_set.as_deref().is_some_and(unknown) {
        return PeerError::UnrecognizedName.into();
    }
    let types = TypeSet::of(certificate_type_negotiation::of_server(hello));
    let ours = config.credential_set.as_deref();
    if ours.is_some_and(|ours| ours.lacks_type_of(types)) {
        return PeerError::NoCommonCertificateType.into();
    }
    if KnownSuites::of(hello).0.is_empty() {
        return PeerError::NoSharedCipherSuite.into();
    }
    match ours {
        Some(_) => PeerError::NoCommonSignatureScheme.into(),
        // Only the application knows why it selected none.
        None => InternalError::NoCredentialSelected.into(),
    }
}

/// Returns whether a TLS 1.2 server accepts RSA keys from clients, and whether it accepts ECDSA and
/// EdDSA keys. RFC 5246 7.4.4, RFC 8422 5.5
pub(crate) fn key_kinds_of(request: &CertificateRequestTls12<'_>) -> (bool, bool) {
    let types = request.certificate_types;
    (
        types.contains(ClientCertificateType::RSA_SIGN),
        types.contains(ClientCertificateType::ECDSA_SIGN),
    )
}

/// Parses the `ClientHello` in a message.
#[inline]
pub(crate) fn parse_hello(message: &Message) -> Result<ClientHello<'_>, Error> {
    let hello = ClientHello::parse(message.body())?;
    certificate_type_negotiation::check_offer(&hello)?;
    Ok(hello)
}

/// Whether the ClientHello offers this pre-shared key.
pub(crate) fn is_offered(hello: &ClientHello<'_>, key: &PreSharedKey) -> bool {
    let Some(offered) = hello.extensions.pre_shared_key else { return false };
    let mut identities = offered.identities.iter().take(limits::MAX_PSK_IDENTITIES);
    identities.any(|each| each.identity == key.identity())
}

/// Whether the client supports pre-shared keys with a key exchange (psk_dhe_ke), the only supported
/// mode. RFC 9846 4.3.9
pub(crate) fn supports_psk_dhe_ke(hello: &ClientHello<'_>) -> bool {
    let modes = hello.extensions.psk_key_exchange_modes;
    modes.is_some_and(|modes| modes.contains(PskKeyExchangeMode::PSK_DHE_KE))
}

/// Returns the pre-shared keys offered in a ClientHello, for the application.
pub(crate) fn pre_shared_key_request<'a>(
    hello: &ClientHello<'a>,
    hashes: &'a [tercel_crypto::HashAlgorithm],
) -> PreSharedKeyRequest<'a> {
    let offered = hello.extensions.pre_shared_key;
    PreSharedKeyRequest {
        hashes,
        server_name: hello.host_name(),
        signature_schemes: hello.extensions.signature_algorithms,
        identities: offered.map_or(List::new(&[]), |offered| offered.identities),
    }
}

#[cfg(test)]
mod tests {
    use tercel_wire::List;

    use super::*;

    #[test]
    fn an_inappropriate_fallback_is_refused_also_below_the_supported_versions() {
        let common = Common::new();
        let version_of = |legacy_version, fallback: bool| {
            let mut suites = vec![CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256];
            if fallback {
                suites.push(CipherSuite::TLS_FALLBACK_SCSV);
            }
            let cipher_suites = List::new(&suites);
            let hello = ClientVersions { legacy_version, cipher_suites, supported_versions: None };
            version(&hello, &common)
        };
        let (old, newer) = (ProtocolVersion::TLS1_1, ProtocolVersion::TLS1_2);
        assert_eq!(version_of(newer, false), Ok(newer));
        assert_eq!(version_of(newer, true), Err(PeerError::InappropriateFallback.into()));
        assert_eq!(version_of(old, false), Err(PeerError::UnsupportedVersion.into()));
        assert_eq!(version_of(old, true), Err(PeerError::InappropriateFallback.into()));
    }
}
