//! Trust anchors.

use core::ffi::c_char;
use std::sync::Arc;

use tercel::certificates::ChainPolicy;

use crate::entry::pointers::{self, Memory, Place};
use crate::entry::{Result, entry, shared, text, value};
use crate::status::{self, Status};

/// A set of trust anchors, shared by any number of configurations and threads.
pub struct Roots {
    /// The verifier of every configuration with these roots, and of tercel_question_verify_chain.
    pub(crate) verifier: Arc<ChainPolicy>,
    /// What was left out, or is trusted only as itself; empty if nothing is.
    warning: String,
}

impl Roots {
    fn new((roots, warning): (tercel::pki::Roots, String)) -> Result<Self> {
        let verifier = ChainPolicy::new(roots).map_err(status::of_config)?;
        Ok(Self { verifier: Arc::new(verifier), warning })
    }
}

/// Creates a set with the certificates of a PEM file. Each is also trusted as itself, if a peer
/// presents it; one that is not an authority's only as itself: see tercel_roots_warning.
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
        place.separate(&[Memory::of(pem)])?;
        let mut roots = tercel::pki::Roots::new();
        roots.add_pem(pem).map_err(|error| status::of_roots(&error))?;
        let others: Vec<_> = roots.not_anchors().iter().map(ToString::to_string).collect();
        place.set(shared::new(Roots::new((roots, others.join("\n")))?));
        Ok(())
    })
}

/// Creates a set with the authorities of the operating system. The environment variables
/// SSL_CERT_FILE and SSL_CERT_DIR are respected; all files of a folder are read, whatever their
/// names are. Certificates that cannot be read, or that are not authorities', are left out: see
/// tercel_roots_warning.
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
fn native() -> Result<(tercel::pki::Roots, String)> {
    let found = tercel::pki::Roots::native().map_err(|error| status::of_roots(&error))?;
    let warning = found.left_out().unwrap_or_default();
    Ok((found.roots, warning))
}

#[cfg(not(feature = "native-roots"))]
fn native() -> Result<(tercel::pki::Roots, String)> {
    Err(status::codes::TERCEL_CONFIG_NO_ROOTS)
}

/// Writes which certificates of the source are no trust anchors, for people, and a NUL, at most
/// size bytes. Returns the length of the whole text, 0 if all are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_roots_warning(
    roots: *const Roots,
    text: *mut c_char,
    size: usize,
) -> usize {
    // SAFETY: the caller's duty.
    value(|| unsafe { text::write(&shared::get(roots)?.warning, text, size) })
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

#[cfg(test)]
mod tests {
    use core::ptr;

    use rcgen::{CertificateParams, KeyPair};

    use super::*;
    use crate::credential::{tercel_credential_from_pem, tercel_credential_release};
    use crate::pem_cases::check;

    /// RFC 7468 2, 3
    #[test]
    fn files_of_odd_forms_are_read_or_refused_with_the_reason() {
        let key = KeyPair::generate().unwrap();
        let made = || CertificateParams::default().self_signed(&key).unwrap().pem();
        let (one, other, key) = (made(), made(), key.serialize_pem());
        let result = |code| match code {
            status::codes::TERCEL_OK => Ok(()),
            code => Err(status::text(code).to_str().unwrap().to_owned()),
        };
        let credential = |chain: &[u8], key: &[u8]| {
            let mut made = ptr::null();
            let (chain, length) = (chain.as_ptr(), chain.len());
            // SAFETY: the pointers are valid for their lengths, and the handle is released once.
            let status = unsafe {
                let status =
                    tercel_credential_from_pem(chain, length, key.as_ptr(), key.len(), &mut made);
                tercel_credential_release(made);
                status
            };
            result(status)
        };
        check("chain", &one, &other, |pem| credential(pem, key.as_bytes()));
        check("key", &one, &key, |pem| credential(one.as_bytes(), pem));
        check("roots", &one, &other, |pem| {
            let mut roots = ptr::null();
            // SAFETY: the pointer is valid for its length, and the handle is released once.
            let status = unsafe {
                let status = tercel_roots_from_pem(pem.as_ptr(), pem.len(), &mut roots);
                tercel_roots_release(roots);
                status
            };
            result(status)
        });
    }
}
