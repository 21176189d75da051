//! The bits of options, modes and verification that have a meaning here (`ssl.h`).

use core::ffi::c_int;

pub(crate) const CLEANSE_PLAINTEXT: u64 = 1 << 1;
pub(crate) const LEGACY_SERVER_CONNECT: u64 = 1 << 2;
pub(crate) const IGNORE_UNEXPECTED_EOF: u64 = 1 << 7;
pub(crate) const DISABLE_CA_NAMES: u64 = 1 << 9;
pub(crate) const NO_TICKET: u64 = 1 << 14;
pub(crate) const NO_COMPRESSION: u64 = 1 << 17;
pub(crate) const UNSAFE_LEGACY_RENEGOTIATION: u64 = 1 << 18;
pub(crate) const ENABLE_MIDDLEBOX_COMPAT: u64 = 1 << 20;
pub(crate) const PRIORITIZE_CHACHA: u64 = 1 << 21;
pub(crate) const CIPHER_SERVER_PREFERENCE: u64 = 1 << 22;
pub(crate) const NO_ANTI_REPLAY: u64 = 1 << 24;
pub(crate) const NO_TLS1_2: u64 = 1 << 27;
pub(crate) const NO_TLS1_3: u64 = 1 << 29;

/// The options of a new context.
pub(crate) const DEFAULT: u64 = NO_COMPRESSION | ENABLE_MIDDLEBOX_COMPAT;

pub(crate) const MODE_ENABLE_PARTIAL_WRITE: u32 = 1;
pub(crate) const MODE_ACCEPT_MOVING_WRITE_BUFFER: u32 = 2;
pub(crate) const MODE_AUTO_RETRY: u32 = 4;
pub(crate) const MODE_NO_AUTO_CHAIN: u32 = 8;
pub(crate) const MODE_RELEASE_BUFFERS: u32 = 16;
pub(crate) const MODE_SEND_FALLBACK_SCSV: u32 = 128;
pub(crate) const MODE_ASYNC: u32 = 256;

pub(crate) const VERIFY_PEER: c_int = 1;
pub(crate) const VERIFY_FAIL_IF_NO_PEER_CERT: c_int = 2;
pub(crate) const VERIFY_CLIENT_ONCE: c_int = 4;
pub(crate) const VERIFY_POST_HANDSHAKE: c_int = 8;

pub(crate) const SENT_SHUTDOWN: c_int = 1;
pub(crate) const RECEIVED_SHUTDOWN: c_int = 2;
