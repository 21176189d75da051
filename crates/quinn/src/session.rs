//! A handshake and its connection, as quinn drives them.

use std::any::Any;
use std::collections::VecDeque;
use std::io::Cursor;
use std::sync::Arc;

use quinn_proto::crypto::{self, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectionId, Side, TransportError, TransportErrorCode};
use tercel::error::{InternalError, PeerError};
use tercel::pki::Refusal;
use tercel::quic::{self, DirectionKeys, Ended, Handshake, Incoming, KeyUpdates, Next, Version};
use tercel::wire::{CipherSuite, NamedGroup};
use tercel::{ConnectionInfo, EarlyData, Error, Exporter};

use crate::keys::{NO_MEMORY, early, initial_keys, keys, packet_keys};

/// What was negotiated: the value of `Connection::handshake_data`, unless TLS ended the connection
/// ([`TlsFailure`]).
///
/// ```
/// use tercel_quinn::HandshakeData;
///
/// fn protocol(connection: &quinn::Connection) -> Option<Vec<u8>> {
///     connection.handshake_data()?.downcast::<HandshakeData>().ok()?.protocol
/// }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HandshakeData {
    /// The application protocol. RFC 7301
    pub protocol: Option<Vec<u8>>,
    /// Server: the server name that the client requested. RFC 6066 3
    pub server_name: Option<String>,
    /// The cipher suite.
    pub cipher_suite: CipherSuite,
    /// The key exchange group.
    pub group: Option<NamedGroup>,
    /// Whether a session was resumed.
    pub resumed: bool,
    /// All negotiated parameters, with the peer's certificate, when the handshake is complete.
    pub info: Option<Arc<ConnectionInfo>>,
}

impl HandshakeData {
    fn new(info: &ConnectionInfo, complete: Option<&Arc<ConnectionInfo>>) -> Self {
        Self {
            protocol: info.alpn.clone(),
            server_name: info.server_name.clone(),
            cipher_suite: info.cipher_suite,
            group: info.group,
            resumed: info.resumed,
            info: complete.cloned(),
        }
    }
}

/// The reason why TLS ended the handshake or the connection on this side: the value of
/// `Connection::handshake_data` and `Connecting::handshake_data` after that.
///
/// ```
/// use tercel_quinn::TlsFailure;
///
/// # async fn run(mut connecting: quinn::Connecting) -> Option<()> {
/// let data = connecting.handshake_data().await.ok()?;
/// if let Some(failure) = data.downcast_ref::<TlsFailure>() {
///     match &failure.refusal {
///         Some(refusal) => eprintln!("the certificate was refused: {refusal}"),
///         None => eprintln!("{}", failure.ended),
///     }
/// }
/// # Some(()) }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TlsFailure {
    /// The error, and the code with which the connection was closed.
    pub ended: Ended,
    /// The details of a refused certificate.
    pub refusal: Option<Refusal>,
    /// The configurations that a server has sent which rejected Encrypted ClientHello: for one
    /// further attempt, which is without Encrypted ClientHello if none of them is usable. `None`
    /// after any other error. RFC 9849 6.1.6
    #[cfg(feature = "ech")]
    #[cfg_attr(docsrs, doc(cfg(feature = "ech")))]
    pub ech_retry_configs: Option<tercel::ech::ConfigList>,
}

/// A session of quinn.
pub(crate) struct Session {
    version: Version,
    side: Side,
    state: State,
    /// What has to be passed to quinn, in order.
    outputs: VecDeque<Output>,
    early_keys: Option<Arc<DirectionKeys>>,
    updates: Option<KeyUpdates>,
    /// Whether quinn knows that the handshake data is there.
    has_reported_data: bool,
}

#[allow(clippy::large_enum_variant, reason = "a session is boxed")]
enum State {
    Handshake(Handshake),
    Connected(Connected),
    Failed(Box<TlsFailure>),
}

/// The parts of a connection that quinn may ask for.
struct Connected {
    info: Arc<ConnectionInfo>,
    exporter: Exporter,
    peer_parameters: Vec<u8>,
    incoming: Incoming,
}

impl Connected {
    fn new(connection: quic::Connection) -> Self {
        let quic::Connection { info, exporter, peer_parameters, incoming, .. } = connection;
        Self { info: Arc::new(info), exporter, peer_parameters, incoming }
    }
}

enum Output {
    Data(Vec<u8>),
    HandshakeKeys(Box<quic::Keys>),
    ApplicationKeys(Box<quic::Keys>, KeyUpdates),
}

impl Output {
    fn is_keys(&self) -> bool {
        match self {
            Self::Data(_) => false,
            Self::HandshakeKeys(_) | Self::ApplicationKeys(..) => true,
        }
    }
}

impl Session {
    /// Creates a session, which on a client has the first data to send.
    ///
    /// # Errors
    /// If a client cannot form its ClientHello. Quinn would send nothing then, so no answer could
    /// lead to [`crypto::Session::read_handshake`], which returns all later errors.
    pub(crate) fn new(handshake: Handshake, version: Version) -> Result<Self, Ended> {
        let side = match handshake.side() {
            tercel::Side::Client => Side::Client,
            tercel::Side::Server => Side::Server,
        };
        let mut session = Self {
            version,
            side,
            state: State::Handshake(handshake),
            outputs: VecDeque::new(),
            early_keys: None,
            updates: None,
            has_reported_data: false,
        };
        if side == Side::Client {
            session.advance()?;
        }
        Ok(session)
    }

    /// Continues the handshake until it needs data.
    fn advance(&mut self) -> Result<(), Ended> {
        while let State::Handshake(handshake) = &mut self.state {
            match handshake.advance() {
                Ok(Next::Receive) => break,
                Ok(Next::Send(_, data)) => self.outputs.push_back(Output::Data(data)),
                Ok(Next::EarlyKeys(keys)) => self.early_keys = Some(Arc::from(keys)),
                // Quinn learns this from `early_data_accepted`.
                Ok(Next::EarlyDataRejected) => {}
                Ok(Next::HandshakeKeys(keys)) => {
                    self.outputs.push_back(Output::HandshakeKeys(keys));
                }
                Ok(Next::ApplicationKeys(keys, updates)) => {
                    self.outputs.push_back(Output::ApplicationKeys(keys, updates));
                }
                Ok(Next::Connected(connection)) => {
                    self.state = State::Connected(Connected::new(*connection));
                }
                // A configuration that was chosen for this connection, or a credential that
                // replaced another one, asks the application.
                Ok(_) => return Err(Error::Internal(InternalError::RefusedByApplication).into()),
                Err(ended) => return Err(ended),
            }
        }
        Ok(())
    }

    fn read(&mut self, data: &[u8]) -> Result<(), Ended> {
        // Quinn takes keys once it has processed all frames of a packet. Until then, it passes data
        // of the level before these keys, which has ended. RFC 9001 4.1.3
        if !data.is_empty() && self.outputs.iter().any(Output::is_keys) {
            return Err(Error::Peer(PeerError::WrongEncryptionLevel).into());
        }
        match &mut self.state {
            State::Handshake(handshake) => {
                handshake.receive(handshake.read_level(), data)?;
                self.advance()
            }
            State::Connected(connection) => {
                let incoming = &mut connection.incoming;
                incoming.receive(data)?;
                // The secret for tickets is not kept for the whole connection.
                if incoming.has_received_tickets() {
                    incoming.ignore_tickets();
                }
                Ok(())
            }
            State::Failed(failure) => Err(failure.ended),
        }
    }

    /// Ends the connection with this error.
    fn fail(&mut self, ended: Ended) {
        self.outputs.clear();
        let handshake = match &self.state {
            State::Handshake(handshake) => Some(handshake),
            State::Connected(_) => None,
            // The first failure is the reason.
            State::Failed(_) => return,
        };
        let failure = TlsFailure {
            ended,
            refusal: handshake.and_then(|handshake| handshake.refusal().cloned()),
            #[cfg(feature = "ech")]
            ech_retry_configs: handshake
                .and_then(|handshake| handshake.ech_retry_configs().cloned()),
        };
        self.state = State::Failed(Box::new(failure));
    }

    /// The negotiated parameters, which a server knows before the client's Finished.
    fn info(&self) -> Option<&ConnectionInfo> {
        match &self.state {
            State::Handshake(handshake) => handshake.early_info(),
            State::Connected(connection) => Some(&*connection.info),
            State::Failed(_) => None,
        }
    }
}

impl crypto::Session for Session {
    fn initial_keys(&self, dst_cid: &ConnectionId, side: Side) -> Keys {
        initial_keys(self.version, dst_cid, side)
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        let complete = match &self.state {
            State::Failed(failure) => return Some(failure.clone()),
            State::Connected(connected) => Some(&connected.info),
            State::Handshake(_) => None,
        };
        Some(Box::new(HandshakeData::new(self.info()?, complete)))
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        let State::Connected(connection) = &self.state else { return None };
        let chain = connection.info.peer_chain();
        if chain.is_empty() {
            return None;
        }
        Some(Box::new(chain.to_vec()))
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        self.early_keys.as_ref().map(early)
    }

    fn early_data_accepted(&self) -> Option<bool> {
        let State::Connected(connection) = &self.state else { return None };
        let accepted = connection.info.early_data == EarlyData::Accepted;
        (self.side == Side::Client).then_some(accepted)
    }

    fn is_handshaking(&self) -> bool {
        !matches!(self.state, State::Connected(_))
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        if let Err(ended) = self.read(buf) {
            self.fail(ended);
            return Err(transport_error(ended));
        }
        let is_new = !self.has_reported_data && self.info().is_some();
        self.has_reported_data |= is_new;
        Ok(is_new)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        let bytes = match &self.state {
            State::Handshake(handshake) => handshake.peer_parameters(),
            State::Connected(connection) => Some(&connection.peer_parameters[..]),
            State::Failed(_) => None,
        };
        let Some(bytes) = bytes else { return Ok(None) };
        let read = TransportParameters::read(self.side, &mut Cursor::new(bytes));
        Ok(Some(read.map_err(TransportError::from)?))
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        // Data is of the level before the keys that follow it.
        loop {
            match self.outputs.pop_front()? {
                Output::Data(data) if buf.is_empty() => *buf = data,
                Output::Data(data) => buf.extend_from_slice(&data),
                Output::HandshakeKeys(made) => return Some(keys(*made)),
                Output::ApplicationKeys(made, updates) => {
                    self.updates = Some(updates);
                    return Some(keys(*made));
                }
            }
        }
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        Some(packet_keys(self.updates.as_mut()?.next_keys().expect(NO_MEMORY)))
    }

    fn is_valid_retry(&self, orig_dst_cid: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        quic::is_valid_retry(self.version, orig_dst_cid, &[header, payload].concat())
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        let State::Connected(connection) = &self.state else {
            return Err(ExportKeyingMaterialError);
        };
        let exported = connection.exporter.export(label, Some(context), output);
        exported.map_err(|_| ExportKeyingMaterialError)
    }
}

/// The error of quinn for the end of a handshake or connection. RFC 9001 4.8
fn transport_error(ended: Ended) -> TransportError {
    let code = match (u8::try_from(ended.code.wrapping_sub(0x0100)), ended.code) {
        (Ok(alert), _) => TransportErrorCode::crypto(alert),
        (Err(_), 0x0a) => TransportErrorCode::PROTOCOL_VIOLATION,
        (Err(_), 0x0d) => TransportErrorCode::CRYPTO_BUFFER_EXCEEDED,
        (Err(_), _) => TransportErrorCode::INTERNAL_ERROR,
    };
    TransportError { code, frame: None, reason: ended.to_string() }
}
