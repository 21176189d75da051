//! Configurations of both sides, and the checks of connections.
//!
//! The configurations are the defaults of `SSL_CTX_new`, except for version and suite: groups,
//! tickets, signature algorithms and caches are those of the release.

use std::collections::BTreeMap;
#[cfg(not(openssl_1_1_1))]
use std::ffi::c_long;
use std::ffi::{CStr, CString, c_int};
use std::ptr;

use lab_scenario::series::Key;
use lab_scenario::{Files, Group, Result, Version};

use crate::ffi;
#[cfg(not(openssl_1_1_1))]
use crate::library::failure;
use crate::library::{check, path, some};

/// The expected parameters of a connection.
pub(crate) struct ExpectedParameters {
    pub(crate) version: Version,
    pub(crate) suite: String,
    pub(crate) certificate: Key,
    /// The expected group; absent if both sides choose it.
    pub(crate) group: Option<Group>,
    pub(crate) resumed: bool,
}

/// Both configurations. Threads share them.
pub(crate) struct Contexts {
    pub(crate) client: Context,
    pub(crate) server: Context,
    pub(crate) expected: ExpectedParameters,
}

impl Contexts {
    pub(crate) fn new(expected: ExpectedParameters, files: &Files) -> Result<Self> {
        let name = expected.certificate.name();
        let certificate = path(&files.other(&format!("{name}.pem")))?;
        let key = path(&files.other(&format!("{name}.key")))?;
        let (client, server) = (Context::new(&expected)?, Context::new(&expected)?);
        // SAFETY: the contexts are valid, and the file names are C strings.
        unsafe {
            let (root, null) = (certificate.as_ptr(), ptr::null());
            let trusted = ffi::SSL_CTX_load_verify_locations(client.0, root, null);
            check("the client's root", trusted)?;
            ffi::SSL_CTX_set_verify(client.0, ffi::SSL_VERIFY_PEER, ptr::null());
            let shown = ffi::SSL_CTX_use_certificate_chain_file(server.0, certificate.as_ptr());
            check("the server's certificate", shown)?;
            let kind = ffi::SSL_FILETYPE_PEM;
            let signs = ffi::SSL_CTX_use_PrivateKey_file(server.0, key.as_ptr(), kind);
            check("the server's key", signs)?;
        }
        Ok(Self { client, server, expected })
    }

    /// The negotiated parameters of a connection; an error if they are not the expected ones.
    ///
    /// # Safety
    /// The connection must be valid and its handshake complete.
    pub(crate) unsafe fn negotiated(
        &self,
        ssl: *mut ffi::SSL,
        resumed: bool,
    ) -> Result<BTreeMap<String, String>> {
        // SAFETY: required of the caller. The name is a static C string.
        let (version, suite, reused) = unsafe {
            let suite = ffi::SSL_get_current_cipher(ssl);
            let suite = CStr::from_ptr(ffi::SSL_CIPHER_get_name(suite)).to_string_lossy();
            (ffi::SSL_version(ssl), suite, ffi::SSL_session_reused(ssl) == 1)
        };
        let expected = &self.expected;
        if version != number(expected.version) || *suite != *expected.suite || reused != resumed {
            let kind = if reused { "resumed" } else { "new" };
            return Err(format!("not as expected: {kind}, version {version:#x}, {suite}").into());
        }
        // A TLS 1.2 resumption and the RSA suite have no ephemeral key exchange.
        let exchange =
            expected.version == Version::Tls13 || (!resumed && expected.suite.starts_with("ECDHE"));
        // SAFETY: required of the caller.
        let group = if exchange { unsafe { group(ssl)? } } else { "none".to_owned() };
        if exchange && expected.group.is_some_and(|expected| expected.name() != group) {
            return Err(format!("not as expected: the group is {group}").into());
        }
        let kind = if reused { "resumed" } else { "new" };
        let told = [
            ("version", expected.version.to_string()),
            ("suite", suite.into_owned()),
            ("group", group),
            ("kind", kind.to_owned()),
        ];
        Ok(told.map(|(name, value)| (name.to_owned(), value)).into())
    }
}

/// The configuration of one side.
pub(crate) struct Context(pub(crate) *mut ffi::SSL_CTX);

// SAFETY: it is configured before threads create connections from it, which OpenSSL allows
// concurrently.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    fn new(expected: &ExpectedParameters) -> Result<Self> {
        // SAFETY: the context is freed when dropped.
        let context = unsafe { ffi::SSL_CTX_new(ffi::TLS_method()) };
        let context = Self(some("SSL_CTX_new", context)?);
        let suite = CString::new(expected.suite.as_str())?;
        let version = number(expected.version).into();
        for control in [ffi::SSL_CTRL_SET_MIN_PROTO_VERSION, ffi::SSL_CTRL_SET_MAX_PROTO_VERSION] {
            // SAFETY: the context is valid, and these controls take a number.
            let set = unsafe { ffi::SSL_CTX_ctrl(context.0, control, version, ptr::null_mut()) };
            check("the version", c_int::try_from(set)?)?;
        }
        // SAFETY: the context is valid, and the suite is a C string.
        check("the suite", unsafe {
            match expected.version {
                Version::Tls12 => ffi::SSL_CTX_set_cipher_list(context.0, suite.as_ptr()),
                Version::Tls13 => ffi::SSL_CTX_set_ciphersuites(context.0, suite.as_ptr()),
            }
        })?;
        if let Some(group) = expected.group {
            let name = CString::new(group.name())?;
            let control = ffi::SSL_CTRL_SET_GROUPS_LIST;
            // SAFETY: the context is valid, and this control takes a C string that it does not
            // change.
            let set = unsafe {
                ffi::SSL_CTX_ctrl(context.0, control, 0, name.as_ptr().cast_mut().cast())
            };
            check("the group", c_int::try_from(set)?)?;
        }
        Ok(context)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context is valid.
        unsafe { ffi::SSL_CTX_free(self.0) };
    }
}

fn number(version: Version) -> c_int {
    match version {
        Version::Tls12 => ffi::TLS1_2_VERSION,
        Version::Tls13 => ffi::TLS1_3_VERSION,
    }
}

/// A TLS 1.2 server of OpenSSL 1.1.1 does not keep the client's key, so it does not report the
/// group.
#[cfg(openssl_1_1_1)]
const NOT_STATED: &str = "not stated";

/// The negotiated group.
///
/// # Safety
/// The connection must be valid.
#[cfg(openssl_1_1_1)]
unsafe fn group(ssl: *mut ffi::SSL) -> Result<String> {
    let mut key: *mut ffi::EVP_PKEY = ptr::null_mut();
    // SAFETY: the control writes a key that the caller owns.
    let id = unsafe {
        let out = ptr::from_mut(&mut key).cast();
        if ffi::SSL_ctrl(ssl, ffi::SSL_CTRL_GET_PEER_TMP_KEY, 0, out) != 1 {
            return Ok(NOT_STATED.to_owned());
        }
        let id = ffi::EVP_PKEY_id(key);
        ffi::EVP_PKEY_free(key);
        id
    };
    match id {
        ffi::EVP_PKEY_X25519 => Ok(Group::X25519.name().to_owned()),
        id => Err(format!("a key exchange of kind {id}").into()),
    }
}

/// The negotiated group.
///
/// # Safety
/// The connection must be valid.
#[cfg(not(openssl_1_1_1))]
unsafe fn group(ssl: *mut ffi::SSL) -> Result<String> {
    /// The flag of groups that have no NID in OpenSSL; the other bits are the code point.
    const UNKNOWN: c_long = 0x0100_0000;
    const X25519: c_long = 1034;
    const X25519_ML_KEM_768: c_long = UNKNOWN | 0x11ec;
    // SAFETY: the control takes no argument and returns a number.
    let told =
        unsafe { ffi::SSL_ctrl(ssl, ffi::SSL_CTRL_GET_NEGOTIATED_GROUP, 0, ptr::null_mut()) };
    match told {
        0 => Err(failure("SSL_get_negotiated_group")),
        X25519 => Ok(Group::X25519.name().to_owned()),
        X25519_ML_KEM_768 => Ok(Group::X25519MlKem768.name().to_owned()),
        other => Ok(format!("{other:#x}")),
    }
}
