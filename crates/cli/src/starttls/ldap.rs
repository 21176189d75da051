//! LDAP: the StartTLS extended operation of RFC 4511 4.14, in BER with the restrictions of 5.1.

use std::io::{Read, Write};

use super::dialogue::Dialogue;
use super::error::StarttlsError;

pub(super) fn begin<S: Read + Write>(dialogue: &mut Dialogue<'_, S>) -> Result<(), StarttlsError> {
    dialogue.send(request())?;
    let mut is_ber = true;
    let message = dialogue.take_until(|bytes| match element(bytes) {
        Ok(Some(message)) => Some(message.whole),
        Ok(None) => None,
        Err(NotBer) => {
            is_ber = false;
            Some(bytes.len())
        }
    })?;
    match answer(&message).filter(|_| is_ber) {
        Some((0, _)) => Ok(()),
        Some((code, text)) => {
            Err(StarttlsError::refused([format!("result {code}: ").as_bytes(), text].concat()))
        }
        None => Err(StarttlsError::not("LDAP", message)),
    }
}

/// An ExtendedRequest with message ID 1.
fn request() -> Vec<u8> {
    let oid = b"1.3.6.1.4.1.1466.20037";
    let start = [SEQUENCE, 29, INTEGER, 1, 1, EXTENDED_REQUEST, 24, REQUEST_NAME, 22];
    [&start[..], oid].concat()
}

/// The result code and the diagnostic message of an ExtendedResponse, which answers the request
/// (message ID 1) or announces the end of the connection (message ID 0). RFC 4511 4.4.1
fn answer(message: &[u8]) -> Option<(u8, &[u8])> {
    let (message, []) = expect(message, SEQUENCE)? else { return None };
    let (id, message) = expect(message, INTEGER)?;
    let (response, _controls) = expect(message, EXTENDED_RESPONSE)?;
    let (code, response) = expect(response, ENUMERATED)?;
    let (_matched_name, response) = expect(response, OCTET_STRING)?;
    let (text, _rest) = expect(response, OCTET_STRING)?;
    match (id, code) {
        (&[1], &[code]) => Some((code, text)),
        // A notice is never a permission.
        (&[0], &[code]) if code != 0 => Some((code, text)),
        _ => None,
    }
}

/// The content of the first element, which must have this tag, and what follows the element.
fn expect(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let found = element(bytes).ok()??;
    if bytes.first() != Some(&tag) {
        return None;
    }
    Some((bytes.get(found.start..found.whole)?, bytes.get(found.whole..)?))
}

/// The position of an element's content, and the length of the whole element.
struct Element {
    start: usize,
    whole: usize,
}

/// Bytes that cannot be a part of an LDAP message.
struct NotBer;

/// Finds the first element; `None` if more bytes are needed. Only definite lengths are allowed, but
/// they need not have the shortest form. RFC 4511 5.1
fn element(bytes: &[u8]) -> Result<Option<Element>, NotBer> {
    let [tag, rest @ ..] = bytes else { return Ok(None) };
    // LDAP uses low tag numbers only.
    if tag & 0x1f == 0x1f {
        return Err(NotBer);
    }
    let [first, rest @ ..] = rest else { return Ok(None) };
    let (digits, length) = match first {
        0..=0x7f => (0, usize::from(*first)),
        0x81..=0x84 => {
            let digits = usize::from(first & 0x7f);
            let Some(number) = rest.get(..digits) else { return Ok(None) };
            let length = number.iter().fold(0u64, |length, &byte| length << 8 | u64::from(byte));
            (digits, usize::try_from(length).map_err(|_| NotBer)?)
        }
        _ => return Err(NotBer),
    };
    let start = 2 + digits;
    let whole = start.checked_add(length).ok_or(NotBer)?;
    Ok((bytes.len() >= whole).then_some(Element { start, whole }))
}

const INTEGER: u8 = 0x02;
const OCTET_STRING: u8 = 0x04;
const ENUMERATED: u8 = 0x0a;
const SEQUENCE: u8 = 0x30;
/// `[APPLICATION 23]`, constructed.
const EXTENDED_REQUEST: u8 = 0x77;
/// `[APPLICATION 24]`, constructed.
const EXTENDED_RESPONSE: u8 = 0x78;
/// `[0]`, primitive.
const REQUEST_NAME: u8 = 0x80;

#[cfg(test)]
mod tests {
    use super::super::Protocol::Ldap;
    use super::super::script::Step::{Expect, Send};
    use super::super::script::{check, run};

    const REQUEST: &[u8] = b"\x30\x1d\x02\x01\x01\x77\x18\x80\x161.3.6.1.4.1.1466.20037";

    /// RFC 4511 4.14, 5.1
    #[test]
    fn a_response_with_success_is_the_permission() {
        let short = b"\x30\x0c\x02\x01\x01\x78\x07\x0a\x01\x00\x04\x00\x04\x00";
        check(Ldap, &[Expect(REQUEST), Send(short)]);
        // Lengths in a longer form than needed, and the name of the operation.
        let long = b"\x30\x84\x00\x00\x00\x28\x02\x01\x01\x78\x84\x00\x00\x00\x1f\x0a\x01\x00\
            \x04\x00\x04\x00\x8a\x161.3.6.1.4.1.1466.20037";
        check(Ldap, &[Expect(REQUEST), Send(long)]);
    }

    /// RFC 4511 4.4.1
    #[test]
    fn other_results_are_refusals() {
        let refusal = b"\x30\x15\x02\x01\x01\x78\x10\x0a\x01\x02\x04\x00\x04\x09no\x1bTLS...";
        let refused = run(Ldap, &[Expect(REQUEST), Send(refusal)]).unwrap_err().to_string();
        let expected = r"the server refused STARTTLS; it answered `result 2: no\x1bTLS...`";
        assert_eq!(refused, expected);
        let notice = b"\x30\x0c\x02\x01\x00\x78\x07\x0a\x01\x34\x04\x00\x04\x00";
        let refused = run(Ldap, &[Expect(REQUEST), Send(notice)]).unwrap_err().to_string();
        assert!(refused.contains("result 52"), "{refused}");
    }

    #[test]
    fn other_messages_are_not_permissions() {
        for message in [
            // Message ID 2; a notice of success; a bind response; a trailing element.
            &b"\x30\x0c\x02\x01\x02\x78\x07\x0a\x01\x00\x04\x00\x04\x00"[..],
            b"\x30\x0c\x02\x01\x00\x78\x07\x0a\x01\x00\x04\x00\x04\x00",
            b"\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\x00\x04\x00\x04\x00",
            b"\x30\x06\x02\x01\x01\x78\x01\x0a",
            b"\x30\x80\x02\x01\x01",
            b"\x3f\x00",
            b"220 mx ESMTP\r\n ........................................",
        ] {
            let refused = run(Ldap, &[Expect(REQUEST), Send(message)]).unwrap_err().to_string();
            assert!(refused.starts_with("the server does not speak LDAP"), "{refused}");
        }
    }
}
