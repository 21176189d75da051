//! Stapled OCSP responses: what one says of a leaf, if it may be believed. RFC 6960 3.2
//!
//! Called when a path is found, with the issuer that the path led to; what is not that issuer's word, or its delegate's,
//! counts for nothing. It asks no responder and reads no clock. Next: [`response`] for the form, [`crate::verifier`] for
//! when a response is wanted.

mod response;

use std::time::Duration;

use pki_types::{SignatureVerificationAlgorithm, TrustAnchor, UnixTime};
use tercel_crypto::{Hash, HashAlgorithm, PublicKey, sha1_name};
use webpki::{EndEntityCert, KeyUsage, VerifiedPath};

use crate::algorithms::CertificateAlgorithm;
use crate::certificate::Certificate;
use crate::der::{self, Malformed, Reader};
use crate::refusal::RefusalReason;
use crate::roots::sequence;
use response::{BasicResponse, CertificateId, Responder, Response, SingleResponse, Status};

/// What is made of stapled OCSP responses. RFC 6066 8
///
/// A leaf that demands one ("must-staple", RFC 7633) is refused without a good one whatever the policy, if one was asked
/// for. Responses are about the leaf; those that TLS 1.3 lets a peer send for authorities are not looked at, because
/// authorities are revoked by list. A pinned leaf rests on no authority, so none is heard about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OcspPolicy {
    /// They are passed on unread, unless the leaf demands one. A thief of a key would staple none, and some servers
    /// staple what has expired: checking by chance protects few and breaks some.
    #[default]
    Ignore,
    /// One that is there must be good.
    CheckIfPresent,
    /// There must be a good one; also if none was asked for.
    Require,
}

/// The algorithms that responses and delegates may be signed with: as they are, and as path building wants them.
#[derive(Clone, Copy)]
pub(crate) struct Algorithms<'v> {
    pub(crate) own: &'v [&'static CertificateAlgorithm],
    pub(crate) for_path_building: &'v [&'static dyn SignatureVerificationAlgorithm],
}

/// Who issued the leaf: the next certificate of its path, or the anchor.
pub(crate) struct Issuer<'p> {
    /// Name, the content of its SEQUENCE.
    subject: &'p [u8],
    /// The whole SubjectPublicKeyInfo.
    key: Vec<u8>,
}

impl<'p> Issuer<'p> {
    pub(crate) fn of(path: &'p VerifiedPath<'p>) -> Self {
        match path.intermediate_certificates().next() {
            Some(issuer) => Self {
                subject: issuer.subject(),
                key: issuer.subject_public_key_info().as_ref().to_vec(),
            },
            None => {
                let anchor = path.anchor();
                let key = sequence(&anchor.subject_public_key_info);
                Self { subject: &anchor.subject, key }
            }
        }
    }
}

/// Refuses the leaf unless the response says that it is good. RFC 6960 3.2
pub(crate) fn check(
    response: &[u8],
    leaf: &Certificate<'_>,
    issuer: &Issuer<'_>,
    algorithms: Algorithms<'_>,
    now: UnixTime,
) -> Result<(), RefusalReason> {
    let malformed = |Malformed| RefusalReason::StapleMalformed;
    let Response::Basic(basic) = Response::parse(response).map_err(malformed)? else {
        return Err(RefusalReason::StapleUnsuccessful);
    };
    if !is_signed_by_issuer(&basic, issuer, algorithms)
        && !is_signed_by_delegate(&basic, issuer, algorithms, now)
    {
        return Err(RefusalReason::StapleUntrusted);
    }
    let mut verdict = Err(RefusalReason::StapleForAnother);
    for single in basic.responses() {
        if !is_about(&single.certificate, leaf, issuer).map_err(malformed)? {
            continue;
        }
        match judge(&single, now) {
            // Nothing takes that back, not even its age.
            Err(RefusalReason::Revoked) => return Err(RefusalReason::Revoked),
            better if verdict.is_err() => verdict = better,
            _ => {}
        }
    }
    verdict
}

/// What one statement about the leaf comes to.
fn judge(single: &SingleResponse<'_>, now: UnixTime) -> Result<(), RefusalReason> {
    if single.status == Status::Revoked {
        return Err(RefusalReason::Revoked);
    }
    let later = |moment: UnixTime, by: Duration| {
        UnixTime::since_unix_epoch(Duration::from_secs(moment.as_secs()).saturating_add(by))
    };
    let this_update = single.this_update;
    if this_update > later(now, SKEW) {
        return Err(RefusalReason::StapleNotYetValid { this_update });
    }
    // Without a next update newer words can be had at any time, so these do not hold for long. RFC 6960 2.4
    let next_update = single.next_update.unwrap_or_else(|| later(this_update, WITHOUT_NEXT_UPDATE));
    if later(next_update, SKEW) < now || next_update < this_update {
        return Err(RefusalReason::StapleExpired { next_update });
    }
    match single.status {
        Status::Good => Ok(()),
        Status::Revoked => Err(RefusalReason::Revoked),
        Status::Unknown => Err(RefusalReason::StapleUnknownStatus),
    }
}

/// Whether this names the leaf. RFC 6960 4.1.1
fn is_about(
    id: &CertificateId<'_>,
    leaf: &Certificate<'_>,
    issuer: &Issuer<'_>,
) -> Result<bool, Malformed> {
    if id.serial_number != leaf.serial_number {
        return Ok(false);
    }
    let name = sequence(issuer.subject);
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

/// The issuer speaks for itself. RFC 6960 4.2.2.2
fn is_signed_by_issuer(
    basic: &BasicResponse<'_>,
    issuer: &Issuer<'_>,
    algorithms: Algorithms<'_>,
) -> bool {
    is_responder(basic.responder, issuer.subject, &issuer.key)
        && is_signed_with(basic, &issuer.key, algorithms)
}

/// Someone speaks whom this very issuer has certified to speak of OCSP. Whether the delegate itself was revoked is not
/// asked: there would be no end to it. RFC 6960 4.2.2.2, 4.2.2.2.1
fn is_signed_by_delegate(
    basic: &BasicResponse<'_>,
    issuer: &Issuer<'_>,
    algorithms: Algorithms<'_>,
    now: UnixTime,
) -> bool {
    let Ok(issuer_key) = der::single(&issuer.key, der::SEQUENCE) else { return false };
    let anchor = [TrustAnchor {
        subject: issuer.subject.into(),
        subject_public_key_info: issuer_key.into(),
        name_constraints: None,
    }];
    basic.certificates().take(CERTIFICATES).any(|certificate| {
        let Ok(parsed) = Certificate::parse(&certificate) else { return false };
        let key = parsed.subject_public_key_info;
        if !is_responder(basic.responder, parsed.subject, key) || parsed.may_sign() != Ok(true) {
            return false;
        }
        let Ok(delegate) = EndEntityCert::try_from(&certificate) else { return false };
        let usage = KeyUsage::required(OCSP_SIGNING);
        let supported = algorithms.for_path_building;
        delegate.verify_for_usage(supported, &anchor, &[], now, usage, None, None).is_ok()
            && is_signed_with(basic, key, algorithms)
    })
}

/// Whether the one with this name and key is the one who says to have signed. RFC 6960 4.2.2.3
fn is_responder(responder: Responder<'_>, subject: &[u8], key: &[u8]) -> bool {
    match responder {
        Responder::Name(name) => name == subject,
        Responder::Key(digest) => key_bits(key).is_ok_and(|bits| sha1_name(bits) == *digest),
    }
}

fn is_signed_with(basic: &BasicResponse<'_>, key: &[u8], algorithms: Algorithms<'_>) -> bool {
    let Ok(key) = PublicKey::from_spki(key) else { return false };
    algorithms.own.iter().any(|algorithm| {
        algorithm.key() == key.kind()
            && algorithm.signature_alg_id().as_ref() == basic.signature_algorithm
            && key.verify(algorithm.algorithm(), basic.signed, basic.signature).is_ok()
    })
}

/// The bits of the key in a SubjectPublicKeyInfo, which are what is digested. RFC 6960 4.1.1
fn key_bits(subject_public_key_info: &[u8]) -> Result<&[u8], Malformed> {
    let mut fields = Reader::new(der::single(subject_public_key_info, der::SEQUENCE)?);
    fields.expect(der::SEQUENCE)?;
    let bits = fields.expect(der::BIT_STRING)?;
    fields.finish()?;
    bits.split_first().map(|(_unused_bits, bits)| bits).ok_or(Malformed)
}

/// By so much a responder's clock and ours may differ.
const SKEW: Duration = Duration::from_secs(5 * 60);

/// For so long a response without a next update is believed.
const WITHOUT_NEXT_UPDATE: Duration = Duration::from_secs(24 * 3600);

/// So many of the certificates sent along are looked at; one is enough for anybody.
const CERTIFICATES: usize = 4;

/// id-kp-OCSPSigning, 1.3.6.1.5.5.7.3.9
const OCSP_SIGNING: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x09];

/// id-sha1, 1.3.14.3.2.26
const SHA1: &[u8] = &[0x2b, 0x0e, 0x03, 0x02, 0x1a];
/// id-sha256, 2.16.840.1.101.3.4.2.1
const SHA256: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01];
/// id-sha384, 2.16.840.1.101.3.4.2.2
const SHA384: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x02];
/// id-sha512, 2.16.840.1.101.3.4.2.3
const SHA512: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x03];
