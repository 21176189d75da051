//! One attempt to connect, and the second one with the configurations for Encrypted ClientHello
//! that the server has authenticated. RFC 9849 6.1.6

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tercel::ech::Offer;
use tercel::{ClientConfig, Handshake, ServerName};

use super::Options;
use super::ech::second_offer;
use super::failure::{Failure, Reason};
use super::handshake::{self, Completed};
use super::report::Timings;
use crate::starttls::Protocol;
use crate::target::Target;
use crate::transport::Transport;

/// What is connected to, and how.
pub(super) struct Attempt<'a> {
    pub(super) options: &'a Options,
    pub(super) config: Arc<ClientConfig>,
    pub(super) name: ServerName<'static>,
    /// The server whose name and port the sessions have.
    pub(super) target: Target,
    /// The server of the TCP connection.
    pub(super) endpoint: Target,
    pub(super) early_data: Vec<u8>,
}

/// A connection after its handshake.
pub(super) struct Established {
    pub(super) transport: Transport,
    pub(super) peer: SocketAddr,
    pub(super) timings: Timings,
    pub(super) completed: Completed,
    /// Whether this is the second attempt.
    pub(super) ech_retried: bool,
}

impl Attempt<'_> {
    /// Connects; if the server rejects Encrypted ClientHello, once more.
    pub(super) fn run(&self, offer: &Offer) -> Result<Established> {
        let error = match self.connect(offer.clone()) {
            Ok(established) => return Ok(established),
            Err(error) => error,
        };
        let failure = error.downcast_ref::<Failure>();
        let Some(configs) = failure.and_then(|failure| failure.ech_retry_configs.as_ref()) else {
            return Err(error);
        };
        let next = second_offer(self.options, offer, configs);
        self.connect(next).map(|established| Established { ech_retried: true, ..established })
    }

    fn connect(&self, offer: Offer) -> Result<Established> {
        let Self { options, config, name, target, .. } = self;
        let start = Instant::now();
        let socket = self.endpoint.connect(options.timeout);
        let socket =
            socket.map_err(|error| Failure::new(Reason::Connect, &format!("{error:#}")))?;
        let tcp_connect = start.elapsed();
        let peer = socket.peer_addr().context("connection lost")?;

        let transport = Transport::new(socket, options.timeout)?;
        let starttls = match options.starttls {
            Some(protocol) => Some(start_tls(protocol, &transport, name, options.timeout)?),
            None => None,
        };
        // The servers at other ports of this name have other sessions.
        let handshake = Handshake::client_with_port(Arc::clone(config), name.clone(), target.port);
        let mut handshake = handshake.with_ech(offer);
        let start = Instant::now();
        transport.set_deadline(start + options.timeout);
        let completed = handshake::complete(&mut handshake, &transport, self.early_data.clone());
        let (tcp_connect, handshake_time) = (Some(tcp_connect), start.elapsed());
        let timings = Timings { tcp_connect, starttls, handshake: handshake_time };
        match completed {
            Ok(completed) => {
                Ok(Established { transport, peer, timings, completed, ech_retried: false })
            }
            Err(error) => {
                let failure = Failure::of_handshake(&error, &handshake, starttls.is_some());
                let failure = failure.of_server(name);
                // The alert, if any, must reach the peer.
                transport.close_gracefully();
                Err(failure.into())
            }
        }
    }
}

/// Runs the dialogue before the handshake, and returns its duration.
fn start_tls(
    protocol: Protocol,
    mut transport: &Transport,
    name: &ServerName<'_>,
    timeout: Duration,
) -> Result<Duration> {
    let start = Instant::now();
    transport.set_deadline(start + timeout);
    match protocol.begin(&mut transport, &name.to_str()) {
        Ok(()) => Ok(start.elapsed()),
        Err(why) => Err(Failure::new(Reason::Starttls, &why).into()),
    }
}
