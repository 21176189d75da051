//! Sessions of one virtual host offered to another, by `openssl s_client`.
//!
//! Two listeners of one terminator share ticket keys and have different certificates, `bank` and
//! `uploads`. An attacker on the path can redirect a client with a session of the bank to the other
//! listener. The redirection must lead to a full handshake, in which the client receives a
//! certificate for another name. None of the client's data may reach the backend of uploads.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use tercel_harness::clients::Load;
use tercel_harness::folder::TemporaryFolder;
use tercel_harness::pki::{Authority, Key, Leaf};
use tercel_harness::ports::free_port;
use tercel_harness::process::Process;
use tercel_harness::program::find;
use tercel_harness::proxy::{ProcessOptions, Proxy};

use crate::phase::Line;

const BANK: &str = "bank.example";
const UPLOADS: &str = "uploads.example";
/// A header that only the bank's backend may receive.
const COOKIE: &str = "Cookie: of-the-bank";
/// The time limit of `openssl s_client`.
const TOLERANCE: Duration = Duration::from_secs(60);
/// After its start the terminator refuses early data for twice the freshness window. RFC 9846 8.2
const BEFORE_EARLY_DATA: Duration = Duration::from_secs(6);

/// Runs all cases; `None` if `openssl` is not installed.
pub(crate) fn run(program: &Path, load: &Load) -> Result<Option<Line>> {
    let Some(openssl) = find("openssl") else { return Ok(None) };
    let start = Instant::now();
    let hosts = Hosts::start(program)?;
    let started = Instant::now();
    let mut faults = Vec::new();
    for version in ["-tls1_2", "-tls1_3"] {
        hosts.check(&openssl, version, false, &mut faults)?;
    }
    thread::sleep(BEFORE_EARLY_DATA.saturating_sub(started.elapsed()));
    hosts.check(&openssl, "-tls1_3", true, &mut faults)?;
    if let Some(request) = hosts.uploads.requests().iter().find(|text| text.contains(COOKIE)) {
        faults.push(format!("the backend of {UPLOADS} received {request:?}"));
    }
    if !hosts.bank.requests().iter().any(|text| text.contains(COOKIE)) {
        faults.push(format!("the backend of {BANK} received nothing"));
    }
    let mut line = Line::without_clients("virtual hosts", start, load, faults);
    line.other_terminator = true;
    Ok(Some(line))
}

/// Two listeners of one terminator, each with its own backend.
struct Hosts {
    bank: Host,
    uploads: Host,
    folder: TemporaryFolder,
    _proxy: Proxy,
}

struct Host {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Hosts {
    fn start(program: &Path) -> Result<Self> {
        let folder = TemporaryFolder::create("tercel-virtual-hosts")?;
        let authority = Authority::new("Virtual hosts", Key::P256)?;
        fs::write(folder.path().join("roots.pem"), authority.root_pem())?;
        fs::write(folder.path().join("early"), format!("GET / HTTP/1.0\r\n{COOKIE}\r\n\r\n"))?;
        let admin = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
        let mut text = format!(
            "workers = 1\n[admin]\naddress = \"{admin}\"\n[resumption]\nfreshness_window = 2\n"
        );
        let mut host = |name: &str| -> Result<Host> {
            let pem = authority.issue(&Leaf { names: &[name], ..Leaf::SERVER }, Key::P256)?;
            let file = |ending: &str| folder.path().join(format!("{name}.{ending}"));
            fs::write(file("crt"), &pem.certificates)?;
            fs::write(file("key"), &pem.key)?;
            let (requests, to) = backend()?;
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
            text += &format!(
                "[[listener]]\naddress = \"{address}\"\ncertificate = \"{}\"\nkey = \"{}\"\nto = \"{to}\"\n\
                 early_data = 1000\n",
                file("crt").display(),
                file("key").display()
            );
            Ok(Host { address, requests })
        };
        let (bank, uploads) = (host(BANK)?, host(UPLOADS)?);
        let config = folder.path().join("proxy.toml");
        let proxy = Proxy::start(program, &config, &text, admin, ProcessOptions::default())?;
        Ok(Self { bank, uploads, folder, _proxy: proxy })
    }

    /// Connects to the bank for a session, resumes it there to check the test itself, and then
    /// offers it to uploads.
    fn check(
        &self,
        openssl: &Path,
        version: &str,
        early: bool,
        faults: &mut Vec<String>,
    ) -> Result<()> {
        let kind = format!("{version}{}", if early { " with early data" } else { "" });
        let session = self.file("session");
        let out = ["-sess_out".to_owned(), session.display().to_string()];
        let mut resume = vec!["-sess_in".to_owned(), session.display().to_string()];
        if early {
            resume.extend(["-early_data".to_owned(), self.file("early").display().to_string()]);
        }
        let mut expect = |what: &str, output: &str, holds: bool| {
            if !holds {
                let end: Vec<&str> = output.lines().rev().take(12).collect();
                faults.push(format!("{kind}: {what}: {}", end.join(" / ")));
            }
        };
        let output = self.connect(openssl, version, self.bank.address, &out)?;
        expect(
            "a first connection to the bank",
            &output,
            output.contains("New, ") && output.contains("welcome"),
        );
        let output = self.connect(openssl, version, self.bank.address, &resume)?;
        let accepted = !early || output.contains("Early data was accepted");
        expect("a second connection to the bank", &output, output.contains("Reused, ") && accepted);
        let output = self.connect(openssl, version, self.uploads.address, &resume)?;
        let refused = !output.contains("Reused, ")
            && !output.contains("welcome")
            && !output.contains("Early data was accepted")
            && output.to_lowercase().contains("hostname mismatch");
        expect("uploads with a session of the bank", &output, refused);
        Ok(())
    }

    fn connect(
        &self,
        openssl: &Path,
        version: &str,
        to: SocketAddr,
        more: &[String],
    ) -> Result<String> {
        let mut command = Command::new(openssl);
        command.args(["s_client", "-connect", &to.to_string(), "-servername", BANK, version]);
        command.args(["-verify_hostname", BANK, "-verify_return_error", "-ign_eof", "-CAfile"]);
        command.arg(self.file("roots.pem")).args(more);
        let mut process = Process::start(command)?;
        process.send_input(format!("GET / HTTP/1.0\r\n{COOKIE}\r\n\r\n").as_bytes());
        process.wait(TOLERANCE)?;
        Ok(format!("{}\n{}", process.output().text(), process.error_output().text()))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

impl Host {
    fn requests(&self) -> Vec<String> {
        self.requests.lock().map(|requests| requests.clone()).unwrap_or_default()
    }
}

/// A backend that answers one request per connection, and records the requests.
fn backend() -> Result<(Arc<Mutex<Vec<String>>>, SocketAddr)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    let requests = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&requests);
    // The thread ends with the process, after the terminator.
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let _ = stream.set_read_timeout(Some(Duration::from_secs(60)));
            let (mut request, mut piece) = (Vec::new(), [0; 1024]);
            while let Ok(count @ 1..) = stream.read(&mut piece) {
                request.extend_from_slice(&piece[..count]);
                if request.ends_with(b"\r\n\r\n") {
                    break;
                }
            }
            if let Ok(mut requests) = kept.lock() {
                requests.push(String::from_utf8_lossy(&request).into_owned());
            }
            let _ = stream.write_all(b"HTTP/1.0 200 OK\r\n\r\nwelcome\n");
        }
    });
    Ok((requests, address))
}
