//! The parameters that must be the same on all nodes that admit early data through one store.
//!
//! The node that begins an epoch writes its parameters into it, and no node admits early data in
//! an epoch with other parameters. An epoch expires when no node with its parameters has used the
//! store for [`EPOCH_LIFETIME_MS`](super::EPOCH_LIFETIME_MS); nothing that was admitted in it is
//! still fresh then.

use std::time::Duration;

use crate::error::FleetError;
use crate::hex;

/// The settings that decide how long a ClientHello counts as fresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parameters {
    /// [`StoreSettings::clock_difference`](crate::StoreSettings::clock_difference), in seconds.
    pub(crate) clock_difference: u64,
    /// [`StoreSettings::connect_time_limit`](crate::settings::StoreSettings::connect_time_limit),
    /// in milliseconds. It matters only if the store has replicas.
    pub(crate) connect_time_limit: u128,
}

impl Parameters {
    /// The value of a new, unique epoch with these parameters.
    pub(super) fn epoch(self, random: &[u8]) -> String {
        format!("{} {} {}", hex::encode(random), self.clock_difference, self.connect_time_limit)
    }

    /// The parameters of an epoch; `None` if it has none.
    fn of(epoch: &str) -> Option<Self> {
        let mut fields = epoch.split(' ').skip(1);
        let parameters = Self {
            clock_difference: fields.next()?.parse().ok()?,
            connect_time_limit: fields.next()?.parse().ok()?,
        };
        fields.next().is_none().then_some(parameters)
    }

    /// Checks that early data may be admitted in this epoch, of a store with or without replicas.
    ///
    /// # Errors
    /// If a parameter differs. The error has the parameter's name and both values.
    pub(super) fn check(self, epoch: &str, has_no_replicas: bool) -> Result<(), FleetError> {
        let other = Self::of(epoch)
            .ok_or(FleetError::Setting("store", "the epoch in it has no parameters"))?;
        let mismatch =
            |setting, here, there| Err(FleetError::SettingMismatch { setting, here, there });
        if self.clock_difference != other.clock_difference {
            let seconds = Duration::from_secs;
            let (here, there) = (seconds(self.clock_difference), seconds(other.clock_difference));
            return mismatch("store.clock_difference", here, there);
        }
        if self.connect_time_limit != other.connect_time_limit && !has_no_replicas {
            let milliseconds =
                |count: u128| Duration::from_millis(u64::try_from(count).unwrap_or(u64::MAX));
            let (here, there) =
                (milliseconds(self.connect_time_limit), milliseconds(other.connect_time_limit));
            return mismatch("store.connect_time_limit", here, there);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: Parameters = Parameters { clock_difference: 5, connect_time_limit: 2000 };

    #[test]
    fn an_epoch_carries_its_parameters() {
        let epoch = OURS.epoch(&[0xab; 16]);
        assert_eq!(epoch, format!("{} 5 2000", "ab".repeat(16)));
        assert_eq!(Parameters::of(&epoch), Some(OURS));
        OURS.check(&epoch, false).unwrap();
        for silent in ["", "abcd", "abcd 5", "abcd 5 2000 1", "abcd x 2000", "abcd 5 -1"] {
            let refused = OURS.check(silent, true).unwrap_err().to_string();
            assert!(refused.contains("has no parameters"), "{silent}: {refused}");
        }
    }

    #[test]
    fn a_mismatch_names_both_values() {
        let other = Parameters { clock_difference: 60, ..OURS }.epoch(&[1; 16]);
        let refused = OURS.check(&other, true).unwrap_err().to_string();
        assert!(
            refused.starts_with("store.clock_difference is 5s on this node and 60s on"),
            "{refused}"
        );
        let other = Parameters { connect_time_limit: 2500, ..OURS }.epoch(&[1; 16]);
        let refused = OURS.check(&other, false).unwrap_err().to_string();
        assert!(
            refused.starts_with("store.connect_time_limit is 2s on this node and 2.5s on"),
            "{refused}"
        );
        // Without replicas no other server can take the place of a slow store.
        OURS.check(&other, true).unwrap();
    }
}
