//! Records that were changed, and keys that are handed out.

use std::io::Write;

use rustls::version::TLS13;
use rustls::{ConnectionTrafficSecrets, Error, SupportedCipherSuite};
use tercel_rustls::{ALL_CIPHER_SUITES, cipher_suite};

use crate::support::{Identity, Pair, Provider, deliver, taken};

/// A chain for the suite.
fn identity(suite: &SupportedCipherSuite) -> Identity {
    match suite.suite().as_str().unwrap().starts_with("TLS_ECDHE_RSA") {
        true => Identity::rsa(),
        false => Identity::p256(),
    }
}

fn connected(suite: &SupportedCipherSuite, (client, server): (Provider, Provider)) -> Pair {
    let identity = identity(suite);
    let mut client = identity.client(client.with_suite(*suite), &[suite.version()]);
    let mut server = identity.server(server.with_suite(*suite), &[suite.version()]);
    client.enable_secret_extraction = true;
    server.enable_secret_extraction = true;
    Pair::connected(client, server).unwrap()
}

/// RFC 9846 5.2, RFC 5246 6.2.3.3
#[test]
fn a_changed_record_is_refused() {
    const HEADER: usize = 5;
    for suite in ALL_CIPHER_SUITES {
        let length = {
            let mut pair = connected(suite, Provider::PAIRS[0]);
            pair.client.writer().write_all(b"data").unwrap();
            taken(&mut pair.client).len()
        };
        for at in [HEADER, HEADER + 7, HEADER + 8, length - 17, length - 16, length - 1] {
            let mut pair = connected(suite, Provider::PAIRS[0]);
            pair.client.writer().write_all(b"data").unwrap();
            let mut record = taken(&mut pair.client);
            record[at] ^= 1;
            let refused = deliver(&record, &mut pair.server, &mut pair.at_server);
            assert_eq!(refused, Err(Error::DecryptError), "{suite:?} {at}");
            assert!(pair.at_server.is_empty());
        }
        // A record that is repeated has the wrong sequence number.
        let mut pair = connected(suite, Provider::PAIRS[0]);
        pair.client.writer().write_all(b"data").unwrap();
        let record = taken(&mut pair.client);
        deliver(&record, &mut pair.server, &mut pair.at_server).unwrap();
        let refused = deliver(&record, &mut pair.server, &mut pair.at_server);
        assert_eq!(refused, Err(Error::DecryptError), "{suite:?}");
    }
}

/// RFC 9846 5.2, RFC 5288 3
#[test]
fn a_record_that_is_too_short_is_refused() {
    for suite in ALL_CIPHER_SUITES {
        for length in [1, 7, 8, 15, 16, 23, 24] {
            let mut pair = connected(suite, Provider::PAIRS[0]);
            let record = [&[23, 3, 3, 0, length][..], &vec![0; length.into()]].concat();
            let refused = deliver(&record, &mut pair.server, &mut pair.at_server);
            assert_eq!(refused, Err(Error::DecryptError), "{suite:?} {length}");
        }
    }
}

fn parts(secrets: &ConnectionTrafficSecrets) -> (&'static str, [&[u8]; 2]) {
    match secrets {
        ConnectionTrafficSecrets::Aes128Gcm { key, iv } => ("128", [key.as_ref(), iv.as_ref()]),
        ConnectionTrafficSecrets::Aes256Gcm { key, iv } => ("256", [key.as_ref(), iv.as_ref()]),
        ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => {
            ("chacha", [key.as_ref(), iv.as_ref()])
        }
        _ => panic!("unknown secrets"),
    }
}

#[test]
fn both_providers_hand_out_the_same_keys() {
    for suite in ALL_CIPHER_SUITES {
        for providers in Provider::PAIRS {
            let pair = connected(suite, providers);
            let client = pair.client.dangerous_extract_secrets().unwrap();
            let server = pair.server.dangerous_extract_secrets().unwrap();
            for (sent, received) in [(&client.tx, &server.rx), (&server.tx, &client.rx)] {
                assert_eq!(parts(&sent.1), parts(&received.1), "{suite:?} {providers:?}");
            }
        }
    }
}

/// RFC 9846 5.2; RFC 5288 3; RFC 7905 2
#[test]
fn a_record_has_the_overhead_of_its_suite_in_pieces_and_in_one() {
    for (suite, overhead) in [
        (cipher_suite::TLS13_AES_128_GCM_SHA256, 1 + 16),
        (cipher_suite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, 16),
        (cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, 8 + 16),
    ] {
        let mut pair = connected(&suite, Provider::PAIRS[0]);
        pair.client.writer().write_all(&[1; 300]).unwrap();
        assert_eq!(taken(&mut pair.client).len(), 5 + 300 + overhead, "{suite:?}");
        let pieces = [[1; 100]; 3];
        let slices: Vec<_> = pieces.iter().map(|piece| std::io::IoSlice::new(piece)).collect();
        assert_eq!(pair.client.writer().write_vectored(&slices).unwrap(), 300);
        assert_eq!(taken(&mut pair.client).len(), 5 + 300 + overhead, "{suite:?}");
    }
}

/// An update replaces the keys, and the sequence numbers begin again. RFC 9846 4.7.3
#[test]
fn keys_are_updated() {
    for suite in ALL_CIPHER_SUITES.iter().filter(|suite| suite.version().version == TLS13.version) {
        for providers in Provider::PAIRS {
            let mut pair = connected(suite, providers);
            for _ in 0..3 {
                pair.client.refresh_traffic_keys().unwrap();
                pair.server.refresh_traffic_keys().unwrap();
                pair.exchange_data();
            }
        }
    }
}
