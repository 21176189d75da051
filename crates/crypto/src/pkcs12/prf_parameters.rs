//! Files of GnuTLS and NSS.
//!
//! These programs omit the parameters of PBKDF2's pseudorandom function, which are NULL (RFC 8018
//! A.2, B.1.2), and AWS-LC asks for them. Here they are added before AWS-LC reads the file. The MAC
//! of the file covers them, so it is verified and renewed.

use super::ber::{
    CONTEXT_0, Content, Element, INTEGER, NULL, OBJECT_IDENTIFIER, OCTET_STRING, SEQUENCE,
};
use super::iterations::{DATA, MAX_ITERATIONS};
use crate::backend::pkcs12::MacHash;
use crate::error::Pkcs12Error;
use crate::memory::{constant_time_eq, wipe};

/// Returns the file with the missing parameters. `None` if none is missing, or if AWS-LC has to
/// give the reason why the file cannot be read.
///
/// # Errors
///
/// If the MAC does not verify, so that nothing may be changed.
pub(super) fn complete(file: &[u8], password: &str) -> Result<Option<Vec<u8>>, Pkcs12Error> {
    let Some((content, completed, mac)) = read(file) else { return Ok(None) };
    let renewed = mac.renew(&content, &completed, password).ok_or(Pkcs12Error::WrongPassword)?;
    let pfx = Element::read_all(file).and_then(|file| with_content(file, completed, renewed));
    Ok(pfx)
}

/// The authenticated content of a file, the same with parameters, and its MAC. RFC 7292 4
fn read(file: &[u8]) -> Option<(Vec<u8>, Vec<u8>, MacData)> {
    let file = Element::read_all(file)?;
    let [pfx] = &file[..] else { return None };
    let [_version, safe, mac] = pfx.elements(SEQUENCE)? else { return None };
    let content = data(safe)?;
    let completed = completed(&content, MAX_NESTED)?;
    let mac = MacData::read(mac)?;
    Some((content, completed, mac))
}

/// The file with another content and another MAC.
fn with_content(mut file: Vec<Element<'_>>, content: Vec<u8>, mac: Vec<u8>) -> Option<Vec<u8>> {
    let [pfx] = &mut file[..] else { return None };
    let Content::Constructed(fields) = &mut pfx.content else { return None };
    let [_version, safe, mac_data] = &mut fields[..] else { return None };
    set_data(safe, content)?;
    let Content::Constructed(mac_data) = &mut mac_data.content else { return None };
    let Content::Constructed(digest_info) = &mut mac_data.first_mut()?.content else { return None };
    *digest_info.last_mut()? = Element::primitive(OCTET_STRING, mac);
    Some(Element::written(&file))
}

/// The content of a ContentInfo of the type data. RFC 2315 7, 8
fn data(info: &Element<'_>) -> Option<Vec<u8>> {
    let [kind, content] = info.elements(SEQUENCE)? else { return None };
    let [octets] = content.elements(CONTEXT_0)? else { return None };
    (kind.bytes(OBJECT_IDENTIFIER)? == DATA).then(|| octets.octets()).flatten()
}

/// Replaces the content of such a ContentInfo.
fn set_data(info: &mut Element<'_>, content: Vec<u8>) -> Option<()> {
    let Content::Constructed(fields) = &mut info.content else { return None };
    let octets = Element::primitive(OCTET_STRING, content);
    fields.last_mut()?.content = Content::Constructed(vec![octets]);
    Some(())
}

/// The elements with parameters. `None` if none is missing, or the elements cannot be read.
fn completed(elements: &[u8], nested: usize) -> Option<Vec<u8>> {
    let mut elements = Element::read_all(elements)?;
    let mut is_changed = false;
    elements.iter_mut().for_each(|element| is_changed |= complete_in(element, nested));
    is_changed.then(|| Element::written(&elements))
}

/// Adds the parameters in an element, whether it is PBKDF2's algorithm or contains it. Returns
/// whether one was missing.
fn complete_in(element: &mut Element<'_>, nested: usize) -> bool {
    if let (Some(content), Some(nested)) = (data(element), nested.checked_sub(1)) {
        let completed = completed(&content, nested);
        return completed.is_some_and(|content| set_data(element, content).is_some());
    }
    let Content::Constructed(fields) = &mut element.content else { return false };
    match &mut fields[..] {
        [kind, parameters] if kind.bytes(OBJECT_IDENTIFIER) == Some(PBKDF2) => {
            complete_prf(parameters).is_some()
        }
        fields => {
            let mut is_changed = false;
            fields.iter_mut().for_each(|field| is_changed |= complete_in(field, nested));
            is_changed
        }
    }
}

/// Adds the parameters of the pseudorandom function, the last one of PBKDF2's. RFC 8018 A.2
fn complete_prf(parameters: &mut Element<'_>) -> Option<()> {
    let Content::Constructed(parameters) = &mut parameters.content else { return None };
    let Content::Constructed(prf) = &mut parameters.last_mut()?.content else { return None };
    let [kind] = &prf[..] else { return None };
    kind.bytes(OBJECT_IDENTIFIER)?;
    prf.push(Element::primitive(NULL, Vec::new()));
    Some(())
}

/// How the MAC is computed, and the MAC of the file. RFC 7292 4
struct MacData {
    hash: MacHash,
    mac: Vec<u8>,
    salt: Vec<u8>,
    iterations: u32,
}

impl MacData {
    fn read(data: &Element<'_>) -> Option<Self> {
        let fields = data.elements(SEQUENCE)?;
        let (info, salt, iterations) = match fields {
            [info, salt] => (info, salt, 1),
            [info, salt, iterations] => (info, salt, number(iterations.bytes(INTEGER)?)?),
            _ => return None,
        };
        let [algorithm, mac] = info.elements(SEQUENCE)? else { return None };
        let mut encoded = Vec::new();
        algorithm.write(&mut encoded);
        let hash = MacHash::from_algorithm(&encoded)?;
        Some(Self { hash, mac: mac.octets()?, salt: salt.octets()?, iterations })
    }

    /// The MAC of another content, if that of `content` verifies.
    fn renew(&self, content: &[u8], other: &[u8], password: &str) -> Option<Vec<u8>> {
        // A password ends in a zero. Some programs encode "no password" without one. UTF-16 has at
        // most as many units as UTF-8 has bytes, so that the vector never moves and leaves a copy.
        let mut encoded = Vec::with_capacity(password.len().saturating_add(1).saturating_mul(2));
        encoded.extend(password.encode_utf16().chain([0]).flat_map(u16::to_be_bytes));
        let passwords =
            if password.is_empty() { &[&encoded[..], &[]][..] } else { &[&encoded[..]] };
        let renewed = passwords.iter().find_map(|password| {
            let mut key = self.key(password)?;
            let is_valid = constant_time_eq(&self.hash.mac(&key, content)?, &self.mac);
            let renewed = is_valid.then(|| self.hash.mac(&key, other)).flatten();
            wipe(&mut key);
            renewed
        });
        wipe(&mut encoded);
        renewed
    }

    /// The key, of the length of the hash. RFC 7292 B.2
    fn key(&self, password: &[u8]) -> Option<Vec<u8>> {
        let block = self.hash.block_len();
        // Each part is repeated up to whole blocks. The input never moves and leaves a copy.
        let parts = [&[MAC_KEY][..], &self.salt, password];
        let lengths = parts.map(|part| part.len().next_multiple_of(block));
        let mut input = Vec::with_capacity(lengths.iter().sum());
        for (part, len) in parts.into_iter().zip(lengths) {
            input.extend(part.iter().cycle().take(len));
        }
        let key = self.hash.iterated(&input, self.iterations);
        wipe(&mut input);
        key
    }
}

/// A number of iterations that AWS-LC accepts, too, and that is not too large.
fn number(bytes: &[u8]) -> Option<u32> {
    let number = bytes
        .iter()
        .try_fold(0_u32, |number, byte| number.checked_mul(256)?.checked_add(u32::from(*byte)))?;
    (1..=MAX_ITERATIONS).contains(&number).then_some(number)
}

/// The number of contents of the type data that may contain each other.
const MAX_NESTED: usize = 4;
/// The identifier of keys for MACs. RFC 7292 B.3
const MAC_KEY: u8 = 3;
/// id-PBKDF2, 1.2.840.113549.1.5.12
const PBKDF2: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 5, 12];
