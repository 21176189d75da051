//! The rule for host names, in a received server_name. `material/host_names.txt` is the table that
//! all places share which take host names. RFC 6066 3

use tercel_wire::{Element, HostName, Reader, ServerNameOffer};

const TABLE: &str = include_str!("material/host_names.txt");

#[test]
fn each_name_of_the_table() {
    let rows = TABLE.lines().filter(|line| !line.starts_with('#'));
    let mut count = [0, 0];
    for row in rows {
        let (name, expected) = row.split_once('\t').unwrap();
        let expected = Some(expected).filter(|expected| !expected.is_empty());
        let host = HostName::new(name.as_bytes()).ok();
        assert_eq!(host.map(|host| host.as_str()), expected, "{name}");
        assert_eq!(offered(name), expected.map(str::to_owned), "{name}");
        count[usize::from(expected.is_some())] += 1;
    }
    assert!(count[0] > 5 && count[1] > 10, "{count:?}");
}

/// The host name in a server_name extension with this name.
fn offered(name: &str) -> Option<String> {
    let length = |extra: usize| u16::try_from(name.len() + extra).unwrap().to_be_bytes();
    let body = [&length(3)[..], &[0], &length(0), name.as_bytes()].concat();
    let offer = Reader::parse_all(&body, ServerNameOffer::read).ok()?;
    offer.host_name().map(|host| host.as_str().to_owned())
}
