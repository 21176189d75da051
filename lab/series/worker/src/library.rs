//! OpenSSL itself: initialization, errors, keys.

use std::error::Error;
use std::ffi::{CStr, CString, c_char, c_int};
use std::fs;
use std::path::Path;
use std::ptr;

use lab_scenario::Result;

use crate::ffi;

/// Version number and release date.
pub(crate) fn version() -> String {
    let text = openssl_version(ffi::OPENSSL_VERSION);
    text.strip_prefix("OpenSSL ").unwrap_or(&text).to_owned()
}

/// Compiler flags of the build.
pub(crate) fn flags() -> String {
    format!("openssl-src, {}", openssl_version(ffi::OPENSSL_CFLAGS))
}

fn openssl_version(what: c_int) -> String {
    // SAFETY: the result is a static C string for any argument.
    unsafe { CStr::from_ptr(ffi::OpenSSL_version(what)) }.to_string_lossy().into_owned()
}

/// Initializes the library with this configuration file instead of the system's. Errors in the file
/// are reported. OpenSSL's default initialization would ignore them.
pub(crate) fn start(configuration: &Path) -> Result<()> {
    let name = path(configuration)?;
    // SAFETY: the settings are freed once, after their use; OpenSSL copies the name.
    let started = unsafe {
        let settings = ffi::OPENSSL_INIT_new();
        if settings.is_null() {
            return Err(failure("OPENSSL_INIT_new"));
        }
        let named = ffi::OPENSSL_INIT_set_config_filename(settings, name.as_ptr());
        ffi::OPENSSL_INIT_set_config_file_flags(settings, ffi::CONF_MFLAGS_DEFAULT_SECTION);
        let started =
            named == 1 && ffi::OPENSSL_init_crypto(ffi::OPENSSL_INIT_LOAD_CONFIG, settings) == 1;
        ffi::OPENSSL_INIT_free(settings);
        started
    };
    if started { Ok(()) } else { Err(failure("the configuration")) }
}

/// Returns an error unless the call returned 1.
pub(crate) fn check(what: &str, result: c_int) -> Result<()> {
    if result == 1 { Ok(()) } else { Err(failure(what)) }
}

/// Returns the pointer, or an error if it is null.
pub(crate) fn some<T>(what: &str, pointer: *mut T) -> Result<*mut T> {
    if pointer.is_null() { Err(failure(what)) } else { Ok(pointer) }
}

/// An error with OpenSSL's description.
pub(crate) fn failure(what: &str) -> Box<dyn Error + Send + Sync> {
    let mut text = what.to_owned();
    loop {
        // SAFETY: the buffer has the given length and is null-terminated.
        let said = unsafe {
            let error = ffi::ERR_get_error();
            if error == 0 {
                break;
            }
            let mut buffer = [0 as c_char; 256];
            ffi::ERR_error_string_n(error, buffer.as_mut_ptr(), buffer.len());
            CStr::from_ptr(buffer.as_ptr()).to_string_lossy().into_owned()
        };
        text = format!("{text}: {said}");
    }
    text.into()
}

/// A path as a C string.
pub(crate) fn path(path: &Path) -> Result<CString> {
    Ok(CString::new(path.to_str().ok_or("the path is not valid UTF-8")?)?)
}

/// A key.
pub(crate) struct Key(*mut ffi::EVP_PKEY);

// SAFETY: a key does not change after its creation, and its reference count is atomic.
unsafe impl Send for Key {}
// SAFETY: as above.
unsafe impl Sync for Key {}

impl Key {
    /// A private key from a PEM file.
    pub(crate) fn read(file: &Path) -> Result<Self> {
        let text = fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let length = c_int::try_from(text.len())?;
        // SAFETY: the text outlives the BIO, which is freed once. No password is requested.
        let key = unsafe {
            let bio = some("BIO_new_mem_buf", ffi::BIO_new_mem_buf(text.as_ptr().cast(), length))?;
            let null = ptr::null_mut();
            let key = ffi::PEM_read_bio_PrivateKey(bio, ptr::null_mut(), null, null);
            ffi::BIO_free(bio);
            key
        };
        Ok(Self(some("PEM_read_bio_PrivateKey", key)?))
    }

    /// Generates a key with a prepared context.
    pub(crate) fn generate(context: *mut ffi::EVP_PKEY_CTX) -> Result<Self> {
        let mut key = ptr::null_mut();
        // SAFETY: the caller's context is valid; the key is owned here.
        check("EVP_PKEY_keygen", unsafe { ffi::EVP_PKEY_keygen(context, &mut key) })?;
        Ok(Self(key))
    }

    pub(crate) fn as_ptr(&self) -> *mut ffi::EVP_PKEY {
        self.0
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        // SAFETY: the key is valid.
        unsafe { ffi::EVP_PKEY_free(self.0) };
    }
}
