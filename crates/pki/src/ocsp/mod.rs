//! Verification of stapled OCSP responses. RFC 6960 3.2
//!
//! The check needs the leaf's issuer, so it runs after a path is found; only responses signed by
//! that issuer or its delegate are accepted. No responder is queried, and no clock is read.

mod response;

use std::time::Duration;

use pki_types::{SignatureVerificationAlgorithm, UnixTime};
use tercel_crypto::{Hash, HashAlgorithm, PublicKey, sha1_name};

use crate::algorithms::{self, CertificateAlgorithm};
use crate::certificate::{Certificate, PathCertificate, read_key};
use crate::der::{self, Malformed, Reader};
use crate::path::{Path, Trusted, check_validity};
use crate::reason::RefusalReason;
use crate::revocation::{Signer, Work};
use response::{BasicResponse, CertificateId, Responder, Response, SingleResponse, Status};

/// The policy for stapled OCSP responses. RFC 6066 8
///
/// A leaf that requires a response ("must-staple", RFC 7633) is refused without a good one under
/// any policy, if a response was requested. Only responses for the leaf are checked. TLS 1.3 also
/// allows responses for intermediates; they are ignored, because intermediates are revoked by list.
/// Responses for a pinned leaf are ignored, because its trust does not depend on an authority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OcspPolicy {
    /// Responses are not checked unless the leaf requires a response. An attacker with a stolen key
    /// would not staple a response, and some servers staple expired responses: checking optional
    /// responses protects few connections and breaks some.
    #[default]
    Ignore,
    /// If there is a response, it must be good.
    CheckIfPresent,
    /// A good response is required, even if no response was requested.
    Require,
}

/// The algorithms accepted in the signatures of responses and of delegates.
type Algorithms<'v> = &'v [&'static CertificateAlgorithm];

/// The issuer of the leaf: the next certificate of its path, or the anchor.
pub(crate) struct Issuer<'p> {
    /// The content of the SEQUENCE of a Name.
    subject: &'p [u8],
    /// The content of the SEQUENCE of a SubjectPublicKeyInfo.
    key_info: &'p [u8],
    /// The whole SubjectPublicKeyInfo.
    key: Vec<u8>,
}

impl<'p> Issuer<'p> {
    pub(crate) fn of(path: &Path<'p>) -> Self {
        let (subject, key) = path.issuer;
        Self { subject, key_info: key, key: der::sequence(key) }
    }
}

/// Refuses the leaf unless the response has the status "good" for it. RFC 6960 3.2
pub(crate) fn check<'p>(
    response: &[u8],
    leaf: &Certificate<'_>,
    issuer: &Issuer<'p>,
    trusted: &Trusted,
    now: UnixTime,
    work: &mut Work<'p>,
) -> Result<(), RefusalReason> {
    let malformed = |Malformed| RefusalReason::StapleMalformed;
    let Response::Basic(basic) = Response::parse(response).map_err(malformed)? else {
        return Err(RefusalReason::StapleUnsuccessful);
    };
    if !is_signed_by_issuer(&basic, issuer, &trusted.algorithms)
        && !is_signed_by_delegate(&basic, issuer, trusted, now, work)?
    {
        return Err(RefusalReason::StapleUntrusted);
    }
    let mut verdict = Err(RefusalReason::StapleForOtherCertificate);
    for single in basic.responses() {
        if !is_for_leaf(&single.certificate, leaf, issuer).map_err(malformed)? {
            continue;
        }
        match check_single(&single, now) {
            // No other response overrides a revocation, not even if the revocation is outdated.
            Err(RefusalReason::Revoked) => return Err(RefusalReason::Revoked),
            better if verdict.is_err() => verdict = better,
            _ => {}
        }
    }
    verdict
}

/// The result of one response about the leaf.
fn check_single(single: &SingleResponse<'_>, now: UnixTime) -> Result<(), RefusalReason> {
    if single.status == Status::Revoked {
        return Err(RefusalReason::Revoked);
    }
    let later = |moment: UnixTime, by: Duration| {
        UnixTime::since_unix_epoch(Duration::from_secs(moment.as_secs()).saturating_add(by))
    };
    let this_update = single.this_update;
    if this_update > later(now, MAX_CLOCK_SKEW) {
        return Err(RefusalReason::StapleNotYetValid { this_update });
    }
    // Without nextUpdate a newer response is always available, so this response expires soon.
    // RFC 6960 2.4
    let next_update = single.next_update.unwrap_or_else(|| later(this_update, DEFAULT_LIFETIME));
    if later(next_update, MAX_CLOCK_SKEW) < now || next_update < this_update {
        return Err(RefusalReason::StapleExpired { next_update });
    }
    match single.status {
        Status::Good => Ok(()),
        Status::Revoked => Err(RefusalReason::Revoked),
        Status::Unknown => Err(RefusalReason::StapleUnknownStatus),
    }
}

/// Whether the id identifies the leaf. RFC 6960 4.1.1
fn is_for_leaf(
    id: &CertificateId<'_>,
    leaf: &Certificate<'_>,
    issuer: &Issuer<'_>,
) -> Result<bool, Malformed> {
    if id.serial_number != leaf.serial_number {
        return Ok(false);
    }
    let name = der::sequence(issuer.subject);
    let key = key_bits(&issuer.key)?;
    let same = |of: &[u8], expected: &[u8]| match id.hash {
        SHA1 => sha1_name(of) == *expected,
        SHA256 => *Hash::digest(HashAlgorithm::Sha256, &[of]) == *expected,
        SHA384 => *Hash::digest(HashAlgorithm::Sha384, &[of]) == *expected,
        SHA512 => *Hash::digest(HashAlgorithm::Sha512, &[of]) == *expected,
        _ => false,
    };
    Ok(same(&name, id.issuer_name_hash) && same(key, id.issuer_key_hash))
}

/// Whether the issuer itself signed the response. RFC 6960 4.2.2.2
fn is_signed_by_issuer(
    basic: &BasicResponse<'_>,
    issuer: &Issuer<'_>,
    algorithms: Algorithms<'_>,
) -> bool {
    is_responder(basic.responder, issuer.subject, &issuer.key)
        && is_signed_with(basic, &issuer.key, algorithms)
}

/// Whether a delegate that this issuer has certified for OCSP signed the response. Without lists
/// the revocation of the delegate is not checked, because the check would need another response.
/// RFC 6960 4.2.2.2, 4.2.2.2.1
fn is_signed_by_delegate<'p>(
    basic: &BasicResponse<'_>,
    issuer: &Issuer<'p>,
    trusted: &Trusted,
    now: UnixTime,
    work: &mut Work<'p>,
) -> Result<bool, RefusalReason> {
    let algorithms = &trusted.algorithms;
    for certificate in basic.certificates().take(MAX_CERTIFICATES) {
        let Ok(delegate) = Certificate::parse_or_refuse(&certificate).and_then(PathCertificate::of)
        else {
            continue;
        };
        let Certificate { subject, subject_public_key_info: key, .. } = delegate.fields;
        let is_signer = is_responder(basic.responder, subject, key)
            && delegate.fields.may_sign() == Ok(true)
            && is_delegate(&delegate, issuer, algorithms, now)
            && is_signed_with(basic, key, algorithms);
        if is_signer && !is_revoked(&delegate, issuer, trusted, now, work)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether the issuer has certified this key for OCSP. RFC 6960 4.2.2.2
fn is_delegate(
    delegate: &PathCertificate<'_>,
    issuer: &Issuer<'_>,
    algorithms: Algorithms<'_>,
    now: UnixTime,
) -> bool {
    let certified = || {
        let (key_algorithm, key) = read_key(issuer.key_info).ok()?;
        let of_signature = delegate.fields.signature_algorithm;
        let algorithm = algorithms::find(algorithms, of_signature, key_algorithm).ok()?;
        let public = algorithm.parse_key(key).ok()?;
        algorithm.verify_by(&public, delegate.fields.signed, delegate.signature).ok()
    };
    delegate.fields.issuer == issuer.subject
        && !delegate.is_ca
        && delegate.purposes.ocsp
        && check_validity(delegate, now).is_ok()
        && certified().is_some()
}

/// Whether a list says that the issuer has revoked the delegate's certificate. RFC 6960 4.2.2.2.1
fn is_revoked<'p>(
    delegate: &PathCertificate<'_>,
    issuer: &Issuer<'p>,
    trusted: &Trusted,
    now: UnixTime,
    work: &mut Work<'p>,
) -> Result<bool, RefusalReason> {
    let key = read_key(issuer.key_info).map_err(|_| RefusalReason::InvalidKey)?;
    let by = Signer { key, may_sign_lists: true };
    match trusted.revocation.check(delegate, by, &trusted.algorithms, now, work) {
        Err(RefusalReason::Revoked) => Ok(true),
        Err(RefusalReason::PathLimits) => Err(RefusalReason::PathLimits),
        // Without a list, the delegate is accepted.
        _ => Ok(false),
    }
}

/// Whether the responder id identifies a responder with this name and key. RFC 6960 4.2.2.3
fn is_responder(responder: Responder<'_>, subject: &[u8], key: &[u8]) -> bool {
    match responder {
        Responder::Name(name) => name == subject,
        Responder::Key(digest) => key_bits(key).is_ok_and(|bits| sha1_name(bits) == *digest),
    }
}

fn is_signed_with(basic: &BasicResponse<'_>, key: &[u8], algorithms: Algorithms<'_>) -> bool {
    let Ok(key) = PublicKey::from_spki(key) else { return false };
    let signature_algorithm = algorithms::with_null_parameters(basic.signature_algorithm);
    algorithms.iter().any(|algorithm| {
        algorithm.key() == key.kind()
            && algorithm.signature_alg_id().as_ref() == signature_algorithm
            && key.verify(algorithm.algorithm(), basic.signed, basic.signature).is_ok()
    })
}

/// The bits of the key in a SubjectPublicKeyInfo, over which the digest is made. RFC 6960 4.1.1
fn key_bits(subject_public_key_info: &[u8]) -> Result<&[u8], Malformed> {
    let mut fields = Reader::new(der::single(subject_public_key_info, der::SEQUENCE)?);
    fields.expect(der::SEQUENCE)?;
    let bits = fields.expect(der::BIT_STRING)?;
    fields.finish()?;
    bits.split_first().map(|(_unused_bits, bits)| bits).ok_or(Malformed)
}

/// The maximum difference between a responder's clock and the local one.
const MAX_CLOCK_SKEW: Duration = Duration::from_secs(5 * 60);

/// The lifetime of a response without nextUpdate.
const DEFAULT_LIFETIME: Duration = Duration::from_secs(24 * 3600);

/// The maximum number of attached certificates that are tried; a real responder attaches one.
const MAX_CERTIFICATES: usize = 4;

/// id-sha1, 1.3.14.3.2.26
const SHA1: &[u8] = &[0x2b, 0x0e, 0x03, 0x02, 0x1a];
/// id-sha256, 2.16.840.1.101.3.4.2.1
const SHA256: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01];
/// id-sha384, 2.16.840.1.101.3.4.2.2
const SHA384: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x02];
/// id-sha512, 2.16.840.1.101.3.4.2.3
const SHA512: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x03];
