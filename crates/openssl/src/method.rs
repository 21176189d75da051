//! SSL_METHOD: which side a connection may take, and which versions it may use.

use core::ffi::c_int;

pub(crate) const TLS1: c_int = 0x0301;
pub(crate) const TLS1_1: c_int = 0x0302;
pub(crate) const TLS1_2: c_int = 0x0303;
pub(crate) const TLS1_3: c_int = 0x0304;

/// A method. Programs know the addresses of the static objects below.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Method {
    pub(crate) client: bool,
    pub(crate) server: bool,
    pub(crate) is_datagram: bool,
    /// The only version; 0 for all.
    pub(crate) version: c_int,
}

const fn method(client: bool, server: bool, version: c_int) -> Method {
    Method { client, server, is_datagram: false, version }
}

static TLS: Method = method(true, true, 0);
static TLS_CLIENT: Method = method(true, false, 0);
static TLS_SERVER: Method = method(false, true, 0);
static TLS1_2_BOTH: Method = method(true, true, TLS1_2);
static TLS1_2_CLIENT: Method = method(true, false, TLS1_2);
static TLS1_2_SERVER: Method = method(false, true, TLS1_2);
/// The methods of versions that Tercel refuses: contexts are made, and handshakes fail.
static OLD: Method = method(true, true, TLS1_1);
static DATAGRAM: Method = Method { client: true, server: true, is_datagram: true, version: 0xfefd };

/// Defines the exported functions that return a method.
macro_rules! methods {
    ($($name:ident => $method:ident,)*) => {
        $(
            #[unsafe(no_mangle)]
            #[allow(non_snake_case)]
            pub(crate) extern "C" fn $name() -> *const Method {
                &raw const $method
            }
        )*
    };
}

methods! {
    TLS_method => TLS,
    TLS_client_method => TLS_CLIENT,
    TLS_server_method => TLS_SERVER,
    TLSv1_2_method => TLS1_2_BOTH,
    TLSv1_2_client_method => TLS1_2_CLIENT,
    TLSv1_2_server_method => TLS1_2_SERVER,
    TLSv1_1_method => OLD,
    TLSv1_1_client_method => OLD,
    TLSv1_1_server_method => OLD,
    TLSv1_method => OLD,
    TLSv1_client_method => OLD,
    TLSv1_server_method => OLD,
    DTLS_method => DATAGRAM,
    DTLS_client_method => DATAGRAM,
    DTLS_server_method => DATAGRAM,
    DTLSv1_2_method => DATAGRAM,
    DTLSv1_2_client_method => DATAGRAM,
    DTLSv1_2_server_method => DATAGRAM,
    DTLSv1_method => DATAGRAM,
    DTLSv1_client_method => DATAGRAM,
    DTLSv1_server_method => DATAGRAM,
}
