//! Tickets that are sealed, opened, replayed, changed, and opened with the keys of another time.
//!
//! The input is a list of instructions, and this module computes the expected results.

use std::time::Duration;

use pki_types::UnixTime;
use tercel::crypto::HashAlgorithm;
use tercel::session::{RotatingTickets, SharedTickets, TicketKey, TicketKeySet, TicketSealer};
use tercel_crypto::Hash;
use tercel_crypto::deterministic::with_seed;

use crate::material;
use crate::script::Script;

/// Runs an input: the first byte selects own or shared keys. Returns whether a ticket was opened.
pub fn sealed_tickets(input: &[u8]) -> bool {
    let mut script = Script::new(input);
    let is_shared = script.byte().unwrap_or(0) & 1 == 1;
    // The keys depend on the input. Otherwise a fuzzer, which observes compared bytes, would use
    // tickets of one input in the next.
    let digest = Hash::digest(HashAlgorithm::Sha256, &[input]);
    let secret: [u8; 32] = *digest.first_chunk().expect("as long as a key");
    let seed = u64::from_be_bytes(*digest.first_chunk().expect("longer than that"));
    with_seed(seed, || {
        let mut world = World::new(is_shared, secret);
        for _ in 0..MAX_STEPS {
            if world.step(&mut script).is_none() {
                break;
            }
        }
        world.opened > 0
    })
}

const MAX_STEPS: usize = 200;

/// The seconds for which a key seals, and for which a ticket is valid.
const PERIOD: u64 = 3600;

/// The limit of tickets.
const MAX_TICKETS: usize = 32;

struct World {
    own: RotatingTickets,
    shared: SharedTickets,
    is_shared: bool,
    /// The secret of all shared keys.
    secret: [u8; 32],
    /// The seconds since the start.
    now: u64,
    /// The number of the current shared key.
    current: u8,
    tickets: Vec<Sealed>,
    opened: usize,
}

struct Sealed {
    at: u64,
    session: Vec<u8>,
    ticket: Vec<u8>,
}

impl World {
    fn new(is_shared: bool, secret: [u8; 32]) -> Self {
        let period = Duration::from_secs(PERIOD);
        Self {
            own: RotatingTickets::with_period(period, material::now()).expect("a key"),
            shared: SharedTickets::new(&set(1, secret), period),
            is_shared,
            secret,
            now: 0,
            current: 1,
            tickets: Vec::new(),
            opened: 0,
        }
    }

    /// Executes one instruction. `None` at the end of the script.
    fn step(&mut self, script: &mut Script<'_>) -> Option<()> {
        let instruction = script.byte()?;
        let which = usize::from(script.byte()?);
        let at = which.checked_rem(self.tickets.len());
        match instruction % 8 {
            0 => self.seal(script.take(which)),
            1 => self.open_whole(at?),
            2 => {
                let mut ticket = self.tickets.get(at?)?.ticket.clone();
                let offset = script.number()?.checked_rem(ticket.len())?;
                ticket[offset] ^= script.byte()?.max(1);
                assert_eq!(self.open(&ticket), None, "altered at {offset}");
            }
            3 => {
                let mut ticket = self.tickets.get(at?)?.ticket.clone();
                let length = script.number()?;
                if length != ticket.len() {
                    ticket.resize(length, 0);
                    assert_eq!(self.open(&ticket), None, "of {length} bytes");
                }
            }
            4 => self.now += u64::try_from(script.number()?).ok()?,
            5 if self.current < u8::MAX - 1 => {
                self.current += 1;
                self.shared.set_keys(&set(self.current, self.secret));
            }
            6 => {
                let ticket = script.take(which).to_vec();
                let known = self.tickets.iter().any(|sealed| sealed.ticket == ticket);
                assert!(known || self.open(&ticket).is_none(), "a ticket that was not sealed");
            }
            _ => {
                // Combines two tickets: the start of one and the end of another.
                let (one, other) = (self.tickets.get(at?)?, self.tickets.last()?);
                let cut = script.number()?.checked_rem(one.ticket.len().min(other.ticket.len()))?;
                let mixed = [&one.ticket[..cut], &other.ticket[cut..]].concat();
                let known = [one, other].iter().any(|sealed| sealed.ticket == mixed);
                assert!(known || self.open(&mixed).is_none(), "combined at {cut}");
            }
        }
        Some(())
    }

    fn seal(&mut self, session: &[u8]) {
        if self.tickets.len() >= MAX_TICKETS {
            return;
        }
        let ticket = self.sealer().seal(session, self.time());
        // A shared key may not have begun to seal yet, but a sealer's own key always has.
        assert!(self.is_shared || ticket.is_some(), "no ticket");
        let Some(ticket) = ticket else { return };
        let is_new = self.tickets.iter().all(|sealed| sealed.ticket != ticket);
        assert!(is_new, "the same ticket twice");
        self.tickets.push(Sealed { at: self.now, session: session.to_vec(), ticket });
    }

    /// An unchanged ticket returns its session for the promised time, any number of times.
    fn open_whole(&mut self, at: usize) {
        let sealed = &self.tickets[at];
        let age = self.now - sealed.at;
        let opened = self.open(&sealed.ticket);
        assert!(opened.as_ref().is_none_or(|session| *session == sealed.session));
        if self.is_shared {
            // The sets name keys by their numbers.
            assert_eq!(opened.is_some(), self.opens(sealed.ticket[0]), "{age} s old");
        } else {
            assert!(opened.is_some() || age >= PERIOD, "{age} s old");
            assert!(opened.is_none() || age < 2 * PERIOD, "{age} s old");
        }
        self.opened += usize::from(opened.is_some());
    }

    /// Whether a shared key opens tickets: while it is in the set, until one lifetime after the
    /// next key began.
    fn opens(&self, number: u8) -> bool {
        let is_newest = number == self.current + 1;
        let in_set = number.abs_diff(self.current) <= 1;
        in_set && (is_newest || self.now < begins(number + 1) + PERIOD)
    }

    fn open(&self, ticket: &[u8]) -> Option<Vec<u8>> {
        self.sealer().open(ticket, self.time())
    }

    fn sealer(&self) -> &dyn TicketSealer {
        if self.is_shared { &self.shared } else { &self.own }
    }

    fn time(&self) -> UnixTime {
        after(self.now)
    }
}

fn after(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(material::now().as_secs() + seconds))
}

/// The time at which the key with this number begins to seal.
fn begins(number: u8) -> u64 {
    u64::from(number.saturating_sub(1)) * PERIOD
}

/// The set whose current key has this number.
fn set(current: u8, secret: [u8; 32]) -> TicketKeySet {
    let key = |number: u8| {
        TicketKey::new([number; 16], &secret.map(|byte| byte ^ number), after(begins(number)))
    };
    let set = TicketKeySet::new(key(current), Some(key(current + 1)), Some(key(current - 1)));
    set.expect("keys in order")
}
