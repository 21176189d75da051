//! The public random values of a server's handshake.

use crate::config::server::ServerConfig;
use crate::error::{Error, InternalError};
use crate::handshake::resumption_rules::{SESSION_ID_LENGTH, SessionId};
use crate::handshake::short_list::ShortList;
use crate::record::limits;

/// The server random, and the random values of the tickets.
pub(super) struct ServerRandoms {
    pub(super) random: [u8; 32],
    pub(super) ticket_randoms: TicketRandoms,
}

/// The random values of a handshake's tickets.
pub(crate) struct TicketRandoms {
    /// The values of all tickets, concatenated.
    bytes: ShortList<u8, INLINE>,
    /// Whether tickets are IDs of sessions in a store, and not sealed sessions.
    has_session_ids: bool,
}

/// The random values of one ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TicketRandom {
    /// `ticket_age_add`. RFC 9846 4.7.1
    pub(super) age_add: u32,
    /// The ID under which a store keeps the session.
    pub(super) session_id: Option<SessionId>,
}

impl ServerRandoms {
    /// Draws all values in one call, since each call of the generator has a cost.
    pub(super) fn draw(config: &ServerConfig, tickets: u8) -> Result<Self, Error> {
        let has_session_ids = config.resumption.stores_tickets();
        let wanted = usize::from(tickets.min(limits::MAX_TICKETS_SENT))
            .saturating_mul(bytes_per_ticket(has_session_ids));
        let mut room =
            [0_u8; RANDOM + limits::MAX_TICKETS_SENT as usize * (AGE_ADD + SESSION_ID_LENGTH)];
        let drawn = room.get_mut(..RANDOM.saturating_add(wanted)).ok_or(InternalError::Internal)?;
        tercel_crypto::fill_random(drawn)?;
        let (random, bytes) = drawn.split_first_chunk().ok_or(InternalError::Internal)?;
        let ticket_randoms =
            TicketRandoms { bytes: ShortList::joined(0, &[bytes]), has_session_ids };
        Ok(Self { random: *random, ticket_randoms })
    }
}

impl TicketRandoms {
    /// Returns the values of each ticket.
    pub(super) fn iter(&self) -> impl Iterator<Item = TicketRandom> {
        self.bytes.chunks_exact(bytes_per_ticket(self.has_session_ids)).filter_map(|values| {
            let (age_add, session_id) = values.split_first_chunk()?;
            Some(TicketRandom {
                age_add: u32::from_be_bytes(*age_add),
                session_id: session_id.try_into().ok(),
            })
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// The number of random bytes for one ticket.
fn bytes_per_ticket(has_session_ids: bool) -> usize {
    if has_session_ids { AGE_ADD + SESSION_ID_LENGTH } else { AGE_ADD }
}

const RANDOM: usize = 32;
const AGE_ADD: usize = 4;

/// The number of bytes stored inline: enough for two tickets with IDs. Two is the default number of
/// tickets.
const INLINE: usize = 2 * (AGE_ADD + SESSION_ID_LENGTH);

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tercel_crypto::HashAlgorithm;
    #[cfg(debug_assertions)]
    use tercel_crypto::deterministic::with_bytes;

    use super::*;
    use crate::config::server::ServerConfigBuilder;
    use crate::policy::Policy;
    use crate::psk::PreSharedKey;
    use crate::resumption::server_memory_store::ServerMemoryStore;

    #[test]
    fn no_value_is_drawn_twice() {
        let stored = || Policy::Here(Arc::new(ServerMemoryStore::new(1)) as _);
        let with_store = ServerConfig::builder().session_store(stored());
        for (builder, has_session_ids) in [(ServerConfig::builder(), false), (with_store, true)] {
            let config = build(builder);
            let draws =
                [(); 2].map(|()| ServerRandoms::draw(&config, limits::MAX_TICKETS_SENT).unwrap());
            let mut halves: Vec<_> =
                draws.iter().flat_map(|draw| draw.random.chunks_exact(16)).collect();
            let all = || draws.iter().flat_map(|draw| draw.ticket_randoms.iter());
            let session_ids: Vec<_> = all().filter_map(|ticket| ticket.session_id).collect();
            assert_eq!(session_ids.len(), if has_session_ids { 20 } else { 0 });
            halves.extend(session_ids.iter().flat_map(|session_id| session_id.chunks_exact(16)));
            let drawn = halves.len();
            halves.sort_unstable();
            halves.dedup();
            assert_eq!(halves.len(), drawn);
            // The probability that two of the 20 numbers are equal is one in twenty million.
            let mut age_adds: Vec<_> = all().map(|ticket| ticket.age_add).collect();
            age_adds.sort_unstable();
            age_adds.dedup();
            assert_eq!(age_adds.len(), 2 * usize::from(limits::MAX_TICKETS_SENT));
        }
    }

    #[cfg(debug_assertions)] // `with_bytes` exists only in debug builds.
    #[test]
    fn each_value_has_bytes_of_its_own() {
        let with_store = ServerConfig::builder()
            .session_store(Policy::Here(Arc::new(ServerMemoryStore::new(1)) as _));
        for (builder, each) in [(ServerConfig::builder(), 4), (with_store, 4 + 32)] {
            let config = build(builder);
            for tickets in 0..=limits::MAX_TICKETS_SENT {
                let drawn: Vec<u8> = (0..32 + usize::from(tickets) * each)
                    .map(|at| u8::try_from(at % 251).unwrap())
                    .collect();
                let randoms = with_bytes(&drawn, || ServerRandoms::draw(&config, tickets).unwrap());
                let (random, rest) = drawn.split_at(32);
                assert_eq!(randoms.random, random);
                let expected = rest.chunks(each).map(|values| {
                    let (age_add, session_id) = values.split_first_chunk().unwrap();
                    TicketRandom {
                        age_add: u32::from_be_bytes(*age_add),
                        session_id: session_id.try_into().ok(),
                    }
                });
                assert!(randoms.ticket_randoms.iter().eq(expected), "{tickets} of {each} bytes");
            }
        }
    }

    #[test]
    fn there_is_a_value_for_each_ticket() {
        let config = build(ServerConfig::builder());
        for tickets in 0..=limits::MAX_TICKETS_SENT {
            let randoms = ServerRandoms::draw(&config, tickets).unwrap();
            assert_eq!(randoms.ticket_randoms.iter().count(), usize::from(tickets));
            assert_eq!(randoms.ticket_randoms.is_empty(), tickets == 0);
        }
    }

    fn build(builder: ServerConfigBuilder) -> Arc<ServerConfig> {
        let key = PreSharedKey::external(b"name", &[7; 32], HashAlgorithm::Sha256).unwrap();
        builder.pre_shared_keys([key]).build().unwrap()
    }
}
