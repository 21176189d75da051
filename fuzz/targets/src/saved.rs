//! Connections that are restored from arbitrary bytes.
//!
//! A restored connection must be saved as the same bytes, and each call must work or return an
//! error.

use std::sync::{Arc, OnceLock};

use tercel::crypto::HashAlgorithm;
use tercel::wire::ProtocolVersion;
use tercel::{
    ClientConfig, Connection, Error, Handshake, Next, Opened, ReceiveBuffer, ServerConfig,
    ServerName, handoff::RestoreError,
};
use tercel_crypto::Hash;

use crate::material;
use crate::script::Script;

/// Restores a connection. The first byte selects the side, whether a valid digest is inserted, and
/// how many of the last bytes arrive from the peer. Returns whether a connection was restored.
pub fn saved_connection(input: &[u8]) -> bool {
    let mut script = Script::new(input);
    let Some(how) = script.byte() else { return false };
    let is_client = how & IS_CLIENT != 0;
    let arriving = script.take(usize::from(how >> 2));
    let mut bytes = script.rest().to_vec();
    if how & DIGEST != 0 {
        let digest = Hash::digest(HashAlgorithm::Sha256, &[&bytes]);
        bytes.extend_from_slice(&digest[..16]);
    }
    let Ok(connection) = restore(&bytes, is_client) else { return false };
    let again = saved(connection);
    let connection = restore(&again, is_client).expect("a saved connection is restored");
    assert_eq!(saved(connection), again, "a restored connection is saved as the same bytes");
    let other = restore(&again, !is_client).expect_err("a connection of the other side");
    assert_eq!(other, RestoreError::WrongSide);

    let connection = restore(&again, is_client).expect("a saved connection is restored");
    exercise(connection, arriving);
    let connection = restore(&again, is_client).expect("a saved connection is restored");
    if let Ok(mut keys) = connection.export_traffic_keys(&ReceiveBuffer::new()) {
        assert_eq!(keys.send.key().len(), keys.send.algorithm().key_len());
        let is_tls13 = keys.version == ProtocolVersion::TLS1_3;
        assert_eq!(keys.receive.update().is_ok(), is_tls13);
    }
    true
}

const IS_CLIENT: u8 = 1;
const DIGEST: u8 = 2;

/// Saved connections of both sides and versions, in several states: seeds for [`saved_connection`].
#[must_use]
pub fn connections() -> Vec<(String, Vec<u8>)> {
    let mut seeds = Vec::new();
    for (version, name) in [(ProtocolVersion::TLS1_3, "tls13"), (ProtocolVersion::TLS1_2, "tls12")]
    {
        for state in ["new", "used", "closed"] {
            let [mut client, mut server] = connected(version);
            let mut wire = Vec::new();
            if state != "new" {
                server.0.sender.seal_to(b"data", &mut wire).expect("it is open");
                client.1.extend(&wire);
                while let Ok(Opened::Data(_)) = client.0.receiver.open(&mut client.1) {}
                // A request that was not answered yet. TLS 1.2 has no such request.
                wire.clear();
                let _ = client.0.sender.update_key(true, &mut wire);
                server.1.extend(&wire);
                let _ = server.0.receiver.open(&mut server.1);
            }
            if state == "closed" {
                wire.clear();
                client.0.sender.close(&mut wire).expect("it is open");
                server.1.extend(&wire);
                let _ = server.0.receiver.open(&mut server.1);
            }
            for (side, is_client, end) in [("client", IS_CLIENT, client), ("server", 0, server)] {
                let bytes = saved(*end.0);
                let body = &bytes[..bytes.len() - 16];
                // A few arbitrary bytes arrive.
                let how = is_client | DIGEST | 3 << 2;
                let input = [&[how, 23, 3, 3], body].concat();
                seeds.push((format!("valid-{name}-{side}-{state}"), input));
            }
        }
    }
    seeds
}

/// Calls every function; arbitrary bytes arrive in place of the peer's.
fn exercise(mut connection: Connection, arriving: &[u8]) {
    let mut out = Vec::new();
    let mut received = ReceiveBuffer::new();
    received.extend(arriving);
    let exported = connection.exporter.export(b"EXPORTER-fuzz", None, &mut [0; 32]);
    assert!(matches!(exported, Ok(()) | Err(Error::Misuse(_))), "{exported:?}");
    connection.park();
    for (step, result) in [
        connection.sender.control(&mut out),
        connection.sender.seal_to(&[7; 100], &mut out),
        connection.sender.update_key(true, &mut out),
        connection.sender.close(&mut out),
    ]
    .into_iter()
    .enumerate()
    {
        let ours = matches!(result, Ok(()) | Err(Error::Internal(_) | Error::Misuse(_)));
        assert!(ours, "step {step}: {result:?}");
    }
    // Padding and short records make the output longer, within limits.
    assert!(out.len() < 1 << 16, "{} bytes were written", out.len());
    for _ in 0..64 {
        match connection.receiver.open(&mut received) {
            Ok(Opened::Data(_)) => {}
            _ => break,
        }
    }
}

fn restore(bytes: &[u8], is_client: bool) -> Result<Connection, RestoreError> {
    match is_client {
        true => Connection::restore_client(bytes, &configs().0),
        false => Connection::restore_server(bytes, &configs().1),
    }
}

fn saved(connection: Connection) -> Vec<u8> {
    match connection.save() {
        Ok(bytes) => bytes.to_vec(),
        Err(refused) => panic!("the connection cannot be saved: {refused}"),
    }
}

type End = (Box<Connection>, ReceiveBuffer);

/// Both ends of a new connection, the client first.
fn connected(version: ProtocolVersion) -> [End; 2] {
    let name = ServerName::try_from("localhost").expect("a name");
    let mut sides = [
        Handshake::client(client_of(&[version]), name),
        Handshake::server(Arc::clone(&configs().1)),
    ];
    let mut received = [ReceiveBuffer::new(), ReceiveBuffer::new()];
    let mut ends = [None, None];
    let mut out = Vec::new();
    while ends.iter().any(Option::is_none) {
        for at in [0, 1] {
            if ends[at].is_none() {
                let next = sides[at].advance(&mut received[at], &mut out);
                if let Next::Connected(connection) = next.expect("the configurations fit") {
                    ends[at] = Some(connection);
                }
                received[1 - at].extend(&out);
                out.clear();
            }
        }
    }
    let [to_client, to_server] = received;
    let [of_client, of_server] = ends.map(|end| end.expect("both are connected"));
    [(of_client, to_client), (of_server, to_server)]
}

/// A client with a store, so that its connections expect tickets, and a server that issues tickets.
fn configs() -> &'static (Arc<ClientConfig>, Arc<ServerConfig>) {
    static CONFIGS: OnceLock<(Arc<ClientConfig>, Arc<ServerConfig>)> = OnceLock::new();
    CONFIGS.get_or_init(|| {
        let server =
            ServerConfig::builder().credential(material::server()).clock(material::clock());
        let versions = [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2];
        (client_of(&versions), server.alpn(&["h2"]).build().expect("a server's configuration"))
    })
}

fn client_of(versions: &[ProtocolVersion]) -> Arc<ClientConfig> {
    let builder = ClientConfig::builder().roots(material::roots()).clock(material::clock());
    let builder = builder.versions(versions).alpn(&["h2"]);
    builder.build().expect("a client's configuration")
}
