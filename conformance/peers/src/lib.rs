//! The common parts of all drivers: the command line, the echo server, and the client that carries
//! stdin and stdout.
//!
//! The command line is that of `tercel-interop`'s drivers (see its `programs/driver.rs`). A driver
//! is one file in `bin/`, which makes a TLS stream from a TCP stream.

#![forbid(unsafe_code)]

use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::mpsc::{self, TryRecvError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};

/// A TLS stream after its handshake.
pub trait Tls: Read + Write {
    /// Selects whether reads and writes that would wait return `WouldBlock`.
    fn set_nonblocking(&mut self, on: bool) -> io::Result<()>;
    /// Sends close_notify.
    fn close(&mut self) -> io::Result<()>;
    /// Whether the session was resumed; `None` if the library does not report it.
    fn resumed(&self) -> Option<bool> {
        None
    }
}

/// Makes a TLS stream with the library.
pub type Handshake = fn(&Options, TcpStream) -> Result<Box<dyn Tls>>;

/// The abilities and functions of a driver.
#[derive(Clone, Copy)]
pub struct Peer {
    /// The kinds of keys, by the harness's names.
    pub keys: &'static str,
    /// The named groups, by IANA's names.
    pub groups: &'static str,
    /// What can be limited: `group`, `hybrid`, `suite1.2`, `suite1.3`, `record-size`.
    pub limits: &'static str,
    /// More lines of abilities: `lacks`, `versions`, `resumes`, `gives`.
    pub remark: &'static str,
    /// The features of its client, by the harness's names.
    pub as_client: &'static str,
    /// The features of its server.
    pub as_server: &'static str,
    /// The server's handshake.
    pub accept: Handshake,
    /// The client's handshake.
    pub connect: Handshake,
    /// A client that fetches by HTTP and has no stream.
    pub fetch: Option<fn(&Options) -> Result<()>>,
}

/// The options of both roles.
#[derive(clap::Args, Clone, Debug)]
pub struct Options {
    /// Port of 127.0.0.1
    #[arg(long)]
    pub port: u16,
    /// The name that the server's certificate must have
    #[arg(long, default_value = "localhost")]
    pub name: String,
    /// Roots for the server's certificate
    #[arg(long)]
    pub ca: Option<PathBuf>,
    /// Require a client certificate from these roots
    #[arg(long)]
    pub client_ca: Option<PathBuf>,
    /// Certificate chain, PEM
    #[arg(long, requires = "key")]
    pub cert: Option<PathBuf>,
    /// Private key, PEM
    #[arg(long, requires = "cert")]
    pub key: Option<PathBuf>,
    /// Only use TLS 1.2 or 1.3
    #[arg(long)]
    pub version: Option<Version>,
    /// The only cipher suite
    #[arg(long)]
    pub suite: Option<String>,
    /// The only named group
    #[arg(long)]
    pub group: Option<String>,
    /// The limit of plaintext in one record
    #[arg(long)]
    pub record_size: Option<usize>,
    /// The number of connections that a client makes
    #[arg(long, default_value_t = 1)]
    pub connections: usize,
    /// The feature to use in addition to a handshake
    #[arg(long)]
    pub feature: Option<String>,
    /// The path that a client fetches
    #[arg(long)]
    pub fetch: Option<String>,
    /// The early data of all connections but the first
    #[arg(long)]
    pub early_data: Option<PathBuf>,
}

/// A protocol version.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// TLS 1.2
    #[value(name = "1.2")]
    Tls12,
    /// TLS 1.3
    #[value(name = "1.3")]
    Tls13,
}

impl Options {
    /// Whether this feature was requested.
    pub fn has_feature(&self, feature: &str) -> bool {
        self.feature.as_deref() == Some(feature)
    }

    /// Whether early data was requested.
    pub fn early(&self) -> bool {
        self.feature.as_ref().is_some_and(|name| name.starts_with("early-data"))
    }

    /// The file with the client's roots.
    pub fn roots(&self) -> Result<&PathBuf> {
        self.ca.as_ref().context("a client needs --ca")
    }

    /// The files of the certificate chain and the key, if given.
    pub fn credential(&self) -> Option<(&PathBuf, &PathBuf)> {
        self.cert.as_ref().zip(self.key.as_ref())
    }

    /// OpenSSL's name of the suite; TLS 1.3 names are the same.
    pub fn openssl_suite(&self) -> Option<(Version, String)> {
        let suite = self.suite.as_ref()?;
        if !suite.contains("_WITH_") {
            return Some((Version::Tls13, suite.clone()));
        }
        // TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 -> ECDHE-RSA-AES128-GCM-SHA256
        let name = suite.replace("TLS_", "").replace("_WITH_", "_").replace("AES_", "AES");
        let name = name.replace("POLY1305_SHA256", "POLY1305").replace('_', "-");
        Some((Version::Tls12, name))
    }

    /// OpenSSL's name of the group. Names of hybrid groups are IANA's.
    pub fn openssl_group(&self) -> Option<&str> {
        Some(match self.group.as_deref()? {
            "x25519" => "X25519",
            "secp256r1" => "P-256",
            "secp384r1" => "P-384",
            "secp521r1" => "P-521",
            other => other,
        })
    }
}

/// The `main` function of all drivers.
pub fn run(peer: &Peer) -> Result<()> {
    match Arguments::parse().command {
        Command::Abilities => {
            println!("keys {}\ngroups {}\nlimits {}", peer.keys, peer.groups, peer.limits);
            println!("as-client {}\nas-server {}", peer.as_client, peer.as_server);
            println!("{}", peer.remark);
            Ok(())
        }
        Command::Serve(options) => {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port))?;
            loop {
                let (tcp, _) = listener.accept()?;
                if let Err(error) = serve(peer, &options, tcp) {
                    eprintln!("{error:#}");
                }
            }
        }
        Command::Connect(options) => {
            if let Some(fetch) = peer.fetch {
                return fetch(&options);
            }
            for connection in 1..options.connections {
                // There is no session for early data on the first connection.
                let early_data = options.early_data.clone().filter(|_| connection > 1);
                let early = early_data.as_ref().map(fs::read).transpose()?.unwrap_or_default();
                let options = Options { early_data, ..options.clone() };
                exchange_line(connected(peer, &options)?.as_mut(), early)?;
            }
            carry(connected(peer, &options)?.as_mut())
        }
    }
}

fn serve(peer: &Peer, options: &Options, tcp: TcpStream) -> Result<()> {
    tcp.set_nodelay(true)?;
    let mut tls = (peer.accept)(options, tcp)?;
    report_resumption(tls.as_ref());
    echo(tls.as_mut())
}

fn connected(peer: &Peer, options: &Options) -> Result<Box<dyn Tls>> {
    let tcp = TcpStream::connect((Ipv4Addr::LOCALHOST, options.port))?;
    tcp.set_nodelay(true)?;
    let tls = (peer.connect)(options, tcp)?;
    report_resumption(tls.as_ref());
    Ok(tls)
}

fn report_resumption(tls: &dyn Tls) {
    if let Some(resumed) = tls.resumed() {
        eprintln!("resumed {}", if resumed { "yes" } else { "no" });
    }
}

/// Exchanges the data of each connection but the last: reads the echo of early data and of a line,
/// so that tickets have arrived.
fn exchange_line(tls: &mut dyn Tls, early: Vec<u8>) -> Result<()> {
    const LINE: &[u8] = b"0123\n";
    tls.write_all(LINE)?;
    tls.flush()?;
    let mut echoed = [&early, LINE].concat();
    tls.read_exact(&mut echoed)?;
    print(&echoed)?;
    Ok(tls.close()?)
}

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print the abilities of this driver
    Abilities,
    /// Echo all connections
    Serve(Options),
    /// Carry stdin and stdout
    Connect(Options),
}

fn echo(tls: &mut dyn Tls) -> Result<()> {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        match tls.read(&mut buffer)? {
            0 => break,
            count => tls.write_all(&buffer[..count])?,
        }
        tls.flush()?;
    }
    Ok(tls.close()?)
}

/// Carries both directions in one thread, since no library allows two threads to use one stream.
fn carry(tls: &mut dyn Tls) -> Result<()> {
    let input = read_stdin();
    let mut buffer = vec![0; 16 * 1024];
    let mut pending = Vec::new();
    tls.set_nonblocking(true)?;
    loop {
        let mut idle = true;
        if let Some(count) = unless_blocked(tls.read(&mut buffer))? {
            if count == 0 {
                bail!("the server closed first");
            }
            print(&buffer[..count])?;
            idle = false;
        }
        if pending.is_empty() {
            match input.try_recv() {
                Ok(chunk) => pending = chunk,
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => break,
            }
        }
        if !pending.is_empty() {
            if let Some(count) = unless_blocked(tls.write(&pending))? {
                pending.drain(..count);
                idle = false;
            }
        }
        if idle {
            thread::sleep(Duration::from_millis(1));
        }
    }
    tls.set_nonblocking(false)?;
    tls.flush()?;
    tls.close()?;
    // The server may still be sending; its close_notify ends the connection.
    loop {
        match tls.read(&mut buffer)? {
            0 => return Ok(()),
            count => print(&buffer[..count])?,
        }
    }
}

fn read_stdin() -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::sync_channel(4);
    thread::spawn(move || {
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(count @ 1..) = io::stdin().read(&mut buffer) {
            if sender.send(buffer[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    receiver
}

fn print(bytes: &[u8]) -> Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush()).context("cannot write the output")
}

fn unless_blocked(result: io::Result<usize>) -> io::Result<Option<usize>> {
    match result {
        Ok(count) => Ok(Some(count)),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}
