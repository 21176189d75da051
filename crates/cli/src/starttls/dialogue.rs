//! Reading answers of limited length before TLS starts.

use std::io::{self, Read, Write};

use super::error::StarttlsError;

/// A dialogue in plaintext over a stream.
pub(super) struct Dialogue<'a, S> {
    stream: &'a mut S,
    /// Bytes that were received and not used.
    received: Vec<u8>,
    /// The number of bytes received from the start.
    total: usize,
}

impl<'a, S: Read + Write> Dialogue<'a, S> {
    pub(super) fn new(stream: &'a mut S) -> Self {
        Self { stream, received: Vec::new(), total: 0 }
    }

    pub(super) fn send(&mut self, bytes: impl AsRef<[u8]>) -> Result<(), StarttlsError> {
        self.stream.write_all(bytes.as_ref())?;
        Ok(self.stream.flush()?)
    }

    /// Reads a line without its CRLF or LF.
    pub(super) fn line(&mut self) -> Result<Vec<u8>, StarttlsError> {
        let mut line = self.take_until(|bytes| {
            bytes.iter().position(|&byte| byte == b'\n').map(|position| position + 1)
        })?;
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        Ok(line)
    }

    /// Reads this many bytes.
    pub(super) fn bytes(&mut self, count: usize) -> Result<Vec<u8>, StarttlsError> {
        if count > MAX_ANSWER {
            return Err(StarttlsError::TooLong(MAX_ANSWER));
        }
        self.take_until(|bytes| (bytes.len() >= count).then_some(count))
    }

    /// Reads until `end` finds the length of the answer.
    pub(super) fn take_until(
        &mut self,
        mut end: impl FnMut(&[u8]) -> Option<usize>,
    ) -> Result<Vec<u8>, StarttlsError> {
        loop {
            let found = end(&self.received).filter(|length| *length <= self.received.len());
            if let Some(length) = found {
                let rest = self.received.split_off(length);
                return Ok(std::mem::replace(&mut self.received, rest));
            }
            if self.received.len() >= MAX_ANSWER {
                return Err(StarttlsError::TooLong(MAX_ANSWER));
            }
            self.receive()?;
        }
    }

    /// Checks that the last answer ended with the last byte that was received.
    pub(super) fn finish(self) -> Result<(), StarttlsError> {
        if self.received.is_empty() {
            return Ok(());
        }
        Err(StarttlsError::injected(self.received))
    }

    fn receive(&mut self) -> Result<(), StarttlsError> {
        if self.total >= MAX_DIALOGUE {
            return Err(StarttlsError::TooMuch(MAX_DIALOGUE));
        }
        let mut chunk = [0; CHUNK];
        let count = loop {
            match self.stream.read(&mut chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        if count == 0 {
            return Err(StarttlsError::Closed);
        }
        self.total = self.total.saturating_add(count);
        self.received.extend_from_slice(chunk.get(..count).unwrap_or_default());
        Ok(())
    }
}

/// The maximum length of a line or of another single answer.
pub(super) const MAX_ANSWER: usize = 8 << 10;

/// The maximum length of all answers together.
pub(super) const MAX_DIALOGUE: usize = 64 << 10;

const CHUNK: usize = 1 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn lines_and_bytes_follow_each_other() {
        let mut stream = Cursor::new(b"one\r\ntwo\nabc".to_vec());
        let mut dialogue = Dialogue::new(&mut stream);
        assert_eq!(dialogue.line().unwrap(), b"one");
        assert_eq!(dialogue.line().unwrap(), b"two");
        assert_eq!(dialogue.bytes(2).unwrap(), b"ab");
        assert!(matches!(dialogue.bytes(MAX_ANSWER + 1), Err(StarttlsError::TooLong(_))));
        assert!(matches!(dialogue.finish(), Err(StarttlsError::Injected(rest)) if rest == "`c`"));
    }

    #[test]
    fn lengths_are_limited() {
        let mut endless = Cursor::new(vec![b'x'; MAX_DIALOGUE * 2]);
        assert!(matches!(Dialogue::new(&mut endless).line(), Err(StarttlsError::TooLong(_))));
        assert!(endless.position() <= (MAX_ANSWER + CHUNK) as u64);
        let mut many = Cursor::new(b"x\n".repeat(MAX_DIALOGUE));
        let mut dialogue = Dialogue::new(&mut many);
        let ended = (0..MAX_DIALOGUE).find_map(|_| dialogue.line().err()).unwrap();
        assert!(matches!(ended, StarttlsError::TooMuch(_)), "{ended}");
        assert!(many.position() <= (MAX_DIALOGUE + CHUNK) as u64);
    }
}
