//! What a PEM file contains, for people: what is used, what is skipped, and where it is wrong.

use std::fmt::Write as _;

use tercel_crypto::wipe;

use super::PemError;
use super::sections::divide;

/// What the sections of a PEM file are used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PemUse {
    /// All certificates, as by [`load_certs_pem`](super::load_certs_pem).
    Certificates,
    /// The first private key, as by [`load_key_pem`](super::load_key_pem).
    PrivateKey,
    /// All certificates, and the first private key.
    CertificatesAndKey,
    /// All public keys, as by [`load_public_keys_pem`](super::load_public_keys_pem).
    PublicKeys,
}

impl PemUse {
    /// Whether sections with this label are used.
    pub(super) fn is_of(self, label: &str) -> bool {
        // The second label is that of SSLeay.
        let is_certificate = matches!(label, "CERTIFICATE" | "X509 CERTIFICATE");
        let is_key = matches!(label, "PRIVATE KEY" | "RSA PRIVATE KEY" | "EC PRIVATE KEY");
        match self {
            Self::Certificates => is_certificate,
            Self::PrivateKey => is_key,
            Self::CertificatesAndKey => is_certificate || is_key,
            Self::PublicKeys => label == "PUBLIC KEY",
        }
    }
}

/// The label of a section and its line.
type Section = (String, usize);

/// The sections of a PEM file, and the place where it is malformed. Nothing is decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PemContents {
    sections: Vec<Section>,
    problem: Option<(usize, PemError)>,
}

impl PemContents {
    /// Finds the sections of a file.
    #[must_use]
    pub fn new(pem: &[u8]) -> Self {
        let (sections, malformed) = divide(pem);
        let malformed = malformed.first().copied();
        let wrong = sections.iter().find_map(|section| {
            match section.decode() {
                // The section may be a private key.
                Ok(mut der) => {
                    wipe(&mut der);
                    None
                }
                Err(error) => Some((section.line(), error)),
            }
        });
        let problem = wrong.into_iter().chain(malformed).min_by_key(|(line, _)| *line);
        let of = |section: &super::PemSection<'_>| (section.label().to_owned(), section.line());
        Self { sections: sections.iter().map(of).collect(), problem }
    }

    /// The first line at which the file is malformed, from 1, and the reason.
    #[must_use]
    pub fn problem(&self) -> Option<(usize, PemError)> {
        self.problem
    }

    /// The number of sections that are skipped if the file is used for `purpose`.
    #[must_use]
    pub fn skipped(&self, purpose: PemUse) -> usize {
        self.divided(purpose).1.len()
    }

    /// What the file contains, such as `2 CERTIFICATE; skipped: X509 CRL (line 31)`.
    #[must_use]
    pub fn describe(&self, purpose: PemUse) -> String {
        let (used, skipped) = self.divided(purpose);
        let mut labels: Vec<&str> = Vec::new();
        let mut text = String::new();
        for (label, _) in &used {
            if labels.contains(&label.as_str()) {
                continue;
            }
            labels.push(label);
            let count = used.iter().filter(|(other, _)| other == label).count();
            let comma = if text.is_empty() { "" } else { ", " };
            // Writing to a String cannot fail.
            let _ = write!(text, "{comma}{count} {label}");
        }
        if text.is_empty() {
            text.push_str("nothing that is used");
        }
        for (index, (label, line)) in skipped.iter().take(MAX_SKIPPED).enumerate() {
            let comma = if index == 0 { "; skipped: " } else { ", " };
            let _ = write!(text, "{comma}{label} (line {line})");
        }
        if let Some(more @ 1..) = skipped.len().checked_sub(MAX_SKIPPED) {
            let _ = write!(text, " and {more} more");
        }
        text
    }

    /// The sections that are used, and those that are skipped.
    fn divided(&self, purpose: PemUse) -> (Vec<&Section>, Vec<&Section>) {
        let mut has_key = false;
        self.sections.iter().partition(|(label, _)| {
            let is_key = PemUse::PrivateKey.is_of(label);
            let is_used = purpose.is_of(label) && !(is_key && has_key);
            has_key |= is_key;
            is_used
        })
    }
}

/// The maximum number of skipped sections that are named.
const MAX_SKIPPED: usize = 3;
