//! Clients of quinn that never send their Finished message.

use std::any::Any;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use quinn_proto::crypto::{
    ClientConfig, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, Session,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError};
use tercel_quinn::{QuicClientConfig, client_endpoint};
use tokio::task::JoinSet;

/// The number of simultaneous clients: more than the server admits, and few enough that a regular
/// client gets its turn within its time limit.
const AT_ONCE: usize = 100;

/// The time after which a client closes its connection. The server's time limit is shorter.
const PATIENCE: Duration = Duration::from_secs(5);

/// Sends this number of clients. Returns how many completed the handshake.
pub(super) async fn send(
    clients: usize,
    server: SocketAddr,
    tls: &Arc<tercel::ClientConfig>,
) -> Result<usize> {
    let crypto = QuicClientConfig::try_from(Arc::clone(tls))?;
    let config = quinn::ClientConfig::new(Arc::new(Unfinished(Arc::new(crypto))));
    let endpoint = client_endpoint((Ipv4Addr::LOCALHOST, 0).into())?;
    let (mut running, mut completed) = (JoinSet::new(), 0);
    for number in 0..clients {
        if number >= AT_ONCE {
            completed +=
                usize::from(running.join_next().await.is_some_and(|done| done.unwrap_or(true)));
        }
        let connecting = endpoint.connect_with(config.clone(), server, super::NAME)?;
        running.spawn(async move {
            // quinn completes a client's handshake with its Finished, which is not sent.
            tokio::time::timeout(PATIENCE, async {
                let connection = connecting.await?;
                // The server has to confirm the handshake, or to end the connection.
                connection.accept_uni().await
            })
            .await
            .is_ok_and(|opened| opened.is_ok())
        });
    }
    while let Some(done) = running.join_next().await {
        completed += usize::from(done.unwrap_or(true));
    }
    Ok(completed)
}

/// A configuration whose sessions lose their Finished message.
struct Unfinished(Arc<QuicClientConfig>);

impl ClientConfig for Unfinished {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        let inner = Arc::clone(&self.0).start_session(version, server_name, params)?;
        Ok(Box::new(UnfinishedSession { inner, has_sent_hello: false }))
    }
}

struct UnfinishedSession {
    inner: Box<dyn Session>,
    has_sent_hello: bool,
}

impl Session for UnfinishedSession {
    fn initial_keys(&self, dst_cid: &ConnectionId, side: Side) -> Keys {
        self.inner.initial_keys(dst_cid, side)
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.inner.handshake_data()
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.inner.peer_identity()
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        self.inner.early_crypto()
    }

    fn early_data_accepted(&self) -> Option<bool> {
        self.inner.early_data_accepted()
    }

    fn is_handshaking(&self) -> bool {
        self.inner.is_handshaking()
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.inner.read_handshake(buf)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        self.inner.transport_parameters()
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        let before = buf.len();
        let keys = self.inner.write_handshake(buf);
        if self.has_sent_hello {
            buf.truncate(before);
        }
        self.has_sent_hello |= buf.len() > before;
        keys
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        self.inner.next_1rtt_keys()
    }

    fn is_valid_retry(&self, id: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        self.inner.is_valid_retry(id, header, payload)
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.inner.export_keying_material(output, label, context)
    }
}
