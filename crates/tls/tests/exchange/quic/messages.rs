//! Changes of messages in CRYPTO data.

use tercel_wire::{
    ClientExtensions, ClientHello, EncryptedExtensions, ExtensionType, HandshakeMessage,
    HandshakeType, UnknownExtensions,
};

use super::pair::Data;

/// The messages in some CRYPTO data, each with its header.
pub(super) fn split(mut data: &[u8]) -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    while let Some(&[_, a, b, c]) = data.first_chunk() {
        let length = 4 + usize::try_from(u32::from_be_bytes([0, a, b, c])).unwrap();
        let (message, rest) = data.split_at(length);
        messages.push(message.to_vec());
        data = rest;
    }
    assert!(data.is_empty());
    messages
}

/// A message of this type.
pub(super) fn message(kind: HandshakeType, body: &[u8]) -> Vec<u8> {
    let [.., a, b, c] = body.len().to_be_bytes();
    [&[kind.0, a, b, c], body].concat()
}

/// Changes the messages of one type. The change gets the body and returns the new one.
pub(super) fn replace(
    data: &mut Data,
    kind: HandshakeType,
    change: impl Fn(&[u8]) -> Vec<u8>,
) -> bool {
    let mut found = false;
    let messages = split(&data.1).into_iter().map(|old| {
        if old[0] != kind.0 {
            return old;
        }
        found = true;
        message(kind, &change(&old[4..]))
    });
    data.1 = messages.collect::<Vec<_>>().concat();
    found
}

/// Replaces an extension of a ClientHello, or removes it.
pub(super) fn with_extension(hello: &[u8], kind: ExtensionType, body: Option<&[u8]>) -> Vec<u8> {
    let mut hello = ClientHello::parse(hello).unwrap();
    let mut extensions: Vec<_> =
        hello.extensions.received.iter().filter(|(other, _)| *other != kind).collect();
    extensions.extend(body.map(|body| (kind, body)));
    hello.extensions =
        ClientExtensions { unknown: UnknownExtensions::new(&extensions), ..Default::default() };
    let mut out = Vec::new();
    hello.encode(&mut out).unwrap();
    out[4..].to_vec()
}

/// A ClientHello with another session ID.
pub(super) fn with_session_id(hello: &[u8], id: &[u8]) -> Vec<u8> {
    let old = usize::from(hello[34]);
    let id = [&[u8::try_from(id.len()).unwrap()], id].concat();
    [&hello[..34], &id, &hello[35 + old..]].concat()
}

/// Replaces an extension of EncryptedExtensions, or removes it.
pub(super) fn with_answer(message: &[u8], kind: ExtensionType, body: Option<&[u8]>) -> Vec<u8> {
    let parsed = EncryptedExtensions::parse(message).unwrap();
    let mut extensions: Vec<_> =
        parsed.received.iter().filter(|(other, _)| *other != kind).collect();
    extensions.extend(body.map(|body| (kind, body)));
    let changed =
        EncryptedExtensions { unknown: UnknownExtensions::new(&extensions), ..Default::default() };
    let mut out = Vec::new();
    changed.encode(&mut out).unwrap();
    out[4..].to_vec()
}
