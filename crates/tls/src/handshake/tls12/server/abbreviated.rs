//! The server's part of an abbreviated handshake: one flight, in which it sends Finished first.
//! RFC 5246 7.3
//!
//! `server.rs` lists the steps, and waits for the client's Finished.

use std::sync::Arc;

use tercel_wire::{
    ClientHello, CompressionMethod, EcPointFormat, List, NewSessionTicketTls12, ProtocolName,
    ProtocolVersion, ServerHello, ServerHelloExtensions,
};

use super::{Server, limits, our_limit, server_random};
use crate::config::server::ServerConfig;
use crate::connection::info::ConnectionInfo;
use crate::error::Error;
use crate::handshake::resumption_rules::{FoundSession, stored_session};
use crate::handshake::runtime::flow::Flow;
use crate::handshake::runtime::record_limits::RecordLimits;
use crate::handshake::secret_log::SecretLog;
use crate::handshake::tls12::finished;
use crate::handshake::tls12::resumption::{self, ResumedSession};
use crate::handshake::transcript::Transcript;
use crate::handshake::{certificate_type_negotiation, negotiate};
use crate::keys::direction::Keys;
use crate::keys::tls12::{Exporter12, KeyBlock, MainSecret12, Randoms, VerifyData};
use crate::resumption::session::Session;
use crate::resumption::session::invalidation::StoredSession;

/// A server that writes its only flight of an abbreviated handshake. RFC 5246 7.3
pub(super) struct AbbreviatedFlight<'a> {
    flow: &'a mut Flow,
    config: &'a ServerConfig,
    hello: &'a ClientHello<'a>,
    session: Arc<Session>,
    /// Whether the session is in a store of this server.
    is_stored: bool,
    /// The reference to a session with an ID.
    stored: Option<Arc<StoredSession>>,
    /// The ticket that replaces the client's, and its lifetime hint.
    new_ticket: Option<(u32, Vec<u8>)>,
    transcript: Transcript,
    randoms: Randoms,
    info: ConnectionInfo,
}

impl<'a> AbbreviatedFlight<'a> {
    pub(super) fn new(server: Server<'a>, resumed: ResumedSession) -> Result<Self, Error> {
        let Server { flow, config, message, hello, secure_renegotiation } = server;
        let ResumedSession { found, new_ticket } = resumed;
        let FoundSession { mut session, is_stored, is_from_application, now, .. } = found;
        // The session ends as before.
        let rest = session.expires().as_secs().saturating_sub(now.as_secs());
        let hint = u32::try_from(rest).unwrap_or(u32::MAX);
        let new_ticket = new_ticket.map(|ticket| (hint, ticket));
        let randoms = Randoms { client: *hello.random, server: server_random(config)? };
        let id = resumption::offered_identity(hello, config);
        let stored = id
            .filter(|_| is_stored || is_from_application)
            .and_then(|(id, _)| stored_session(config, is_stored.then_some(&*session), id));
        let suite = session.suite;
        let mut info = ConnectionInfo::new(ProtocolVersion::TLS1_2, suite.code);
        info.resumed = true;
        info.group = session.group;
        info.alpn = negotiate::alpn(hello, config)?.map(<[u8]>::to_vec);
        // A session from a ticket is not shared, so its server name can be moved.
        info.server_name = match Arc::get_mut(&mut session) {
            Some(session) => session.server_name.take(),
            None => session.server_name.clone(),
        };
        info.extended_main_secret = session.extended;
        info.secure_renegotiation = secure_renegotiation;
        info.server_certificate_type = session.server_certificate_type();
        let mut transcript = Transcript::new(suite.hash);
        transcript.add(message.bytes());
        Ok(Self {
            flow,
            config,
            hello,
            session,
            is_stored,
            stored,
            new_ticket,
            transcript,
            randoms,
            info,
        })
    }

    /// Sends the ServerHello of an abbreviated handshake, and the new ticket if there is one.
    /// RFC 5246 7.4.1.3, RFC 5077 3.3
    pub(super) fn send_server_hello(&mut self) -> Result<(), Error> {
        let Self { flow, config, hello, session, new_ticket, transcript, info, .. } = self;
        let formats = [EcPointFormat::UNCOMPRESSED];
        let message = ServerHello {
            legacy_version: ProtocolVersion::TLS1_2,
            random: &self.randoms.server,
            // The client's session ID is echoed, which means that the session is resumed.
            // RFC 5246 7.4.1.3, RFC 5077 3.4
            session_id_echo: hello.session_id,
            cipher_suite: session.suite.code,
            compression_method: CompressionMethod::NULL,
            extensions: ServerHelloExtensions {
                ec_point_formats: hello.extensions.ec_point_formats.map(|_| List::new(&formats)),
                alpn: info.alpn.as_deref().map(ProtocolName),
                server_certificate_type: certificate_type_negotiation::answers(hello, config, info)
                    .0,
                extended_master_secret: session.extended.then_some(()),
                record_size_limit: our_limit(config, hello),
                session_ticket: new_ticket.as_ref().map(|_| ()),
                renegotiation_info: info.secure_renegotiation.then_some(&[]),
                ..Default::default()
            },
        };
        flow.send(&message, transcript)?;
        let Some((hint, ticket)) = new_ticket else { return Ok(()) };
        flow.send(&NewSessionTicketTls12 { ticket_lifetime_hint: *hint, ticket }, transcript)
    }

    /// Sends the server's ChangeCipherSpec and Finished, which precede the client's. RFC 5246 7.3
    pub(super) fn send_finished(self) -> Result<AwaitingFinished, Error> {
        let Self { flow, config, hello, session, is_stored, stored, .. } = self;
        let (mut transcript, randoms, mut info) = (self.transcript, self.randoms, self.info);
        let of_ticket;
        let main = if is_stored {
            session.main_secret()
        } else {
            // The main secret is expanded for this handshake only: a session from a ticket is not
            // used again.
            of_ticket = MainSecret12::resumed(session.suite, session.secret.duplicate());
            &of_ticket
        };
        let log = SecretLog::new(config.common.key_log.clone(), &randoms.client);
        log.log("CLIENT_RANDOM", main.as_bytes());
        let (KeyBlock { client: read_keys, server: write_keys }, verify_data, client_finished) =
            finished::abbreviated(main, &randoms, &mut transcript);
        finished::send(flow, write_keys, &verify_data, None)?;
        info.restore(&session);
        let Randoms { client, server } = randoms;
        let exporter = Exporter12::new(main, client, server, info.extended_main_secret);
        let limits = limits(config, hello);
        Ok(AwaitingFinished { read_keys, client_finished, stored, limits, info, exporter })
    }
}

/// A server that has sent its flight of an abbreviated handshake.
pub(super) struct AwaitingFinished {
    pub(super) read_keys: Keys,
    /// The expected content of the client's Finished.
    pub(super) client_finished: VerifyData,
    pub(super) stored: Option<Arc<StoredSession>>,
    /// The record limits for the time after the handshake.
    pub(super) limits: RecordLimits,
    pub(super) info: ConnectionInfo,
    pub(super) exporter: Exporter12,
}
