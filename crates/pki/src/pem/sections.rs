//! Divides a PEM file into sections.

use std::fmt;

use pki_types::pem::PemObject;
use pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use tercel_crypto::wipe;

use super::PemError;

/// A section of a PEM file: its label, and its content, which is not decoded yet.
#[derive(Clone, Copy)]
pub struct PemSection<'a> {
    label: &'a str,
    line: usize,
    /// The lines between the begin and the end line.
    body: &'a [u8],
}

impl<'a> PemSection<'a> {
    /// The label, such as `CERTIFICATE`.
    #[must_use]
    pub fn label(&self) -> &'a str {
        self.label
    }

    /// The number of the begin line in the file, from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        self.line
    }

    /// The content. The time does not depend on the bytes of a private key.
    pub fn decode(&self) -> Result<Vec<u8>, PemError> {
        // The first line of an encrypted PKCS#1 or SEC1 key. RFC 1421 4.6.1.1
        if self.body.trim_ascii_start().starts_with(b"Proc-Type: 4,ENCRYPTED") {
            return Err(PemError::EncryptedKey);
        }
        let is_secret = self.label.contains("PRIVATE");
        let label = if is_secret { "PRIVATE KEY" } else { "CERTIFICATE" };
        let mut text = Vec::with_capacity(self.body.len().saturating_add(80));
        text.extend_from_slice(format!("-----BEGIN {label}-----\n").as_bytes());
        text.extend(self.body.iter().filter(|byte| !byte.is_ascii_whitespace()));
        text.extend_from_slice(format!("\n-----END {label}-----\n").as_bytes());
        let decoded = if is_secret {
            PrivatePkcs8KeyDer::from_pem_slice(&text).map(|key| key.secret_pkcs8_der().to_vec())
        } else {
            CertificateDer::from_pem_slice(&text).map(|certificate| certificate.to_vec())
        };
        wipe(&mut text);
        // The error quotes lines of the file, which may be a private key.
        decoded.map_err(|_| PemError::NotBase64)
    }
}

/// Omits the content, which may be a private key.
impl fmt::Debug for PemSection<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PemSection")
            .field("label", &self.label)
            .field("line", &self.line)
            .finish_non_exhaustive()
    }
}

/// The sections of a PEM file, in order. Text outside of sections is skipped, but a line that looks
/// like a begin or end line and is none is an error. RFC 7468 2
pub fn pem_sections(pem: &[u8]) -> Result<Vec<PemSection<'_>>, PemError> {
    let (sections, problems) = divide(pem);
    match problems.first() {
        None => Ok(sections),
        Some((_, error)) => Err(*error),
    }
}

/// The well-formed sections, and the problems with their lines.
pub(super) fn divide(pem: &[u8]) -> (Vec<PemSection<'_>>, Vec<(usize, PemError)>) {
    if is_utf16(pem) {
        return (Vec::new(), vec![(1, PemError::Utf16)]);
    }
    let (mut sections, mut problems) = (Vec::new(), Vec::new());
    // The section that has begun: its label, its line, and the position of its content.
    let mut open: Option<(&str, usize, usize)> = None;
    // Whether the next end line may belong to a section with a problem.
    let mut is_broken = false;
    for (line, start, text) in lines(pem) {
        let end = start.saturating_add(text.len());
        let boundary = match Boundary::of(text) {
            Ok(Some(boundary)) => boundary,
            Ok(None) => continue,
            Err(error) => {
                problems.push((line, error));
                (open, is_broken) = (None, true);
                continue;
            }
        };
        let (ended, begun) = match boundary {
            Boundary::Begin(label) => (None, Some(label)),
            Boundary::End(label, next) => (Some(label), next),
        };
        match (ended, open) {
            (Some(ended), Some((label, line, from))) if ended == label => {
                let body = pem.get(from..start).unwrap_or_default();
                sections.push(PemSection { label, line, body });
            }
            (_, Some((_, line, _))) => problems.push((line, PemError::NoEnd)),
            (Some(_), None) if !is_broken => problems.push((line, PemError::NoBegin)),
            (_, None) => {}
        }
        is_broken = false;
        open = begun.map(|label| (label, line, end));
    }
    problems.extend(open.map(|(_, line, _)| (line, PemError::NoEnd)));
    (sections, problems)
}

/// The lines with their numbers and positions, without surrounding whitespace and without a byte
/// order mark, which a file may have at its start, and where files were joined.
fn lines(pem: &[u8]) -> impl Iterator<Item = (usize, usize, &[u8])> {
    let mut number = 1_usize;
    let mut position = 0_usize;
    pem.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')).map(move |line| {
        let (this, start) = (number, position);
        position = position.saturating_add(line.len());
        // "\r\n" ends one line: its second half is an empty line with the same number.
        number = number.saturating_add(usize::from(line.ends_with(b"\n")));
        let mut text = line.trim_ascii_start();
        while let Some(rest) = text.strip_prefix(BYTE_ORDER_MARK) {
            text = rest.trim_ascii_start();
        }
        let skipped = line.len().saturating_sub(text.len());
        (this, start.saturating_add(skipped), text.trim_ascii_end())
    })
}

/// A begin or end line.
enum Boundary<'a> {
    Begin(&'a str),
    /// The label of the section that ends, and of another that begins on the same line.
    End(&'a str, Option<&'a str>),
}

impl<'a> Boundary<'a> {
    /// `None` if a line is neither, and does not look as if it was meant to be.
    fn of(text: &'a [u8]) -> Result<Option<Self>, PemError> {
        if !text.contains(&b'-') && !text.contains(&DASHES) {
            return Ok(None);
        }
        let boundary = match (text.strip_prefix(BEGIN), text.strip_prefix(END)) {
            (Some(rest), _) => {
                label(rest).filter(|(_, rest)| rest.is_empty()).map(|(label, _)| Self::Begin(label))
            }
            (_, Some(rest)) => label(rest).and_then(|(ended, rest)| {
                if rest.is_empty() {
                    return Some(Self::End(ended, None));
                }
                let (begun, rest) = label(rest.trim_ascii_start().strip_prefix(BEGIN)?)?;
                rest.is_empty().then_some(Self::End(ended, Some(begun)))
            }),
            _ if !text.starts_with(b"#") && looks_like_boundary(text) => None,
            _ => return Ok(None),
        };
        boundary.map(Some).ok_or(PemError::Malformed)
    }
}

/// The label at the start of `text`, and the text after its hyphens. RFC 7468 2
fn label(text: &[u8]) -> Option<(&str, &[u8])> {
    let end = text.windows(HYPHENS.len()).position(|window| window == HYPHENS)?;
    let (label, rest) = text.split_at_checked(end)?;
    let label = std::str::from_utf8(label).ok()?;
    let is_printable = label.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    // Some programs have labels of their own with small letters.
    let capitals = label.to_ascii_uppercase();
    let is_miswritten = capitals != label && READ.iter().any(|read| capitals.ends_with(read));
    let is_valid = !label.is_empty() && is_printable && !is_miswritten;
    is_valid.then_some((label, rest.strip_prefix(HYPHENS)?))
}

/// Whether a line has the words of a begin or end line between hyphens or dashes, in any case and
/// number. A line that continues with other words is text, such as a description of a certificate,
/// unless it continues with the content of a section.
fn looks_like_boundary(text: &[u8]) -> bool {
    let dash = |from: usize| {
        text.get(from..)
            .is_some_and(|rest| matches!(rest, [b'-', b'-', ..] | [DASHES, 0x80, 0x90..=0x95, ..]))
    };
    let length = text.len();
    let is_at_an_end = dash(0) || [2, 3].iter().any(|last| dash(length.saturating_sub(*last)));
    let is_after_dash = |place: usize| {
        let before = text.get(..place).unwrap_or_default().trim_ascii_end().len();
        [2, 3].iter().filter_map(|last| before.checked_sub(*last)).any(dash)
    };
    // The text before a word is examined only if there is a word: it may be a long row of spaces.
    let follows_dash = |word: &[u8]| {
        let mut windows = text.windows(word.len()).enumerate();
        windows.any(|(place, part)| part.eq_ignore_ascii_case(word) && is_after_dash(place))
    };
    is_at_an_end && (follows_dash(b"BEGIN ") || follows_dash(b"END ")) || has_inner_boundary(text)
}

/// Whether a begin or end line is within a line, and base64 or an escaped line break follows it, as
/// in JSON or in a string of a programming language.
fn has_inner_boundary(text: &[u8]) -> bool {
    let continues = |word: &[u8], window: &[u8]| {
        let after = window.strip_prefix(word).and_then(label);
        after.is_some_and(|(label, rest)| {
            let is_content =
                |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'\\' | b'&');
            READ.iter().any(|read| label.ends_with(read)) && rest.first().is_some_and(is_content)
        })
    };
    let mut hyphens = text.windows(HYPHENS.len()).enumerate();
    // A line that begins like this was examined before.
    hyphens.any(|(place, window)| {
        let window = (window == HYPHENS && place > 0).then(|| text.get(place..)).flatten();
        window.is_some_and(|window| continues(BEGIN, window) || continues(END, window))
    })
}

/// Whether text is encoded in UTF-16, as some editors save it.
fn is_utf16(pem: &[u8]) -> bool {
    let (little, big) = (b"B\0E\0G\0I\0N\0", b"\0B\0E\0G\0I\0N");
    let has = |word: &[u8]| pem.windows(word.len()).any(|window| window == word);
    pem.contains(&0) && (has(little) || has(big))
}

const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"-----END ";
const HYPHENS: &[u8] = b"-----";
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
/// The ends of the labels that these crates read.
const READ: [&str; 4] = ["CERTIFICATE", "PRIVATE KEY", "PUBLIC KEY", "ECHCONFIG"];
/// The first byte of dashes such as U+2013, which editors of documents put in place of hyphens.
const DASHES: u8 = 0xe2;
