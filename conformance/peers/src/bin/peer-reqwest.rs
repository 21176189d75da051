//! reqwest with rustls and default features: a client that fetches each file on a new connection.

use std::fs;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};

use anyhow::{Context, Result, bail};
use reqwest::blocking::Client;
use reqwest::{Certificate, Identity, tls};
use tercel_peers::{Options, Peer, Tls, Version};

fn main() -> Result<()> {
    tercel_peers::run(&Peer {
        keys: "rsa2048 p256 p384 p521 ed25519",
        groups: "x25519 secp256r1 secp384r1 X25519MLKEM768",
        limits: "",
        remark: "lacks server echo",
        as_client: "",
        as_server: "",
        accept: no_stream,
        connect: no_stream,
        fetch: Some(fetch),
    })
}

fn no_stream(_: &Options, _: TcpStream) -> Result<Box<dyn Tls>> {
    bail!("this peer only fetches")
}

fn fetch(options: &Options) -> Result<()> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, options.port));
    let mut builder = Client::builder()
        // Without this setting, reqwest would request the next file on the same connection.
        .pool_max_idle_per_host(0)
        .no_proxy()
        .resolve(&options.name, address)
        .tls_certs_only(Certificate::from_pem_bundle(&fs::read(options.roots()?)?)?);
    if let Some(version) = options.version {
        let version = match version {
            Version::Tls12 => tls::Version::TLS_1_2,
            Version::Tls13 => tls::Version::TLS_1_3,
        };
        builder = builder.tls_version_min(version).tls_version_max(version);
    }
    if let Some((chain, key)) = options.credential() {
        let pem = [fs::read(chain)?, fs::read(key)?].concat();
        builder = builder.identity(Identity::from_pem(&pem)?);
    }
    let client = builder.build()?;
    let path = options.fetch.as_deref().context("a client that fetches needs --fetch")?;
    let url = format!("https://{}:{}/{path}", options.name, options.port);
    for _ in 0..options.connections {
        let body = client.get(&url).send()?.error_for_status()?.bytes()?;
        io::stdout().write_all(&body)?;
    }
    Ok(())
}
