//! Early data that a server in the same program rejects, and early data that it accepts:
//! `cargo run -p tercel-tokio --example early_data`

use std::task::{Context, Poll};
use std::{error::Error, io, sync::Arc, time::Duration};

use rcgen::{CertificateParams, KeyPair};
use tercel::{ClientConfig, ConnectionInfo, Credential, Policy, ServerConfig};
use tercel::{pki::Roots, pki_types::UnixTime, session::ReplayGuard};
use tercel_tokio::{Acceptor, Connector, EarlyExchange};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

/// This is harmless if it is processed twice, as an attacker can replay early data. RFC 9846 8
const REQUEST: &[u8] = b"GET 42\n";
/// Short, because the guard waits for two windows. 10 s suffice for most servers; 60 s is default.
const WINDOW: Duration = Duration::from_secs(2);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let key = KeyPair::generate()?;
    let chain = CertificateParams::new(vec!["localhost".to_owned()])?.self_signed(&key)?.pem();
    // A guard that has just started does not know what was admitted before, and rejects everything
    // at first. For the default window: `ReplayGuard::for_early_data(100_000, UnixTime::now())`.
    let guard = ReplayGuard::for_freshness_window(100_000, UnixTime::now(), WINDOW);
    let server = ServerConfig::builder()
        .credential(Credential::from_pem(chain.as_bytes(), key.serialize_pem().as_bytes())?)
        .early_data(1000, Policy::Here(Arc::new(guard)))
        .freshness_window(WINDOW);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(serve(listener, Acceptor::new(server.build()?)));

    let mut roots = Roots::new();
    roots.add_pem(chain.as_bytes())?;
    let connector = Connector::new(ClientConfig::builder().roots(roots).early_data(true).build()?);
    // The first connection has no session yet. At the second, the guard has just started.
    for seconds in [0, 0, ReplayGuard::freshness_period(WINDOW).as_secs() + 1] {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        let transport = TcpStream::connect(address).await?;
        // After an error, it is unknown whether the server has processed the request.
        let early = connector.connect_early("localhost".try_into()?, transport, REQUEST).await?;
        let (mut stream, accepted, mut answer) = (early.stream, early.accepted, String::new());
        // The server has not processed what it did not accept. Send it as ordinary data.
        stream.write_all(REQUEST.get(accepted..).unwrap_or_default()).await?;
        stream.read_to_string(&mut answer).await?;
        let info = stream.info();
        println!("client: {:?}, {:?}: {answer}", info.early_data, info.early_data_rejection);
    }
    Ok(())
}

/// A real server limits open handshakes, and continues after errors: see `AcceptBackoff`.
async fn serve(listener: TcpListener, acceptor: Acceptor) -> io::Result<()> {
    loop {
        let (transport, _) = listener.accept().await?;
        let mut exchange = Exchange { request: Vec::new(), answered: false };
        let mut stream = acceptor.accept_with_early_data(transport, &mut exchange).await?;
        println!("server: {:?}", stream.info().early_data_rejection);
        // The request may be ordinary data, or the handshake may be complete before the answer.
        if !exchange.answered {
            let request = exchange.request.chain(&mut stream).take(1000);
            BufReader::new(request).read_until(b'\n', &mut Vec::new()).await?;
            stream.write_all(b"answered after the handshake").await?;
        }
        stream.close().await?;
    }
}

/// Answers early data while the handshake is in progress. Without such an answer, use
/// `Acceptor::accept` and `TlsStream::take_early_data`.
struct Exchange {
    request: Vec<u8>,
    answered: bool,
}

impl EarlyExchange for Exchange {
    fn take(&mut self, _: &ConnectionInfo, piece: Vec<u8>) -> Option<Vec<u8>> {
        self.request.extend(piece);
        None
    }

    fn poll_answer(&mut self, _: &mut Context<'_>, answer: &mut ReadBuf<'_>) -> Poll<()> {
        if self.request.ends_with(b"\n") && !self.answered {
            answer.put_slice(b"answered during the handshake");
            self.answered = true;
        }
        Poll::Ready(())
    }
}
