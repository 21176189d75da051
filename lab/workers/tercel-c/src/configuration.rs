//! Configurations of both sides.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::PathBuf;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lab_scenario::{Files, Result, Resumption, Row, Scheme, Version};

use crate::ffi;
use crate::status::{done, failed};

/// The early data limit of tickets, in bytes.
const MAX_EARLY_DATA: u64 = 16 << 10;

/// What a server's application remembers.
#[derive(Default)]
pub(crate) struct Application {
    /// Stored sessions, by their identity.
    pub(crate) sessions: HashMap<Vec<u8>, Vec<u8>>,
    /// The values of early data that was admitted. The library's own replay guard admits nothing
    /// for two minutes after its start.
    pub(crate) admitted: HashSet<Vec<u8>>,
}

/// A configuration, which any number of threads use.
pub(crate) struct Config {
    config: *const ffi::Config,
    /// Whether the server stores sessions.
    pub(crate) stores: bool,
    application: Mutex<Application>,
}

// SAFETY: a configuration does not change, and any number of threads may use it: tercel.h.
unsafe impl Send for Config {}
// SAFETY: as above.
unsafe impl Sync for Config {}

impl Config {
    pub(crate) fn as_ptr(&self) -> *const ffi::Config {
        self.config
    }

    /// What the application remembers.
    pub(crate) fn application(&self) -> MutexGuard<'_, Application> {
        self.application.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The client's configuration, with these roots in PEM.
    pub(crate) fn client(row: &Row, files: &Files, roots: &[u8]) -> Result<Self> {
        let builder = Builder::new(ffi::CLIENT)?;
        builder.trust(roots)?;
        builder.pin(row)?;
        builder.list(ffi::LIST_SIGNATURE_SCHEMES, schemes(row))?;
        builder.option(ffi::OPTION_EARLY_DATA, u64::from(row.early_data > 0))?;
        if row.resumption.is_none() {
            builder.option(ffi::OPTION_SESSIONS, ffi::SESSIONS_NONE)?;
        }
        if let Some(chain) = row.client_chain {
            builder.show(&read(files.client_chain(chain))?, &read(files.client_key(chain))?)?;
        }
        builder.build(false)
    }

    /// The server's configuration, with this chain and key in PEM.
    pub(crate) fn server(row: &Row, files: &Files, (chain, key): (&[u8], &[u8])) -> Result<Self> {
        let builder = Builder::new(ffi::SERVER)?;
        builder.show(chain, key)?;
        builder.pin(row)?;
        builder.option(ffi::OPTION_TICKETS_AFTER_FULL, row.tickets.into())?;
        builder.option(ffi::OPTION_TICKETS_AFTER_RESUMED, row.tickets.into())?;
        if row.resumption != Some(Resumption::Stateless) {
            builder.option(ffi::OPTION_TICKETS, 0)?;
        }
        let stores = row.resumption == Some(Resumption::Stateful);
        let mut questions = if stores { ffi::ASK_FIND_SESSION } else { 0 };
        if row.early_data > 0 {
            builder.option(ffi::OPTION_EARLY_DATA, MAX_EARLY_DATA)?;
            questions |= ffi::ASK_ADMIT_EARLY_DATA;
        }
        builder.ask(questions)?;
        if let Some(chain) = row.client_chain {
            builder.list(ffi::LIST_SIGNATURE_SCHEMES, schemes(row))?;
            builder.trust(&read(files.root(chain))?)?;
            builder.option(ffi::OPTION_CLIENT_AUTH, ffi::CLIENT_AUTH_REQUIRED)?;
        }
        builder.build(stores)
    }
}

impl Drop for Config {
    fn drop(&mut self) {
        // SAFETY: the reference is this value's own.
        unsafe { ffi::tercel_config_release(self.config) };
    }
}

/// Reads a file.
pub(crate) fn read(path: PathBuf) -> Result<Vec<u8>> {
    fs::read(&path).map_err(|error| format!("{}: {error}", path.display()).into())
}

/// The row's scheme for the handshake, and the scheme of RSA certificates.
fn schemes(row: &Row) -> &'static [u16] {
    match row.chain.scheme() {
        Scheme::RsaPssRsaeSha256 => &[0x0804, 0x0401],
        Scheme::EcdsaSecp256r1Sha256 => &[0x0403],
        Scheme::Ed25519 => &[0x0807],
    }
}

struct Builder(*mut ffi::Builder);

impl Builder {
    fn new(side: u32) -> Result<Self> {
        // SAFETY: a null result means failure.
        let builder = unsafe { ffi::tercel_config_builder_new(side) };
        if builder.is_null() { Err("no builder".into()) } else { Ok(Self(builder)) }
    }

    /// Pins version, suite and groups.
    fn pin(&self, row: &Row) -> Result<()> {
        let version = match row.version {
            Version::Tls12 => 0x0303,
            Version::Tls13 => 0x0304,
        };
        let groups: Vec<_> = row.groups().into_iter().map(|group| group.number()).collect();
        self.list(ffi::LIST_VERSIONS, &[version])?;
        self.list(ffi::LIST_CIPHER_SUITES, &[row.suite.number()])?;
        self.list(ffi::LIST_GROUPS, &groups)
    }

    fn list(&self, list: u32, codes: &[u16]) -> Result<()> {
        // SAFETY: the builder is valid, and the codes have this length.
        done(unsafe {
            ffi::tercel_config_builder_set_list(self.0, list, codes.as_ptr(), codes.len())
        })
    }

    fn option(&self, option: u32, value: u64) -> Result<()> {
        // SAFETY: the builder is valid.
        done(unsafe { ffi::tercel_config_builder_set_option(self.0, option, value) })
    }

    fn ask(&self, questions: u32) -> Result<()> {
        // SAFETY: the builder is valid.
        done(unsafe { ffi::tercel_config_builder_set_questions(self.0, questions) })
    }

    fn trust(&self, pem: &[u8]) -> Result<()> {
        let mut roots = ptr::null();
        // SAFETY: the bytes have this length; the library copies them. The builder has a reference
        // of its own to the roots.
        unsafe {
            done(ffi::tercel_roots_from_pem(pem.as_ptr(), pem.len(), &mut roots))?;
            let status = ffi::tercel_config_builder_set_roots(self.0, roots);
            ffi::tercel_roots_release(roots);
            done(status)
        }
    }

    fn show(&self, chain: &[u8], key: &[u8]) -> Result<()> {
        let mut credential = ptr::null();
        // SAFETY: the bytes have these lengths; the library copies them. The builder has its own
        // reference to the credential.
        unsafe {
            let (length, key_length) = (chain.len(), key.len());
            let (chain, key) = (chain.as_ptr(), key.as_ptr());
            let made =
                ffi::tercel_credential_from_pem(chain, length, key, key_length, &mut credential);
            done(made)?;
            let status = ffi::tercel_config_builder_add_credential(self.0, credential);
            ffi::tercel_credential_release(credential);
            done(status)
        }
    }

    fn build(&self, stores: bool) -> Result<Config> {
        let mut config = ptr::null();
        // SAFETY: the builder and the place of the result are valid.
        match unsafe { ffi::tercel_config_builder_build(self.0, &mut config) } {
            ffi::OK => Ok(Config { config, stores, application: Mutex::default() }),
            status => Err(failed(status)),
        }
    }
}

impl Drop for Builder {
    fn drop(&mut self) {
        // SAFETY: the builder is valid and not used again.
        unsafe { ffi::tercel_config_builder_free(self.0) };
    }
}
