//! The check of the fuzz target of Encrypted ClientHello: lists of configurations, the extension,
//! the decoding of an inner ClientHello with any outer one, a client-facing server, and records of
//! DNS.

use std::sync::{Arc, LazyLock};

use tercel::ech::{Front, FrontStep, Key, Keys, Offer, Retry, ServiceBinding};
use tercel::{ClientConfig, Error, Handshake, Policy, ReceiveBuffer};
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
        Some((3, bytes)) => front(bytes),
        Some((4, data)) => record(data),
        Some((5, text)) => std::str::from_utf8(text).is_ok_and(record_text),
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

fn record(bytes: &[u8]) -> bool {
    let Ok(record) = ServiceBinding::from_rdata(bytes) else { return false };
    assert_eq!(record.to_rdata(), bytes);
    // The text of an alias has no parameters.
    let again = record.to_string().parse::<ServiceBinding>();
    assert!(record.is_alias() || again.as_ref() == Ok(&record), "{record}");
    true
}

fn record_text(text: &str) -> bool {
    let Ok(record) = text.parse::<ServiceBinding>() else { return false };
    assert_eq!(ServiceBinding::from_rdata(&record.to_rdata()), Ok(record));
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

/// The keys of a client-facing server, and a ClientHello for one of them.
static OPENABLE: LazyLock<(Arc<Keys>, Vec<u8>)> = LazyLock::new(|| {
    let key = Key::generate("cover.example", 32).expect("a key");
    let offer = Offer::Configs(key.config());
    let config = ClientConfig::builder().verifier(Policy::Ask).build().expect("a configuration");
    let name = "secret.example".try_into().expect("a name");
    let (mut client, mut hello) = (Handshake::client(config, name).with_ech(offer), Vec::new());
    client.advance(&mut ReceiveBuffer::new(), &mut hello).expect("a ClientHello");
    (Arc::new(Keys::new(vec![(key, Retry::Send)]).expect("one key")), hello)
});

/// The size of pieces, whether the server sent a HelloRetryRequest, and the bytes of a client after
/// its first ClientHello.
fn front(bytes: &[u8]) -> bool {
    let [piece, retried, bytes @ ..] = bytes else { return false };
    let receive = |size: usize| -> (Result<(), Error>, Vec<u8>) {
        let (keys, hello) = &*OPENABLE;
        let (mut front, mut out) = (Front::new(Arc::clone(keys)), Vec::new());
        assert!(matches!(front.open(hello), Ok(FrontStep::Inner(_))));
        if retried & 1 == 1 {
            let random = tercel_wire::ServerHello::RETRY_RANDOM;
            let start = [22, 3, 3, 0, 80, 2, 0, 0, 76, 3, 3];
            front.receive_from_backend(&[&start[..], &random].concat());
        }
        let mut pieces = bytes.chunks(size.max(1));
        (pieces.try_for_each(|piece| front.receive_from_client(piece, &mut out)), out)
    };
    let (whole, divided) = (receive(bytes.len()), receive(usize::from(*piece)));
    assert_eq!(whole, divided, "pieces of {piece} bytes");
    // A second ClientHello that fits needs the client's key, so nothing else is added.
    assert!(whole.1.len() <= bytes.len());
    whole.0.is_ok()
}
