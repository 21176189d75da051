//! Connections take no lock. These tests have their own process, because a test seam counts the
//! locks of the process (CONTRIBUTING.md, "Test seams").

#![cfg(debug_assertions)]

use std::os::unix::fs::PermissionsExt;

use support::{Folder, client, connect_with, echo, echoed, exchange, quoted, start};
use tercel_crypto::lock::{Mutex, taken_by};

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
        assert!(has_workers(), "the terminator's threads have other names");
    }

    // Checks that locks of threads with such names are counted.
    let thread = std::thread::Builder::new().name(format!("{WORKERS}of the test"));
    let locked = thread.spawn(|| drop(Mutex::new(()).lock().unwrap())).unwrap();
    locked.join().unwrap();
    assert!(taken_by(WORKERS) > 0);
}

/// Whether a thread of this process has the name of a worker, as far as the system lists threads.
fn has_workers() -> bool {
    let tasks = std::path::Path::new("/proc/self/task");
    let threads = tasks.read_dir().into_iter().flatten().flatten();
    let mut names = threads.flat_map(|thread| std::fs::read_to_string(thread.path().join("comm")));
    !tasks.exists() || names.any(|name| name.starts_with(WORKERS))
}
