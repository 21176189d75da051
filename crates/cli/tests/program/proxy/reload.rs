//! Reloading: what changes, and what stays until a restart.

use std::fs::File;
use std::io::Write;
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use super::{LIMIT, Proxy, backend, configuration, folder, get, path};
use crate::support::Folder;

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
    proxy.wait_for("configuration reloaded", 1);
    // Workers adopt the new configuration one after the other.
    let begun = Instant::now();
    while !(0..8).all(|_| get(&folder, &address).ends_with("two")) {
        assert!(begun.elapsed() < LIMIT);
    }
    // Errors are logged, and the old configuration stays in use.
    folder.write("proxy.toml", configuration(&folder, one, "colour = 1"));
    proxy.signal("-HUP");
    proxy.wait_for("configuration reload failed; keeping the previous configuration", 1);
    assert!(proxy.said().contains("listener[0].colour: unknown key"), "{}", proxy.said());
    assert!(get(&folder, &address).ends_with("two"));
    assert_eq!(proxy.child.try_wait().unwrap(), None);
    proxy.signal("-INT");
    assert_eq!(proxy.status(), Some(0));
}

/// A named pipe. Like a slow name server, it delays its reader until the sender writes. The sender
/// is returned once the pipe is opened for reading.
fn silent_file(folder: &Folder, name: &str) -> (String, mpsc::Receiver<File>) {
    let file = path(folder, name);
    assert!(Command::new("mkfifo").arg(&file).status().unwrap().success());
    let (sender, receiver) = mpsc::channel();
    let writer = file.clone();
    thread::spawn(move || sender.send(File::options().write(true).open(writer).unwrap()));
    (file, receiver)
}

#[test]
fn a_reload_that_has_to_wait_holds_up_no_signal() {
    let folder = folder();
    let (one, two) = (backend("one"), backend("two"));
    let (silent, silence) = silent_file(&folder, "silent.pem");
    let waits = format!("client_auth = \"optional\"\nclient_ca = \"{silent}\"");
    let start = || {
        let file = folder.write("proxy.toml", configuration(&folder, one, ""));
        let proxy = Proxy::start(&["--config", &file]);
        let address = proxy.address("listener");
        folder.write("proxy.toml", configuration(&folder, one, &waits));
        proxy.signal("-HUP");
        (proxy, address)
    };
    let (mut proxy, address) = start();
    let mut sender = silence.recv_timeout(LIMIT).unwrap();
    assert!(get(&folder, &address).ends_with("one"));
    // A second reload reads the file in its current state.
    folder.write("proxy.toml", configuration(&folder, two, ""));
    proxy.signal("-HUP");
    sender.write_all(&std::fs::read(folder.file("ca.pem")).unwrap()).unwrap();
    drop(sender);
    proxy.wait_for("configuration reloaded", 2);
    let begun = Instant::now();
    while !(0..8).all(|_| get(&folder, &address).ends_with("two")) {
        assert!(begun.elapsed() < LIMIT);
    }
    proxy.signal("-TERM");
    assert_eq!(proxy.status(), Some(0), "{}", proxy.said());

    std::fs::remove_file(&silent).unwrap();
    let (_, silence) = silent_file(&folder, "silent.pem");
    let (mut proxy, _) = start();
    let _sender = silence.recv_timeout(LIMIT).unwrap();
    proxy.signal("-TERM");
    assert_eq!(proxy.status(), Some(0), "{}", proxy.said());
    assert!(!proxy.said().contains("configuration reloaded"), "{}", proxy.said());
}

#[test]
fn what_waits_for_a_restart_is_named_at_each_reload() {
    let folder = folder();
    let text = configuration(&folder, backend("x"), "");
    let file = folder.write("proxy.toml", &text);
    let mut proxy = Proxy::start(&["--config", &file]);
    proxy.address("listener");
    let other = text.replace("workers = 2", "workers = 3");
    folder.write("proxy.toml", format!("user = \"nobody\"\n{other}[log]\nlevel = \"debug\"\n"));
    for times in 1..3 {
        proxy.signal("-HUP");
        proxy.wait_for("configuration reloaded", times);
        for key in ["workers", "user", "log.level"] {
            let line = format!("{file}: {key}: takes effect after a restart");
            assert_eq!(proxy.said().matches(&line).count(), times, "{}", proxy.said());
        }
        assert_eq!(proxy.said().matches("takes effect after a restart").count(), 3 * times);
    }
    proxy.signal("-TERM");
    assert_eq!(proxy.status(), Some(0), "{}", proxy.said());
}
