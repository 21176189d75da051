//! Secrets of connections over QUIC, whose handshakes exist as long as the connections.

use super::quic_pair::{Ends, Pair};
use super::*;

const SUITES: [CipherSuite; 2] =
    [CipherSuite::TLS_AES_128_GCM_SHA256, CipherSuite::TLS_AES_256_GCM_SHA384];

fn connected(log: &Log, suite: CipherSuite) -> Ends {
    let client = client().cipher_suites(&[suite]).alpn(&["h3"]).key_log(log.policy());
    let server = server().alpn(&["h3"]).key_log(log.policy());
    Pair::new(&client.build().unwrap(), &server.build().unwrap()).connect()
}

fn is_of_handshake(secret: &Masked) -> bool {
    secret.label.contains("HANDSHAKE")
}

#[test]
fn handshake_secrets_are_erased_once_connected() {
    let _alone = exclusive();
    for suite in SUITES {
        let log = Log::default();
        let mut ends = connected(&log, suite);
        // The transport discards the keys. RFC 9001 4.9.2
        assert_ne!(log.found(is_of_handshake), Vec::<String>::new(), "{suite:?}");
        for end in [&mut ends.client, &mut ends.server] {
            end.handshake_keys = None;
        }
        assert_eq!(log.found(is_of_handshake), Vec::<String>::new(), "{suite:?}");
        assert_ne!(log.found(|_| true), Vec::<String>::new(), "{suite:?}");
    }
}

#[test]
fn keys_of_an_earlier_key_phase_are_erased() {
    let _alone = exclusive();
    for suite in SUITES {
        let log = Log::default();
        let mut ends = connected(&log, suite);
        let of_first_phase = |secret: &Masked| secret.label.contains("TRAFFIC_SECRET_0");
        assert_ne!(log.found(of_first_phase), Vec::<String>::new(), "{suite:?}");
        for end in [&mut ends.client, &mut ends.server] {
            end.updates.as_mut().unwrap().next_keys().unwrap();
            // The keys for headers do not change, so a transport keeps these.
            end.application_keys = None;
        }
        assert_eq!(log.found(of_first_phase), Vec::<String>::new(), "{suite:?}");
    }
}

#[test]
fn nothing_is_left_of_a_connection_that_ended() {
    let _alone = exclusive();
    for suite in SUITES {
        let log = Log::default();
        let ends = connected(&log, suite);
        assert_ne!(log.found(|_| true), Vec::<String>::new(), "{suite:?}");
        drop(ends);
        assert_eq!(log.found(|_| true), Vec::<String>::new(), "{suite:?}");
    }
}

/// The client refuses the server's certificate.
#[test]
fn a_handshake_that_failed_keeps_nothing() {
    let _alone = exclusive();
    let log = Log::default();
    let unrelated = rcgen::generate_simple_self_signed([NAME.to_owned()]).unwrap();
    let mut roots = Roots::new();
    roots.add_der(unrelated.cert.der()).unwrap();
    let client = tercel::ClientConfig::builder().roots(roots).alpn(&["h3"]).key_log(log.policy());
    let server = server().alpn(&["h3"]).key_log(log.policy()).build().unwrap();
    let mut ends = Pair::new(&client.build().unwrap(), &server).run();
    ends.client.error();
    ends.client.handshake_keys = None;
    assert!(log.masked().iter().any(is_of_handshake));
    // The server waits for the client's Finished.
    drop(ends.server);
    assert_eq!(log.found(|_| true), Vec::<String>::new());
    drop(ends.client);
}
