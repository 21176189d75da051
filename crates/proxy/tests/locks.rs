//! Connections take no lock. These tests have their own process, because a test seam counts the
//! locks of the process (CONTRIBUTING.md, "Test seams").

#![cfg(debug_assertions)]

use std::os::unix::fs::PermissionsExt;

use support::{Folder, client, connect_with, echo, echoed, exchange, identity, quoted, start};
use tercel_crypto::lock::taken_by;

#[allow(dead_code)]
#[path = "terminator/support.rs"]
mod support;

/// The prefix of the names of worker threads.
const WORKERS: &str = "worker ";

#[tokio::test]
async fn connections_take_no_lock() {
    let folder = Folder::new(&["a.example"]);
    let file = folder.path("ticket.keys");
    std::fs::write(&file, format!("1000 {}{}\n", "ab".repeat(16), "cd".repeat(32))).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let shared = format!("[resumption]\ntickets = \"shared\"\nticket_keys = {}\n", quoted(&file));
    let to = echo().await;
    for resumption in [String::new(), shared] {
        let proxy =
            start(&format!("workers = 2\n{}to = \"{to}\"\n{resumption}", folder.listener()));
        let before = taken_by(WORKERS);
        for version in support::VERSIONS {
            let settings = client().versions(&[version]).build().unwrap();
            for visit in 0..20 {
                let stream = connect_with(&proxy, "a.example", settings.clone()).await;
                let mut stream = stream.unwrap();
                assert_eq!(stream.info().resumed, visit > 0);
                for _ in 0..5 {
                    assert_eq!(echoed(&mut stream, b"request").await, b"request");
                }
                assert!(exchange(&mut stream, b"").await.unwrap().is_empty());
            }
        }
        assert_eq!(taken_by(WORKERS), before);
    }

    // Checks that locks are counted at all: the verification of a client's certificate chain takes
    // one.
    let authority = quoted(&folder.path("ca.pem"));
    let proxy = folder
        .start(&format!("to = \"{to}\"\nclient_auth = \"required\"\nclient_ca = {authority}\n"));
    let settings = client().credential(identity("alice")).build().unwrap();
    let mut stream = connect_with(&proxy, "a.example", settings).await.unwrap();
    assert_eq!(exchange(&mut stream, b"x").await.unwrap(), b"x");
    assert!(taken_by(WORKERS) > 0);
}
