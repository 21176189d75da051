//! A client that sends a line and prints the answer: `quic_client ROOTS TEXT [ADDRESS] [NAME]`,
//! with a file of roots in PEM.

use std::error::Error;

use tercel_quinn::tercel::{ClientConfig, pki::Roots};
use tercel_quinn::{HandshakeData, QuicClientConfig, client_config, client_endpoint};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(file), Some(text)) = (arguments.next(), arguments.next()) else {
        return Err("usage: quic_client ROOTS TEXT [ADDRESS] [NAME]".into());
    };
    let address = arguments.next().unwrap_or_else(|| "[::1]:4433".to_owned()).parse()?;
    let name = arguments.next().unwrap_or_else(|| "localhost".to_owned());
    let mut roots = Roots::new();
    roots.add_pem(&std::fs::read(file)?)?;
    let tls = ClientConfig::builder().roots(roots).alpn(&["echo"]).build()?;
    let endpoint = client_endpoint("[::]:0".parse()?)?;
    let config = client_config(QuicClientConfig::try_from(tls)?);
    let connection = endpoint.connect_with(config, address, &name)?.await?;
    let data = connection.handshake_data().and_then(|data| data.downcast::<HandshakeData>().ok());
    if let Some(data) = data {
        println!("{}", data.cipher_suite);
    }
    let (mut send, mut receive) = connection.open_bi().await?;
    send.write_all(text.as_bytes()).await?;
    send.finish()?;
    println!("{}", String::from_utf8_lossy(&receive.read_to_end(1 << 16).await?));
    connection.close(0_u32.into(), b"done");
    endpoint.wait_idle().await;
    Ok(())
}
