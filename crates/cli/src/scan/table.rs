//! The result of a scan as a table for people.

use std::fmt::Write as _;

use crate::certificates::Fields;

use super::enumerate::Order;
use super::report::{Chain, Names, Report, Resumption};

/// The whole table.
pub(crate) fn render(report: &Report) -> String {
    let mut table = Table(String::new());
    table.line(&format!("{}:{} at {}", report.host, report.port, report.address));
    if report.server_name != report.host {
        table.line(&format!("server name {}", report.server_name));
    }
    table.heading("Versions");
    for version in &report.versions {
        let state = match version.accepted {
            Some(true) => "accepted",
            Some(false) => "refused",
            None => "unknown",
        };
        let answer = version.answer.as_ref().map(|answer| format!(" ({answer})"));
        let state = format!("{state}{}", answer.unwrap_or_default());
        table.row(&version.name, &state);
    }
    for list in &report.cipher_suites {
        table.heading(&format!("Cipher suites of {}{}", list.version, order(list.order)));
        for suite in &list.suites {
            table.suite(&suite.name, &suite.weak.join("; "));
        }
        table.end_of_list(list.suites.is_empty(), list.complete);
    }
    if !report.groups.is_empty() {
        table.heading("Key exchange");
        report.groups.iter().for_each(|list| table.names(list));
        if let Some(bits) = report.dh_bits {
            table.row("DHE prime", &format!("{bits} bits"));
        }
    }
    if !report.signature_schemes.is_empty() {
        table.heading("Signature schemes");
        report.signature_schemes.iter().for_each(|list| table.names(list));
    }
    if let Some(list) = &report.alpn {
        table.heading("Application protocols (ALPN)");
        table.names(list);
    }
    if !report.resumption.is_empty() {
        table.heading("Resumption");
        report.resumption.iter().for_each(|found| table.row(&found.version, &resumption(found)));
    }
    if !report.features.is_empty() {
        table.heading("Features");
        for feature in &report.features {
            let state = match feature.supported {
                Some(true) => "yes",
                Some(false) => "no",
                None => "unknown",
            };
            match feature.detail.as_str() {
                "" => table.wide(feature.name, state),
                detail => table.wide(feature.name, &format!("{state} ({detail})")),
            }
        }
    }
    for (index, chain) in report.chains.iter().enumerate() {
        table.chain(index, report.chains.len(), chain);
    }
    table.heading("Findings");
    if report.findings.is_empty() {
        table.line("  none");
    }
    for finding in &report.findings {
        table.row(finding.severity.word(), &finding.text);
    }
    if !report.notes.is_empty() {
        table.heading("Notes");
        report.notes.iter().for_each(|note| table.line(&format!("  {note}")));
    }
    let (connections, seconds) = (report.connections, report.milliseconds / 1000);
    let tenths = report.milliseconds % 1000 / 100;
    table.line(&format!("\n{connections} connections in {seconds}.{tenths} s"));
    table.0
}

fn order(order: Order) -> &'static str {
    match order {
        Order::Server => ", in the server's order",
        Order::Client => " (the client's order decides)",
        Order::Unknown => "",
    }
}

fn resumption(found: &Resumption) -> String {
    let mut parts = Vec::new();
    match found.resumed {
        Some(true) => parts.push("resumed".to_owned()),
        Some(false) => parts.push("not resumed".to_owned()),
        None => {}
    }
    match found.tickets {
        Some(1) => parts.push("1 ticket".to_owned()),
        Some(count) => parts.push(format!("{count} tickets")),
        None => {}
    }
    let issued = [(found.issues_tickets, "tickets"), (found.issues_session_ids, "session IDs")];
    for (issues, what) in issued {
        if let Some(issues) = issues {
            parts.push(format!("{}{what}", if issues { "" } else { "no " }));
        }
    }
    match found.early_data_bytes {
        Some(0) => parts.push("no early data".to_owned()),
        Some(bytes) => parts.push(format!("early data up to {bytes} bytes")),
        None => {}
    }
    match found.early_data_accepted {
        Some(true) => parts.push("early data accepted".to_owned()),
        Some(false) => parts.push("early data rejected".to_owned()),
        None => {}
    }
    parts.extend(found.note.clone());
    parts.join(", ")
}

/// The text of the table.
struct Table(String);

impl Table {
    fn line(&mut self, text: &str) {
        self.0.push_str(text);
        self.0.push('\n');
    }

    fn heading(&mut self, text: &str) {
        self.line(&format!("\n{text}"));
    }

    fn row(&mut self, key: &str, value: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.0, "  {key:<9}  {value}");
    }

    fn wide(&mut self, key: &str, value: &str) {
        let _ = writeln!(self.0, "  {key:<42}  {value}");
    }

    fn suite(&mut self, name: &str, weak: &str) {
        match weak {
            "" => self.line(&format!("  {name}")),
            weak => self.line(&format!("  {name:<45}  weak: {weak}")),
        }
    }

    fn names(&mut self, list: &Names) {
        let names = match &list.names[..] {
            [] => "none".to_owned(),
            names => names.join(", "),
        };
        let more = if list.complete { "" } else { ", perhaps more" };
        self.row(&list.version, &format!("{names}{more}{}", order(list.order)));
    }

    fn end_of_list(&mut self, is_empty: bool, complete: bool) {
        match (is_empty, complete) {
            (true, true) => self.line("  none"),
            (_, false) => self.line("  perhaps more"),
            _ => {}
        }
    }

    fn certificate(&mut self, fields: &Fields) {
        self.row("subject", &fields.subject);
        self.row("issuer", &fields.issuer);
        self.row("valid", &format!("{} to {}", fields.valid_from, fields.valid_until));
        self.row("key", &format!("{}, signed with {}", fields.key, fields.signed_with));
        if !fields.names.is_empty() {
            self.row("names", &fields.names.join(", "));
        }
        self.row("serial", &fields.serial);
    }

    fn chain(&mut self, index: usize, count: usize, chain: &Chain) {
        let trusted = match (chain.trusted, chain.key_proven) {
            (Some(true), Some(true)) => "trusted",
            (Some(true), _) => "trusted, but the server did not prove that it has the key",
            (Some(false), _) => "not trusted",
            (None, _) => "not judged",
        };
        let number = if count > 1 { format!(" {} of {count}", index + 1) } else { String::new() };
        self.heading(&format!("Certificate chain{number} ({trusted})"));
        for (index, certificate) in chain.certificates.iter().enumerate() {
            if index > 0 {
                self.line("");
            }
            match &certificate.fields {
                Some(fields) => self.certificate(fields),
                None => self.row("subject", "unreadable"),
            }
            self.row("SHA-256", &certificate.sha256);
        }
    }
}
