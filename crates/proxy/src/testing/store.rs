//! A Redis or Valkey of a test's own.
//!
//! Must not know: what is kept in it. Next: [`super::sharing`].

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A running server, gone when this is dropped.
pub(super) struct Store {
    address: SocketAddr,
    process: Child,
}

impl Store {
    /// `None`, and a line that says so, if there is no such program.
    pub(super) async fn start(folder: PathBuf) -> Option<Self> {
        let is_there = |program: &String| {
            let version = Command::new(program).arg("--version").stdout(Stdio::null()).status();
            version.is_ok_and(|status| status.success())
        };
        // One that is named has to be there.
        let named = std::env::var("TERCEL_STORE_SERVER").ok();
        let known = || ["valkey-server", "redis-server"].map(str::to_owned).into_iter();
        let Some(program) = named.or_else(|| known().find(is_there)) else {
            println!("absent: valkey-server, redis-server");
            return None;
        };
        let address = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap();
        let mut command = Command::new(program);
        command.args(["--bind", "127.0.0.1", "--save", "", "--port", &address.port().to_string()]);
        command.arg("--dir").arg(folder).stdin(Stdio::null()).stdout(Stdio::null());
        let store = Self { address, process: command.spawn().unwrap() };
        for _ in 0..1000 {
            if store.answers().await {
                return Some(store);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the store does not answer after ten seconds");
    }

    pub(super) fn url(&self) -> String {
        format!("redis://{}", self.address)
    }

    /// Ends it, as the end of its machine would.
    pub(super) fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    async fn answers(&self) -> bool {
        let Ok(mut stream) = TcpStream::connect(self.address).await else { return false };
        let mut answer = [0; 5];
        stream.write_all(b"PING\r\n").await.is_ok()
            && stream.read_exact(&mut answer).await.is_ok()
            && &answer == b"+PONG"
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.kill();
    }
}
