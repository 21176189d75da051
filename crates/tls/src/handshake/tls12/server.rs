//! The TLS 1.2 server. Its steps have the order of the RFC's figures. RFC 5246 7.3
//!
//! [`handshake`] lists the steps of an abbreviated handshake, and those of a full handshake up to
//! ServerHelloDone. [`finish`] lists the remaining steps. `abbreviated` has the messages of the
//! abbreviated handshake. `resumption` finds and creates sessions; `certificate_messages`,
//! `key_exchange` and `finished` contain the messages that both sides send.

mod abbreviated;

use std::sync::Arc;

use tercel_crypto::{KeyExchange, Secret};
use tercel_wire::{
    CertificateRequestTls12, CertificateStatus, CipherSuite, ClientCertificateType, ClientHello,
    ClientKeyExchange, CompressionMethod, DistinguishedName, EcPointFormat, HandshakeMessage,
    HandshakeType, List, NamedGroup, NewSessionTicketTls12, ProtocolName, ProtocolVersion,
    ServerEcdhParams, ServerHello, ServerHelloDone, ServerHelloExtensions, ServerKeyExchange,
    SignatureScheme, check_point_formats,
};

use abbreviated::{AbbreviatedFlight, AwaitingFinished};

use super::resumption::{ResumptionMeans, SessionWithId};
use super::{certificate_messages, finished, key_exchange, resumption};
use crate::auth::credential::Credential;
use crate::config::client_auth::ClientAuth;
use crate::config::server::ServerConfig;
use crate::connection::info::ConnectionInfo;
use crate::error::{Error, InternalError, PeerError};
use crate::handshake::identity::PeerCertificate;
use crate::handshake::negotiate::{KnownSuites, parse_hello};
use crate::handshake::resumption_rules::keep_digest;
use crate::handshake::runtime::command::Command;
use crate::handshake::runtime::coroutine::{Completion, Outcome, boxed};
use crate::handshake::runtime::established::Established;
use crate::handshake::runtime::flow::Flow;
use crate::handshake::runtime::record_limits::{self, RecordLimits, first_limit};
use crate::handshake::secret_log::SecretLog;
use crate::handshake::transcript::Transcript;
use crate::handshake::{
    certificate_type_negotiation, ech, identity, negotiate, resumption_rules, signature,
};
use crate::keys::direction::Keys;
use crate::keys::suite::Suite;
use crate::keys::tls12::{Exporter12, KeyBlock, MainSecret12, Randoms};
use crate::record::joiner::Message;
use crate::resumption::session::Session;
use crate::side::Side;

/// Performs the handshake from a ClientHello that leads to TLS 1.2, to its end or to
/// ServerHelloDone.
pub(crate) async fn handshake(
    mut flow: Flow,
    config: Arc<ServerConfig>,
    message: Message,
) -> Outcome {
    flow.execute(first_limit(&config.common))?;
    flow.execute(Command::Negotiated(ProtocolVersion::TLS1_2))?;
    let hello = parse_hello(&message)?;
    let parameters = hello.extensions.quic_transport_parameters;
    flow.receive_transport_parameters(parameters, PeerError::MissingExtension)?;
    let mut server = Server::new(&mut flow, &config, &message, &hello)?;
    if let Some(session) = server.find_session().await? {
        // RFC 5246 7.3, figure 2
        let mut flight = AbbreviatedFlight::new(server, session)?;
        flight.send_server_hello()?;
        let AwaitingFinished { read_keys, client_finished, stored, limits, info, exporter } =
            flight.send_finished()?;
        // From the client's first protected record on, a fatal alert on this connection removes the
        // session. Before, any client that has seen the session ID could cause an alert.
        // RFC 5246 7.2.2
        if let Some(stored) = stored {
            flow.invalidate_on_alert(stored)?;
        }
        finished::receive(&mut flow, read_keys, &client_finished, None).await?;
        flow.execute(limits)?;
        flow.connect(Established::tls12(info, exporter, &config.common))?;
        return Ok(Completion::Done);
    }
    // RFC 5246 7.3, figure 1
    let mut flight = server.negotiate().await?;
    flight.send_server_hello()?;
    flight.send_certificate()?;
    flight.send_certificate_status()?;
    let exchange = flight.send_server_key_exchange().await?;
    flight.send_certificate_request()?;
    let sent = flight.send_server_hello_done()?;
    // The rest of the handshake is a future of its own, because waiting for the client's answer
    // needs less memory than creating the flight.
    Ok(Completion::Continue(boxed(|| finish(flow, config, sent, exchange))))
}

/// Performs the steps of a full handshake after ServerHelloDone.
#[allow(clippy::manual_async_fn, reason = "an async fn holds its arguments twice")]
pub(crate) fn finish(
    mut flow: Flow,
    config: Arc<ServerConfig>,
    mut sent: AwaitingClient,
    exchange: KeyExchange,
) -> impl Future<Output = Outcome> + Send {
    async move {
        let (flow, config) = (&mut flow, &*config);
        let client = sent.receive_certificate(flow, config).await?;
        let main = sent.receive_client_key_exchange(flow, config, exchange).await?;
        if let Some(client) = client {
            // This future is boxed, because the question to the verifier is large, and most
            // handshakes ask no question.
            boxed(|| sent.receive_certificate_verify(flow, config, client)).await?;
        }
        let write_keys = sent.receive_finished(flow, &main).await?;
        if sent.asks_for_ticket(config) {
            // This future is boxed, because most configurations do not ask.
            boxed(|| sent.ask_for_session_ticket(flow, config, &main)).await?;
        } else {
            sent.send_session_ticket(flow, config, &main)?;
        }
        sent.send_finished(flow, write_keys, &main)?;
        sent.complete(flow, config, &main)
    }
}

/// A server that has received a ClientHello.
struct Server<'a> {
    flow: &'a mut Flow,
    config: &'a Arc<ServerConfig>,
    message: &'a Message,
    hello: &'a ClientHello<'a>,
    /// Whether the client indicates secure renegotiation. RFC 5746 3.6
    secure_renegotiation: bool,
}

impl<'a> Server<'a> {
    /// Checks the ClientHello. RFC 5246 7.4.1.2
    fn new(
        flow: &'a mut Flow,
        config: &'a Arc<ServerConfig>,
        message: &'a Message,
        hello: &'a ClientHello<'a>,
    ) -> Result<Self, Error> {
        if !hello.compression_methods.contains(CompressionMethod::NULL) {
            return Err(PeerError::Compression.into());
        }
        let extensions = &hello.extensions;
        check_point_formats(extensions.ec_point_formats)?;
        let secure_renegotiation = match extensions.renegotiation_info {
            Some([]) => true,
            // In an initial handshake, the extension must be empty. RFC 5746 3.6
            Some(_) => return Err(PeerError::RenegotiationMismatch.into()),
            None => hello.cipher_suites.contains(CipherSuite::TLS_EMPTY_RENEGOTIATION_INFO_SCSV),
        };
        // RFC 7627 5.3
        let extended = extensions.extended_master_secret.is_some();
        if config.common.require_extended_main_secret && !extended {
            return Err(PeerError::ExtendedMainSecretRequired.into());
        }
        Ok(Self { flow, config, message, hello, secure_renegotiation })
    }

    /// Finds the session that the client requests to resume, if it may be resumed.
    /// RFC 5246 7.4.1.3, RFC 5077 3.4
    async fn find_session(&mut self) -> Result<Option<resumption::ResumedSession>, Error> {
        resumption::find(self.flow, self.config, self.hello).await
    }

    /// Selects the parameters of a full handshake. RFC 5246 7.4.1.3, RFC 8422 5.2
    async fn negotiate(mut self) -> Result<FirstFlight<'a>, Error> {
        let alpn = negotiate::alpn(self.hello, self.config)?;
        let group = negotiate::group12(self.hello, self.config)?;
        let (credential, scheme) = self.select_credential().await?;
        let Self { flow, config, message, hello, secure_renegotiation } = self;
        let authentication = key_exchange::authentication_of(credential.kind());
        let suite = negotiate::suite12(&KnownSuites::of(hello), config, authentication)?;

        let mut info = ConnectionInfo::new(ProtocolVersion::TLS1_2, suite.code);
        info.group = Some(group);
        info.alpn = alpn.map(<[u8]>::to_vec);
        info.server_name = hello.host_name().map(str::to_owned);
        info.extended_main_secret = hello.extensions.extended_master_secret.is_some();
        info.secure_renegotiation = secure_renegotiation;
        ech::server::report_tls12(config, hello, &mut info);
        info.own_signature_scheme = Some(scheme);
        info.server_certificate_type = credential.certificate_type();
        info.client_certificate_type = certificate_type_negotiation::of_client(hello, config)?;
        // The messages are kept for a client's signature. RFC 5246 7.4.8
        let mut transcript = if config.client_auth == ClientAuth::None {
            Transcript::new(suite.hash)
        } else {
            Transcript::keeping_messages(suite.hash)
        };
        transcript.add(message.bytes());
        let randoms = Randoms { client: *hello.random, server: server_random(config)? };
        let resumption_means = ResumptionMeans::plan(config, hello)?;
        Ok(FirstFlight {
            flow,
            config,
            hello,
            suite,
            group,
            credential,
            scheme,
            transcript,
            randoms,
            info,
            resumption_means,
        })
    }

    async fn select_credential(&mut self) -> Result<(Arc<Credential>, SignatureScheme), Error> {
        let Self { flow, config, message, hello, .. } = self;
        // A client that does not send signature_algorithms accepts only signatures with SHA-1,
        // which this library does not make. RFC 5246 7.4.1.4.1
        let request = negotiate::credential_request(hello, ProtocolVersion::TLS1_2, config)
            .ok_or(PeerError::NoCommonSignatureScheme)?;
        if request.key_kinds == (false, false) {
            return Err(PeerError::NoSharedCipherSuite.into());
        }
        identity::select_for_client(flow, config, message, hello, &request).await
    }
}

/// A server that writes the first flight of a full handshake.
struct FirstFlight<'a> {
    flow: &'a mut Flow,
    config: &'a Arc<ServerConfig>,
    hello: &'a ClientHello<'a>,
    suite: &'static Suite,
    group: NamedGroup,
    credential: Arc<Credential>,
    scheme: SignatureScheme,
    transcript: Transcript,
    randoms: Randoms,
    info: ConnectionInfo,
    resumption_means: ResumptionMeans,
}

impl FirstFlight<'_> {
    /// Sends the ServerHello of a full handshake. RFC 5246 7.4.1.3
    fn send_server_hello(&mut self) -> Result<(), Error> {
        let Self { flow, config, hello, credential, transcript, info, .. } = self;
        let offered = &hello.extensions;
        let timestamps =
            credential.timestamps().filter(|_| offered.signed_certificate_timestamp.is_some());
        let formats = [EcPointFormat::UNCOMPRESSED];
        let (server_certificate_type, client_certificate_type) =
            certificate_type_negotiation::answers(hello, config, info);
        let message = ServerHello {
            legacy_version: ProtocolVersion::TLS1_2,
            random: &self.randoms.server,
            // The field is empty for a session that has no ID. RFC 5246 7.4.1.3
            session_id_echo: match &self.resumption_means {
                ResumptionMeans::SessionId(id) => id,
                ResumptionMeans::None | ResumptionMeans::Ticket => &[],
            },
            cipher_suite: self.suite.code,
            compression_method: CompressionMethod::NULL,
            extensions: ServerHelloExtensions {
                server_name: info
                    .server_name
                    .as_ref()
                    .filter(|_| config.acknowledge_server_name)
                    .map(|_| ()),
                status_request: staple(credential, hello).map(|_| ()),
                ec_point_formats: offered.ec_point_formats.map(|_| List::new(&formats)),
                alpn: info.alpn.as_deref().map(ProtocolName),
                signed_certificate_timestamp: timestamps,
                server_certificate_type,
                client_certificate_type,
                extended_master_secret: info.extended_main_secret.then_some(()),
                record_size_limit: our_limit(config, hello),
                session_ticket: matches!(self.resumption_means, ResumptionMeans::Ticket)
                    .then_some(()),
                renegotiation_info: info.secure_renegotiation.then_some(&[]),
                ..Default::default()
            },
        };
        flow.send(&message, transcript)
    }

    /// Sends the server's Certificate. RFC 5246 7.4.2
    fn send_certificate(&mut self) -> Result<(), Error> {
        certificate_messages::send_certificate(
            self.flow,
            &mut self.transcript,
            Some(&self.credential),
        )
    }

    /// Sends the stapled OCSP response, if there is one and the client requests it. RFC 6066 8
    fn send_certificate_status(&mut self) -> Result<(), Error> {
        let Some(ocsp_response) = staple(&self.credential, self.hello) else { return Ok(()) };
        self.flow.send(&CertificateStatus { ocsp_response }, &mut self.transcript)
    }

    /// Sends the server's key share, signed together with both random values. Returns the private
    /// key. RFC 5246 7.4.3, RFC 8422 5.4
    async fn send_server_key_exchange(&mut self) -> Result<KeyExchange, Error> {
        let Self { flow, credential, scheme, transcript, .. } = self;
        let (exchange, share) = key_exchange::generate(self.group)?;
        let params = ServerEcdhParams { named_curve: self.group, public: &share };
        let content = key_exchange::signed_params(&self.randoms, &params);
        let signature = signature::sign(flow, credential, *scheme, &content).await?;
        flow.send_with(
            |out| {
                let sign = |out: &mut _| signature.write(out);
                ServerKeyExchange::encode_signed(&params, *scheme, sign, out)
            },
            |bytes| transcript.add(bytes),
        )?;
        Ok(exchange)
    }

    /// Sends a CertificateRequest, if the configuration requests client certificates.
    /// RFC 5246 7.4.4
    fn send_certificate_request(&mut self) -> Result<(), Error> {
        let config = self.config;
        if config.client_auth == ClientAuth::None {
            return Ok(());
        }
        let authorities = config.authorities();
        let names: Vec<_> = authorities.iter().map(|name| DistinguishedName(name)).collect();
        let types = [ClientCertificateType::ECDSA_SIGN, ClientCertificateType::RSA_SIGN];
        let schemes: Vec<_> = config.common.schemes_for(ProtocolVersion::TLS1_2).collect();
        let message = CertificateRequestTls12 {
            certificate_types: List::new(&types),
            supported_signature_algorithms: List::new(&schemes),
            certificate_authorities: List::new(&names),
        };
        self.flow.send(&message, &mut self.transcript)
    }

    /// Sends ServerHelloDone, which ends the flight. RFC 5246 7.4.5
    fn send_server_hello_done(mut self) -> Result<AwaitingClient, Error> {
        self.flow.send(&ServerHelloDone, &mut self.transcript)?;
        let limits = limits(self.config, self.hello);
        let Self { suite, credential, transcript, randoms, info, resumption_means, .. } = self;
        Ok(AwaitingClient {
            suite,
            credential,
            transcript,
            randoms,
            info,
            resumption_means,
            limits,
        })
    }
}

/// Returns the credential's OCSP response, if the client requests it. RFC 6066 8
fn staple<'c>(credential: &'c Credential, hello: &ClientHello<'_>) -> Option<&'c [u8]> {
    credential.staple().filter(|_| hello.extensions.status_request.is_some())
}

/// A server that has sent ServerHelloDone.
pub(crate) struct AwaitingClient {
    suite: &'static Suite,
    /// The credential that was sent.
    credential: Arc<Credential>,
    transcript: Transcript,
    randoms: Randoms,
    info: ConnectionInfo,
    resumption_means: ResumptionMeans,
    /// The record limits for the time after the handshake.
    limits: RecordLimits,
}

impl AwaitingClient {
    /// Receives the client's certificate. Returns `None` if no certificate was requested, or if the
    /// Certificate message is empty. RFC 5246 7.4.6
    async fn receive_certificate(
        &mut self,
        flow: &mut Flow,
        config: &ServerConfig,
    ) -> Result<Option<PeerCertificate>, Error> {
        if config.client_auth == ClientAuth::None {
            return Ok(None);
        }
        let message = flow.read_expected(HandshakeType::CERTIFICATE).await?;
        let certificate_type = self.info.client_certificate_type;
        let client =
            certificate_messages::parse_certificate(&message, Side::Client, certificate_type)?;
        if client.is_none() && !identity::admits_anonymous(flow, config.client_auth).await? {
            // TLS 1.2 has no alert that is specific to this case. RFC 5246 7.4.6
            return Err(PeerError::CertificateRequiredTls12.into());
        }
        self.transcript.add(message.bytes());
        Ok(client)
    }

    /// Receives the client's key share, and derives the main secret. RFC 5246 7.4.7, 8.1
    async fn receive_client_key_exchange(
        &mut self,
        flow: &mut Flow,
        config: &ServerConfig,
        exchange: KeyExchange,
    ) -> Result<MainSecret12, Error> {
        let message = flow.read_expected(HandshakeType::CLIENT_KEY_EXCHANGE).await?;
        let share = ClientKeyExchange::parse(message.body())?;
        let shared = key_exchange::agree(exchange, share.ecdh_public)?;
        let Self { suite, transcript, randoms, info, .. } = self;
        transcript.add(message.bytes());
        let log = SecretLog::new(config.common.key_log.clone(), &randoms.client);
        let extended = info.extended_main_secret;
        Ok(key_exchange::main_secret(suite, &shared, randoms, extended, transcript, &log))
    }

    /// Receives the client's signature, and then verifies the client's chain. RFC 5246 7.4.8
    async fn receive_certificate_verify(
        &mut self,
        flow: &mut Flow,
        config: &ServerConfig,
        client: PeerCertificate,
    ) -> Result<(), Error> {
        let Self { transcript, info, .. } = self;
        let scheme =
            certificate_messages::receive_verify(flow, transcript, &client, &config.common).await?;
        info.peer_signature_scheme = Some(scheme);
        let verifier = config.client_verifier.as_ref().ok_or(InternalError::NoCredential)?;
        let now = config.common.clock.now();
        identity::verify(flow, verifier, &client, None, now).await?;
        info.set_peer(client);
        keep_digest(config, info);
        Ok(())
    }

    /// Receives the client's ChangeCipherSpec and Finished. Returns the server's keys.
    /// RFC 5246 7.1, 7.4.9
    async fn receive_finished(
        &mut self,
        flow: &mut Flow,
        main: &MainSecret12,
    ) -> Result<Keys, Error> {
        let (KeyBlock { client, server }, expected) =
            main.keys_and_client_finished(&self.randoms, &self.transcript.digest());
        finished::receive(flow, client, &expected, Some(&mut self.transcript)).await?;
        Ok(server)
    }

    /// Whether the ServerHello promised a ticket that the application seals.
    fn asks_for_ticket(&self, config: &ServerConfig) -> bool {
        let is_promised = matches!(self.resumption_means, ResumptionMeans::Ticket);
        is_promised && config.resumption.asks_to_seal()
    }

    /// Sends the ticket that the ServerHello promised.
    fn send_session_ticket(
        &mut self,
        flow: &mut Flow,
        config: &ServerConfig,
        main: &MainSecret12,
    ) -> Result<(), Error> {
        if !matches!(self.resumption_means, ResumptionMeans::Ticket) {
            return Ok(());
        }
        let session = self.new_session(config, main, true);
        let ticket = resumption::seal(config, &session);
        self.send_ticket(flow, session.lifetime, ticket.as_deref())
    }

    /// As [`Self::send_session_ticket`], with a ticket of the application.
    async fn ask_for_session_ticket(
        &mut self,
        flow: &mut Flow,
        config: &ServerConfig,
        main: &MainSecret12,
    ) -> Result<(), Error> {
        let session = self.new_session(config, main, true);
        let ticket = resumption::ask_to_seal(flow, config, &session).await?;
        self.send_ticket(flow, session.lifetime, ticket.as_deref())
    }

    /// Sends a ticket, or an empty one if none could be made. RFC 5077 3.3
    fn send_ticket(
        &mut self,
        flow: &mut Flow,
        lifetime: u32,
        ticket: Option<&[u8]>,
    ) -> Result<(), Error> {
        let ticket = ticket.unwrap_or_default();
        let message = NewSessionTicketTls12 { ticket_lifetime_hint: lifetime, ticket };
        flow.send(&message, &mut self.transcript)
    }

    /// Sends the server's ChangeCipherSpec and Finished. RFC 5246 7.1, 7.4.9
    fn send_finished(
        &mut self,
        flow: &mut Flow,
        keys: Keys,
        main: &MainSecret12,
    ) -> Result<(), Error> {
        let verify_data = main.server_verify_data(&self.transcript.digest());
        finished::send(flow, keys, &verify_data, None)
    }

    /// Creates the connection, and stores its session if the session has an ID. RFC 5246 7.2.2
    fn complete(mut self, flow: &mut Flow, config: &ServerConfig, main: &MainSecret12) -> Outcome {
        let session = match self.resumption_means {
            ResumptionMeans::SessionId(id) => {
                let session = self.new_session(config, main, false);
                Some(SessionWithId::new(id, session, config, &mut self.info))
            }
            ResumptionMeans::None | ResumptionMeans::Ticket => None,
        };
        flow.execute(self.limits)?;
        let Randoms { client, server } = self.randoms;
        let exporter = Exporter12::new(main, client, server, self.info.extended_main_secret);
        flow.connect(Established::tls12(self.info, exporter, &config.common))?;
        if let Some(session) = session {
            session.store(flow, config)?;
        }
        Ok(Completion::Done)
    }

    /// Creates the session of a full handshake.
    fn new_session(&self, config: &ServerConfig, main: &MainSecret12, is_sealed: bool) -> Session {
        let Self { suite, info, credential, .. } = self;
        let credential = Some(credential.id().in_session(info.server_name.is_some()));
        let mut session = resumption_rules::template(config, suite, info, credential, None);
        session.secret = Secret::new(main.as_bytes());
        session.lifetime = resumption_rules::lifetime(config, is_sealed);
        session
    }
}

/// Generates the server random. If the server supports TLS 1.3, the random contains the downgrade
/// sentinel, which clients that support TLS 1.3 check. RFC 9846 4.2.3
fn server_random(config: &ServerConfig) -> Result<[u8; 32], Error> {
    let mut random = [0_u8; 32];
    tercel_crypto::fill_random(&mut random)?;
    if config.common.has_version(ProtocolVersion::TLS1_3) {
        if let Some(tail) = random.last_chunk_mut() {
            *tail = ServerHello::DOWNGRADE_TO_TLS12;
        }
    }
    Ok(random)
}

/// Returns the record_size_limit that the server sends. RFC 8449 4
fn our_limit(config: &ServerConfig, hello: &ClientHello<'_>) -> Option<u16> {
    let limit = config.common.record_size_limit?;
    // In TLS 1.2 the limit counts only plaintext, which has at most 2^14 bytes. RFC 8449 4
    hello.extensions.record_size_limit.map(|_| limit.min(1 << 14))
}

fn limits(config: &ServerConfig, hello: &ClientHello<'_>) -> RecordLimits {
    let theirs = hello.extensions.record_size_limit;
    record_limits::tls12(&config.common, theirs, our_limit(config, hello))
}
