//! Tickets that the runner can open and change, in BoringSSL's format: AES-128-CBC with
//! HMAC-SHA256.
//!
//! ```text
//! name 16 | initial value 16 | ciphertext | tag 32, over all before it; plaintext:
//! SEQUENCE { INTEGER 1, INTEGER version, OCTET STRING cipher suite, OCTET STRING the session }
//! ```
//!
//! The runner reads and writes only the version and the suite. The values that the runner writes
//! replace the values of the session.

use aws_lc_rs::cipher::{
    AES_128, DecryptionContext, PaddedBlockDecryptingKey, PaddedBlockEncryptingKey,
    UnboundCipherKey,
};
use aws_lc_rs::iv::FixedLength;
use tercel::crypto::{CryptoError, HashAlgorithm};
use tercel::pki_types::UnixTime;
use tercel::session::TicketSealer;
use tercel_crypto::HmacKey;

pub(crate) struct RunnerTickets {
    name: [u8; 16],
    authentication: HmacKey,
    encryption: [u8; 16],
}

impl RunnerTickets {
    /// Splits three concatenated keys.
    pub(crate) fn new(keys: &[u8]) -> Result<Self, CryptoError> {
        let part = |number: usize| {
            keys.chunks_exact(16).nth(number).and_then(|part| <[u8; 16]>::try_from(part).ok())
        };
        let (name, authentication) = (part(0), part(1).ok_or(CryptoError::InvalidKey)?);
        Ok(Self {
            name: name.ok_or(CryptoError::InvalidKey)?,
            authentication: HmacKey::new(HashAlgorithm::Sha256, &authentication),
            encryption: part(2).ok_or(CryptoError::InvalidKey)?,
        })
    }

    fn cipher(&self) -> Option<UnboundCipherKey> {
        UnboundCipherKey::new(&AES_128, &self.encryption).ok()
    }
}

impl TicketSealer for RunnerTickets {
    /// The tests are about other rules.
    fn is_fips_approved(&self) -> bool {
        true
    }

    fn seal(&self, session: &[u8], _: UnixTime) -> Option<Vec<u8>> {
        let mut content = to_der(session)?;
        let key = PaddedBlockEncryptingKey::cbc_pkcs7(self.cipher()?).ok()?;
        let context = key.encrypt(&mut content).ok()?;
        let initial: &[u8] = (&context).try_into().ok()?;
        let mut ticket = [&self.name, initial, &content].concat();
        let tag = self.authentication.sign(&[&ticket]);
        ticket.extend_from_slice(&tag);
        Some(ticket)
    }

    fn open(&self, ticket: &[u8], _: UnixTime) -> Option<Vec<u8>> {
        let (sealed, tag) = ticket.split_last_chunk::<32>()?;
        let sealed = sealed.strip_prefix(&self.name)?;
        if !self.authentication.verify(&[&self.name, sealed], tag) {
            return None;
        }
        let (initial, content) = sealed.split_first_chunk::<16>()?;
        let key = PaddedBlockDecryptingKey::cbc_pkcs7(self.cipher()?).ok()?;
        let context = DecryptionContext::Iv128(FixedLength::from(*initial));
        from_der(key.decrypt(&mut content.to_vec(), context).ok()?)
    }

    fn lifetime(&self) -> std::time::Duration {
        std::time::Duration::from_secs(86_400)
    }
}

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 2;
const OCTET_STRING: u8 = 4;

/// A session begins with one byte for its form, then version and suite of two bytes each.
fn to_der(session: &[u8]) -> Option<Vec<u8>> {
    let (version, suite) = (session.get(1..3)?, session.get(3..5)?);
    let parts = [
        element(INTEGER, &[1]),
        element(INTEGER, version),
        element(OCTET_STRING, suite),
        element(OCTET_STRING, session),
    ];
    Some(element(SEQUENCE, &parts.concat()))
}

fn from_der(der: &[u8]) -> Option<Vec<u8>> {
    let (sequence, _) = content(SEQUENCE, der)?;
    let (_, rest) = content(INTEGER, sequence)?;
    let (version, rest) = content(INTEGER, rest)?;
    let (suite, rest) = content(OCTET_STRING, rest)?;
    let (session, _) = content(OCTET_STRING, rest)?;
    let form = session.get(..1)?;
    Some([form, version, suite, session.get(5..)?].concat())
}

/// A DER element. Its length has two bytes if one byte is not enough.
fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut der = vec![tag];
    match u8::try_from(content.len()) {
        Ok(length) if length < 0x80 => der.push(length),
        Ok(length) => der.extend([0x81, length]),
        Err(_) => {
            let length = u16::try_from(content.len()).unwrap_or(u16::MAX);
            der.push(0x82);
            der.extend(length.to_be_bytes());
        }
    }
    der.extend_from_slice(content);
    der
}

/// The content of the first element, and the rest.
fn content(tag: u8, der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = match der {
        [found, 0x82, high, low, rest @ ..] if *found == tag => {
            (u16::from_be_bytes([*high, *low]).into(), rest)
        }
        [found, 0x81, length, rest @ ..] if *found == tag => (usize::from(*length), rest),
        [found, length @ ..=0x7f, rest @ ..] if *found == tag => (usize::from(*length), rest),
        _ => return None,
    };
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sealed_tickets_are_opened() {
        let tickets = RunnerTickets::new(&[7; 48]).unwrap();
        let now = UnixTime::now();
        for length in [5, 100, 200, 3000] {
            let session = vec![3; length];
            let ticket = tickets.seal(&session, now).unwrap();
            assert_eq!(tickets.open(&ticket, now), Some(session));
            let mut changed = ticket;
            changed[40] ^= 1;
            assert_eq!(tickets.open(&changed, now), None);
        }
    }

    #[test]
    fn version_and_suite_are_where_the_runner_expects_them() {
        let der = to_der(&[9, 3, 4, 0x13, 1, 55]).unwrap();
        assert_eq!(
            der[..12],
            [SEQUENCE, 19, INTEGER, 1, 1, INTEGER, 2, 3, 4, OCTET_STRING, 2, 0x13]
        );
        let mut changed = der.clone();
        changed[8] = 3;
        assert_eq!(from_der(&changed), Some(vec![9, 3, 3, 0x13, 1, 55]));
        assert_eq!(from_der(&der[..der.len() - 1]), None);
    }
}
