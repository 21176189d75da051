//! Test support: starts the program, writes its input and ends it.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rcgen::{CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use tercel::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tercel::{Credential, ServerConfig};

/// A time limit that is longer than any test takes, even on a busy machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// A running `tercel serve`, killed when dropped.
pub(crate) struct Server {
    child: Child,
    /// `127.0.0.1:PORT`
    pub(crate) address: String,
    said: Arc<Mutex<String>>,
    _state: Folder,
    pub(crate) ca: String,
    pub(crate) client: [String; 4],
}

/// Sends a signal. Small systems have no program `kill`, and each shell has a command.
#[cfg(unix)]
pub(crate) fn signal(child: &Child, name: &str) {
    let command = format!("kill {name} {}", child.id());
    assert!(Command::new("sh").args(["-c", &command]).status().unwrap().success());
}

impl Server {
    /// Starts a server with these options. It uses the embedded authority unless the options
    /// contain `--cert`.
    pub(crate) fn start(options: &[&str]) -> Self {
        Self::listen("127.0.0.1:0", options)
    }

    /// Like [`Self::start`], on this address.
    pub(crate) fn listen(address: &str, options: &[&str]) -> Self {
        let state = Folder::new();
        let mut command = tercel();
        command.arg("serve").args(options);
        if !options.contains(&"--listen") {
            command.args(["--listen", address]);
        }
        if !options.contains(&"--cert") {
            command.arg("--state-dir").arg(&state.0);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let said = collect_text(child.stderr.take().unwrap());
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let Some(address) = first.trim_end().strip_prefix("listening on ") else {
            thread::sleep(Duration::from_millis(200));
            panic!("the server printed {first:?} and {:?}", said.lock().unwrap());
        };
        let file = |name: &str| state.file(name).display().to_string();
        let client = ["--cert".into(), file("client.pem"), "--key".into(), file("client.key")];
        Self { address: address.to_owned(), ca: file("ca.pem"), child, said, _state: state, client }
    }

    /// Connects with these options, trusting the embedded authority.
    pub(crate) fn connect(&self, options: &[&str], input: &[u8]) -> Outcome {
        let trust = ["--ca", self.ca.as_str()];
        connect(&self.address, &[&trust, options].concat(), input)
    }

    /// Like [`Self::connect`], but keeps the input open until the server closes. A TLS 1.2 server
    /// discards an answer when the client closes before it. RFC 5246 7.2.1
    pub(crate) fn request(&self, options: &[&str], input: &[u8]) -> Outcome {
        let mut command = tercel();
        command.args(["connect", &self.address, "--ca", &self.ca]).args(options);
        run_with(&mut command, input, Input::StaysOpen)
    }

    /// Requests this path over a new connection, and returns the response with its head.
    pub(crate) fn get(&self, path: &str) -> String {
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        self.connect(&["--quiet"], request.as_bytes()).success().text()
    }

    /// Waits until the server has printed these words.
    pub(crate) fn wait_for(&self, words: &str) {
        let start = Instant::now();
        while !self.said.lock().unwrap().contains(words) {
            let said = self.said.lock().unwrap().clone();
            assert!(start.elapsed() < LIMIT, "no {words:?} in {said:?}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Sends the signal with which a service manager ends the server.
    #[cfg(all(unix, feature = "http3"))]
    pub(crate) fn terminate(&self) {
        signal(&self.child, "-TERM");
    }

    /// Waits until the server has ended.
    #[cfg(all(unix, feature = "http3"))]
    pub(crate) fn ended(mut self) -> Option<i32> {
        let start = Instant::now();
        while start.elapsed() < LIMIT {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            thread::sleep(Duration::from_millis(5));
        }
        panic!("the server does not end");
    }

    /// Kills the server and returns its output.
    pub(crate) fn end(mut self) -> String {
        assert_eq!(self.child.try_wait().unwrap(), None, "the server has ended by itself");
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let said = self.said.lock().unwrap();
        said.clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A running `openssl s_server`, killed when dropped.
pub(crate) struct OpenSsl {
    child: Child,
    /// `127.0.0.1:PORT`
    pub(crate) address: String,
}

impl OpenSsl {
    /// Whether there is the program `openssl`. If not, says that the test is skipped.
    pub(crate) fn is_installed() -> bool {
        let installed = Command::new("openssl").arg("version").output().is_ok();
        if !installed {
            eprintln!("skipped: there is no openssl");
        }
        installed
    }

    /// Starts a server with these files and options. `None` without OpenSSL.
    pub(crate) fn serve(certificate: &str, key: &str, options: &[&str]) -> Option<Self> {
        if !Self::is_installed() {
            return None;
        }
        let mut child = Command::new("openssl")
            .args(["s_server", "-accept", "127.0.0.1:0", "-cert", certificate, "-key", key])
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix("ACCEPT ").map(str::to_owned))
            .expect("the server names its address");
        thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Some(Self { child, address })
    }
}

impl Drop for OpenSsl {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An address on which nothing listens, for a program that cannot report the port that it got.
///
/// Linux has 2^24 loopback addresses, so no other program and no other call gets the same one.
/// Elsewhere, the port was free a moment ago.
pub(crate) fn unused_address() -> SocketAddr {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    let [_, a, b, c] = ((std::process::id() << 4) ^ call).to_be_bytes();
    let ip = if cfg!(target_os = "linux") {
        Ipv4Addr::new(127, a | 0x80, b, c)
    } else {
        Ipv4Addr::LOCALHOST
    };
    TcpListener::bind((ip, 0)).unwrap().local_addr().unwrap()
}

/// The result of a run of the program.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) status: Option<i32>,
    pub(crate) output: Vec<u8>,
    pub(crate) said: String,
}

impl Outcome {
    pub(crate) fn success(self) -> Self {
        assert_eq!(self.status, Some(0), "{}", self.said);
        self
    }

    /// The error line of a failure, without `tercel: `.
    pub(crate) fn failure(&self) -> &str {
        assert_eq!(self.status, Some(1), "{self:?}");
        let last = self.said.lines().last().unwrap_or_default();
        assert_eq!(self.said.matches("tercel: ").count(), 1, "{}", self.said);
        last.strip_prefix("tercel: ").unwrap_or_else(|| panic!("the last line is {last:?}"))
    }

    /// The values of the report under this key.
    pub(crate) fn reported(&self, key: &str) -> Vec<&str> {
        let rows = self.said.lines().filter_map(|line| line.split_once("  "));
        rows.filter(|(k, _)| *k == key).map(|(_, value)| value.trim_start()).collect()
    }

    pub(crate) fn text(self) -> String {
        String::from_utf8(self.output).unwrap()
    }
}

/// Runs `tercel connect`.
pub(crate) fn connect(address: &str, options: &[&str], input: &[u8]) -> Outcome {
    run(tercel().args(["connect", address]).args(options), input)
}

/// When the input of a command ends.
#[derive(PartialEq, Eq)]
enum Input {
    Ends,
    StaysOpen,
}

/// Runs a command to its end.
pub(crate) fn run(command: &mut Command, input: &[u8]) -> Outcome {
    run_with(command, input, Input::Ends)
}

fn run_with(command: &mut Command, input: &[u8], end: Input) -> Outcome {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // A program that exits early does not read all input.
    let feeding = thread::spawn(move || {
        let _ = stdin.write_all(&input);
        (end == Input::StaysOpen).then_some(stdin)
    });
    let output = collect(child.stdout.take().unwrap());
    let said = collect(child.stderr.take().unwrap());
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if start.elapsed() > LIMIT {
            child.kill().unwrap();
            let (output, said) = (output.join().unwrap(), said.join().unwrap());
            panic!("no end; {} bytes; {}", output.len(), String::from_utf8_lossy(&said));
        }
        thread::sleep(Duration::from_millis(2));
    };
    drop(feeding.join().unwrap());
    let said = String::from_utf8(said.join().unwrap()).unwrap();
    Outcome { status: status.code(), output: output.join().unwrap(), said }
}

/// How many of five further TLS 1.2 connections OpenSSL resumes with these options; `None` without
/// OpenSSL.
pub(crate) fn openssl_resumes(address: &str, options: &[&str]) -> Option<usize> {
    let mut openssl = Command::new("openssl");
    openssl.args(["s_client", "-connect", address, "-tls1_2", "-reconnect"]).args(options);
    if Command::new("openssl").arg("version").output().is_err() {
        eprintln!("skipped: there is no openssl");
        return None;
    }
    let outcome = run(&mut openssl, b"");
    let output = String::from_utf8_lossy(&outcome.output);
    let [full, resumed] =
        ["New, TLSv1.2", "Reused, TLSv1.2"].map(|word| output.matches(word).count());
    assert_eq!(full + resumed, 6, "{output} {}", outcome.said);
    Some(resumed)
}

/// curl, without a file of settings or a proxy of this machine.
pub(crate) fn curl() -> Command {
    let mut command = Command::new("curl");
    command.args(["--disable", "--noproxy", "*"]);
    command
}

/// The program, without the variables of the environment that change what it does or prints.
pub(crate) fn tercel() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tercel"));
    for variable in [
        "CI",
        "CLICOLOR",
        "CLICOLOR_FORCE",
        "COLUMNS",
        "LISTEN_FDS",
        "LISTEN_PID",
        "NO_COLOR",
        "NOTIFY_SOCKET",
        "RUST_BACKTRACE",
        "SSLKEYLOGFILE",
        "SSL_CERT_DIR",
        "SSL_CERT_FILE",
        "WATCHDOG_USEC",
        "XDG_STATE_HOME",
    ] {
        command.env_remove(variable);
    }
    command
}

fn collect(mut source: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut all = Vec::new();
        source.read_to_end(&mut all).unwrap();
        all
    })
}

fn collect_text(source: impl Read + Send + 'static) -> Arc<Mutex<String>> {
    let text = Arc::new(Mutex::new(String::new()));
    let collected = Arc::clone(&text);
    thread::spawn(move || {
        for line in BufReader::new(source).lines().map_while(Result::ok) {
            collected.lock().unwrap().push_str(&format!("{line}\n"));
        }
    });
    text
}

/// A directory of one test, removed at its end.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("program-{}-{number}", std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let file = self.file(name);
        fs::write(&file, content).unwrap();
        file.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A certificate for tests, with the authority that issued it.
pub(crate) struct Leaf {
    pub(crate) certificate: rcgen::Certificate,
    pub(crate) key: KeyPair,
    pub(crate) ca: rcgen::Certificate,
}

impl Leaf {
    /// A certificate for this name that is valid until the end of this year.
    pub(crate) fn new(name: &str, last_year: i32) -> Self {
        let mut ca_params = CertificateParams::default();
        ca_params.distinguished_name.push(DnType::CommonName, format!("authority of {name}"));
        ca_params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        ca_params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let ca_key = KeyPair::generate().unwrap();
        let ca = ca_params.self_signed(&ca_key).unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_after = rcgen::date_time_ymd(last_year, 12, 31);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &Issuer::new(ca_params, ca_key)).unwrap();
        Self { certificate, key, ca }
    }

    /// Writes `NAME.pem`, `NAME.key` and `NAME-ca.pem`. Returns the options with which the server
    /// uses the certificate.
    pub(crate) fn write(&self, folder: &Folder, name: &str) -> [String; 4] {
        folder.write(&format!("{name}-ca.pem"), self.ca.pem());
        let certificate = folder.write(&format!("{name}.pem"), self.certificate.pem());
        let key = folder.write(&format!("{name}.key"), self.key.serialize_pem());
        ["--cert".to_owned(), certificate, "--key".to_owned(), key]
    }
}

/// A server that can misbehave in ways in which the program cannot: its configuration, listener and
/// address.
pub(crate) fn server_of_ours() -> (Arc<ServerConfig>, TcpListener, String) {
    let leaf = Leaf::new("localhost", 2099);
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(leaf.key.serialize_der()));
    let credential = Credential::new(vec![leaf.certificate.der().clone()], &key).unwrap();
    let config = ServerConfig::builder().credential(credential).build().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    (config, listener, address)
}

/// Options as string slices.
pub(crate) fn refs(options: &[String]) -> Vec<&str> {
    options.iter().map(String::as_str).collect()
}

/// Pseudo-random bytes, so that lost, repeated or reordered parts are noticed.
pub(crate) fn payload(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[0]
    };
    (0..length).map(|_| next()).collect()
}
