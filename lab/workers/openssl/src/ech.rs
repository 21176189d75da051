//! Encrypted ClientHello of OpenSSL. Both contexts have their part of one key.

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;

use foreign_types::{ForeignType, ForeignTypeRef};
use lab_scenario::{Ech, PrepareError, Row};
use openssl::base64::decode_block;
use openssl::error::ErrorStack;
use openssl::ssl::SslContext;
use openssl_sys as ffi;

use crate::connection::Connection;

/// Sets the contexts of a row that uses Encrypted ClientHello.
pub(crate) fn set(row: &Row, client: &SslContext, server: &SslContext) -> Result<(), PrepareError> {
    if row.ech.is_none() {
        return Ok(());
    }
    let (of_server, pem) = Store::generate()?;
    // SAFETY: both are valid; the context copies the store.
    ok(unsafe { SSL_CTX_set1_echstore(server.as_ptr(), of_server.0) })?;
    if row.ech == Ech::Grease {
        // SAFETY: the context is valid.
        unsafe { ffi::SSL_CTX_set_options(client.as_ptr(), OP_ECH_GREASE) };
        return Ok(());
    }
    let of_client = Store::of_configs(&configs(&pem)?)?;
    // SAFETY: both are valid; the context copies the store.
    Ok(ok(unsafe { SSL_CTX_set1_echstore(client.as_ptr(), of_client.0) })?)
}

/// Whether the connection used an encrypted ClientHello.
pub(crate) fn accepted(connection: &Connection) -> bool {
    let (mut inner, mut outer) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: the connection is valid, and the caller owns the names.
    unsafe {
        let status = SSL_ech_get1_status(connection.ssl.as_ptr(), &mut inner, &mut outer);
        ffi::OPENSSL_free(inner.cast());
        ffi::OPENSSL_free(outer.cast());
        status == STATUS_SUCCESS
    }
}

/// Keys or configurations.
struct Store(*mut c_void);

impl Store {
    fn new() -> Result<Self, ErrorStack> {
        // SAFETY: null selects the default library context.
        let store = unsafe { OSSL_ECHSTORE_new(ptr::null_mut(), ptr::null()) };
        if store.is_null() { Err(ErrorStack::get()) } else { Ok(Self(store)) }
    }

    /// A new key, and its file. RFC 9934
    fn generate() -> Result<(Self, Vec<u8>), PrepareError> {
        let name = CString::new(Ech::PUBLIC_NAME)?;
        let suite = HpkeSuite { kem: 0x20, kdf: 1, aead: 1 };
        let (made, file) = (Self::new()?, Memory::new(&[])?);
        // SAFETY: all objects are valid.
        unsafe {
            let length = Ech::MAXIMUM_NAME_LENGTH;
            ok(OSSL_ECHSTORE_new_config(made.0, ECH_VERSION, length, name.as_ptr(), suite))?;
            ok(OSSL_ECHSTORE_write_pem(made.0, LAST, file.0))?;
        }
        let pem = file.content();
        let (store, file) = (Self::new()?, Memory::new(&pem)?);
        // SAFETY: both are valid.
        ok(unsafe { OSSL_ECHSTORE_read_pem(store.0, file.0, FOR_RETRY) })?;
        Ok((store, pem))
    }

    fn of_configs(list: &[u8]) -> Result<Self, PrepareError> {
        let (store, bytes) = (Self::new()?, Memory::new(list)?);
        // SAFETY: both are valid.
        ok(unsafe { OSSL_ECHSTORE_read_echconfiglist(store.0, bytes.0) })?;
        Ok(store)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // SAFETY: the store is valid, and not used any more.
        unsafe { OSSL_ECHSTORE_free(self.0) };
    }
}

/// A BIO with bytes.
struct Memory(*mut ffi::BIO);

impl Memory {
    fn new(bytes: &[u8]) -> Result<Self, ErrorStack> {
        // SAFETY: the method is static; the BIO copies what is written to it.
        unsafe {
            let bio = ffi::BIO_new(ffi::BIO_s_mem());
            if bio.is_null() {
                return Err(ErrorStack::get());
            }
            let memory = Self(bio);
            let length = c_int::try_from(bytes.len()).unwrap_or(c_int::MAX);
            if length > 0 && ffi::BIO_write(bio, bytes.as_ptr().cast(), length) != length {
                return Err(ErrorStack::get());
            }
            Ok(memory)
        }
    }

    fn content(&self) -> Vec<u8> {
        let mut bytes = vec![0; 4096];
        let room = c_int::try_from(bytes.len()).unwrap_or(0);
        // SAFETY: the buffer has the given length.
        let length = unsafe { ffi::BIO_read(self.0, bytes.as_mut_ptr().cast(), room) };
        bytes.truncate(usize::try_from(length).unwrap_or(0));
        bytes
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the BIO is valid, and not used any more.
        unsafe { ffi::BIO_free_all(self.0) };
    }
}

/// The ECHConfigList in a file.
fn configs(pem: &[u8]) -> Result<Vec<u8>, PrepareError> {
    let text = String::from_utf8_lossy(pem);
    let section = text.split("-----BEGIN ECHCONFIG-----").nth(1).unwrap_or_default();
    let section = section.split("-----END").next().unwrap_or_default();
    let base64: String = section.split_whitespace().collect();
    Ok(decode_block(&base64)?)
}

fn ok(result: c_int) -> Result<(), ErrorStack> {
    if result == 1 { Ok(()) } else { Err(ErrorStack::get()) }
}

// Declarations of <openssl/ech.h>, <openssl/hpke.h> and <openssl/ssl.h> that openssl-sys lacks.

const ECH_VERSION: u16 = 0xfe0d;
const LAST: c_int = -1;
const FOR_RETRY: c_int = 1;
const STATUS_SUCCESS: c_int = 1;
const OP_ECH_GREASE: u64 = 1 << 37;

#[repr(C)]
struct HpkeSuite {
    kem: u16,
    kdf: u16,
    aead: u16,
}

unsafe extern "C" {
    fn OSSL_ECHSTORE_new(context: *mut c_void, properties: *const c_char) -> *mut c_void;
    fn OSSL_ECHSTORE_free(store: *mut c_void);
    fn OSSL_ECHSTORE_new_config(
        store: *mut c_void,
        version: u16,
        max_name_length: u8,
        public_name: *const c_char,
        suite: HpkeSuite,
    ) -> c_int;
    fn OSSL_ECHSTORE_write_pem(store: *mut c_void, index: c_int, out: *mut ffi::BIO) -> c_int;
    fn OSSL_ECHSTORE_read_pem(store: *mut c_void, from: *mut ffi::BIO, for_retry: c_int) -> c_int;
    fn OSSL_ECHSTORE_read_echconfiglist(store: *mut c_void, from: *mut ffi::BIO) -> c_int;
    fn SSL_CTX_set1_echstore(context: *mut ffi::SSL_CTX, store: *mut c_void) -> c_int;
    fn SSL_ech_get1_status(
        ssl: *mut ffi::SSL,
        inner: *mut *mut c_char,
        outer: *mut *mut c_char,
    ) -> c_int;
}
