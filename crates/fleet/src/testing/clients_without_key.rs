//! Clients that have seen a session ID or a ticket on the network, and do not have its key, cannot
//! remove the session of its owner, or use up its early data. RFC 9846 8.1, RFC 5246 7.2.2

use tercel::wire::ProtocolVersion;
use tercel::{EarlyData, ServerName};
use tercel_tokio::Connector;
use tokio::io::{AsyncReadExt, duplex};

use super::fake_store::FakeStore;
use super::nodes::Folder;
use super::over_tls::{Shares, TlsNode, VERSIONS, client_that_keeps_its_session, settings};

/// A record with the ClientHello of a client that offers its session.
async fn hello_of(client: &Connector) -> Vec<u8> {
    let (near, mut far) = duplex(1 << 16);
    let name = ServerName::try_from("server.example").unwrap();
    let read = async {
        let mut record = vec![0; 5];
        far.read_exact(&mut record).await.unwrap();
        record.resize(5 + usize::from(u16::from_be_bytes([record[3], record[4]])), 0);
        far.read_exact(&mut record[5..]).await.unwrap();
        record
    };
    tokio::select! {
        _ = Box::pin(client.connect_early(name, near, b"early")) => panic!("nobody answers"),
        record = read => record,
    }
}

/// What clients send that have seen this ClientHello and do not have the key.
fn attempts(hello: &[u8], version: ProtocolVersion) -> Vec<Vec<u8>> {
    if version == ProtocolVersion::TLS1_3 {
        // The binder is at the end.
        let mut wrong = hello.to_vec();
        *wrong.last_mut().unwrap() ^= 1;
        return vec![wrong];
    }
    let finished = [&[20, 3, 3, 0, 1, 1, 22, 3, 3, 0, 40][..], &[7; 40]].concat();
    let alert = [21, 3, 3, 0, 2, 2, 40];
    [&finished[..], &alert, &[]].map(|then| [hello, then].concat()).to_vec()
}

pub(super) async fn clients_without_key_remove_no_session(nodes: [&TlsNode; 2]) {
    for version in VERSIONS {
        let owner = client_that_keeps_its_session(version);
        assert!(!nodes[0].connect(&owner, b"").await.0);
        let hello = hello_of(&owner).await;
        for attempt in attempts(&hello, version) {
            for node in nodes {
                node.replay(&attempt).await;
            }
        }
        let (resumed, early) = nodes[1].connect(&owner, b"early").await;
        assert!(resumed, "{version:?}: the session was removed");
        let expected = match version {
            ProtocolVersion::TLS1_3 => EarlyData::Accepted,
            _ => EarlyData::NotOffered,
        };
        assert_eq!(early, expected, "{version:?}");
    }
}

async fn among_clients_without_key(shares: Shares) {
    let (fake, folder) = (FakeStore::start(), Folder::new());
    let settings = settings(&fake.url(), &folder, shares);
    let nodes = [TlsNode::start(&settings).await, TlsNode::start(&settings).await];
    for node in &nodes {
        node.ready().await;
    }
    Box::pin(clients_without_key_remove_no_session([&nodes[0], &nodes[1]])).await;
    // No client without the key caused a removal.
    assert!(nodes.iter().all(|node| node.fleet.counts().removed == 0));
}

#[tokio::test]
async fn clients_without_key_remove_no_session_from_the_store() {
    among_clients_without_key(Shares::Sessions).await;
}

#[tokio::test]
async fn clients_without_key_use_up_no_ticket() {
    among_clients_without_key(Shares::Tickets).await;
}
