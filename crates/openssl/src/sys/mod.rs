//! Declarations of the functions of libcrypto.so.3 that this crate calls.
//!
//! They are written from the documentation of OpenSSL 3. Only this crate declares them: it shares
//! certificates, keys, stores and BIOs with programs that made them with libcrypto. Records,
//! handshakes and their cryptography do not use it.

pub(crate) mod bio;
pub(crate) mod crypto;
pub(crate) mod err;
pub(crate) mod evp;
pub(crate) mod hmac;
pub(crate) mod pem;
pub(crate) mod stack;
pub(crate) mod x509;

/// Declares types of libcrypto that are known only by their address.
macro_rules! opaque {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        $(
            $(#[$doc])*
            #[repr(C)]
            #[allow(clippy::upper_case_acronyms)]
            pub(crate) struct $name {
                _opaque: [u8; 0],
            }
        )*
    };
}
use opaque;
