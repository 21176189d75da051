//! Checks that a handshake has the requested parameters.
//!
//! Each handshake is checked on both sides, as far as the library reports its parameters, because
//! results for other parameters would be misleading.

use std::collections::BTreeMap;

use crate::accounting::Accounting;
use crate::library::{Outcome, Result};
use crate::row::{Ech, Row, Version};

/// Checks the outcome of one side.
pub(crate) fn check(row: &Row, resumed: bool, side: &str, outcome: &Outcome) -> Result<()> {
    let differs = |what: &str, asked: &dyn std::fmt::Display, got: &dyn std::fmt::Display| {
        Err(format!("{side}: {what} is {got}, expected {asked}").into())
    };
    // The published programs leave the scheme and the number of tickets to the library.
    let pinned = row.accounting == Accounting::Neutral;
    if outcome.version != row.version {
        return differs("the version", &row.version, &outcome.version);
    }
    if outcome.suite != row.suite {
        return differs("the suite", &row.suite, &outcome.suite);
    }
    if outcome.resumed != resumed {
        return differs("resumption", &resumed, &outcome.resumed);
    }
    // A resumption in TLS 1.2 has no key exchange, and a resumption in either version has no
    // signature.
    if row.version == Version::Tls13 || !resumed {
        if let Some(group) = outcome.group.filter(|group| *group != row.group) {
            return differs("the group", &row.group, &group);
        }
    }
    let scheme = row.chain.scheme();
    if let Some(other) = outcome.scheme.filter(|each| pinned && !resumed && *each != scheme) {
        return differs("the scheme", &scheme, &other);
    }
    let certificate = row.client_chain.is_some() && !resumed;
    if outcome.client_certificate.is_some_and(|shown| shown != certificate) {
        return differs("a client's certificate", &certificate, &!certificate);
    }
    let tickets = u32::from(row.tickets);
    if let Some(other) = outcome.tickets.filter(|count| pinned && *count != tickets) {
        return differs("the number of tickets", &tickets, &other);
    }
    let early_data = if resumed { row.early_data } else { 0 };
    if side == "server" && outcome.early_data != early_data {
        return differs("the length of early data", &early_data, &outcome.early_data);
    }
    Ok(())
}

/// Checks whether both sides used an encrypted ClientHello.
pub(crate) fn check_ech(row: &Row, client: bool, server: bool) -> Result<()> {
    let expected = row.ech == Ech::Accepted;
    match (client, server) {
        (client, server) if client == expected && server == expected => Ok(()),
        (client, _) if client == expected => Err("the server: Encrypted ClientHello".into()),
        _ => Err("the client: Encrypted ClientHello".into()),
    }
}

/// The parameters that both sides report, as text.
pub(crate) fn describe(client: &Outcome, server: &Outcome) -> BTreeMap<String, String> {
    let unstated = || "not stated".to_owned();
    let group = client.group.or(server.group).map_or_else(unstated, |group| group.to_string());
    let scheme = client.scheme.or(server.scheme).map_or_else(unstated, |scheme| scheme.to_string());
    let tickets = client.tickets.or(server.tickets);
    let tickets = tickets.map_or_else(unstated, |tickets| tickets.to_string());
    let kind = if client.resumed { "resumed" } else { "full" };
    [
        ("version", client.version.to_string()),
        ("suite", client.suite.to_string()),
        ("group", group),
        ("scheme", scheme),
        ("kind", kind.to_owned()),
        ("tickets", tickets),
        ("early data", server.early_data.to_string()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{Group, Scheme, Suite};
    use crate::rows;

    fn row(id: &str) -> Row {
        rows::all().into_iter().find(|row| row.id == id).unwrap()
    }

    fn right(row: &Row, resumed: bool) -> Outcome {
        Outcome {
            version: row.version,
            suite: row.suite,
            group: Some(row.group),
            scheme: Some(row.chain.scheme()),
            resumed,
            client_certificate: Some(row.client_chain.is_some()),
            tickets: Some(row.tickets.into()),
            early_data: row.early_data,
        }
    }

    #[test]
    fn a_handshake_of_another_kind_fails_the_row() {
        let full = row("full-13-rsa2048-hybrid");
        let outcome = right(&full, false);
        assert!(check(&full, false, "server", &outcome).is_ok());
        let wrong: [(&str, Outcome); 7] = [
            ("version", Outcome { version: Version::Tls12, ..outcome }),
            ("suite", Outcome { suite: Suite::Aes128GcmSha256, ..outcome }),
            ("group", Outcome { group: Some(Group::X25519), ..outcome }),
            ("scheme", Outcome { scheme: Some(Scheme::Ed25519), ..outcome }),
            ("resumption", Outcome { resumed: true, ..outcome }),
            ("tickets", Outcome { tickets: Some(2), ..outcome }),
            ("certificate", Outcome { client_certificate: Some(true), ..outcome }),
        ];
        for (what, outcome) in wrong {
            let error = check(&full, false, "server", &outcome).unwrap_err().to_string();
            assert!(error.contains(what), "{what}: {error}");
        }
        let early = row("resumed-13-0rtt-hybrid");
        let refused = Outcome { early_data: 0, client_certificate: None, ..right(&early, true) };
        assert!(check(&early, true, "server", &refused).is_err());
    }

    #[test]
    fn both_sides_report_encryption() {
        let (accepted, grease) = (row("ech-accepted"), row("ech-grease"));
        assert!(check_ech(&accepted, true, true).is_ok());
        assert!(check_ech(&grease, false, false).is_ok());
        for (row, client, server) in
            [(&accepted, true, false), (&accepted, false, true), (&grease, true, true)]
        {
            assert!(check_ech(row, client, server).is_err());
        }
    }

    #[test]
    fn scheme_and_tickets_are_the_librarys_own_in_published_accounting_and_no_more_than_that() {
        let row = Row { accounting: Accounting::Published, ..row("full-13-rsa2048-hybrid") };
        let own = Outcome {
            scheme: Some(Scheme::Ed25519),
            tickets: Some(2),
            client_certificate: None,
            ..right(&row, false)
        };
        assert!(check(&row, false, "server", &own).is_ok());
        let other = Outcome { group: Some(Group::X25519), ..own };
        assert!(check(&row, false, "server", &other).is_err());
    }

    #[test]
    fn what_a_library_does_not_tell_is_no_failure() {
        let row = row("full-13-rsa2048-hybrid");
        let quiet = Outcome {
            group: None,
            scheme: None,
            client_certificate: None,
            tickets: None,
            ..right(&row, false)
        };
        assert!(check(&row, false, "client", &quiet).is_ok());
    }
}
