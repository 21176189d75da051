//! The ClientHello that a server received, for callbacks and getters.

use core::cell::Cell;
use std::ffi::CString;

use tercel::questions::ChooseConfigQuestion;
use tercel::wire::{CipherSuite, ProtocolVersion};

use crate::ciphers::suite;

/// The parts of a ClientHello that programs ask for.
pub(crate) struct Hello {
    /// The body of the message.
    pub(crate) bytes: Vec<u8>,
    pub(crate) server_name: Option<CString>,
    /// The offered application protocols, as in the extension: each after its length.
    pub(crate) protocols: Option<Vec<u8>>,
    pub(crate) wants_status: bool,
    pub(crate) offers_tls13: bool,
    /// How many of the callbacks that are called first have succeeded.
    pub(super) passed: Cell<u8>,
}

impl Hello {
    pub(crate) fn of(question: &ChooseConfigQuestion) -> Self {
        let hello = question.client_hello();
        let extensions = &hello.extensions;
        let server_name = extensions.server_name.as_ref();
        let server_name =
            server_name.and_then(|name| CString::new(name.host_name()?.as_str()).ok());
        let protocols = extensions.alpn.as_ref().map(|list| {
            let mut wire = Vec::new();
            for protocol in list {
                wire.push(u8::try_from(protocol.0.len()).unwrap_or(u8::MAX));
                wire.extend_from_slice(protocol.0);
            }
            wire
        });
        let wants_status = extensions.status_request.is_some();
        let versions = extensions.supported_versions.as_ref();
        Self {
            bytes: question.client_hello_bytes().to_vec(),
            server_name,
            protocols,
            wants_status,
            passed: Cell::new(0),
            offers_tls13: versions.is_some_and(|all| all.contains(ProtocolVersion::TLS1_3)),
        }
    }
}

/// The parts of a ClientHello as they are in the message.
pub(crate) struct Parts<'a> {
    pub(crate) version: u16,
    pub(crate) random: &'a [u8],
    pub(crate) session_id: &'a [u8],
    pub(crate) suites: &'a [u8],
    pub(crate) compression: &'a [u8],
    pub(crate) extensions: Vec<(u16, &'a [u8])>,
}

impl Hello {
    /// Splits the message into its parts. It was parsed before, so this succeeds.
    pub(crate) fn parts(&self) -> Option<Parts<'_>> {
        let (version, rest) = number(&self.bytes)?;
        let (random, rest) = rest.split_at_checked(32)?;
        let (length, rest) = rest.split_first()?;
        let (session_id, rest) = rest.split_at_checked(usize::from(*length))?;
        let (suites, rest) = vector(rest)?;
        let (length, rest) = rest.split_first()?;
        let (compression, rest) = rest.split_at_checked(usize::from(*length))?;
        let mut extensions = Vec::new();
        let mut block = vector(rest).map_or(&[][..], |(block, _)| block);
        while !block.is_empty() {
            let (code, rest) = number(block)?;
            let (body, rest) = vector(rest)?;
            extensions.push((code, body));
            block = rest;
        }
        Some(Parts { version, random, session_id, suites, compression, extensions })
    }
}

impl Hello {
    /// Whether the client prefers ChaCha20, as clients without fast AES do.
    pub(super) fn prefers_chacha(&self) -> bool {
        /// The signalling values of RFC 5746 and RFC 7507, which are not suites.
        const SIGNALS: [u16; 2] = [0x00ff, 0x5600];
        // Values that are reserved for extensibility are no preference. RFC 8701 2
        let is_reserved = |code: u16| code & 0x0f0f == 0x0a0a;
        let parts = self.parts();
        let mut suites = parts.iter().flat_map(|parts| parts.suites.chunks_exact(2));
        let first = suites.find_map(|bytes| {
            let (code, _) = number(bytes)?;
            Some(code).filter(|code| !is_reserved(*code) && !SIGNALS.contains(code))
        });
        first.is_some_and(|code| suite::has_chacha(CipherSuite(code)))
    }
}

fn number(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u16::from_be_bytes(*number), rest))
}

/// Bytes after their length of two bytes.
fn vector(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = number(bytes)?;
    rest.split_at_checked(usize::from(length))
}
