//! DNS over HTTPS, with Tercel as its TLS. RFC 8484

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail, ensure};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hickory_resolver::proto::op::{Message, MessageType, OpCode, Query, ResponseCode};
use hickory_resolver::proto::rr::{Name, Record, RecordType};
use hyper::body::{Body, Incoming};
use hyper::client::conn::{http1, http2};
use hyper::header::{ACCEPT, HOST, HeaderValue};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tercel::ClientConfig;
use tercel_tokio::Connector;
use tokio::net::TcpStream;

use crate::client::server_name;
use crate::explain;
use crate::target::Address;

/// Asks for the HTTPS records of this owner.
pub(super) async fn records(
    url: &Address,
    config: &Arc<ClientConfig>,
    owner: &str,
) -> Result<Vec<Record>> {
    let query = query(owner)?;
    let answer = Message::from_vec(&fetch(url, config, &query).await?);
    let answer = answer.context("the answer is not a DNS message")?;
    match answer.metadata.response_code {
        ResponseCode::NoError | ResponseCode::NXDomain => Ok(answer.answers),
        other => bail!("the server answers {other}"),
    }
}

fn query(owner: &str) -> Result<Vec<u8>> {
    // With the identifier 0, equal queries have equal URLs. RFC 8484 4.1
    let mut message = Message::new(0, MessageType::Query, OpCode::Query);
    message.metadata.recursion_desired = true;
    message.add_query(Query::query(Name::from_ascii(owner)?, RecordType::HTTPS));
    Ok(message.to_vec()?)
}

async fn fetch(url: &Address, config: &Arc<ClientConfig>, query: &[u8]) -> Result<Vec<u8>> {
    let target = url.https_target();
    let name = server_name(&target.host).map_err(|why| anyhow!(why))?;
    let socket = TcpStream::connect((target.host.as_str(), target.port)).await;
    let socket = socket.map_err(|error| anyhow!("{}", explain::io_error(&error)))?;
    socket.set_nodelay(true)?;
    let connector = Connector::new(Arc::clone(config)).port(target.port);
    let stream = connector.connect(name, socket).await;
    let stream = stream.map_err(|error| anyhow!("{}", explain::connection(&error)))?;

    let path = url.request_target();
    let separator = if path.contains('?') { '&' } else { '?' };
    let path = format!("{path}{separator}dns={}", BASE64_URL_SAFE_NO_PAD.encode(query));
    let is_http2 = stream.info().alpn.as_deref() == Some(b"h2");
    let uri = if is_http2 { format!("https://{}{path}", url.authority()) } else { path };
    let mut request = Request::get(uri).body(String::new())?;
    request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/dns-message"));
    let response = if is_http2 {
        let begun = http2::handshake(TokioExecutor::new(), TokioIo::new(Box::new(stream)));
        let (mut sender, driver) = begun.await.map_err(failed)?;
        tokio::spawn(async { drop(driver.await) });
        sender.send_request(request).await.map_err(failed)?
    } else {
        request.headers_mut().insert(HOST, HeaderValue::from_str(&url.authority())?);
        let begun = http1::handshake(TokioIo::new(Box::new(stream)));
        let (mut sender, driver) = begun.await.map_err(failed)?;
        tokio::spawn(async { drop(driver.await) });
        sender.send_request(request).await.map_err(failed)?
    };
    ensure!(response.status() == StatusCode::OK, "the server answers {}", response.status());
    content(response).await
}

/// The content of a response, at most that of a DNS message.
async fn content(response: Response<Incoming>) -> Result<Vec<u8>> {
    let (mut body, mut content) = (response.into_body(), Vec::new());
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        if let Some(data) = frame.map_err(failed)?.data_ref() {
            content.extend_from_slice(data);
        }
        ensure!(content.len() <= usize::from(u16::MAX), "the answer is longer than a DNS message");
    }
    Ok(content)
}

fn failed(error: hyper::Error) -> anyhow::Error {
    anyhow!("HTTP: {}", explain::connection(&explain::http(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8484 4.1
    #[test]
    fn equal_queries_are_equal_bytes() {
        let expected = b"\0\0\x01\0\0\x01\0\0\0\0\0\0\x01a\x07example\0\0\x41\0\x01";
        assert_eq!(query("a.example.").unwrap(), expected);
        assert!(query("a..example.").is_err());
    }
}
