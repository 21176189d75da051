//! The functions of a program that a connection calls.
//!
//! They are called between two steps of a handshake, with no borrow of the connection held, so they
//! may call functions of the connection for which they are called.

use core::ffi::{c_char, c_int, c_uchar, c_uint, c_void};
use core::ptr;

use super::security::Security;
use crate::sys::x509::{PasswordCallback, VerifyCallback, X509_STORE_CTX};

/// A function of any type, as `SSL_CTX_callback_ctrl` receives it.
pub(crate) type AnyFunction = Option<unsafe extern "C" fn()>;

/// A function of a program with the pointer that it is called with.
#[derive(Clone, Copy)]
pub(crate) struct Callback<F> {
    pub(crate) function: F,
    pub(crate) argument: *mut c_void,
}

/// `None` as the function: it is not set.
impl<F: Default> Default for Callback<F> {
    fn default() -> Self {
        Self { function: F::default(), argument: ptr::null_mut() }
    }
}

// SAFETY: programs set functions that any of their threads may call, and the pointer is only passed
// to the function, as with OpenSSL.
unsafe impl<F: Send> Send for Callback<F> {}
// SAFETY: as for Send.
unsafe impl<F: Sync> Sync for Callback<F> {}

/// A pointer to an SSL, as functions of a program receive it.
pub(crate) type SslPointer = *mut c_void;

pub(crate) type ServerName =
    Option<unsafe extern "C" fn(SslPointer, *mut c_int, *mut c_void) -> c_int>;
pub(crate) type SelectProtocol = Option<
    unsafe extern "C" fn(
        SslPointer,
        *mut *const c_uchar,
        *mut c_uchar,
        *const c_uchar,
        c_uint,
        *mut c_void,
    ) -> c_int,
>;
pub(crate) type Status = Option<unsafe extern "C" fn(SslPointer, *mut c_void) -> c_int>;
pub(crate) type Certificate = Option<unsafe extern "C" fn(SslPointer, *mut c_void) -> c_int>;
pub(crate) type AllowEarlyData = Option<unsafe extern "C" fn(SslPointer, *mut c_void) -> c_int>;
pub(crate) type ClientHello =
    Option<unsafe extern "C" fn(SslPointer, *mut c_int, *mut c_void) -> c_int>;
pub(crate) type Info = Option<unsafe extern "C" fn(SslPointer, c_int, c_int)>;
pub(crate) type KeyLog = Option<unsafe extern "C" fn(SslPointer, *const c_char)>;
pub(crate) type Message = Option<
    unsafe extern "C" fn(c_int, c_int, c_int, *const c_void, usize, SslPointer, *mut c_void),
>;
pub(crate) type NewSession = Option<unsafe extern "C" fn(SslPointer, *mut c_void) -> c_int>;
pub(crate) type RemoveSession = Option<unsafe extern "C" fn(*mut c_void, *mut c_void)>;
pub(crate) type GetSession =
    Option<unsafe extern "C" fn(SslPointer, *const c_uchar, c_int, *mut c_int) -> *mut c_void>;
pub(crate) type VerifyChain =
    Option<unsafe extern "C" fn(*mut X509_STORE_CTX, *mut c_void) -> c_int>;
pub(crate) type ClientCertificate =
    Option<unsafe extern "C" fn(SslPointer, *mut *mut c_void, *mut *mut c_void) -> c_int>;
pub(crate) type TicketKey = Option<
    unsafe extern "C" fn(
        SslPointer,
        *mut c_uchar,
        *mut c_uchar,
        *mut c_void,
        *mut c_void,
        c_int,
    ) -> c_int,
>;

pub(crate) type GenerateTicket = Option<unsafe extern "C" fn(SslPointer, *mut c_void) -> c_int>;
pub(crate) type DecryptTicket = Option<
    unsafe extern "C" fn(
        SslPointer,
        *mut c_void,
        *const c_uchar,
        usize,
        c_int,
        *mut c_void,
    ) -> c_int,
>;
pub(crate) type PskClient = Option<
    unsafe extern "C" fn(
        SslPointer,
        *const c_char,
        *mut c_char,
        c_uint,
        *mut c_uchar,
        c_uint,
    ) -> c_uint,
>;
pub(crate) type PskUseSession = Option<
    unsafe extern "C" fn(
        SslPointer,
        *const c_void,
        *mut *const c_uchar,
        *mut usize,
        *mut *mut c_void,
    ) -> c_int,
>;
pub(crate) type NotResumable = Option<unsafe extern "C" fn(SslPointer, c_int) -> c_int>;

/// All functions that a program can set.
#[derive(Clone, Copy, Default)]
pub(crate) struct Callbacks {
    pub(crate) verify: VerifyCallback,
    pub(crate) verify_chain: Callback<VerifyChain>,
    pub(crate) security: Callback<Security>,
    pub(crate) password: Callback<PasswordCallback>,
    pub(crate) server_name: Callback<ServerName>,
    pub(crate) select_protocol: Callback<SelectProtocol>,
    pub(crate) status: Callback<Status>,
    pub(crate) certificate: Callback<Certificate>,
    pub(crate) client_hello: Callback<ClientHello>,
    pub(crate) client_certificate: ClientCertificate,
    pub(crate) allow_early_data: Callback<AllowEarlyData>,
    pub(crate) info: Info,
    /// The function of a connection, in place of its context's.
    pub(crate) own_info: Info,
    pub(crate) key_log: KeyLog,
    pub(crate) message: Callback<Message>,
    pub(crate) new_session: NewSession,
    pub(crate) remove_session: RemoveSession,
    pub(crate) get_session: GetSession,
    /// With HMAC_CTX.
    pub(crate) ticket_key: TicketKey,
    /// With EVP_MAC_CTX.
    pub(crate) ticket_key_evp: TicketKey,
    pub(crate) generate_ticket: Callback<GenerateTicket>,
    pub(crate) decrypt_ticket: Callback<DecryptTicket>,
    pub(crate) not_resumable: NotResumable,
    pub(crate) psk_client: PskClient,
    pub(crate) psk_use_session: PskUseSession,
}
