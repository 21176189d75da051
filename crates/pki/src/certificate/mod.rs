//! The fields of one certificate, borrowed: its key, validity and names, and a summary to print.
//!
//! Nothing here establishes trust; see [`crate::verifier`]. Text for people is made in [`names`]
//! and [`summary`].

mod extensions;
mod identifiers;
mod key_identifiers;
mod names;
mod server_names;
mod spiffe;
mod summary;
mod unsupported;

use pki_types::{CertificateDer, SignatureVerificationAlgorithm, UnixTime};
use tercel_crypto::{CryptoError, Hash, KeyKind, PublicKey, SignatureAlgorithm};

use crate::algorithms::{self, CertificateAlgorithm};
use crate::der::{self, Malformed, Reader};
use crate::reason::RefusalReason;
use crate::time;

pub(crate) use extensions::{PathCertificate, boolean, extension, read_key, unsigned, whole_bytes};
pub(crate) use key_identifiers::{KeyFit, authority_key};
pub(crate) use names::{escape_untrusted, string};
pub(crate) use server_names::is_general_name;
use spiffe::is_spiffe_id;
pub use summary::CertificateSummary;

/// The public key of the leaf, which is the first certificate of a chain. It verifies the signature
/// of the handshake.
///
/// This function does not verify the chain, so the key is not trusted yet. A malformed key, a key
/// of an unsupported kind, and a key whose certificate does not allow it to sign
/// ([`RefusalReason::KeyMayNotSign`]) are errors.
pub fn end_entity_public_key(chain: &[CertificateDer<'_>]) -> Result<PublicKey, RefusalReason> {
    let leaf = leaf_of(chain)?;
    // Every supported key exchange is signed, in both versions. RFC 9846 4.5.1, RFC 5246 7.4.2
    if !leaf.may_sign().map_err(bad_encoding)? {
        return Err(RefusalReason::KeyMayNotSign);
    }
    leaf.public_key(PublicKey::from_spki)
}

/// As [`end_entity_public_key`], and accepts old RSA keys: from 1024 bits, and those of a
/// certificate whose keyUsage does not allow signatures, which was made for RSA key exchange.
pub fn legacy_end_entity_public_key(
    chain: &[CertificateDer<'_>],
) -> Result<PublicKey, RefusalReason> {
    let leaf = leaf_of(chain)?;
    let key = leaf.public_key(PublicKey::from_legacy_spki)?;
    if key.kind() == KeyKind::Rsa || leaf.may_sign().map_err(bad_encoding)? {
        Ok(key)
    } else {
        Err(RefusalReason::KeyMayNotSign)
    }
}

fn leaf_of<'a>(chain: &'a [CertificateDer<'_>]) -> Result<Certificate<'a>, RefusalReason> {
    Certificate::parse_or_refuse(chain.first().ok_or(RefusalReason::EmptyChain)?)
}

/// The whole SubjectPublicKeyInfo of a certificate, as DER.
pub fn subject_public_key_info<'a>(
    certificate: &'a CertificateDer<'_>,
) -> Result<&'a [u8], RefusalReason> {
    Ok(Certificate::parse_or_refuse(certificate)?.subject_public_key_info)
}

/// The last moment at which a certificate is valid.
pub fn not_after(certificate: &CertificateDer<'_>) -> Result<UnixTime, RefusalReason> {
    Ok(Certificate::parse_or_refuse(certificate)?.not_after)
}

/// Whether the validity of a certificate is malformed, to explain why the certificate cannot be
/// parsed. RFC 5280 4.1.2.5
#[must_use]
pub fn has_malformed_validity(certificate: &CertificateDer<'_>) -> bool {
    let dates = |validity| {
        let mut validity = Reader::new(validity);
        time::from_der(validity.element()?)?;
        time::from_der(validity.element()?)?;
        validity.finish()
    };
    let validity = from_validity(certificate).and_then(|mut fields| fields.expect(der::SEQUENCE));
    validity.is_ok_and(|validity| dates(validity).is_err())
}

/// The DNS names for which a certificate is valid, wildcards included, as text.
pub fn dns_names(certificate: &CertificateDer<'_>) -> Result<Vec<String>, RefusalReason> {
    Ok(Certificate::parse_or_refuse(certificate)?.dns_names())
}

/// The SPIFFE ID in a certificate, such as `spiffe://example.org/ns/shop/sa/cart`: its only URI,
/// if that is a well-formed SPIFFE ID with a path. `None` for the certificate of an authority,
/// which authenticates nothing: with the CA bit, keyCertSign or cRLSign. X.509-SVID 2, 5.2,
/// SPIFFE-ID 2
///
/// The result identifies a peer only if the certificate's chain was verified, with the authorities
/// of this trust domain.
///
/// ```
/// use tercel_pki::{RefusalReason, spiffe_id};
///
/// fn is_billing(leaf: &pki_types::CertificateDer<'_>) -> Result<bool, RefusalReason> {
///     Ok(spiffe_id(leaf)?.as_deref() == Some("spiffe://example.org/billing"))
/// }
/// ```
pub fn spiffe_id(certificate: &CertificateDer<'_>) -> Result<Option<String>, RefusalReason> {
    let parsed = Certificate::parse_or_refuse(certificate)?;
    if parsed.is_signing_certificate().map_err(bad_encoding)? {
        return Ok(None);
    }
    let Ok([uri]) = <[String; 1]>::try_from(uri_names(certificate)?) else { return Ok(None) };
    Ok(is_spiffe_id(&uri).then_some(uri))
}

/// The URIs in a certificate's subjectAltName. For a SPIFFE ID see [`spiffe_id`]. RFC 5280 4.2.1.6
///
/// The text is not escaped. A name that contains anything except visible ASCII characters is an
/// error.
pub fn uri_names(certificate: &CertificateDer<'_>) -> Result<Vec<String>, RefusalReason> {
    Certificate::parse_or_refuse(certificate)?.uri_names().map_err(bad_encoding)
}

/// The e-mail addresses (rfc822Name) in a certificate's subjectAltName. RFC 5280 4.2.1.6
///
/// The text is not escaped. A name that contains anything except visible ASCII characters is an
/// error.
pub fn email_names(certificate: &CertificateDer<'_>) -> Result<Vec<String>, RefusalReason> {
    Certificate::parse_or_refuse(certificate)?.email_names().map_err(bad_encoding)
}

/// The channel binding `tls-server-end-point` of a server's certificate: a digest of the
/// certificate with the hash of its signature algorithm, or with SHA-256 in place of MD5 and
/// SHA-1. RFC 5929 4.1
///
/// `None` if the algorithm is unknown or has no hash of its own (Ed25519, ML-DSA): the binding is
/// undefined then.
pub fn tls_server_end_point(
    certificate: &CertificateDer<'_>,
) -> Result<Option<Vec<u8>>, RefusalReason> {
    let parsed = Certificate::parse_or_refuse(certificate)?;
    let hash = identifiers::signature_hash(parsed.signature_algorithm);
    Ok(hash.map(|hash| Hash::digest(hash, &[certificate.as_ref()]).to_vec()))
}

/// The set of names in a certificate's subjectAltName: for each, the tag of its GeneralName and
/// the content. The set is sorted without duplicates, with DNS names in lower case, and is
/// therefore equal for two certificates that are valid for the same names. RFC 5280 4.2.1.6
pub fn subject_names(
    certificate: &CertificateDer<'_>,
) -> Result<Vec<(u8, Vec<u8>)>, RefusalReason> {
    Ok(Certificate::parse_or_refuse(certificate)?.subject_names())
}

/// The most specific commonName of the subject. `None` if there is none, or if it contains control
/// characters.
///
/// The commonName can identify a client, if the authority puts the client's identity there; it
/// never identifies a server. Constraints on DNS names apply to the commonName of a client's
/// certificate if that has no DNS name, and the commonName has the form of one. Programs that
/// decide by it need [`constrained_common_name`]. RFC 5280 4.1.2.6
pub fn common_name(certificate: &CertificateDer<'_>) -> Result<Option<String>, RefusalReason> {
    names::common_name(Certificate::parse_or_refuse(certificate)?.subject).map_err(bad_encoding)
}

/// The commonName as [`common_name`], for programs that decide by it: `None` also if it may be read
/// as the name or the address of a host and constraints do not see it. So an authority that is
/// limited to one domain or network cannot name hosts of another one here. RFC 5280 4.1.2.6,
/// 4.2.1.10
///
/// Constraints see a commonName that is also a DNS name of the certificate, or, if the certificate
/// has no DNS name, one that has the form of a DNS name (without a final dot and a wildcard). They
/// are checked when the chain is verified, and only for the certificates of clients. Constraints
/// see an address only if it is also an iPAddress of the certificate.
///
/// ```
/// use tercel_pki::{RefusalReason, constrained_common_name};
///
/// fn is_admin(leaf: &pki_types::CertificateDer<'_>) -> Result<bool, RefusalReason> {
///     Ok(constrained_common_name(leaf)?.as_deref() == Some("admin.a.example"))
/// }
/// ```
pub fn constrained_common_name(
    certificate: &CertificateDer<'_>,
) -> Result<Option<String>, RefusalReason> {
    let parsed = Certificate::parse_or_refuse(certificate)?;
    let name = names::common_name(parsed.subject).map_err(bad_encoding)?;
    let hosts = parsed.dns_names();
    let is_seen = |name: &str| match &hosts[..] {
        [] => names::has_form_of_dns_name(name),
        hosts => hosts.iter().any(|host| host.eq_ignore_ascii_case(name)),
    };
    let is_constrained = |name: &String| match names::may_be_address(name) {
        Some(address) => parsed.ip_addresses().contains(&address),
        None => is_seen(name) || !names::may_name_host(name),
    };
    Ok(name.filter(is_constrained))
}

/// Whether a certificate may certify others: its basicConstraints and, where present, its keyUsage
/// allow this. A self-issued certificate of version 1, without extensions, may, as an old root.
/// RFC 5280 4.2.1.3, 4.2.1.9
pub fn is_authority(certificate: &CertificateDer<'_>) -> Result<bool, RefusalReason> {
    Certificate::parse_or_refuse(certificate)?.is_authority().map_err(bad_encoding)
}

/// Whether the extended key usage of a certificate, where present, allows this use.
/// anyExtendedKeyUsage allows all. RFC 5280 4.2.1.12
pub fn allows_usage(certificate: &CertificateDer<'_>, usage: Usage) -> Result<bool, RefusalReason> {
    let purposes = Certificate::parse_or_refuse(certificate)?.key_purposes();
    Ok(purposes.map_err(bad_encoding)?.allow(usage))
}

/// The issuer's name as DER, tag and length included.
pub fn issuer(certificate: &CertificateDer<'_>) -> Result<Vec<u8>, RefusalReason> {
    Ok(der::sequence(Certificate::parse_or_refuse(certificate)?.issuer))
}

/// The signature algorithms of a chain's certificates, in order; `None` for a certificate that
/// cannot be parsed or whose algorithm is no [`CertificateAlgorithm`]. Self-signed certificates
/// are left out, because their signatures are not verified.
#[must_use]
pub fn signature_algorithms(chain: &[CertificateDer<'_>]) -> Vec<Option<SignatureAlgorithm>> {
    let parsed = chain.iter().map(|certificate| Certificate::parse(certificate).ok());
    parsed
        .filter(|parsed| parsed.is_none_or(|parsed| parsed.subject != parsed.issuer))
        .map(|parsed| {
            let signed = algorithms::with_null_parameters(parsed?.signature_algorithm);
            let known = CertificateAlgorithm::ALL
                .iter()
                .find(|known| known.signature_alg_id().as_ref() == signed);
            known.map(|known| known.algorithm())
        })
        .collect()
}

/// The parsed fields of a certificate. RFC 5280 4.1
#[derive(Clone, Copy, Debug)]
pub(crate) struct Certificate<'a> {
    /// The content of the INTEGER.
    pub(crate) serial_number: &'a [u8],
    /// The content of the SEQUENCE of an AlgorithmIdentifier.
    pub(crate) signature_algorithm: &'a [u8],
    /// The content of the SEQUENCE of a Name.
    pub(crate) issuer: &'a [u8],
    pub(crate) not_before: UnixTime,
    pub(crate) not_after: UnixTime,
    /// The content of the SEQUENCE of a Name.
    pub(crate) subject: &'a [u8],
    /// The whole SubjectPublicKeyInfo, tag and length included.
    pub(crate) subject_public_key_info: &'a [u8],
    /// The content of the SEQUENCE OF Extension; empty when there are none.
    extensions: &'a [u8],
    /// 1 to 3, or 0 if the version is none of them.
    version: u8,
    /// The whole TBSCertificate, tag and length included: the signed bytes.
    pub(crate) signed: &'a [u8],
    /// The content of the BIT STRING of the signature.
    signature: &'a [u8],
    /// The signature algorithm outside of the signed bytes, as `signature_algorithm`.
    pub(crate) outer_signature_algorithm: &'a [u8],
}

impl<'a> Certificate<'a> {
    /// As [`Self::parse`], with the reason to refuse a malformed certificate.
    pub(crate) fn parse_or_refuse(
        certificate: &'a CertificateDer<'_>,
    ) -> Result<Self, RefusalReason> {
        Self::parse(certificate).map_err(bad_encoding)
    }

    pub(crate) fn parse(certificate: &'a CertificateDer<'_>) -> Result<Self, Malformed> {
        let mut outer = Reader::new(der::single(certificate.as_ref(), der::SEQUENCE)?);
        let signed = outer.element()?;
        if signed.tag != der::SEQUENCE {
            return Err(Malformed);
        }
        let mut fields = Reader::new(signed.content);
        let outer_signature_algorithm = outer.expect(der::SEQUENCE)?;
        let signature = outer.expect(der::BIT_STRING)?;
        outer.finish()?;

        // RFC 5280 4.1.2.1: the number is one less than the version, and the default is not
        // encoded.
        let version = match fields.optional(der::context_constructed(0))? {
            None => 1,
            Some(version) => match der::single(version, der::INTEGER)? {
                [1] => 2,
                [2] => 3,
                _ => 0,
            },
        };
        let serial_number = fields.integer()?;
        let signature_algorithm = fields.expect(der::SEQUENCE)?;
        let issuer = fields.expect(der::SEQUENCE)?;
        let mut validity = Reader::new(fields.expect(der::SEQUENCE)?);
        let not_before = time::from_der(validity.element()?)?;
        let not_after = time::from_der(validity.element()?)?;
        validity.finish()?;
        let subject = fields.expect(der::SEQUENCE)?;
        let key = fields.element()?;
        if key.tag != der::SEQUENCE {
            return Err(Malformed);
        }
        fields.optional(der::context(1))?; // issuerUniqueID
        fields.optional(der::context(2))?; // subjectUniqueID
        let extensions = match fields.optional(der::context_constructed(3))? {
            Some(explicit) => der::single(explicit, der::SEQUENCE)?,
            None => &[],
        };
        fields.finish()?;

        Ok(Self {
            serial_number,
            signature_algorithm,
            issuer,
            not_before,
            not_after,
            subject,
            subject_public_key_info: key.whole,
            extensions,
            version,
            signed: signed.whole,
            signature,
            outer_signature_algorithm,
        })
    }

    /// The names of the subjectAltName extension that identify a TLS peer: DNS names and IP
    /// addresses, as text.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names = self.dns_names();
        names.extend(self.ip_addresses().iter().map(ToString::to_string));
        names
    }

    /// The subject as text. RFC 4514
    pub(crate) fn subject_text(&self) -> String {
        names::distinguished_name(self.subject)
    }

    /// The issuer as text. RFC 4514
    pub(crate) fn issuer_text(&self) -> String {
        names::distinguished_name(self.issuer)
    }

    /// Whether the keyUsage extension is absent or has digitalSignature, its first bit.
    /// RFC 5280 4.2.1.3
    pub(crate) fn may_sign(&self) -> Result<bool, Malformed> {
        self.allows_usage(0x80)
    }

    /// The key, read by one of the functions of [`PublicKey`].
    fn public_key(
        &self,
        read: fn(&[u8]) -> Result<PublicKey, CryptoError>,
    ) -> Result<PublicKey, RefusalReason> {
        read(self.subject_public_key_info).map_err(|error| match error {
            CryptoError::Unsupported => RefusalReason::UnsupportedKey,
            _ if has_other_algorithm(self.subject_public_key_info) => RefusalReason::UnsupportedKey,
            _ => RefusalReason::InvalidKey,
        })
    }

    /// Whether the keyUsage extension is absent or has keyCertSign. RFC 5280 4.2.1.3
    pub(crate) fn may_certify(&self) -> Result<bool, Malformed> {
        self.allows_usage(KEY_CERT_SIGN)
    }

    /// Whether the certificate has the CA bit, keyCertSign or cRLSign. X.509-SVID 5.2
    fn is_signing_certificate(&self) -> Result<bool, Malformed> {
        let is_ca = self.basic_constraints()?.0;
        let usages = self.extension(KEY_USAGE)?.map(read_key_usage).transpose()?;
        Ok(is_ca || usages.is_some_and(|[first, _]| first & (KEY_CERT_SIGN | CRL_SIGN) != 0))
    }

    fn is_authority(&self) -> Result<bool, Malformed> {
        Ok(self.basic_constraints()?.0 && self.may_certify()?)
    }

    /// Whether the certificate is a CA certificate, and its pathLenConstraint. A self-issued
    /// certificate of version 1, which has no extensions, counts as one. RFC 5280 4.2.1.9
    pub(crate) fn basic_constraints(&self) -> Result<(bool, Option<usize>), Malformed> {
        let Some(value) = self.extension(BASIC_CONSTRAINTS)? else {
            // Any certificate of version 1 may be a server's; only an old root is self-issued.
            return Ok((self.version == 1 && self.subject == self.issuer, None));
        };
        read_basic_constraints(value)
    }

    /// The purposes in the extendedKeyUsage extension. RFC 5280 4.2.1.12
    pub(crate) fn key_purposes(&self) -> Result<KeyPurposes, Malformed> {
        let Some(value) = self.extension(EXTENDED_KEY_USAGE)? else {
            return Ok(KeyPurposes::default());
        };
        read_key_purposes(value)
    }

    /// Whether the keyUsage extension is absent or has this bit of its first byte.
    fn allows_usage(&self, bit: u8) -> Result<bool, Malformed> {
        let Some(value) = self.extension(KEY_USAGE)? else {
            return Ok(true);
        };
        Ok(read_key_usage(value)?[0] & bit != 0)
    }

    /// Whether the key is not an EC key, or names its curve. Explicit parameters are prohibited:
    /// the curve may be an altered one. RFC 5480 2.1.1
    pub(crate) fn has_named_curve(&self) -> Result<bool, Malformed> {
        let mut key = Reader::new(der::single(self.subject_public_key_info, der::SEQUENCE)?);
        let mut algorithm = Reader::new(key.expect(der::SEQUENCE)?);
        if algorithm.expect(der::OBJECT_IDENTIFIER)? != EC_PUBLIC_KEY {
            return Ok(true);
        }
        Ok(algorithm.element()?.tag == der::OBJECT_IDENTIFIER)
    }

    /// Whether the TLS feature extension requires a stapled OCSP response ("must-staple").
    /// RFC 7633 4.1, 4.2.2
    pub(crate) fn must_staple(&self) -> Result<bool, Malformed> {
        let Some(value) = self.extension(TLS_FEATURE)? else {
            return Ok(false);
        };
        let mut features = Reader::new(der::single(value, der::SEQUENCE)?);
        let mut required = false;
        while !features.is_empty() {
            required |= features.expect(der::INTEGER)? == STATUS_REQUEST;
        }
        Ok(required)
    }

    /// Whether the keyUsage extension is absent or has cRLSign. RFC 5280 4.2.1.3
    pub(crate) fn may_sign_lists(&self) -> Result<bool, Malformed> {
        self.allows_usage(CRL_SIGN)
    }

    /// The bits of the signature.
    pub(crate) fn signature_bits(&self) -> Result<&'a [u8], Malformed> {
        whole_bytes(self.signature)
    }

    /// Checks what path building reads of a certificate, before it becomes a trust anchor.
    pub(crate) fn check_form(&self) -> Result<(), RefusalReason> {
        match PathCertificate::of(*self) {
            Ok(_) | Err(RefusalReason::UnsupportedCriticalExtension) => Ok(()),
            Err(reason) => Err(reason),
        }
    }

    /// The value of the extension with this OID, if present.
    fn extension(&self, oid: &[u8]) -> Result<Option<&'a [u8]>, Malformed> {
        let mut extensions = Reader::new(self.extensions);
        while !extensions.is_empty() {
            let mut extension = Reader::new(extensions.expect(der::SEQUENCE)?);
            let this = extension.expect(der::OBJECT_IDENTIFIER)?;
            extension.optional(der::BOOLEAN)?; // critical
            let value = extension.expect(der::OCTET_STRING)?;
            if this == oid {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }
}

/// Whether a basicConstraints extension has the CA bit, and its pathLenConstraint. RFC 5280 4.2.1.9
fn read_basic_constraints(value: &[u8]) -> Result<(bool, Option<usize>), Malformed> {
    let mut constraints = Reader::new(der::single(value, der::SEQUENCE)?);
    let is_ca = constraints.optional(der::BOOLEAN)?.map_or(Ok(false), boolean)?;
    let path_length = constraints.optional(der::INTEGER)?.map(unsigned).transpose()?;
    constraints.finish()?;
    Ok((is_ca, path_length))
}

/// The purposes in an extendedKeyUsage extension, which lists at least one. RFC 5280 4.2.1.12
fn read_key_purposes(value: &[u8]) -> Result<KeyPurposes, Malformed> {
    let mut listed = Reader::new(der::single(value, der::SEQUENCE)?);
    if listed.is_empty() {
        return Err(Malformed);
    }
    let mut purposes = KeyPurposes::NONE;
    while !listed.is_empty() {
        match listed.expect(der::OBJECT_IDENTIFIER)? {
            SERVER_AUTH => purposes.server = true,
            CLIENT_AUTH => purposes.client = true,
            OCSP_SIGNING => purposes.ocsp = true,
            ANY_PURPOSE => purposes.any = true,
            _ => {}
        }
    }
    Ok(purposes)
}

/// The bits of a keyUsage extension. RFC 5280 4.2.1.3
fn read_key_usage(value: &[u8]) -> Result<[u8; 2], Malformed> {
    // Unused bits have no meaning. X.690 11.2.1
    match *der::single(value, der::BIT_STRING)? {
        [unused @ 0..=7, last] => Ok([last >> unused << unused, 0]),
        [unused @ 0..=7, first, last] => Ok([first, last >> unused << unused]),
        [0..=7, first, second, ..] => Ok([first, second]),
        [0] => Ok([0, 0]),
        _ => Err(Malformed),
    }
}

/// Whether a SubjectPublicKeyInfo names an algorithm or a curve that is not supported. RFC 5280
/// 4.1.2.7, RFC 5480 2.1.1
fn has_other_algorithm(subject_public_key_info: &[u8]) -> bool {
    const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
    const ED25519: &[u8] = &[0x2b, 0x65, 0x70];
    const CURVES: [&[u8]; 3] = [
        &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07],
        &[0x2b, 0x81, 0x04, 0x00, 0x22],
        &[0x2b, 0x81, 0x04, 0x00, 0x23],
    ];
    let is_other = || {
        let mut key = Reader::new(der::single(subject_public_key_info, der::SEQUENCE)?);
        let mut algorithm = Reader::new(key.expect(der::SEQUENCE)?);
        Ok::<_, Malformed>(match algorithm.expect(der::OBJECT_IDENTIFIER)? {
            RSA | ED25519 => false,
            EC_PUBLIC_KEY => !CURVES.contains(&algorithm.expect(der::OBJECT_IDENTIFIER)?),
            _ => true,
        })
    };
    is_other().unwrap_or(false)
}

/// The fields from the validity on. RFC 5280 4.1
fn from_validity<'a>(certificate: &'a CertificateDer<'_>) -> Result<Reader<'a>, Malformed> {
    let mut outer = Reader::new(der::single(certificate.as_ref(), der::SEQUENCE)?);
    let mut fields = Reader::new(outer.expect(der::SEQUENCE)?);
    fields.optional(der::context_constructed(0))?; // version
    fields.expect(der::INTEGER)?;
    fields.expect(der::SEQUENCE)?; // signature
    fields.expect(der::SEQUENCE)?; // issuer
    Ok(fields)
}

/// The use of the leaf. The extended key usages of the leaf and of its issuers, where present, must
/// allow this use. RFC 5280 4.2.1.12
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// The leaf authenticates a server.
    Server,
    /// The leaf authenticates a client.
    Client,
}

/// The uses for which an extendedKeyUsage allows a key. The default, without the extension, allows
/// all. RFC 5280 4.2.1.12
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyPurposes {
    server: bool,
    client: bool,
    /// Whether the extension names the signing of OCSP responses. RFC 6960 4.2.2.2
    pub(crate) ocsp: bool,
    /// anyExtendedKeyUsage
    any: bool,
}

impl Default for KeyPurposes {
    fn default() -> Self {
        Self { server: true, client: true, ..Self::NONE }
    }
}

impl KeyPurposes {
    /// The purposes of an extension that names none.
    pub(crate) const NONE: Self = Self { server: false, client: false, ocsp: false, any: false };

    /// Whether the key may be used thus. This is the rule for trusted certificates.
    pub(crate) fn allow(self, usage: Usage) -> bool {
        self.any || self.name(usage)
    }

    /// As [`Self::allow`], but anyExtendedKeyUsage, which names no use, is not enough. This is the
    /// rule for a peer's certificates. RFC 5280 4.2.1.12 permits it.
    pub(crate) fn name(self, usage: Usage) -> bool {
        match usage {
            Usage::Server => self.server,
            Usage::Client => self.client,
        }
    }
}

pub(crate) fn bad_encoding(Malformed: Malformed) -> RefusalReason {
    RefusalReason::BadEncoding
}

/// id-ce-keyUsage, 2.5.29.15
const KEY_USAGE: &[u8] = &[0x55, 0x1d, 0x0f];

/// keyCertSign, the sixth bit of keyUsage.
const KEY_CERT_SIGN: u8 = 0x04;

/// cRLSign, the seventh bit of keyUsage.
const CRL_SIGN: u8 = 0x02;

/// id-ce-basicConstraints, 2.5.29.19
const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 0x13];

/// id-ecPublicKey, 1.2.840.10045.2.1
const EC_PUBLIC_KEY: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];

/// id-ce-extKeyUsage, 2.5.29.37
const EXTENDED_KEY_USAGE: &[u8] = &[0x55, 0x1d, 0x25];

/// anyExtendedKeyUsage, 2.5.29.37.0
const ANY_PURPOSE: &[u8] = &[0x55, 0x1d, 0x25, 0x00];

/// id-kp-serverAuth, 1.3.6.1.5.5.7.3.1
const SERVER_AUTH: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01];

/// id-kp-clientAuth, 1.3.6.1.5.5.7.3.2
const CLIENT_AUTH: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x02];

/// id-kp-OCSPSigning, 1.3.6.1.5.5.7.3.9
const OCSP_SIGNING: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x09];

/// id-pe-tlsfeature, 1.3.6.1.5.5.7.1.24
const TLS_FEATURE: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x01, 0x18];

/// The number of the TLS extension status_request, as an INTEGER. RFC 6066 1.1
const STATUS_REQUEST: &[u8] = &[5];

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 5280 4.2.1.3, 4.2.1.9
    #[test]
    fn only_an_authority_may_certify_others() {
        use rcgen::{BasicConstraints, IsCa, KeyUsagePurpose};
        let key = rcgen::KeyPair::generate().unwrap();
        let may = |is_ca, usages| {
            let mut params = rcgen::CertificateParams::new(vec!["a.example".to_owned()]).unwrap();
            (params.is_ca, params.key_usages) = (is_ca, usages);
            is_authority(params.self_signed(&key).unwrap().der()).unwrap()
        };
        assert!(!may(IsCa::NoCa, vec![]));
        assert!(!may(IsCa::ExplicitNoCa, vec![]));
        let authority = || IsCa::Ca(BasicConstraints::Unconstrained);
        assert!(may(authority(), vec![]));
        assert!(may(authority(), vec![KeyUsagePurpose::KeyCertSign]));
        assert!(!may(authority(), vec![KeyUsagePurpose::DigitalSignature]));
        assert!(may(IsCa::Ca(BasicConstraints::Constrained(0)), vec![]));
    }
}
