//! PostgreSQL: SSLRequest. <https://www.postgresql.org/docs/current/protocol-message-formats.html>,
//! section "SSL Session Encryption" of "Message Flow" for the answer.

use std::io::{Read, Write};

use super::dialogue::Dialogue;
use super::error::StarttlsError;

pub(super) fn begin<S: Read + Write>(dialogue: &mut Dialogue<'_, S>) -> Result<(), StarttlsError> {
    // The length of the message, and the number 80877103 in place of a version.
    dialogue.send([0, 0, 0, 8, 4, 210, 22, 47])?;
    let answer = dialogue.bytes(1)?;
    match answer.as_slice() {
        b"S" => Ok(()),
        b"N" => Err(StarttlsError::not_offered(answer)),
        b"E" => Err(StarttlsError::refused(error_message(dialogue)?)),
        _ => Err(StarttlsError::not("PostgreSQL", answer)),
    }
}

/// The message field of an ErrorResponse, whose type has been read.
fn error_message<S: Read + Write>(
    dialogue: &mut Dialogue<'_, S>,
) -> Result<Vec<u8>, StarttlsError> {
    let length = dialogue.bytes(4)?;
    let length = length.iter().fold(0usize, |length, &byte| length << 8 | usize::from(byte));
    let fields = dialogue.bytes(length.saturating_sub(4))?;
    let message = fields.split(|&byte| byte == 0).find_map(|field| field.strip_prefix(b"M"));
    Ok(message.unwrap_or(&fields).to_vec())
}

#[cfg(test)]
mod tests {
    use super::super::Protocol::Postgres;
    use super::super::script::Step::{Expect, Send};
    use super::super::script::{check, run};

    const REQUEST: &[u8] = &[0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];

    #[test]
    fn the_answer_is_one_byte() {
        check(Postgres, &[Expect(REQUEST), Send(b"S")]);
        let refused = run(Postgres, &[Expect(REQUEST), Send(b"N")]).unwrap_err().to_string();
        assert_eq!(refused, "the server does not offer STARTTLS; it answered `N`");
        let other = run(Postgres, &[Expect(REQUEST), Send(b"HTTP")]).unwrap_err().to_string();
        assert_eq!(other, "the server does not speak PostgreSQL; it sent `H`");
    }

    #[test]
    fn an_error_is_quoted() {
        let error = b"E\x00\x00\x00\x1dSFATAL\0Mtoo many\x1b clients\0\0";
        let refused = run(Postgres, &[Expect(REQUEST), Send(error)]).unwrap_err().to_string();
        assert!(refused.ends_with(r"it answered `too many\x1b clients`"), "{refused}");
        let endless = run(Postgres, &[Expect(REQUEST), Send(b"E\xff\xff\xff\xff")]).unwrap_err();
        assert!(endless.to_string().contains("longer than"), "{endless}");
    }
}
