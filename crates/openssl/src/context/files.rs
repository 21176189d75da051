//! Certificates and keys from files.

use core::ffi::{CStr, c_int};
use core::ptr;

use crate::errors::{self, reasons};
use crate::objects::bio::Bio;
use crate::objects::certificate::Certificate;
use crate::objects::key::Key;
use crate::settings::callbacks::Callback;
use crate::sys::evp::{PEM_read_bio_PrivateKey, d2i_PrivateKey_bio};
use crate::sys::x509::{PEM_read_bio_X509, PEM_read_bio_X509_AUX, PasswordCallback, d2i_X509_bio};

pub(crate) const FILETYPE_PEM: c_int = 1;
pub(crate) const FILETYPE_ASN1: c_int = 2;

/// Reads a private key. If that fails, an error is in the queue.
pub(crate) fn read_key(
    file: &CStr,
    kind: c_int,
    password: Callback<PasswordCallback>,
) -> Option<Key> {
    let bio = Bio::file(file)?;
    // SAFETY: the BIO exists. A new key is returned, or NULL.
    unsafe {
        match kind {
            FILETYPE_PEM => or_pem_error(Key::from_raw(PEM_read_bio_PrivateKey(
                bio.as_ptr(),
                ptr::null_mut(),
                password.function,
                password.argument,
            ))),
            FILETYPE_ASN1 => Key::from_raw(d2i_PrivateKey_bio(bio.as_ptr(), ptr::null_mut())),
            _ => bad_type(),
        }
    }
}

/// Reads a certificate. If that fails, an error is in the queue.
pub(crate) fn read_certificate(
    file: &CStr,
    kind: c_int,
    password: Callback<PasswordCallback>,
) -> Option<Certificate> {
    let bio = Bio::file(file)?;
    // SAFETY: the BIO exists. A new certificate is returned, or NULL.
    unsafe {
        match kind {
            FILETYPE_PEM => or_pem_error(Certificate::from_raw(PEM_read_bio_X509(
                bio.as_ptr(),
                ptr::null_mut(),
                password.function,
                password.argument,
            ))),
            FILETYPE_ASN1 => Certificate::from_raw(d2i_X509_bio(bio.as_ptr(), ptr::null_mut())),
            _ => bad_type(),
        }
    }
}

/// Reads a certificate and its chain from a PEM file. If that fails, an error is in the queue.
pub(crate) fn read_chain(
    file: &CStr,
    password: Callback<PasswordCallback>,
) -> Option<(Certificate, Vec<Certificate>)> {
    let bio = Bio::file(file)?;
    // SAFETY: the BIO exists. A new certificate is returned, or NULL.
    let leaf = unsafe {
        or_pem_error(Certificate::from_raw(PEM_read_bio_X509_AUX(
            bio.as_ptr(),
            ptr::null_mut(),
            password.function,
            password.argument,
        )))
    }?;
    Some((leaf, or_pem_error(read_all(&bio, password))?))
}

/// Reads all certificates that follow in a PEM file. `None` if one is malformed.
pub(crate) fn read_all(
    bio: &Bio,
    password: Callback<PasswordCallback>,
) -> Option<Vec<Certificate>> {
    let mut found = Vec::new();
    errors::forgiving(|| {
        loop {
            // SAFETY: the BIO exists. A new certificate is returned, or NULL.
            let next = unsafe {
                Certificate::from_raw(PEM_read_bio_X509(
                    bio.as_ptr(),
                    ptr::null_mut(),
                    password.function,
                    password.argument,
                ))
            };
            match next {
                Some(certificate) => found.push(certificate),
                None if errors::newest_is_end_of_pem() => return Some(()),
                None => return None,
            }
        }
    })?;
    Some(found)
}

/// Adds an error of this library after those of PEM, as OpenSSL does.
fn or_pem_error<T>(read: Option<T>) -> Option<T> {
    if read.is_none() {
        errors::push_pem();
    }
    read
}

fn bad_type<T>() -> Option<T> {
    errors::push(reasons::BAD_SSL_FILETYPE);
    None
}
