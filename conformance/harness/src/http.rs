//! The client side of HTTP/1.1, as far as the conformance programs need it.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

/// The longest head of an answer that is accepted.
const LONGEST_HEAD: usize = 4096;

/// An answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The name of the backend that answered.
    pub backend: String,
    /// The length of the body, which is discarded.
    pub length: usize,
}

/// A GET request for a path, with `Connection: close` or `keep-alive`.
#[must_use]
pub fn request(path: &str, close: bool) -> Vec<u8> {
    let connection = if close { "close" } else { "keep-alive" };
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: {connection}\r\n\r\n")
        .into_bytes()
}

/// Reads one answer.
///
/// # Errors
/// If the stream fails: [`io::ErrorKind::ConnectionAborted`] if it ends before the first byte of an
/// answer, [`io::ErrorKind::UnexpectedEof`] if it ends later.
pub async fn answer(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Answer> {
    let mut bytes = Vec::with_capacity(1024);
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        if bytes.len() > LONGEST_HEAD {
            return Err(invalid("head too long"));
        }
        let read = stream.read_buf(&mut bytes).await;
        // A closed connection is seen as its end, or as a reset if data was sent after the close.
        let reset =
            read.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::ConnectionReset);
        if reset && bytes.is_empty() {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        match read? {
            0 if bytes.is_empty() => return Err(io::ErrorKind::ConnectionAborted.into()),
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            _ => {}
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let length: usize = field(&head, "content-length")
        .and_then(|length| length.parse().ok())
        .ok_or_else(|| invalid("no Content-Length"))?;
    let mut left = (end + length).saturating_sub(bytes.len());
    let mut buffer = vec![0; left.min(16 * 1024)];
    while left > 0 {
        let room = left.min(buffer.len());
        match stream.read(&mut buffer[..room]).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => left -= count,
        }
    }
    Ok(Answer {
        status: status.ok_or_else(|| invalid("no status"))?,
        backend: field(&head, "x-backend").unwrap_or_default().to_owned(),
        length,
    })
}

/// The value of a header field.
fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
