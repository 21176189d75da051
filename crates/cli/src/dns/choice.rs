//! The choice among HTTPS records. RFC 9460 2.4, 3, 9.1, RFC 9848

use tercel::ech::ConfigList;

use super::OwnedRecord;
use crate::target::Target;

/// What the records of an owner say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The records of this name have to be looked up. RFC 9460 2.4.2
    Alias(String),
    /// These configurations, of the server at this endpoint.
    Configs { configs: ConfigList, endpoint: Target },
    /// No record has a configuration.
    None,
    /// Records have configurations, but none of them is usable.
    Unusable,
}

/// The owner of the records of a server. RFC 9460 9.1
pub(crate) fn owner_of(target: &Target) -> String {
    let host = target.host.trim_end_matches('.');
    match target.port {
        443 => format!("{host}."),
        port => format!("_{port}._https.{host}."),
    }
}

/// Chooses among the records of one owner: the one of the lowest priority with a usable
/// configuration.
pub(super) fn choose(target: &Target, records: &[OwnedRecord]) -> Choice {
    // If there is an alias, other records are ignored. RFC 9460 2.4.1
    if let Some(alias) = records.iter().find(|found| found.record.is_alias()) {
        return match alias.record.target().as_str() {
            // The service does not exist. RFC 9460 2.5.1
            "." => Choice::None,
            next => Choice::Alias(next.to_owned()),
        };
    }
    let mut compatible: Vec<_> =
        records.iter().filter(|found| found.record.is_compatible()).collect();
    compatible.sort_by_key(|found| found.record.priority());
    let has_configs = compatible.iter().any(|found| found.record.ech().is_some());
    for OwnedRecord { owner: record_owner, record } in compatible {
        let Some(configs) = record.ech().filter(ConfigList::usable) else { continue };
        let target_name = record.target();
        let host = match target_name.as_str() {
            // The owner: a record of another port needs another target. RFC 9460 2.5.2
            "." => record_owner,
            other => other,
        };
        // With a dot at its end, a name is not looked up in the file of hosts.
        let host = host.trim_end_matches('.').to_owned();
        let endpoint = Target { host, port: record.port().unwrap_or(target.port) };
        return Choice::Configs { configs, endpoint };
    }
    if has_configs { Choice::Unusable } else { Choice::None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tercel::ech::Key;

    const OWNER: &str = "_8443._https.a.example.";

    fn target() -> Target {
        Target { host: "a.example".to_owned(), port: 8443 }
    }

    fn chosen(records: &[(&str, &str)]) -> Choice {
        let owned = |(owner, text): &(&str, &str)| OwnedRecord {
            owner: (*owner).to_owned(),
            record: text.parse().unwrap(),
        };
        choose(&target(), &records.iter().map(owned).collect::<Vec<_>>())
    }

    /// RFC 9460 9.1
    #[test]
    fn other_ports_have_records_of_their_own() {
        assert_eq!(owner_of(&target()), OWNER);
        assert_eq!(owner_of(&Target { host: "a.".to_owned(), port: 443 }), "a.");
    }

    /// RFC 9460 2.4.1, 2.4.2, 2.5.1
    #[test]
    fn an_alias_precedes_services() {
        let alias = chosen(&[(OWNER, "1 ."), (OWNER, "0 pool.example.")]);
        assert_eq!(alias, Choice::Alias("pool.example.".to_owned()));
        assert_eq!(chosen(&[(OWNER, "0 .")]), Choice::None);
        assert_eq!(chosen(&[]), Choice::None);
    }

    #[test]
    fn unusable_configurations_are_distinguished_from_none() {
        let mut list = Key::generate("cover.example", 0).unwrap().config().as_bytes().to_vec();
        // Another version.
        list[3] ^= 1;
        let list = ConfigList::parse(&list).unwrap();
        let record = format!("1 . ech={}", list.to_base64());
        assert_eq!(chosen(&[(OWNER, &record), (OWNER, "2 .")]), Choice::Unusable);
        assert_eq!(chosen(&[(OWNER, "2 . alpn=h2")]), Choice::None);
    }

    /// RFC 9460 2.4, 2.4.1, 2.5.2, 3, 8
    #[test]
    fn the_lowest_priority_with_a_usable_configuration_is_chosen() {
        let [one, two] = [(); 2].map(|()| Key::generate("cover.example", 0).unwrap().config());
        let first = format!("2 . ech={}", one.to_base64());
        let second = format!("3 svc.example. port=8444 ech={}", two.to_base64());
        let strange = format!("1 . mandatory=key667 key667=a ech={}", two.to_base64());
        let without = "1 . alpn=h2";
        let all = [(OWNER, second.as_str()), (OWNER, &strange), (OWNER, without), (OWNER, &first)];
        let expected = |configs: &ConfigList, host: &str, port| {
            let endpoint = Target { host: host.to_owned(), port };
            Choice::Configs { configs: configs.clone(), endpoint }
        };
        assert_eq!(chosen(&all), expected(&one, OWNER.trim_end_matches('.'), 8443));
        assert_eq!(chosen(&all[..3]), expected(&two, "svc.example", 8444));
        // Behind an alias the owner is the server.
        let pool = [("pool.example.", first.as_str())];
        assert_eq!(chosen(&pool), expected(&one, "pool.example", 8443));
    }
}
