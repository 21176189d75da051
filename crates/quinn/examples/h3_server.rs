//! An HTTP/3 server that answers each request with its path:
//! `h3_server CERTIFICATES KEY [ADDRESS]`, with files in PEM.

use std::error::Error;

use bytes::Bytes;
use h3::server::RequestResolver;
use tercel_quinn::tercel::{Credential, ServerConfig};
use tercel_quinn::{QuicServerConfig, server_config, server_endpoint};

type Failure = Box<dyn Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let (Some(chain), Some(key)) = (arguments.next(), arguments.next()) else {
        return Err("usage: h3_server CERTIFICATES KEY [ADDRESS]".into());
    };
    let address = arguments.next().unwrap_or_else(|| "[::1]:4433".to_owned()).parse()?;
    let credential = Credential::from_pem(&std::fs::read(chain)?, &std::fs::read(key)?)?;
    let tls = ServerConfig::builder().credential(credential).alpn(&["h3"]).build()?;
    let endpoint = server_endpoint(server_config(QuicServerConfig::try_from(tls)?)?, address)?;
    println!("listening on {}", endpoint.local_addr()?);
    while let Some(incoming) = endpoint.accept().await {
        tokio::spawn(async move {
            if let Err(error) = Box::pin(serve(incoming)).await {
                eprintln!("connection ended: {error}");
            }
        });
    }
    Ok(())
}

/// Answers all requests of a connection, until the client closes it.
async fn serve(incoming: quinn::Incoming) -> Result<(), Failure> {
    let connection = h3_quinn::Connection::new(incoming.await?);
    let mut connection = Box::pin(h3::server::Connection::new(connection)).await?;
    loop {
        match connection.accept().await {
            Ok(Some(request)) => drop(tokio::spawn(answer(request))),
            Ok(None) => return Ok(()),
            Err(error) if error.is_h3_no_error() => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

async fn answer(request: RequestResolver<h3_quinn::Connection, Bytes>) -> Result<(), Failure> {
    let (request, mut stream) = request.resolve_request().await?;
    stream.send_response(http::Response::new(())).await?;
    stream.send_data(format!("{}\n", request.uri().path()).into()).await?;
    Ok(stream.finish().await?)
}
