//! The checks of the fuzz targets of messages: one function for each family.
//!
//! Each check takes arbitrary bytes as a message body, parses it, walks through all of it, encodes
//! it and compares the result.

use std::fmt::Debug;

use tercel_wire::{
    Alert, Certificate, CertificateRequest, CertificateRequestTls12, CertificateStatus,
    CertificateTls12, CertificateVerify, ClientHello, ClientHelloEncoding, ClientKeyExchange,
    CompressedCertificate, Element, EncryptedExtensions, EndOfEarlyData, Finished, Grease,
    HandshakeMessage, HelloRequest, ImportedIdentity, KeyUpdate, MessageHeader, NewSessionTicket,
    NewSessionTicketTls12, RecordHeader, ServerHello, ServerHelloDone, ServerKeyExchange,
    ServerNameOffer, Writer,
};

/// A message whose fields determine its bytes: encoding it must give the same bytes.
macro_rules! exact {
    ($Message:ident, $body:expr) => {{
        let body: &[u8] = $body;
        $Message::parse(body).is_ok_and(|message| {
            walk(&message);
            assert_eq!(written(&message), body);
            true
        })
    }};
}

/// A message with extensions, whose order may change: parsing the encoding must give the same
/// message.
macro_rules! same {
    ($Message:ident, $body:expr) => {
        $Message::parse($body).is_ok_and(|message| {
            walk(&message);
            let again = written(&message);
            assert_eq!($Message::parse(&again), Ok(message));
            true
        })
    };
}

/// ClientHello, encoded in several ways.
pub fn client_hello(body: &[u8]) -> bool {
    let Ok(mut hello) = ClientHello::parse(body) else { return false };
    walk(&hello);
    // The parser does not keep names of unknown types, so such an extension cannot be encoded.
    if hello.extensions.server_name == Some(ServerNameOffer::Other) {
        hello.extensions.server_name = None;
    }
    for order in [None, Some(1), Some(2)] {
        let mut message = Vec::new();
        let encoding = ClientHelloEncoding { order, grease: None };
        assert_eq!(hello.encode_with(&encoding, &mut message), Ok(()));
        assert_eq!(ClientHello::parse(body_of(&message)), Ok(hello));
        check_binders(&hello, &message);
    }
    let grease = Some(Grease::from_random([1, 2, 3, 4, 5, 6, 7, 8]));
    let mut message = Vec::new();
    // Encoding may fail, because reserved values do not fit or are present already. Neither is a
    // fault.
    if hello.encode_with(&ClientHelloEncoding { order: Some(3), grease }, &mut message).is_ok() {
        walk(&ClientHello::parse(body_of(&message)));
    }
    true
}

/// ServerHello and HelloRetryRequest.
pub fn server_hello(body: &[u8]) -> bool {
    same!(ServerHello, body)
}

/// EncryptedExtensions.
pub fn encrypted_extensions(body: &[u8]) -> bool {
    same!(EncryptedExtensions, body)
}

/// Certificate of both versions, compressed or not, and CertificateStatus.
pub fn certificate(body: &[u8]) -> bool {
    any(&[
        same!(Certificate, body),
        exact!(CertificateTls12, body),
        exact!(CompressedCertificate, body),
        exact!(CertificateStatus, body),
    ])
}

/// CertificateRequest of both versions.
pub fn certificate_request(body: &[u8]) -> bool {
    any(&[same!(CertificateRequest, body), exact!(CertificateRequestTls12, body)])
}

/// CertificateVerify, Finished, KeyUpdate and the empty messages.
pub fn certificate_verify_finished(body: &[u8]) -> bool {
    assert!(exact!(Finished, body), "any bytes are a Finished");
    any(&[
        exact!(CertificateVerify, body),
        exact!(KeyUpdate, body),
        exact!(EndOfEarlyData, body),
        exact!(HelloRequest, body),
        exact!(ServerHelloDone, body),
    ])
}

/// The TLS 1.2 key exchange of both sides.
pub fn key_exchange_12(body: &[u8]) -> bool {
    if let Ok(exchange) = ServerKeyExchange::parse(body) {
        let mut signed = Vec::new();
        exchange.params.write(&mut Writer::new(&mut signed));
        assert_eq!(body.get(exchange.signed_range()), Some(&*signed));
    }
    any(&[exact!(ServerKeyExchange, body), exact!(ClientKeyExchange, body)])
}

/// NewSessionTicket of both versions.
pub fn tickets(body: &[u8]) -> bool {
    any(&[same!(NewSessionTicket, body), exact!(NewSessionTicketTls12, body)])
}

/// Record headers, message headers and alerts.
pub fn record_alert(bytes: &[u8]) -> bool {
    if let Some(header) = bytes.first_chunk() {
        let parsed = RecordHeader::parse(header);
        walk(&parsed);
        assert_eq!(parsed.encode(), *header);
    }
    if let Some(header) = bytes.first_chunk() {
        walk(&MessageHeader::parse(header));
    }
    Alert::parse(bytes).is_ok_and(|alert| {
        walk(&alert);
        assert_eq!(alert.encode(), bytes);
        true
    })
}

fn any(parsed: &[bool]) -> bool {
    parsed.contains(&true)
}

/// Walks through a message: `Debug` reads every list to its end.
fn walk(message: &impl Debug) {
    assert!(!format!("{message:?}").is_empty());
}

/// Encodes the body again; every parsed message can be encoded.
fn written<'a>(message: &impl HandshakeMessage<'a>) -> Vec<u8> {
    let mut out = Vec::new();
    assert_eq!(message.encode(&mut out), Ok(()));
    body_of(&out).to_vec()
}

fn body_of(message: &[u8]) -> &[u8] {
    message.get(MessageHeader::LENGTH..).unwrap_or_default()
}

/// Checks that binders are at the end of the message, and that inserting the same ones changes
/// nothing.
fn check_binders(hello: &ClientHello<'_>, message: &[u8]) {
    let Some(offered) = &hello.extensions.pre_shared_key else { return };
    for offer in offered.identities {
        if let Ok(imported) = ImportedIdentity::parse(offer.identity) {
            let mut again = Vec::new();
            assert_eq!(imported.encode(&mut again), Ok(()));
            assert_eq!(again, offer.identity);
        }
    }
    let offset = hello.binders_offset(message.len());
    assert_eq!(offset.map(|offset| message.len() - offset), Some(offered.binders_length()));
    let mut again = message.to_vec();
    assert_eq!(hello.replace_binders(&mut again, offered.binders), Ok(()));
    assert_eq!(again, message);
}
