//! Connections over QUIC: GET and HEAD over HTTP/3, with the limits of other connections. RFC 9114

use std::collections::VecDeque;
use std::future::poll_fn;
use std::net::UdpSocket;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow};
use h3::error::{Code, StreamError};
use h3::server::{Connection, RequestResolver, RequestStream};
use hyper::Method;
use hyper::body::{Body, Bytes};
use quinn::{Endpoint, Incoming, TokioRuntime, TransportConfig};
use tercel::{ConnectionInfo, ServerConfig};
use tercel_quinn::{QuicServerConfig, endpoint_config, server_config};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

use super::connection::{ConnectionHandler, Responder, summary};
use super::http::{GRACE, MAX_STREAMS, Progress, Response, path_of};
use crate::explain;
use crate::http3::{self, QuicBidiStream, QuicConnection, alert_of, handshake_result, http_error};

/// The endpoint of the server, and the task that accepts its connections.
pub(crate) struct QuicListener {
    endpoint: Endpoint,
    task: JoinHandle<()>,
}

impl QuicListener {
    /// Starts to accept connections. Each takes a permit, as connections over TCP do.
    pub(crate) fn start(
        socket: UdpSocket,
        tls: Arc<ServerConfig>,
        handler: Arc<ConnectionHandler>,
        places: Places,
    ) -> Result<Self> {
        let config = quic_config(tls, handler.timeout.0)?;
        let runtime = Arc::new(TokioRuntime);
        let endpoint = Endpoint::new(endpoint_config()?, Some(config), socket, runtime)?;
        let task = tokio::spawn(accept(endpoint.clone(), handler, places));
        Ok(Self { endpoint, task })
    }

    /// Refuses new connections; the others continue.
    pub(crate) fn refuse_new(&self) {
        self.task.abort();
        self.endpoint.set_server_config(None);
    }

    /// Closes all connections.
    pub(crate) async fn end(self) {
        self.endpoint.close(http3::NO_ERROR, b"");
        let _ = timeout(LAST_PACKETS, self.endpoint.wait_idle()).await;
    }
}

fn quic_config(tls: Arc<ServerConfig>, limit: Duration) -> Result<quinn::ServerConfig> {
    let crypto = QuicServerConfig::try_from(tls).map_err(|error| anyhow!("--http3: {error}"))?;
    let mut transport = TransportConfig::default();
    transport.max_idle_timeout(Some(limit.try_into()?));
    transport.max_concurrent_bidi_streams(MAX_STREAMS.into());
    transport.max_concurrent_uni_streams(MAX_UNI_STREAMS.into());
    // The content of requests is never read, so it waits within these limits.
    transport.stream_receive_window(STREAM_WINDOW.into()).receive_window(WINDOW.into());
    transport.send_window(SEND_WINDOW);
    transport.datagram_receive_buffer_size(None);
    let mut config = server_config(crypto)?;
    config.transport_config(Arc::new(transport));
    config.max_incoming(MAX_INCOMING).incoming_buffer_size(INCOMING_BUFFER);
    config.incoming_buffer_size_total(INCOMING_BUFFER * MAX_INCOMING as u64);
    Ok(config)
}

/// The permits of connections, and their number.
pub(crate) struct Places {
    permits: Arc<Semaphore>,
    max_connections: usize,
}

impl Places {
    pub(crate) fn new(permits: Arc<Semaphore>, max_connections: usize) -> Self {
        Self { permits, max_connections }
    }

    /// Whether a client has to show that it receives packets at its address. Others could take the
    /// permits with packets from false addresses. quinn keeps a closed connection for a while after
    /// it has returned its permit. RFC 9000 8.1, 10.2
    fn are_scarce(&self, endpoint: &Endpoint) -> bool {
        self.permits.available_permits() < self.max_connections.div_ceil(2)
            || endpoint.open_connections() > self.max_connections
    }
}

async fn accept(endpoint: Endpoint, handler: Arc<ConnectionHandler>, places: Places) {
    let next_permit = || Arc::clone(&places.permits).acquire_owned();
    let mut permit = pin!(next_permit());
    // Clients that wait for a permit. Their first packets are kept, and sent again.
    let mut waiting = VecDeque::new();
    loop {
        tokio::select! {
            incoming = endpoint.accept() => {
                let Some(incoming) = incoming else { return };
                let is_full = waiting.len() >= MAX_INCOMING
                    || endpoint.open_connections() > CLOSED_FACTOR * places.max_connections;
                let is_validated = incoming.remote_address_validated();
                if is_full {
                    incoming.ignore();
                } else if !is_validated && incoming.may_retry() && places.are_scarce(&endpoint) {
                    // This cannot fail, because it is permitted.
                    let _ = incoming.retry();
                } else {
                    waiting.push_back(incoming);
                }
            }
            acquired = &mut permit, if !waiting.is_empty() => {
                let (Ok(acquired), Some(incoming)) = (acquired, waiting.pop_front()) else { return };
                permit.set(next_permit());
                let handler = Arc::clone(&handler);
                tokio::spawn(async move {
                    let _permit = acquired;
                    let peer = incoming.remote_address();
                    let line = handler.run_quic(incoming).await;
                    explain::print_line(format_args!("{peer}  {line}"));
                });
            }
        }
    }
}

impl ConnectionHandler {
    /// Serves the connection to its end, and returns the log line.
    async fn run_quic(&self, incoming: Incoming) -> String {
        let connecting = match incoming.accept() {
            Ok(connecting) => connecting,
            Err(error) => return failed(&error),
        };
        // On a server, this does not fail. It permits to read the reason for a failure.
        let Ok((connection, complete)) = connecting.into_0rtt() else {
            return "cannot accept the connection".to_owned();
        };
        // Requests in early data are answered when the handshake is complete, so that a replay by
        // an attacker gets no answer.
        if timeout(self.timeout.0, complete).await.is_err() {
            http3::close(&connection);
            return "handshake timed out".to_owned();
        }
        let info = match complete_info(&connection) {
            Ok(info) => info,
            Err(why) => return why,
        };
        if self.update_key {
            // The handshake is confirmed on a server when it is complete. RFC 9001 4.1.2, 6.1
            connection.force_key_update();
        }
        let line = format!("HTTP/3 {}", summary(&info, None));
        let responder = self.content.responder(&info, None);
        drop(info);
        match Box::pin(self.serve_http3(&connection, responder)).await {
            Ok(()) => line,
            Err(why) => format!("{line}  {why}"),
        }
    }

    async fn serve_http3(
        &self,
        connection: &quinn::Connection,
        responder: Responder,
    ) -> Result<(), String> {
        let mut builder = h3::server::builder();
        builder.max_field_section_size(http3::MAX_HEAD);
        let streams = QuicConnection::new(connection.clone());
        // This waits until the client permits three streams. Boxed, because these values are large.
        let begun = timeout(self.timeout.0, Box::pin(builder.build::<_, Bytes>(streams))).await;
        let begun = begun.map_err(|_| "timed out".to_owned())?;
        let mut http = Box::new(begun.map_err(|error| http_error(&error, connection))?);
        let progress = Progress::new();
        let (mut responses, mut headless) = (JoinSet::new(), 0);
        let mut ending = self.ending.clone();
        let end = loop {
            tokio::select! {
                request = http.accept() => match request {
                    Ok(Some(request)) => {
                        let responder = responder.clone();
                        responses.spawn(answer(request, responder, progress.clone()));
                        while let Some(ended) = responses.try_join_next() {
                            headless += usize::from(ended.is_ok_and(|had_head| !had_head));
                        }
                        if headless > MAX_HEADLESS {
                            let why = b"too many requests were aborted";
                            connection.close(http3::code(Code::H3_EXCESSIVE_LOAD), why);
                            return Err("too many requests were aborted".to_owned());
                        }
                    }
                    Ok(None) => break Ok(()),
                    Err(error) if error.is_h3_no_error() => return Ok(()),
                    Err(error) => return Err(http_error(&error, connection)),
                },
                () = progress.until_stalled(self.timeout.0) => break Err("timed out".to_owned()),
                _ = ending.wait_for(|ending| *ending) => break Ok(()),
            }
        };
        let _ = timeout(GRACE, finish(&mut http, &mut responses)).await;
        end
    }
}

/// Waits until the responses in progress have been delivered. Further requests are rejected.
async fn finish(http: &mut Connection<QuicConnection, Bytes>, responses: &mut JoinSet<bool>) {
    // An error ends the connection, and the responses with it.
    let _ = http.shutdown(0).await;
    let delivered = async { while responses.join_next().await.is_some() {} };
    let driven = async { while let Ok(Some(_)) = http.accept().await {} };
    tokio::select! {
        () = delivered => {}
        () = driven => {}
    }
}

/// Sends the response to a request, and waits until it has been delivered. Returns whether the
/// request had a head.
async fn answer(
    request: RequestResolver<QuicConnection, Bytes>,
    responder: Responder,
    progress: Progress,
) -> bool {
    // The connection reports errors that end it. Others end this stream only.
    let Ok((request, stream)) = request.resolve_request().await else { return false };
    let _ = respond(&request, stream, responder, progress).await;
    true
}

async fn respond(
    request: &hyper::Request<()>,
    mut stream: RequestStream<QuicBidiStream, Bytes>,
    responder: Responder,
    progress: Progress,
) -> Result<(), StreamError> {
    progress.advance();
    let is_head = request.method() == Method::HEAD;
    let response = match path_of(request) {
        Ok(path) => responder.answer(path.to_owned()).await,
        Err(status) => Response::status(status),
    };
    let (head, body) = response.into_hyper(is_head, false, progress).into_parts();
    stream.send_response(hyper::Response::from_parts(head, ())).await?;
    let mut body = pin!(body);
    while let Some(frame) = poll_fn(|context| body.as_mut().poll_frame(context)).await {
        match frame.map(hyper::body::Frame::into_data) {
            Ok(Ok(data)) => stream.send_data(data).await?,
            Ok(Err(_)) => {}
            // The response is shorter than declared.
            Err(_) => {
                stream.stop_stream(Code::H3_INTERNAL_ERROR);
                return Ok(());
            }
        }
    }
    // The content of the request is not needed. RFC 9114 4.1
    stream.stop_sending(Code::H3_NO_ERROR);
    stream.finish().await
}

/// The parameters of a connection whose handshake has ended, or the reason why it failed.
fn complete_info(connection: &quinn::Connection) -> Result<Arc<ConnectionInfo>, String> {
    let tls = match handshake_result(connection.handshake_data()) {
        Ok(info) => return Ok(info),
        Err(tls) => tls,
    };
    Err(match (tls, connection.close_reason()) {
        (Some(failure), _) => match &failure.refusal {
            Some(refusal) => format!("certificate refused: {refusal}"),
            None => explain::connection_with_client(&std::io::Error::other(failure.ended.error)),
        },
        (None, Some(error)) => failed(&error),
        (None, None) => "handshake failed".to_owned(),
    })
}

/// The reason why the connection of a client ended.
fn failed(error: &quinn::ConnectionError) -> String {
    match alert_of(error) {
        Some(alert) => {
            let error = tercel::Error::AlertReceived(alert);
            explain::connection_with_client(&std::io::Error::other(error))
        }
        None => http3::connection_error(error),
    }
}

/// Control streams and those of QPACK, and some for extensions. RFC 9114 6.2
const MAX_UNI_STREAMS: u32 = 16;
const STREAM_WINDOW: u32 = 64 << 10;
const WINDOW: u32 = 256 << 10;
/// The bytes of responses that wait for a client's acknowledgements, at most.
const SEND_WINDOW: u64 = 1 << 20;

/// The requests of a connection that a client may abort before their head is complete. h3 0.0.8
/// remembers the stream of each until the end of the connection. RFC 9114 10.5
const MAX_HEADLESS: usize = 1000;

/// The number of connections that wait for a permit, and the bytes that each may send meanwhile.
const MAX_INCOMING: usize = 256;
const INCOMING_BUFFER: u64 = 16 << 10;

/// How many times as many connections as may be open can exist, with those that are closed and kept
/// by quinn, before packets of new clients are ignored.
const CLOSED_FACTOR: usize = 4;

/// The time for the packets with which connections are closed.
const LAST_PACKETS: Duration = Duration::from_millis(50);
