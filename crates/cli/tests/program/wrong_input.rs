//! Wrong inputs, as people make them: each leads to one line that says what was found and what to
//! do, and to the status 1 for a failure or 2 for an invalid command line.
//!
//! In commands and expected lines, `{NAME}` is a file of the test's folder or an address of the
//! test; `*` in an expected line stands for any text.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::thread;
use std::time::Duration;

use super::support::{Folder, Leaf, Outcome, Server, run, tercel};

/// A command line, its exit status and the line that it prints.
type Case = (&'static str, i32, &'static str);

#[test]
fn command_lines() {
    check(&Fixture::new(), COMMAND_LINES);
}

#[test]
fn files_of_serve_and_connect() {
    check(&Fixture::new().files(), FILES);
}

#[test]
fn servers_that_cannot_be_reached_or_do_not_speak_tls() {
    check(&Fixture::new().servers(), SERVERS);
}

#[test]
fn alerts_have_hints() {
    for (alert, expected) in ALERTS {
        let answer = [21, 3, 3, 0, 2, 2, *alert];
        let server = answering(Box::leak(Box::new(answer)));
        let outcome = execute(&format!("connect {server} --insecure --quiet"));
        assert_line(&outcome, 1, &format!("tercel: the peer sent the fatal alert {expected}"));
    }
}

#[test]
fn refused_certificates_have_hints() {
    let server = Server::start(&[]);
    let fixture = Fixture::new().files().with("server", server.address.clone());
    let fixture = fixture.with("its-ca", server.ca.clone());
    check(&fixture, REFUSED_CERTIFICATES);
    server.wait_for("alert unknown_ca; the client does not trust the issuer of this server's");
}

#[cfg(unix)]
#[test]
fn configurations_of_the_proxy() {
    check(&Fixture::new().files().configurations(), PROXY);
}

/// A real server that has only CBC suites.
#[test]
fn a_server_with_only_cbc_suites() {
    let folder = Folder::new();
    let [_, certificate, _, key] = Leaf::new("localhost", 2099).write(&folder, "one");
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut openssl = Command::new("openssl");
    openssl.args(["s_server", "-quiet", "-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA256"]);
    openssl.args(["-accept", &format!("127.0.0.1:{port}"), "-cert", &certificate, "-key", &key]);
    openssl.stdin(std::process::Stdio::piped()).stderr(std::process::Stdio::null());
    let Ok(mut openssl) = openssl.spawn() else {
        eprintln!("skipped: there is no openssl");
        return;
    };
    let address = format!("127.0.0.1:{port}");
    for _ in 0..1000 {
        if TcpStream::connect(&address).is_ok() {
            break;
        }
        thread::sleep(Duration::from_millis(10));
    }
    let outcome = execute(&format!("connect {address} --insecure --quiet"));
    openssl.kill().unwrap();
    openssl.wait().unwrap();
    let expected = "tercel: the peer sent the fatal alert handshake_failure; usually no cipher \
                    suite or group in common, *suites with CBC or RSA key exchange are not \
                    supported";
    assert_line(&outcome, 1, expected);
}

/// A handshake with an expired certificate fails on the other side only.
#[test]
fn an_expired_certificate_is_warned_of() {
    let folder = Folder::new();
    let [_, certificate, _, key] = Leaf::new("localhost", 2020).write(&folder, "old");
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let command = format!("connect {closed} --insecure --cert {certificate} --key {key}");
    let outcome = execute(&command);
    let warning = format!("warning: {certificate}: the certificate expired at 2020-12-31");
    assert!(outcome.said.contains(&warning), "{}", outcome.said);
}

/// Root may listen on every port. If the test runs as root, it runs the program as `nobody`.
#[cfg(target_os = "linux")]
#[test]
fn a_privileged_port_is_refused() {
    let setting = std::fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start");
    if setting.is_ok_and(|first| first.trim() != "1024") {
        eprintln!("skipped: unprivileged users may use every port");
        return;
    }
    // `nobody` may lack access to the folder of the program, so the test runs a copy of it.
    let copy = std::env::temp_dir().join(format!("tercel-{}", std::process::id()));
    std::fs::copy(env!("CARGO_BIN_EXE_tercel"), &copy).unwrap();
    let mut setpriv = Command::new("setpriv");
    setpriv.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"]);
    setpriv.arg(&copy).args(["serve", "--listen", "127.0.0.1:80"]);
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout == b"0\n");
    let mut plain = Command::new(&copy);
    plain.args(["serve", "--listen", "127.0.0.1:80"]);
    if is_root && Command::new("setpriv").arg("--version").output().is_err() {
        eprintln!("skipped: there is no setpriv");
    } else {
        let outcome = run(if is_root { &mut setpriv } else { &mut plain }, b"");
        let expected = "tercel: cannot listen on 127.0.0.1:80: permission denied; choose a port \
                        from 1024 on, or run with CAP_NET_BIND_SERVICE";
        assert_line(&outcome, 1, expected);
    }
    std::fs::remove_file(copy).unwrap();
}

/// `:PORT` means all addresses, as in `tercel proxy`.
#[test]
fn a_port_alone_can_be_listened_on() {
    let port = TcpListener::bind("[::]:0").unwrap().local_addr().unwrap().port();
    let server = Server::listen(&format!(":{port}"), &[]);
    assert_eq!(server.address, format!("[::]:{port}"));
    TcpStream::connect(("127.0.0.1", port)).unwrap();
}

const COMMAND_LINES: &[Case] = &[
    (
        "serve --client-ca x",
        2,
        "error: --client-ca needs --client-auth optional, required or later",
    ),
    ("nonsense", 2, "error: unrecognized subcommand 'nonsense'; see `tercel --help`"),
    (
        "conect localhost:1",
        2,
        "error: unrecognized subcommand 'conect'; a similar subcommand exists: 'connect'",
    ),
    ("sevre", 2, "error: unrecognized subcommand 'sevre'; a similar subcommand exists: 'serve'"),
    (
        "connect localhost:1 --servername x",
        2,
        "error: unexpected argument '--servername' found; a similar argument exists: \
         '--server-name'",
    ),
    (
        "serve --certt x",
        2,
        "error: unexpected argument '--certt' found; a similar argument exists: '--cert'",
    ),
    (
        "load --full --conections 4 localhost:1",
        2,
        "error: unexpected argument '--conections' found; a similar argument exists: \
         '--connections'",
    ),
    (
        "proxy --lisen :1",
        2,
        "error: unexpected argument '--lisen' found; a similar argument exists: '--listen'",
    ),
    (
        "connect",
        2,
        "error: the following required arguments were not provided: <*; see `tercel connect \
         --help`",
    ),
    (
        "serve --listen 8443",
        2,
        "error: invalid value '8443' for '--listen <ADDRESS:PORT>': must be ADDRESS:PORT or \
         :PORT, for example 127.0.0.1:8443 or :8443; see `tercel serve --help`",
    ),
    ("serve --cert x.pem", 2, "error: the following required arguments were not provided: --key*"),
    (
        "serve --suites RC4",
        2,
        "error: invalid value 'RC4' for '--suites <NAMES>': unknown cipher suite `RC4`; \
         available: TLS_*",
    ),
    (
        "serve --groups x25518",
        2,
        "error: invalid value 'x25518' for '--groups <NAMES>': unknown group `x25518`; \
         available: *x25519*",
    ),
    (
        "serve --client-auth always",
        2,
        "error: invalid value 'always' for '--client-auth <MODE>' [possible values: none, \
         optional, required, later]",
    ),
    ("serve --alpn h3", 2, "error: --alpn: `h3` is not supported: only h2 and http/1.1 can be*"),
    (
        "serve --cert a --key b --client-auth required",
        2,
        "error: --client-auth with --cert needs --client-ca",
    ),
    (
        "connect localhost:1 --timeout 0",
        2,
        "error: invalid value '0' for '--timeout <SECONDS>': must be a whole number of seconds \
         from 1 to 86400; see `tercel connect --help`",
    ),
    (
        "connect localhost:1 --ca x --insecure",
        2,
        "error: the argument '--ca <FILE>' cannot be used with '--insecure'; see `tercel connect \
         --help`",
    ),
    (
        "connect localhost:1 --psk name:xyz",
        2,
        "error: invalid value 'name:xyz' for '--psk <NAME:HEX[:HASH]>': key is not hexadecimal; \
         see `tercel connect --help`",
    ),
    (
        "load localhost:1",
        2,
        "error: the following required arguments were not provided: \
         <--full|--resumed|--bulk|--requests|--idle <N>>; see `tercel load --help`",
    ),
    ("load --full http://localhost/", 2, "error: invalid value 'http://localhost/' for*https*"),
    (
        "proxy --listen :1 --to a:1",
        2,
        "error: the following required arguments were not provided: --cert-dir <DIR>; see \
         `tercel proxy --help`",
    ),
];

const FILES: &[Case] = &[
    (
        "serve --listen 127.0.0.1:0 --cert {one.key} --key {one.pem}",
        1,
        "tercel: {one.key}: contains a private key, not a certificate; are --cert and --key \
         swapped?",
    ),
    (
        "serve --listen 127.0.0.1:0 --cert {one.pem} --key {one.pem}",
        1,
        "tercel: {one.pem}: contains a certificate, not a private key; are --cert and --key \
         swapped?",
    ),
    (
        "serve --listen 127.0.0.1:0 --cert {one.pem} --key {two.key}",
        1,
        "tercel: {one.pem} with {two.key}: the private key does not match the certificate or \
         public key; the key must be that of the first certificate in the file",
    ),
    (
        "serve --listen 127.0.0.1:0 --cert {one.pem} --key {encrypted.key}",
        1,
        "tercel: {encrypted.key}: contains an encrypted private key; decrypt it: openssl pkey \
         -in {encrypted.key} -out NEW",
    ),
    (
        "serve --listen 127.0.0.1:0 --cert {empty.pem} --key {one.key}",
        1,
        "tercel: {empty.pem}: is empty; it must contain a certificate in PEM",
    ),
    (
        "serve --listen 127.0.0.1:0 --cert {none.pem} --key {one.key}",
        1,
        "tercel: {none.pem}: there is no such file",
    ),
    (
        "serve --listen 127.0.0.1:0 --cert {folder} --key {one.key}",
        1,
        "tercel: {folder}: is a directory, not a file",
    ),
    (
        "serve --listen 127.0.0.1:0 --cert {one.der} --key {one.key}",
        1,
        "tercel: {one.der}: contains binary DER, not PEM; convert it: openssl x509 -inform DER \
         -in {one.der} -out NEW",
    ),
    (
        "serve --listen 127.0.0.1:0 --cert {one.pem} --key {key.der}",
        1,
        "tercel: {key.der}: contains binary DER, not PEM; convert it: openssl pkey -inform DER \
         -in {key.der} -out NEW",
    ),
    (
        "serve --listen 127.0.0.1:0 --cert {one.p12} --key {one.key}",
        1,
        "tercel: {one.p12}: contains a PKCS#12 archive, not PEM; convert it: openssl pkcs12 -in \
         {one.p12} -noenc -out NEW",
    ),
    (
        "serve --listen 127.0.0.1:0 --cert {one.pem} --key {ssh.key}",
        1,
        "tercel: {ssh.key}: contains an OpenSSH private key; convert a copy of it: ssh-keygen -p \
         -m PKCS8 -f COPY",
    ),
    (
        "serve --listen 127.0.0.1:0 --cert {request.pem} --key {one.key}",
        1,
        "tercel: {request.pem}: contains a certificate request, not a certificate in PEM",
    ),
    (
        "serve --listen 127.0.0.1:0 --cert {cut.pem} --key {one.key}",
        1,
        "tercel: {cut.pem}: the PEM data is malformed; copy the file again, it may be incomplete",
    ),
    (
        "serve --listen 127.0.0.1:0 --cert {text.pem} --key {one.key}",
        1,
        "tercel: {text.pem}: contains text without a PEM section, not a certificate in PEM",
    ),
    (
        "serve --listen 127.0.0.1:0 --client-auth required --client-ca {one.key}",
        1,
        "tercel: {one.key}: contains a private key, not a certificate",
    ),
    (
        "serve --listen 127.0.0.1:0 --client-auth required --client-keys {one.pem}",
        1,
        "tercel: {one.pem}: contains a certificate, not a public key",
    ),
    (
        "serve --listen 127.0.0.1:0 --cert {one.pem} --key {one.key} --ocsp {one.pem}",
        1,
        "tercel: {one.pem}: contains a certificate, not an OCSP response in DER",
    ),
    ("serve --listen 127.0.0.1:0 --root {none.pem}", 1, "tercel: {none.pem}: there is no such*"),
    ("serve --listen {taken}", 1, "tercel: cannot listen on {taken}: the port is in use by*"),
    (
        "serve --listen 192.0.2.1:0",
        1,
        "tercel: cannot listen on 192.0.2.1:0: this machine does not have that address",
    ),
    ("connect {taken} --ca {none.pem}", 1, "tercel: {none.pem}: there is no such file"),
    ("connect {taken} --ca {empty.pem}", 1, "tercel: {empty.pem}: is empty; it must contain*"),
    ("connect {taken} --insecure --key-log {folder}", 1, "tercel: {folder}: is a directory*"),
    ("connect {taken} --insecure --session-file {text.pem}", 1, "tercel: {text.pem}: *session*"),
];

const SERVERS: &[Case] = &[
    (
        "connect {http} --insecure --quiet",
        1,
        "tercel: the server does not speak TLS on this port: it answered with plain HTTP, \
         \"HTTP/1.1 400 Bad Request\"...; use the port of HTTPS, usually 443 or 8443",
    ),
    (
        "connect {smtp} --insecure --quiet",
        1,
        "tercel: the server does not speak TLS on this port: it answered with SMTP or FTP, \"220 \
         mail.example ESMTP\"...; try --starttls smtp or --starttls ftp",
    ),
    (
        "connect {ftp} --insecure --quiet",
        1,
        "tercel: *it answered with FTP, \"220 FTP server\"...; try --starttls ftp",
    ),
    ("connect {imap} --insecure --quiet", 1, "tercel: *with IMAP, *; try --starttls imap"),
    ("connect {pop3} --insecure --quiet", 1, "tercel: *with POP3, *; try --starttls pop3"),
    (
        "connect {ssh} --insecure --quiet",
        1,
        "tercel: *it answered with SSH, \"SSH-2.0-x\"...; SSH has no TLS: use another port",
    ),
    (
        "connect {escapes} --insecure --quiet",
        1,
        "tercel: *it answered \"\\x1b[31mred\\xff\"; use another port, or --starttls if TLS \
         begins after a command",
    ),
    (
        "connect {closing} --insecure --quiet",
        1,
        "tercel: connection closed by peer during the handshake, before it sent anything; the \
         port may not speak TLS, or only after a command: see --starttls",
    ),
    (
        "connect {silent} --insecure --quiet --timeout 1",
        1,
        "tercel: handshake timed out: the server sent nothing; the port may not speak TLS*",
    ),
    (
        "connect {full} --insecure --quiet --timeout 1",
        1,
        "tercel: cannot connect to {full}: timed out after 1 s*",
    ),
    (
        "connect {closed} --insecure --quiet",
        1,
        "tercel: cannot connect to {closed}: connection refused; nothing listens on that port",
    ),
    (
        "connect no-such-host.invalid:1 --insecure --quiet",
        1,
        "tercel: cannot resolve no-such-host.invalid: *",
    ),
    (
        "load --full --seconds 1 --warm-up 0 --insecure {closed}",
        1,
        "tercel: cannot connect to {closed}: connection refused; nothing listens on that port",
    ),
];

/// Alerts that a server sends: the code, and the line about it.
const ALERTS: &[(u8, &str)] = &[
    (40, "handshake_failure; usually no cipher suite or group in common, *--suites*--cert*"),
    (42, "bad_certificate; the server refuses the client certificate, or requires one: check *"),
    (45, "certificate_expired; renew the client certificate of --cert"),
    (48, "unknown_ca; the server does not trust the issuer of the client certificate: --cert *"),
    (49, "access_denied; the client certificate is valid, but the server does not admit its*"),
    (51, "decrypt_error; a key does not match: check that --psk is the same on both sides, *"),
    (70, "protocol_version; the server has none of the offered versions: *TLS 1.1 and older *"),
    (71, "insufficient_security; the server requires stronger parameters: try without --suites*"),
    (80, "internal_error; the fault is the server's: see its log"),
    (112, "unrecognized_name; the server has no certificate for this server name: *--name"),
    (115, "unknown_psk_identity; give --psk an identity that the server has"),
    (116, "certificate_required; the server requires a client certificate: *--cert and --key"),
    (120, "no_application_protocol; the server has none of the offered protocols: *--alpn"),
];

const REFUSED_CERTIFICATES: &[Case] = &[
    (
        "connect {server} --ca {one-ca.pem}",
        1,
        "tercel: certificate refused: *issuer is unknown*; trust a private authority with --ca \
         FILE; --show-certs prints the chain",
    ),
    (
        "connect {server} --ca {its-ca} --name other.example",
        1,
        "tercel: certificate refused: *other.example*; --name NAME verifies another name; \
         --show-certs prints the chain",
    ),
];

const PROXY: &[Case] = &[
    (
        "proxy --config {listne.toml}",
        1,
        "tercel: {listne.toml}: listner: unknown key in the top level; did you mean `listener`? \
         *(line 1)",
    ),
    (
        "proxy --config {adress.toml}",
        1,
        "tercel: {adress.toml}: listener[0].adress: unknown key in [[listener]]; did you mean \
         `address`? known keys: *(line 2)",
    ),
    (
        "proxy --config {type.toml}",
        1,
        "tercel: {type.toml}: workers: must be a whole number from 1 to 1024, not a string (line \
         1)",
    ),
    ("proxy --config {syntax.toml}", 1, "tercel: {syntax.toml}: line 2: *"),
    ("proxy --config {none.pem}", 1, "tercel: {none.pem}: No such file or directory"),
    ("proxy --config {folder}", 1, "tercel: {folder}: Is a directory"),
    (
        "proxy --listen 443 --to 127.0.0.1:1 --cert-dir {folder}",
        1,
        "tercel: command line: --listen: \"443\" must be ADDRESS:PORT, for example *",
    ),
    (
        "proxy --listen {taken} --to 127.0.0.1:1 --cert {one.pem} --key {one.key}",
        1,
        "tercel: command line: --listen: {taken}: the port is in use by another program; choose \
         another port",
    ),
    (
        "proxy --listen 127.0.0.1:0 --to 8080 --cert {one.pem} --key {one.key}",
        1,
        "tercel: command line: --to: \"8080\" must be ADDRESS:PORT, NAME:PORT or unix:PATH",
    ),
    (
        "proxy --listen 127.0.0.1:0 --to no-such-host.invalid:1 --cert {one.pem} --key {one.key}",
        1,
        "tercel: command line: --to: no-such-host.invalid:1: *",
    ),
    (
        "proxy --listen 127.0.0.1:0 --to 127.0.0.1:1 --cert {one.key} --key {one.pem}",
        1,
        "tercel: command line: --cert: \"{one.key}\": contains a private key, not a certificate \
         in PEM",
    ),
    (
        "proxy --listen 127.0.0.1:0 --to 127.0.0.1:1 --cert {one.pem} --key {two.key}",
        1,
        "tercel: command line: --cert: \"{one.pem}\": the private key does not match*{two.key}*",
    ),
    (
        "proxy --listen 127.0.0.1:0 --to 127.0.0.1:1 --cert {empty.pem} --key {one.key}",
        1,
        "tercel: command line: --cert: \"{empty.pem}\": is empty; it must contain a certificate \
         in PEM",
    ),
    (
        "proxy --listen 127.0.0.1:0 --to 127.0.0.1:1 --cert-dir {none.pem}",
        1,
        "tercel: command line: --cert-dir: \"{none.pem}\": No such file or directory",
    ),
];

/// The files and addresses that commands name.
struct Fixture {
    folder: Folder,
    names: BTreeMap<&'static str, String>,
    /// Sockets that stay open.
    open: Vec<(TcpListener, Vec<TcpStream>)>,
}

impl Fixture {
    fn new() -> Self {
        Self { folder: Folder::new(), names: BTreeMap::new(), open: Vec::new() }
    }

    fn with(mut self, name: &'static str, value: String) -> Self {
        self.names.insert(name, value);
        self
    }

    fn file(self, name: &'static str, content: impl AsRef<[u8]>) -> Self {
        let path = self.folder.write(name, content);
        self.with(name, path)
    }

    /// Certificates and keys of every wrong kind, and an address that is in use.
    fn files(self) -> Self {
        let (one, two) = (Leaf::new("one.example", 2099), Leaf::new("two.example", 2099));
        let pem = one.certificate.pem();
        let section =
            |label: &str| format!("-----BEGIN {label}-----\nMAA=\n-----END {label}-----\n");
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap().to_string();
        let (folder, none) = (self.folder.0.display().to_string(), self.folder.file("none.pem"));
        let mut fixture = self
            .with("taken", address)
            .with("folder", folder)
            .with("none.pem", none.display().to_string())
            .file("one-ca.pem", one.ca.pem())
            .file("one.key", one.key.serialize_pem())
            .file("two.key", two.key.serialize_pem())
            .file("one.der", one.certificate.der())
            .file("key.der", one.key.serialize_der())
            .file("cut.pem", &pem[..pem.len() - 30])
            .file("one.pem", pem)
            .file("empty.pem", "")
            .file("text.pem", "certificates are in the other folder\n")
            .file("encrypted.key", section("ENCRYPTED PRIVATE KEY"))
            .file("ssh.key", section("OPENSSH PRIVATE KEY"))
            .file("request.pem", section("CERTIFICATE REQUEST"))
            .file("one.p12", [0x30, 0x82, 0x01, 0x00, 0x02, 0x01, 0x03, 0x30]);
        fixture.open.push((taken, Vec::new()));
        fixture
    }

    fn configurations(self) -> Self {
        let listener = "[[listener]]\naddress = \"127.0.0.1:0\"\nto = \"127.0.0.1:1\"\n";
        self.file("listne.toml", listener.replace("listener", "listner"))
            .file("adress.toml", listener.replace("address", "adress"))
            .file("type.toml", format!("workers = \"2\"\n{listener}"))
            .file("syntax.toml", "workers = 1\n[log\n")
    }

    /// Servers on loopback that do not speak TLS.
    fn servers(mut self) -> Self {
        let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        for (name, answer) in [
            ("http", &b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"[..]),
            ("smtp", b"220 mail.example ESMTP\r\n"),
            ("ftp", b"220 FTP server\r\n"),
            ("imap", b"* OK IMAP4rev1\r\n"),
            ("pop3", b"+OK ready\r\n"),
            ("ssh", b"SSH-2.0-x\r\n"),
            ("escapes", b"\x1b[31mred\xff"),
            ("closing", b""),
        ] {
            self = self.with(name, answering(answer));
        }
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = silent.local_addr().unwrap().to_string();
        self.open.push((silent, Vec::new()));
        let (full, waiting) = full_backlog();
        let full_address = full.local_addr().unwrap().to_string();
        self.open.push((full, waiting));
        self.with("silent", address).with("full", full_address).with("closed", closed)
    }

    fn fill_in(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, value) in &self.names {
            text = text.replace(&format!("{{{name}}}"), value);
        }
        text
    }
}

/// The address of a server that reads something, and answers this to every client.
fn answering(answer: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        while let Ok((mut socket, _)) = listener.accept() {
            socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
            let _ = socket.read(&mut [0; 1 << 14]);
            let _ = socket.write_all(answer);
            let _ = socket.shutdown(std::net::Shutdown::Write);
            // Closing with unread bytes could destroy the answer.
            while socket.read(&mut [0; 1 << 14]).is_ok_and(|count| count > 0) {}
        }
    });
    address
}

/// A listener whose backlog is full, so that further connections are not answered.
fn full_backlog() -> (TcpListener, Vec<TcpStream>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let listener = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        socket.listen(1).unwrap().into_std().unwrap()
    });
    let address = listener.local_addr().unwrap();
    let limit = Duration::from_millis(300);
    let waiting = (0..16).map_while(|_| TcpStream::connect_timeout(&address, limit).ok());
    let waiting: Vec<_> = waiting.collect();
    assert!(waiting.len() < 16, "the backlog has no end");
    (listener, waiting)
}

fn check(fixture: &Fixture, cases: &[Case]) {
    for (command, status, expected) in cases {
        let outcome = execute(&fixture.fill_in(command));
        assert_line(&outcome, *status, &fixture.fill_in(expected));
    }
}

fn execute(command: &str) -> Outcome {
    run(tercel().args(command.split(' ')), b"")
}

/// Checks the status, and that standard error has this line and no other but warnings.
fn assert_line(outcome: &Outcome, status: i32, expected: &str) {
    // The terminator logs, with the time at the beginning, before it opens its listeners.
    let other = |line: &&str| !line.starts_with("warning: ") && !line.starts_with("20");
    let lines: Vec<_> = outcome.said.lines().filter(other).collect();
    let [line] = lines.as_slice() else { panic!("not one line: {outcome:?}\nfor {expected}") };
    assert!(matches(line, expected), "{line}\nis not\n{expected}");
    assert_eq!(outcome.status, Some(status), "{line}");
    assert!(!line.contains(char::is_control) && !line.contains("os error"), "{line:?}");
    assert!(outcome.output.is_empty(), "{outcome:?}");
}

/// Whether the line matches a pattern in which `*` stands for any text.
fn matches(line: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = line.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}
