//! hyper-util's client over hyper-tls.

use anyhow::{Result, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper_tls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;

pub(crate) async fn run(port: u16) -> Result<String> {
    let client = Client::builder(TokioExecutor::new()).build(HttpsConnector::new());
    let request = hyper::Request::post(format!("https://localhost:{port}/"));
    let answer = client.request(request.body(Full::new(Bytes::from(vec![7; 100_000])))?).await?;
    let version = answer.version();
    let length = answer.into_body().collect().await?.to_bytes().len();
    ensure!(length == 100_000, "the body has {length} bytes");
    Ok(format!("{version:?}, {length} bytes"))
}
