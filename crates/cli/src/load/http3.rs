//! Connections over QUIC, and requests over HTTP/3. RFC 9114

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use h3::client::{RequestStream, SendRequest};
use hyper::Request;
use hyper::body::{Buf, Bytes};
use tercel::client::ClientConfigBuilder;
use tercel::{ClientConfig, ConnectionInfo, ServerName};
use tokio::task::JoinHandle;

use super::http1::Answer;
use super::options::Options;
use super::sessions::Sessions;
use crate::http3::{
    self, ArrivingSessions, Client, Failure, Http, QuicBidiStream, QuicOpener, client_config,
    request_error,
};
use crate::target::Address;

/// The first address that answers over QUIC.
pub(crate) fn find_address(
    options: &Options,
    builder: &ClientConfigBuilder,
    url: &Address,
) -> Result<SocketAddr> {
    let target = url.https_target();
    let name = options.client.server_name(&target.host)?;
    let tls = builder.clone().without_resumption().alpn(&[http3::PROTOCOL]).build()?;
    let config = client_config(tls, target.port)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot create a runtime")?;
    let (addresses, deadline) = (target.addresses()?, Instant::now() + options.timeout);
    runtime.block_on(async {
        let mut last = anyhow!("no address found for {}", target.host);
        for (index, address) in addresses.iter().enumerate() {
            let left = u32::try_from(addresses.len() - index).unwrap_or(u32::MAX);
            let share = deadline.saturating_duration_since(Instant::now()) / left;
            let client = Client::new(*address)?;
            match client.connect(&config, &name, share).await {
                Ok(established) => http3::close(&established.connection),
                Err(failure @ (Failure::Refused | Failure::TimedOut | Failure::Local(_))) => {
                    last = anyhow!("cannot connect to {address}: {failure}");
                    continue;
                }
                // The server answers. The measurement counts such failures.
                Err(_) => {}
            }
            client.finish().await;
            return Ok(*address);
        }
        Err(last)
    })
}

/// A client for connections over QUIC.
#[derive(Clone)]
pub(crate) struct QuicClient {
    client: Arc<Client>,
    config: quinn::ClientConfig,
    tls: Arc<ClientConfig>,
    port: u16,
    resumes: bool,
    sessions: Option<Arc<ArrivingSessions>>,
}

impl QuicClient {
    /// Creates a client. It has to be called within a tokio runtime.
    pub(crate) fn new(
        server: SocketAddr,
        port: u16,
        tls: Arc<ClientConfig>,
        resumes: bool,
    ) -> Result<Self> {
        let client = Client::new(server).with_context(|| format!("cannot connect to {server}"))?;
        let config = client_config(Arc::clone(&tls), port)?;
        Ok(Self { client: Arc::new(client), config, tls, port, resumes, sessions: None })
    }

    /// A client for one loop, which uses the socket of this one. Its sessions, if they are resumed,
    /// are its own.
    pub(crate) fn for_loop(&self) -> Self {
        if !self.resumes {
            return self.clone();
        }
        let sessions = Arc::new(ArrivingSessions::new(Arc::new(Sessions::of(1))));
        let tls = self.tls.with_session_store(Arc::clone(&sessions) as _);
        let config = client_config(tls, self.port).expect("this configuration was checked");
        Self { config, sessions: Some(sessions), ..self.clone() }
    }

    /// Connects and runs the handshake.
    pub(crate) async fn connect(
        &self,
        name: &ServerName<'_>,
        limit: Duration,
    ) -> io::Result<QuicTransport> {
        if let Some(sessions) = &self.sessions {
            sessions.expect();
        }
        let established = self.client.connect(&self.config, name, limit).await?;
        let http3::Established { connection, info } = established;
        Ok(QuicTransport { connection, info, sessions: self.sessions.clone() })
    }
}

/// A connection over QUIC.
pub(crate) struct QuicTransport {
    connection: quinn::Connection,
    info: Arc<ConnectionInfo>,
    sessions: Option<Arc<ArrivingSessions>>,
}

impl QuicTransport {
    pub(crate) fn info(&self) -> &ConnectionInfo {
        &self.info
    }

    /// Waits for a session, if sessions are resumed, and closes.
    pub(crate) async fn close(self) {
        if let Some(sessions) = &self.sessions {
            tokio::select! {
                () = sessions.arrived() => {}
                _ = self.connection.closed() => {}
            }
        }
        http3::close(&self.connection);
    }

    /// Waits until the connection ends.
    pub(crate) async fn closed(self) -> io::Result<()> {
        Err(io::Error::other(http3::connection_error(&self.connection.closed().await)))
    }
}

/// A connection on which one request at a time is sent.
pub(crate) struct Http3Connection {
    transport: QuicTransport,
    sender: SendRequest<QuicOpener, Bytes>,
    driver: JoinHandle<()>,
}

impl Http3Connection {
    pub(crate) async fn new(transport: QuicTransport) -> io::Result<Self> {
        let begun = Http::begin(&transport.connection).await;
        let Http { driver: mut http, sender } = begun.map_err(io::Error::other)?;
        let driver = tokio::task::spawn_local(async move {
            let _ = poll_fn(|context| http.poll_close(context)).await;
        });
        Ok(Self { transport, sender, driver })
    }

    /// Sends a request with this many bytes of content, and reads the whole response. `sent` and
    /// `received` are called for each part of their content.
    pub(crate) async fn exchange(
        &mut self,
        head: &Request<()>,
        length: u64,
        mut sent: impl FnMut(u64),
        mut received: impl FnMut(u64),
    ) -> io::Result<Answer> {
        let Self { transport, sender, driver } = self;
        let failed = |error| io::Error::other(request_error(&error, &transport.connection));
        let mut stream = sender.send_request(head.clone()).await.map_err(failed)?;
        let sent_all = send_content(&mut stream, length, &mut sent).await;
        if let Err(error) = sent_all {
            // A server may answer before it has read the content. RFC 9114 4.1
            if !matches!(error, h3::error::StreamError::RemoteTerminate { .. }) {
                return Err(failed(error));
            }
        }
        let status = loop {
            let response = stream.recv_response().await.map_err(failed)?;
            if !response.status().is_informational() {
                break response.status().as_u16();
            }
        };
        while let Some(data) = stream.recv_data().await.map_err(failed)? {
            received(data.remaining() as u64);
        }
        // The driver ends with the connection.
        Ok(Answer { status, keep_alive: !driver.is_finished() })
    }

    pub(crate) fn into_transport(self) -> QuicTransport {
        self.transport
    }
}

async fn send_content(
    stream: &mut RequestStream<QuicBidiStream, Bytes>,
    length: u64,
    sent: &mut impl FnMut(u64),
) -> Result<(), h3::error::StreamError> {
    let mut left = length;
    while left > 0 {
        let part = usize::try_from(left).unwrap_or(PART).min(PART);
        stream.send_data(Bytes::from_static(&ZEROS).slice(..part)).await?;
        left -= part as u64;
        sent(part as u64);
    }
    stream.finish().await
}

/// The length of a part of the content.
const PART: usize = 64 << 10;

static ZEROS: [u8; PART] = [0; PART];
