//! SSL: certificates and private keys of one connection.

use core::ffi::{c_char, c_int, c_long, c_uchar, c_void};
use core::ptr;

use super::context_credentials::{
    RSA, check_key, current_certificate, current_key, key_of, put_all, put_certificate,
    put_certificate_file, put_chain_file, put_key, put_key_file, put_rsa_key_file, use_key,
};
use super::{FAIL, bytes, text};
use crate::connection::Ssl;
use crate::entry::{Entered, functions, object};
use crate::objects::certificate::Certificate;
use crate::objects::key::Key;
use crate::sys::evp::EVP_PKEY;
use crate::sys::stack::Stack;
use crate::sys::x509::{PasswordCallback, X509};

functions! {
    fn SSL_use_certificate(ssl: &Ssl; certificate: *mut X509) -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        put_certificate(&**ssl, unsafe { Certificate::share(certificate) })
    }
    fn SSL_use_certificate_ASN1(ssl: &Ssl; der: *const c_uchar, length: c_int) -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        match Certificate::from_der(unsafe { bytes(der, length) }) {
            Some(certificate) => put_certificate(&**ssl, Some(certificate)),
            None => FAIL,
        }
    }
    fn SSL_use_certificate_file(ssl: &Ssl; file: *const c_char, kind: c_int) -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        put_certificate_file(&**ssl, unsafe { text(file) }, kind)
    }
    fn SSL_use_certificate_chain_file(ssl: &Ssl; file: *const c_char) -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        put_chain_file(&**ssl, unsafe { text(file) })
    }
    fn SSL_use_PrivateKey(ssl: &Ssl; key: *mut EVP_PKEY) -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        put_key(&**ssl, unsafe { Key::share(key) })
    }
    fn SSL_use_PrivateKey_ASN1(;
        kind: c_int, ssl: *mut Ssl, der: *const c_uchar, length: c_long,
    ) -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        let (ssl, key) = unsafe { (object(ssl), key_of(kind, der, length)) };
        let (Some(ssl), Some(key)) = (ssl, key) else { return FAIL };
        let _entered = Entered::new(&*ssl);
        ssl.change(|settings| use_key(settings, key))
    }
    fn SSL_use_PrivateKey_file(ssl: &Ssl; file: *const c_char, kind: c_int) -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        put_key_file(&**ssl, unsafe { text(file) }, kind)
    }
    fn SSL_use_RSAPrivateKey(ssl: &Ssl; key: *mut c_void) -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        put_key(&**ssl, unsafe { Key::of_rsa(key) })
    }
    fn SSL_use_RSAPrivateKey_ASN1(ssl: &Ssl; der: *const c_uchar, length: c_long) -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        let key = unsafe { key_of(RSA, der, length) };
        key.map_or(FAIL, |key| put_key(&**ssl, Some(key)))
    }
    fn SSL_use_RSAPrivateKey_file(ssl: &Ssl; file: *const c_char, kind: c_int) -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        put_rsa_key_file(&**ssl, unsafe { text(file) }, kind)
    }
    /// Static Diffie-Hellman parameters are accepted and not used.
    fn SSL_set0_tmp_dh_pkey(ssl: &Ssl; parameters: *mut EVP_PKEY) -> c_int = FAIL => {
        // SAFETY: the caller passes its reference on.
        let parameters = unsafe { Key::from_raw(parameters) };
        ssl.change(|settings| settings.temporary_dh = parameters);
        1
    }
    fn SSL_set_default_passwd_cb(ssl: &Ssl; callback: PasswordCallback) -> () = () => {
        ssl.change(|settings| settings.callbacks.password.function = callback);
    }
    fn SSL_set_default_passwd_cb_userdata(ssl: &Ssl; argument: *mut c_void) -> () = () => {
        ssl.change(|settings| settings.callbacks.password.argument = argument);
    }
    fn SSL_get_default_passwd_cb(ssl: &Ssl;) -> PasswordCallback = None => {
        ssl.settings().callbacks.password.function
    }
    fn SSL_get_default_passwd_cb_userdata(ssl: &Ssl;) -> *mut c_void = ptr::null_mut() => {
        ssl.settings().callbacks.password.argument
    }
    fn SSL_use_cert_and_key(ssl: &Ssl;
        certificate: *mut X509, key: *mut EVP_PKEY, chain: *mut Stack, replaces: c_int,
    ) -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        unsafe { put_all(&**ssl, certificate, key, chain, replaces != 0) }
    }
    fn SSL_check_private_key(ssl: &Ssl;) -> c_int = FAIL => {
        check_key(&ssl.settings())
    }
    fn SSL_get_certificate(ssl: &Ssl;) -> *mut X509 = ptr::null_mut() => {
        let settings = ssl.settings();
        let selected = ssl.selected.get().and_then(|index| settings.identities.get(index));
        match selected.and_then(|identity| identity.certificate.as_ref()) {
            Some(certificate) => certificate.as_ptr(),
            None => current_certificate(&settings),
        }
    }
    fn SSL_get_privatekey(ssl: &Ssl;) -> *mut EVP_PKEY = ptr::null_mut() => {
        let settings = ssl.settings();
        let selected = ssl.selected.get().and_then(|index| settings.identities.get(index));
        match selected.and_then(|identity| identity.key.as_ref()) {
            Some(key) => key.as_ptr(),
            None => current_key(&settings),
        }
    }
    fn SSL_certs_clear(ssl: &Ssl;) -> () = () => {
        ssl.change(|settings| {
            settings.identities.clear();
            settings.current = 0;
        });
    }
}
