//! reqwest: several requests over one connection of HTTP/2, and over HTTP/1.1.

use anyhow::{Result, ensure};

pub(crate) async fn http2(port: u16) -> Result<String> {
    fetch(reqwest::Client::builder(), port, reqwest::Version::HTTP_2).await
}

pub(crate) async fn http1(port: u16) -> Result<String> {
    fetch(reqwest::Client::builder().http1_only(), port, reqwest::Version::HTTP_11).await
}

async fn fetch(
    builder: reqwest::ClientBuilder,
    port: u16,
    version: reqwest::Version,
) -> Result<String> {
    let client = builder.build()?;
    let mut length = 0;
    for _ in 0..3 {
        let answer = client.post(format!("https://localhost:{port}/")).body(vec![b'x'; 100_000]);
        let answer = answer.send().await?.error_for_status()?;
        ensure!(answer.version() == version, "the version is {:?}", answer.version());
        length = answer.bytes().await?.len();
        ensure!(length == 100_000, "the body has {length} bytes");
    }
    Ok(format!("{version:?}, 3 times {length} bytes"))
}
