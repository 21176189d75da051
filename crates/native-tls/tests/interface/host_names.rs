//! The rule for host names, in the domain of a connector. The table is shared by all places that
//! take host names.

use tercel_native_tls::HandshakeError;

use crate::fixtures::{Authority, exchange, sockets, trusting};

const TABLE: &str = include_str!("../../../wire/tests/material/host_names.txt");

#[test]
fn each_name_of_the_table() {
    let authority = Authority::new("authority");
    let connector = trusting(&authority).build().unwrap();
    for row in TABLE.lines().filter(|line| !line.starts_with('#')) {
        let (text, expected) = row.split_once('\t').unwrap();
        if !expected.is_empty() {
            exchange(&connector, text, &authority.issue(expected).acceptor());
            continue;
        }
        let Err(HandshakeError::Failure(error)) = connector.connect(text, sockets().0) else {
            panic!("{text}");
        };
        assert!(error.to_string().contains("neither a DNS name nor an IP address"), "{error}");
    }
}
