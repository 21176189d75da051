//! A minimal HTTP/1.1 client that repeats one request. The length of heads is limited; content is
//! counted and discarded. RFC 9112
//!
//! hyper, which [`super::http2`] uses, would cost a fifth of the requests and a quarter of the
//! transfers that a processor can make.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The head of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) keep_alive: bool,
}

/// A request without content.
pub(crate) fn get(authority: &str, path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: tercel\r\n\r\n").into_bytes()
}

/// The head of a request with this many bytes of content.
pub(crate) fn post(authority: &str, path: &str, length: u64) -> Vec<u8> {
    format!(
        "POST {path} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: tercel\r\n\
         Content-Type: application/octet-stream\r\nContent-Length: {length}\r\n\r\n"
    )
    .into_bytes()
}

/// Sends this many bytes of content; `count` is called for each part that was written.
pub(crate) async fn send_content(
    stream: &mut (impl AsyncWrite + Unpin),
    length: u64,
    mut count: impl FnMut(u64),
) -> io::Result<()> {
    let mut left = length;
    while left > 0 {
        let now = usize::try_from(left).unwrap_or(PART).min(PART);
        let taken = stream.write(ZEROS.get(..now).unwrap_or_default()).await?;
        if taken == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        left -= taken as u64;
        count(taken as u64);
    }
    stream.flush().await
}

/// A buffer of received bytes.
#[derive(Debug)]
pub(crate) struct Reader {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

impl Reader {
    pub(crate) fn new() -> Self {
        Self { buffer: vec![0; PART], start: 0, end: 0 }
    }

    /// Reads a whole response; `count` is called for each part of its content.
    pub(crate) async fn answer(
        &mut self,
        stream: &mut (impl AsyncRead + Unpin),
        mut count: impl FnMut(u64),
    ) -> io::Result<Answer> {
        let (answer, content) = loop {
            match self.head()? {
                // This is an interim response; the final response follows. RFC 9110 15.2
                Some((Answer { status: 100..=199, .. }, _)) => {}
                Some(head) => break head,
                None => self.fill(stream).await?,
            }
        };
        match content {
            Content::Length(length) => self.skip(stream, length, &mut count).await?,
            Content::Chunked => self.chunks(stream, &mut count).await?,
            Content::UntilClose => loop {
                count(self.unused().len() as u64);
                self.start = self.end;
                match self.fill(stream).await {
                    Ok(()) => {}
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
                    Err(error) => return Err(error),
                }
            },
        }
        Ok(answer)
    }

    fn head(&mut self) -> io::Result<Option<(Answer, Content)>> {
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut response = httparse::Response::new(&mut headers);
        let length = match response.parse(self.unused()).map_err(io::Error::other)? {
            httparse::Status::Complete(length) => length,
            httparse::Status::Partial => return Ok(None),
        };
        let values = |name: &'static str| {
            let named = |header: &&httparse::Header<'_>| header.name.eq_ignore_ascii_case(name);
            response.headers.iter().filter(named).map(|header| header.value)
        };
        let says = |name, token: &[u8]| {
            values(name).any(|value| {
                value
                    .split(|byte| *byte == b',')
                    .any(|t| t.trim_ascii().eq_ignore_ascii_case(token))
            })
        };
        let status = response.code.unwrap_or_default();
        // RFC 9112 6.3
        let content = if matches!(status, 100..=199 | 204 | 304) {
            Content::Length(0)
        } else if says("transfer-encoding", b"chunked") {
            Content::Chunked
        } else if let Some(value) = values("content-length").next() {
            let number = std::str::from_utf8(value).ok().and_then(|text| text.trim().parse().ok());
            Content::Length(number.ok_or_else(|| io::Error::other("bad Content-Length"))?)
        } else {
            Content::UntilClose
        };
        let keep_alive = response.version == Some(1)
            && !says("connection", b"close")
            && content != Content::UntilClose;
        self.start += length;
        Ok(Some((Answer { status, keep_alive }, content)))
    }

    async fn skip(
        &mut self,
        stream: &mut (impl AsyncRead + Unpin),
        mut left: u64,
        count: &mut impl FnMut(u64),
    ) -> io::Result<()> {
        loop {
            let here = self.unused().len();
            let now = usize::try_from(left).unwrap_or(usize::MAX).min(here);
            self.start += now;
            left -= now as u64;
            count(now as u64);
            if left == 0 {
                return Ok(());
            }
            self.fill(stream).await?;
        }
    }

    /// RFC 9112 7.1
    async fn chunks(
        &mut self,
        stream: &mut (impl AsyncRead + Unpin),
        count: &mut impl FnMut(u64),
    ) -> io::Result<()> {
        loop {
            match httparse::parse_chunk_size(self.unused()) {
                Ok(httparse::Status::Partial) => self.fill(stream).await?,
                Ok(httparse::Status::Complete((length, 0))) => {
                    self.start += length;
                    return self.trailers(stream).await;
                }
                Ok(httparse::Status::Complete((length, size))) => {
                    self.start += length;
                    self.skip(stream, size, count).await?;
                    // A line end follows the data of the chunk.
                    self.skip(stream, 2, &mut |_| ()).await?;
                }
                Err(_) => return Err(io::Error::other("bad chunk size")),
            }
        }
    }

    async fn trailers(&mut self, stream: &mut (impl AsyncRead + Unpin)) -> io::Result<()> {
        while !self.trailers_are_here()? {
            self.fill(stream).await?;
        }
        Ok(())
    }

    fn trailers_are_here(&mut self) -> io::Result<bool> {
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        match httparse::parse_headers(self.unused(), &mut headers).map_err(io::Error::other)? {
            httparse::Status::Complete((length, _)) => {
                self.start += length;
                Ok(true)
            }
            httparse::Status::Partial => Ok(false),
        }
    }

    fn unused(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// Reads more; the end of the stream is an error.
    async fn fill(&mut self, stream: &mut (impl AsyncRead + Unpin)) -> io::Result<()> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.end == self.buffer.len() {
            if self.start == 0 {
                return Err(io::Error::other("response head too large"));
            }
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        match stream.read(self.buffer.get_mut(self.end..).unwrap_or_default()).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            count => {
                self.end += count;
                Ok(())
            }
        }
    }
}

/// How the end of the content is determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Length(u64),
    Chunked,
    UntilClose,
}

const MAX_HEADERS: usize = 100;

/// The length of buffers: several records of the largest size.
const PART: usize = 64 << 10;

static ZEROS: [u8; PART] = [0; PART];

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads responses that arrive in pieces of this size: status, keep-alive and content length
    /// of each.
    fn read(text: &str, piece: usize) -> Vec<Result<(u16, bool, u64), String>> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (mut near, mut far) = tokio::io::duplex(piece);
            let writing = async move {
                // The reader may stop early.
                let _ = far.write_all(text.as_bytes()).await;
            };
            let reading = async move {
                let mut reader = Reader::new();
                let mut all = Vec::new();
                loop {
                    let mut content = 0;
                    match reader.answer(&mut near, |count| content += count).await {
                        Ok(Answer { status, keep_alive }) => {
                            all.push(Ok((status, keep_alive, content)));
                        }
                        Err(error) => {
                            let idle = content == 0 && reader.unused().is_empty();
                            all.push(Err(if idle { "end".to_owned() } else { error.to_string() }));
                            return all;
                        }
                    }
                }
            };
            tokio::join!(writing, reading).1
        })
    }

    /// RFC 9110 15.2, RFC 9112 6.3, 7.1
    #[test]
    fn responses_end_where_they_declare() {
        let text = "HTTP/1.1 100 Continue\r\n\r\n\
            HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello\
            HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n\
            3;x=y\r\nabc\r\n10\r\n0123456789abcdef\r\n0\r\nTrailer: x\r\n\r\n\
            HTTP/1.1 204 No Content\r\nContent-Length: 7\r\n\r\n\
            HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: x, Close\r\n\r\n\
            HTTP/1.0 200 OK\r\n\r\nto the end";
        let expected = [
            Ok((200, true, 5)),
            Ok((200, true, 19)),
            Ok((204, true, 0)),
            Ok((404, false, 0)),
            Ok((200, false, 10)),
            Err("end".to_owned()),
        ];
        for piece in [1, 3, 1000] {
            assert_eq!(read(text, piece), expected, "{piece}");
        }
    }

    #[test]
    fn invalid_responses_are_errors() {
        for wrong in [
            "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort",
            "SSH-2.0-OpenSSH\r\n",
        ] {
            let answers = read(wrong, 1000);
            let [Err(why)] = answers.as_slice() else { panic!("{wrong}: {answers:?}") };
            assert_ne!(why, "end", "{wrong}");
        }
        let endless = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(2 * PART));
        assert_eq!(read(&endless, PART), [Err("response head too large".to_owned())]);
    }

    #[test]
    fn content_of_every_length_is_sent_whole() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            for length in [1, PART, 3 * PART + 7] {
                let (mut near, mut far) = tokio::io::duplex(1000);
                let sending = async move {
                    let mut counted = 0;
                    send_content(&mut near, length as u64, |count| counted += count).await.unwrap();
                    counted
                };
                let mut all = Vec::new();
                let (counted, _) = tokio::join!(sending, far.read_to_end(&mut all));
                assert_eq!((all.len(), counted), (length, length as u64));
            }
        });
    }
}
