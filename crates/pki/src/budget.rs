//! The work that the verification of one chain may cost: the search for a path, and the revocation
//! lists for its certificates. The signatures of a stapled OCSP response are not part of it: their
//! number has a limit of its own.

use tercel_crypto::KeyKind;

use crate::reason::RefusalReason;

/// The rest of the allowed work. A refusal for [`RefusalReason::PathLimits`] ends the search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    signatures: u32,
    units: usize,
}

impl Budget {
    pub(crate) fn new() -> Self {
        Self { signatures: MOST_SIGNATURES, units: MOST_UNITS }
    }

    /// Pays for the verification of one signature by a key of this kind.
    pub(crate) fn pay_signature(&mut self, kind: KeyKind) -> Result<(), RefusalReason> {
        let price = match kind {
            KeyKind::EcdsaP256 | KeyKind::Ed25519 => 1,
            KeyKind::EcdsaP521 => 4,
            _ => 2,
        };
        self.signatures = self.signatures.checked_sub(price).ok_or(RefusalReason::PathLimits)?;
        Ok(())
    }

    /// Pays for comparisons of names, candidates, policies or lists, each about a hundred
    /// instructions.
    pub(crate) fn pay(&mut self, units: usize) -> Result<(), RefusalReason> {
        self.units = self.units.checked_sub(units).ok_or(RefusalReason::PathLimits)?;
        Ok(())
    }

    /// The units that were paid for signatures, and for comparisons.
    #[cfg(test)]
    pub(crate) fn spent(&self) -> (u32, usize) {
        (MOST_SIGNATURES - self.signatures, MOST_UNITS - self.units)
    }
}

/// The maximum cost of the signatures in one verification, with those of revocation lists. The
/// unit is a signature by a P-256 key. A path of 32 intermediates with RSA keys is within the
/// limit.
pub(crate) const MOST_SIGNATURES: u32 = 96;

/// The maximum number of comparisons in one verification.
pub(crate) const MOST_UNITS: usize = 250_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_ends() {
        let mut budget = Budget::new();
        for _ in 0..MOST_SIGNATURES {
            budget.pay_signature(KeyKind::EcdsaP256).unwrap();
        }
        let refused = budget.pay_signature(KeyKind::EcdsaP256);
        assert_eq!(refused, Err(RefusalReason::PathLimits));
        budget.pay(MOST_UNITS).unwrap();
        assert_eq!(budget.pay(1), Err(RefusalReason::PathLimits));
        assert_eq!(budget.pay(usize::MAX), Err(RefusalReason::PathLimits));
    }
}
