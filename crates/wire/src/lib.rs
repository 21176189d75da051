//! Encoding and decoding of TLS 1.2 and 1.3 messages and extensions.
//!
//! Parsing borrows from the input and allocates nothing. A parsed value is well-formed: input that
//! breaks the syntax, or a rule that needs no context, is refused with a [`DecodeError`], which
//! names the alert to send. The caller checks what was offered or is supported, and the order of
//! messages. There is no cryptography in this crate.
//!
//! | to read | look at |
//! |---|---|
//! | bytes, lengths, lists | [`Reader`], [`Writer`], [`List`] |
//! | registered numbers and their names | [`code_points`] |
//! | records and alerts | [`RecordHeader`], [`Alert`] |
//! | messages, one file each | [`handshake`], and the trait [`HandshakeMessage`] |
//! | extensions | [`extension`] |
//! | tables of fields and their encodings | `structure` |
//!
//! ```
//! use tercel_wire::{Finished, HandshakeMessage, MessageHeader};
//!
//! let mut message = Vec::new();
//! Finished { verify_data: &[7; 32] }.encode(&mut message)?;
//!
//! let (header, body) = message.split_first_chunk().ok_or("short")?;
//! assert_eq!(MessageHeader::parse(header).handshake_type, Finished::TYPE);
//! assert_eq!(Finished::parse(body)?.verify_data, [7; 32]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::panic
    )
)]

pub mod code_points;
pub mod extension;
pub mod handshake;

mod alert;
mod error;
mod list;
mod reader;
mod record;
mod structure;
mod unique;
mod writer;

pub use alert::Alert;
pub use code_points::*;
pub use error::{DecodeError, EncodeError};
pub use extension::*;
pub use handshake::*;
pub use list::{Element, Iter, List};
pub use reader::Reader;
pub use record::RecordHeader;
pub use writer::Writer;

/// The program of this crate's README is compiled as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
