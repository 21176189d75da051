//! The TLS 1.3 server. Its steps have the order of the RFC's figure. RFC 9846 2, A.2
//!
//! [`handshake`] and [`send_first_flight`] list the steps. `hello_retry_request` sends a
//! HelloRetryRequest, `resumption` processes pre-shared keys and tickets, and `auth` contains the
//! messages that both sides send.

use std::sync::Arc;

use tercel_crypto::{KeyExchange, KeyExchangeAlgorithm, SharedSecret};
use tercel_wire::{
    ClientHello, CompressionMethod, EncryptedExtensions, EndOfEarlyData, HandshakeMessage,
    HandshakeType, KeyShareEntry, ProtocolName, ProtocolVersion, ServerHello,
    ServerHelloExtensions, ServerKeyShare, SignatureScheme,
};

use super::authentication_messages::{CertificateOptions, ReceivedCertificate};
use super::parameters::Parameters;
use super::secrets::{ApplicationKeys, application_keys, handshake_keys};
use super::server_random::{ServerRandoms, TicketRandoms};
use super::{authentication_messages, hello_retry_request, resumption};
use crate::auth::credential::Credential;
use crate::config::client_auth::ClientAuth;
use crate::config::server::ServerConfig;
use crate::connection::export::Exporter;
use crate::connection::info::{ConnectionInfo, EarlyData, EarlyDataRejection};
use crate::connection::post_handshake_auth::HandshakeContext;
use crate::error::{Error, PeerError};
use crate::handshake::ech::server::ServerEch;
use crate::handshake::identity::CredentialForHello;
use crate::handshake::negotiate::parse_hello;
use crate::handshake::resumption_rules::{keep_digest, template as server_session};
use crate::handshake::runtime::command::Command;
use crate::handshake::runtime::coroutine::{Completion, Outcome, boxed};
use crate::handshake::runtime::established::Established;
use crate::handshake::runtime::flow::Flow;
use crate::handshake::runtime::record_limits::{self, RecordLimits, first_limit};
use crate::handshake::secret_log::SecretLog;
use crate::handshake::short_list::ShortList;
use crate::handshake::transcript::Transcript;
use crate::handshake::{certificate_type_negotiation, identity, negotiate};
use crate::keys::direction::{Keys, NewKeys};
use crate::keys::group;
use crate::keys::suite::Suite;
use crate::keys::tls13::{EarlySecret, FinishedKey, HandshakeKeys, HandshakeTraffic, MainSecret};
use crate::record::joiner::Message;
use crate::record::limits;
use crate::resumption::session::Session;
use crate::side::Side;

/// Performs the whole handshake, from a ClientHello that leads to TLS 1.3.
pub(crate) async fn handshake(
    mut flow: Flow,
    config: Arc<ServerConfig>,
    first: Message,
    ech: ServerEch,
) -> Outcome {
    let (flow, config) = (&mut flow, &config);
    flow.execute(first_limit(&config.common))?;
    // This future is boxed, because waiting for the client needs less than half of the memory of
    // the first flight.
    let mut sent = boxed(|| send_first_flight(flow, config, first, ech)).await?;
    sent.receive_end_of_early_data(flow).await?;
    if sent.method.requests_certificate(config) {
        // This future is boxed, because the question to the verifier is large, and most handshakes
        // ask no question.
        boxed(|| sent.receive_certificate(flow, config)).await?;
    }
    sent.receive_finished(flow).await?;
    sent.restore_session();
    let mut asked = Vec::new();
    if config.resumption.asks_for_tickets() && !sent.ticket_randoms.is_empty() {
        // This future is boxed, because most configurations do not ask.
        asked = boxed(|| sent.ask_for_tickets(flow, config)).await?;
    }
    sent.complete(flow, config, asked)
}

/// Sends the messages from ServerHello to Finished, after a HelloRetryRequest if needed.
pub(crate) async fn send_first_flight(
    flow: &mut Flow,
    config: &Arc<ServerConfig>,
    first: Message,
    mut ech: ServerEch,
) -> Result<AwaitingFinished, Error> {
    flow.execute(Command::Negotiated(ProtocolVersion::TLS1_3))?;
    let second;
    let (mut message, mut hello) = (&first, parse_hello(&first)?);
    let parameters = Parameters::negotiate(flow, config, message, &hello).await?;
    let retry = if parameters.has_share(&hello) {
        None
    } else {
        let requested =
            hello_retry_request::request(flow, config, message, &hello, &parameters, &mut ech)
                .await?;
        second = requested.second;
        let again = parse_hello(&second)?;
        hello_retry_request::check_second(&hello, &again, &parameters)?;
        (message, hello) = (&second, again);
        Some((requested.transcript, requested.rejects_early_data))
    };
    let mut flight = FirstFlight::new(flow, config, message, &hello, &parameters, retry)?;
    ech.report(&mut flight.info);
    let (early, method) = flight.choose_auth_method().await?;
    let (HandshakeKeys { client, server, client_finished, server_finished, main }, ticket_randoms) =
        flight.exchange_keys(early, &method, &ech)?;
    let early_data = flight.install_handshake_keys(server, client)?;
    flight.send_encrypted_extensions(&ech)?;
    if let AuthMethod::Certificate { credential, scheme } = &method {
        flight.send_certificate(credential, *scheme).await?;
    }
    authentication_messages::send_finished(flight.flow, &mut flight.transcript, &server_finished)?;

    let FirstFlight { flow, mut transcript, info, early_exporter, log, .. } = flight;
    let ApplicationKeys { client: client_keys, server: server_keys, exporter } =
        application_keys(&main, &mut transcript, &log, config.common.is_for_quic());
    // From here on, the server may send application data. RFC 9846 4.5.3
    flow.install_write(server_keys)?;
    flow.give_read_keys_in_advance(&client_keys, &info)?;
    flow.execute(Command::HalfRtt)?;
    Ok(AwaitingFinished {
        suite: parameters.suite,
        transcript,
        info,
        method,
        early_data,
        early_exporter,
        ticket_randoms,
        client_keys,
        exporter,
        client_finished,
        main,
    })
}

/// The means by which a server authenticates itself. RFC 9846 4.3.11, 4.5.1
enum AuthMethod {
    /// The pre-shared key of a session, or an external pre-shared key.
    PreSharedKey {
        /// The index of the key in the client's list.
        index: u16,
        session: Option<Arc<Session>>,
        /// Whether early data would be accepted, or the reason for its rejection.
        early_data: Result<(), EarlyDataRejection>,
    },
    /// A certificate or raw public key.
    Certificate { credential: Arc<Credential>, scheme: SignatureScheme },
}

impl AuthMethod {
    fn shows_certificate(&self) -> bool {
        matches!(self, Self::Certificate { .. })
    }

    /// Whether the client has to answer a CertificateRequest.
    fn requests_certificate(&self, config: &ServerConfig) -> bool {
        self.shows_certificate() && config.client_auth != ClientAuth::None
    }

    fn session(&self) -> Option<&Arc<Session>> {
        match self {
            Self::PreSharedKey { session, .. } => session.as_ref(),
            Self::Certificate { .. } => None,
        }
    }
}

/// A server that writes its first flight.
struct FirstFlight<'a> {
    flow: &'a mut Flow,
    config: &'a Arc<ServerConfig>,
    /// The ClientHello; after a HelloRetryRequest, the second ClientHello.
    message: &'a Message,
    hello: &'a ClientHello<'a>,
    parameters: &'a Parameters,
    transcript: Transcript,
    info: ConnectionInfo,
    early_exporter: Option<Box<Exporter>>,
    log: SecretLog,
}

impl<'a> FirstFlight<'a> {
    /// `retry` contains the transcript after a HelloRetryRequest, and whether the HelloRetryRequest
    /// rejected early data.
    fn new(
        flow: &'a mut Flow,
        config: &'a Arc<ServerConfig>,
        message: &'a Message,
        hello: &'a ClientHello<'a>,
        parameters: &'a Parameters,
        retry: Option<(Transcript, bool)>,
    ) -> Result<Self, Error> {
        let suite = parameters.suite;
        let mut info = ConnectionInfo::new(ProtocolVersion::TLS1_3, suite.code);
        info.fips = config.common.fips_status;
        info.group = Some(parameters.group);
        info.server_name = hello.host_name().map(str::to_owned);
        info.alpn = negotiate::alpn(hello, config)?.map(<[u8]>::to_vec);
        config.common.check_protocol(info.alpn.as_deref())?;
        // Post-handshake authentication requires this extension. RFC 9846 4.3.6
        let offers = hello.extensions.post_handshake_auth.is_some();
        // It does not exist over QUIC. RFC 9001 4.4
        info.post_handshake_auth = offers && !config.common.is_for_quic();
        info.retried = retry.is_some();
        let transcript = match retry {
            None => Transcript::new(suite.hash),
            Some((transcript, rejects_early_data)) => {
                // The HelloRetryRequest rejected early data, so the second ClientHello does not
                // offer any. RFC 9846 4.3.10
                if rejects_early_data {
                    info.reject_early_data(EarlyDataRejection::HelloRetryRequest);
                }
                transcript
            }
        };
        let log = SecretLog::new(config.common.key_log.clone(), hello.random);
        let early_exporter = None;
        Ok(Self { flow, config, message, hello, parameters, transcript, info, early_exporter, log })
    }

    /// Selects a pre-shared key that the client offers, or else a credential. Adds the ClientHello
    /// to the transcript. RFC 9846 4.3.11
    async fn choose_auth_method(&mut self) -> Result<(EarlySecret, AuthMethod), Error> {
        let Self { flow, config, message, hello, parameters, transcript, info, .. } = self;
        let (config, hello) = (*config, *hello);
        let Parameters { suite, external, .. } = *parameters;
        let external = external.as_ref();
        let mut credential = CredentialForHello::new(config, hello, ProtocolVersion::TLS1_3);
        // Binders cover the ClientHello up to the list of binders, so that part is added first.
        let bytes = message.bytes();
        let mut partial = hello.without_binders(bytes).unwrap_or(bytes);
        let binders = bytes.get(partial.len()..).unwrap_or_default();
        let accepted =
            resumption::accept(flow, &mut credential, suite, transcript, &mut partial, external);
        let accepted = accepted.await?;
        // `partial` is empty if a binder was checked, since the check adds it to the transcript.
        if !partial.is_empty() {
            transcript.add(partial);
        }
        let chosen = match accepted {
            Some(accepted) => {
                info.ticket_age_skew = Some(accepted.reported_age_skew());
                let early_data =
                    accepted.check_early_data(flow, config, hello, suite, info).await?;
                let (index, session) = (accepted.index, accepted.session);
                match (&session, external) {
                    (Some(session), _) => {
                        info.resumed = true;
                        info.server_certificate_type = session.server_certificate_type();
                    }
                    (None, Some(key)) => info.set_pre_shared_key(key.reference()),
                    (None, None) => {}
                }
                (accepted.early, AuthMethod::PreSharedKey { index, session, early_data })
            }
            None if config.only_pre_shared_keys => {
                return Err(PeerError::UnknownPreSharedKey.into());
            }
            None => {
                let request = negotiate::credential_request(hello, ProtocolVersion::TLS1_3, config)
                    .ok_or(PeerError::MissingExtension)?;
                let selected =
                    identity::select_for_client(flow, config, message, hello, &request).await?;
                let (credential, scheme) = selected;
                info.own_signature_scheme = Some(scheme);
                info.server_certificate_type = credential.certificate_type();
                info.client_certificate_type =
                    certificate_type_negotiation::of_client(hello, config)?;
                (EarlySecret::new(suite, None), AuthMethod::Certificate { credential, scheme })
            }
        };
        transcript.add(binders);
        Ok(chosen)
    }

    /// Sends the ServerHello and derives the handshake keys. Also returns the random values for
    /// tickets. RFC 9846 4.2.3, 7.1
    fn exchange_keys(
        &mut self,
        early: EarlySecret,
        method: &AuthMethod,
        ech: &ServerEch,
    ) -> Result<(HandshakeKeys, TicketRandoms), Error> {
        self.begin_early_data(&early, method)?;
        let (shared, ticket_randoms) = self.send_server_hello(method, ech)?;
        let secret = early.into_handshake(&shared);
        let over_quic = self.config.common.is_for_quic();
        let keys = handshake_keys(secret, &mut self.transcript, &self.log, over_quic);
        Ok((keys, ticket_randoms))
    }

    /// Reads early data if it is accepted, and skips it if it is not. RFC 9846 4.3.10
    fn begin_early_data(&mut self, early: &EarlySecret, method: &AuthMethod) -> Result<(), Error> {
        let max_early_data = self.config.resumption.max_early_data;
        if self.hello.extensions.early_data.is_none() {
            return Ok(());
        }
        let admission = match method {
            AuthMethod::PreSharedKey { early_data, .. } => *early_data,
            AuthMethod::Certificate { .. } => Err(EarlyDataRejection::NotResumed),
        };
        if let Err(reason) = admission {
            self.info.reject_early_data(reason);
            let limit = limits::skipped_early_data(max_early_data);
            return self.flow.execute(Command::SkipEarlyData { limit });
        }
        self.info.early_data = EarlyData::Accepted;
        let (secret, exporter) = early.early_secrets(&self.transcript.digest());
        self.log.log("CLIENT_EARLY_TRAFFIC_SECRET", secret.as_bytes());
        self.log.log("EARLY_EXPORTER_SECRET", exporter.as_bytes());
        self.early_exporter = Some(Box::new(Exporter::tls13(exporter)));
        let mut info = Box::new(self.info.before_finished());
        if let Some(session) = method.session() {
            info.restore(session);
        }
        self.flow.execute(Command::ReadEarlyData { secret, limit: max_early_data, info })
    }

    /// Sends the ServerHello with the server's key share. Returns the shared secret and the random
    /// values for tickets. RFC 9846 4.2.3, 4.3.8
    fn send_server_hello(
        &mut self,
        method: &AuthMethod,
        ech: &ServerEch,
    ) -> Result<(SharedSecret, TicketRandoms), Error> {
        let Self { flow, config, hello, parameters, transcript, info, .. } = self;
        let Parameters { suite, group, .. } = *parameters;
        let shows_certificate = method.shows_certificate();
        let tickets = resumption::tickets_to_send(config, hello, info, shows_certificate);
        let ServerRandoms { random, ticket_randoms } = ServerRandoms::draw(config, tickets)?;
        let algorithm = group::algorithm(*group).ok_or(PeerError::NoSharedGroup)?;
        let shares = hello.extensions.key_share.ok_or(PeerError::MissingExtension)?;
        let share =
            shares.iter().find(|share| share.group == *group).ok_or(PeerError::WrongGroup)?;
        let mut own = ShortList::<u8, { KeyExchangeAlgorithm::MAX_SHARE_LEN }>::repeated(
            0,
            algorithm.server_share_len(),
        );
        let shared = KeyExchange::respond_into(algorithm, share.key_exchange, own.as_mut_slice())
            .map_err(group::bad_share)?;
        let entry = KeyShareEntry { group: *group, key_exchange: &own };
        let message = ServerHello {
            legacy_version: ProtocolVersion::TLS1_2,
            random: &random,
            session_id_echo: hello.session_id,
            cipher_suite: suite.code,
            compression_method: CompressionMethod::NULL,
            extensions: ServerHelloExtensions {
                supported_versions: Some(ProtocolVersion::TLS1_3),
                key_share: Some(ServerKeyShare::Entry(entry)),
                pre_shared_key: match method {
                    AuthMethod::PreSharedKey { index, .. } => Some(*index),
                    AuthMethod::Certificate { .. } => None,
                },
                ..Default::default()
            },
        };
        ech.send(flow, &message, transcript, hello.random)?;
        // In middlebox compatibility mode, the client sends a session ID, and the server one
        // change_cipher_spec. RFC 9846 E.4
        if !hello.session_id.is_empty() && !info.retried {
            flow.execute(Command::SendChangeCipherSpec)?;
        }
        Ok((shared, ticket_randoms))
    }

    /// Installs the handshake keys. If early data precedes the handshake messages, the client's
    /// keys are returned and installed later. Over QUIC, early data has packets of its own.
    fn install_handshake_keys(
        &mut self,
        server: HandshakeTraffic,
        client: HandshakeTraffic,
    ) -> Result<Option<AfterEarlyData>, Error> {
        self.flow.install_write(Keys::from(server))?;
        let keys = Keys::from(client);
        let over_quic = self.config.common.is_for_quic();
        if self.info.early_data != EarlyData::Accepted || over_quic {
            self.flow.install_read(keys)?;
            return Ok(None);
        }
        let common = &self.config.common;
        let theirs = self.hello.extensions.record_size_limit;
        let ours = common.record_size_limit.filter(|_| theirs.is_some());
        Ok(Some(AfterEarlyData { keys, limits: record_limits::tls13(common, theirs, ours) }))
    }

    /// Sends the EncryptedExtensions. RFC 9846 4.4.1
    fn send_encrypted_extensions(&mut self, ech: &ServerEch) -> Result<(), Error> {
        let Self { flow, config, hello, transcript, info, .. } = self;
        let offered = &hello.extensions;
        let limit = config.common.record_size_limit.filter(|_| offered.record_size_limit.is_some());
        let (server_certificate_type, client_certificate_type) =
            certificate_type_negotiation::answers(hello, config, info);
        // Padding lengthens a first flight with certificates. If the option is off, the client's
        // request is not even parsed, because its code point is not registered.
        let padding = if config.server_padding && !info.resumed {
            offered.requested_server_padding()?
        } else {
            None
        };
        let padding = padding.filter(|bytes| *bytes <= limits::MAX_SERVER_PADDING);
        let padding = padding.map(|bytes| vec![0; usize::from(bytes)]);
        // A resumption does not acknowledge the server name. RFC 6066 3
        let acknowledges_name = config.acknowledge_server_name && !info.resumed;
        let reads_early = info.early_data == EarlyData::Accepted;
        let transport_parameters = flow.transport_parameters();
        let message = EncryptedExtensions {
            server_certificate_type,
            client_certificate_type,
            server_name: info.server_name.as_ref().filter(|_| acknowledges_name).map(|_| ()),
            alpn: info.alpn.as_deref().map(ProtocolName),
            record_size_limit: limit,
            server_padding: padding.as_deref(),
            early_data: reads_early.then_some(()),
            quic_transport_parameters: transport_parameters.as_deref(),
            encrypted_client_hello: ech.retry_configs(),
            ..Default::default()
        };
        // Early data is exempt from the server's limit, since the client sent it before it received
        // the limit.
        let ours = limit.filter(|_| !reads_early);
        flow.execute(record_limits::tls13(&config.common, offered.record_size_limit, ours))?;
        flow.execute(Command::Padding(config.common.padding))?;
        flow.send(&message, transcript)
    }

    /// Sends a CertificateRequest, if clients may authenticate, and the server's Certificate and
    /// CertificateVerify. RFC 9846 4.4.2, 4.5
    async fn send_certificate(
        &mut self,
        credential: &Arc<Credential>,
        scheme: SignatureScheme,
    ) -> Result<(), Error> {
        let Self { flow, config, hello, transcript, .. } = self;
        if config.client_auth != ClientAuth::None {
            flow.send_with(
                |out| config.write_certificate_request(&[], out),
                |bytes| transcript.add(bytes),
            )?;
        }
        let options = CertificateOptions::of_client(hello, &config.common.certificate_compression);
        authentication_messages::send_certificate(
            flow,
            transcript,
            Some(credential),
            &[],
            options,
        )?;
        authentication_messages::send_verify(flow, transcript, credential, scheme, Side::Server)
            .await
    }
}

/// The client's handshake keys and the record limits, which apply after early data.
struct AfterEarlyData {
    keys: Keys,
    limits: RecordLimits,
}

/// A server that has sent its first flight.
pub(crate) struct AwaitingFinished {
    suite: &'static Suite,
    transcript: Transcript,
    info: ConnectionInfo,
    method: AuthMethod,
    /// The values to apply after early data. Present while early data may arrive.
    early_data: Option<AfterEarlyData>,
    early_exporter: Option<Box<Exporter>>,
    ticket_randoms: TicketRandoms,
    /// The client's application keys.
    client_keys: NewKeys,
    exporter: Exporter,
    client_finished: FinishedKey,
    main: MainSecret,
}

impl AwaitingFinished {
    /// Receives the client's EndOfEarlyData, if early data was accepted. RFC 9846 4.6
    async fn receive_end_of_early_data(&mut self, flow: &mut Flow) -> Result<(), Error> {
        if self.early_data.is_none() {
            return Ok(());
        }
        let end = flow.read_expected(HandshakeType::END_OF_EARLY_DATA).await?;
        EndOfEarlyData::parse(end.body())?;
        self.transcript.add(end.bytes());
        if let Some(AfterEarlyData { keys, limits }) = self.early_data.take() {
            flow.install_read(keys)?;
            flow.execute(limits)?;
        }
        Ok(())
    }

    /// Receives the client's Certificate and CertificateVerify, and verifies the client.
    /// RFC 9846 4.5
    async fn receive_certificate(
        &mut self,
        flow: &mut Flow,
        config: &ServerConfig,
    ) -> Result<(), Error> {
        let Some(verifier) = &config.client_verifier else { return Ok(()) };
        let message = flow.read().await;
        let expectations =
            config.common.certificate_expectations(Side::Client, self.info.client_certificate_type);
        match authentication_messages::receive(flow, &mut self.transcript, &message, expectations)
            .await?
        {
            None => {
                let is_admitted = identity::admits_anonymous(flow, config.client_auth).await?;
                is_admitted.then_some(()).ok_or_else(|| PeerError::CertificateRequired.into())
            }
            Some(ReceivedCertificate { certificate, scheme }) => {
                let now = config.common.clock.now();
                identity::verify(flow, verifier, &certificate, None, now).await?;
                self.info.peer_signature_scheme = Some(scheme);
                self.info.set_peer(certificate);
                keep_digest(config, &mut self.info);
                Ok(())
            }
        }
    }

    /// Receives the client's Finished. RFC 9846 4.5.3
    async fn receive_finished(&mut self, flow: &mut Flow) -> Result<(), Error> {
        let finished = flow.read_expected(HandshakeType::FINISHED).await?;
        authentication_messages::check_finished(
            &finished,
            &mut self.transcript,
            &self.client_finished,
        )
    }

    /// Copies the client's identity from the resumed session.
    fn restore_session(&mut self) {
        if let Some(session) = self.method.session() {
            self.info.restore(session);
        }
    }

    /// Asks the application to seal the sessions of this connection. Returns the messages with the
    /// tickets. RFC 9846 4.7.1
    async fn ask_for_tickets(
        &mut self,
        flow: &mut Flow,
        config: &ServerConfig,
    ) -> Result<Vec<Vec<u8>>, Error> {
        let secret = self.main.resumption_secret(&self.transcript.digest());
        let session = new_session(config, self.suite, &self.info, &self.method);
        let prepared = &self.ticket_randoms;
        resumption::ask_for_tickets(flow, config, prepared, session, &secret).await
    }

    /// Installs the client's application keys, sends tickets, and creates the connection. `asked`
    /// has the messages with the tickets, if the application was asked for them.
    fn complete(self, flow: &mut Flow, config: &Arc<ServerConfig>, asked: Vec<Vec<u8>>) -> Outcome {
        let Self { suite, mut transcript, mut info, method, main, ticket_randoms, .. } = self;
        flow.install_read(self.client_keys)?;
        info.post_handshake_auth &= info.permits_post_handshake_auth();
        // This state is kept only if post-handshake authentication is possible. RFC 9846 4.7.2
        let requests_later = info.post_handshake_auth && config.client_verifier.is_some();
        let requesting = requests_later.then(|| {
            HandshakeContext::boxed(config, transcript.hash(), info.client_certificate_type)
        });
        if !ticket_randoms.is_empty() && !config.resumption.asks_for_tickets() {
            let secret = main.resumption_secret(&transcript.digest());
            let session = new_session(config, suite, &info, &method);
            resumption::send_tickets(flow, config, &ticket_randoms, session, &secret, &mut info)?;
        }
        for message in asked {
            let append = |out: &mut Vec<u8>| {
                out.extend_from_slice(&message);
                Ok::<_, Error>(())
            };
            flow.send_with(append, |_| {})?;
        }
        flow.connect(Established {
            info,
            exporter: self.exporter,
            early_exporter: self.early_exporter,
            tolerate_truncation: config.common.tolerate_truncation,
            sessions: None,
            answering: None,
            requesting,
        })?;
        Ok(Completion::Done)
    }
}

/// Creates the session of a connection. The caller has to set the parameters of its ticket.
fn new_session(
    config: &ServerConfig,
    suite: &'static Suite,
    info: &ConnectionInfo,
    method: &AuthMethod,
) -> Session {
    let (credential, authenticated) = match method {
        AuthMethod::Certificate { credential, .. } => {
            (Some(credential.id().in_session(info.server_name.is_some())), None)
        }
        // Sessions from a resumption remain bound to the credential of the original full handshake.
        AuthMethod::PreSharedKey { session, .. } => {
            let resumed = session.as_deref();
            let credential = resumed.and_then(|session| session.credential);
            (credential, resumed.map(|session| session.authenticated))
        }
    };
    let mut session = server_session(config, suite, info, credential, authenticated);
    session.quic = config.common.quic_session(Vec::new);
    session
}
