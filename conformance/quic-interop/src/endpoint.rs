//! An endpoint of quinn: on Tercel, or on rustls as another program.

use std::any::Any;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Result;
use quinn::crypto::{ClientConfig, ServerConfig};
use quinn::{Connection, ConnectionError, Incoming, TransportConfig, VarInt};

use crate::exchange::{self, Exchanges};
use crate::facts::Facts;
use crate::options::Options;
use crate::stacks::{self, Stack};
use crate::watched::{Observed, Sessions, WatchedConfig};

/// Serves until the process is ended. Prints a line when it is ready, and one for each connection.
pub(crate) async fn serve(stack: Stack, options: Options) -> Result<()> {
    let sessions = Sessions::default();
    let inner = stacks::server(stack, &options)?;
    let crypto: Arc<WatchedConfig<dyn ServerConfig>> =
        Arc::new(WatchedConfig { inner, sessions: sessions.clone() });
    let key = tercel_quinn::TokenKey(tercel_quinn::tercel::quic::TokenKey::random()?);
    let mut config = quinn::ServerConfig::new(crypto, Arc::new(key));
    config.transport_config(transport());
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, options.port));
    let endpoint = tercel_quinn::server_endpoint(config, address)?;
    println!("ready");
    while let Some(incoming) = endpoint.accept().await {
        if options.retry && !incoming.remote_address_validated() {
            // The incoming is new, so it can be retried.
            _ = incoming.retry();
            continue;
        }
        let (options, sessions) = (options.clone(), sessions.clone());
        tokio::spawn(async move {
            // The session of a connection is started by `accept`, without waiting.
            let number = sessions.count();
            let retried = incoming.remote_address_validated();
            let mut facts = serve_one(incoming, &options, || sessions.observed(number)).await;
            if retried {
                facts.set("retry", 1);
            }
            println!("{facts}");
        });
    }
    Ok(())
}

async fn serve_one(
    incoming: Incoming,
    options: &Options,
    observed: impl Fn() -> Observed,
) -> Facts {
    let mut connecting = match incoming.accept() {
        Ok(connecting) => connecting,
        Err(error) => return failed(&error, &observed()),
    };
    // Resolves with the client's ClientHello.
    if let Err(error) = connecting.handshake_data().await {
        return failed(&error, &observed());
    }
    // The conversion to 0-RTT always succeeds on a server.
    let (connection, complete) = match connecting.into_0rtt() {
        Ok(early) => early,
        Err(_) => unreachable!(),
    };
    if options.key_update {
        let connection = connection.clone();
        tokio::spawn(async move {
            complete.await;
            connection.force_key_update();
        });
    }
    let exchanges = AtomicUsize::new(0);
    let done = || _ = exchanges.fetch_add(1, Ordering::Relaxed);
    let details = Mutex::new(Facts::default());
    let served = async {
        let described = describe(&connection);
        let protocol = described.get("protocol").unwrap_or_default().to_owned();
        *details.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = described;
        exchange::serve(&protocol, connection.clone(), done).await
    };
    // The end of the connection ends the service, with an error that says no more.
    _ = served.await;
    let reason = connection.closed().await;
    if code(&reason).is_some() {
        return failed(&reason, &observed());
    }
    let mut facts = details.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    facts.set("certificates", identity(&connection));
    finish(facts, &observed(), exchanges.load(Ordering::Relaxed))
}

/// Makes connections, and prints a line for each.
pub(crate) async fn connect(stack: Stack, options: Options) -> Result<()> {
    let sessions = Sessions::default();
    let inner = stacks::client(stack, &options)?;
    let crypto: Arc<WatchedConfig<dyn ClientConfig>> =
        Arc::new(WatchedConfig { inner, sessions: sessions.clone() });
    let mut config = quinn::ClientConfig::new(crypto);
    config.transport_config(transport());
    let mut endpoint = tercel_quinn::client_endpoint((Ipv4Addr::LOCALHOST, 0).into())?;
    endpoint.set_default_client_config(config);
    for number in 0..options.connections {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, options.port));
        let connecting = endpoint.connect(address, "localhost")?;
        let (connection, early) = if options.early_data {
            match connecting.into_0rtt() {
                Ok((connection, accepted)) => (Ok(connection), Some(accepted)),
                Err(connecting) => (connecting.await, None),
            }
        } else {
            (connecting.await, None)
        };
        let observed = || sessions.observed(number);
        let facts = match connection {
            Err(error) => failed(&error, &observed()),
            Ok(connection) => {
                let exchanged = exchange_all(&connection, &options, early).await;
                let mut facts = match connection.close_reason() {
                    Some(reason) => failed(&reason, &observed()),
                    None => finish(
                        describe(&connection),
                        &observed(),
                        *exchanged.as_ref().unwrap_or(&0),
                    ),
                };
                if let Err(error) = exchanged {
                    facts.set("failed", format!("{error:#}").replace(char::is_whitespace, "_"));
                }
                facts.set("certificates", observed().client_certificates);
                // Tickets may arrive later than the last exchange.
                tokio::time::sleep(Duration::from_millis(300)).await;
                connection.close(VarInt::from_u32(NO_ERROR), b"");
                facts
            }
        };
        println!("{facts}");
    }
    _ = tokio::time::timeout(Duration::from_secs(2), endpoint.wait_idle()).await;
    Ok(())
}

/// Makes the exchanges of one connection. Returns their number.
async fn exchange_all(
    connection: &Connection,
    options: &Options,
    early: Option<quinn::ZeroRttAccepted>,
) -> Result<usize> {
    let mut exchanges = Exchanges::new(&options.alpn, connection.clone()).await?;
    exchanges.exchange().await?;
    if let Some(accepted) = early {
        accepted.await;
    }
    if options.key_update {
        connection.force_key_update();
    }
    // In this time a server may update its keys.
    tokio::time::sleep(PAUSE).await;
    for _ in 0..2 {
        exchanges.exchange().await?;
    }
    Ok(3)
}

/// The time between a client's first exchange and the later ones.
const PAUSE: Duration = Duration::from_millis(200);

/// H3_NO_ERROR, which is meaningless for other protocols. RFC 9114 8.1
const NO_ERROR: u32 = 0x0100;

fn transport() -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    transport.max_idle_timeout(Some(VarInt::from_u32(5000).into()));
    Arc::new(transport)
}

/// The negotiated parameters.
fn describe(connection: &Connection) -> Facts {
    let mut facts = Facts::default();
    let Some(data) = connection.handshake_data() else { return facts };
    let text =
        |bytes: Option<Vec<u8>>| String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned();
    match data.downcast::<tercel_quinn::HandshakeData>() {
        Ok(data) => {
            facts.set("protocol", text(data.protocol));
            facts.set("suite", format!("{:04x}", data.cipher_suite.0));
            facts.set("resumed", u8::from(data.resumed));
            if let Some(group) = data.group {
                facts.set("group", format!("{:04x}", group.0));
            }
        }
        Err(data) => {
            if let Ok(data) = data.downcast::<quinn::crypto::rustls::HandshakeData>() {
                facts.set("protocol", text(data.protocol));
            }
        }
    }
    facts
}

/// The number of certificates that the peer sent.
fn identity(connection: &Connection) -> usize {
    let chain: Option<Box<dyn Any>> = connection.peer_identity();
    let chain = chain
        .and_then(|chain| chain.downcast::<Vec<rustls::pki_types::CertificateDer<'static>>>().ok());
    chain.map_or(0, |chain| chain.len())
}

fn finish(mut facts: Facts, observed: &Observed, exchanges: usize) -> Facts {
    facts.set("exchanges", exchanges);
    facts.set("retry", u8::from(observed.retry));
    facts.set("hello-retry", u8::from(observed.hello_retry));
    facts.set("early", u8::from(observed.early_data_accepted));
    facts.set("early-packets", observed.early_packets);
    for (name, here) in [("updates-here", true), ("updates-there", false)] {
        let begun = observed.key_phases.iter().filter(|phase| **phase == Some(here));
        facts.set(name, begun.count());
    }
    facts
}

fn failed(reason: &ConnectionError, observed: &Observed) -> Facts {
    let mut facts = finish(Facts::default(), observed, 0);
    match code(reason) {
        Some(code) => facts.set("code", format!("{code:#06x}")),
        None => facts.set("failed", reason.to_string().replace(char::is_whitespace, "_")),
    }
    facts
}

/// The code of a transport with which the connection was closed, by this side or by the peer.
fn code(reason: &ConnectionError) -> Option<u64> {
    match reason {
        ConnectionError::TransportError(error) => Some(error.code.into()),
        ConnectionError::ConnectionClosed(close) if u64::from(close.error_code) != 0 => {
            Some(close.error_code.into())
        }
        _ => None,
    }
}
