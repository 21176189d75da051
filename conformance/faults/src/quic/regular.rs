//! Regular clients of a server of HTTP/3: one request on each connection.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tercel::ClientConfig;
use tercel_harness::clients::{Outcome, RequestResult};
use tercel_harness::program;
use tercel_quinn::{QuicClientConfig, client_config, client_endpoint};

/// The number of clients, and the pause of each between two requests.
const CLIENTS: usize = 4;
const PAUSE: Duration = Duration::from_millis(200);

/// The time limit of a connection with its request.
const LIMIT: Duration = Duration::from_secs(60);

/// Clients in the background.
pub(super) struct RegularClients {
    stop: Arc<AtomicBool>,
    outcomes: Arc<Mutex<Vec<Outcome>>>,
    thread: thread::JoinHandle<()>,
}

impl RegularClients {
    pub(super) fn start(server: SocketAddr, tls: &Arc<ClientConfig>) -> Result<Self> {
        let config = client_config(QuicClientConfig::try_from(Arc::clone(tls))?);
        let (stop, outcomes) = (Arc::<AtomicBool>::default(), Arc::<Mutex<Vec<_>>>::default());
        let (stops, all) = (Arc::clone(&stop), Arc::clone(&outcomes));
        let runtime = program::runtime(1)?;
        let endpoint = {
            let _entered = runtime.enter();
            client_endpoint((Ipv4Addr::LOCALHOST, 0).into())?
        };
        let thread = thread::spawn(move || {
            let clients = (0..CLIENTS).map(|_| {
                let (endpoint, config) = (endpoint.clone(), config.clone());
                let (stops, all) = (Arc::clone(&stops), Arc::clone(&all));
                runtime.spawn(async move {
                    while !stops.load(Ordering::Relaxed) {
                        let start = Instant::now();
                        let done = request(&endpoint, &config, server);
                        let done = tokio::time::timeout(LIMIT, done).await;
                        let result = match done.context("timed out").and_then(|done| done) {
                            Ok(()) => RequestResult::Answered,
                            Err(error) => RequestResult::Failed(format!("{error:#}")),
                        };
                        let outcome = outcome(start, result);
                        all.lock().unwrap_or_else(PoisonError::into_inner).push(outcome);
                        tokio::time::sleep(PAUSE).await;
                    }
                })
            });
            let clients: Vec<_> = clients.collect();
            for client in clients {
                _ = runtime.block_on(client);
            }
        });
        Ok(Self { stop, outcomes, thread })
    }

    /// The outcomes of the requests that began after this time and have ended.
    pub(super) fn since(&self, start: Instant) -> Vec<Outcome> {
        let outcomes = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
        outcomes.iter().filter(|one| one.start >= start).cloned().collect()
    }

    pub(super) fn stop(self) -> Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| anyhow::anyhow!("the regular clients panicked"))
    }
}

fn outcome(start: Instant, result: RequestResult) -> Outcome {
    Outcome {
        kind: "regular HTTP/3",
        start,
        connected: start,
        connects: true,
        took: start.elapsed(),
        result,
        offered: false,
        resumed: false,
        elsewhere: false,
        early: false,
    }
}

/// A control stream with SETTINGS that has no settings. RFC 9114 6.2.1, 7.2.4
const CONTROL: [u8; 3] = [0, 4, 0];

/// HEADERS with the fields of `GET https://localhost/`, from the static table. RFC 9204 A
const GET: &[u8] = b"\x01\x10\x00\x00\xd1\xd7\xc1\x50\x09localhost";

/// HEADERS, and the field `:status 200` of the static table.
const HEADERS: u8 = 1;
const STATUS_200: u8 = 0xd9;

/// Makes a connection and a request.
async fn request(
    endpoint: &quinn::Endpoint,
    config: &quinn::ClientConfig,
    server: SocketAddr,
) -> Result<()> {
    let connection = endpoint.connect_with(config.clone(), server, super::NAME)?.await?;
    let mut control = connection.open_uni().await?;
    control.write_all(&CONTROL).await?;
    let (mut send, mut receive) = connection.open_bi().await?;
    send.write_all(GET).await?;
    send.finish()?;
    let answer = receive.read_to_end(1 << 20).await?;
    // The type, the length, and the prefix of the encoded fields. RFC 9204 4.5.1
    let is_answered =
        answer.first() == Some(&HEADERS) && answer.iter().take(16).any(|byte| *byte == STATUS_200);
    ensure!(is_answered, "another answer: {:x?}", answer.get(..16));
    // H3_NO_ERROR
    connection.close(0x100_u32.into(), &[]);
    Ok(())
}
