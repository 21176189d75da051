//! DANE: the peer is authenticated by records of the DNS. RFC 6698, RFC 7671
//!
//! The records are matched here. libcrypto verifies the chain: for DANE-TA with the certificates
//! that matched as the only anchors, for PKIX-TA and PKIX-EE with the program's store.

use core::cell::{Cell, RefCell};
use core::ffi::{c_int, c_ulong};
use core::ptr;
use std::sync::Arc;

use crate::objects::certificate::Certificate;
use crate::objects::dane::Digest;
use crate::objects::key::Key;
use crate::objects::list::{self, Certificates};
use crate::settings::security::least_bits;
use crate::sys::x509::{
    V_OK, X509_STORE_CTX, X509_STORE_CTX_get_error, X509_STORE_CTX_get_verify_cb,
    X509_STORE_CTX_get0_chain, X509_STORE_CTX_get0_param, X509_STORE_CTX_set_current_cert,
    X509_STORE_CTX_set_error, X509_STORE_CTX_set_error_depth, X509_STORE_CTX_set0_trusted_stack,
    X509_STORE_CTX_set0_verified_chain, X509_VERIFY_PARAM_get_auth_level,
    X509_VERIFY_PARAM_get_depth, X509_VERIFY_PARAM_set_flags, X509_chain_check_suiteb, X509_verify,
    X509_verify_cert,
};

pub(crate) const PKIX_TA: u8 = 0;
pub(crate) const PKIX_EE: u8 = 1;
pub(crate) const DANE_TA: u8 = 2;
pub(crate) const DANE_EE: u8 = 3;
pub(crate) const CERTIFICATE: u8 = 0;
pub(crate) const FULL: u8 = 0;

/// The names of a server that matches a DANE-EE record are not checked.
const NO_EE_NAME_CHECKS: c_ulong = 1;

const ERR_UNSPECIFIED: c_int = 1;
const ERR_OUT_OF_MEMORY: c_int = 17;
const ERR_CHAIN_TOO_LONG: c_int = 22;
const ERR_HOST_MISMATCH: c_int = 62;
const ERR_EMAIL_MISMATCH: c_int = 63;
const ERR_IP_MISMATCH: c_int = 64;
const ERR_NO_MATCH: c_int = 65;
const ERR_KEY_TOO_SMALL: c_int = 66;
const FLAG_PARTIAL_CHAIN: c_ulong = 0x8_0000;

/// A TLSA record.
pub(crate) struct Record {
    pub(crate) usage: u8,
    pub(crate) selector: u8,
    pub(crate) matching: u8,
    pub(crate) data: Vec<u8>,
    /// The digest of the matching type, unless the data is the whole, and its preference.
    pub(crate) digest: Option<Digest>,
    pub(crate) order: u8,
    /// The certificate of an authority that the record contains.
    pub(crate) certificate: Option<Certificate>,
    /// The key of an authority that the record contains, for DANE-TA.
    pub(crate) key: Option<Key>,
}

impl Record {
    /// Whether the record is that of the certificate. `None` if memory is short.
    fn matches(&self, certificate: &Certificate) -> Option<bool> {
        let whole = match self.selector {
            CERTIFICATE => certificate.to_der()?,
            _ => certificate.key_to_der()?,
        };
        Some(match &self.digest {
            None => whole == self.data,
            Some(digest) => digest.compute(&whole)? == self.data,
        })
    }
}

/// What authenticated the peer.
pub(crate) struct Found {
    /// The place of the certificate in the chain.
    pub(crate) depth: c_int,
    pub(crate) record: Arc<Record>,
    /// `None`: the key of the record signed the certificate at this depth.
    pub(crate) certificate: Option<Certificate>,
}

/// The records of a connection, and the one that matched.
#[derive(Default)]
pub(crate) struct Dane {
    pub(crate) flags: Cell<c_ulong>,
    /// In the order in which they are compared. `None`: DANE is not enabled.
    pub(crate) records: RefCell<Option<Vec<Arc<Record>>>>,
    pub(crate) found: RefCell<Option<Found>>,
}

impl Dane {
    /// Adds a record behind those that are preferred. Returns whether DANE is enabled.
    pub(crate) fn add(&self, record: Record) -> bool {
        let mut records = self.records.borrow_mut();
        let Some(records) = &mut *records else { return false };
        let rank = |record: &Record| (record.usage, record.selector, record.order);
        let place = records.iter().position(|known| rank(known) <= rank(&record));
        records.insert(place.unwrap_or(records.len()), Arc::new(record));
        true
    }

    /// What a verification needs. `None`: there is no record, so that DANE is not used.
    pub(crate) fn request(&self, suite_b: c_ulong) -> Option<Request> {
        self.found.take();
        let records = self.records.borrow().clone().filter(|records| !records.is_empty())?;
        Some(Request { records, flags: self.flags.get(), suite_b })
    }
}

/// The records for a verification.
pub(crate) struct Request {
    records: Vec<Arc<Record>>,
    flags: c_ulong,
    /// The flags of a profile of Suite B, or 0.
    suite_b: c_ulong,
}

impl Request {
    /// The certificates in records, which a chain may need.
    pub(crate) fn certificates(&self) -> impl Iterator<Item = &Certificate> {
        self.records.iter().filter_map(|record| record.certificate.as_ref())
    }

    fn has(&self, usages: [u8; 2]) -> bool {
        self.records.iter().any(|record| usages.contains(&record.usage))
    }

    /// The first record of these usages that matches. For each usage and selector, only records
    /// with the preferred digest are compared, and those without a digest. RFC 7671 9
    fn find(&self, usages: &[u8], certificate: &Certificate) -> Result<Option<Arc<Record>>, ()> {
        let mut group = None;
        for record in self.records.iter().filter(|record| usages.contains(&record.usage)) {
            let kind = (record.usage, record.selector);
            let best = match group {
                Some((known, best)) if known == kind => best,
                _ => record.order,
            };
            group = Some((kind, best));
            if record.matching != FULL && record.order < best {
                continue;
            }
            if record.matches(certificate).ok_or(())? {
                return Ok(Some(Arc::clone(record)));
            }
        }
        Ok(None)
    }

    /// Verifies a chain, whose first certificate is the leaf. Returns the result as
    /// `X509_verify_cert` does, and what matched.
    ///
    /// # Safety
    /// The verification is initialized for the chain and was not run; it and its callback may be
    /// used.
    pub(crate) unsafe fn verify(
        &self,
        verification: *mut X509_STORE_CTX,
        chain: &[Certificate],
    ) -> (c_int, Option<Found>) {
        // SAFETY: as this function's contract.
        let (result, found) = unsafe {
            X509_STORE_CTX_set_error(verification, 0);
            match self.verify_parts(verification, chain) {
                Ok(done) => done,
                Err(()) => {
                    X509_STORE_CTX_set_error(verification, ERR_OUT_OF_MEMORY);
                    (-1, None)
                }
            }
        };
        // SAFETY: as above.
        unsafe {
            if result <= 0 && i64::from(X509_STORE_CTX_get_error(verification)) == V_OK {
                X509_STORE_CTX_set_error(verification, ERR_UNSPECIFIED);
            }
        }
        (result, found)
    }

    /// # Safety
    /// As [`Self::verify`].
    unsafe fn verify_parts(
        &self,
        verification: *mut X509_STORE_CTX,
        chain: &[Certificate],
    ) -> Result<(c_int, Option<Found>), ()> {
        let leaf = chain.first().ok_or(())?;
        let of_leaf = self.find(&[DANE_EE, PKIX_EE], leaf)?;
        if let Some(record) = of_leaf.as_ref().filter(|record| record.usage == DANE_EE) {
            let own =
                Found { depth: 0, record: Arc::clone(record), certificate: Some(leaf.clone()) };
            // SAFETY: as this function's contract.
            return unsafe { self.accept_leaf(verification, leaf) }.map(|done| (done, Some(own)));
        }
        // SAFETY: as this function's contract.
        let no_match = |depth: usize| unsafe {
            let certificate = chain.get(depth).unwrap_or(leaf);
            let depth = c_int::try_from(depth).unwrap_or(c_int::MAX);
            (report(verification, ERR_NO_MATCH, depth, certificate), None)
        };
        // Without `X509_verify_cert`, which reports a weak key first.
        // SAFETY: as this function's contract.
        let no_chain = |depth: usize| unsafe {
            if has_strong_key(verification, leaf) { no_match(depth) } else { (0, None) }
        };
        if of_leaf.is_none() && !self.has([DANE_TA, PKIX_TA]) {
            return Ok(no_chain(0));
        }
        let anchors = self.anchors(chain, leaf)?;
        if !anchors.is_empty() {
            // SAFETY: as this function's contract.
            return unsafe { verify_with(verification, &anchors) };
        }
        if !self.has([PKIX_TA, PKIX_EE]) {
            return Ok(no_chain(chain.len().saturating_sub(1)));
        }
        // SAFETY: as this function's contract. The chain belongs to the verification.
        let (result, verified) = unsafe {
            let result = X509_verify_cert(verification);
            (result, list::certificates(X509_STORE_CTX_get0_chain(verification)))
        };
        if result <= 0 {
            return Ok((result, None));
        }
        if let Some(record) = of_leaf {
            let certificate = Some(leaf.clone());
            return Ok((result, Some(Found { depth: 0, record, certificate })));
        }
        for (depth, certificate) in verified.into_iter().enumerate().skip(1) {
            if let Some(record) = self.find(&[PKIX_TA], &certificate)? {
                let depth = c_int::try_from(depth).unwrap_or(c_int::MAX);
                let certificate = Some(certificate);
                return Ok((result, Some(Found { depth, record, certificate })));
            }
        }
        Ok(no_match(chain.len().saturating_sub(1)))
    }

    /// A leaf that matches a DANE-EE record: neither its chain nor its dates are verified.
    ///
    /// # Safety
    /// As [`Self::verify`].
    unsafe fn accept_leaf(
        &self,
        verification: *mut X509_STORE_CTX,
        leaf: &Certificate,
    ) -> Result<c_int, ()> {
        let verified = Certificates::of(core::slice::from_ref(leaf)).ok_or(())?;
        // SAFETY: as this function's contract. The verification takes the list over.
        unsafe {
            X509_STORE_CTX_set0_verified_chain(verification, verified.into_raw());
            if !has_strong_key(verification, leaf) {
                return Ok(0);
            }
            if self.suite_b != 0 {
                let none = ptr::null_mut();
                let checked =
                    X509_chain_check_suiteb(ptr::null_mut(), leaf.as_ptr(), none, self.suite_b);
                if i64::from(checked) != V_OK && report(verification, checked, 0, leaf) == 0 {
                    return Ok(0);
                }
            }
            if self.flags & NO_EE_NAME_CHECKS == 0 && !has_names(verification, leaf) {
                return Ok(0);
            }
            X509_STORE_CTX_set_error_depth(verification, 0);
            X509_STORE_CTX_set_current_cert(verification, leaf.as_ptr());
            let callback = X509_STORE_CTX_get_verify_cb(verification);
            Ok(callback.map_or(1, |callback| callback(1, verification)))
        }
    }

    /// The certificates of the chain and of records that DANE-TA records match, or that the keys of
    /// such records signed.
    fn anchors(&self, chain: &[Certificate], leaf: &Certificate) -> Result<Vec<Anchor>, ()> {
        let leaf_der = leaf.to_der().ok_or(())?;
        let mut anchors = Vec::new();
        for certificate in chain.iter().skip(1).chain(self.certificates()) {
            // The leaf is no authority of itself, even if the peer sends it twice.
            if certificate.to_der().ok_or(())? == leaf_der {
                continue;
            }
            if let Some(record) = self.find(&[DANE_TA], certificate)? {
                anchors.push(Anchor { certificate: certificate.clone(), record, is_bare: false });
            }
        }
        for record in self.records.iter().filter(|record| record.usage == DANE_TA) {
            let Some(key) = &record.key else { continue };
            for certificate in chain {
                // SAFETY: both objects exist during the call.
                let is_signed = crate::errors::without_errors(|| unsafe {
                    X509_verify(certificate.as_ptr(), key.as_ptr()) == 1
                });
                if is_signed {
                    let (certificate, record) = (certificate.clone(), Arc::clone(record));
                    anchors.push(Anchor { certificate, record, is_bare: true });
                }
            }
        }
        Ok(anchors)
    }
}

/// A certificate that a DANE-TA record makes trusted.
struct Anchor {
    certificate: Certificate,
    record: Arc<Record>,
    /// Whether the record has the key that signed the certificate, and not the certificate.
    is_bare: bool,
}

/// Verifies a chain that ends at one of these anchors.
///
/// # Safety
/// As [`Request::verify`].
unsafe fn verify_with(
    verification: *mut X509_STORE_CTX,
    anchors: &[Anchor],
) -> Result<(c_int, Option<Found>), ()> {
    let trusted: Vec<_> = anchors.iter().map(|anchor| anchor.certificate.clone()).collect();
    let trusted = Certificates::of(&trusted).ok_or(())?;
    // SAFETY: as this function's contract. The list exists until the end of the verification, and
    // is not used after it. The chain belongs to the verification.
    let (result, verified) = unsafe {
        X509_STORE_CTX_set0_trusted_stack(verification, trusted.as_ptr());
        let param = X509_STORE_CTX_get0_param(verification);
        X509_VERIFY_PARAM_set_flags(param, FLAG_PARTIAL_CHAIN);
        let result = X509_verify_cert(verification);
        (result, list::certificates(X509_STORE_CTX_get0_chain(verification)))
    };
    let last = verified.last().and_then(Certificate::to_der);
    let is_last = |anchor: &&Anchor| last.is_some() && anchor.certificate.to_der() == last;
    let anchor = anchors.iter().find(is_last);
    if let Some(anchor) = anchor.filter(|anchor| anchor.is_bare && result > 0) {
        // The authority is the key of the record, so the certificate that it signed is one more
        // between the leaf and the authority.
        // SAFETY: as this function's contract.
        let most = unsafe { X509_VERIFY_PARAM_get_depth(X509_STORE_CTX_get0_param(verification)) };
        let between = c_int::try_from(verified.len().saturating_sub(1)).unwrap_or(c_int::MAX);
        if most >= 0 && between > most {
            // SAFETY: as above.
            let result =
                unsafe { report(verification, ERR_CHAIN_TOO_LONG, between, &anchor.certificate) };
            return Ok((result, None));
        }
    }
    let found = anchor.map(|anchor| Found {
        depth: c_int::try_from(verified.len().saturating_sub(1)).unwrap_or(c_int::MAX),
        record: Arc::clone(&anchor.record),
        certificate: (!anchor.is_bare).then(|| anchor.certificate.clone()),
    });
    Ok((result, found))
}

/// Reports an error to the program's callback, and returns its decision.
///
/// # Safety
/// As [`Request::verify`].
unsafe fn report(
    verification: *mut X509_STORE_CTX,
    error: c_int,
    depth: c_int,
    certificate: &Certificate,
) -> c_int {
    // SAFETY: as this function's contract.
    unsafe {
        X509_STORE_CTX_set_error(verification, error);
        X509_STORE_CTX_set_error_depth(verification, depth);
        X509_STORE_CTX_set_current_cert(verification, certificate.as_ptr());
        let callback = X509_STORE_CTX_get_verify_cb(verification);
        callback.map_or(0, |callback| callback(0, verification))
    }
}

/// Whether the key of a leaf has the strength that the level of the verification demands, or the
/// callback accepts the key. `X509_verify_cert` checks the same before it builds a chain.
///
/// # Safety
/// As [`Request::verify`].
unsafe fn has_strong_key(verification: *mut X509_STORE_CTX, leaf: &Certificate) -> bool {
    // SAFETY: as this function's contract.
    unsafe {
        let level = X509_VERIFY_PARAM_get_auth_level(X509_STORE_CTX_get0_param(verification));
        level <= 0
            || leaf.key_bits() >= least_bits(level)
            || report(verification, ERR_KEY_TOO_SMALL, 0, leaf) != 0
    }
}

/// Whether a leaf has the names that the program expects, or the program accepts that it has not.
///
/// # Safety
/// As [`Request::verify`].
unsafe fn has_names(verification: *mut X509_STORE_CTX, leaf: &Certificate) -> bool {
    // SAFETY: as this function's contract.
    unsafe {
        let param = X509_STORE_CTX_get0_param(verification);
        let checks = [
            (ERR_HOST_MISMATCH, leaf.has_host_of(param)),
            (ERR_EMAIL_MISMATCH, leaf.has_email_of(param)),
            (ERR_IP_MISMATCH, leaf.has_address_of(param)),
        ];
        checks.iter().all(|(error, fits)| *fits || report(verification, *error, 0, leaf) != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_the_leaf_and_preferred_digests_are_first() {
        // RFC 7671 9
        let dane = Dane::default();
        let record = |usage, selector, order| Record {
            usage,
            selector,
            matching: order,
            data: Vec::new(),
            digest: None,
            order,
            certificate: None,
            key: None,
        };
        assert!(!dane.add(record(DANE_EE, 1, 1)));
        dane.records.replace(Some(Vec::new()));
        for (usage, selector, order) in
            [(PKIX_TA, 1, 2), (DANE_EE, 1, 0), (DANE_EE, 0, 2), (DANE_EE, 1, 2), (DANE_TA, 0, 1)]
        {
            assert!(dane.add(record(usage, selector, order)));
        }
        let records = dane.records.borrow().clone().unwrap();
        let order: Vec<_> = records.iter().map(|r| (r.usage, r.selector, r.order)).collect();
        assert_eq!(
            order,
            [(DANE_EE, 1, 2), (DANE_EE, 1, 0), (DANE_EE, 0, 2), (DANE_TA, 0, 1), (PKIX_TA, 1, 2)]
        );
    }
}
