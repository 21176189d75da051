//! Settings that only a restart can change.

use super::{Config, ConfigError};

impl Config {
    /// Replaces restart-only settings by their values in the running configuration. Returns an
    /// error for each key that differs.
    pub(crate) fn keep_restart_only_settings(&mut self, running: &Self) -> Vec<ConfigError> {
        // The guard cannot be resized: that would take a new guard, which would not have the
        // entries of the current one.
        let guard_stays = !self.resumption.shared_guard
            && !running.resumption.shared_guard
            && self.resumption.freshness_window == running.resumption.freshness_window;
        let capacity = &mut self.resumption.guard_capacity;
        let kept = [
            ("workers", keep_running(&mut self.workers, &running.workers)),
            ("hash_lanes", keep_running(&mut self.hash_lanes, &running.hash_lanes)),
            ("kernels", keep_running(&mut self.disabled_kernels, &running.disabled_kernels)),
            ("user", keep_running(&mut self.user, &running.user)),
            ("group", keep_running(&mut self.group, &running.group)),
            ("admin.address", keep_running(&mut self.admin, &running.admin)),
            ("log.format", keep_running(&mut self.log.json, &running.log.json)),
            ("log.level", keep_running(&mut self.log.level, &running.log.level)),
            (
                "resumption.guard_capacity",
                guard_stays && keep_running(capacity, &running.resumption.guard_capacity),
            ),
        ];
        let differ = kept.into_iter().filter(|(_, differs)| *differs);
        differ.map(|(key, _)| self.location.error(key, "takes effect after a restart")).collect()
    }
}

/// Sets `new` to `running`. Returns whether they differed.
fn keep_running<T: Clone + PartialEq>(new: &mut T, running: &T) -> bool {
    let differs = new != running;
    new.clone_from(running);
    differs
}
