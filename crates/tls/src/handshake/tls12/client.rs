//! The TLS 1.2 client. Its steps have the order of the RFC's figures. RFC 5246 7.3
//!
//! [`handshake`] processes the ServerHello; [`full_handshake`] and [`abbreviated_handshake`] list
//! the steps after it. `auth`, `key_exchange` and `finished` contain the messages that both sides
//! send, `client_hello` contains the first flight.

use std::sync::Arc;

use tercel_crypto::{PublicKey, Secret};
use tercel_wire::{
    CertificateRequestTls12, CertificateStatus, ClientKeyExchange, CompressionMethod,
    ExtensionType, HandshakeMessage, HandshakeType, NewSessionTicketTls12, ProtocolVersion,
    ServerHello, ServerHelloDone, ServerKeyExchange, SignatureScheme, check_point_formats,
};

use super::key_exchange::Agreement;
use super::{certificate_messages, finished, key_exchange};
use crate::auth::certificate_expectations::timestamp_list;
use crate::auth::certificate_verify::verify_signature;
use crate::auth::credential::Credential;
use crate::auth::server_identity::ServerIdentity;
use crate::config::client::ClientConfig;
use crate::connection::info::{ConnectionInfo, Ech};
use crate::error::{Error, PeerError};
use crate::handshake::client_hello::offer::{Offer, OfferedSession};
use crate::handshake::identity::PeerCertificate;
use crate::handshake::runtime::command::Command;
use crate::handshake::runtime::coroutine::{Completion, Outcome, boxed};
use crate::handshake::runtime::established::Established;
use crate::handshake::runtime::flow::Flow;
use crate::handshake::runtime::record_limits::{self, RecordLimits};
use crate::handshake::secret_log::SecretLog;
use crate::handshake::short_list::ShortList;
use crate::handshake::transcript::Transcript;
use crate::handshake::{certificate_type_negotiation, client_session, identity, negotiate};
use crate::keys::direction::Keys;
use crate::keys::suite::Suite;
use crate::keys::tls12::{Exporter12, KeyBlock, MainSecret12, Randoms};
use crate::keys::{scheme, suite};
use crate::record::joiner::Message;
use crate::resumption::session::Session;
use crate::side::Side;

/// Performs the handshake from a ServerHello that selected TLS 1.2.
///
/// Each kind of handshake is in a box of its own size, because an abbreviated handshake needs less
/// memory.
pub(crate) fn handshake(
    mut flow: Flow,
    config: Arc<ClientConfig>,
    offer: Offer,
    hello: &ServerHello<'_>,
    message: &[u8],
) -> Outcome {
    flow.execute(Command::Negotiated(ProtocolVersion::TLS1_2))?;
    let (client, kind) = Client::new(flow, config, offer, hello, message)?;
    Ok(Completion::Continue(match kind {
        Kind::Full(parameters) => boxed(|| full_handshake(client, parameters)),
        Kind::Abbreviated(session) => boxed(|| abbreviated_handshake(client, session)),
    }))
}

/// Performs a full handshake after the ServerHello. RFC 5246 7.3, figure 1
#[allow(clippy::manual_async_fn, reason = "an async fn holds its arguments twice")]
pub(crate) fn full_handshake(
    mut client: Client,
    parameters: FullHandshakeParameters,
) -> impl Future<Output = Outcome> + Send {
    async move {
        let (mut certificate, key) = client.receive_certificate(parameters.timestamps).await?;
        let message =
            client.receive_certificate_status(parameters.status, &mut certificate).await?;
        let agreement = client.receive_server_key_exchange(message, key)?;
        let request = client.receive_request_and_done().await?;
        client.verify_certificate(&certificate).await?;
        let credential = match &request {
            Some(request) => client.send_certificate(request).await?,
            None => None,
        };
        let main = client.send_client_key_exchange(agreement)?;
        if let Some((credential, scheme)) = credential {
            client.send_certificate_verify(credential, scheme).await?;
        }
        let read_keys = client.send_finished(&main)?;
        let ticket = client.receive_session_ticket().await?;
        client.receive_finished(read_keys, &main).await?;
        client.complete(&main, certificate, &parameters.session_id, ticket)
    }
}

/// Performs an abbreviated handshake after the ServerHello. RFC 5246 7.3, figure 2
#[allow(clippy::manual_async_fn, reason = "an async fn holds its arguments twice")]
pub(crate) fn abbreviated_handshake(
    mut client: Client,
    session: Box<Session>,
) -> impl Future<Output = Outcome> + Send {
    async move {
        client.log_main_secret(&session);
        let ticket = client.receive_session_ticket().await?;
        let (KeyBlock { client: write_keys, server: read_keys }, expected, verify_data) =
            finished::abbreviated(session.main_secret(), &client.randoms, &mut client.transcript);
        finished::receive(&mut client.flow, read_keys, &expected, None).await?;
        finished::send(&mut client.flow, write_keys, &verify_data, None)?;
        client.complete_resumed(session, ticket)
    }
}

/// A client that has received a ServerHello.
pub(crate) struct Client {
    flow: Flow,
    config: Arc<ClientConfig>,
    server: ServerIdentity,
    suite: &'static Suite,
    randoms: Randoms,
    transcript: Transcript,
    info: ConnectionInfo,
    /// Whether the server will send a session ticket. RFC 5077 3.2
    ticket_promised: bool,
    /// Whether the session of this connection is kept.
    keeps_session: bool,
    /// The record limits for the time after the handshake.
    limits: RecordLimits,
}

/// The kind of handshake that a ServerHello leads to. RFC 5246 7.3
enum Kind {
    Full(FullHandshakeParameters),
    /// The session is resumed.
    Abbreviated(Box<Session>),
}

/// Further content of the ServerHello that starts a full handshake.
pub(crate) struct FullHandshakeParameters {
    /// A SignedCertificateTimestampList, if the server sent one. RFC 6962 3.3.1
    timestamps: Option<Vec<u8>>,
    /// Whether the server may send a CertificateStatus message. RFC 6066 8
    status: bool,
    session_id: ShortList<u8, 32>,
}

/// The lifetime hint of a ticket in seconds, and the ticket.
type Ticket = (u32, Vec<u8>);

impl Client {
    /// Checks the server's selections against the offer. RFC 5246 7.4.1.3
    fn new(
        flow: Flow,
        config: Arc<ClientConfig>,
        mut offer: Offer,
        hello: &ServerHello<'_>,
        message: &[u8],
    ) -> Result<(Self, Kind), Error> {
        if hello.compression_method != CompressionMethod::NULL {
            return Err(PeerError::Compression.into());
        }
        check_downgrade(hello, &config)?;
        let session = resumed_session(hello, &mut offer)?;
        check_extensions(hello, &offer)?;
        let suite = chosen_suite(hello, &config)?;
        let mut info = ConnectionInfo::new(ProtocolVersion::TLS1_2, suite.code);
        accept_extensions(hello, &config, &mut info)?;
        offer.ech.report(&mut info);
        // The messages are kept for the client's signature, which only a full handshake can
        // contain. RFC 5246 7.4.8
        let mut transcript = if config.credentials.is_some() && session.is_none() {
            Transcript::keeping_messages(suite.hash)
        } else {
            Transcript::new(suite.hash)
        };
        transcript.add(&offer.message);
        transcript.add(message);
        let kind = match session {
            Some(session) => {
                check_resumption(&session, &info)?;
                info.resumed = true;
                info.group = session.group;
                Kind::Abbreviated(session)
            }
            None => Kind::Full(FullHandshakeParameters {
                timestamps: hello
                    .extensions
                    .signed_certificate_timestamp
                    .map(timestamp_list)
                    .transpose()?,
                status: hello.extensions.status_request.is_some(),
                session_id: ShortList::joined(0, &[hello.session_id_echo]),
            }),
        };
        let client = Self {
            limits: limits(&config, hello),
            flow,
            config,
            server: offer.server,
            suite,
            randoms: Randoms { client: offer.random, server: *hello.random },
            transcript,
            info,
            ticket_promised: hello.extensions.session_ticket.is_some(),
            keeps_session: true,
        };
        Ok((client, kind))
    }

    /// Receives the server's chain or raw public key. Its key must fit the cipher suite.
    /// RFC 5246 7.4.2
    async fn receive_certificate(
        &mut self,
        timestamps: Option<Vec<u8>>,
    ) -> Result<(PeerCertificate, PublicKey), Error> {
        let Self { flow, config, suite, transcript, info, .. } = self;
        let message = flow.read_expected(HandshakeType::CERTIFICATE).await?;
        certificate_type_negotiation::check_server(config, info)?;
        let certificate_type = info.server_certificate_type;
        let mut server =
            certificate_messages::parse_certificate(&message, Side::Server, certificate_type)?
                .ok_or(PeerError::EmptyCertificate)?;
        let key = server.public_key(config.common.legacy_peer_keys)?;
        if suite.authentication != Some(key_exchange::authentication_of(key.kind())) {
            return Err(PeerError::WrongCertificateType.into());
        }
        // The curve of the key must be one of the offered groups. RFC 8422 5.3
        if scheme::curve(key.kind()).is_some_and(|curve| !config.common.groups.contains(&curve)) {
            return Err(PeerError::WrongCertificateType.into());
        }
        transcript.add(message.bytes());
        server.ocsp_requested = config.common.request_ocsp;
        server.signed_certificate_timestamps = timestamps;
        Ok((server, key))
    }

    /// Receives the stapled OCSP response, if the server sends the promised message. Returns the
    /// ServerKeyExchange, which is the next message. RFC 6066 8
    async fn receive_certificate_status(
        &mut self,
        promised: bool,
        server: &mut PeerCertificate,
    ) -> Result<Message, Error> {
        let message = self.flow.read().await;
        if message.kind() == HandshakeType::CERTIFICATE_STATUS && promised {
            let status = CertificateStatus::parse(message.body())?;
            server.ocsp_response = Some(status.ocsp_response.to_vec());
            self.transcript.add(message.bytes());
            return self.flow.read_expected(HandshakeType::SERVER_KEY_EXCHANGE).await;
        }
        message.require(HandshakeType::SERVER_KEY_EXCHANGE)?;
        Ok(message)
    }

    /// Processes the server's key share, and verifies its signature with the key of the server's
    /// certificate. Drops the message, which shares a buffer with the certificates.
    /// RFC 5246 7.4.3, RFC 8422 5.4
    fn receive_server_key_exchange(
        &mut self,
        message: Message,
        key: PublicKey,
    ) -> Result<Agreement, Error> {
        let Self { config, randoms, transcript, info, .. } = self;
        let parsed = ServerKeyExchange::parse(message.body())?;
        let group = parsed.params.named_curve;
        if !config.common.groups.contains(&group) || negotiate::is_post_quantum(group) {
            return Err(PeerError::WrongGroup.into());
        }
        verify_signature(
            || Ok(key),
            parsed.algorithm,
            ProtocolVersion::TLS1_2,
            &config.common.signature_schemes,
            &key_exchange::signed_params(randoms, &parsed.params),
            parsed.signature,
        )?;
        let agreement = key_exchange::respond(group, parsed.params.public)?;
        info.group = Some(group);
        info.peer_signature_scheme = Some(parsed.algorithm);
        transcript.add(message.bytes());
        drop(message);
        Ok(agreement)
    }

    /// Receives the CertificateRequest, if the server sends one, and ServerHelloDone.
    /// RFC 5246 7.4.4, 7.4.5
    async fn receive_request_and_done(&mut self) -> Result<Option<Message>, Error> {
        let Self { flow, transcript, .. } = self;
        let message = flow.read().await;
        if message.kind() != HandshakeType::CERTIFICATE_REQUEST {
            receive_done(&message, transcript)?;
            // No signature will need the messages, so they are dropped.
            drop(transcript.take_messages());
            return Ok(None);
        }
        CertificateRequestTls12::parse(message.body())?;
        transcript.add(message.bytes());
        receive_done(&flow.read().await, transcript)?;
        Ok(Some(message))
    }

    /// Verifies the server's certificate with the verifier of the configuration. RFC 5246 7.4.2
    async fn verify_certificate(&mut self, certificate: &PeerCertificate) -> Result<(), Error> {
        let Self { flow, config, server, .. } = self;
        let (name, now) = (server.handshake_name(), config.common.clock.now());
        identity::verify(flow, &config.verifier, certificate, Some(name), now).await
    }

    /// Answers the CertificateRequest with a suitable credential or, if there is none, with an
    /// empty Certificate. Returns the credential. RFC 5246 7.4.6
    async fn send_certificate(
        &mut self,
        request: &Message,
    ) -> Result<Option<(Arc<Credential>, SignatureScheme)>, Error> {
        let Self { flow, config, transcript, info, keeps_session, .. } = self;
        *keeps_session = config.keeps_sessions_after_request();
        certificate_type_negotiation::check_client(config, info)?;
        let (version, certificate_type) = (ProtocolVersion::TLS1_2, info.client_certificate_type);
        let chosen = if info.ech == Ech::Rejected {
            // Under the public name, the client does not authenticate. RFC 9849 6.1.7
            None
        } else {
            identity::select_for_server(flow, config, request, version, certificate_type).await?
        };
        let credential = chosen.as_ref().map(|(credential, _)| credential);
        certificate_messages::send_certificate(flow, transcript, credential)?;
        Ok(chosen)
    }

    /// Sends the client's key share, and derives the main secret. RFC 5246 7.4.7, 8.1
    fn send_client_key_exchange(&mut self, agreement: Agreement) -> Result<MainSecret12, Error> {
        let Self { flow, config, suite, randoms, transcript, info, .. } = self;
        let Agreement { share, shared } = agreement;
        flow.send(&ClientKeyExchange { ecdh_public: &share }, transcript)?;
        let log = SecretLog::new(config.common.key_log.clone(), &randoms.client);
        let extended = info.extended_main_secret;
        Ok(key_exchange::main_secret(suite, &shared, randoms, extended, transcript, &log))
    }

    /// Sends a CertificateVerify. RFC 5246 7.4.8
    async fn send_certificate_verify(
        &mut self,
        credential: Arc<Credential>,
        scheme: SignatureScheme,
    ) -> Result<(), Error> {
        let Self { flow, transcript, info, .. } = self;
        info.own_signature_scheme = Some(scheme);
        certificate_messages::send_verify(flow, transcript, &credential, scheme).await
    }

    /// Sends the client's ChangeCipherSpec and Finished. Returns the server's keys.
    /// RFC 5246 7.1, 7.4.9
    fn send_finished(&mut self, main: &MainSecret12) -> Result<Keys, Error> {
        let Self { flow, randoms, transcript, .. } = self;
        let (KeyBlock { client, server }, verify_data) =
            main.keys_and_client_finished(randoms, &transcript.digest());
        finished::send(flow, client, &verify_data, Some(transcript))?;
        Ok(server)
    }

    /// Receives the ticket, if the ServerHello promised one. RFC 5077 3.2, 3.3
    async fn receive_session_ticket(&mut self) -> Result<Option<Ticket>, Error> {
        if !self.ticket_promised {
            return Ok(None);
        }
        let message = self.flow.read_expected(HandshakeType::NEW_SESSION_TICKET).await?;
        let ticket = NewSessionTicketTls12::parse(message.body())?;
        self.transcript.add(message.bytes());
        Ok(Some((ticket.ticket_lifetime_hint, ticket.ticket.to_vec())))
    }

    /// Receives the server's ChangeCipherSpec and Finished. RFC 5246 7.1, 7.4.9
    async fn receive_finished(&mut self, keys: Keys, main: &MainSecret12) -> Result<(), Error> {
        let expected = main.server_verify_data(&self.transcript.digest());
        // The limits apply only to protected records. From here on, the server protects its
        // records. RFC 8449 4
        self.flow.execute(self.limits)?;
        finished::receive(&mut self.flow, keys, &expected, None).await
    }

    /// Creates the connection, and stores its session.
    fn complete(
        mut self,
        main: &MainSecret12,
        certificate: PeerCertificate,
        session_id: &[u8],
        ticket: Option<Ticket>,
    ) -> Outcome {
        self.flow.check_ech(&mut self.info)?;
        self.info.set_peer(certificate);
        let session = self.new_session(main, session_id, ticket);
        let Self { mut flow, config, server, info, randoms, .. } = self;
        let exporter = exporter(main, &randoms, &info);
        flow.connect(Established::tls12(info, exporter, &config.common))?;
        client_session::store_session(&mut flow, &config, &server, session)?;
        Ok(Completion::Done)
    }

    /// Creates the session of a full handshake, with its ticket or ID. RFC 5246 7.4.1.3,
    /// RFC 5077 3.4
    fn new_session(
        &self,
        main: &MainSecret12,
        id: &[u8],
        ticket: Option<Ticket>,
    ) -> Option<Box<Session>> {
        let Self { config, server, suite, info, .. } = self;
        config.resumption.store.as_ref().filter(|_| self.keeps_session)?;
        let mut session = Box::new(client_session::template(config, server, info, suite, None));
        session.secret = Secret::new(main.as_bytes());
        if let Some(ticket) = ticket {
            return client_session::with_ticket(config, session, ticket);
        }
        session.identity = id.to_vec();
        session.lifetime = client_session::LIFETIME_OF_ID;
        (!id.is_empty()).then_some(session)
    }

    /// Logs the main secret, which a resumption takes from the session. RFC 5246 F.1.4
    fn log_main_secret(&self, session: &Session) {
        let log = SecretLog::new(self.config.common.key_log.clone(), &self.randoms.client);
        log.log("CLIENT_RANDOM", session.main_secret().as_bytes());
    }

    /// Creates the connection, and stores the session again, with a new ticket if there is one.
    fn complete_resumed(self, mut session: Box<Session>, ticket: Option<Ticket>) -> Outcome {
        let Self { mut flow, config, server, mut info, randoms, limits, .. } = self;
        flow.execute(limits)?;
        let exporter = exporter(session.main_secret(), &randoms, &info);
        info.restore(&session);
        // Only the ticket and the application protocol can change.
        session.alpn.clone_from(&info.alpn);
        let session = match ticket {
            Some(ticket) => client_session::with_ticket(&config, session, ticket),
            None => Some(session),
        };
        flow.connect(Established::tls12(info, exporter, &config.common))?;
        client_session::store_session(&mut flow, &config, &server, session)?;
        Ok(Completion::Done)
    }
}

fn exporter(main: &MainSecret12, randoms: &Randoms, info: &ConnectionInfo) -> Exporter12 {
    Exporter12::new(main, randoms.client, randoms.server, info.extended_main_secret)
}

/// Checks the server random. A server that supports TLS 1.3 marks the random when it selects a
/// lower version. RFC 9846 4.2.3
fn check_downgrade(hello: &ServerHello<'_>, config: &ClientConfig) -> Result<(), Error> {
    let tail = hello.random.last_chunk::<8>();
    let marked = tail == Some(&ServerHello::DOWNGRADE_TO_TLS12)
        || tail == Some(&ServerHello::DOWNGRADE_BELOW_TLS12);
    if marked && config.common.has_version(ProtocolVersion::TLS1_3) {
        return Err(PeerError::Downgrade.into());
    }
    Ok(())
}

/// Returns the session that is resumed, if there is one. A server that resumes a session echoes the
/// client's session ID. RFC 5246 7.4.1.3, RFC 5077 3.4
fn resumed_session(
    hello: &ServerHello<'_>,
    offer: &mut Offer,
) -> Result<Option<Box<Session>>, Error> {
    if offer.session_id.is_empty() || hello.session_id_echo != &*offer.session_id {
        return Ok(None);
    }
    match offer.session.take() {
        Some(OfferedSession::Tls12(session)) => Ok(Some(session)),
        // This ID was sent for middlebox compatibility, and belongs to no session. RFC 9846 E.4
        Some(OfferedSession::Tls13(..)) | None => Err(PeerError::SessionIdNotEchoed.into()),
    }
}

/// Checks that the server sends only extensions that were offered. RFC 5246 7.4.1.4
fn check_extensions(hello: &ServerHello<'_>, offer: &Offer) -> Result<(), Error> {
    let offered = offer.offered();
    let allowed = |kind: ExtensionType| offered.contains(kind) && IN_SERVER_HELLO.contains(&kind);
    if hello.extensions.types().all(allowed) {
        Ok(())
    } else {
        Err(PeerError::UnexpectedExtension.into())
    }
}

/// The extensions that are allowed in a ServerHello of TLS 1.2.
///
/// supported_groups is not allowed there and has no meaning, but some old servers send it.
const IN_SERVER_HELLO: [ExtensionType; 13] = [
    ExtensionType::SESSION_TICKET,
    ExtensionType::SERVER_NAME,
    ExtensionType::MAX_FRAGMENT_LENGTH,
    ExtensionType::STATUS_REQUEST,
    ExtensionType::SUPPORTED_GROUPS,
    ExtensionType::EC_POINT_FORMATS,
    ExtensionType::APPLICATION_LAYER_PROTOCOL_NEGOTIATION,
    ExtensionType::SIGNED_CERTIFICATE_TIMESTAMP,
    ExtensionType::CLIENT_CERTIFICATE_TYPE,
    ExtensionType::SERVER_CERTIFICATE_TYPE,
    ExtensionType::EXTENDED_MASTER_SECRET,
    ExtensionType::RECORD_SIZE_LIMIT,
    ExtensionType::RENEGOTIATION_INFO,
];

fn chosen_suite(hello: &ServerHello<'_>, config: &ClientConfig) -> Result<&'static Suite, Error> {
    suite::find(hello.cipher_suite)
        .filter(|suite| !suite.is_tls13() && config.common.suites.contains(suite))
        .ok_or_else(|| PeerError::WrongCipherSuiteChosen.into())
}

/// Checks that the cipher suite and the use of the extended main secret are those of the session.
/// RFC 5246 7.4.1.3, RFC 7627 5.3
fn check_resumption(session: &Session, info: &ConnectionInfo) -> Result<(), Error> {
    if session.suite.code != info.cipher_suite {
        return Err(PeerError::WrongCipherSuiteChosen.into());
    }
    if session.extended != info.extended_main_secret {
        return Err(PeerError::ExtendedMainSecretLost.into());
    }
    Ok(())
}

/// Checks the contents of the extensions, and stores the negotiated values.
fn accept_extensions(
    hello: &ServerHello<'_>,
    config: &ClientConfig,
    info: &mut ConnectionInfo,
) -> Result<(), Error> {
    let extensions = &hello.extensions;
    check_point_formats(extensions.ec_point_formats)?;
    match extensions.renegotiation_info {
        Some([]) => info.secure_renegotiation = true,
        // In an initial handshake, the extension must be empty. RFC 5746 3.4
        Some(_) => return Err(PeerError::RenegotiationMismatch.into()),
        None if config.require_secure_renegotiation => {
            return Err(PeerError::UnsafeLegacyRenegotiation.into());
        }
        None => {}
    }
    let extended = extensions.extended_master_secret.is_some();
    if config.common.require_extended_main_secret && !extended {
        return Err(PeerError::ExtendedMainSecretRequired.into());
    }
    info.extended_main_secret = extended;
    info.alpn = negotiate::accept_alpn(extensions.alpn.as_ref(), &config.common)?;
    let types = (extensions.server_certificate_type, extensions.client_certificate_type);
    certificate_type_negotiation::accept(types, config, info)?;
    record_limits::check(extensions.record_size_limit)
}

fn limits(config: &ClientConfig, hello: &ServerHello<'_>) -> RecordLimits {
    let theirs = hello.extensions.record_size_limit;
    let ours = config.common.record_size_limit.filter(|_| theirs.is_some());
    record_limits::tls12(&config.common, theirs, ours.map(|limit| limit.min(1 << 14)))
}

fn receive_done(message: &Message, transcript: &mut Transcript) -> Result<(), Error> {
    message.require(HandshakeType::SERVER_HELLO_DONE)?;
    ServerHelloDone::parse(message.body())?;
    transcript.add(message.bytes());
    Ok(())
}
