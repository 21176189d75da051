//! The check of the fuzz target of Encrypted ClientHello: lists of configurations, the extension,
//! and the decoding of an inner ClientHello with any outer one.

use tercel_wire::{
    ClientHello, EchConfig, Element, EncryptedClientHello, HandshakeMessage, Reader, Writer,
    decode_inner_client_hello,
};

/// The first byte selects what the others are.
pub fn encrypted_client_hello(data: &[u8]) -> bool {
    match data.split_first() {
        Some((0, list)) => config_list(list),
        Some((1, body)) => extension(body),
        Some((2, hellos)) => inner_hello(hellos),
        _ => false,
    }
}

fn config_list(bytes: &[u8]) -> bool {
    let Ok(list) = EchConfig::parse_list(bytes) else { return false };
    let mut out = Vec::new();
    let mut w = Writer::new(&mut out);
    w.vec16(|w| list.iter().for_each(|config| config.write(w)));
    assert_eq!(w.finish(), Ok(()));
    assert_eq!(out, bytes);
    for contents in list.iter().filter_map(|config| config.contents) {
        let mut out = Vec::new();
        contents.encode(&mut Writer::new(&mut out));
        assert!(list.iter().any(|config| config.encoded == out));
        assert!(contents.valid_public_name().is_none_or(str::is_ascii));
        assert!(!contents.has_mandatory_extension() || !contents.extensions.is_empty());
    }
    tercel::ech::ConfigList::parse(bytes).is_ok_and(|list| list.as_bytes() == bytes)
}

fn extension(body: &[u8]) -> bool {
    let Ok(extension) = EncryptedClientHello::parse(body) else { return false };
    let mut out = Vec::new();
    extension.write(&mut Writer::new(&mut out));
    assert_eq!(out, body);
    true
}

/// An outer ClientHello's body with its length, then the encoding of an inner ClientHello.
fn inner_hello(bytes: &[u8]) -> bool {
    let mut reader = Reader::new(bytes);
    let Ok(outer) = reader.opaque16() else { return false };
    let encoded = reader.rest();
    if let Ok(Some(payload)) = ClientHello::encrypted_payload(outer) {
        assert!(payload.start < payload.end && payload.end <= outer.len());
    }
    let Ok(message) = decode_inner_client_hello(encoded, outer) else { return false };
    // The length is bounded by that of both, and the header.
    assert!(message.len() <= encoded.len() + outer.len() + 4);
    message.get(4..).is_some_and(|body| ClientHello::parse(body).is_ok())
}
