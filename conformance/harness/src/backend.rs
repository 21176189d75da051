//! A plain HTTP backend that says who it is, remembers what it was asked, and can misbehave.
//!
//! Must not know: TLS, terminators. Next: `http.rs`, the other side.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::http::field;

/// How it treats whoever comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Behaviour {
    /// Answers at once.
    Answers,
    /// Answers after a while.
    Slow(Duration),
    /// Closes as soon as the first byte has come.
    ClosesEarly,
    /// Resets the connection as soon as the first byte has come.
    Resets,
    /// Says nothing.
    Silent,
}

/// A running backend; it stops listening when dropped.
#[derive(Debug)]
pub struct Backend {
    address: SocketAddr,
    book: Arc<Book>,
    task: JoinHandle<()>,
}

/// What was asked.
#[derive(Debug, Default)]
struct Book {
    connections: AtomicU64,
    open: AtomicUsize,
    /// Paths under `/once/`, and how often each was asked for.
    once: Mutex<HashMap<String, u32>>,
}

/// Paths under this are asked for once, or something was replayed.
pub const ONCE: &str = "/once/";

/// What long answers consist of.
static FILLING: [u8; 64 * 1024] = [b'x'; 64 * 1024];

impl Backend {
    /// Listens on a port of 127.0.0.1 and serves there, under this name. Within a runtime.
    ///
    /// `/bytes/N` is answered with so many bytes, `/after/N` after so many milliseconds, any other path with a
    /// short text.
    ///
    /// # Errors
    /// If it cannot listen.
    pub async fn start(name: &str, behaviour: Behaviour) -> Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
        // Hundreds may come at once, and who has to wait in the system would count as slow.
        let listener = socket.listen(4096)?;
        let address = listener.local_addr()?;
        let (name, book): (Arc<str>, _) = (name.into(), Arc::<Book>::default());
        let shared = book.clone();
        let task = tokio::spawn(async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else {
                    // Out of files, most likely: some will come back.
                    sleep(Duration::from_millis(10)).await;
                    continue;
                };
                let (name, book) = (name.clone(), shared.clone());
                tokio::spawn(async move {
                    let number = book.connections.fetch_add(1, Ordering::Relaxed);
                    book.open.fetch_add(1, Ordering::Relaxed);
                    // Clients are cut off on purpose; what they make of it is theirs to count.
                    let _ = serve(stream, &name, number, behaviour, &book).await;
                    book.open.fetch_sub(1, Ordering::Relaxed);
                });
            }
        });
        Ok(Self { address, book, task })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connections that are open now.
    #[must_use]
    pub fn open(&self) -> usize {
        self.book.open.load(Ordering::Relaxed)
    }

    /// How often a path under [`ONCE`] was asked for.
    #[must_use]
    pub fn times(&self, path: &str) -> u32 {
        self.book.lock().get(path).copied().unwrap_or(0)
    }

    /// The paths under [`ONCE`] that were asked for more than once.
    #[must_use]
    pub fn repeated(&self) -> Vec<String> {
        let book = self.book.lock();
        book.iter().filter(|(_, times)| **times > 1).map(|(path, _)| path.clone()).collect()
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Book {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, u32>> {
        self.once.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn serve(
    mut stream: TcpStream,
    name: &str,
    number: u64,
    behaviour: Behaviour,
    book: &Book,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    if behaviour == Behaviour::Silent {
        let mut buffer = vec![0; 4096];
        while stream.read(&mut buffer).await? > 0 {}
        return Ok(());
    }
    let mut bytes = Vec::new();
    loop {
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
            if stream.read_buf(&mut bytes).await? == 0 || bytes.len() > 64 * 1024 {
                return Ok(());
            }
            match behaviour {
                Behaviour::ClosesEarly => return Ok(()),
                Behaviour::Resets => return stream.set_zero_linger(),
                _ => continue,
            }
        };
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        bytes.drain(..end + 4);
        let path = head.split(' ').nth(1).unwrap_or_default();
        if path.starts_with(ONCE) {
            *book.lock().entry(path.to_owned()).or_default() += 1;
        }
        if let Behaviour::Slow(time) = behaviour {
            sleep(time).await;
        }
        if let Some(time) = path.strip_prefix("/after/").and_then(|time| time.parse().ok()) {
            sleep(Duration::from_millis(time)).await;
        }
        let body = format!("{name} {number} {path}\n").into_bytes();
        let many = path.strip_prefix("/bytes/").and_then(|count| count.parse::<usize>().ok());
        let length = many.unwrap_or(body.len());
        let head_of_answer =
            format!("HTTP/1.1 200 OK\r\nX-Backend: {name}\r\nContent-Length: {length}\r\n\r\n");
        stream
            .write_all(&[head_of_answer.as_bytes(), &body[..body.len().min(length)]].concat())
            .await?;
        let mut left = length.saturating_sub(body.len());
        while left > 0 {
            let chunk = left.min(FILLING.len());
            stream.write_all(&FILLING[..chunk]).await?;
            left -= chunk;
        }
        if field(&head, "connection").is_some_and(|value| value.eq_ignore_ascii_case("close")) {
            return stream.shutdown().await;
        }
    }
}
