//! The restrictions of a trust anchor, which a certificate in a store states like any other
//! authority's certificate.
//!
//! They are read when the anchor is loaded, and checked for each path that leads to it. RFC 5280
//! 6.2

use std::fmt;
use std::time::Duration;

use pki_types::UnixTime;

use crate::certificate::{Certificate, KeyPurposes, Usage};
use crate::der::Malformed;
use crate::reason::RefusalReason;

/// The restrictions of one anchor. The default has none: the anchor was given without a
/// certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AnchorLimits {
    /// The first and the last moment of the validity. RFC 5280 4.1.2.5
    validity: Option<(UnixTime, UnixTime)>,
    /// The extended key usages. RFC 5280 4.2.1.12
    purposes: KeyPurposes,
    /// The pathLenConstraint. RFC 5280 4.2.1.9
    path_length: Option<usize>,
    /// Whether a keyUsage lacks cRLSign. RFC 5280 4.2.1.3
    may_not_sign_lists: bool,
}

impl AnchorLimits {
    /// The restrictions of what is no anchor: a path of no length ends there.
    pub(crate) const NOTHING: Self = Self {
        validity: Some((
            UnixTime::since_unix_epoch(Duration::ZERO),
            UnixTime::since_unix_epoch(Duration::ZERO),
        )),
        purposes: KeyPurposes::NONE,
        path_length: Some(0),
        may_not_sign_lists: true,
    };

    /// Reads the restrictions of an authority's certificate. The inner error is the reason why the
    /// certificate is no authority's.
    pub(crate) fn of(
        certificate: &Certificate<'_>,
    ) -> Result<Result<Self, NotAuthority>, Malformed> {
        let (is_ca, path_length) = certificate.basic_constraints()?;
        // RFC 5280 4.2.1.9: without the CA bit, the key must not verify certificates.
        if !is_ca {
            return Ok(Err(NotAuthority::EndEntity));
        }
        // RFC 5280 4.2.1.3
        if !certificate.may_certify()? {
            return Ok(Err(NotAuthority::NoKeyCertSign));
        }
        // RFC 5280 4.2
        if certificate.has_unknown_critical_extension() {
            return Ok(Err(NotAuthority::UnknownCriticalExtension));
        }
        let purposes = certificate.key_purposes()?;
        if !purposes.allow(Usage::Server) && !purposes.allow(Usage::Client) {
            return Ok(Err(NotAuthority::OtherPurpose));
        }
        if !certificate.has_named_curve()? {
            return Ok(Err(NotAuthority::ExplicitCurve));
        }
        let validity = Some((certificate.not_before, certificate.not_after));
        let may_not_sign_lists = !certificate.may_sign_lists()?;
        Ok(Ok(Self { validity, purposes, path_length, may_not_sign_lists }))
    }

    /// Whether a path of this use may end at the anchor. Without `now`, the validity is not
    /// checked.
    pub(crate) fn check(&self, usage: Usage, now: Option<UnixTime>) -> Result<(), RefusalReason> {
        if let (Some((not_before, not_after)), Some(now)) = (self.validity, now) {
            if now < not_before {
                return Err(RefusalReason::AuthorityNotYetValid { not_before });
            }
            if now > not_after {
                return Err(RefusalReason::AuthorityExpired { not_after });
            }
        }
        if !self.purposes.allow(usage) {
            return Err(RefusalReason::NotForThisUsage);
        }
        Ok(())
    }

    pub(crate) fn path_length(&self) -> Option<usize> {
        self.path_length
    }

    pub(crate) fn may_sign_lists(&self) -> bool {
        !self.may_not_sign_lists
    }

    /// An unambiguous encoding, for a digest of the anchors.
    pub(crate) fn encoded(&self) -> Vec<u8> {
        let Self { validity, purposes, path_length, may_not_sign_lists } = self;
        let bounds = validity.map(|(first, last)| [first.as_secs(), last.as_secs()]);
        let purposes = [Usage::Server, Usage::Client].map(|usage| purposes.allow(usage));
        format!("{bounds:?} {purposes:?} {path_length:?} {may_not_sign_lists}").into_bytes()
    }
}

/// The reason why a certificate is not an authority's, and therefore no trust anchor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotAuthority {
    /// Its basicConstraints are absent or state that it is no CA. RFC 5280 4.2.1.9
    EndEntity,
    /// Its keyUsage does not have keyCertSign. RFC 5280 4.2.1.3
    NoKeyCertSign,
    /// Its extendedKeyUsage allows neither servers nor clients. RFC 5280 4.2.1.12
    OtherPurpose,
    /// It has a critical extension that is unknown. RFC 5280 4.2
    UnknownCriticalExtension,
    /// Its key has explicit curve parameters, which are prohibited. RFC 5480 2.1.1
    ExplicitCurve,
}

impl fmt::Display for NotAuthority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EndEntity => "the certificate is a server's or client's, not an authority's",
            Self::NoKeyCertSign => "the key usage does not allow signing certificates",
            Self::OtherPurpose => "the extended key usage allows neither servers nor clients",
            Self::UnknownCriticalExtension => "a critical extension is unknown",
            Self::ExplicitCurve => "the key has explicit curve parameters, which are prohibited",
        })
    }
}

/// A certificate that was given as a trust anchor although it is not an authority's.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotAnAnchor {
    /// The subject, as in [`CertificateSummary`](crate::CertificateSummary).
    pub subject: String,
    /// The reason.
    pub reason: NotAuthority,
    /// Whether the certificate is trusted as itself, because the caller gave it. If not, it was
    /// left out of the system's store. See [`Roots::add_der`](crate::Roots::add_der).
    pub is_pinned: bool,
}

impl NotAnAnchor {
    /// The subject as it is shown.
    pub(crate) fn shown(&self) -> String {
        match self.subject.as_str() {
            "" => "(no subject)".to_owned(),
            subject => format!("\"{subject}\""),
        }
    }
}

impl fmt::Display for NotAnAnchor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject = self.shown();
        let result = if self.is_pinned { "trusted only as itself" } else { "left out" };
        write!(f, "{subject} is {result}: {}", self.reason)
    }
}
