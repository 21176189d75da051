//! SSL_CTX: certificates and private keys.

use core::ffi::{CStr, c_char, c_int, c_long, c_uchar, c_void};
use core::ptr;

use super::{FAIL, OK, bytes, given, security, text};
use crate::connection::Ssl;
use crate::context::Context;
use crate::context::files::{read_certificate, read_chain, read_key};
use crate::entry::{functions, object};
use crate::errors::{self, reasons};
use crate::objects::certificate::Certificate;
use crate::objects::key::Key;
use crate::objects::list;
use crate::settings::Settings;
use crate::settings::callbacks::Callback;
use crate::settings::identity::Identity;
use crate::sys::evp::{EVP_PKEY, EVP_PKEY_get_base_id, d2i_PrivateKey};
use crate::sys::stack::Stack;
use crate::sys::x509::{PasswordCallback, X509};

functions! {
    fn SSL_CTX_use_certificate(context: &Context; certificate: *mut X509) -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        put_certificate(&**context, unsafe { Certificate::share(certificate) })
    }
    fn SSL_CTX_use_certificate_ASN1(context: &Context; length: c_int, der: *const c_uchar)
        -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        match Certificate::from_der(unsafe { bytes(der, length) }) {
            Some(certificate) => put_certificate(&**context, Some(certificate)),
            None => FAIL,
        }
    }
    fn SSL_CTX_use_certificate_file(context: &Context; file: *const c_char, kind: c_int)
        -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        put_certificate_file(&**context, unsafe { text(file) }, kind)
    }
    fn SSL_CTX_use_certificate_chain_file(context: &Context; file: *const c_char)
        -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        put_chain_file(&**context, unsafe { text(file) })
    }
    fn SSL_CTX_use_PrivateKey(context: &Context; key: *mut EVP_PKEY) -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        put_key(&**context, unsafe { Key::share(key) })
    }
    /// The connection of `SSL_use_PrivateKey_ASN1` is the second argument, too.
    fn SSL_CTX_use_PrivateKey_ASN1(;
        kind: c_int, context: *mut Context, der: *const c_uchar, length: c_long,
    ) -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        let (context, key) = unsafe { (object(context), key_of(kind, der, length)) };
        let (Some(context), Some(key)) = (context, key) else { return FAIL };
        context.change(|settings| use_key(settings, key))
    }
    fn SSL_CTX_use_PrivateKey_file(context: &Context; file: *const c_char, kind: c_int)
        -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        put_key_file(&**context, unsafe { text(file) }, kind)
    }
    fn SSL_CTX_use_RSAPrivateKey(context: &Context; key: *mut c_void) -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        put_key(&**context, unsafe { Key::of_rsa(key) })
    }
    fn SSL_CTX_use_RSAPrivateKey_ASN1(context: &Context; der: *const c_uchar, length: c_long)
        -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        let key = unsafe { key_of(RSA, der, length) };
        key.map_or(FAIL, |key| put_key(&**context, Some(key)))
    }
    fn SSL_CTX_use_RSAPrivateKey_file(context: &Context; file: *const c_char, kind: c_int)
        -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        put_rsa_key_file(&**context, unsafe { text(file) }, kind)
    }
    fn SSL_CTX_use_cert_and_key(context: &Context;
        certificate: *mut X509, key: *mut EVP_PKEY, chain: *mut Stack, replaces: c_int,
    ) -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        unsafe { put_all(&**context, certificate, key, chain, replaces != 0) }
    }
    fn SSL_CTX_check_private_key(context: &Context;) -> c_int = FAIL => {
        check_key(&context.settings())
    }
    fn SSL_CTX_get0_certificate(context: &Context;) -> *mut X509 = ptr::null_mut() => {
        current_certificate(&context.settings())
    }
    fn SSL_CTX_get0_privatekey(context: &Context;) -> *mut EVP_PKEY = ptr::null_mut() => {
        current_key(&context.settings())
    }
    fn SSL_CTX_set_default_passwd_cb(context: &Context;
        callback: crate::sys::x509::PasswordCallback) -> () = () => {
        context.change(|settings| settings.callbacks.password.function = callback);
    }
    fn SSL_CTX_set_default_passwd_cb_userdata(context: &Context; argument: *mut c_void) -> () = () => {
        context.change(|settings| settings.callbacks.password.argument = argument);
    }
    fn SSL_CTX_get_default_passwd_cb(context: &Context;)
        -> crate::sys::x509::PasswordCallback = None => {
        context.settings().callbacks.password.function
    }
    fn SSL_CTX_get_default_passwd_cb_userdata(context: &Context;) -> *mut c_void = ptr::null_mut() => {
        context.settings().callbacks.password.argument
    }
    /// Static Diffie-Hellman parameters are accepted and not used.
    fn SSL_CTX_set0_tmp_dh_pkey(context: &Context; parameters: *mut EVP_PKEY) -> c_int = FAIL => {
        // SAFETY: the caller passes its reference on.
        let parameters = unsafe { Key::from_raw(parameters) };
        context.change(|settings| settings.temporary_dh = parameters);
        OK
    }
}

/// A context or a connection: each has certificates and keys.
pub(super) trait Configured {
    fn password(&self) -> Callback<PasswordCallback>;
    fn configure(&self, change: impl FnOnce(&mut Settings) -> c_int) -> c_int;
    /// Runs `body`, which calls C code.
    fn outside<T>(&self, body: impl FnOnce() -> T) -> T;

    /// Whether the security level or the program's function allows a leaf and its chain. If not, an
    /// error is in the queue.
    fn allows(&self, leaf: Option<&Certificate>, chain: &[Certificate]) -> bool;

    /// Sets a certificate that is allowed, and its chain.
    fn put_chain(&self, leaf: Certificate, chain: Vec<Certificate>) -> c_int {
        if !self.allows(Some(&leaf), &chain) {
            return FAIL;
        }
        self.configure(|settings| use_chain(settings, leaf, chain))
    }
}

/// Asks for a leaf and its chain, with the pointers of the connection or of the context.
fn allows_all(
    settings: &Settings,
    pointers: (*const c_void, *const c_void),
    leaf: Option<&Certificate>,
    chain: &[Certificate],
) -> bool {
    leaf.is_none_or(|leaf| security::allows(settings, pointers, leaf, true))
        && chain.iter().all(|each| security::allows(settings, pointers, each, false))
}

impl Configured for Context {
    fn outside<T>(&self, body: impl FnOnce() -> T) -> T {
        body()
    }

    fn allows(&self, leaf: Option<&Certificate>, chain: &[Certificate]) -> bool {
        let pointers = (ptr::null(), ptr::from_ref(self).cast());
        allows_all(&self.settings(), pointers, leaf, chain)
    }

    fn password(&self) -> Callback<PasswordCallback> {
        self.settings().callbacks.password
    }

    fn configure(&self, change: impl FnOnce(&mut Settings) -> c_int) -> c_int {
        self.change(change)
    }
}

impl Configured for Ssl {
    fn outside<T>(&self, body: impl FnOnce() -> T) -> T {
        Self::outside(self, body)
    }

    fn allows(&self, leaf: Option<&Certificate>, chain: &[Certificate]) -> bool {
        let (settings, address) = (self.settings(), self.address().cast_const());
        self.outside(|| allows_all(&settings, (address, ptr::null()), leaf, chain))
    }

    fn password(&self) -> Callback<PasswordCallback> {
        self.settings().callbacks.password
    }

    fn configure(&self, change: impl FnOnce(&mut Settings) -> c_int) -> c_int {
        self.change(change)
    }
}

/// Sets a program's certificate. `None`: it passed NULL.
pub(super) fn put_certificate(to: &impl Configured, certificate: Option<Certificate>) -> c_int {
    let Some(certificate) = given(certificate) else { return FAIL };
    if !to.allows(Some(&certificate), &[]) {
        return FAIL;
    }
    to.configure(|settings| use_certificate(settings, certificate))
}

/// Sets a program's private key. `None`: it passed NULL.
pub(super) fn put_key(to: &impl Configured, key: Option<Key>) -> c_int {
    let Some(key) = given(key) else { return FAIL };
    to.configure(|settings| use_key(settings, key))
}

pub(super) fn put_certificate_file(
    to: &impl Configured,
    file: Option<&CStr>,
    kind: c_int,
) -> c_int {
    let certificate = given(file).and_then(|file| read_certificate(file, kind, to.password()));
    certificate.map_or(FAIL, |leaf| put_certificate(to, Some(leaf)))
}

pub(super) fn put_chain_file(to: &impl Configured, file: Option<&CStr>) -> c_int {
    let read = given(file).and_then(|file| read_chain(file, to.password()));
    read.map_or(FAIL, |(leaf, chain)| to.put_chain(leaf, chain))
}

pub(super) fn put_key_file(to: &impl Configured, file: Option<&CStr>, kind: c_int) -> c_int {
    put_key_file_if(to, file, kind, |_| true)
}

/// Sets the private key of a file if it is an RSA key.
pub(super) fn put_rsa_key_file(to: &impl Configured, file: Option<&CStr>, kind: c_int) -> c_int {
    // SAFETY: the key exists.
    put_key_file_if(to, file, kind, |key| unsafe { EVP_PKEY_get_base_id(key.as_ptr()) } == RSA)
}

fn put_key_file_if(
    to: &impl Configured,
    file: Option<&CStr>,
    kind: c_int,
    is_permitted: impl FnOnce(&Key) -> bool,
) -> c_int {
    let key = given(file).and_then(|file| read_key(file, kind, to.password()));
    let Some(key) = key else { return FAIL };
    if !is_permitted(&key) {
        errors::push(reasons::BAD_DATA);
        return FAIL;
    }
    to.configure(|settings| use_key(settings, key))
}

/// Sets a certificate, which becomes the current one. A key of another certificate is removed.
pub(super) fn use_certificate(settings: &mut Settings, certificate: Certificate) -> c_int {
    let identity = settings.identity_for(certificate.key_type());
    let fits = |key: &Key| errors::without_errors(|| certificate.has_key(key));
    if identity.key.as_ref().is_some_and(|key| !fits(key)) {
        identity.key = None;
    }
    identity.certificate = Some(certificate);
    OK
}

/// Sets a certificate and its chain.
pub(super) fn use_chain(
    settings: &mut Settings,
    leaf: Certificate,
    chain: Vec<Certificate>,
) -> c_int {
    use_certificate(settings, leaf);
    let current = settings.current;
    if let Some(identity) = settings.identities.get_mut(current) {
        identity.changed().chain = Some(chain).filter(|chain| !chain.is_empty());
    }
    OK
}

/// Sets a private key. It has to belong to the certificate of its type, if there is one.
pub(super) fn use_key(settings: &mut Settings, key: Key) -> c_int {
    // SAFETY: the key exists.
    let key_type = unsafe { EVP_PKEY_get_base_id(key.as_ptr()) };
    let known = settings.identities.iter().find(|identity| identity.key_type == key_type);
    let certificate = known.and_then(|identity| identity.certificate.clone());
    if certificate.is_some_and(|certificate| !certificate.has_key(&key)) {
        return FAIL;
    }
    settings.identity_for(key_type).key = Some(key);
    OK
}

/// Sets a certificate, its key and its chain. `replaces`: also where there are some already.
///
/// # Safety
/// Each pointer is NULL or to an object of its type.
pub(super) unsafe fn put_all(
    to: &impl Configured,
    certificate: *mut X509,
    key: *mut EVP_PKEY,
    chain: *mut Stack,
    replaces: bool,
) -> c_int {
    // SAFETY: as this function's contract.
    let (certificate, key, chain) =
        unsafe { (Certificate::share(certificate), Key::share(key), list::certificates(chain)) };
    let Some(certificate) = certificate else { return FAIL };
    if !to.allows(Some(&certificate), &chain) {
        return FAIL;
    }
    let fits = |key: &Key| errors::without_errors(|| certificate.has_key(key));
    if key.as_ref().is_some_and(|key| !fits(key)) {
        errors::push(reasons::PRIVATE_KEY_MISMATCH);
        return FAIL;
    }
    to.configure(|settings| {
        let key_type = certificate.key_type();
        let mut known = settings.identities.iter().filter(|known| known.key_type == key_type);
        if !replaces && known.any(Identity::has_any) {
            errors::push(reasons::NOT_REPLACING_CERTIFICATE);
            return FAIL;
        }
        use_chain(settings, certificate, chain);
        key.map_or(OK, |key| use_key(settings, key))
    })
}

/// Whether the current key belongs to the current certificate.
pub(super) fn check_key(settings: &Settings) -> c_int {
    let identity = settings.identity();
    let Some(certificate) = identity.and_then(|identity| identity.certificate.as_ref()) else {
        errors::push(reasons::NO_CERTIFICATE_ASSIGNED);
        return FAIL;
    };
    let Some(key) = identity.and_then(|identity| identity.key.as_ref()) else {
        errors::push(reasons::NO_PRIVATE_KEY_ASSIGNED);
        return FAIL;
    };
    c_int::from(certificate.has_key(key))
}

/// The current certificate, without a reference of the program's own.
pub(super) fn current_certificate(settings: &Settings) -> *mut X509 {
    let certificate = settings.identity().and_then(|identity| identity.certificate.as_ref());
    certificate.map_or(ptr::null_mut(), Certificate::as_ptr)
}

pub(super) fn current_key(settings: &Settings) -> *mut EVP_PKEY {
    let key = settings.identity().and_then(|identity| identity.key.as_ref());
    key.map_or(ptr::null_mut(), Key::as_ptr)
}

/// libcrypto's number of RSA keys.
pub(super) const RSA: c_int = 6;

/// A private key of this kind in DER. If it is malformed, an error is in the queue.
///
/// # Safety
/// The caller's duty for `der` and `length`.
pub(super) unsafe fn key_of(kind: c_int, der: *const c_uchar, length: c_long) -> Option<Key> {
    let mut start = der;
    // SAFETY: as this function's contract. A new key is returned, or NULL.
    unsafe { Key::from_raw(d2i_PrivateKey(kind, ptr::null_mut(), &raw mut start, length)) }
}

/// Adds a certificate to the chain of the current certificate.
pub(super) fn add_to_chain(settings: &mut Settings, certificate: Certificate) -> c_int {
    let current = settings.current;
    match settings.identities.get_mut(current) {
        Some(identity) => {
            identity.changed().chain.get_or_insert_default().push(certificate);
            OK
        }
        None => {
            errors::push(reasons::NO_CERTIFICATE_SET);
            FAIL
        }
    }
}

/// Sets the chain of the current certificate.
pub(super) fn set_chain(settings: &mut Settings, chain: Option<Vec<Certificate>>) -> c_int {
    let current = settings.current;
    match settings.identities.get_mut(current) {
        Some(identity) => {
            identity.changed().chain = chain;
            OK
        }
        None if chain.is_none() => OK,
        None => {
            errors::push(reasons::NO_CERTIFICATE_SET);
            FAIL
        }
    }
}
