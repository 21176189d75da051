//! Extensions, and the extensions that each message may have.
//!
//! A table for each message, in `message_extensions`, names the type and the encoding of each body.
//! An extension with a type, an encoding or a rule of its own has a file, which is for the client's
//! and the server's form. The caller decides whether the extension was offered, and what a response
//! means.

mod block;
mod message_extensions;
mod set_macro;

mod certificate_authorities;
mod compress_certificate;
mod ec_point_formats;
mod ech_config;
mod encrypted_client_hello;
mod imported_identity;
mod key_share;
mod padding;
mod pre_shared_key;
mod protocol_negotiation;
mod record_size_limit;
mod server_name;
mod server_padding;
mod signed_certificate_timestamp;
mod status_request;
mod ticket_request;
mod tls_flags;

pub use block::{ExtensionBlock, UnknownExtensions};
pub use certificate_authorities::DistinguishedName;
pub use ec_point_formats::check_point_formats;
pub use ech_config::{EchConfig, EchConfigContents};
pub(crate) use encrypted_client_hello::read_outer_extensions;
pub use encrypted_client_hello::{
    EncryptedClientHello, HpkeSymmetricCipherSuite, OuterEncryptedClientHello,
};
pub use imported_identity::ImportedIdentity;
pub use key_share::{KeyShareEntry, ServerKeyShare};
pub use message_extensions::{
    CertificateEntryExtensions, CertificateRequestExtensions, ClientExtensions,
    EncryptedExtensions, NewSessionTicketExtensions, ServerHelloExtensions,
};
pub use pre_shared_key::{OfferedPsks, PskBinder, PskIdentity};
pub use protocol_negotiation::ProtocolName;
pub use server_name::{HostName, ServerNameOffer, is_dns_name};
pub use signed_certificate_timestamp::SerializedSct;
pub use status_request::{CertificateStatus, CertificateStatusRequest, ResponderId};
pub use ticket_request::TicketRequest;
pub use tls_flags::TlsFlags;
