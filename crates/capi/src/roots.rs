//! Trust anchors.

use std::sync::Arc;

use tercel::certificates::ChainPolicy;

use crate::entry::pointers::{self, Place};
use crate::entry::{Result, entry, shared};
use crate::status::{self, Status};

/// A set of trust anchors, shared by any number of configurations and threads.
pub struct Roots {
    /// The verifier of every configuration with these roots, and of tercel_question_verify_chain.
    pub(crate) verifier: Arc<ChainPolicy>,
}

impl Roots {
    fn new(roots: tercel::pki::Roots) -> Result<Self> {
        let verifier = ChainPolicy::new(roots).map_err(status::of_config)?;
        Ok(Self { verifier: Arc::new(verifier) })
    }
}

/// Creates a set with the certificates of a PEM file that are authorities'. A self-issued
/// certificate that is not an authority's is trusted only as itself; others are left out. If
/// nothing is left, the status is TERCEL_CONFIG_NOT_AN_AUTHORITY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_roots_from_pem(
    pem: *const u8,
    len: usize,
    roots: *mut *const Roots,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let mut place = Place::new(roots, core::ptr::null())?;
        let pem = pointers::slice(pem, len)?;
        let mut roots = tercel::pki::Roots::new();
        roots.add_pem(pem).map_err(status::of_roots)?;
        place.set(shared::new(Roots::new(roots)?));
        Ok(())
    })
}

/// Creates a set with the authorities of the operating system. The environment variables
/// SSL_CERT_FILE and SSL_CERT_DIR are respected. Certificates that cannot be read or
/// are not authorities' are skipped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_roots_system(roots: *mut *const Roots) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let mut place = Place::new(roots, core::ptr::null())?;
        place.set(shared::new(Roots::new(native()?)?));
        Ok(())
    })
}

#[cfg(feature = "native-roots")]
fn native() -> Result<tercel::pki::Roots> {
    Ok(tercel::pki::Roots::native().map_err(status::of_roots)?.roots)
}

#[cfg(not(feature = "native-roots"))]
fn native() -> Result<tercel::pki::Roots> {
    Err(status::codes::TERCEL_CONFIG_NO_ROOTS)
}

/// Adds a reference to a set, which tercel_roots_release removes. Returns its argument.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_roots_retain(roots: *const Roots) -> *const Roots {
    // SAFETY: the caller's duty.
    unsafe { shared::retain(roots) }
}

/// Removes a reference to a set; the last one frees it. NULL has no effect.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_roots_release(roots: *const Roots) {
    // SAFETY: the caller's duty.
    _ = entry(|| unsafe { shared::release(roots) });
}
