//! A minimal HTTP/1.1 server for GET and HEAD. The length of heads is limited. Bodies are never
//! read: a request with a body is the last one of its connection. RFC 9112

use std::fs::File;
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use super::handshake::TlsStream;

/// Serves requests until one side closes. `received` is data that was received before.
pub(crate) fn serve(
    stream: &mut TlsStream<'_>,
    mut received: Vec<u8>,
    timeout: Duration,
    mut answer: impl FnMut(&mut TlsStream<'_>, &str) -> io::Result<Response>,
) -> io::Result<()> {
    loop {
        stream.transport().set_deadline(Instant::now() + timeout);
        let request = match receive(stream, &mut received)? {
            Received::Request(request) => request,
            Received::End => return Ok(()),
            Received::Refused(status) => {
                stream.transport().clear_deadline()?;
                return Response::status(status).send(stream, false, false);
            }
        };
        stream.transport().clear_deadline()?;
        let response = match request.method {
            Method::Other => Response::status(Status::MethodNotAllowed),
            Method::Get | Method::Head => answer(stream, &request.path)?,
        };
        response.send(stream, request.method == Method::Head, request.keep_alive)?;
        if !request.keep_alive {
            return Ok(());
        }
        received.drain(..request.length);
    }
}

enum Received {
    Request(Request),
    /// The client closed between requests.
    End,
    Refused(Status),
}

/// A request's head.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    method: Method,
    /// The path of the target, still percent-encoded, without a query.
    path: String,
    keep_alive: bool,
    length: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Get,
    Head,
    Other,
}

fn receive(stream: &mut impl Read, received: &mut Vec<u8>) -> io::Result<Received> {
    let mut piece = [0; 4096];
    loop {
        match parse(received) {
            Ok(Some(request)) => return Ok(Received::Request(request)),
            Err(status) => return Ok(Received::Refused(status)),
            Ok(None) if received.len() >= MAX_HEAD => {
                return Ok(Received::Refused(Status::HeadTooLarge));
            }
            Ok(None) => {}
        }
        match stream.read(&mut piece)? {
            0 if received.is_empty() => return Ok(Received::End),
            0 => return Ok(Received::Refused(Status::BadRequest)),
            count => received.extend_from_slice(piece.get(..count).unwrap_or_default()),
        }
    }
}

/// Parses a head; `None` if it is incomplete.
fn parse(bytes: &[u8]) -> Result<Option<Request>, Status> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let length = match request.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Status::HeadTooLarge),
        Err(_) => return Err(Status::BadRequest),
    };
    if length > MAX_HEAD {
        return Err(Status::HeadTooLarge);
    }
    let values = |name: &'static str| {
        let named = |header: &&httparse::Header<'_>| header.name.eq_ignore_ascii_case(name);
        request.headers.iter().filter(named).map(|header| header.value)
    };
    let http11 = request.version == Some(1);
    // RFC 9112 3.2
    if http11 && values("host").count() != 1 {
        return Err(Status::BadRequest);
    }
    let close = values("connection").any(|value| has_token(value, b"close"));
    let body = values("transfer-encoding").next().is_some()
        || values("content-length").any(|value| value != b"0");
    let method = match request.method {
        Some("GET") => Method::Get,
        Some("HEAD") => Method::Head,
        _ => Method::Other,
    };
    let target = request.path.unwrap_or_default();
    let path = match (path_of(target), method) {
        (Some(path), _) => path.to_owned(),
        // Targets of other forms occur only with other methods. RFC 9112 3.2
        (None, Method::Other) => String::new(),
        (None, _) => return Err(Status::BadRequest),
    };
    Ok(Some(Request { method, path, keep_alive: http11 && !close && !body, length }))
}

/// The path of a target in origin form or in absolute form. RFC 9112 3.2
fn path_of(target: &str) -> Option<&str> {
    let resource = if target.starts_with('/') {
        target
    } else {
        let (scheme, rest) = target.split_once("://")?;
        if !scheme.eq_ignore_ascii_case("https") && !scheme.eq_ignore_ascii_case("http") {
            return None;
        }
        rest.find('/').and_then(|start| rest.get(start..)).unwrap_or("/")
    };
    resource.split(['?', '#']).next()
}

fn has_token(value: &[u8], token: &[u8]) -> bool {
    value.split(|byte| *byte == b',').any(|part| part.trim_ascii().eq_ignore_ascii_case(token))
}

/// A response.
#[derive(Debug)]
pub(crate) struct Response {
    status: Status,
    content_type: &'static str,
    location: Option<String>,
    body: Body,
}

#[derive(Debug)]
enum Body {
    Text(String),
    File(File, u64),
}

impl Response {
    pub(crate) fn text(status: Status, content_type: &'static str, text: String) -> Self {
        Self { status, content_type, location: None, body: Body::Text(text) }
    }

    /// A response with the status as its text.
    pub(crate) fn status(status: Status) -> Self {
        let (code, reason) = status.line();
        Self::text(status, "text/plain; charset=utf-8", format!("{code} {reason}\n"))
    }

    pub(crate) fn redirect(location: String) -> Self {
        Self { location: Some(location), ..Self::status(Status::MovedPermanently) }
    }

    pub(crate) fn file(content_type: &'static str, file: File, length: u64) -> Self {
        Self { status: Status::Ok, content_type, location: None, body: Body::File(file, length) }
    }

    #[cfg(test)]
    pub(crate) fn code(&self) -> Status {
        self.status
    }

    fn send(self, out: &mut impl Write, head_only: bool, keep_alive: bool) -> io::Result<()> {
        let (code, reason) = self.status.line();
        let length = match &self.body {
            Body::Text(text) => text.len() as u64,
            Body::File(_, length) => *length,
        };
        let mut message = format!(
            "HTTP/1.1 {code} {reason}\r\nContent-Type: {}\r\nContent-Length: {length}\r\n\
             X-Content-Type-Options: nosniff\r\nConnection: {}\r\n",
            self.content_type,
            if keep_alive { "keep-alive" } else { "close" },
        );
        if let Some(location) = &self.location {
            message.push_str(&format!("Location: {location}\r\n"));
        }
        if self.status == Status::MethodNotAllowed {
            message.push_str("Allow: GET, HEAD\r\n");
        }
        message.push_str("\r\n");
        match self.body {
            Body::Text(text) if !head_only => {
                // Head and content are written together, so that a small response is one record.
                message.push_str(&text);
                out.write_all(message.as_bytes())?;
            }
            Body::File(file, length) if !head_only => {
                out.write_all(message.as_bytes())?;
                send_file(file, length, out)?;
            }
            _ => out.write_all(message.as_bytes())?,
        }
        out.flush()
    }
}

fn send_file(file: File, length: u64, out: &mut impl Write) -> io::Result<()> {
    let mut source = file.take(length);
    let mut buffer = vec![0; FILE_BUFFER];
    let mut left = length;
    while left > 0 {
        let count = source.read(&mut buffer)?;
        if count == 0 {
            // The response is shorter than declared. The client can detect this only if the
            // connection ends without close_notify.
            return Err(io::Error::other("file became shorter while it was sent"));
        }
        out.write_all(buffer.get(..count).unwrap_or_default())?;
        left = left.saturating_sub(count as u64);
    }
    Ok(())
}

/// The status codes that this server sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Ok,
    MovedPermanently,
    BadRequest,
    Forbidden,
    NotFound,
    MethodNotAllowed,
    HeadTooLarge,
    Internal,
}

impl Status {
    fn line(self) -> (u16, &'static str) {
        match self {
            Self::Ok => (200, "OK"),
            Self::MovedPermanently => (301, "Moved Permanently"),
            Self::BadRequest => (400, "Bad Request"),
            Self::Forbidden => (403, "Forbidden"),
            Self::NotFound => (404, "Not Found"),
            Self::MethodNotAllowed => (405, "Method Not Allowed"),
            Self::HeadTooLarge => (431, "Request Header Fields Too Large"),
            Self::Internal => (500, "Internal Server Error"),
        }
    }
}

const MAX_HEAD: usize = 16 << 10;
const MAX_HEADERS: usize = 100;
const FILE_BUFFER: usize = 64 << 10;

#[cfg(test)]
mod tests;
