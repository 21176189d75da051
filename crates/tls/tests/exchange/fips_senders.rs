//! Senders of TLS 1.3 whose keys are in the FIPS module: they cannot be moved elsewhere.

use tercel::crypto::HashAlgorithm;
use tercel::wire::{CipherSuite, ProtocolVersion};
use tercel::{
    Connection, Error, ReceiveBuffer,
    error::Misuse,
    handoff::{HandoffError, RestoreError},
};
use tercel_crypto::Hash;

use crate::fixtures::{NAME, client, server};
use crate::pair::{Delivery, End, Ends, Pair};

const AES: [CipherSuite; 2] =
    [CipherSuite::TLS_AES_128_GCM_SHA256, CipherSuite::TLS_AES_256_GCM_SHA384];
const TLS12: [CipherSuite; 2] = [
    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
];

fn ends(suite: CipherSuite) -> Ends {
    let client = client().cipher_suites(&[suite]).build().unwrap();
    let mut ends = Pair::new(&client, &server().build().unwrap(), NAME).connect().unwrap();
    ends.talk();
    ends
}

/// The connection of a refused call.
fn refused<T>(result: Result<T, HandoffError>) -> Connection {
    let HandoffError { connection, reason, .. } = result.err().expect("it is refused");
    assert_eq!(reason, Error::from(Misuse::BoundToFipsModule));
    *connection
}

#[test]
fn a_tls13_connection_is_neither_saved_nor_exported() {
    for suite in AES {
        let mut ends = ends(suite);
        for park in [false, true] {
            if park {
                ends.client.connection.park();
                ends.server.connection.park();
            }
            let Ends { client, server } = ends;
            let received = ReceiveBuffer::new();
            let client = End { connection: refused(client.connection.save()), ..client };
            let server = End { connection: refused(server.connection.save()), ..server };
            let client = refused(client.connection.export_traffic_keys(&received));
            let server = refused(server.connection.export_traffic_keys(&received));
            let [client, server] = [client, server]
                .map(|connection| End { connection, received: ReceiveBuffer::new() });
            ends = Ends { client, server };
            ends.talk();
        }
    }
}

#[test]
fn a_tls13_connection_of_another_build_is_not_restored() {
    let client = client().cipher_suites(&[CipherSuite::TLS_CHACHA20_POLY1305_SHA256]);
    let client = client.without_resumption();
    let (client, server) = (client.build().unwrap(), server().build().unwrap());
    let ends = Pair::new(&client, &server, NAME).connect().unwrap();
    let bytes = ends.client.connection.save().unwrap();
    assert!(Connection::restore_client(&bytes, &client).is_ok());
    // The same connection with AES-GCM: key and secrets have the same lengths.
    let mut body = bytes[..bytes.len() - 16].to_vec();
    assert_eq!(body[5..7], CipherSuite::TLS_CHACHA20_POLY1305_SHA256.0.to_be_bytes());
    body[5..7].copy_from_slice(&CipherSuite::TLS_AES_128_GCM_SHA256.0.to_be_bytes());
    let digest = Hash::digest(HashAlgorithm::Sha256, &[&body]);
    body.extend_from_slice(&digest[..16]);
    let error = Connection::restore_client(&body, &client).unwrap_err();
    assert_eq!(error, RestoreError::NotInFipsModule);
}

#[test]
fn a_tls12_connection_is_saved_and_exported() {
    for suite in TLS12 {
        let (mut ends, config) = (ends(suite), client().build().unwrap());
        assert_eq!(ends.client.connection.info.version, ProtocolVersion::TLS1_2);
        let bytes = ends.client.connection.save().unwrap();
        ends.client.connection = Connection::restore_client(&bytes, &config).unwrap();
        ends.talk();
        let mut wire = Vec::new();
        ends.client.connection.sender.seal_to(b"more", &mut wire).unwrap();
        assert_eq!(ends.server.read(&wire, Delivery::Bytes).unwrap(), b"more");
        assert!(ends.client.connection.export_traffic_keys(&ReceiveBuffer::new()).is_ok());
    }
}
