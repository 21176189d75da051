//! Recognizes a HelloRetryRequest at the beginning of a server's bytes. RFC 9846 4.2.3

use tercel_wire::{ContentType, HandshakeType, ServerHello};

use crate::record::limits;

/// The first bytes of a server.
#[derive(Default)]
pub(super) struct RetryDetector(Vec<u8>);

/// The meaning of a server's first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detected {
    /// More bytes are needed.
    Unknown,
    /// They are a HelloRetryRequest.
    Retry,
    /// They are something else, such as a ServerHello or an alert.
    NoRetry,
}

/// The number of bytes of a message before the random value, and behind it.
const BEFORE_RANDOM: usize = 4 + 2;
const AFTER_RANDOM: usize = BEFORE_RANDOM + 32;

/// The number of bytes that are kept: enough for records with one byte of content.
const MAX_KEPT: usize = AFTER_RANDOM * (limits::HEADER + 1);

impl RetryDetector {
    /// Examines the next bytes.
    pub(super) fn push(&mut self, received: &[u8]) -> Detected {
        let room = MAX_KEPT.saturating_sub(self.0.len());
        self.0.extend(received.iter().take(room));
        let detected = self.examine();
        if detected == Detected::Unknown && self.0.len() >= MAX_KEPT {
            return Detected::NoRetry;
        }
        detected
    }

    fn examine(&self) -> Detected {
        let (mut rest, mut message) = (&self.0[..], Vec::new());
        while message.len() < AFTER_RANDOM {
            let Some((header, content)) = rest.split_first_chunk::<{ limits::HEADER }>() else {
                break;
            };
            let length = usize::from(u16::from_be_bytes([header[3], header[4]]));
            if header[0] != ContentType::HANDSHAKE.0 || length == 0 {
                return Detected::NoRetry;
            }
            let (content, behind) = content.split_at_checked(length).unwrap_or((content, &[]));
            message.extend_from_slice(content);
            rest = behind;
        }
        match message.get(BEFORE_RANDOM..AFTER_RANDOM) {
            _ if message.first().is_some_and(|kind| *kind != HandshakeType::SERVER_HELLO.0) => {
                Detected::NoRetry
            }
            None => Detected::Unknown,
            Some(random) if random == ServerHello::RETRY_RANDOM => Detected::Retry,
            Some(_) => Detected::NoRetry,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The beginning of a ServerHello with this random value.
    fn hello(random: [u8; 32]) -> Vec<u8> {
        [&[2, 0, 0, 90, 3, 3][..], &random, &[0; 54]].concat()
    }

    /// The record that a server sends after a HelloRetryRequest.
    const CHANGE_CIPHER_SPEC: [u8; 6] = [20, 3, 3, 0, 1, 1];

    fn records(message: &[u8], size: usize) -> Vec<u8> {
        let record = |content: &[u8]| {
            [&[22, 3, 3, 0, u8::try_from(content.len()).unwrap()], content].concat()
        };
        message.chunks(size).flat_map(record).collect()
    }

    /// What is detected in these bytes, received in pieces of this size.
    fn detect(bytes: &[u8], piece: usize) -> Detected {
        let mut detector = RetryDetector::default();
        let mut results = bytes.chunks(piece).map(|piece| detector.push(piece));
        let found = results.find(|result| *result != Detected::Unknown);
        found.unwrap_or(Detected::Unknown)
    }

    /// RFC 9846 4.2.3, 5.1
    #[test]
    fn retries_are_recognized_in_any_fragmentation() {
        let other = hello([7; 32]);
        let retry = hello(ServerHello::RETRY_RANDOM);
        for size in [1, 2, 5, 6, 37, 38, 39, 94] {
            for piece in [1, 3, 100, 1000] {
                let sent = [&records(&retry, size)[..], &CHANGE_CIPHER_SPEC].concat();
                assert_eq!(detect(&sent, piece), Detected::Retry, "{size}");
                assert_eq!(detect(&records(&other, size), piece), Detected::NoRetry, "{size}");
                assert_eq!(detect(&records(&retry[..37], size), piece), Detected::Unknown);
            }
        }
        let alert = [21, 3, 3, 0, 2, 2, 40];
        assert_eq!(detect(&alert, 1), Detected::NoRetry);
        assert_eq!(detect(&[22, 3, 3, 0, 0], 1), Detected::NoRetry);
        assert_eq!(detect(&records(&[11, 0, 0, 3], 4), 1), Detected::NoRetry);
        assert_eq!(detect(&alert[..4], 1), Detected::Unknown);
    }
}
