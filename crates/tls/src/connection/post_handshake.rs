//! What may come after the handshake besides data: alerts, KeyUpdate, NewSessionTicket, authentication.
//! RFC 9846 4.7, 6
//!
//! Events without an order, so they are handlers, not a sequence.
//! Must not know: sockets, the sender. Next: [`super::receiver`], its only caller;
//! [`super::authentication`].

use tercel_pki::Refusal;
use tercel_wire::{
    AlertDescription, AlertLevel, ClientHello, ContentType, HandshakeMessage, HandshakeType,
    KeyUpdate, KeyUpdateRequest, NewSessionTicket, ProtocolVersion,
};

use super::authentication::server::Expecting;
use super::authentication::{Authentication, Event};
use super::link::ReadKeys;
use super::tickets::TicketTaker;
use crate::config::policy::Side;
use crate::error::{Error, Misuse, Peer};
use crate::keys::direction::Keys;
use crate::record::joiner::Joiner;
use crate::record::limits;
use crate::record::opener::Opener;
use crate::sync::MutexGuard;

/// The receiver's state apart from keys.
pub(crate) struct PostHandshake {
    pub(super) side: Side,
    pub(super) version: ProtocolVersion,
    /// Where the key comes from, again after it was parked; in TLS 1.3 the next one too.
    pub(super) keys: ReadKeys,
    /// Client: what takes tickets, if they are wanted.
    pub(super) tickets: Option<Box<TicketTaker>>,
    /// Where certificates may be asked for.
    pub(super) authentication: Option<Box<Authentication>>,
    pub(super) joiner: Joiner,
    pub(super) updates: u64,
    pub(super) updates_in_a_row: u8,
    /// Warning alerts and refused renegotiations.
    pub(super) warnings_in_a_row: u8,
    /// Whether an end without close_notify is as good as one with it. Here, for here is room for it.
    pub(crate) tolerate_truncation: bool,
}

/// What a handled record means for the receiver.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    GoOn,
    Closed,
}

impl PostHandshake {
    pub(crate) fn new(
        side: Side,
        version: ProtocolVersion,
        keys: ReadKeys,
        tickets: Option<Box<TicketTaker>>,
        authentication: Option<Box<Authentication>>,
    ) -> Self {
        Self {
            side,
            version,
            keys,
            tickets,
            authentication,
            joiner: Joiner::default(),
            updates: 0,
            updates_in_a_row: 0,
            warnings_in_a_row: 0,
            tolerate_truncation: false,
        }
    }

    pub(crate) fn keys(&self) -> MutexGuard<'_, Option<Keys>> {
        self.keys.get()
    }

    /// Application data arrived: no handshake message may be half there. RFC 9846 5.1
    /// Only a record that carries some ends a row of records that bring nothing on.
    pub(crate) fn application_data(&mut self, length: usize) -> Result<(), Error> {
        if length > 0 {
            self.updates_in_a_row = 0;
            self.warnings_in_a_row = 0;
            // Tickets come ahead of data. Who has some need not hold on to the means to take more.
            if self.tickets.as_ref().is_some_and(|taker| taker.has_some()) {
                self.tickets = None;
            }
        }
        self.check_uninterrupted()
    }

    /// No handshake message is half there, and no answer. RFC 9846 5.1, 4.7.2
    fn check_uninterrupted(&self) -> Result<(), Error> {
        if let Some(authentication) = &self.authentication {
            authentication.check_uninterrupted()?;
        }
        if self.joiner.is_empty() { Ok(()) } else { Err(Peer::InterruptedHandshakeMessage.into()) }
    }

    /// What the caller has to hear before anything that follows.
    pub(crate) fn next_event(&mut self) -> Option<Event> {
        self.authentication.as_mut()?.next_event()
    }

    /// Server: where answers to requests for a certificate are expected.
    pub(crate) fn expecting(&mut self) -> Result<&mut Expecting, Error> {
        if self.version != ProtocolVersion::TLS1_3 {
            return Err(Misuse::WrongVersion.into());
        }
        let expecting = || Box::new(Authentication::Expecting(Expecting::default()));
        match self.authentication.get_or_insert_with(expecting).as_mut() {
            Authentication::Expecting(expecting) => Ok(expecting),
            Authentication::Answering(_) => Err(Misuse::InvalidArgument.into()),
        }
    }

    /// Nothing of an authentication after the handshake is open: what that rests on, a running hash, cannot be
    /// handed over.
    pub(super) fn check_idle(&self) -> Result<(), Error> {
        match self.authentication.as_deref() {
            None => Ok(()),
            Some(Authentication::Expecting(expecting)) if expecting.is_idle() => Ok(()),
            Some(_) => Err(Misuse::CertificateAwaited.into()),
        }
    }

    pub(crate) fn refusal(&self) -> Option<&Refusal> {
        match self.authentication.as_deref()? {
            Authentication::Expecting(expecting) => expecting.refusal(),
            Authentication::Answering(_) => None,
        }
    }

    /// Handles the content of a record that is not application data.
    pub(crate) fn handle(
        &mut self,
        content_type: ContentType,
        content: &[u8],
        opener: &mut Opener,
    ) -> Result<After, Error> {
        match content_type {
            ContentType::ALERT => self.alert(content),
            ContentType::HANDSHAKE => {
                self.joiner.push(content);
                while let Some(message) = self.joiner.next()? {
                    self.message(message.bytes(), opener)?;
                }
                // A large message that has no place need not come whole to be refused: nobody would wait for
                // the rest of it.
                match self.joiner.waiting().first() {
                    Some(kind) if !self.has_place(HandshakeType(*kind)) => {
                        Err(Peer::UnexpectedMessage.into())
                    }
                    _ => Ok(After::GoOn),
                }
            }
            _ => Err(Peer::UnexpectedRecord.into()),
        }
    }

    fn alert(&mut self, content: &[u8]) -> Result<After, Error> {
        let (level, description) = read_alert(content, self.version)?;
        match (level, description) {
            (AlertLevel::WARNING, AlertDescription::CLOSE_NOTIFY) => Ok(After::Closed),
            (_, AlertDescription::CLOSE_NOTIFY) if self.version == ProtocolVersion::TLS1_3 => {
                Ok(After::Closed)
            }
            _ => {
                ignorable(level, description, self.version, &mut self.warnings_in_a_row)?;
                // What ends nothing may not split a message either, nor an answer. RFC 9846 5.1, 4.7.2
                self.check_uninterrupted().map(|()| After::GoOn)
            }
        }
    }

    fn message(&mut self, message: &[u8], opener: &mut Opener) -> Result<(), Error> {
        let kind = HandshakeType(message.first().copied().unwrap_or_default());
        let body = message.get(4..).unwrap_or_default();
        if self.version != ProtocolVersion::TLS1_3 {
            return self.message_of_tls12(kind, body);
        }
        if let Some(authentication) = &mut self.authentication {
            let keys = self.keys.get();
            let secret = keys.as_ref().and_then(Keys::traffic_secret);
            if let Some(secret) = secret {
                if authentication.take(kind, message, secret)? {
                    return Ok(());
                }
            }
        }
        match (kind, self.side) {
            (HandshakeType::KEY_UPDATE, _) => self.key_update(body, opener),
            (HandshakeType::NEW_SESSION_TICKET, Side::Client) => {
                // Who does not resume ignores tickets, but not malformed ones. RFC 9846 4.7.1
                let ticket = NewSessionTicket::parse(body)?;
                if ticket.ticket_lifetime > MAX_TICKET_LIFETIME {
                    return Err(Peer::BadTicketLifetime.into());
                }
                if let Some(taker) = &mut self.tickets {
                    taker.take(&ticket);
                }
                Ok(())
            }
            _ => Err(Peer::UnexpectedMessage.into()),
        }
    }

    fn message_of_tls12(&mut self, kind: HandshakeType, body: &[u8]) -> Result<(), Error> {
        if !self.renegotiates(kind) {
            return Err(Peer::UnexpectedMessage.into());
        }
        if kind == HandshakeType::CLIENT_HELLO {
            ClientHello::parse(body)?;
        }
        self.refuse_renegotiation()
    }

    /// Whether a message of this kind may come now, or what comes instead is for [`Self::message`] to say.
    fn has_place(&self, kind: HandshakeType) -> bool {
        match (kind, self.side) {
            _ if self.version != ProtocolVersion::TLS1_3 => self.renegotiates(kind),
            (HandshakeType::KEY_UPDATE, _) | (HandshakeType::NEW_SESSION_TICKET, Side::Client) => {
                true
            }
            _ => self.authentication.as_ref().is_some_and(|known| known.has_place(kind)),
        }
    }

    /// Whether a message of this kind asks for another handshake. RFC 5246 7.4.1.1, 7.4.1.2
    fn renegotiates(&self, kind: HandshakeType) -> bool {
        let asks = match self.side {
            Side::Client => HandshakeType::HELLO_REQUEST,
            Side::Server => HandshakeType::CLIENT_HELLO,
        };
        self.version != ProtocolVersion::TLS1_3 && kind == asks
    }

    /// We grant no other handshake, and say so by a warning. The connection goes on: whether it
    /// can do without is for the peer to decide. RFC 5246 7.2.2
    fn refuse_renegotiation(&mut self) -> Result<(), Error> {
        self.warnings_in_a_row = self.warnings_in_a_row.saturating_add(1);
        if self.warnings_in_a_row > limits::MAX_WARNING_ALERTS {
            return Err(Peer::Renegotiation.into());
        }
        if self.keys.link().refuse_renegotiation() {
            Ok(())
        } else {
            Err(Peer::Renegotiation.into())
        }
    }

    fn key_update(&mut self, body: &[u8], opener: &mut Opener) -> Result<(), Error> {
        let update = KeyUpdate::parse(body)?;
        self.updates_in_a_row = self.updates_in_a_row.saturating_add(1);
        if self.updates_in_a_row > limits::MAX_KEY_UPDATES_IN_A_ROW {
            return Err(Peer::TooManyKeyUpdates.into());
        }
        // Keys change at the end of a record only. RFC 9846 5.1
        if !self.joiner.is_empty() {
            return Err(Peer::ExcessHandshakeData.into());
        }
        let mut keys = self.keys.get();
        let Some(Keys::Tls13(secret)) = &mut *keys else {
            return Err(Peer::UnexpectedMessage.into());
        };
        *secret = secret.next();
        opener.install(secret.protection()?);
        let link = self.keys.link();
        link.update_arrived();
        self.updates = self.updates.saturating_add(1);
        // Past the limit a request for an update is ignored. RFC 9846 4.7.3
        if update.request_update == KeyUpdateRequest::UPDATE_REQUESTED
            && self.updates < limits::MAX_KEY_UPDATES
        {
            link.request_update();
        }
        Ok(())
    }
}

/// Seven days, in seconds. RFC 9846 4.7.1
const MAX_TICKET_LIFETIME: u32 = 604_800;

/// The two bytes of an alert record. RFC 9846 6
pub(crate) fn read_alert(
    content: &[u8],
    version: ProtocolVersion,
) -> Result<(AlertLevel, AlertDescription), Error> {
    let [level, description] = content else { return Err(Peer::BadAlert.into()) };
    let (level, description) = (AlertLevel(*level), AlertDescription(*description));
    let known = level == AlertLevel::WARNING || level == AlertLevel::FATAL;
    // In TLS 1.3 the level says nothing. RFC 9846 6
    if !known && version != ProtocolVersion::TLS1_3 {
        return Err(Peer::IllegalAlertLevel.into());
    }
    Ok((level, description))
}

/// `Ok` for alerts that change nothing, within limits; the error for all others.
pub(crate) fn ignorable(
    level: AlertLevel,
    description: AlertDescription,
    version: ProtocolVersion,
    in_a_row: &mut u8,
) -> Result<(), Error> {
    let ignored = if version == ProtocolVersion::TLS1_3 {
        // The only alert besides close_notify that is no error. RFC 9846 6.1
        description == AlertDescription::USER_CANCELED
    } else {
        level == AlertLevel::WARNING
    };
    if !ignored {
        return Err(Error::AlertReceived(description));
    }
    *in_a_row = in_a_row.saturating_add(1);
    if *in_a_row > limits::MAX_WARNING_ALERTS {
        return Err(Peer::TooManyWarningAlerts.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::link::Link;

    #[test]
    fn empty_records_do_not_end_a_row_of_warning_alerts() {
        let mut post = PostHandshake::new(
            Side::Client,
            ProtocolVersion::TLS1_2,
            ReadKeys::on(&Link::default()),
            None,
            None,
        );
        let warning = [AlertLevel::WARNING.0, AlertDescription::USER_CANCELED.0];
        let mut opener = Opener::new();
        let row = (0..1000).try_for_each(|_| {
            post.application_data(0)?;
            post.handle(ContentType::ALERT, &warning, &mut opener).map(|_| ())
        });
        assert_eq!(row, Err(Peer::TooManyWarningAlerts.into()));
    }
}
