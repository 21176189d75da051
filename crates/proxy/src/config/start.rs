//! What only a start can change: a configuration that is read again keeps it, and says so.
//!
//! Must not know: what else changes. Next: [`crate::run`], which takes the rest over.

use super::{Config, Fault};

impl Config {
    /// Takes over from the configuration that runs what only a start decides. A line for each key that would have it
    /// otherwise.
    pub(crate) fn keep_until_restart(&mut self, running: &Self) -> Vec<Fault> {
        // A guard that was made over would have forgotten what it has admitted.
        let guard_stays = !self.resumption.shared_guard
            && !running.resumption.shared_guard
            && self.resumption.freshness_window == running.resumption.freshness_window;
        let capacity = &mut self.resumption.guard_capacity;
        let kept = [
            ("workers", keep(&mut self.workers, &running.workers)),
            ("hash_lanes", keep(&mut self.hash_lanes, &running.hash_lanes)),
            ("user", keep(&mut self.user, &running.user)),
            ("group", keep(&mut self.group, &running.group)),
            ("admin.address", keep(&mut self.admin, &running.admin)),
            ("log.format", keep(&mut self.log.json, &running.log.json)),
            ("log.level", keep(&mut self.log.level, &running.log.level)),
            (
                "resumption.guard_capacity",
                guard_stays && keep(capacity, &running.resumption.guard_capacity),
            ),
        ];
        let differ = kept.into_iter().filter(|(_, differs)| *differs);
        differ.map(|(key, _)| self.place.fault(key, "changes at the next start only")).collect()
    }
}

/// Whether they differ; afterwards they do not.
fn keep<T: Clone + PartialEq>(new: &mut T, running: &T) -> bool {
    let differs = new != running;
    new.clone_from(running);
    differs
}
