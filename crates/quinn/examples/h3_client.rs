//! An HTTP/3 client that prints the content of a page: `h3_client ROOTS [URL] [ADDRESS]`, with a
//! file of roots in PEM. It connects to ADDRESS, which is `[::1]:4433` by default.

use std::error::Error;
use std::future::poll_fn;
use std::io::Write;

use bytes::Buf;
use tercel_quinn::tercel::{ClientConfig, pki::Roots};
use tercel_quinn::{QuicClientConfig, client_config, client_endpoint};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let Some(file) = arguments.next() else {
        return Err("usage: h3_client ROOTS [URL] [ADDRESS]".into());
    };
    let url = arguments.next().unwrap_or_else(|| "https://localhost:4433/".to_owned());
    let url: http::Uri = url.parse()?;
    let address = arguments.next().unwrap_or_else(|| "[::1]:4433".to_owned()).parse()?;
    let mut roots = Roots::new();
    roots.add_pem(&std::fs::read(file)?)?;
    let tls = ClientConfig::builder().roots(roots).alpn(&["h3"]).build()?;
    let config = client_config(QuicClientConfig::try_from(tls)?);
    let endpoint = client_endpoint("[::]:0".parse()?)?;
    let name = url.host().unwrap_or_default();
    let connection = endpoint.connect_with(config, address, name)?.await?;
    let connection = h3_quinn::Connection::new(connection);
    let (mut driver, mut sender) = Box::pin(h3::client::new(connection)).await?;
    let driver = tokio::spawn(async move { poll_fn(|context| driver.poll_close(context)).await });
    let mut stream = sender.send_request(http::Request::get(url).body(())?).await?;
    stream.finish().await?;
    eprintln!("{}", stream.recv_response().await?.status());
    while let Some(mut data) = stream.recv_data().await? {
        std::io::stdout().write_all(&data.copy_to_bytes(data.remaining()))?;
    }
    // The connection closes when there is no sender.
    drop(sender);
    driver.await?;
    endpoint.wait_idle().await;
    Ok(())
}
