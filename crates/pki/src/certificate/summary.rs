//! A summary of a certificate as text: for `tercel connect`, logs and error reports.
//!
//! A summary implies no trust: any certificate that can be parsed has one.

use std::fmt::{self, Write as _};
use std::net::IpAddr;

use pki_types::{CertificateDer, UnixTime};

use super::Certificate;
use super::identifiers::{key_name, signature_name};
use super::names::distinguished_name;
use crate::reason::RefusalReason;
use crate::time::ReadableTime;

/// A summary of a certificate for people to read. Control characters in its texts are escaped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateSummary {
    /// The subject, as `CN=leaf,O=Example` (RFC 4514); empty if the certificate has none.
    pub subject: String,
    /// The issuer, in the form of `subject`.
    pub issuer: String,
    /// The serial number in hexadecimal.
    pub serial_number: String,
    /// The first moment of validity.
    pub not_before: UnixTime,
    /// The last moment of validity.
    pub not_after: UnixTime,
    /// The public key, as `RSA 2048` or `ECDSA P-256`.
    pub key: String,
    /// The issuer's signature algorithm, as `ECDSA with SHA-256`.
    pub signature_algorithm: String,
    /// The DNS names of the subjectAltName extension.
    pub dns_names: Vec<String>,
    /// The IP addresses of the subjectAltName extension.
    pub ip_addresses: Vec<IpAddr>,
    /// The URIs of the subjectAltName extension.
    pub uris: Vec<String>,
    /// The e-mail addresses of the subjectAltName extension.
    pub email_addresses: Vec<String>,
}

impl CertificateSummary {
    /// Parses a certificate. The only possible error is [`RefusalReason::BadEncoding`].
    pub fn new(certificate: &CertificateDer<'_>) -> Result<Self, RefusalReason> {
        let fields = Certificate::parse_or_refuse(certificate)?;
        let mut serial_number = String::new();
        for byte in fields.serial_number {
            // Writing to a String cannot fail.
            let _ = write!(serial_number, "{byte:02x}");
        }
        Ok(Self {
            subject: distinguished_name(fields.subject),
            issuer: distinguished_name(fields.issuer),
            serial_number,
            not_before: fields.not_before,
            not_after: fields.not_after,
            key: key_name(fields.subject_public_key_info),
            signature_algorithm: signature_name(fields.signature_algorithm),
            dns_names: fields.dns_names(),
            ip_addresses: fields.ip_addresses(),
            uris: fields.printable_uris(),
            email_addresses: fields.printable_email_addresses(),
        })
    }

    /// All names of the subjectAltName extension, as text: DNS names, IP addresses, URIs, e-mail
    /// addresses.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let addresses = self.ip_addresses.iter().map(ToString::to_string);
        let others = self.uris.iter().chain(&self.email_addresses);
        self.dns_names.iter().cloned().chain(addresses).chain(others.cloned()).collect()
    }
}

impl fmt::Display for CertificateSummary {
    /// Prints several lines, of which the first is the subject.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "subject  {}", self.subject)?;
        writeln!(f, "issuer   {}", self.issuer)?;
        let (from, until) = (ReadableTime(self.not_before), ReadableTime(self.not_after));
        writeln!(f, "valid    {from} to {until}")?;
        write!(f, "key      {}, signed {}", self.key, self.signature_algorithm)?;
        let names = self.names();
        if !names.is_empty() {
            write!(f, "\nnames    {}", names.join(", "))?;
        }
        Ok(())
    }
}
