//! The clients, one for each library. Each connects to `localhost`, exchanges data, and returns a
//! line about it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

/// Each client and its server.
pub(crate) const ALL: [(&str, &str); 8] = [
    ("reqwest-http2", "axum-server"),
    ("reqwest-http1", "axum-server"),
    ("hyper-http2", "axum-server"),
    ("hyper-http1", "axum-server"),
    ("ureq", "axum-server"),
    ("tokio-rustls", "axum-server"),
    ("tonic", "tonic"),
    ("quinn", "quinn"),
];

const LENGTH: usize = 100_000;

pub(crate) async fn run(client: &str, port: u16, authority: &Path) -> Result<String> {
    let pem = std::fs::read(authority)?;
    let url = format!("https://localhost:{port}/");
    let running = async {
        match client {
            "reqwest-http2" => reqwest(&url, &pem, false).await,
            "reqwest-http1" => reqwest(&url, &pem, true).await,
            "hyper-http2" => hyper(&url, &pem, false).await,
            "hyper-http1" => hyper(&url, &pem, true).await,
            "ureq" => tokio::task::spawn_blocking(move || ureq(&url, &pem)).await?,
            "tokio-rustls" => tokio_rustls(port, &pem).await,
            "tonic" => tonic(&url, &pem).await,
            "quinn" => quinn(port, &pem).await,
            _ => bail!("no client {client}"),
        }
    };
    tokio::time::timeout(Duration::from_secs(60), running).await.context("no end after 60 s")?
}

fn body() -> Vec<u8> {
    vec![b'x'; LENGTH]
}

fn roots(pem: &[u8]) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(pem)?)?;
    Ok(roots)
}

fn config(pem: &[u8]) -> Result<ClientConfig> {
    Ok(ClientConfig::builder().with_root_certificates(roots(pem)?).with_no_client_auth())
}

async fn reqwest(url: &str, pem: &[u8], http1: bool) -> Result<String> {
    let authority = reqwest::Certificate::from_pem(pem)?;
    let mut builder = reqwest::Client::builder().tls_certs_only([authority]);
    if http1 {
        builder = builder.http1_only();
    }
    let client = builder.build()?;
    let mut version = None;
    for _ in 0..3 {
        let answer = client.post(url).body(body()).send().await?.error_for_status()?;
        version = Some(answer.version());
        ensure!(answer.bytes().await?.len() == LENGTH, "another length");
    }
    let expected = if http1 { reqwest::Version::HTTP_11 } else { reqwest::Version::HTTP_2 };
    ensure!(version == Some(expected), "the version is {version:?}");
    Ok(format!("{expected:?}, 3 times {LENGTH} bytes"))
}

async fn hyper(url: &str, pem: &[u8], http1: bool) -> Result<String> {
    let connector = HttpsConnectorBuilder::new().with_tls_config(config(pem)?).https_only();
    let connector =
        if http1 { connector.enable_http1().build() } else { connector.enable_http2().build() };
    let client = Client::builder(TokioExecutor::new()).build(connector);
    let mut version = None;
    for _ in 0..3 {
        let request = axum::http::Request::post(url).body(Full::new(Bytes::from(body())))?;
        let answer = client.request(request).await?;
        version = Some(answer.version());
        ensure!(answer.into_body().collect().await?.to_bytes().len() == LENGTH, "another length");
    }
    let version = version.context("no answer")?;
    Ok(format!("{version:?}, 3 times {LENGTH} bytes"))
}

fn ureq(url: &str, pem: &[u8]) -> Result<String> {
    use ureq::tls::{Certificate, RootCerts, TlsConfig};
    let authority = Certificate::from_pem(pem)?;
    let tls = TlsConfig::builder().root_certs(RootCerts::new_with_certs(&[authority])).build();
    let agent = ureq::Agent::config_builder().tls_config(tls).build().new_agent();
    for _ in 0..3 {
        let mut answer = agent.post(url).send(&body()[..])?;
        ensure!(answer.body_mut().read_to_vec()?.len() == LENGTH, "another length");
    }
    Ok(format!("HTTP/1.1, 3 times {LENGTH} bytes"))
}

/// A stream of tokio, on which this function itself speaks HTTP.
async fn tokio_rustls(port: u16, pem: &[u8]) -> Result<String> {
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config(pem)?));
    let socket = tokio::net::TcpStream::connect(("127.0.0.1", port)).await?;
    let mut stream = connector.connect("localhost".try_into()?, socket).await?;
    let head = format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {LENGTH}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(&[head.as_bytes(), &body()].concat()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    ensure!(answer.starts_with(b"HTTP/1.1 200 ") && answer.ends_with(&body()), "another answer");
    Ok(format!("a stream, {LENGTH} bytes"))
}

async fn tonic(url: &str, pem: &[u8]) -> Result<String> {
    use tonic::transport::{Certificate, Channel, ClientTlsConfig};
    let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem));
    let channel = Channel::from_shared(url.to_owned())?.tls_config(tls)?.connect().await?;
    let mut client = HealthClient::new(channel);
    for _ in 0..3 {
        let answer = client.check(HealthCheckRequest { service: String::new() }).await?;
        ensure!(answer.into_inner().status == 1, "the server is not serving");
    }
    Ok("gRPC, 3 checks of health".to_owned())
}

async fn quinn(port: u16, pem: &[u8]) -> Result<String> {
    let mut endpoint = quinn::Endpoint::client(([127, 0, 0, 1], 0).into())?;
    // quinn's `with_root_certificates` has a fixed provider.
    let config = quinn::crypto::rustls::QuicClientConfig::try_from(config(pem)?)?;
    endpoint.set_default_client_config(quinn::ClientConfig::new(Arc::new(config)));
    let connection = endpoint.connect(([127, 0, 0, 1], port).into(), "localhost")?.await?;
    let (mut send, mut receive) = connection.open_bi().await?;
    send.write_all(&body()).await?;
    send.finish()?;
    ensure!(receive.read_to_end(1 << 20).await? == body(), "another answer");
    connection.close(0_u32.into(), b"");
    endpoint.wait_idle().await;
    Ok(format!("QUIC, {LENGTH} bytes"))
}
