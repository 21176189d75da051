//! The hello prober: sends one ClientHello and reads the server's first messages, also those of
//! versions and suites that the library does not implement.

use std::io::Write;

use tercel::pki_types::CertificateDer;
use tercel_crypto::KeyExchange;
use tercel_wire::{
    Certificate, CertificateStatus, CertificateTls12, CertificateVerify, CompressedCertificate,
    ContentType, EcCurveType, EncryptedExtensions, HandshakeMessage, HandshakeType, KeyShareEntry,
    NamedGroup, ProtocolVersion, Reader, RecordHeader, ServerHello, SignatureScheme,
};

use super::connections::Connections;
use super::keys::{ServerKeys, key_exchange};
use super::offer::Offer;
use super::records::{Part, Records};
use super::registry;
use super::reply::{Cut, Reply, ServerFlight};
use crate::transport::Transport;

/// How much of the server's answer is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// The ServerHello.
    Hello,
    /// Everything that the server sends before it waits for the client.
    Flight,
}

/// Sends this offer over a new connection, and reads the answer.
pub(crate) fn ask(connections: &mut Connections, offer: &Offer, depth: Depth) -> Reply {
    let transport = match connections.open() {
        Ok(transport) => transport,
        Err(why) => return Reply::Unanswered(why),
    };
    let reply = exchange(&transport, offer, depth);
    match &reply {
        Reply::Hello(_) => connections.served(),
        Reply::Alert(_) | Reply::Invalid(_) => connections.answered(),
        Reply::Closed(how) => connections.closed(how),
        Reply::Unanswered(why) => connections.unanswered(why),
    }
    reply
}

fn exchange(mut transport: &Transport, offer: &Offer, depth: Depth) -> Reply {
    let key = offer.share.and_then(|group| Some((group, key_exchange(group)?)));
    let share = key
        .as_ref()
        .map(|(group, key)| KeyShareEntry { group: *group, key_exchange: key.public_share() });
    let Some(message) = offer.encode(share) else {
        return Reply::Unanswered("the ClientHello cannot be encoded".to_owned());
    };
    let sent = record(offer.version, &message).is_some_and(|record| {
        // A server may answer and close before it has read everything.
        transport.write_all(&record).is_ok()
    });
    let mut records = Records::new(transport);
    let body = match records.next() {
        Part::Message(HandshakeType::SERVER_HELLO, body) => body,
        Part::Message(kind, _) => {
            return Reply::Invalid(format!("sent {kind} in place of a ServerHello"));
        }
        Part::Alert(alert) => return Reply::Alert(alert),
        Part::Closed => return Reply::Closed(CLOSED),
        Part::Reset => return Reply::Closed(RESET),
        Part::Invalid(why) | Part::TooLong(why) => return Reply::Invalid(why),
        Part::Failed(why) if sent => return Reply::Unanswered(why),
        Part::Failed(why) => return Reply::Unanswered(format!("cannot send: {why}")),
    };
    let hello = match ServerHello::parse(&body) {
        Ok(hello) => hello,
        Err(error) => return Reply::Invalid(format!("sent a malformed ServerHello: {error}")),
    };
    let mut flight = ServerFlight::new(&hello);
    if let Err(why) = check(offer, &flight) {
        return Reply::Invalid(why);
    }
    if depth == Depth::Flight && !flight.retry {
        let rest = match flight.version {
            ProtocolVersion::TLS1_3 => {
                protect(&mut records, &hello, key.map(|(_, key)| key), [&message, &body])
            }
            _ => Ok(()),
        };
        let rest = rest.map_err(Cut::Unreadable);
        flight.cut = rest.and_then(|()| read_flight(&mut records, &mut flight)).err();
    }
    Reply::Hello(Box::new(flight))
}

/// The message as one record. `None` if it is too long for a record, which does not occur.
fn record(version: ProtocolVersion, message: &[u8]) -> Option<Vec<u8>> {
    // The first record has the oldest version for compatibility. RFC 9846 5.1
    let oldest = version.min(ProtocolVersion::TLS1_0);
    let length = u16::try_from(message.len()).ok().filter(|length| *length <= 1 << 14)?;
    let content_type = ContentType::HANDSHAKE;
    let header = RecordHeader { content_type, legacy_record_version: oldest, length };
    Some([&header.encode()[..], message].concat())
}

/// Refuses a choice that was not offered. RFC 9846 4.2.3, RFC 5246 7.4.1.3
fn check(offer: &Offer, flight: &ServerFlight) -> Result<(), String> {
    if !offer.suites.contains(&flight.suite) {
        let suite = registry::name(flight.suite);
        return Err(format!("chose the cipher suite {suite}, which was not offered"));
    }
    if !(ProtocolVersion::SSL3_0..=offer.version).contains(&flight.version) {
        return Err(format!("chose the version {}, which was not offered", flight.version));
    }
    let group = flight.group.filter(|_| flight.version == ProtocolVersion::TLS1_3);
    match group {
        Some(group) if !offer.groups.contains(&group) => {
            Err(format!("chose the group {group}, which was not offered"))
        }
        _ => Ok(()),
    }
}

/// Derives the keys for the rest of the server's flight.
fn protect(
    records: &mut Records<&Transport>,
    hello: &ServerHello<'_>,
    key: Option<KeyExchange>,
    [client_message, server_body]: [&[u8]; 2],
) -> Result<(), String> {
    let (Some(share), Some(key)) = (hello.key_share(), key) else {
        return Err("the server sent no key share".to_owned());
    };
    let shared = key
        .agree(share.key_exchange)
        .map_err(|_| "the server's key share is invalid".to_owned())?;
    let [_, a, b, c] = u32::try_from(server_body.len()).unwrap_or_default().to_be_bytes();
    let header = [HandshakeType::SERVER_HELLO.0, a, b, c];
    let server_message = [&header[..], server_body].concat();
    let hellos = [client_message, &server_message];
    let keys = ServerKeys::derive(hello.cipher_suite, shared.as_bytes(), hellos)
        .ok_or("the cipher suite is not implemented")?;
    records.set_keys(keys)
}

/// Reads the messages after the ServerHello, up to the one that ends the server's flight.
fn read_flight(records: &mut Records<&Transport>, flight: &mut ServerFlight) -> Result<(), Cut> {
    loop {
        match records.next() {
            Part::Message(HandshakeType::SERVER_HELLO_DONE | HandshakeType::FINISHED, _) => {
                return Ok(());
            }
            Part::Message(kind, body) => read_message(kind, &body, flight)
                .map_err(|why| format!("sent a malformed {kind} message: {why}"))
                .inspect_err(|why| flight.breach = Some(why.clone()))
                .map_err(Cut::Unreadable)?,
            Part::Alert(alert) => return Err(Cut::Alert(alert)),
            Part::Closed => return Err(Cut::Lost(CLOSED.to_owned())),
            Part::Reset => return Err(Cut::Lost(RESET.to_owned())),
            Part::Failed(why) => return Err(Cut::Lost(why)),
            Part::Invalid(why) => {
                flight.breach = Some(why.clone());
                return Err(Cut::Unreadable(why));
            }
            Part::TooLong(why) => return Err(Cut::Unreadable(why)),
        }
    }
}

fn read_message(
    kind: HandshakeType,
    body: &[u8],
    flight: &mut ServerFlight,
) -> Result<(), tercel_wire::DecodeError> {
    let owned = |der: &[u8]| CertificateDer::from(der.to_vec());
    match (kind, flight.version) {
        (HandshakeType::ENCRYPTED_EXTENSIONS, ProtocolVersion::TLS1_3) => {
            let extensions = EncryptedExtensions::parse(body)?;
            flight.extensions.extend(extensions.types());
            flight.alpn = extensions.alpn.map(|name| name.0.to_vec());
            flight.record_size_limit = extensions.record_size_limit;
        }
        (HandshakeType::CERTIFICATE, ProtocolVersion::TLS1_3) => {
            let certificate = Certificate::parse(body)?;
            flight.chain = certificate.certificates().take(MAX_CHAIN).map(owned).collect();
            if let Some(leaf) = certificate.certificate_list.first() {
                let staple = leaf.extensions.status_request;
                flight.ocsp_response = staple.map(|staple| staple.ocsp_response.to_vec());
                let timestamps = leaf.extensions.signed_certificate_timestamp;
                flight.timestamps = timestamps.map_or(0, |list| list.len());
            }
        }
        (HandshakeType::CERTIFICATE, _) => {
            let certificate = CertificateTls12::parse(body)?;
            flight.chain = certificate.certificates().take(MAX_CHAIN).map(owned).collect();
        }
        (HandshakeType::COMPRESSED_CERTIFICATE, ProtocolVersion::TLS1_3) => {
            flight.compression = Some(CompressedCertificate::parse(body)?.algorithm);
        }
        (HandshakeType::CERTIFICATE_VERIFY, ProtocolVersion::TLS1_3) => {
            flight.scheme = Some(CertificateVerify::parse(body)?.algorithm);
        }
        (HandshakeType::CERTIFICATE_STATUS, _) => {
            flight.ocsp_response = Some(CertificateStatus::parse(body)?.ocsp_response.to_vec());
        }
        (HandshakeType::CERTIFICATE_REQUEST, _) => flight.requests_certificate = true,
        (HandshakeType::SERVER_KEY_EXCHANGE, _) => read_server_key_exchange(body, flight)?,
        _ => {}
    }
    Ok(())
}

/// Reads the parameters of any key exchange before TLS 1.3. RFC 5246 7.4.3, RFC 8422 5.4, RFC 4279
fn read_server_key_exchange(
    body: &[u8],
    flight: &mut ServerFlight,
) -> Result<(), tercel_wire::DecodeError> {
    let mut reader = Reader::new(body);
    let name = registry::name(flight.suite);
    let key_exchange = name.split("_WITH_").next().unwrap_or_default();
    if key_exchange.contains("PSK") {
        reader.opaque16()?; // the identity hint
    }
    if key_exchange.contains("ECDH") {
        // Explicit curves are obsolete; their parameters are not read.
        if EcCurveType(reader.u8()?) != EcCurveType::NAMED_CURVE {
            return Ok(());
        }
        flight.group = Some(NamedGroup(reader.u16()?));
        reader.opaque8()?; // the point
    } else if key_exchange.contains("DH") {
        let prime = reader.opaque16()?;
        flight.dh_bits = Some(bits(prime));
        reader.opaque16()?; // the generator
        reader.opaque16()?; // the public value
    } else {
        return Ok(());
    }
    let is_signed = !key_exchange.contains("anon") && !key_exchange.contains("PSK");
    if is_signed && flight.version == ProtocolVersion::TLS1_2 {
        flight.scheme = Some(SignatureScheme(reader.u16()?));
    }
    Ok(())
}

/// The number of bits of a big-endian number.
fn bits(number: &[u8]) -> usize {
    let mut digits = number.iter().skip_while(|byte| **byte == 0);
    let top = digits.next().map_or(0, |byte| 8 - byte.leading_zeros());
    usize::try_from(top).unwrap_or_default() + 8 * digits.count()
}

const CLOSED: &str = "closed the connection";
const RESET: &str = "reset the connection";

/// The number of certificates of a chain that are read.
const MAX_CHAIN: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tercel_wire::CipherSuite;

    fn flight(version: ProtocolVersion, suite: u16) -> ServerFlight {
        let cipher_suite = CipherSuite(suite);
        ServerFlight::new(&ServerHello {
            legacy_version: version,
            random: &[0; 32],
            session_id_echo: &[],
            cipher_suite,
            compression_method: tercel_wire::CompressionMethod::NULL,
            extensions: tercel_wire::ServerHelloExtensions::default(),
        })
    }

    /// RFC 5246 7.4.3
    #[test]
    fn parameters_of_finite_fields_and_curves_are_read() {
        let mut dhe = flight(ProtocolVersion::TLS1_2, 0x009e);
        let body = [0, 3, 0, 0x40, 0, 0, 1, 2, 0, 1, 9, 4, 1, 0, 1, 7];
        read_server_key_exchange(&body, &mut dhe).unwrap();
        assert_eq!((dhe.dh_bits, dhe.scheme), (Some(15), Some(SignatureScheme::RSA_PKCS1_SHA256)));
        let mut ecdhe = flight(ProtocolVersion::TLS1_0, 0xc013);
        read_server_key_exchange(&[3, 0, 29, 1, 9, 0, 1, 7], &mut ecdhe).unwrap();
        assert_eq!((ecdhe.group, ecdhe.scheme), (Some(NamedGroup::X25519), None));
        assert!(read_server_key_exchange(&[3, 0], &mut ecdhe).is_err());
    }

    proptest! {
        #[test]
        fn any_message_is_read_without_a_panic(
            kind in 0u8..32,
            version in 0x0300u16..0x0305,
            row in 0..registry::REGISTERED.len(),
            body in proptest::collection::vec(any::<u8>(), 0..300),
        ) {
            let mut flight = flight(ProtocolVersion(version), registry::REGISTERED[row].0);
            let _ = read_message(HandshakeType(kind), &body, &mut flight);
        }
    }
}
