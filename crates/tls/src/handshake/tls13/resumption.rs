//! The server's part of resumption in TLS 1.3: which pre-shared key, its binder, early data, new tickets.
//! RFC 9846 4.3.11, 4.3.10, 4.7.1
//!
//! Must not know: how sessions are kept. Next: `handshake/resumption.rs`.

use core::mem;
use std::sync::Arc;

use pki_types::UnixTime;
use tercel_wire::{
    ClientHello, HandshakeMessage, NewSessionTicket, NewSessionTicketExtensions, ProtocolVersion,
    PskBinder, TlsFlags,
};

use super::fresh::{ForTicket, ForTickets};
use crate::config::policy::Policy;
use crate::config::pre_shared_key::PreSharedKey;
use crate::config::server::ServerConfig;
use crate::connection::facts::Facts;
use crate::error::{Error, Peer};
use crate::handshake::flow::{Flow, wrong_answer};
use crate::handshake::hello::negotiate;
use crate::handshake::identity::CredentialForHello;
use crate::handshake::question::{AdmitEarlyDataQuestion, Answer, Question};
use crate::handshake::resumption::{Found, Name};
use crate::handshake::transcript::Transcript;
use crate::handshake::{pre_shared_key, resumption};
use crate::keys::suite::Suite;
use crate::keys::tls13::{EarlySecret, PskKind, ResumptionSecret};
use crate::record::limits;
use crate::session::state::Session;

/// A pre-shared key that was accepted.
pub(crate) struct Accepted {
    /// Its place in the client's list.
    pub(crate) index: u16,
    pub(crate) early: EarlySecret,
    /// The session it belongs to; an external key belongs to none.
    pub(crate) session: Option<Arc<Session>>,
    /// Milliseconds by which the client thinks the ticket older than it is, or younger.
    age_skew: i64,
}

/// The first of the client's keys that we know and that fits, its binder checked. `external` is the one
/// from outside that was found before: its name is never tried as a ticket. Binders are over `transcript` and
/// `partial`, which is taken into it when it is needed.
pub(crate) async fn accept(
    flow: &mut Flow,
    credential: &mut CredentialForHello<'_>,
    suite: &'static Suite,
    transcript: &mut Transcript,
    partial: &mut &[u8],
    external: Option<&Arc<PreSharedKey>>,
) -> Result<Option<Accepted>, Error> {
    let (config, hello) = (credential.config, credential.hello);
    let Some(offered) = hello.extensions.pre_shared_key else { return Ok(None) };
    if !pre_shared_key::goes_with_key_exchange(hello) {
        return Ok(None);
    }
    let mut tries = if config.resumption.is_on() { limits::MAX_TICKETS_TRIED } else { 0 };
    let pairs = offered.identities.iter().zip(offered.binders.iter());
    for (index, (identity, binder)) in (0_u16..).zip(pairs.take(limits::MAX_PSK_IDENTITIES)) {
        if let Some(key) = external.filter(|key| key.identity() == identity.identity) {
            let psk = (key.kind(), key.secret());
            let early = check_binder(suite, psk, transcript, partial, binder)?;
            return Ok(Some(Accepted { index, early, session: None, age_skew: 0 }));
        }
        let Some(left) = tries.checked_sub(1) else { continue };
        tries = left;
        let found = resumption::find(flow, config, identity.identity, true).await?;
        let Some(Found { session, is_stored, now, .. }) = found else { continue };
        let name = negotiate::server_name(hello);
        let version = ProtocolVersion::TLS1_3;
        // The hash of the key must be the suite's. RFC 9846 4.3.11
        if session.suite.hash != suite.hash
            || !resumption::belongs(&session, config, version, name, credential, now)
        {
            continue;
        }
        let psk = (PskKind::Resumption, session.secret.as_bytes());
        let early = check_binder(suite, psk, transcript, partial, binder)?;
        // Only who has the key uses it up, and sets anyone to work.
        if (is_stored && !resumption::claim(config, identity.identity))
            || !resumption::still_trusted(flow, config, &session).await?
        {
            continue;
        }
        let now = config.common.clock.now();
        let age_skew = age_skew(&session, identity.obfuscated_ticket_age, now);
        return Ok(Some(Accepted { index, early, session: Some(session), age_skew }));
    }
    Ok(None)
}

/// Only one binder is checked, that of the key which is chosen. RFC 9846 4.3.11
fn check_binder(
    suite: &'static Suite,
    (kind, psk): (PskKind, &[u8]),
    transcript: &mut Transcript,
    partial: &mut &[u8],
    binder: PskBinder<'_>,
) -> Result<EarlySecret, Error> {
    let (early, key) = transcript.add_beside(mem::take(partial), |beside| {
        EarlySecret::with_binder_key(suite, psk, kind, beside)
    });
    let expected = key.binder(&transcript.digest());
    if !tercel_crypto::constant_time_eq(&expected, binder.0) {
        return Err(Peer::BadBinder.into());
    }
    Ok(early)
}

impl Accepted {
    /// The skew of the ticket's age, as far as it can be told.
    pub(crate) fn reported_age_skew(&self) -> i32 {
        let most = if self.age_skew < 0 { i32::MIN } else { i32::MAX };
        i32::try_from(self.age_skew).unwrap_or(most)
    }

    /// Whether the client's early data may be read: every condition of RFC 9846 4.3.10, and the guard's word.
    pub(crate) async fn admits_early_data(
        &self,
        flow: &mut Flow,
        config: &ServerConfig,
        hello: &ClientHello<'_>,
        suite: &'static Suite,
        alpn: Option<&[u8]>,
        retried: bool,
    ) -> Result<bool, Error> {
        // Nothing of what early data needs was agreed for a key from outside.
        let Some(session) = &self.session else { return Ok(false) };
        let offered = hello.extensions.pre_shared_key;
        let Some((identity, binder)) = offered
            .and_then(|offered| Some((offered.identities.first()?, offered.binders.first()?)))
        else {
            return Ok(false);
        };
        // Judged anew: since the session was found, somebody may have been asked whether its client is still trusted.
        let now = config.common.clock.now();
        let age_skew = age_skew(session, identity.obfuscated_ticket_age, now);
        let freshness_window = config.resumption.freshness_window;
        let window = u64::from(freshness_window).saturating_mul(1000);
        if hello.extensions.early_data.is_none()
            || retried
            || self.index != 0
            || config.resumption.max_early_data == 0
            || session.max_early_data == 0
            // A ticket that promised more than is read today would end in an error.
            || session.max_early_data > config.resumption.max_early_data
            || session.suite != suite
            || session.alpn.as_deref() != alpn
            || age_skew.unsigned_abs() > window
        {
            return Ok(false);
        }
        // Without a guard a sealed ticket can be replayed at will. RFC 9846 8
        let Some(guard) = &config.resumption.guard else { return Ok(false) };
        // The binder is over the whole hello: no other hello has the same. RFC 9846 8.2
        match guard {
            Policy::Here(guard) => Ok(guard.admit_early_data(binder.0, now)),
            Policy::Ask => {
                let unique = binder.0.to_vec();
                let question = AdmitEarlyDataQuestion { unique, judged_at: now, freshness_window };
                match flow.ask(Question::AdmitEarlyData(question)).await {
                    Answer::EarlyData(admitted) => Ok(admitted),
                    _ => Err(wrong_answer()),
                }
            }
        }
    }
}

/// The client's idea of the ticket's age less ours, in milliseconds. Ours is below zero for a ticket from the
/// future: as long as that lasts no age would tell a replay. RFC 9846 4.3.11.1, 8.3
fn age_skew(session: &Session, obfuscated: u32, now: UnixTime) -> i64 {
    let theirs = i64::from(obfuscated.wrapping_sub(session.age_add));
    let seconds = |time: u64| i64::try_from(time).unwrap_or(i64::MAX);
    let now = seconds(now.as_secs());
    let ours = now.saturating_sub(seconds(session.created)).saturating_mul(1000);
    theirs.saturating_sub(ours)
}

/// How many tickets this client gets. `shows_certificate` says that the handshake is a full one.
pub(crate) fn tickets_to_send(
    config: &ServerConfig,
    hello: &ClientHello<'_>,
    facts: &Facts,
    shows_certificate: bool,
) -> u8 {
    // A client that cannot use a ticket gets none. RFC 9846 4.3.9
    if !config.resumption.is_on() || !pre_shared_key::goes_with_key_exchange(hello) {
        return 0;
    }
    // A ticket that would never be accepted is not sent.
    if shows_certificate && !config.binds_sessions() {
        return 0;
    }
    let resumption = &config.resumption;
    let ours = if facts.resumed { resumption.renewed_tickets } else { resumption.new_tickets };
    // What a client keeps for us it may have more of; room in a store is not for everyone to take.
    let most = if ours == 0 || resumption.stores_tickets() { ours } else { MAX_TICKETS };
    // What the client asks for, no more than we would give at most. RFC 9149 3
    match hello.extensions.ticket_request {
        Some(request) if facts.resumed => request.resumption_count.min(most),
        Some(request) => request.new_session_count.min(most),
        None => ours,
    }
}

/// Hands out tickets for the session that `template` describes, as many as were prepared. RFC 9846 4.7.1
pub(crate) fn send_tickets(
    flow: &mut Flow,
    config: &ServerConfig,
    prepared: &ForTickets,
    mut template: Session,
    secret: &ResumptionSecret,
    facts: &mut Facts,
) -> Result<(), Error> {
    let resumption = &config.resumption;
    template.lifetime = resumption::lifetime(config, !resumption.stores_tickets());
    template.max_early_data =
        if resumption.guard.is_some() { resumption.max_early_data } else { 0 };
    let secret = secret.keyed();
    let mut send = |nonce, values: ForTicket, psk| {
        template.age_add = values.age_add;
        template.secret = psk;
        send_ticket(flow, config, &template, nonce, values.name, facts)
    };
    let mut tickets = (0_u8..).zip(prepared.iter());
    // In pairs, whose keys are made at once.
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

/// `false` if it cannot be made, nor can others.
fn send_ticket(
    flow: &mut Flow,
    config: &ServerConfig,
    session: &Session,
    nonce: u8,
    name: Option<Name>,
    facts: &mut Facts,
) -> Result<bool, Error> {
    let Some(ticket) = resumption::issue(config, session, name, facts) else { return Ok(false) };
    let message = NewSessionTicket {
        ticket_lifetime: session.lifetime,
        ticket_age_add: session.age_add,
        ticket_nonce: &[nonce],
        ticket: &ticket,
        extensions: NewSessionTicketExtensions {
            early_data: (session.max_early_data > 0).then_some(session.max_early_data),
            tls_flags: session.across_names.then_some(TlsFlags::ONLY_RESUMPTION_ACROSS_NAMES),
            ..Default::default()
        },
    };
    flow.send_with(|out| message.encode(out), |_| {})?;
    Ok(true)
}

/// The most tickets one handshake hands out.
pub(crate) const MAX_TICKETS: u8 = 10;
