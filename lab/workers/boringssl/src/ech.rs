//! Encrypted ClientHello of BoringSSL.

use std::ffi::CString;
use std::ptr;
use std::slice;

use boring::error::ErrorStack;
use boring::ssl::SslContext;
use boring_sys as ffi;
use foreign_types::{ForeignType, ForeignTypeRef};
use lab_scenario::{Ech, PrepareError, Row};

use crate::connection::Connection;

/// What a client offers.
pub(crate) enum Offer {
    Nothing,
    Grease,
    /// The configurations of the server, as an ECHConfigList.
    Configs(Vec<u8>),
}

impl Offer {
    /// Gives the server a new key, if the row uses Encrypted ClientHello.
    pub(crate) fn for_row(row: &Row, server: &SslContext) -> Result<Self, PrepareError> {
        if row.ech.is_none() {
            return Ok(Self::Nothing);
        }
        let configs = add_key(server)?;
        Ok(if row.ech == Ech::Accepted { Self::Configs(configs) } else { Self::Grease })
    }

    /// Makes the offer on a client's connection.
    pub(crate) fn set(&self, client: &Connection) -> Result<(), ErrorStack> {
        let ssl = client.ssl.as_ptr();
        match self {
            Self::Nothing => Ok(()),
            Self::Grease => {
                // SAFETY: the connection is valid.
                unsafe { ffi::SSL_set_enable_ech_grease(ssl, 1) };
                Ok(())
            }
            Self::Configs(list) => {
                // SAFETY: the connection is valid, and the list has the given length.
                ok(unsafe { ffi::SSL_set1_ech_config_list(ssl, list.as_ptr(), list.len()) })
            }
        }
    }
}

/// Whether the connection used an encrypted ClientHello.
pub(crate) fn accepted(connection: &Connection) -> bool {
    // SAFETY: the connection is valid.
    unsafe { ffi::SSL_ech_accepted(connection.ssl.as_ptr()) == 1 }
}

/// Returns the configurations of the new key.
fn add_key(server: &SslContext) -> Result<Vec<u8>, PrepareError> {
    let name = CString::new(Ech::PUBLIC_NAME)?;
    let (mut config, mut config_length) = (ptr::null_mut(), 0);
    let (mut list, mut list_length) = (ptr::null_mut(), 0);
    // SAFETY: each function gets objects that the functions before it have created, and checked for
    // success. The context takes its own references.
    unsafe {
        let (key, keys) = (ffi::EVP_HPKE_KEY_new(), ffi::SSL_ECH_KEYS_new());
        let made = ok(ffi::EVP_HPKE_KEY_generate(key, ffi::EVP_hpke_x25519_hkdf_sha256()))
            .and_then(|()| {
                let most = usize::from(Ech::MAXIMUM_NAME_LENGTH);
                let (config, length) = (&mut config, &mut config_length);
                ok(ffi::SSL_marshal_ech_config(config, length, 1, key, name.as_ptr(), most))
            })
            .and_then(|()| ok(ffi::SSL_ECH_KEYS_add(keys, 1, config, config_length, key)))
            .and_then(|()| {
                ok(ffi::SSL_ECH_KEYS_marshal_retry_configs(keys, &mut list, &mut list_length))
            })
            .and_then(|()| ok(ffi::SSL_CTX_set1_ech_keys(server.as_ptr(), keys)));
        let configs = made.map(|()| slice::from_raw_parts(list, list_length).to_vec());
        ffi::OPENSSL_free(config.cast());
        ffi::OPENSSL_free(list.cast());
        ffi::SSL_ECH_KEYS_free(keys);
        ffi::EVP_HPKE_KEY_free(key);
        Ok(configs?)
    }
}

fn ok(result: std::ffi::c_int) -> Result<(), ErrorStack> {
    if result == 1 { Ok(()) } else { Err(ErrorStack::get()) }
}
