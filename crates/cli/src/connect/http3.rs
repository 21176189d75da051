//! A connection over QUIC, and one request over HTTP/3. RFC 9114

use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use h3::client::RequestStream;
use hyper::body::{Buf, Bytes};
use hyper::{Method, Request, Response};
use tercel::ech::Offer;
use tercel::session::ClientSessionStore;
use tercel::{ClientConfig, ConnectionInfo, Error, ServerName};
use tokio::time::{sleep, timeout};

use super::ech::{EchPlan, plan, second_offer};
use super::failure::{Failure, Reason};
use super::http::{HttpRequest, print_content, print_head};
use super::report::{Report, Timings};
use super::session_file::SessionFile;
use super::{Options, print_only, refused};
use crate::http3::{
    self, ArrivingSessions, Client, EarlyConnection, Established, Http, Opened, alert_of,
    client_config_with_ech, request_error,
};
use crate::output;

/// Connects, reports, and sends the request.
pub(crate) fn run(
    options: &Options,
    config: &Arc<ClientConfig>,
    sessions: Option<&SessionFile>,
) -> Result<()> {
    let (target, method) = (options.target()?, options.method()?);
    let name = options.client.server_name(&target.host)?;
    let EchPlan { offer, endpoint } = plan(options, &target)?;
    let addresses = endpoint.as_ref().unwrap_or(&target).addresses();
    let addresses = addresses.map_err(|why| Failure::new(Reason::Connect, &format!("{why:#}")))?;
    let store = sessions.map(|sessions| {
        Arc::new(ArrivingSessions::new(Arc::clone(&sessions.store) as Arc<dyn ClientSessionStore>))
    });
    let config = match &store {
        Some(store) => config.with_session_store(Arc::clone(store) as _),
        None => Arc::clone(config),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot create a runtime")?;
    let configure =
        |offer: &Offer| client_config_with_ech(Arc::clone(&config), target.port, offer.clone());
    let is_retry = false;
    let mut exchange =
        Exchange { options, method, name, config: configure(&offer)?, store, is_retry };
    let error = match runtime.block_on(Box::pin(exchange.run(&addresses))) {
        Ok(()) => return Ok(()),
        Err(error) => error,
    };
    let failure = error.downcast_ref::<Failure>();
    let Some(configs) = failure.and_then(|failure| failure.ech_retry_configs.as_ref()) else {
        return refused(options, error);
    };
    exchange.config = configure(&second_offer(options, &offer, configs))?;
    exchange.is_retry = true;
    let outcome = runtime.block_on(Box::pin(exchange.run(&addresses)));
    outcome.or_else(|error| refused(options, error))
}

/// The connection and its request.
struct Exchange<'a> {
    options: &'a Options,
    method: Option<Method>,
    name: ServerName<'static>,
    config: quinn::ClientConfig,
    store: Option<Arc<ArrivingSessions>>,
    /// Whether the server has rejected Encrypted ClientHello on a connection before this one.
    is_retry: bool,
}

/// A request that was sent, and its HTTP/3 connection, which does not process anything yet.
struct SentRequest {
    http: Http,
    stream: RequestStream<http3::QuicBidiStream, Bytes>,
}

impl Exchange<'_> {
    async fn run(&self, addresses: &[SocketAddr]) -> Result<()> {
        let start = Instant::now();
        let (client, peer, opened) = match self.open(addresses).await {
            Ok(opened) => opened,
            Err(failure) => return Err(Failure::from(failure).of_server(&self.name).into()),
        };
        let outcome = match opened {
            Opened::Established(established) => {
                Box::pin(self.use_connection(peer, start, established)).await
            }
            Opened::Early(early) => Box::pin(self.use_early_connection(peer, start, early)).await,
        };
        client.finish().await;
        outcome
    }

    /// Connects to the first address that answers. The time limit is divided among the addresses.
    async fn open(
        &self,
        addresses: &[SocketAddr],
    ) -> Result<(Client, SocketAddr, Opened), http3::Failure> {
        let deadline = Instant::now() + self.options.timeout;
        let mut last = http3::Failure::Local("no address found".to_owned());
        for (index, address) in addresses.iter().enumerate() {
            let left = u32::try_from(addresses.len() - index).unwrap_or(u32::MAX);
            let share = deadline.saturating_duration_since(Instant::now()) / left;
            let client = match Client::new(*address) {
                Ok(client) => client,
                Err(error) => {
                    let why = crate::explain::io_error(&error);
                    last = http3::Failure::Local(format!("cannot connect to {address}: {why}"));
                    continue;
                }
            };
            let opened = match self.options.early_request {
                true => client.connect_early(&self.config, &self.name, share).await,
                false => {
                    let connected = client.connect(&self.config, &self.name, share).await;
                    connected.map(Opened::Established)
                }
            };
            match opened {
                Ok(opened) => return Ok((client, *address, opened)),
                Err(failure @ (http3::Failure::Refused | http3::Failure::TimedOut)) => {
                    last = failure;
                }
                Err(failure) => return Err(failure),
            }
        }
        Err(last)
    }

    async fn use_connection(
        &self,
        peer: SocketAddr,
        start: Instant,
        established: Established,
    ) -> Result<()> {
        let Established { connection, info } = established;
        let timings = Timings { tcp_connect: None, starttls: None, handshake: start.elapsed() };
        let report = self.report(peer, &info, timings);
        let Some(method) = &self.method else {
            let alert = self.await_confirmation(&connection).await;
            http3::close(&connection);
            return print_only(self.options, &report, alert);
        };
        self.print(&report);
        let request = self.http_request(method);
        let exchange = async {
            let sent = self.send(&connection, &request).await?;
            self.receive(&connection, sent, &request).await
        };
        self.within_limit(&connection, &request, exchange).await
    }

    /// Sends the request as early data, and again if the server rejects it.
    async fn use_early_connection(
        &self,
        peer: SocketAddr,
        start: Instant,
        early: EarlyConnection,
    ) -> Result<()> {
        let request = self.http_request(self.method.as_ref().unwrap_or(&Method::GET));
        // Nothing of this waits for the server, unless the session permits too few streams.
        let sending = timeout(self.options.timeout, self.send(&early.connection, &request));
        let early_request = sending.await.unwrap_or_else(|_| Err(request.timed_out()));
        let completed = early.complete(self.options.timeout).await;
        let Established { connection, info } = match completed {
            Ok(established) => established,
            Err(failure) => return Err(Failure::from(failure).of_server(&self.name).into()),
        };
        let timings = Timings { tcp_connect: None, starttls: None, handshake: start.elapsed() };
        self.print(&self.report(peer, &info, timings));
        let exchange = async {
            let sent = if info.early_data == tercel::EarlyData::Accepted {
                early_request?
            } else {
                // The streams of the early request are lost, and so is its HTTP/3, which has not
                // accepted a stream of the server yet. RFC 9001 4.6.2
                drop(early_request);
                self.send(&connection, &request).await?
            };
            self.receive(&connection, sent, &request).await
        };
        self.within_limit(&connection, &request, exchange).await
    }

    fn report(&self, peer: SocketAddr, info: &ConnectionInfo, timings: Timings) -> Report {
        let mut report = Report::new(peer, info, timings);
        report.add_ech(&self.name, self.is_retry, info);
        report
    }

    fn print(&self, report: &Report) {
        if !self.options.quiet {
            report.print(true);
        }
    }

    fn http_request<'r>(&'r self, method: &Method) -> HttpRequest<'r> {
        let Options { address, timeout, quiet, .. } = self.options;
        HttpRequest { method: method.clone(), address, timeout: *timeout, quiet: *quiet }
    }

    /// Limits the time of an exchange, then waits for a session and closes.
    async fn within_limit(
        &self,
        connection: &quinn::Connection,
        request: &HttpRequest<'_>,
        exchange: impl Future<Output = Result<()>>,
    ) -> Result<()> {
        let ended = Box::pin(timeout(request.timeout, exchange)).await;
        ended.map_err(|_| request.timed_out())??;
        if let Some(store) = &self.store {
            // Usually the session has arrived before the response.
            let _ = timeout(CLOSE_LIMIT, store.arrived()).await;
        }
        http3::close(connection);
        Ok(())
    }

    /// Begins HTTP/3, and sends the request.
    async fn send(
        &self,
        connection: &quinn::Connection,
        request: &HttpRequest<'_>,
    ) -> Result<SentRequest> {
        let begun = Http::begin(connection).await;
        let mut http = begun.map_err(|why| anyhow!("HTTP/3: {why}"))?;
        let failed = |error| anyhow!("HTTP/3: {}", request_error(&error, connection));
        let head: Request<()> = request.request(request.absolute_uri()?);
        let mut stream = http.sender.send_request(head).await.map_err(failed)?;
        stream.finish().await.map_err(failed)?;
        Ok(SentRequest { http, stream })
    }

    /// Receives the response, and prints it.
    async fn receive(
        &self,
        connection: &quinn::Connection,
        sent: SentRequest,
        request: &HttpRequest<'_>,
    ) -> Result<()> {
        let SentRequest { http, mut stream } = sent;
        let Http { mut driver, sender } = http;
        tokio::spawn(async move {
            let _ = poll_fn(|context| driver.poll_close(context)).await;
        });
        let failed = |error| anyhow!("HTTP/3: {}", request_error(&error, connection));
        let response = loop {
            let response: Response<()> = stream.recv_response().await.map_err(failed)?;
            // Interim responses precede the final one. RFC 9114 4.1
            if !response.status().is_informational() {
                break response;
            }
        };
        if !request.quiet {
            print_head(&response.into_parts().0);
        }
        while let Some(mut data) = stream.recv_data().await.map_err(failed)? {
            print_content(&data.copy_to_bytes(data.remaining()))?;
        }
        drop(sender);
        output::print("")
    }

    /// Waits until the server has confirmed the handshake, which shows that it accepts the client,
    /// and until a session has arrived if sessions are kept. Returns the alert with which the
    /// server refused the client. RFC 9001 4.1.2
    async fn await_confirmation(&self, connection: &quinn::Connection) -> Option<Error> {
        let confirmed = async {
            while connection.stats().frame_rx.handshake_done == 0 {
                sleep(CONFIRMATION_STEP).await;
            }
            if let Some(store) = &self.store {
                store.arrived().await;
            }
        };
        tokio::select! {
            _ = timeout(CLOSE_LIMIT, confirmed) => None,
            error = connection.closed() => alert_of(&error).map(Error::AlertReceived),
        }
    }
}

/// The limit for what follows a handshake or a response.
const CLOSE_LIMIT: Duration = Duration::from_secs(1);
const CONFIRMATION_STEP: Duration = Duration::from_millis(1);
