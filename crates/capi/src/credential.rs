//! Certificate chains with their private keys.

use core::ptr;
use std::sync::Arc;

use tercel::pki::load_certs_pem;
use tercel::wire::SignatureScheme;

use crate::entry::pointers::{self, Memory, Place};
use crate::entry::{Result, entry, shared};
use crate::status::{self, Status};

/// A certificate chain with its private key, shared by any number of configurations and threads.
pub struct Credential(pub(crate) Arc<tercel::Credential>);

impl Credential {
    fn handle(credential: tercel::Credential) -> *const Self {
        shared::new(Self(Arc::new(credential)))
    }
}

/// Creates a credential from PEM: a chain, leaf first, and its private key (PKCS#8, PKCS#1 or SEC1,
/// not encrypted).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_credential_from_pem(
    chain: *const u8,
    chain_len: usize,
    key: *const u8,
    key_len: usize,
    credential: *mut *const Credential,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let mut place = Place::new(credential, ptr::null())?;
        let chain = pointers::slice(chain, chain_len)?;
        let key = pointers::slice(key, key_len)?;
        place.separate(&[Memory::of(chain), Memory::of(key)])?;
        let credential = tercel::Credential::from_pem(chain, key);
        place.set(Credential::handle(credential.map_err(status::of_credential)?));
        Ok(())
    })
}

/// Creates a credential from a chain in PEM, leaf first, whose private key is not in this library,
/// for example in a hardware module. Each signature is a question, TERCEL_QUESTION_SIGN.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_credential_external(
    chain: *const u8,
    chain_len: usize,
    credential: *mut *const Credential,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let mut place = Place::new(credential, ptr::null())?;
        let chain = pointers::slice(chain, chain_len)?;
        place.separate(&[Memory::of(chain)])?;
        let chain = load_certs_pem(chain).map_err(status::of_pem)?;
        let credential = tercel::Credential::remote(chain);
        place.set(Credential::handle(credential.map_err(status::of_credential)?));
        Ok(())
    })
}

/// Creates a copy of a credential that staples this OCSP response (DER). The copy shares the key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_credential_with_ocsp_response(
    credential: *const Credential,
    response: *const u8,
    len: usize,
    copy: *mut *const Credential,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let response = pointers::slice(response, len);
        changed(credential, copy, response, |copy, response| {
            Ok(copy.ocsp_response(response.to_vec()))
        })
    })
}

/// Creates a copy of a credential that sends these signed certificate timestamps, an encoded
/// SignedCertificateTimestampList. RFC 6962 3.3
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_credential_with_timestamps(
    credential: *const Credential,
    list: *const u8,
    len: usize,
    copy: *mut *const Credential,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let list = pointers::slice(list, len);
        changed(credential, copy, list, |copy, list| {
            let copy = copy.signed_certificate_timestamps(list.to_vec());
            copy.map_err(status::of_credential)
        })
    })
}

/// Creates a copy of a credential that signs only with these schemes (code points, most preferred
/// first).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_credential_with_schemes(
    credential: *const Credential,
    schemes: *const u16,
    count: usize,
    copy: *mut *const Credential,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let schemes = pointers::slice(schemes, count);
        changed(credential, copy, schemes, |copy, schemes| {
            Ok(copy.signature_schemes(schemes.iter().copied().map(SignatureScheme).collect()))
        })
    })
}

/// Creates a copy of a credential that is used only for peers that list an issuer of its chain
/// among their authorities. RFC 9846 4.3.4
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_credential_with_matching_issuer(
    credential: *const Credential,
    copy: *mut *const Credential,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        changed::<u8>(credential, copy, Ok(&[]), |copy, _| Ok(copy.must_match_issuer()))
    })
}

/// Stores a copy of a credential that is changed with this argument.
///
/// # Safety
/// The caller's duty for both pointers.
unsafe fn changed<T>(
    credential: *const Credential,
    copy: *mut *const Credential,
    argument: Result<&[T]>,
    change: impl FnOnce(tercel::Credential, &[T]) -> Result<tercel::Credential>,
) -> Result<()> {
    // SAFETY: as this function's contract.
    let (mut place, from) = unsafe { (Place::new(copy, ptr::null())?, shared::get(credential)?) };
    let argument = argument?;
    place.separate(&[Memory::elements(argument)])?;
    place.set(Credential::handle(change(tercel::Credential::clone(&from.0), argument)?));
    Ok(())
}

/// Adds a reference to a credential, which tercel_credential_release removes. Returns its argument.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_credential_retain(
    credential: *const Credential,
) -> *const Credential {
    // SAFETY: the caller's duty.
    unsafe { shared::retain(credential) }
}

/// Removes a reference to a credential; the last one frees it. NULL has no effect.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_credential_release(credential: *const Credential) {
    // SAFETY: the caller's duty.
    _ = entry(|| unsafe { shared::release(credential) });
}
