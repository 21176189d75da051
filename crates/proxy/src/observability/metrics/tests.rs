//! A strict OpenMetrics parser, applied to the proxy's own output.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::Duration;

use tercel::wire::AlertDescription;
use tercel::{Error, error::PeerError};
use tercel_tokio::HandshakeError;

use super::labels::{BackendFailure, ConnectionRefusal, HandshakeFailure};
use super::*;
use crate::testing::{configs, connected};

/// A metric family. The labels and values of its series are unparsed text.
#[derive(Debug, Default)]
struct Family {
    kind: String,
    unit: Option<String>,
    series: Vec<(String, BTreeMap<String, String>, f64)>,
}

/// Rejects text that violates the OpenMetrics specification, or that `promtool check metrics` would
/// report.
fn read(text: &str) -> BTreeMap<String, Family> {
    let body = text.strip_suffix("# EOF\n").expect("ends with EOF");
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let mut current = String::new();
    let mut seen = BTreeSet::new();
    let mut helped = BTreeSet::new();
    for line in body.lines() {
        if let Some(rest) = line.strip_prefix("# ") {
            let mut words = rest.splitn(3, ' ');
            let [what, name, value] = [(); 3].map(|()| words.next().expect(line));
            match what {
                "HELP" => {
                    assert!(helped.insert(name.to_owned()), "twice: {line}");
                    assert!(value.ends_with('.') && !value.contains('\\'), "{line}");
                    current = name.to_owned();
                }
                "TYPE" => {
                    assert_eq!(name, current, "{line}");
                    let kind = value.to_owned();
                    let family = Family { kind, ..Family::default() };
                    assert!(families.insert(name.to_owned(), family).is_none(), "twice: {line}");
                }
                "UNIT" => {
                    assert_eq!(name, current, "{line}");
                    assert!(name.ends_with(&format!("_{value}")), "{line}");
                    assert!(matches!(value, "seconds" | "bytes"), "a base unit: {line}");
                    families.get_mut(name).unwrap().unit = Some(value.to_owned());
                }
                other => panic!("{other} is no metadata"),
            }
            continue;
        }
        let (name, labels, value) = sample(line);
        let family = families.get_mut(&current).expect("its metadata comes first");
        let suffix =
            name.strip_prefix(current.as_str()).expect("it belongs to the family before it");
        let allowed: &[&str] = match family.kind.as_str() {
            "counter" => &["_total"],
            "gauge" => &[""],
            "info" => &["_info"],
            "histogram" => &["_bucket", "_sum", "_count"],
            other => panic!("{other} is no type"),
        };
        assert!(allowed.contains(&suffix), "{line}");
        assert!(seen.insert(format!("{name}{labels:?}")), "twice: {line}");
        assert!(value >= 0.0, "{line}");
        family.series.push((name, labels, value));
    }
    for (name, family) in &families {
        assert!(valid_name(name) && !name.ends_with("_total"), "{name}");
        let ours = name.starts_with("tercel_") || name.starts_with("process_");
        assert!(ours, "{name}");
        if family.kind == "histogram" {
            check_histogram(name, family);
        }
    }
    families
}

fn valid_name(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

/// Parses one line into name, labels and value; timestamps and exemplars are not allowed.
fn sample(line: &str) -> (String, BTreeMap<String, String>, f64) {
    let mut labels = BTreeMap::new();
    let end = line.find(['{', ' ']).expect(line);
    let (name, mut rest) = line.split_at(end);
    if let Some(mut inner) = rest.strip_prefix('{') {
        while !inner.starts_with('}') {
            let (label, after) = inner.split_once("=\"").expect(line);
            assert!(valid_name(label), "{line}");
            let (value, after) = quoted(after);
            assert!(labels.insert(label.to_owned(), value).is_none(), "twice: {line}");
            inner = after.strip_prefix(',').unwrap_or(after);
        }
        rest = &inner[1..];
    }
    let value = rest.strip_prefix(' ').expect(line);
    (name.to_owned(), labels, value.parse().expect(line))
}

/// Returns the text before the closing quote, and the text after it.
fn quoted(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((index, character)) = characters.next() {
        match character {
            '"' => return (value, &text[index + 1..]),
            '\\' => match characters.next().expect("something is escaped").1 {
                'n' => value.push('\n'),
                escaped @ ('\\' | '"') => value.push(escaped),
                other => panic!("\\{other} is no escape"),
            },
            other => value.push(other),
        }
    }
    panic!("no closing quote in {text}");
}

fn check_histogram(name: &str, family: &Family) {
    let of = |suffix: &'static str| {
        family.series.iter().filter(move |each| each.0 == format!("{name}{suffix}"))
    };
    let buckets: Vec<(f64, f64)> =
        of("_bucket").map(|(_, labels, value)| (labels["le"].parse().unwrap(), *value)).collect();
    assert!(buckets.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1), "{buckets:?}");
    let last = buckets.last().unwrap();
    assert!(last.0.is_infinite());
    assert_eq!(last.1, of("_count").next().unwrap().2);
    assert_eq!(of("_sum").count(), 1);
}

fn value(metrics: &Metrics, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
    let wanted: BTreeMap<String, String> =
        labels.iter().map(|(label, value)| ((*label).to_owned(), (*value).to_owned())).collect();
    let families = read(&metrics.render());
    let mut series = families.into_values().flat_map(|family| family.series);
    series.find(|each| each.0 == name && each.1 == wanted).map(|each| each.2)
}

#[tokio::test]
async fn handshakes_are_counted_by_negotiated_parameters() {
    let metrics = Metrics::new(2);
    let (server, client) = configs();
    let (first, second) = (connected(&server, &client).await, connected(&server, &client).await);
    let (first, second) = (first.info(), second.info());
    metrics.shard(0).handshake_done(first, Duration::from_millis(3));
    metrics.shard(1).handshake_done(first, Duration::from_millis(4));
    metrics.shard(1).handshake_done(second, Duration::from_secs(20));
    let labels = |outcome: &'static str| {
        [
            ("version", "1.3"),
            ("suite", first.cipher_suite.name().unwrap()),
            ("group", "X25519MLKEM768"),
            ("outcome", outcome),
        ]
    };
    assert_eq!(value(&metrics, "tercel_handshakes_total", &labels("full")), Some(2.0));
    assert_eq!(value(&metrics, "tercel_handshakes_total", &labels("resumed")), Some(1.0));
    assert_eq!(value(&metrics, "tercel_resumptions_total", &[("result", "hit")]), Some(1.0));
    assert_eq!(value(&metrics, "tercel_resumptions_total", &[("result", "miss")]), Some(2.0));
    let buckets = "tercel_handshake_duration_seconds_bucket";
    assert_eq!(value(&metrics, buckets, &[("le", "0.0025")]), Some(0.0));
    assert_eq!(value(&metrics, buckets, &[("le", "0.005")]), Some(2.0));
    assert_eq!(value(&metrics, buckets, &[("le", "10.0")]), Some(2.0));
    assert_eq!(value(&metrics, buckets, &[("le", "+Inf")]), Some(3.0));
    assert_eq!(value(&metrics, "tercel_handshake_duration_seconds_sum", &[]), Some(20.007));
}

#[test]
fn failures_are_counted_by_reason_and_alert() {
    let protocol = |error| io::Error::from(HandshakeError::Protocol { error, refusal: None });
    let cases = [
        (
            protocol(Error::Peer(PeerError::NoSharedCipherSuite)),
            "nothing_in_common",
            "handshake_failure",
        ),
        (protocol(Error::Peer(PeerError::BadFinished)), "protocol", "decrypt_error"),
        (protocol(Error::Peer(PeerError::PlainHttp)), "plain_http", "protocol_version"),
        (
            protocol(Error::Peer(PeerError::CertificateRequired)),
            "certificate_required",
            "certificate_required",
        ),
        (
            protocol(Error::AlertReceived(AlertDescription::UNKNOWN_CA)),
            "alert_received",
            "unknown_ca",
        ),
        (protocol(Error::AlertReceived(AlertDescription(201))), "alert_received", "other"),
        (protocol(Error::ClosedInHandshake), "closed", "none"),
        (HandshakeError::TimedOut(Duration::from_secs(1)).into(), "timed_out", "none"),
        (io::ErrorKind::ConnectionReset.into(), "transport", "none"),
    ];
    let metrics = Metrics::new(1);
    for (error, reason, alert) in cases {
        metrics.shard(0).handshake_failed(&error);
        let labels = [("reason", reason), ("alert", alert)];
        let counted = value(&metrics, "tercel_handshake_failures_total", &labels);
        assert_eq!(counted, Some(1.0), "{error}");
    }
}

/// Clients cannot increase the number of series.
#[test]
fn clients_cannot_create_labels() {
    let metrics = Metrics::new(1);
    for number in 0..=u8::MAX {
        let error = Error::AlertReceived(AlertDescription(number));
        let error = HandshakeError::Protocol { error, refusal: None }.into();
        metrics.shard(0).handshake_failed(&error);
    }
    let families = read(&metrics.render());
    let failures = &families["tercel_handshake_failures"].series;
    assert_eq!(failures.len(), AlertDescription::NAMED.len() + 1);
    assert_eq!(failures.iter().map(|each| each.2).sum::<f64>(), 256.0);
    assert_eq!(HandshakeFailure::ALL.len() * labels::ALERTS, shard::FAILURES);
}

#[test]
fn shards_are_summed() {
    let metrics = Metrics::new(4);
    for index in 0..8 {
        let shard = metrics.shard(index);
        shard.accepted();
        shard.opened();
        shard.received(1000);
        shard.sent(7);
        shard.refused(ConnectionRefusal::AddressLimit);
        shard.backend_failed(BackendFailure::Refused);
        shard.backend_connected(Duration::from_micros(300));
        shard.accept_failed(&io::Error::from(nix::errno::Errno::EMFILE));
    }
    // The connection was opened by one worker and is closed by another.
    metrics.shard(2).closed();
    metrics.shard(2).closed();
    metrics.shard(2).closed();
    let of = |name, labels: &[_]| value(&metrics, name, labels).unwrap();
    assert_eq!(of("tercel_connections_accepted_total", &[]), 8.0);
    assert_eq!(of("tercel_connections_open", &[]), 5.0);
    assert_eq!(of("tercel_client_received_bytes_total", &[]), 8000.0);
    assert_eq!(of("tercel_client_sent_bytes_total", &[]), 56.0);
    assert_eq!(of("tercel_connections_refused_total", &[("reason", "address_limit")]), 8.0);
    assert_eq!(of("tercel_connections_refused_total", &[("reason", "draining")]), 0.0);
    assert_eq!(of("tercel_backend_failures_total", &[("reason", "refused")]), 8.0);
    assert_eq!(of("tercel_accept_errors_total", &[("reason", "file_limit")]), 8.0);
    assert_eq!(of("tercel_backend_connect_duration_seconds_count", &[]), 8.0);
}

#[test]
fn certificates_reloads_and_ticket_keys_are_exposed() {
    let metrics = Metrics::new(1);
    assert_eq!(value(&metrics, "tercel_ticket_key_age_seconds", &[]), None, "there is none yet");
    let expiry = |name: &str, file: &str, not_after| Expiry {
        name: name.into(),
        file: file.into(),
        not_after,
    };
    let odd = "C:\\with \"quotes\"\nand lines";
    metrics.set_certificates(vec![
        expiry("a.test", "a.crt", 2_000_000_000),
        expiry("a.test", "a.crt", 1_900_000_000),
        expiry("a.test", odd, 4_102_444_800),
    ]);
    metrics.reloaded(Reload::Certificates, true);
    metrics.reloaded(Reload::Certificates, false);
    metrics.reloaded(Reload::Certificates, false);
    metrics.set_ticket_keys(|| None);
    assert_eq!(value(&metrics, "tercel_ticket_key_age_seconds", &[]), None, "none seals");
    let since = UnixTime::now().as_secs() - 3600;
    metrics.set_ticket_keys(move || Some(UnixTime::since_unix_epoch(Duration::from_secs(since))));
    let not_after = "tercel_certificate_not_after_seconds";
    let of = |name, labels: &[_]| value(&metrics, name, labels).unwrap();
    assert_eq!(of(not_after, &[("name", "a.test"), ("file", "a.crt")]), 1_900_000_000.0);
    assert_eq!(of(not_after, &[("name", "a.test"), ("file", odd)]), 4_102_444_800.0);
    let reloads = "tercel_reloads_total";
    assert_eq!(of(reloads, &[("what", "certificates"), ("result", "ok")]), 1.0);
    assert_eq!(of(reloads, &[("what", "certificates"), ("result", "failed")]), 2.0);
    assert_eq!(of(reloads, &[("what", "configuration"), ("result", "failed")]), 0.0);
    assert_eq!(value(&metrics, "tercel_ech_key_age_seconds", &[]), None, "no keys");
    metrics.set_ech_key(Some(UnixTime::since_unix_epoch(Duration::from_secs(since))));
    let of = |name, labels: &[_]| value(&metrics, name, labels).unwrap();
    for name in ["tercel_ticket_key_age_seconds", "tercel_ech_key_age_seconds"] {
        let age = of(name, &[]);
        assert!((3600.0..3700.0).contains(&age), "{name}: {age}");
    }
    let start = of("process_start_time_seconds", &[]);
    assert!(start > 1_700_000_000.0, "{start}");
    assert_eq!(of("tercel_build_info", &[("version", env!("CARGO_PKG_VERSION"))]), 1.0);
}

#[test]
fn workers_share_no_cache_line() {
    assert_eq!(align_of::<Shard>(), 128);
    assert_eq!(size_of::<Shard>() % 128, 0);
    let metrics = Metrics::new(3);
    assert!(!Arc::ptr_eq(&metrics.shard(0), &metrics.shard(1)));
    assert!(Arc::ptr_eq(&metrics.shard(0), &metrics.shard(3)));
}

/// A fleet that shares ECH keys in a store to which it does not connect.
#[cfg(feature = "redis")]
fn fleet() -> Fleet {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;

    let folder = crate::testing::Folder::new();
    let secret = folder.path().join("secret");
    let mut file =
        std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&secret).unwrap();
    file.write_all(&[7; 32]).unwrap();
    let store = tercel_fleet::StoreSettings::new("redis://127.0.0.1:1", secret);
    let settings =
        tercel_fleet::Settings { ech_keys: true, store: Some(store), ..Default::default() };
    Fleet::prepare(&settings).unwrap()
}

#[cfg(feature = "redis")]
#[test]
fn documentation_lists_every_metric_family() {
    let metrics = Metrics::new(1);
    metrics.set_fleet(Some(fleet()));
    metrics.set_ticket_keys(|| Some(UnixTime::now()));
    metrics.set_ech_key(Some(UnixTime::now()));
    let families: BTreeSet<_> = read(&metrics.render()).into_keys().collect();
    assert_eq!(table(include_str!("mod.rs"), "//! | `"), families);
    assert_eq!(table(include_str!("../../../../../docs/proxy.md"), "| `"), families);
}

/// The families in the rows of the table that begin with this prefix.
fn table(text: &str, begin: &str) -> BTreeSet<String> {
    text.lines()
        .filter_map(|line| line.strip_prefix(begin)?.split(" | ").next())
        .flat_map(|names| names.split(", "))
        .map(|name| name.trim_matches('`').to_owned())
        .filter(|name| name.starts_with("tercel_") || name.starts_with("process_"))
        .collect()
}
