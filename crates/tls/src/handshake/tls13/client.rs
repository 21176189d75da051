//! The TLS 1.3 client. Its steps have the order of the RFC's figure. RFC 9846 2, A.1
//!
//! [`handshake`] lists the steps. `server_hello` processes a HelloRetryRequest, `auth` contains the
//! messages that both sides send, and `client_hello` writes the ClientHello.

use std::sync::Arc;

use tercel_crypto::HashAlgorithm;
use tercel_wire::{
    CertificateRequest, DecodeError, EncryptedExtensions, EndOfEarlyData, ExtensionType,
    HandshakeMessage, HandshakeType, ProtocolVersion, ServerHello, ServerKeyShare,
};

use super::authentication_messages::{CertificateOptions, ReceivedCertificate};
use super::secrets::{ApplicationKeys, application_keys, handshake_keys};
use super::server_hello::ReceivedServerHello;
use super::{authentication_messages, server_hello};
use crate::config::client::ClientConfig;
use crate::connection::export::Exporter;
use crate::connection::info::{ConnectionInfo, EarlyData, EarlyDataRejection, Ech};
use crate::connection::post_handshake_auth::HandshakeContext;
use crate::error::{Error, PeerError};
use crate::handshake::client_hello::offer::{Offer, OfferedSession};
use crate::handshake::runtime::command::Command;
use crate::handshake::runtime::coroutine::{Completion, Outcome};
use crate::handshake::runtime::established::Established;
use crate::handshake::runtime::flow::Flow;
use crate::handshake::runtime::record_limits;
use crate::handshake::secret_log::SecretLog;
use crate::handshake::transcript::Transcript;
use crate::handshake::{certificate_type_negotiation, client_session, identity, negotiate};
use crate::keys::direction::{Keys, NewKeys};
use crate::keys::suite::Suite;
use crate::keys::tls13::{EarlySecret, FinishedKey, HandshakeKeys, MainSecret};
use crate::psk::PreSharedKey;
use crate::record::joiner::Message;
use crate::resumption::session::Session;
use crate::side::Side;

/// Performs the whole handshake, starting with the ServerHello or HelloRetryRequest in `first`.
#[allow(clippy::manual_async_fn, reason = "an async fn holds its arguments twice")]
pub(crate) fn handshake(
    mut flow: Flow,
    config: Arc<ClientConfig>,
    mut offer: Offer,
    first: Message,
) -> impl Future<Output = Outcome> + Send {
    async move {
        let (flow, config) = (&mut flow, &config);
        flow.execute(Command::Negotiated(ProtocolVersion::TLS1_3))?;
        let offered_early_data = offer.early_data;
        let received = server_hello::receive(flow, config, &mut offer, first).await?;
        let (mut client, server_hello) =
            Client::new(flow, config, &mut offer, received, offered_early_data);
        let (server, keys) = client.exchange_keys(server_hello)?;
        client.receive_encrypted_extensions(&server).await?;
        let authenticated = server.authenticated();
        let request = client.authenticate_server(server).await?;
        client.receive_finished(&keys.server_finished).await?;
        let (write_keys, exporter) = client.change_to_application_keys(&keys.main)?;
        if let Some(request) = request {
            client.authenticate(request).await?;
        }
        authentication_messages::send_finished(
            client.flow,
            &mut client.transcript,
            &keys.client_finished,
        )?;
        client.flow.install_write(write_keys)?;
        client.flow.check_ech(&mut client.info)?;
        client.complete(exporter, &keys.main, authenticated)
    }
}

/// The means by which the server authenticates itself.
enum ServerAuth {
    /// The session that is resumed.
    Session(Box<Session>),
    /// An external pre-shared key.
    External(Arc<PreSharedKey>),
    /// A certificate or raw public key.
    Certificate,
}

impl ServerAuth {
    /// Returns the time of the session's original full handshake, in seconds since the epoch.
    fn authenticated(&self) -> Option<u64> {
        match self {
            Self::Session(session) => Some(session.authenticated),
            Self::External(_) | Self::Certificate => None,
        }
    }
}

/// The keys that the steps after the key exchange use.
struct LaterKeys {
    server_finished: FinishedKey,
    client_finished: FinishedKey,
    main: MainSecret,
}

/// A client that has received a ServerHello.
struct Client<'a> {
    flow: &'a mut Flow,
    config: &'a Arc<ClientConfig>,
    offer: &'a mut Offer,
    suite: &'static Suite,
    transcript: Transcript,
    info: ConnectionInfo,
    /// The client's handshake keys, which are installed after the early data. `None` if no early
    /// data may be sent.
    keys_after_early_data: Option<Keys>,
    early_exporter: Option<Box<Exporter>>,
    log: SecretLog,
    /// Whether the sessions of this connection are kept.
    keeps_sessions: bool,
}

impl<'a> Client<'a> {
    /// Returns the client, and the ServerHello, which only the next step needs.
    fn new(
        flow: &'a mut Flow,
        config: &'a Arc<ClientConfig>,
        offer: &'a mut Offer,
        received: ReceivedServerHello,
        offered_early_data: bool,
    ) -> (Self, Message) {
        let ReceivedServerHello { message: server_hello, suite, transcript, retried } = received;
        let mut info = ConnectionInfo::new(ProtocolVersion::TLS1_3, suite.code);
        info.fips = config.common.fips_status;
        info.retried = retried;
        offer.ech.report(&mut info);
        if offered_early_data {
            info.reject_early_data(match retried {
                true => EarlyDataRejection::HelloRetryRequest,
                false => EarlyDataRejection::NotResumed,
            });
        }
        let log = SecretLog::new(config.common.key_log.clone(), &offer.random);
        let client = Self {
            flow,
            config,
            offer,
            suite,
            transcript,
            info,
            keys_after_early_data: None,
            early_exporter: None,
            log,
            keeps_sessions: true,
        };
        (client, server_hello)
    }

    /// Performs the key exchange and installs the handshake keys. While early data may be sent, the
    /// client's keys are kept for later. RFC 9846 4.3.8, 7.1
    fn exchange_keys(&mut self, server_hello: Message) -> Result<(ServerAuth, LaterKeys), Error> {
        let Self { flow, config, offer, suite, transcript, info, log, .. } = self;
        let hello = ServerHello::parse(server_hello.body())?;
        if config.only_pre_shared_keys && hello.extensions.pre_shared_key.is_none() {
            return Err(PeerError::PreSharedKeyDeclined.into());
        }
        let Some(ServerKeyShare::Entry(share)) = hello.extensions.key_share else {
            return Err(PeerError::MissingServerExtension.into());
        };
        info.group = Some(share.group);
        let shared = offer.agree(config, share.group, share.key_exchange)?;
        let (server, early) = chosen_key(&hello, offer, suite)?;
        match &server {
            // The early exporter is derived only with a session's key: without a key, an attacker
            // could compute the exporter.
            ServerAuth::Session(_) if offer.early_data => {
                let digest = offer.transcript(suite.hash).digest();
                let secret = early.early_exporter_secret(&digest);
                self.early_exporter = Some(Box::new(Exporter::tls13(secret)));
            }
            ServerAuth::External(key) => info.set_pre_shared_key(key.reference()),
            ServerAuth::Session(_) | ServerAuth::Certificate => {}
        }
        transcript.add(server_hello.bytes());
        drop(server_hello);
        let secret = early.into_handshake(&shared);
        // In middlebox compatibility mode, one change_cipher_spec is sent. RFC 9846 E.4
        let sent_early_data = info.early_data != EarlyData::NotOffered;
        if !offer.session_id.is_empty() && !info.retried && !sent_early_data {
            flow.execute(Command::SendChangeCipherSpec)?;
        }
        let over_quic = config.common.is_for_quic();
        let HandshakeKeys { client, server: server_keys, client_finished, server_finished, main } =
            handshake_keys(secret, transcript, log, over_quic);
        flow.install_read(Keys::from(server_keys))?;
        let client_keys = Keys::from(client);
        // Over QUIC, early data has packets of its own, and no EndOfEarlyData ends it. RFC 9001 8.3
        if offer.early_data && !over_quic {
            self.keys_after_early_data = Some(client_keys);
        } else {
            flow.install_write(client_keys)?;
        }
        Ok((server, LaterKeys { server_finished, client_finished, main }))
    }

    /// Receives the EncryptedExtensions. RFC 9846 4.4.1
    async fn receive_encrypted_extensions(&mut self, server: &ServerAuth) -> Result<(), Error> {
        let Self { flow, config, offer, transcript, info, .. } = self;
        let message = flow.read_expected(HandshakeType::ENCRYPTED_EXTENSIONS).await?;
        let extensions = EncryptedExtensions::parse(message.body())?;
        let offered = offer.offered();
        for kind in extensions.types() {
            // Extensions that were not offered, or that belong in other messages, are refused.
            // RFC 9846 4.3
            if !offered.contains(kind) || !IN_ENCRYPTED_EXTENSIONS.contains(&kind) {
                return Err(PeerError::UnexpectedExtension.into());
            }
        }
        // No later step needs the ClientHello, so it is freed before the largest messages arrive.
        offer.message = Vec::new();
        if let Some(body) = extensions.encrypted_client_hello {
            offer.ech.receive_retry_configs(body, info)?;
        }
        info.alpn = negotiate::accept_alpn(extensions.alpn.as_ref(), &config.common)?;
        config.common.check_protocol(info.alpn.as_deref())?;
        let parameters = extensions.quic_transport_parameters;
        flow.receive_transport_parameters(parameters, PeerError::MissingServerExtension)?;
        let types = (extensions.server_certificate_type, extensions.client_certificate_type);
        certificate_type_negotiation::accept(types, config, info)?;
        if extensions.early_data.is_some() {
            // Early data was sent with the cipher suite and the protocol of the session.
            // RFC 9846 4.3.10
            let session = match server {
                ServerAuth::Session(session) if offer.early_data => session,
                ServerAuth::External(_) => return Err(PeerError::EarlyDataMismatch.into()),
                _ => return Err(PeerError::UnexpectedExtension.into()),
            };
            if session.suite.code != info.cipher_suite || session.alpn != info.alpn {
                return Err(PeerError::EarlyDataMismatch.into());
            }
            info.early_data = EarlyData::Accepted;
            info.early_data_rejection = None;
        }
        if let Some(padding) = extensions.server_padding {
            // The server sends either the requested number of bytes or no padding.
            if config.server_padding.map(usize::from) != Some(padding.len()) {
                return Err(DecodeError::InvalidLength.into());
            }
            info.server_padding = true;
        }
        let theirs = extensions.record_size_limit;
        record_limits::check(theirs)?;
        let ours = config.common.record_size_limit.filter(|_| theirs.is_some());
        flow.execute(record_limits::tls13(&config.common, theirs, ours))?;
        flow.execute(Command::Padding(config.common.padding))?;
        transcript.add(message.bytes());
        if info.early_data == EarlyData::Rejected {
            if matches!(server, ServerAuth::Session(_)) && !info.retried {
                info.early_data_rejection = Some(EarlyDataRejection::ByServer);
            }
            match self.keys_after_early_data.take() {
                Some(keys) => self.flow.install_write(keys)?,
                // A HelloRetryRequest has ended the early data already.
                None if info.retried || !config.common.is_for_quic() => {}
                None => self.flow.execute(Command::AbandonEarlyData)?,
            }
        }
        Ok(())
    }

    /// Receives the server's CertificateRequest, if there is one, and its Certificate and
    /// CertificateVerify. None of these follow if a pre-shared key authenticates the server.
    /// Returns the request. RFC 9846 4.4.2, 4.5
    async fn authenticate_server(&mut self, server: ServerAuth) -> Result<Option<Message>, Error> {
        let Self { flow, config, offer, transcript, info, .. } = self;
        match server {
            ServerAuth::Session(session) => {
                info.resumed = true;
                info.restore(&session);
                return Ok(None);
            }
            // With an external key, neither side sends a certificate. RFC 9846 4.4.2, F.1
            ServerAuth::External(_) => return Ok(None),
            ServerAuth::Certificate => {}
        }
        let (request, certificate) = receive_request(flow, transcript).await?;
        certificate_type_negotiation::check_server(config, info)?;
        let expectations =
            config.common.certificate_expectations(Side::Server, info.server_certificate_type);
        let received =
            authentication_messages::receive(flow, transcript, &certificate, expectations).await?;
        let ReceivedCertificate { certificate, scheme } =
            received.ok_or(PeerError::EmptyCertificate)?;
        let (name, now) = (offer.server.handshake_name(), config.common.clock.now());
        identity::verify(flow, &config.verifier, &certificate, Some(name), now).await?;
        info.peer_signature_scheme = Some(scheme);
        info.set_peer(certificate);
        Ok(request)
    }

    /// Receives the server's Finished. RFC 9846 4.5.3
    async fn receive_finished(&mut self, key: &FinishedKey) -> Result<(), Error> {
        let finished = self.flow.read_expected(HandshakeType::FINISHED).await?;
        authentication_messages::check_finished(&finished, &mut self.transcript, key)
    }

    /// Derives the application keys, installs the keys for receiving, and ends early data. Returns
    /// the client's application keys and the exporter. RFC 9846 7.1, 4.6
    fn change_to_application_keys(
        &mut self,
        main: &MainSecret,
    ) -> Result<(NewKeys, Exporter), Error> {
        let ApplicationKeys { client, server, exporter } = application_keys(
            main,
            &mut self.transcript,
            &self.log,
            self.config.common.is_for_quic(),
        );
        // The server's Finished is its last message under handshake keys.
        self.flow.install_read(server)?;
        if let Some(own) = self.keys_after_early_data.take() {
            self.flow.send(&EndOfEarlyData, &mut self.transcript)?;
            self.flow.install_write(own)?;
        }
        Ok((client, exporter))
    }

    /// Answers a CertificateRequest with a suitable credential, or with an empty Certificate.
    /// RFC 9846 4.5.1
    async fn authenticate(&mut self, message: Message) -> Result<(), Error> {
        let Self { flow, config, transcript, info, keeps_sessions, .. } = self;
        *keeps_sessions = config.keeps_sessions_after_request();
        certificate_type_negotiation::check_client(config, info)?;
        let (version, certificate_type) = (ProtocolVersion::TLS1_3, info.client_certificate_type);
        let chosen = if info.ech == Ech::Rejected {
            // Under the public name, the client does not authenticate. RFC 9849 6.1.7
            None
        } else {
            identity::select_for_server(flow, config, &message, version, certificate_type).await?
        };
        let credential = chosen.as_ref().map(|(credential, _)| credential);
        let compression = &config.common.certificate_compression;
        let request = CertificateRequest::parse(message.body())?;
        let options = CertificateOptions::of_server(&request, compression);
        authentication_messages::send_certificate(flow, transcript, credential, &[], options)?;
        if let Some((credential, scheme)) = chosen {
            authentication_messages::send_verify(
                flow,
                transcript,
                &credential,
                scheme,
                Side::Client,
            )
            .await?;
            info.own_signature_scheme = Some(scheme);
        }
        Ok(())
    }

    /// Creates the connection, and the handler of its tickets.
    fn complete(
        self,
        exporter: Exporter,
        main: &MainSecret,
        authenticated: Option<u64>,
    ) -> Outcome {
        let Self { flow, config, offer, suite, mut transcript, mut info, keeps_sessions, .. } =
            self;
        info.post_handshake_auth = config.post_handshake_auth && info.permits_post_handshake_auth();
        // The transcript is kept only for post-handshake authentication. RFC 9846 4.7.2
        let answering = info.post_handshake_auth.then(|| {
            HandshakeContext::boxed(config, transcript.hash(), info.client_certificate_type)
        });
        let secret = || main.resumption_secret(&transcript.digest());
        let server = &offer.server;
        let mut sessions = match keeps_sessions {
            true => {
                client_session::from_tickets(config, server, &info, suite, authenticated, secret)
            }
            false => None,
        };
        let handler = sessions.as_mut().and_then(|sessions| sessions.tickets.as_mut());
        if let Some(handler) = handler {
            let peer_parameters = || flow.peer_transport_parameters();
            handler.template.quic = config.common.quic_session(peer_parameters);
        }
        let accepted = info.early_data == EarlyData::Accepted;
        flow.connect(Established {
            info,
            exporter,
            early_exporter: self.early_exporter.filter(|_| accepted),
            tolerate_truncation: config.common.tolerate_truncation,
            sessions,
            answering,
            requesting: None,
        })?;
        Ok(Completion::Done)
    }
}

/// Returns the pre-shared key that the server selected, and the early secret that is derived from
/// it. The key must have been offered and have the hash of the cipher suite. RFC 9846 4.3.11
fn chosen_key(
    hello: &ServerHello<'_>,
    offer: &mut Offer,
    suite: &'static Suite,
) -> Result<(ServerAuth, EarlySecret), Error> {
    let Some(index) = hello.extensions.pre_shared_key else {
        return Ok((ServerAuth::Certificate, EarlySecret::new(suite, None)));
    };
    let index = usize::from(index);
    // A TLS 1.3 session is offered before the external keys. A TLS 1.2 session is offered in other
    // fields.
    let external = match offer.session.take() {
        Some(OfferedSession::Tls13(session, early)) if index == 0 => {
            check_hash(session.suite.hash, suite)?;
            return Ok((ServerAuth::Session(session), early.for_suite(suite)));
        }
        Some(OfferedSession::Tls13(..)) => index.checked_sub(1),
        Some(OfferedSession::Tls12(_)) | None => Some(index),
    };
    let key = external.and_then(|index| offer.pre_shared_keys.get(index));
    let key = Arc::clone(key.ok_or(PeerError::WrongPreSharedKeyChosen)?);
    check_hash(key.hash(), suite)?;
    let early = EarlySecret::new(suite, Some(key.secret()));
    Ok((ServerAuth::External(key), early))
}

fn check_hash(hash: HashAlgorithm, suite: &Suite) -> Result<(), Error> {
    if hash == suite.hash { Ok(()) } else { Err(PeerError::WrongCipherSuiteChosen.into()) }
}

/// Receives the CertificateRequest, if the server sends one, and the message after it.
async fn receive_request(
    flow: &mut Flow,
    transcript: &mut Transcript,
) -> Result<(Option<Message>, Message), Error> {
    let message = flow.read().await;
    if message.kind() != HandshakeType::CERTIFICATE_REQUEST {
        return Ok((None, message));
    }
    let request = CertificateRequest::parse(message.body())?;
    // In a handshake, the context must be empty. RFC 9846 4.4.2
    if !request.certificate_request_context.is_empty() {
        return Err(PeerError::WrongCertificateContext.into());
    }
    if request.extensions.signature_algorithms.is_none() {
        return Err(PeerError::MissingServerExtension.into());
    }
    transcript.add(message.bytes());
    Ok((Some(message), flow.read().await))
}

/// The extensions that are allowed in EncryptedExtensions. RFC 9846 4.3, table 1
const IN_ENCRYPTED_EXTENSIONS: [ExtensionType; 11] = [
    ExtensionType::SERVER_NAME,
    ExtensionType::MAX_FRAGMENT_LENGTH,
    ExtensionType::SUPPORTED_GROUPS,
    ExtensionType::APPLICATION_LAYER_PROTOCOL_NEGOTIATION,
    ExtensionType::CLIENT_CERTIFICATE_TYPE,
    ExtensionType::SERVER_CERTIFICATE_TYPE,
    ExtensionType::RECORD_SIZE_LIMIT,
    ExtensionType::EARLY_DATA,
    ExtensionType::SERVER_PADDING,
    ExtensionType::ENCRYPTED_CLIENT_HELLO,
    ExtensionType::QUIC_TRANSPORT_PARAMETERS,
];
