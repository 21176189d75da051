//! The public random values of a server's handshake.
//!
//! Must not know: keys, whose randomness `tercel_crypto` draws where it makes them. Next: [`super::server_hello`].

use super::resumption::MAX_TICKETS;
use crate::config::server::ServerConfig;
use crate::error::{Error, Local};
use crate::handshake::few::Few;
use crate::handshake::resumption::{NAME, Name};

/// All public values that are random.
pub(super) struct Fresh {
    pub(super) random: [u8; 32],
    pub(super) for_tickets: ForTickets,
}

/// What the tickets of this handshake are to have that nobody could guess.
pub(crate) struct ForTickets {
    /// As they were drawn, one after the other.
    bytes: Few<u8, INLINE>,
    /// Whether they are names of sessions in a store, not sessions themselves.
    named: bool,
}

/// The values of one ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ForTicket {
    /// What obfuscates its age. RFC 9846 4.7.1
    pub(super) age_add: u32,
    /// What its session is called in a store.
    pub(super) name: Option<Name>,
}

impl Fresh {
    /// One call for all of them: the generator costs by the call.
    pub(super) fn draw(config: &ServerConfig, tickets: u8) -> Result<Self, Error> {
        let named = config.resumption.store.is_some();
        let wanted = usize::from(tickets.min(MAX_TICKETS)).saturating_mul(each(named));
        let mut room = [0_u8; RANDOM + MAX_TICKETS as usize * (AGE_ADD + NAME)];
        let drawn = room.get_mut(..RANDOM.saturating_add(wanted)).ok_or(Local::Encode)?;
        tercel_crypto::fill_random(drawn)?;
        let (random, bytes) = drawn.split_first_chunk().ok_or(Local::Encode)?;
        let for_tickets = ForTickets { bytes: Few::joined(0, &[bytes]), named };
        Ok(Self { random: *random, for_tickets })
    }
}

impl ForTickets {
    /// For one ticket after the other, as many as there are to be.
    pub(super) fn iter(&self) -> impl Iterator<Item = ForTicket> {
        self.bytes.chunks_exact(each(self.named)).filter_map(|values| {
            let (age_add, name) = values.split_first_chunk()?;
            Some(ForTicket { age_add: u32::from_be_bytes(*age_add), name: name.try_into().ok() })
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// How many bytes one ticket wants.
fn each(named: bool) -> usize {
    if named { AGE_ADD + NAME } else { AGE_ADD }
}

const RANDOM: usize = 32;
const AGE_ADD: usize = 4;

/// Those of two tickets with names, as many as a server gives out unless it is told otherwise.
const INLINE: usize = 2 * (AGE_ADD + NAME);

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tercel_crypto::HashAlgorithm;
    #[cfg(debug_assertions)]
    use tercel_crypto::deterministic::with_bytes;

    use super::*;
    use crate::config::policy::Policy;
    use crate::config::pre_shared_key::PreSharedKey;
    use crate::config::server::ServerConfigBuilder;
    use crate::session::store::MemoryStore;

    #[test]
    fn no_value_is_drawn_twice() {
        let stored = || Policy::Here(Arc::new(MemoryStore::new(1)) as _);
        let with_store = ServerConfig::builder().session_store(stored());
        for (builder, named) in [(ServerConfig::builder(), false), (with_store, true)] {
            let config = build(builder);
            let draws = [(); 2].map(|()| Fresh::draw(&config, MAX_TICKETS).unwrap());
            let mut halves: Vec<_> =
                draws.iter().flat_map(|draw| draw.random.chunks_exact(16)).collect();
            let all = || draws.iter().flat_map(|draw| draw.for_tickets.iter());
            let names: Vec<_> = all().filter_map(|ticket| ticket.name).collect();
            assert_eq!(names.len(), if named { 20 } else { 0 });
            halves.extend(names.iter().flat_map(|name| name.chunks_exact(16)));
            let drawn = halves.len();
            halves.sort_unstable();
            halves.dedup();
            assert_eq!(halves.len(), drawn);
            // Of 20 numbers two are the same in one of twenty million runs.
            let mut age_adds: Vec<_> = all().map(|ticket| ticket.age_add).collect();
            age_adds.sort_unstable();
            age_adds.dedup();
            assert_eq!(age_adds.len(), 2 * usize::from(MAX_TICKETS));
        }
    }

    #[cfg(debug_assertions)] // Needs a test seam.
    #[test]
    fn each_value_has_bytes_of_its_own() {
        let named =
            ServerConfig::builder().session_store(Policy::Here(Arc::new(MemoryStore::new(1)) as _));
        for (builder, each) in [(ServerConfig::builder(), 4), (named, 4 + 32)] {
            let config = build(builder);
            for tickets in 0..=MAX_TICKETS {
                let drawn: Vec<u8> = (0..32 + usize::from(tickets) * each)
                    .map(|at| u8::try_from(at % 251).unwrap())
                    .collect();
                let fresh = with_bytes(&drawn, || Fresh::draw(&config, tickets).unwrap());
                let (random, rest) = drawn.split_at(32);
                assert_eq!(fresh.random, random);
                let expected = rest.chunks(each).map(|values| {
                    let (age_add, name) = values.split_first_chunk().unwrap();
                    ForTicket { age_add: u32::from_be_bytes(*age_add), name: name.try_into().ok() }
                });
                assert!(fresh.for_tickets.iter().eq(expected), "{tickets} of {each} bytes");
            }
        }
    }

    #[test]
    fn there_is_as_much_as_the_tickets_want() {
        let config = build(ServerConfig::builder());
        for tickets in 0..=MAX_TICKETS {
            let fresh = Fresh::draw(&config, tickets).unwrap();
            assert_eq!(fresh.for_tickets.iter().count(), usize::from(tickets));
            assert_eq!(fresh.for_tickets.is_empty(), tickets == 0);
        }
    }

    fn build(builder: ServerConfigBuilder) -> Arc<ServerConfig> {
        let key = PreSharedKey::external(b"name", &[7; 32], HashAlgorithm::Sha256).unwrap();
        builder.pre_shared_keys([key]).build().unwrap()
    }
}
