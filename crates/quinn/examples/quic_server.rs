//! A server that returns what it receives: `quic_server CERTIFICATES KEY [ADDRESS]`, with files in
//! PEM.

use std::error::Error;

use tercel_quinn::tercel::{Credential, ServerConfig};
use tercel_quinn::{QuicServerConfig, server_config, server_endpoint};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(chain), Some(key)) = (arguments.next(), arguments.next()) else {
        return Err("usage: quic_server CERTIFICATES KEY [ADDRESS]".into());
    };
    let address = arguments.next().unwrap_or_else(|| "[::1]:4433".to_owned()).parse()?;
    let credential = Credential::from_pem(&std::fs::read(chain)?, &std::fs::read(key)?)?;
    let tls = ServerConfig::builder().credential(credential).alpn(&["echo"]).build()?;
    let config = server_config(QuicServerConfig::try_from(tls)?)?;
    let endpoint = server_endpoint(config, address)?;
    println!("listening on {}", endpoint.local_addr()?);
    while let Some(incoming) = endpoint.accept().await {
        tokio::spawn(async move {
            if let Err(error) = serve(incoming).await {
                eprintln!("connection ended: {error}");
            }
        });
    }
    Ok(())
}

/// Answers all streams of a connection, until the client closes it.
async fn serve(incoming: quinn::Incoming) -> Result<(), Box<dyn Error + Send + Sync>> {
    let connection = incoming.await?;
    loop {
        let (mut send, mut receive) = match connection.accept_bi().await {
            Err(quinn::ConnectionError::ApplicationClosed(_)) => return Ok(()),
            stream => stream?,
        };
        let received = receive.read_to_end(1 << 16).await?;
        send.write_all(&received).await?;
        send.finish()?;
    }
}
