//! Both sides' configurations of a connection, and what it has to turn out as.
//!
//! They are the defaults of `SSL_CTX_new`, but for the version and the suite: groups, tickets, signature
//! algorithms and caches are as a release has them. Must not know: how connections are driven.
//! Next: `handshake.rs`.

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

/// What a connection has to be.
pub(crate) struct Asked {
    pub(crate) version: Version,
    pub(crate) suite: String,
    pub(crate) certificate: Key,
    /// Absent: whatever the two agree on.
    pub(crate) group: Option<Group>,
    pub(crate) resumed: bool,
}

/// Both configurations. Threads share them.
pub(crate) struct Contexts {
    pub(crate) client: Context,
    pub(crate) server: Context,
    pub(crate) asked: Asked,
}

impl Contexts {
    pub(crate) fn new(asked: Asked, files: &Files) -> Result<Self> {
        let name = asked.certificate.name();
        let certificate = path(&files.other(&format!("{name}.pem")))?;
        let key = path(&files.other(&format!("{name}.key")))?;
        let (client, server) = (Context::new(&asked)?, Context::new(&asked)?);
        // SAFETY: the contexts are ours, and the files' names C strings.
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
        Ok(Self { client, server, asked })
    }

    /// What a side says of its connection, or an error if that is not what was asked for.
    ///
    /// # Safety
    /// The connection lives and has ended its handshake.
    pub(crate) unsafe fn seen(
        &self,
        ssl: *mut ffi::SSL,
        resumed: bool,
    ) -> Result<BTreeMap<String, String>> {
        // SAFETY: the caller's. The name is a static C string.
        let (version, suite, reused) = unsafe {
            let suite = ffi::SSL_get_current_cipher(ssl);
            let suite = CStr::from_ptr(ffi::SSL_CIPHER_get_name(suite)).to_string_lossy();
            (ffi::SSL_version(ssl), suite, ffi::SSL_session_reused(ssl) == 1)
        };
        let asked = &self.asked;
        if version != number(asked.version) || *suite != *asked.suite || reused != resumed {
            let kind = if reused { "resumed" } else { "new" };
            return Err(format!("not as asked: {kind}, version {version:#x}, {suite}").into());
        }
        // Resumption in TLS 1.2 has no key exchange, nor has the suite with RSA alone.
        let exchange =
            asked.version == Version::Tls13 || (!resumed && asked.suite.starts_with("ECDHE"));
        // SAFETY: the caller's.
        let group = if exchange { unsafe { group(ssl)? } } else { "none".to_owned() };
        if exchange && asked.group.is_some_and(|asked| asked.name() != group) {
            return Err(format!("not as asked: the group is {group}").into());
        }
        let kind = if reused { "resumed" } else { "new" };
        let told = [
            ("version", asked.version.to_string()),
            ("suite", suite.into_owned()),
            ("group", group),
            ("kind", kind.to_owned()),
        ];
        Ok(told.map(|(name, value)| (name.to_owned(), value)).into())
    }
}

/// One side's configuration.
pub(crate) struct Context(pub(crate) *mut ffi::SSL_CTX);

// SAFETY: it is configured before any thread makes connections of it, which OpenSSL lets many do at once.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    fn new(asked: &Asked) -> Result<Self> {
        // SAFETY: it is freed when dropped.
        let context = unsafe { ffi::SSL_CTX_new(ffi::TLS_method()) };
        let context = Self(some("SSL_CTX_new", context)?);
        let suite = CString::new(asked.suite.as_str())?;
        let version = number(asked.version).into();
        for control in [ffi::SSL_CTRL_SET_MIN_PROTO_VERSION, ffi::SSL_CTRL_SET_MAX_PROTO_VERSION] {
            // SAFETY: the context is ours, and these controls take a number.
            let set = unsafe { ffi::SSL_CTX_ctrl(context.0, control, version, ptr::null_mut()) };
            check("the version", c_int::try_from(set)?)?;
        }
        // SAFETY: the context is ours, and the suite a C string.
        check("the suite", unsafe {
            match asked.version {
                Version::Tls12 => ffi::SSL_CTX_set_cipher_list(context.0, suite.as_ptr()),
                Version::Tls13 => ffi::SSL_CTX_set_ciphersuites(context.0, suite.as_ptr()),
            }
        })?;
        if let Some(group) = asked.group {
            let name = CString::new(group.name())?;
            let control = ffi::SSL_CTRL_SET_GROUPS_LIST;
            // SAFETY: the context is ours, and this control takes a C string, which it does not change.
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
        // SAFETY: it is ours.
        unsafe { ffi::SSL_CTX_free(self.0) };
    }
}

fn number(version: Version) -> c_int {
    match version {
        Version::Tls12 => ffi::TLS1_2_VERSION,
        Version::Tls13 => ffi::TLS1_3_VERSION,
    }
}

/// A server of TLS 1.2 does not keep the client's key in 1.1.1.
#[cfg(openssl_1_1_1)]
const NOT_TOLD: &str = "not told";

/// The group that was agreed on.
///
/// # Safety
/// The connection lives.
#[cfg(openssl_1_1_1)]
unsafe fn group(ssl: *mut ffi::SSL) -> Result<String> {
    let mut key: *mut ffi::EVP_PKEY = ptr::null_mut();
    // SAFETY: the control writes a key that is ours then.
    let id = unsafe {
        let out = ptr::from_mut(&mut key).cast();
        if ffi::SSL_ctrl(ssl, ffi::SSL_CTRL_GET_PEER_TMP_KEY, 0, out) != 1 {
            return Ok(NOT_TOLD.to_owned());
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

/// The group that was agreed on.
///
/// # Safety
/// The connection lives.
#[cfg(not(openssl_1_1_1))]
unsafe fn group(ssl: *mut ffi::SSL) -> Result<String> {
    /// What a group without a number of its own in OpenSSL is told as, besides its code point.
    const UNKNOWN: c_long = 0x0100_0000;
    const X25519: c_long = 1034;
    const X25519_ML_KEM_768: c_long = UNKNOWN | 0x11ec;
    // SAFETY: the control takes nothing and returns a number.
    let told =
        unsafe { ffi::SSL_ctrl(ssl, ffi::SSL_CTRL_GET_NEGOTIATED_GROUP, 0, ptr::null_mut()) };
    match told {
        0 => Err(failure("SSL_get_negotiated_group")),
        X25519 => Ok(Group::X25519.name().to_owned()),
        X25519_ML_KEM_768 => Ok(Group::X25519MlKem768.name().to_owned()),
        other => Ok(format!("{other:#x}")),
    }
}
