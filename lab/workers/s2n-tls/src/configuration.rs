//! Configuration of s2n-tls for a row.

use std::ffi::{CStr, CString, c_char, c_void};
use std::fs;
use std::path::Path;
use std::ptr;
use std::sync::Arc;

use lab_scenario::{Files, Result, Resumption, Row, Version};
use s2n_tls_sys as ffi;

use crate::error::{done, failed};
use crate::session;

/// The configuration of one side, shared by threads.
pub(crate) struct Config {
    config: *mut ffi::s2n_config,
    /// The certificates, which the configuration references but does not free.
    certificates: *mut ffi::s2n_cert_chain_and_key,
}

// SAFETY: it is not changed after its creation.
unsafe impl Send for Config {}
// SAFETY: as above.
unsafe impl Sync for Config {}

/// Whether the server stores sessions, that is, resumption by session ID.
pub(crate) fn stores(row: &Row) -> bool {
    row.version == Version::Tls12 && row.resumption == Some(Resumption::Stateful)
}

/// A file as a C string.
pub(crate) fn read(path: &Path) -> Result<CString> {
    Ok(CString::new(fs::read(path)?)?)
}

impl Config {
    /// A client configuration with these roots, in PEM.
    pub(crate) fn client(
        roots: &CStr,
        row: &Row,
        files: &Files,
        policy: &CStr,
    ) -> Result<Arc<Self>> {
        let mut config = Self::new(policy)?;
        config.trust(roots)?;
        if let Some(chain) = row.client_chain {
            let (chain, key) = (files.client_chain(chain), files.client_key(chain));
            config.show(&read(&chain)?, &read(&key)?)?;
            config.require_client_certificate()?;
        }
        if row.resumption == Some(Resumption::Stateless) {
            session::store_received(config.config)?;
        }
        // SAFETY: the configuration is valid.
        done(unsafe { ffi::s2n_config_set_recv_multi_record(config.config, true) })?;
        Ok(Arc::new(config))
    }

    /// A server configuration with this chain, both in PEM.
    pub(crate) fn server(
        (chain, key): (&CStr, &CStr),
        row: &Row,
        files: &Files,
        policy: &CStr,
    ) -> Result<Arc<Self>> {
        let mut config = Self::new(policy)?;
        config.show(chain, key)?;
        if let Some(chain) = row.client_chain {
            config.trust(&read(&files.root(chain))?)?;
            config.require_client_certificate()?;
            // By default, a client certificate would have to contain the server's name.
            let none = ptr::null_mut();
            // SAFETY: the configuration is valid, and the callback has the required type.
            done(unsafe {
                ffi::s2n_config_set_verify_host_callback(config.config, Some(any_name), none)
            })?;
        }
        if row.resumption == Some(Resumption::Stateless) {
            session::issue(config.config, row.tickets)?;
        }
        if stores(row) {
            session::store(config.config)?;
        }
        Ok(Arc::new(config))
    }

    pub(crate) fn as_ptr(&self) -> *mut ffi::s2n_config {
        self.config
    }

    /// A configuration without trusted roots, not even those of the system.
    fn new(policy: &CStr) -> Result<Self> {
        s2n_tls::init::init();
        // SAFETY: a null result means failure; the policy is a C string.
        unsafe {
            let config = ffi::s2n_config_new_minimal();
            if config.is_null() {
                return Err(failed());
            }
            let made = Self { config, certificates: ptr::null_mut() };
            done(ffi::s2n_config_set_cipher_preferences(config, policy.as_ptr()))?;
            Ok(made)
        }
    }

    fn trust(&self, roots: &CStr) -> Result<()> {
        // SAFETY: the configuration is valid, and the certificates are a C string that is copied.
        done(unsafe { ffi::s2n_config_add_pem_to_trust_store(self.config, roots.as_ptr()) })
    }

    fn show(&mut self, chain: &CStr, key: &CStr) -> Result<()> {
        // SAFETY: both are C strings that are copied; the result is freed after the configuration.
        unsafe {
            let made = ffi::s2n_cert_chain_and_key_new();
            if made.is_null() {
                return Err(failed());
            }
            self.certificates = made;
            done(ffi::s2n_cert_chain_and_key_load_pem(made, chain.as_ptr(), key.as_ptr()))?;
            done(ffi::s2n_config_add_cert_chain_and_key_to_store(self.config, made))
        }
    }

    fn require_client_certificate(&self) -> Result<()> {
        // SAFETY: the configuration is valid.
        done(unsafe {
            ffi::s2n_config_set_client_auth_type(self.config, ffi::s2n_cert_auth_type::REQUIRED)
        })
    }
}

impl Drop for Config {
    fn drop(&mut self) {
        // SAFETY: both are valid, and all connections are freed before the library that created
        // them.
        unsafe {
            ffi::s2n_config_free(self.config);
            if !self.certificates.is_null() {
                ffi::s2n_cert_chain_and_key_free(self.certificates);
            }
        }
    }
}

unsafe extern "C" fn any_name(_: *const c_char, _: usize, _: *mut c_void) -> u8 {
    1
}
