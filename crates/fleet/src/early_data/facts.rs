//! What a store tells of itself, and whether it can be trusted to forget nothing.
//!
//! Must not know: how it is asked. Next: [`super`].

/// What was told, if early data can be admitted by this store.
#[derive(Debug)]
pub(super) struct Facts {
    /// The store's process.
    pub(super) run_id: String,
    pub(super) replication: Replication,
}

impl Facts {
    /// From three sections of `INFO`.
    ///
    /// # Errors
    /// Why the store cannot be trusted with early data.
    pub(super) fn read(
        server: &str,
        memory: &str,
        replication: &str,
    ) -> Result<Self, &'static str> {
        let run_id = field(server, "run_id").ok_or("the store does not tell its run_id")?;
        // An evicted entry would be admitted again.
        if field(memory, "maxmemory_policy") != Some("noeviction") {
            return Err("the store may evict keys; set its maxmemory-policy to noeviction");
        }
        Ok(Self { run_id: run_id.to_owned(), replication: Replication::read(replication)? })
    }
}

/// A store's place among its replicas.
#[derive(Debug)]
pub(super) struct Replication {
    /// New after every start and every promotion.
    pub(super) id: String,
    /// Whether no replica could take its place.
    pub(super) is_alone: bool,
}

impl Replication {
    pub(super) fn read(section: &str) -> Result<Self, &'static str> {
        if field(section, "role") != Some("master") {
            return Err("the store is a replica");
        }
        let id =
            field(section, "master_replid").ok_or("the store does not tell its master_replid")?;
        let replicas = field(section, "connected_slaves");
        let backlog = field(section, "repl_backlog_active");
        let is_alone = replicas == Some("0") && backlog == Some("0");
        // Only told if the store stops writing when it has lost its replicas.
        if !is_alone && field(section, "min_slaves_good_slaves").is_none() {
            return Err(
                "the store has replicas and goes on without them; set its min-replicas-to-write",
            );
        }
        Ok(Self { id: id.to_owned(), is_alone })
    }
}

fn field<'a>(section: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = section.lines();
    lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim_end)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVER: &str = "# Server\r\nredis_version:7.0.15\r\nrun_id:abc\r\n";
    const MEMORY: &str = "# Memory\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n";
    const ALONE: &str = "# Replication\r\nrole:master\r\nconnected_slaves:0\r\nmaster_replid:def\r\nrepl_backlog_active:0\r\n";

    #[test]
    fn a_store_alone_that_evicts_nothing_is_trusted() {
        let facts = Facts::read(SERVER, MEMORY, ALONE).unwrap();
        assert_eq!((facts.run_id.as_str(), facts.replication.id.as_str()), ("abc", "def"));
        assert!(facts.replication.is_alone);
    }

    #[test]
    fn one_that_may_forget_is_not() {
        for policy in ["allkeys-lru", "volatile-ttl", "noevictions", ""] {
            let memory = MEMORY.replace("noeviction", policy);
            assert!(Facts::read(SERVER, &memory, ALONE).unwrap_err().contains("noeviction"));
        }
        assert!(Facts::read(SERVER, "", ALONE).is_err());
        assert!(Facts::read("", MEMORY, ALONE).is_err());
    }

    #[test]
    fn one_with_replicas_has_to_stop_without_them() {
        for (from, to) in [
            ("connected_slaves:0", "connected_slaves:1"),
            ("repl_backlog_active:0", "repl_backlog_active:1"),
            ("repl_backlog_active:0", ""),
        ] {
            let replication = ALONE.replace(from, to);
            let refusal = Facts::read(SERVER, MEMORY, &replication).unwrap_err();
            assert!(refusal.contains("min-replicas-to-write"), "{to}");
            let bound = format!("{replication}min_slaves_good_slaves:1\r\n");
            assert!(!Facts::read(SERVER, MEMORY, &bound).unwrap().replication.is_alone, "{to}");
        }
    }

    #[test]
    fn a_replica_and_one_that_does_not_tell_are_refused() {
        assert!(Replication::read(&ALONE.replace("role:master", "role:slave")).is_err());
        assert!(Replication::read(&ALONE.replace("master_replid:def\r\n", "")).is_err());
        assert!(Replication::read("").is_err());
    }
}
