//! A server's resumption in TLS 1.3: selection of a pre-shared key, its binder, early data,
//! tickets. RFC 9846 4.3.11, 4.3.10, 4.7.1

use core::mem;
use std::sync::Arc;

use pki_types::UnixTime;
use tercel_wire::{
    ClientHello, HandshakeMessage, NewSessionTicket, NewSessionTicketExtensions, ProtocolVersion,
    PskBinder, TlsFlags,
};

use super::server_random::{TicketRandom, TicketRandoms};
use crate::config::server::ServerConfig;
use crate::connection::info::{ConnectionInfo, EarlyDataRejection};
use crate::error::{Error, PeerError};
use crate::handshake::identity::CredentialForHello;
use crate::handshake::question::{AdmitEarlyDataQuestion, AnswerValue, Question};
use crate::handshake::resumption_rules::{Means, SessionId};
use crate::handshake::runtime::flow::{Flow, wrong_answer};
use crate::handshake::transcript::Transcript;
use crate::handshake::{negotiate, resumption_rules};
use crate::keys::suite::Suite;
use crate::keys::tls13::{EarlySecret, PskKind, ResumptionSecret};
use crate::policy::Policy;
use crate::psk::PreSharedKey;
use crate::record::limits;
use crate::resumption::session::Session;

/// A pre-shared key that the server accepted.
pub(crate) struct AcceptedPsk {
    /// The index of the key in the client's list.
    pub(crate) index: u16,
    pub(crate) early: EarlySecret,
    /// The session of the key. `None` for an external key.
    pub(crate) session: Option<Arc<Session>>,
    /// The ticket's age according to the client minus its age according to the server, in
    /// milliseconds.
    age_skew: i64,
}

/// Selects the first key of the client that is known and usable, and checks the key's binder.
/// `external` is the external key that was found before the cipher suite was selected; its identity
/// is never interpreted as a ticket. The binder covers `transcript` and `partial`. For the check,
/// `partial` is added to `transcript` and then set to empty.
pub(crate) async fn accept(
    flow: &mut Flow,
    credential: &mut CredentialForHello<'_>,
    suite: &'static Suite,
    transcript: &mut Transcript,
    partial: &mut &[u8],
    external: Option<&Arc<PreSharedKey>>,
) -> Result<Option<AcceptedPsk>, Error> {
    let (config, hello) = (credential.config, credential.hello);
    let Some(offered) = hello.extensions.pre_shared_key else { return Ok(None) };
    if !negotiate::supports_psk_dhe_ke(hello) {
        return Ok(None);
    }
    let mut tries = if config.resumption.is_on() { limits::MAX_TICKETS_TRIED } else { 0 };
    let pairs = offered.identities.iter().zip(offered.binders.iter());
    for (index, (identity, binder)) in (0_u16..).zip(pairs.take(limits::MAX_PSK_IDENTITIES)) {
        if let Some(key) = external.filter(|key| key.identity() == identity.identity) {
            let psk = (key.kind(), key.secret());
            let early = check_binder(suite, psk, transcript, partial, binder)?;
            return Ok(Some(AcceptedPsk { index, early, session: None, age_skew: 0 }));
        }
        let Some(left) = tries.checked_sub(1) else { continue };
        tries = left;
        let found =
            resumption_rules::find(flow, config, identity.identity, Means::PreSharedKey).await?;
        let Some(found) = found else { continue };
        let (session, now) = (&found.session, found.now);
        let name = hello.host_name();
        let version = ProtocolVersion::TLS1_3;
        // The hash of the key must be that of the cipher suite. RFC 9846 4.3.11
        if session.suite.hash != suite.hash
            || !resumption_rules::is_resumable(session, config, version, name, credential, now)
        {
            continue;
        }
        let psk = (PskKind::Resumption, session.secret.as_bytes());
        let early = check_binder(suite, psk, transcript, partial, binder)?;
        // The session is claimed only after the check of the binder: only a client that has the key
        // may use up the session or cause a verification.
        if !resumption_rules::claim(flow, config, &found, identity.identity).await?
            || !resumption_rules::verify_resumed_client(flow, config, session).await?
        {
            continue;
        }
        let now = config.common.clock.now();
        let age_skew = age_skew(session, identity.obfuscated_ticket_age, now);
        return Ok(Some(AcceptedPsk { index, early, session: Some(found.session), age_skew }));
    }
    Ok(None)
}

/// Checks the binder of the selected key; other binders are not checked. RFC 9846 4.3.11
fn check_binder(
    suite: &'static Suite,
    (kind, psk): (PskKind, &[u8]),
    transcript: &mut Transcript,
    partial: &mut &[u8],
    binder: PskBinder<'_>,
) -> Result<EarlySecret, Error> {
    let (early, key) = transcript.add_interleaved(mem::take(partial), |interleaved| {
        EarlySecret::with_binder_key(suite, psk, kind, interleaved)
    });
    let expected = key.verify_data(&transcript.digest());
    if !tercel_crypto::constant_time_eq(&expected, binder.0) {
        return Err(PeerError::BadBinder.into());
    }
    Ok(early)
}

impl AcceptedPsk {
    /// Returns the skew of the ticket's age, limited to the range of `i32`.
    pub(crate) fn reported_age_skew(&self) -> i32 {
        let most = if self.age_skew < 0 { i32::MIN } else { i32::MAX };
        i32::try_from(self.age_skew).unwrap_or(most)
    }

    /// Checks whether early data is accepted. All conditions of RFC 9846 4.3.10 have to be met, and
    /// the replay guard has to admit the early data. The inner error is the reason for the
    /// rejection.
    pub(crate) async fn check_early_data(
        &self,
        flow: &mut Flow,
        config: &ServerConfig,
        hello: &ClientHello<'_>,
        suite: &'static Suite,
        info: &ConnectionInfo,
    ) -> Result<Result<(), EarlyDataRejection>, Error> {
        // Early data is accepted only with a session: an external key has no parameters for it.
        let Some(session) = &self.session else { return Ok(Err(EarlyDataRejection::NotResumed)) };
        let offered = hello.extensions.pre_shared_key;
        let first = offered
            .and_then(|offered| Some((offered.identities.first()?, offered.binders.first()?)))
            .filter(|_| self.index == 0);
        let Some((identity, binder)) = first else {
            return Ok(Err(EarlyDataRejection::NotResumed));
        };
        // The age is computed again, because the verification of the client may have taken time.
        let now = config.common.clock.now();
        let age_skew = age_skew(session, identity.obfuscated_ticket_age, now);
        let freshness_window = config.resumption.freshness_window;
        let window = u64::try_from(freshness_window.as_millis()).unwrap_or(u64::MAX);
        let limit = config.resumption.max_early_data;
        // A client may send as much early data as its ticket allows. If this exceeds the current
        // limit, early data is rejected, since a client that exceeds the limit would cause an
        // error.
        let is_allowed = (1..=limit).contains(&session.max_early_data);
        // Without a guard, early data with a sealed ticket could be replayed. RFC 9846 8
        let is_read = !flow.rejects_early_data();
        let guard = config.resumption.replay_guard.as_ref().filter(|_| is_allowed && is_read);
        let Some(guard) = guard.filter(|_| hello.extensions.early_data.is_some()) else {
            return Ok(Err(EarlyDataRejection::NotAllowed));
        };
        if info.retried {
            return Ok(Err(EarlyDataRejection::HelloRetryRequest));
        }
        if session.suite != suite
            || session.alpn != info.alpn
            || !config.common.has_early_data_context_of(session)
        {
            return Ok(Err(EarlyDataRejection::ParametersChanged));
        }
        if age_skew.unsigned_abs() > window {
            return Ok(Err(EarlyDataRejection::NotFresh));
        }
        // Only the guard under which the ticket was issued knows whether another server with the
        // same tickets has admitted this early data. RFC 9846 8.1, 8.2
        if session.replay_guard.as_deref() != config.resumption.replay_guard_id().as_ref() {
            return Ok(Err(EarlyDataRejection::NotAdmitted));
        }
        // The guard remembers the binder, which identifies the ClientHello. RFC 9846 8.2
        let is_admitted = match guard {
            Policy::Here(guard) => guard.admit_early_data(binder.0, now),
            Policy::Ask => {
                let unique = binder.0.to_vec();
                let question = AdmitEarlyDataQuestion { unique, checked_at: now, freshness_window };
                match flow.ask(Question::AdmitEarlyData(question)).await {
                    AnswerValue::EarlyData(is_admitted) => is_admitted,
                    _ => return Err(wrong_answer()),
                }
            }
        };
        Ok(if is_admitted { Ok(()) } else { Err(EarlyDataRejection::NotAdmitted) })
    }
}

/// Returns the ticket's age according to the client minus its age according to the server, in
/// milliseconds. The age according to the server is negative if the clock was set back. If it were
/// limited to 0, replays would be accepted until the clock reaches the ticket's creation.
/// RFC 9846 4.3.11.1, 8.3
fn age_skew(session: &Session, obfuscated: u32, now: UnixTime) -> i64 {
    let theirs = i64::from(obfuscated.wrapping_sub(session.age_add));
    let seconds = |time: u64| i64::try_from(time).unwrap_or(i64::MAX);
    let now = seconds(now.as_secs());
    let ours = now.saturating_sub(seconds(session.created)).saturating_mul(1000);
    theirs.saturating_sub(ours)
}

/// Returns the number of tickets for this client. `shows_certificate` is true if the server
/// authenticates with a certificate.
pub(crate) fn tickets_to_send(
    config: &ServerConfig,
    hello: &ClientHello<'_>,
    info: &ConnectionInfo,
    shows_certificate: bool,
) -> u8 {
    // A client that cannot use a ticket receives none. RFC 9846 4.3.9
    if !config.resumption.is_on() || !negotiate::supports_psk_dhe_ke(hello) {
        return 0;
    }
    // A ticket that would never be accepted is not sent.
    if shows_certificate && !config.binds_sessions() {
        return 0;
    }
    let resumption = &config.resumption;
    let ours = if info.resumed { resumption.renewed_tickets } else { resumption.new_tickets };
    // A client may request more sealed tickets, which the client itself stores, but not more space
    // in the server's store.
    let most =
        if ours == 0 || resumption.stores_tickets() { ours } else { limits::MAX_TICKETS_SENT };
    // The client gets the requested number of tickets, up to the server's limit. RFC 9149 3
    match hello.extensions.ticket_request {
        Some(request) if info.resumed => request.resumption_count.min(most),
        Some(request) => request.new_session_count.min(most),
        None => ours,
    }
}

/// Sends a ticket for each element of `prepared`, with the parameters of `template`. RFC 9846 4.7.1
pub(crate) fn send_tickets(
    flow: &mut Flow,
    config: &ServerConfig,
    prepared: &TicketRandoms,
    mut template: Session,
    secret: &ResumptionSecret,
    info: &mut ConnectionInfo,
) -> Result<(), Error> {
    set_ticket_parameters(flow, &mut template, config);
    let secret = secret.keyed();
    let mut send = |nonce, values: TicketRandom, psk| {
        template.age_add = values.age_add;
        template.secret = psk;
        send_ticket(flow, config, &template, nonce, values.session_id, info)
    };
    let mut tickets = (0_u8..).zip(prepared.iter());
    // The tickets are processed in pairs, since deriving two keys at once is faster.
    while let Some((nonce, values)) = tickets.next() {
        let Some((second, of_second)) = tickets.next() else {
            send(nonce, values, secret.psk(&[nonce]))?;
            break;
        };
        let [psk, second_psk] = secret.psks([&[nonce], &[second]]);
        if !send(nonce, values, psk)? || !send(second, of_second, second_psk)? {
            break;
        }
    }
    Ok(())
}

/// Asks the application for a ticket for each element of `prepared`, like [`send_tickets`]. Returns
/// the messages to send. They are not sent one by one, so that the answers are complete before the
/// client can use a ticket.
pub(crate) async fn ask_for_tickets(
    flow: &mut Flow,
    config: &ServerConfig,
    prepared: &TicketRandoms,
    mut template: Session,
    secret: &ResumptionSecret,
) -> Result<Vec<Vec<u8>>, Error> {
    set_ticket_parameters(flow, &mut template, config);
    let mut messages = Vec::new();
    for (nonce, values) in (0_u8..).zip(prepared.iter()) {
        // Earlier answers may have taken long. The age of a ticket begins when it is sealed.
        template.created = config.common.clock.now().as_secs();
        template.age_add = values.age_add;
        template.secret = secret.psk(&[nonce]);
        let Some(ticket) = resumption_rules::ask_to_seal(flow, config, &template).await? else {
            break;
        };
        let mut message = Vec::new();
        new_session_ticket(&template, &[nonce], &ticket).encode(&mut message)?;
        messages.push(message);
    }
    Ok(messages)
}

/// Sets the parameters that all tickets of a connection have.
fn set_ticket_parameters(flow: &mut Flow, template: &mut Session, config: &ServerConfig) {
    let resumption = &config.resumption;
    let is_read = resumption.max_early_data > 0 && !flow.rejects_early_data();
    template.lifetime = resumption_rules::lifetime(config, !resumption.stores_tickets());
    template.max_early_data =
        if resumption.replay_guard.is_some() && is_read { resumption.max_early_data } else { 0 };
    template.replay_guard =
        if template.max_early_data > 0 { resumption.replay_guard_id() } else { None }.map(Box::new);
}

/// Sends a ticket. Returns `false` if no ticket can be made. Further attempts would then fail as
/// well.
fn send_ticket(
    flow: &mut Flow,
    config: &ServerConfig,
    session: &Session,
    nonce: u8,
    session_id: Option<SessionId>,
    info: &mut ConnectionInfo,
) -> Result<bool, Error> {
    let Some(ticket) = resumption_rules::issue(config, session, session_id, info) else {
        return Ok(false);
    };
    let nonce = [nonce];
    let message = new_session_ticket(session, &nonce, &ticket);
    flow.send_with(|out| message.encode(out), |_| {})?;
    Ok(true)
}

fn new_session_ticket<'m>(
    session: &Session,
    ticket_nonce: &'m [u8],
    ticket: &'m [u8],
) -> NewSessionTicket<'m> {
    NewSessionTicket {
        ticket_lifetime: session.lifetime,
        ticket_age_add: session.age_add,
        ticket_nonce,
        ticket,
        extensions: NewSessionTicketExtensions {
            early_data: (session.max_early_data > 0).then_some(session.max_early_data),
            tls_flags: session
                .resumption_across_names
                .then_some(TlsFlags::ONLY_RESUMPTION_ACROSS_NAMES),
            ..Default::default()
        },
    }
}
