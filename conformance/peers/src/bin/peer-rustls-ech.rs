//! A rustls client with Encrypted ClientHello, for `tools/ech-interop.sh`.
//!
//! Each connection prints one line, `ech=accepted resumed=no early=no`, and then the length of the
//! response. After a rejection it prints `rejected BYTES`, the number of bytes of the server's
//! configurations, and with `--retry` connects once more with them.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Parser;
use rustls::client::{EchConfig, EchGreaseConfig, EchMode, EchStatus};
use rustls::crypto::aws_lc_rs::{self, hpke};
use rustls::crypto::hpke::Hpke;
use rustls::internal::msgs::codec::Codec;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, EchConfigListBytes, ServerName};
use rustls::{
    ClientConfig, ClientConnection, Error, HandshakeKind, PeerIncompatible, RootCertStore,
};

#[derive(Parser)]
struct Options {
    /// Port of 127.0.0.1
    #[arg(long)]
    port: u16,
    /// Server name
    #[arg(long)]
    name: String,
    /// Roots, PEM
    #[arg(long)]
    ca: PathBuf,
    /// File with an ECHConfigList; without it, random contents are sent
    #[arg(long)]
    ech: Option<PathBuf>,
    /// Connect again with the configurations of the server
    #[arg(long)]
    retry: bool,
    /// Number of connections
    #[arg(long, default_value_t = 1)]
    connections: usize,
    /// Send the request as early data if the session permits it
    #[arg(long)]
    early: bool,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let mode = match &options.ech {
        Some(file) => enabled(fs::read(file)?)?,
        None => grease()?,
    };
    let config = config(&options, mode)?;
    for _ in 0..options.connections {
        let Err(error) = connect(&options, &config) else { continue };
        let rustls = error.downcast_ref::<Error>();
        let Some(Error::PeerIncompatible(PeerIncompatible::ServerRejectedEncryptedClientHello(
            configs,
        ))) = rustls
        else {
            return Err(error);
        };
        let mut list = Vec::new();
        for config in configs.iter().flatten() {
            config.encode(&mut list);
        }
        println!("rejected {}", list.len());
        if !options.retry || list.is_empty() {
            return Err(error);
        }
        let length = u16::try_from(list.len())?.to_be_bytes();
        let mode = enabled([&length[..], &list].concat())?;
        connect(&options, &self::config(&options, mode)?)?;
    }
    Ok(())
}

fn enabled(list: Vec<u8>) -> Result<EchMode> {
    let list = EchConfigListBytes::from(list);
    Ok(EchConfig::new(list, hpke::ALL_SUPPORTED_SUITES)?.into())
}

fn grease() -> Result<EchMode> {
    let suite = hpke::DH_KEM_X25519_HKDF_SHA256_AES_128;
    let (public, _) = suite.generate_key_pair()?;
    Ok(EchMode::Grease(EchGreaseConfig::new(suite, public)))
}

fn config(options: &Options, mode: EchMode) -> Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(&options.ca)? {
        roots.add(certificate?)?;
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
    let mut config = builder.with_ech(mode)?.with_root_certificates(roots).with_no_client_auth();
    config.enable_early_data = options.early;
    Ok(Arc::new(config))
}

fn connect(options: &Options, config: &Arc<ClientConfig>) -> Result<()> {
    const REQUEST: &[u8] = b"GET / HTTP/1.0\r\n\r\n";
    let name = ServerName::try_from(options.name.clone())?;
    let mut tls = ClientConnection::new(Arc::clone(config), name)?;
    let mut tcp = TcpStream::connect((Ipv4Addr::LOCALHOST, options.port))?;
    tcp.set_read_timeout(Some(Duration::from_secs(10)))?;
    if let Some(mut early) = tls.early_data().filter(|_| options.early) {
        early.write_all(REQUEST)?;
    }
    while tls.is_handshaking() {
        tls.complete_io(&mut tcp).map_err(|error| match error.downcast::<Error>() {
            Ok(error) => anyhow::Error::from(error),
            Err(error) => error.into(),
        })?;
    }
    let ech = match tls.ech_status() {
        EchStatus::Accepted => "accepted",
        EchStatus::Grease => "grease",
        EchStatus::Rejected => "rejected",
        _ => bail!("no result of ECH"),
    };
    let resumed = tls.handshake_kind() == Some(HandshakeKind::Resumed);
    let early = tls.is_early_data_accepted();
    let word = |on: bool| if on { "yes" } else { "no" };
    println!("ech={ech} resumed={} early={}", word(resumed), word(early));
    let mut stream = rustls::Stream::new(&mut tls, &mut tcp);
    if !early {
        stream.write_all(REQUEST)?;
    }
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    println!("answered {} bytes", answer.len());
    Ok(())
}
