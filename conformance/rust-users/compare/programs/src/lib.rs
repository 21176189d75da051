//! Programs that are timed: requests through reqwest, queries through sqlx, and streams of tokio.
//! They are the same for each implementation of TLS.
//!
//! A process runs one program again and again, so that rounds of several processes can alternate.
//! It is started with the program's name, the server's port and the file of the authority. For
//! each line of its input, a duration in milliseconds, it runs for this time and prints the number
//! of operations, the microseconds that they took, and the processor time of the process so far in
//! hundredths of a second.

pub mod streams;

use std::future::Future;
use std::io::{BufRead, Write};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use futures_util::future::try_join_all;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgSslMode};
use sqlx::{ConnectOptions, Connection};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use streams::Transfer;

/// The credentials of the database.
pub const USER: &str = "tercel";
pub const PASSWORD: &str = "a password";

/// The number of concurrent requests over the connection, for small bodies.
const SMALL_REQUESTS: usize = 16;
const SMALL_BODY: usize = 64;
/// The same for large bodies, which are sent in both directions.
const LARGE_REQUESTS: usize = 4;
const LARGE_BODY: usize = 100_000;
/// The number of concurrent connections to the database.
const CONNECTIONS: usize = 2;

/// The data of an operation on a stream.
const LARGE_TRANSFER: usize = 1 << 20;
const SMALL_TRANSFER: usize = 64;

/// An implementation of TLS.
pub trait Implementation: Sized {
    /// A client's stream over a socket.
    type Stream: AsyncRead + AsyncWrite + Unpin;

    /// Makes a client that trusts this authority (PEM) only, and resumes no session.
    ///
    /// # Errors
    /// If the authority cannot be used.
    fn new(authority: &[u8]) -> Result<Self>;

    /// Connects to a server of this name.
    fn connect(
        &self,
        name: &'static str,
        socket: TcpStream,
    ) -> impl Future<Output = Result<Self::Stream>>;
}

/// Runs the program of the arguments. `client` makes reqwest's client, which trusts the authority
/// (PEM) only: reqwest has its functions for trust only with an implementation of TLS.
///
/// # Errors
/// Those of the programs.
pub fn run<T: Implementation>(
    arguments: &[String],
    client: impl FnOnce(&[u8]) -> reqwest::Result<reqwest::Client>,
) -> Result<()>
where
    T::Stream: 'static,
{
    let [program, port, authority] = arguments else { bail!("usage: PROGRAM PORT AUTHORITY") };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let url = format!("https://localhost:{port}/");
    match program.as_str() {
        "requests" | "bodies" => {
            let client = client(&std::fs::read(authority)?)?;
            let (concurrent, length) = match program.as_str() {
                "requests" => (SMALL_REQUESTS, SMALL_BODY),
                _ => (LARGE_REQUESTS, LARGE_BODY),
            };
            rounds(&runtime, concurrent, || request(&client, &url, length))
        }
        "queries" => {
            let options = PgConnectOptions::new()
                .host("localhost")
                .port(port.parse()?)
                .username(USER)
                .password(PASSWORD)
                .database("postgres")
                .ssl_mode(PgSslMode::VerifyFull)
                .ssl_root_cert(authority)
                .disable_statement_logging();
            rounds(&runtime, CONNECTIONS, || query(&options))
        }
        program => {
            let tls = T::new(&std::fs::read(authority)?)?;
            run_streams(&runtime, program, &tls, port.parse()?)
        }
    }
}

/// Runs a program that uses streams.
fn run_streams<T: Implementation>(
    runtime: &tokio::runtime::Runtime,
    program: &str,
    tls: &T,
    port: u16,
) -> Result<()>
where
    T::Stream: 'static,
{
    let (large, small) = (LARGE_TRANSFER, SMALL_TRANSFER);
    let transfer = match program {
        "visits" => return rounds(runtime, CONNECTIONS, || streams::visit(tls, port)),
        "receive" => Transfer { sent: small, received: large },
        "send" => Transfer { sent: large, received: small },
        "small" => Transfer { sent: small, received: small },
        _ => bail!("no program {program}"),
    };
    rounds(runtime, 1, runtime.block_on(streams::transfers(tls, port, transfer))?)
}

/// Posts a body, and receives it.
async fn request(client: &reqwest::Client, url: &str, length: usize) -> Result<()> {
    let answer = client.post(url).body(vec![b'x'; length]).send().await?.error_for_status()?;
    ensure!(answer.version() == reqwest::Version::HTTP_2, "the version is {:?}", answer.version());
    let received = answer.bytes().await?.len();
    ensure!(received == length, "the body has {received} bytes");
    Ok(())
}

/// Connects, sends one query, and disconnects.
async fn query(options: &PgConnectOptions) -> Result<()> {
    let mut connection: PgConnection = PgConnection::connect_with(options).await?;
    let version: String =
        sqlx::query_scalar("SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
            .fetch_one(&mut connection)
            .await?;
    ensure!(version == "TLSv1.3", "the version is {version}");
    connection.close().await?;
    Ok(())
}

/// Runs a round for each line of the input.
fn rounds<F: Future<Output = Result<()>>>(
    runtime: &tokio::runtime::Runtime,
    concurrent: usize,
    operation: impl Fn() -> F,
) -> Result<()> {
    for line in std::io::stdin().lock().lines() {
        let limit = Duration::from_millis(line?.parse()?);
        let start = Instant::now();
        let tasks = (0..concurrent).map(|_| async {
            let mut count = 0_u64;
            while start.elapsed() < limit {
                operation().await?;
                count += 1;
            }
            anyhow::Ok(count)
        });
        let counts = runtime.block_on(try_join_all(tasks))?;
        let micros = start.elapsed().as_micros();
        println!("{} {micros} {}", counts.iter().sum::<u64>(), processor_time()?);
        std::io::stdout().flush()?;
    }
    Ok(())
}

/// The processor time of this process, all threads included, in hundredths of a second.
fn processor_time() -> Result<u64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The name of the program, in parentheses, may contain spaces. After it, user and system time
    // are the fields 12 and 13. proc(5)
    let (_, fields) = stat.rsplit_once(')').context("no name in /proc/self/stat")?;
    let mut fields = fields.split_whitespace().skip(11);
    let mut next = || -> Result<u64> { Ok(fields.next().context("a field is missing")?.parse()?) };
    Ok(next()? + next()?)
}
