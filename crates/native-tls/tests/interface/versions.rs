//! Minimum and maximum versions.

use tercel_native_tls::Protocol::{Sslv3, Tlsv10, Tlsv11, Tlsv12, Tlsv13};
use tercel_native_tls::{Protocol, TlsAcceptor, TlsConnector};

use crate::fixtures::{connect, exchange, localhost, refused, trusting};

type Range = (Option<Protocol>, Option<Protocol>);

const ONLY_12: Range = (Some(Tlsv12), Some(Tlsv12));
const ONLY_13: Range = (Some(Tlsv13), Some(Tlsv13));

/// The range of each side, and whether they have a version in common.
const CASES: [(Range, Range, bool); 7] = [
    (ONLY_12, ONLY_12, true),
    (ONLY_13, ONLY_13, true),
    (ONLY_12, ONLY_13, false),
    (ONLY_13, ONLY_12, false),
    ((None, None), ONLY_12, true),
    ((Some(Sslv3), None), ONLY_13, true),
    ((Some(Tlsv10), Some(Tlsv12)), (Some(Tlsv11), None), true),
];

#[test]
fn both_sides_use_a_version_in_the_range_of_each() {
    let (authority, issued) = localhost();
    for (client, server, common) in CASES {
        let acceptor = TlsAcceptor::builder(issued.identity())
            .min_protocol_version(server.0)
            .max_protocol_version(server.1)
            .build()
            .unwrap();
        let connector = trusting(&authority)
            .min_protocol_version(client.0)
            .max_protocol_version(client.1)
            .build()
            .unwrap();
        if common {
            exchange(&connector, "localhost", &acceptor);
            let connected = connect(&connector, "localhost", &acceptor);
            // `Debug` contains the version, which the interface has no function for.
            let debug = format!("{:?}", connected.client.unwrap());
            let only_12 =
                [client.1, server.1].into_iter().flatten().any(|max| matches!(max, Tlsv12));
            let version = if only_12 { "TLSv1.2" } else { "TLSv1.3" };
            assert!(debug.contains(version), "{version}: {debug}");
        } else {
            refused(&connector, "localhost", &acceptor);
        }
    }
}

#[test]
fn versions_that_do_not_exist_here_are_errors_of_build() {
    let (_, issued) = localhost();
    for (min, max, text) in [
        (None, Sslv3, "max_protocol_version: Sslv3 is not supported"),
        (Some(Tlsv10), Tlsv10, "max_protocol_version: Tlsv10 is not supported"),
        (Some(Tlsv13), Tlsv11, "max_protocol_version: Tlsv11 is not supported"),
        (Some(Tlsv13), Tlsv12, "min_protocol_version Tlsv13 is above max_protocol_version Tlsv12"),
    ] {
        let mut connector = TlsConnector::builder();
        let connector = connector.min_protocol_version(min).max_protocol_version(Some(max));
        let mut acceptor = TlsAcceptor::builder(issued.identity());
        let acceptor = acceptor.min_protocol_version(min).max_protocol_version(Some(max));
        for error in [connector.build().unwrap_err(), acceptor.build().err().unwrap()] {
            assert!(error.to_string().starts_with(text), "{error}");
        }
    }
}
