//! Standard error that cannot be written, or is not read: nothing else stops.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tercel::pki::Roots;
use tercel::{ClientConfig, ServerName, Stream};

use super::{LIMIT, Proxy, backend, configuration, folder, path};
use crate::support::{Folder, Leaf, tercel, unused_address};

/// What standard error is.
#[derive(Clone, Copy, Debug)]
enum Log {
    /// A file on a full disk.
    FullDisk,
    /// A pipe whose reader has ended.
    ClosedPipe,
    /// A pipe whose reader does not read.
    StoppedReader,
}

#[test]
fn log_that_cannot_be_written_disturbs_nothing() {
    let logs = [Log::FullDisk, Log::ClosedPipe, Log::StoppedReader];
    thread::scope(|scope| {
        let runs: Vec<_> = logs.map(|log| (log, scope.spawn(move || serve_with(log)))).into();
        for (log, run) in runs {
            assert!(run.join().is_ok(), "{log:?}");
        }
    });
}

/// Serves under load while three certificates are renewed, and drains.
fn serve_with(log: Log) {
    let folder = folder();
    let leaves: Vec<_> = (0..3).map(|_| Leaf::new("localhost", 2099)).collect();
    let mut roots = Roots::new();
    roots.add_pem(&std::fs::read(folder.file("ca.pem")).unwrap()).unwrap();
    for leaf in &leaves {
        roots.add_pem(leaf.ca.pem().as_bytes()).unwrap();
    }
    let client = ClientConfig::builder().roots(roots).without_resumption().build().unwrap();
    let (address, full, admin) = (unused_address(), unused_address(), unused_address());
    let text = configuration(&folder, backend("served"), "");
    let text = text.replace("127.0.0.1:0", &address.to_string());
    let file = folder.write("proxy.toml", text + &full_listener(&folder, full, admin));

    let mut command = tercel();
    command.args(["proxy", "--config", &file]).stdin(Stdio::null());
    match log {
        Log::FullDisk => command.stderr(File::options().write(true).open("/dev/full").unwrap()),
        Log::ClosedPipe | Log::StoppedReader => command.stderr(Stdio::piped()),
    };
    let mut child = command.spawn().unwrap();
    let reader = match log {
        Log::StoppedReader => child.stderr.take(),
        Log::FullDisk | Log::ClosedPipe => {
            drop(child.stderr.take());
            None
        }
    };
    let mut proxy = Proxy { child, said: Arc::default() };
    wait_until(|| ask(admin, "/healthz").starts_with("HTTP/1.1 200"));

    let only = take_only_connection(full, admin);
    let mut kept = connect(address, &client);
    request(&mut kept);
    let (stop, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        let _stop = StopAtEnd(&stop);
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let mut stream = connect(address, &client);
                    request(&mut stream);
                    stream.close().unwrap();
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        // The first two are noticed by the thread that watches the files.
        for (number, leaf) in leaves.iter().enumerate() {
            write_pair(&folder, leaf);
            if number == 2 {
                proxy.signal("-HUP");
            }
            wait_until(|| served(address, &client) == leaf.certificate.der().as_ref());
        }
        wait_until_dropped(full, admin);
    });
    assert!(answered.load(Ordering::Relaxed) > 0);
    assert!(ask(admin, "/healthz").starts_with("HTTP/1.1 200"));

    proxy.signal("-TERM");
    wait_until(|| ask(admin, "/healthz").starts_with("HTTP/1.1 503"));
    request(&mut kept);
    kept.close().unwrap();
    drop(only);
    assert_eq!(proxy.status(), Some(0));
    drop(reader);
}

#[test]
fn number_of_dropped_lines_is_logged_when_the_reader_resumes() {
    let folder = folder();
    let (full, admin) = (unused_address(), unused_address());
    let text = configuration(&folder, backend("served"), "");
    let file = folder.write("proxy.toml", text + &full_listener(&folder, full, admin));
    let mut command = tercel();
    command.args(["proxy", "--config", &file]).stdin(Stdio::null()).stderr(Stdio::piped());
    let mut proxy = Proxy { child: command.spawn().unwrap(), said: Arc::default() };
    wait_until(|| ask(admin, "/healthz").starts_with("HTTP/1.1 200"));
    let only = take_only_connection(full, admin);
    wait_until_dropped(full, admin);
    let mut log = BufReader::new(proxy.child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let resumed = log.find(|line| line.contains("log lines were dropped")).unwrap();
    let (_, lines) = resumed.split_once("lines=").unwrap();
    assert!(lines.split_whitespace().next().unwrap().parse::<u64>().unwrap() > 0, "{resumed}");
    // The end does not wait for the reader, which has stopped again.
    drop(only);
    proxy.signal("-TERM");
    assert_eq!(proxy.status(), Some(0));
}

/// Clients can cause some messages at will; they do not suppress others.
#[test]
fn flood_of_failed_handshakes_does_not_suppress_other_messages() {
    let folder = folder();
    let file = folder.write("proxy.toml", configuration(&folder, unused_address(), ""));
    let proxy = Proxy::start(&["--config", &file]);
    let address: SocketAddr = proxy.address("listener").parse().unwrap();
    let mut roots = Roots::new();
    roots.add_pem(&std::fs::read(folder.file("ca.pem")).unwrap()).unwrap();
    let client = ClientConfig::builder().roots(roots).build().unwrap();
    let flood = AtomicBool::new(false);
    thread::scope(|scope| {
        let _stop = StopAtEnd(&flood);
        scope.spawn(|| {
            while !flood.load(Ordering::Relaxed) {
                let mut stream = TcpStream::connect(address).unwrap();
                stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
                let _ = stream.read_to_end(&mut Vec::new());
            }
        });
        proxy.wait_for("handshake failed", 20);
        // As many as a worker admits of each message, whichever second they belong to.
        for failures in 1..=10 {
            drop(connect(address, &client));
            proxy.wait_for("connection to backend failed", failures);
        }
    });
}

/// More of a configuration: an admin address, and a listener whose only connection the test takes.
/// Each further one is a log line.
fn full_listener(folder: &Folder, full: SocketAddr, admin: SocketAddr) -> String {
    let certificates = path(folder, "certs");
    format!(
        "[[listener]]\naddress = \"{full}\"\nto = \"127.0.0.1:1\"\nconnections = 1\n\
         certificates = \"{certificates}\"\n[admin]\naddress = \"{admin}\"\n\
         [log]\nlevel = \"debug\"\n[timeouts]\nhandshake = 600\n"
    )
}

/// The first connection of the process.
fn take_only_connection(full: SocketAddr, admin: SocketAddr) -> TcpStream {
    let only = TcpStream::connect(full).unwrap();
    wait_until(|| metric(admin, "tercel_connections_accepted_total") == Some(1.0));
    only
}

/// Causes log lines until one is dropped.
fn wait_until_dropped(full: SocketAddr, admin: SocketAddr) {
    wait_until(|| {
        for _ in 0..200 {
            let mut refused = TcpStream::connect(full).unwrap();
            refused.set_read_timeout(Some(LIMIT)).unwrap();
            assert_eq!(refused.read(&mut [0]).unwrap(), 0);
        }
        let dropped = metric(admin, "tercel_log_lines_dropped_total");
        dropped.is_some_and(|lines| lines > 0.0)
    });
}

/// Ends the threads of a scope also if it panics.
struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn wait_until(mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < LIMIT);
        thread::sleep(Duration::from_millis(20));
    }
}

/// The answer of the admin address; empty if it does not listen.
fn ask(admin: SocketAddr, path: &str) -> String {
    let mut answer = String::new();
    if let Ok(mut stream) = TcpStream::connect(admin) {
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        let _ = write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        let _ = stream.read_to_string(&mut answer);
    }
    answer
}

fn metric(admin: SocketAddr, name: &str) -> Option<f64> {
    let metrics = ask(admin, "/metrics");
    let value = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.map(|value| value.parse().unwrap())
}

fn connect(address: SocketAddr, config: &Arc<ClientConfig>) -> Stream<TcpStream> {
    let transport = TcpStream::connect(address).unwrap();
    transport.set_read_timeout(Some(LIMIT)).unwrap();
    Stream::connect(config, ServerName::try_from("localhost").unwrap(), transport).unwrap()
}

fn request(stream: &mut Stream<TcpStream>) {
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\nserved") {
        let mut piece = [0; 256];
        let count = stream.read(&mut piece).unwrap();
        assert!(count > 0, "{}", String::from_utf8_lossy(&answer));
        answer.extend_from_slice(&piece[..count]);
    }
}

/// The certificate that a new connection gets.
fn served(address: SocketAddr, config: &Arc<ClientConfig>) -> Vec<u8> {
    let mut stream = connect(address, config);
    let leaf = stream.connection().info.peer_chain()[0].to_vec();
    stream.close().unwrap();
    leaf
}

fn write_pair(folder: &Folder, leaf: &Leaf) {
    for (name, text) in
        [("localhost.key", leaf.key.serialize_pem()), ("localhost.crt", leaf.certificate.pem())]
    {
        let new = folder.write("new.pem", text);
        std::fs::rename(new, path(folder, &format!("certs/{name}"))).unwrap();
    }
}
