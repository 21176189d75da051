//! Negotiated parameters, as the messages show them.
//!
//! In the lab, CRYPTO data is not encrypted, and quinn's traits do not report all parameters. So
//! the parameters are read from the server's messages, which is the same for all libraries.

use lab_scenario::{Group, Outcome, Result, Scheme, Suite, Version};

use crate::units::Kind;

/// What the messages of a server have shown so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    suite: u16,
    group: u16,
    scheme: u16,
    certificate: bool,
    tickets: u32,
}

// Types of messages. RFC 9846 4
const SERVER_HELLO: u8 = 2;
const NEW_SESSION_TICKET: u8 = 4;
const CERTIFICATE: u8 = 11;
const CERTIFICATE_VERIFY: u8 = 15;

/// The extension key_share. RFC 9846 4.2
const KEY_SHARE: u16 = 51;

impl Seen {
    /// Reads CRYPTO data of the server, which consists of whole messages.
    ///
    /// # Errors
    /// If it does not.
    pub(crate) fn read(&mut self, kind: Kind, mut data: &[u8]) -> Result<()> {
        if matches!(kind, Kind::EarlyPacket | Kind::Packet) {
            return Ok(());
        }
        while !data.is_empty() {
            let (kind, body, rest) = message(data).ok_or("a part of a message")?;
            data = rest;
            match kind {
                SERVER_HELLO => {
                    (self.suite, self.group) = server_hello(body).ok_or("a broken ServerHello")?;
                }
                CERTIFICATE => self.certificate = true,
                CERTIFICATE_VERIFY => {
                    self.scheme = number(body).ok_or("a broken CertificateVerify")?.0;
                }
                NEW_SESSION_TICKET => self.tickets += 1,
                _ => {}
            }
        }
        Ok(())
    }

    /// The negotiated parameters, when the handshake is complete.
    ///
    /// # Errors
    /// If the suite is unknown to the lab.
    pub(crate) fn outcome(&self, early_data: usize) -> Result<Outcome> {
        Ok(Outcome {
            version: Version::Tls13,
            suite: Suite::of_number(self.suite).ok_or("an unknown suite")?,
            group: Group::of_number(self.group),
            scheme: Scheme::of_number(self.scheme),
            resumed: !self.certificate,
            client_certificate: None,
            tickets: Some(self.tickets),
            early_data,
        })
    }
}

/// Splits the first message: its type, its body, and what follows.
fn message(data: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let ([kind, length @ ..], rest) = data.split_first_chunk::<4>()?;
    let [a, b, c] = *length;
    let (body, rest) = rest.split_at_checked(u32::from_be_bytes([0, a, b, c]) as usize)?;
    Some((*kind, body, rest))
}

fn number(data: &[u8]) -> Option<(u16, &[u8])> {
    let (bytes, rest) = data.split_first_chunk()?;
    Some((u16::from_be_bytes(*bytes), rest))
}

/// The suite and the group of a ServerHello. RFC 9846 4.1.3
fn server_hello(body: &[u8]) -> Option<(u16, u16)> {
    // The legacy version and the random value, then the legacy session ID.
    let (id, rest) = body.get(34..)?.split_first()?;
    let (suite, rest) = number(rest.get(usize::from(*id)..)?)?;
    // The legacy compression method.
    let (_, mut extensions) = number(rest.get(1..)?)?;
    while !extensions.is_empty() {
        let (kind, rest) = number(extensions)?;
        let (length, rest) = number(rest)?;
        let (content, rest) = rest.split_at_checked(length.into())?;
        if kind == KEY_SHARE {
            return Some((suite, number(content)?.0));
        }
        extensions = rest;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ServerHello with a key share, a CertificateVerify and a ticket.
    fn flight() -> Vec<u8> {
        let mut hello = [vec![3; 34], vec![0, 0x13, 0x02, 0]].concat();
        hello.extend_from_slice(&[0, 12, 0, 43, 0, 2, 3, 4, 0, 51, 0, 2, 0x11, 0xec]);
        let mut data = Vec::new();
        for (kind, body) in [(2, &hello[..]), (11, &[]), (15, &[4, 3]), (4, &[1])] {
            data.extend_from_slice(&[kind, 0, 0, u8::try_from(body.len()).unwrap()]);
            data.extend_from_slice(body);
        }
        data
    }

    #[test]
    fn parameters_are_those_of_the_messages() {
        let mut seen = Seen::default();
        assert!(seen.outcome(0).is_err());
        seen.read(Kind::Initial, &flight()).unwrap();
        let outcome = seen.outcome(0).unwrap();
        assert_eq!(outcome.suite, Suite::Aes256GcmSha384);
        assert_eq!(outcome.group, Some(Group::X25519MlKem768));
        assert_eq!(outcome.scheme, Some(Scheme::EcdsaSecp256r1Sha256));
        assert_eq!((outcome.resumed, outcome.tickets), (false, Some(1)));
        let flight = flight();
        assert!(Seen::default().read(Kind::Initial, &flight[..flight.len() - 1]).is_err());
    }
}
