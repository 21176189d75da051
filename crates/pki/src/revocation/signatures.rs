//! The signatures of revocation lists, checked once in a verification for each key.

use crate::algorithms::{self, CertificateAlgorithm};
use crate::budget::Budget;
use crate::reason::RefusalReason;

use super::list::List;

/// The issuer of a certificate, as the signer of its lists.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Signer<'a> {
    /// The content of the SEQUENCE of the key's AlgorithmIdentifier, and the bits of the key.
    pub(crate) key: (&'a [u8], &'a [u8]),
    /// Whether its key usage, if any, has cRLSign.
    pub(crate) may_sign_lists: bool,
}

/// The work that the verification of one chain may still do, and the signatures of lists that it
/// has checked. The search for a path has it first, then the check of a stapled response.
#[derive(Debug)]
pub(crate) struct Work<'a> {
    pub(crate) budget: Budget,
    pub(crate) signatures: ListSignatures<'a>,
}

/// The number of times that a list is hashed without pay. An authority that changes its key has two
/// under its name.
const UNPAID_HASHES: usize = 2;

/// The signatures of lists that were checked in one verification.
#[derive(Debug, Default)]
pub(crate) struct ListSignatures<'a>(Vec<ListSignature<'a>>);

#[derive(Debug)]
struct ListSignature<'a> {
    /// The index of the list.
    list: usize,
    key: (&'a [u8], &'a [u8]),
    is_valid: bool,
}

impl<'a> Work<'a> {
    pub(crate) fn new() -> Self {
        Self { budget: Budget::new(), signatures: ListSignatures::default() }
    }

    /// Checks whether the issuer has signed the list. RFC 5280 6.3.3 (f), (g)
    pub(super) fn check_signature(
        &mut self,
        (index, list): (usize, &List),
        issuer: Signer<'a>,
        algorithms: &[&'static CertificateAlgorithm],
    ) -> Result<(), RefusalReason> {
        let (key_algorithm, key) = issuer.key;
        let algorithm = algorithms::find(algorithms, &list.signature_algorithm, key_algorithm);
        let (true, Ok(algorithm)) = (issuer.may_sign_lists, algorithm) else {
            return Err(RefusalReason::InvalidCrl);
        };
        let Self { budget, signatures: ListSignatures(checked) } = self;
        // All known signatures are compared.
        budget.pay(checked.len() / 8)?;
        let of_list = || checked.iter().filter(|one| one.list == index);
        let hashes = of_list().count();
        let known = of_list().find(|known| known.key == issuer.key).map(|known| known.is_valid);
        let is_valid = match known {
            Some(is_valid) => is_valid,
            None => {
                // These are paid by the application, which has chosen the list's length.
                if hashes >= UNPAID_HASHES {
                    budget.pay(list.signed.len() / 4)?;
                }
                budget.pay_signature(algorithm.key())?;
                let verify = |key| algorithm.verify_by(&key, &list.signed, &list.signature).is_ok();
                let is_valid = algorithm.parse_key(key).is_ok_and(verify);
                checked.push(ListSignature { list: index, key: issuer.key, is_valid });
                is_valid
            }
        };
        if is_valid { Ok(()) } else { Err(RefusalReason::InvalidCrl) }
    }
}

#[cfg(test)]
impl ListSignatures<'_> {
    /// The number of checked signatures, and the bytes that were hashed for them.
    pub(crate) fn counted(&self, revocation: &super::Revocation) -> (usize, usize) {
        let bytes = |one: &ListSignature<'_>| revocation.lists[one.list].signed.len();
        (self.0.len(), self.0.iter().map(bytes).sum())
    }
}
