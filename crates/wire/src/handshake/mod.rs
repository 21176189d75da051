//! Handshake messages, one file each, and the trait that they share.
//!
//! Each file reads and writes one message. The caller checks the order of messages and their
//! agreement with earlier ones. If a message has another form in TLS 1.2, the name of that form
//! ends with `Tls12`.

use crate::code_points::HandshakeType;
use crate::error::{DecodeError, EncodeError};
use crate::extension::CertificateStatus;
use crate::reader::Reader;
use crate::writer::Writer;

mod certificate;
mod certificate_request;
mod certificate_request_tls12;
mod certificate_tls12;
mod certificate_verify;
mod client_hello;
mod client_key_exchange;
mod compressed_certificate;
mod empty;
mod encrypted_extensions;
mod finished;
mod grease;
mod header;
mod key_update;
mod new_session_ticket;
mod new_session_ticket_tls12;
mod raw_public_key_tls12;
mod server_hello;
mod server_key_exchange;

pub use certificate::{Certificate, CertificateEntry};
pub use certificate_request::CertificateRequest;
pub use certificate_request_tls12::CertificateRequestTls12;
pub use certificate_tls12::{Asn1Cert, CertificateTls12};
pub use certificate_verify::CertificateVerify;
pub use client_hello::{
    ClientHello, ClientHelloEncoding, ClientVersions, InnerClientHelloEncoding,
    decode_inner_client_hello,
};
pub use client_key_exchange::ClientKeyExchange;
pub use compressed_certificate::CompressedCertificate;
pub use empty::{EndOfEarlyData, HelloRequest, ServerHelloDone};
pub use finished::Finished;
pub use grease::Grease;
pub use header::{MessageHeader, message_hash_header};
pub use key_update::KeyUpdate;
pub use new_session_ticket::NewSessionTicket;
pub use new_session_ticket_tls12::NewSessionTicketTls12;
pub use raw_public_key_tls12::RawPublicKeyTls12;
pub use server_hello::ServerHello;
pub use server_key_exchange::{ServerEcdhParams, ServerKeyExchange};

/// A handshake message: its type, and how its body is read and written.
pub trait HandshakeMessage<'a>: Sized {
    /// The type in the message header.
    const TYPE: HandshakeType;

    /// Reads the fields of the body.
    fn read_body(reader: &mut Reader<'a>) -> Result<Self, DecodeError>;

    /// Writes the fields of the body.
    fn write_body(&self, w: &mut Writer<'_>);

    /// Parses a whole body (without the header), borrowing from it.
    #[inline]
    fn parse(body: &'a [u8]) -> Result<Self, DecodeError> {
        Reader::parse_all(body, Self::read_body)
    }

    /// Appends the message, header and body. On an error, `out` is restored.
    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let mut w = Writer::new(out);
        w.handshake(Self::TYPE, |w| self.write_body(w));
        w.finish()
    }
}

/// Makes a type with an encoding a handshake message, whose body is the encoding.
macro_rules! message {
    ($Message:ty = $TYPE:ident) => {
        impl<'a> $crate::handshake::HandshakeMessage<'a> for $Message {
            const TYPE: $crate::code_points::HandshakeType =
                $crate::code_points::HandshakeType::$TYPE;

            #[inline]
            fn read_body(
                reader: &mut $crate::reader::Reader<'a>,
            ) -> Result<Self, $crate::error::DecodeError> {
                $crate::list::Element::read(reader)
            }

            fn write_body(&self, w: &mut $crate::writer::Writer<'_>) {
                $crate::list::Element::write(self, w);
            }
        }
    };
}
use message;

message! { CertificateStatus<'a> = CERTIFICATE_STATUS }
