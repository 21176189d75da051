//! Received records after the handshake other than data: alerts, KeyUpdate, NewSessionTicket,
//! post-handshake authentication. RFC 9846 4.7, 6

use tercel_pki::Refusal;
use tercel_wire::{
    AlertDescription, AlertLevel, ContentType, HandshakeMessage, HandshakeType, KeyUpdate,
    KeyUpdateRequest, MessageHeader, NewSessionTicket, ProtocolVersion,
};

use super::link::ReadKeys;
use super::post_handshake_auth::server::PendingRequests;
use super::post_handshake_auth::{Authentication, Event};
use super::tickets::NewSessions;
use crate::error::{Error, Misuse, PeerError};
use crate::keys::direction::Keys;
use crate::record::joiner::Joiner;
use crate::record::limits;
use crate::record::opener::Opener;
use crate::side::Side;
use crate::sync::MutexGuard;

/// The receiver's state for post-handshake messages.
pub(crate) struct PostHandshake {
    pub(super) side: Side,
    pub(super) version: ProtocolVersion,
    /// The secrets from which the opener's key is derived. They are needed after parking and, in
    /// TLS 1.3, for the next key.
    pub(super) keys: ReadKeys,
    /// Client: the sessions that tickets make, unless the client resumes no sessions.
    pub(crate) sessions: Option<Box<NewSessions>>,
    /// State of post-handshake authentication: `Some` on a client that offers it, and on a server
    /// once it expects an answer.
    pub(super) authentication: Option<Box<Authentication>>,
    pub(super) joiner: Joiner,
    pub(super) updates: u64,
    pub(super) updates_in_a_row: u8,
    /// The number of warning alerts and refused renegotiation requests without data between them.
    pub(super) warnings_in_a_row: u8,
    /// Whether an end of the transport without close_notify is accepted. The field is in this
    /// struct and not in the receiver, because it fits in this struct's padding.
    pub(crate) tolerate_truncation: bool,
}

/// The effect of a record on the receiver.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordEffect {
    Continue,
    Closed,
}

impl PostHandshake {
    pub(crate) fn new(
        side: Side,
        version: ProtocolVersion,
        keys: ReadKeys,
        sessions: Option<Box<NewSessions>>,
        authentication: Option<Box<Authentication>>,
    ) -> Self {
        Self {
            side,
            version,
            keys,
            sessions,
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

    /// Handles a record of application data, which is not allowed within a handshake message. An
    /// empty record does not reset the counters of consecutive messages. RFC 9846 5.1
    pub(crate) fn application_data(&mut self, length: usize) -> Result<(), Error> {
        if length > 0 {
            self.updates_in_a_row = 0;
            self.warnings_in_a_row = 0;
            // Servers usually send tickets before data. Therefore a client that has a ticket stores
            // no more of them after the first data, and frees the memory for that.
            if self.sessions.as_ref().is_some_and(|sessions| sessions.has_received_ticket()) {
                NewSessions::stop(&mut self.sessions);
            }
        }
        self.check_uninterrupted()
    }

    /// Checks that no handshake message and no answer to a certificate request is incomplete.
    /// RFC 9846 5.1, 4.7.2
    fn check_uninterrupted(&self) -> Result<(), Error> {
        if let Some(authentication) = &self.authentication {
            authentication.check_uninterrupted()?;
        }
        if self.joiner.is_empty() {
            Ok(())
        } else {
            Err(PeerError::InterruptedHandshakeMessage.into())
        }
    }

    /// Returns the next event, which the caller has to receive before later data.
    pub(crate) fn next_event(&mut self) -> Option<Event> {
        self.authentication.as_mut()?.next_event()
    }

    /// Server: returns the state of expected answers to certificate requests.
    pub(crate) fn pending_requests(&mut self) -> Result<&mut PendingRequests, Error> {
        if self.version != ProtocolVersion::TLS1_3 {
            return Err(Misuse::WrongVersion.into());
        }
        let new = || Box::new(Authentication::Server(PendingRequests::default()));
        match self.authentication.get_or_insert_with(new).as_mut() {
            Authentication::Server(requests) => Ok(requests),
            Authentication::Client(_) => Err(Misuse::InvalidArgument.into()),
        }
    }

    /// Checks that no certificate request can arrive (client) and that none is unanswered (server),
    /// since the transcript hash for the answer cannot be exported or saved.
    pub(super) fn check_idle(&self) -> Result<(), Error> {
        match self.authentication.as_deref() {
            None => Ok(()),
            Some(Authentication::Server(requests)) if requests.is_idle() => Ok(()),
            Some(_) => Err(Misuse::CertificatePending.into()),
        }
    }

    pub(crate) fn refusal(&self) -> Option<&Refusal> {
        match self.authentication.as_deref()? {
            Authentication::Server(requests) => requests.refusal(),
            Authentication::Client(_) => None,
        }
    }

    /// Handles the content of a record that is not application data.
    pub(crate) fn handle(
        &mut self,
        content_type: ContentType,
        content: &[u8],
        opener: &mut Opener,
    ) -> Result<RecordEffect, Error> {
        match content_type {
            ContentType::ALERT => self.alert(content),
            ContentType::HANDSHAKE if self.version != ProtocolVersion::TLS1_3 => {
                self.joiner.push(content);
                self.refuse_renegotiations().map(|()| RecordEffect::Continue)
            }
            ContentType::HANDSHAKE => {
                self.joiner.push(content);
                while let Some(message) = self.joiner.next()? {
                    self.message(message.bytes(), opener)?;
                }
                // A message that is not allowed is refused before the rest of it is received.
                match self.joiner.waiting().first() {
                    Some(kind) if !self.is_handled(HandshakeType(*kind)) => {
                        Err(PeerError::UnexpectedMessage.into())
                    }
                    _ => Ok(RecordEffect::Continue),
                }
            }
            _ => Err(PeerError::UnexpectedRecord.into()),
        }
    }

    fn alert(&mut self, content: &[u8]) -> Result<RecordEffect, Error> {
        self.keys.link().tap().received(ContentType::ALERT, content);
        let (level, description) = read_alert(content, self.version)?;
        match (level, description) {
            (AlertLevel::WARNING, AlertDescription::CLOSE_NOTIFY) => Ok(RecordEffect::Closed),
            (_, AlertDescription::CLOSE_NOTIFY) if self.version == ProtocolVersion::TLS1_3 => {
                Ok(RecordEffect::Closed)
            }
            _ => {
                check_ignorable(level, description, self.version, &mut self.warnings_in_a_row)?;
                // An ignored alert is not allowed within a message or an answer to a certificate
                // request, either. RFC 9846 5.1, 4.7.2
                self.check_uninterrupted().map(|()| RecordEffect::Continue)
            }
        }
    }

    fn message(&mut self, message: &[u8], opener: &mut Opener) -> Result<(), Error> {
        self.keys.link().tap().received(ContentType::HANDSHAKE, message);
        let kind = HandshakeType(message.first().copied().unwrap_or_default());
        let body = message.get(4..).unwrap_or_default();
        if let Some(authentication) = &mut self.authentication {
            let keys = self.keys.get();
            let secret = keys.as_ref().and_then(Keys::traffic_secret);
            if let Some(secret) = secret {
                if authentication.take(kind, message, secret)? {
                    if !authentication.keeps_tickets() {
                        NewSessions::stop(&mut self.sessions);
                    }
                    return Ok(());
                }
            }
        }
        match (kind, self.side) {
            (HandshakeType::KEY_UPDATE, _) => self.key_update(body, opener),
            (HandshakeType::NEW_SESSION_TICKET, Side::Client) => {
                // Tickets are parsed even if they are not stored: a malformed one is an error.
                // RFC 9846 4.7.1
                let ticket = NewSessionTicket::parse(body)?;
                // A lifetime of more than seven days is refused.
                if ticket.ticket_lifetime > limits::MAX_TICKET_LIFETIME {
                    return Err(PeerError::BadTicketLifetime.into());
                }
                if let Some(sessions) = &mut self.sessions {
                    sessions.receive(&ticket);
                }
                Ok(())
            }
            _ => Err(PeerError::UnexpectedMessage.into()),
        }
    }

    /// TLS 1.2: refuses each request for renegotiation at its header. The rest of the message is
    /// discarded unread when it arrives, because it has no effect and may have 64 KB.
    fn refuse_renegotiations(&mut self) -> Result<(), Error> {
        while let Some(kind) = self.joiner.waiting().first() {
            if !self.renegotiates(HandshakeType(*kind)) {
                return Err(PeerError::UnexpectedMessage.into());
            }
            let header = self.joiner.waiting().first_chunk::<{ MessageHeader::LENGTH }>().copied();
            if !self.joiner.discard_next()? {
                break;
            }
            if let Some(header) = header.filter(|_| self.side == Side::Client) {
                // This is the whole HelloRequest. RFC 5246 7.4.1.1
                self.keys.link().tap().received(ContentType::HANDSHAKE, &header);
            }
            self.refuse_renegotiation()?;
        }
        Ok(())
    }

    /// Whether [`Self::message`] handles a message of this type.
    fn is_handled(&self, kind: HandshakeType) -> bool {
        match (kind, self.side) {
            (HandshakeType::KEY_UPDATE, _) | (HandshakeType::NEW_SESSION_TICKET, Side::Client) => {
                true
            }
            _ => self
                .authentication
                .as_ref()
                .is_some_and(|authentication| authentication.is_handled(kind)),
        }
    }

    /// Whether a message of this type requests renegotiation. RFC 5246 7.4.1.1, 7.4.1.2
    fn renegotiates(&self, kind: HandshakeType) -> bool {
        let asks = match self.side {
            Side::Client => HandshakeType::HELLO_REQUEST,
            Side::Server => HandshakeType::CLIENT_HELLO,
        };
        kind == asks
    }

    /// Refuses renegotiation with a warning alert. The connection continues, and the peer decides
    /// whether to close it. RFC 5246 7.2.2
    ///
    /// After this side's close_notify no alert is sent: the request is ignored, as a client may do
    /// with each one, and the peer's data are received until it closes. RFC 5246 7.4.1.1
    fn refuse_renegotiation(&mut self) -> Result<(), Error> {
        self.warnings_in_a_row = self.warnings_in_a_row.saturating_add(1);
        if self.warnings_in_a_row > limits::MAX_WARNING_ALERTS {
            return Err(PeerError::Renegotiation.into());
        }
        self.keys.link().refuse_renegotiation();
        Ok(())
    }

    fn key_update(&mut self, body: &[u8], opener: &mut Opener) -> Result<(), Error> {
        let update = KeyUpdate::parse(body)?;
        self.updates_in_a_row = self.updates_in_a_row.saturating_add(1);
        if self.updates_in_a_row > limits::MAX_KEY_UPDATES_IN_A_ROW {
            return Err(PeerError::TooManyKeyUpdates.into());
        }
        // A KeyUpdate has to be the last message in its record. RFC 9846 5.1
        if !self.joiner.is_empty() {
            return Err(PeerError::ExcessHandshakeData.into());
        }
        let mut keys = self.keys.get();
        let Some(Keys::Tls13(secret)) = &mut *keys else {
            return Err(PeerError::UnexpectedMessage.into());
        };
        *secret = secret.next();
        opener.install(secret.protection()?);
        let link = self.keys.link();
        link.update_arrived();
        self.updates = self.updates.saturating_add(1);
        // A request for an update beyond the limit is ignored. RFC 9846 4.7.3
        if update.request_update == KeyUpdateRequest::UPDATE_REQUESTED
            && self.updates < limits::MAX_KEY_UPDATES
        {
            link.request_update();
        }
        Ok(())
    }
}

/// Parses the content of an alert record. RFC 9846 6
pub(crate) fn read_alert(
    content: &[u8],
    version: ProtocolVersion,
) -> Result<(AlertLevel, AlertDescription), Error> {
    let [level, description] = content else { return Err(PeerError::BadAlert.into()) };
    let (level, description) = (AlertLevel(*level), AlertDescription(*description));
    let known = level == AlertLevel::WARNING || level == AlertLevel::FATAL;
    // TLS 1.3 ignores the level. RFC 9846 6
    if !known && version != ProtocolVersion::TLS1_3 {
        return Err(PeerError::IllegalAlertLevel.into());
    }
    Ok((level, description))
}

/// Returns `Ok` for an alert that is ignored, and an error for any other alert. Too many
/// consecutive ignored alerts are an error too.
pub(crate) fn check_ignorable(
    level: AlertLevel,
    description: AlertDescription,
    version: ProtocolVersion,
    in_a_row: &mut u8,
) -> Result<(), Error> {
    let ignored = if version == ProtocolVersion::TLS1_3 {
        // Besides close_notify, user_canceled is the only alert that is not an error. RFC 9846 6.1
        description == AlertDescription::USER_CANCELED
    } else {
        level == AlertLevel::WARNING
    };
    if !ignored {
        return Err(Error::AlertReceived(description));
    }
    *in_a_row = in_a_row.saturating_add(1);
    if *in_a_row > limits::MAX_WARNING_ALERTS {
        return Err(PeerError::TooManyWarningAlerts.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::link::Link;

    #[test]
    fn empty_records_do_not_reset_the_count_of_warning_alerts() {
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
        assert_eq!(row, Err(PeerError::TooManyWarningAlerts.into()));
    }
}
