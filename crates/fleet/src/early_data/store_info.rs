//! Parsing of a store's `INFO`, and the check that its entries are durable enough for the replay
//! guard.

/// The parsed `INFO` of a store that may decide about early data.
#[derive(Debug)]
pub(super) struct StoreInfo {
    /// The ID of the server process.
    pub(super) run_id: String,
    pub(super) replication: Replication,
}

impl StoreInfo {
    /// Parses three sections of `INFO`.
    ///
    /// # Errors
    /// The reason why the store must not decide about early data.
    pub(super) fn read(
        server: &str,
        memory: &str,
        replication: &str,
    ) -> Result<Self, &'static str> {
        let run_id = field(server, "run_id").ok_or("store does not report its run_id")?;
        // Early data whose entry was evicted would be admitted again.
        if field(memory, "maxmemory_policy") != Some("noeviction") {
            return Err("store may evict keys; set its maxmemory-policy to noeviction");
        }
        Ok(Self { run_id: run_id.to_owned(), replication: Replication::read(replication)? })
    }
}

/// The replication state of a store.
#[derive(Debug)]
pub(super) struct Replication {
    /// The replication ID, which changes at every start and every promotion.
    pub(super) id: String,
    /// Whether the store has no replica that could replace it.
    pub(super) has_no_replicas: bool,
}

impl Replication {
    pub(super) fn read(section: &str) -> Result<Self, &'static str> {
        if field(section, "role") != Some("master") {
            return Err("store is a replica");
        }
        let id =
            field(section, "master_replid").ok_or("store does not report its master_replid")?;
        let replicas = field(section, "connected_slaves");
        let backlog = field(section, "repl_backlog_active");
        let has_no_replicas = replicas == Some("0") && backlog == Some("0");
        // The field is present only if the store stops accepting writes without enough replicas.
        if !has_no_replicas && field(section, "min_slaves_good_slaves").is_none() {
            return Err("store accepts writes without its replicas; set its min-replicas-to-write");
        }
        Ok(Self { id: id.to_owned(), has_no_replicas })
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
    const ALONE: &str = "# Replication\r\nrole:master\r\nconnected_slaves:0\r\n\
        master_replid:def\r\nrepl_backlog_active:0\r\n";

    #[test]
    fn a_single_store_without_eviction_is_accepted() {
        let info = StoreInfo::read(SERVER, MEMORY, ALONE).unwrap();
        assert_eq!((info.run_id.as_str(), info.replication.id.as_str()), ("abc", "def"));
        assert!(info.replication.has_no_replicas);
    }

    #[test]
    fn a_store_that_may_evict_is_refused() {
        for policy in ["allkeys-lru", "volatile-ttl", "noevictions", ""] {
            let memory = MEMORY.replace("noeviction", policy);
            assert!(StoreInfo::read(SERVER, &memory, ALONE).unwrap_err().contains("noeviction"));
        }
        assert!(StoreInfo::read(SERVER, "", ALONE).is_err());
        assert!(StoreInfo::read("", MEMORY, ALONE).is_err());
    }

    #[test]
    fn a_store_with_replicas_must_require_them_for_writes() {
        for (from, to) in [
            ("connected_slaves:0", "connected_slaves:1"),
            ("repl_backlog_active:0", "repl_backlog_active:1"),
            ("repl_backlog_active:0", ""),
        ] {
            let replication = ALONE.replace(from, to);
            let refusal = StoreInfo::read(SERVER, MEMORY, &replication).unwrap_err();
            assert!(refusal.contains("min-replicas-to-write"), "{to}");
            let bound = format!("{replication}min_slaves_good_slaves:1\r\n");
            assert!(
                !StoreInfo::read(SERVER, MEMORY, &bound).unwrap().replication.has_no_replicas,
                "{to}"
            );
        }
    }

    #[test]
    fn replicas_and_missing_fields_are_refused() {
        assert!(Replication::read(&ALONE.replace("role:master", "role:slave")).is_err());
        assert!(Replication::read(&ALONE.replace("master_replid:def\r\n", "")).is_err());
        assert!(Replication::read("").is_err());
    }
}
