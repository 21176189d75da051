//! Handshake messages, one file each, and what they have in common.
//!
//! A file says how one message is read and written. It knows neither the order of messages nor what an
//! earlier one said. Where the two versions differ, the TLS 1.2 form says so in its name.
//! Next: [`ClientHello`], then [`ServerHello`]; [`crate::extension`] for what is inside them.

use crate::{DecodeError, EncodeError, HandshakeType, Reader, Writer};

mod certificate;
mod certificate_request;
mod certificate_request_tls12;
mod certificate_status;
mod certificate_tls12;
mod certificate_verify;
mod client_hello;
mod client_hello_encoding;
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
pub use client_hello::{ClientHello, ClientVersions};
pub use client_hello_encoding::ClientHelloEncoding;
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

/// A handshake message: its type, its body read, itself written.
pub trait HandshakeMessage<'a>: Sized {
    /// The type in its header.
    const TYPE: HandshakeType;

    /// Reads the fields of the body.
    fn read_body(reader: &mut Reader<'a>) -> Result<Self, DecodeError>;

    /// Writes the fields of the body.
    fn write_body(&self, w: &mut Writer<'_>);

    /// Parses a whole body (the header taken off), borrowing from it.
    #[inline]
    fn parse(body: &'a [u8]) -> Result<Self, DecodeError> {
        Reader::all(body, Self::read_body)
    }

    /// Appends the message, header and body. On an error `out` is as before.
    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let mut w = Writer::new(out);
        w.handshake(Self::TYPE, |w| self.write_body(w));
        w.finish()
    }
}
