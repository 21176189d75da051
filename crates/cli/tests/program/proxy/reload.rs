//! Files that are read again, and what keeps what it was.
//!
//! Must not know: how it ends. Next: `ending.rs`.

use std::time::Instant;

use super::{LIMIT, Proxy, backend, configuration, folder, get};

#[test]
fn a_hangup_reads_everything_again() {
    let folder = folder();
    let (one, two) = (backend("one"), backend("two"));
    let file = folder.write("proxy.toml", configuration(&folder, one, ""));
    let mut proxy = Proxy::start(&["--config", &file]);
    let address = proxy.address("listener");
    assert!(get(&folder, &address).ends_with("one"));
    folder.write("proxy.toml", configuration(&folder, two, ""));
    proxy.signal("-HUP");
    proxy.wait_for("configuration read again", 1);
    // Threads hear of it one by one.
    let begun = Instant::now();
    while !(0..8).all(|_| get(&folder, &address).ends_with("two")) {
        assert!(begun.elapsed() < LIMIT);
    }
    // What is wrong is told, and what there was goes on.
    folder.write("proxy.toml", configuration(&folder, one, "colour = 1"));
    proxy.signal("-HUP");
    proxy.wait_for("the configuration stays as it was", 1);
    assert!(proxy.said().contains("listener[0].colour: no such key here"), "{}", proxy.said());
    assert!(get(&folder, &address).ends_with("two"));
    assert_eq!(proxy.child.try_wait().unwrap(), None);
    proxy.signal("-INT");
    assert_eq!(proxy.status(), Some(0));
}
