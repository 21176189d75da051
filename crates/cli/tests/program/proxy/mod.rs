//! `tercel proxy` as operators use it: start, requests, signals, shutdown, and refused
//! configurations.

mod ending;
mod logging;
mod refused;
mod reload;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixDatagram;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{
    Folder, Leaf, Outcome, connect, openssl_resumes, run, signal, tercel, unused_address,
};

/// A time limit that is longer than any test takes, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// A running terminator, killed when dropped.
struct Proxy {
    child: Child,
    said: Arc<Mutex<String>>,
}

impl Proxy {
    fn start(options: &[&str]) -> Self {
        Self::start_as(tercel(), options)
    }

    /// Starts a terminator with a limit on open files, which the shell sets.
    fn start_with_files(files: u32, options: &[&str]) -> Self {
        let mut shell = Command::new("sh");
        let script = format!("ulimit -n {files}; exec \"$0\" \"$@\"");
        shell.args(["-c", &script]).arg(tercel().get_program());
        Self::start_as(shell, options)
    }

    fn start_as(mut command: Command, options: &[&str]) -> Self {
        command.arg("proxy").args(options).stdin(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (said, stderr) = (Arc::new(Mutex::new(String::new())), child.stderr.take().unwrap());
        let collected = Arc::clone(&said);
        thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                collected.lock().unwrap().push_str(&format!("{line}\n"));
            }
        });
        Self { child, said }
    }

    /// Waits until these words were logged this many times.
    fn wait_for(&self, words: &str, times: usize) {
        let begun = Instant::now();
        while self.said().matches(words).count() < times {
            assert!(begun.elapsed() < LIMIT, "no {words:?} in {}", self.said());
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// The address logged under this key.
    fn address(&self, key: &str) -> String {
        self.wait_for("listening", 1);
        let said = self.said();
        let (_, rest) = said.split_once(&format!("{key}=")).unwrap_or_else(|| panic!("{said}"));
        rest.split_whitespace().next().unwrap().to_owned()
    }

    fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    fn signal(&self, name: &str) {
        signal(&self.child, name);
    }

    /// Waits until the terminator ends, and returns the exit status.
    fn status(&mut self) -> Option<i32> {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(begun.elapsed() < LIMIT, "still running: {}", self.said());
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A backend that answers each request with these words and keeps connections open.
fn backend(words: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || answer(stream, words));
        }
    });
    address
}

fn answer(mut stream: TcpStream, words: &str) {
    let mut requests = BufReader::new(stream.try_clone().unwrap());
    let mut line = String::new();
    while requests.read_line(&mut line).is_ok_and(|count| count > 0) {
        if line == "\r\n" {
            let length = words.len();
            let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{words}");
            stream.write_all(answer.as_bytes()).unwrap();
        }
        line.clear();
    }
}

/// A directory with `certs/localhost.crt`, its key, and `ca.pem`.
fn folder() -> Folder {
    let folder = Folder::new();
    std::fs::create_dir(folder.file("certs")).unwrap();
    let leaf = Leaf::new("localhost", 2099);
    folder.write("ca.pem", leaf.ca.pem());
    folder.write("certs/localhost.crt", leaf.certificate.pem());
    folder.write("certs/localhost.key", leaf.key.serialize_pem());
    folder
}

fn path(folder: &Folder, name: &str) -> String {
    folder.file(name).display().to_string()
}

/// A configuration with one listener, and `more` lines for it.
fn configuration(folder: &Folder, to: SocketAddr, more: &str) -> String {
    let certificates = path(folder, "certs");
    format!(
        "workers = 2\ndrain = 20\n[[listener]]\naddress = \"127.0.0.1:0\"\nto = \"{to}\"\n\
         certificates = \"{certificates}\"\n{more}\n"
    )
}

/// The response to one request over a connection of its own.
fn get(folder: &Folder, address: &str) -> String {
    let (_, port) = address.rsplit_once(':').unwrap();
    let request = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let ca = path(folder, "ca.pem");
    let options = ["--ca", &ca, "--name", "localhost", "--quiet"];
    connect(&format!("127.0.0.1:{port}"), &options, request).success().text()
}

fn proxy(options: &[&str]) -> Outcome {
    run(tercel().arg("proxy").args(options), b"")
}

#[test]
fn one_line_serves_and_is_watched() {
    let folder = folder();
    let to = backend("served").to_string();
    let admin = unused_address().to_string();
    let certs = path(&folder, "certs");
    let options = ["--listen", "127.0.0.1:0", "--to", &to, "--cert-dir", &certs];
    let mut proxy = Proxy::start(&[&options, ["--admin", &admin].as_slice()].concat());
    let address = proxy.address("listener");
    assert!(get(&folder, &address).ends_with("served"));
    let asked = |path: &str| {
        let mut stream = TcpStream::connect(&admin).unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    assert!(asked("/healthz").starts_with("HTTP/1.1 200"));
    let metrics = asked("/metrics");
    for line in ["tercel_connections_accepted_total 1", "tercel_ticket_key_age_seconds "] {
        assert!(metrics.contains(line), "no {line} in {metrics}");
    }
    // Other clients are tested too, if they are installed.
    let (_, port) = address.rsplit_once(':').unwrap();
    for version in ["--http1.1", "--tls-max"] {
        let mut curl = crate::support::curl();
        curl.args(["--silent", "--show-error", "--max-time", "60", version]);
        curl.args(if version == "--tls-max" { ["1.2"].as_slice() } else { &[] });
        curl.args(["--cacert", &path(&folder, "ca.pem")]);
        curl.args(["--resolve", &format!("localhost:{port}:127.0.0.1")]);
        match curl.arg(format!("https://localhost:{port}/")).output() {
            Ok(output) => assert_eq!(String::from_utf8_lossy(&output.stdout), "served"),
            Err(_) => println!("absent: curl"),
        }
    }
    proxy.signal("-TERM");
    assert_eq!(proxy.status(), Some(0), "{}", proxy.said());
}

/// RFC 5246 7.3
#[test]
fn clients_that_take_no_tickets_are_resumed_by_session_id() {
    let folder = folder();
    let to = backend("x");
    for (more, expected) in [("", 5), ("session_ids = 0", 0), ("tickets = \"off\"", 0)] {
        let text = format!("{}[resumption]\n{more}\n", configuration(&folder, to, ""));
        let file = folder.write("proxy.toml", text);
        let proxy = Proxy::start(&["--config", &file]);
        let address = proxy.address("listener");
        let Some(resumed) = openssl_resumes(&address, &["-no_ticket"]) else { return };
        assert_eq!(resumed, expected, "{more}");
    }
}

#[test]
fn the_service_manager_hears_that_threads_turn() {
    let folder = folder();
    let socket = UnixDatagram::bind(folder.file("notify")).unwrap();
    socket.set_read_timeout(Some(LIMIT)).unwrap();
    let file = folder.write("proxy.toml", configuration(&folder, backend("x"), ""));
    let mut command = tercel();
    command.env("NOTIFY_SOCKET", folder.file("notify")).env("WATCHDOG_USEC", "400000");
    let mut proxy = Proxy::start_as(command, &["--config", &file]);
    let mut told = String::new();
    while told.matches("WATCHDOG=1").count() < 5 {
        let mut message = [0; 256];
        let length = socket.recv(&mut message).unwrap();
        told.push_str(std::str::from_utf8(&message[..length]).unwrap());
    }
    assert!(told.starts_with("READY=1\n"), "{told}");
    proxy.signal("-TERM");
    assert_eq!(proxy.status(), Some(0), "{}", proxy.said());
}

#[test]
fn hash_lanes_are_switched_off_by_an_option_or_a_key() {
    let folder = folder();
    let to = backend("served").to_string();
    let certs = path(&folder, "certs");
    let options = ["--listen", "127.0.0.1:0", "--to", &to, "--cert-dir", &certs];
    let text = configuration(&folder, to.parse().unwrap(), "");
    let file = folder.write("proxy.toml", format!("hash_lanes = false\n{text}"));
    let with_option = [&options, ["--no-hash-lanes"].as_slice()].concat();
    for (options, off) in
        [(&options[..], false), (&with_option, true), (&["--config", &file], true)]
    {
        let proxy = Proxy::start(options);
        let address = proxy.address("listener");
        let has_avx2 = cfg!(feature = "hash-lanes") && has_avx2();
        assert_eq!(proxy.said().contains("hash_lanes=None"), off || !has_avx2, "{}", proxy.said());
        assert!(get(&folder, &address).ends_with("served"));
    }
}

#[test]
fn kernels_are_switched_off_by_an_option_or_a_table() {
    let folder = folder();
    let to = backend("served").to_string();
    let certs = path(&folder, "certs");
    let options = ["--listen", "127.0.0.1:0", "--to", &to, "--cert-dir", &certs];
    let text = configuration(&folder, to.parse().unwrap(), "");
    let file = folder.write("proxy.toml", format!("{text}\n[kernels]\nrsa-2048 = false\n"));
    let with_option = [&options, ["--no-kernels", "aes-gcm:chacha20-poly1305"].as_slice()].concat();
    for (options, off) in [
        (&options[..], &[][..]),
        (&with_option, &["aes-gcm", "chacha20-poly1305"]),
        (&["--config", &file], &["rsa-2048"]),
    ] {
        let proxy = Proxy::start(options);
        let address = proxy.address("listener");
        for name in ["aes-gcm", "chacha20-poly1305", "rsa-2048"] {
            let is_off = proxy.said().contains(&format!("{name} off"));
            // A kernel that was not built has no switch.
            let is_built = !proxy.said().contains(&format!("{name} not built"));
            assert_eq!(is_off, off.contains(&name) && is_built, "{name}: {}", proxy.said());
        }
        assert!(get(&folder, &address).ends_with("served"));
    }
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    std::is_x86_feature_detected!("avx2")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx2() -> bool {
    false
}
