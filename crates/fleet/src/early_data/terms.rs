//! What all nodes that admit early data through one store have to agree on, and how each knows that they do.
//!
//! Who begins an epoch writes down in it by which terms it admits; nobody admits anything in an epoch of other terms. It goes
//! by itself when nobody who shares its terms has looked or asked for [`LIFE`](super::EPOCH_LIFE), by when nothing that was
//! admitted in it is fresh any more. Must not know: who tells. Next: [`super`].

use std::time::Duration;

use crate::error::FleetError;
use crate::secret::hexadecimal;

/// What a node's part in the memory of early data is reckoned from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    /// [`StoreSettings::clock_difference`](crate::StoreSettings::clock_difference), in seconds.
    pub(crate) difference: u64,
    /// [`StoreSettings::connect_time_limit`](crate::StoreSettings::connect_time_limit), in milliseconds: it matters if
    /// there are replicas.
    pub(crate) patience: u128,
}

impl Terms {
    /// An epoch that is like no other, of these terms.
    pub(super) fn epoch(self, random: &[u8]) -> String {
        format!("{} {} {}", hexadecimal(random), self.difference, self.patience)
    }

    /// The terms of an epoch; `None` if it does not tell.
    fn of(epoch: &str) -> Option<Self> {
        let mut words = epoch.split(' ').skip(1);
        let terms =
            Self { difference: words.next()?.parse().ok()?, patience: words.next()?.parse().ok()? };
        words.next().is_none().then_some(terms)
    }

    /// Whether early data may be admitted in this epoch, of a store that is alone or has replicas.
    ///
    /// # Errors
    /// What differs, and both values.
    pub(super) fn agree(self, epoch: &str, is_alone: bool) -> Result<(), FleetError> {
        let theirs = Self::of(epoch).ok_or(FleetError::Setting(
            "early_data",
            "the store's epoch does not tell its terms",
        ))?;
        let differ = |setting, here, there| Err(FleetError::Disagreement { setting, here, there });
        if self.difference != theirs.difference {
            let seconds = Duration::from_secs;
            let (here, there) = (seconds(self.difference), seconds(theirs.difference));
            return differ("store.clock_difference", here, there);
        }
        if self.patience != theirs.patience && !is_alone {
            let milliseconds =
                |count: u128| Duration::from_millis(u64::try_from(count).unwrap_or(u64::MAX));
            let (here, there) = (milliseconds(self.patience), milliseconds(theirs.patience));
            return differ("store.connect_time_limit", here, there);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: Terms = Terms { difference: 5, patience: 2000 };

    #[test]
    fn an_epoch_tells_its_terms() {
        let epoch = OURS.epoch(&[0xab; 16]);
        assert_eq!(epoch, format!("{} 5 2000", "ab".repeat(16)));
        assert_eq!(Terms::of(&epoch), Some(OURS));
        OURS.agree(&epoch, false).unwrap();
        for silent in ["", "abcd", "abcd 5", "abcd 5 2000 1", "abcd x 2000", "abcd 5 -1"] {
            let refused = OURS.agree(silent, true).unwrap_err().to_string();
            assert!(refused.contains("does not tell its terms"), "{silent}: {refused}");
        }
    }

    #[test]
    fn a_disagreement_is_told_with_both_values() {
        let theirs = Terms { difference: 60, ..OURS }.epoch(&[1; 16]);
        let refused = OURS.agree(&theirs, true).unwrap_err().to_string();
        assert!(refused.starts_with("store.clock_difference is 5s here and 60s at"), "{refused}");
        let theirs = Terms { patience: 2500, ..OURS }.epoch(&[1; 16]);
        let refused = OURS.agree(&theirs, false).unwrap_err().to_string();
        assert!(
            refused.starts_with("store.connect_time_limit is 2s here and 2.5s at"),
            "{refused}"
        );
        // Without replicas a late store has no successor.
        OURS.agree(&theirs, true).unwrap();
    }
}
