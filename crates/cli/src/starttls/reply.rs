//! Replies with a number of three digits, as in SMTP and FTP.

use std::io::{Read, Write};

use super::dialogue::Dialogue;
use super::error::StarttlsError;

/// A reply of one or more lines.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) code: u16,
    /// The text of each line, without the code.
    pub(super) lines: Vec<String>,
}

impl Reply {
    /// The reply on one line.
    pub(super) fn text(&self) -> String {
        format!("{} {}", self.code, self.lines.join(", "))
    }
}

/// Reads a reply. The first line of a longer reply is `CODE-TEXT`, and the last one `CODE TEXT`.
/// In FTP, the lines between need not begin with the code. RFC 5321 4.2.1, RFC 959 4.2
pub(super) fn read<S: Read + Write>(
    dialogue: &mut Dialogue<'_, S>,
    protocol: &'static str,
) -> Result<Reply, StarttlsError> {
    let first = dialogue.line()?;
    let Some((code, mut is_last, text)) = split(&first) else {
        return Err(StarttlsError::not(protocol, first));
    };
    let mut lines = vec![text];
    while !is_last {
        let line = dialogue.line()?;
        match split(&line) {
            Some((same, last, text)) if same == code => {
                is_last = last;
                lines.push(text);
            }
            _ => lines.push(String::from_utf8_lossy(&line).into_owned()),
        }
    }
    Ok(Reply { code, lines })
}

/// The code of a line, whether it is the last line of a reply, and its text.
fn split(line: &[u8]) -> Option<(u16, bool, String)> {
    let (digits, rest) = line.split_at_checked(3)?;
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let code = std::str::from_utf8(digits).ok()?.parse().ok()?;
    let (is_last, text) = match rest.split_first() {
        None => (true, rest),
        Some((b' ', text)) => (true, text),
        Some((b'-', text)) => (false, text),
        Some(_) => return None,
    };
    Some((code, is_last, String::from_utf8_lossy(text).into_owned()))
}
