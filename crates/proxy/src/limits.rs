//! How many connections there are, and whether there may be one more.
//!
//! Counted by atomic numbers, without a lock. Of clients' addresses no table is kept that they could fill:
//! each counts in two cells of a fixed number, by a hash that nobody outside knows, and the smaller one
//! tells how many connections it has at most. Two addresses that share both cells share a limit.
//! Must not know: listeners. Next: [`crate::connection`], which holds a [`Permit`].

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use crate::sync::atomic::Ordering::{AcqRel, Relaxed};
use crate::sync::atomic::{AtomicU32, AtomicUsize};

/// Why a connection is not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TooMany {
    /// In the process.
    Connections,
    /// Of the listener.
    OfListener,
    /// From one client's address.
    OfClient,
}

impl std::fmt::Display for TooMany {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Connections => "as many connections as there may be",
            Self::OfListener => "as many connections as the listener may have",
            Self::OfClient => "as many connections as one client may have",
        })
    }
}

/// The counts of one process, over all its threads.
#[derive(Debug)]
pub(crate) struct Counts {
    all: AtomicUsize,
    listeners: Vec<AtomicUsize>,
    clients: [Vec<AtomicU32>; 2],
    hashes: [RandomState; 2],
}

/// One thread's reference to them: its connections count their references to this, which shares nothing with
/// other threads.
#[derive(Debug)]
pub(crate) struct ThreadCounts(pub(crate) Arc<Counts>);

/// The limits of the moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Most {
    pub(crate) all: usize,
    pub(crate) of_listener: Option<u32>,
    pub(crate) of_client: Option<u32>,
}

/// Cells for clients, in each of two rows: 512 KiB in all. A model of threads has no room for so many.
const CELLS: usize = if cfg!(all(test, loom)) { 1 } else { 1 << 16 };
const LAST_CELL: u64 = CELLS as u64 - 1;

impl Counts {
    pub(crate) fn new(listeners: usize) -> Arc<Self> {
        let row = || (0..CELLS).map(|_| AtomicU32::new(0)).collect();
        Arc::new(Self {
            all: AtomicUsize::new(0),
            listeners: (0..listeners).map(|_| AtomicUsize::new(0)).collect(),
            clients: [row(), row()],
            hashes: [RandomState::new(), RandomState::new()],
        })
    }

    /// Connections in the whole process.
    pub(crate) fn open(&self) -> usize {
        self.all.load(Relaxed)
    }

    fn cells(&self, client: IpAddr) -> [u32; 2] {
        let network = network(client);
        self.hashes.each_ref().map(|hash| {
            // As many bits as there are cells for.
            u32::try_from(hash.hash_one(network) & LAST_CELL).unwrap_or(0)
        })
    }

    fn cell(&self, row: usize, at: u32) -> Option<&AtomicU32> {
        self.clients.get(row)?.get(usize::try_from(at).ok()?)
    }
}

/// A client of IPv6 has a network of 64 bits at the least, and every address in it.
fn network(client: IpAddr) -> u64 {
    match client.to_canonical() {
        IpAddr::V4(address) => u64::from(address.to_bits()),
        IpAddr::V6(address) => u64::try_from(address.to_bits() >> 64).unwrap_or(0) | 1 << 63,
    }
}

/// A connection that is counted; not any more when this is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    counts: Rc<ThreadCounts>,
    listener: u32,
    client: Option<[u32; 2]>,
}

impl Permit {
    /// Counts a connection of this listener, if there may be one more.
    pub(crate) fn new(
        counts: &Rc<ThreadCounts>,
        listener: usize,
        most: Most,
    ) -> Result<Self, TooMany> {
        let number = u32::try_from(listener).unwrap_or(u32::MAX);
        // Counted before it is looked at, so that two threads do not both take the last place.
        let permit = Self { counts: Rc::clone(counts), listener: number, client: None };
        let all = counts.0.all.fetch_add(1, Relaxed);
        let own = counts.0.listeners.get(listener).map_or(0, |own| own.fetch_add(1, Relaxed));
        if all >= most.all {
            return Err(TooMany::Connections);
        }
        let limit = most.of_listener.and_then(|limit| usize::try_from(limit).ok());
        if limit.is_some_and(|limit| own >= limit) {
            return Err(TooMany::OfListener);
        }
        Ok(permit)
    }

    /// Counts it for its client too, whose address may have come in a PROXY header.
    pub(crate) fn for_client(&mut self, client: IpAddr, most: Most) -> Result<(), TooMany> {
        let Some(limit) = most.of_client else { return Ok(()) };
        let counts = &self.counts.0;
        let cells @ [first, second] = counts.cells(client);
        self.client = Some(cells);
        let cells = counts.cell(0, first).zip(counts.cell(1, second));
        let Some((first, second)) = cells else { return Ok(()) };
        first.fetch_add(1, Relaxed);
        // Two threads may come to the first row in one order and to the second in the other, and each would have been there
        // first. So the second row decides: who comes later there sees the other in the first row too.
        let before_in_second = second.fetch_add(1, AcqRel);
        let before_in_first = first.load(Relaxed).saturating_sub(1);
        let most_before = before_in_first.min(before_in_second);
        if most_before >= limit { Err(TooMany::OfClient) } else { Ok(()) }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.counts.0.all.fetch_sub(1, Relaxed);
        let listener = usize::try_from(self.listener).unwrap_or(usize::MAX);
        if let Some(own) = self.counts.0.listeners.get(listener) {
            own.fetch_sub(1, Relaxed);
        }
        for (row, at) in self.client.iter().flatten().enumerate() {
            if let Some(cell) = self.counts.0.cell(row, *at) {
                cell.fetch_sub(1, Relaxed);
            }
        }
    }
}

#[cfg(all(test, loom))]
mod models;
#[cfg(test)]
mod tests {
    use super::*;

    const MOST: Most = Most { all: 3, of_listener: Some(2), of_client: Some(2) };

    #[test]
    fn places_are_given_back() {
        let counts = Rc::new(ThreadCounts(Counts::new(2)));
        let first = Permit::new(&counts, 0, MOST).unwrap();
        let _second = Permit::new(&counts, 0, MOST).unwrap();
        assert_eq!(Permit::new(&counts, 0, MOST).unwrap_err(), TooMany::OfListener);
        let _third = Permit::new(&counts, 1, MOST).unwrap();
        assert_eq!(Permit::new(&counts, 1, MOST).unwrap_err(), TooMany::Connections);
        assert_eq!(counts.0.open(), 3);
        drop(first);
        assert!(Permit::new(&counts, 0, MOST).is_ok());
        assert_eq!(counts.0.open(), 2);
    }

    #[test]
    fn a_client_has_so_many_and_others_are_not_touched() {
        let most = Most { all: 100, of_listener: None, of_client: Some(2) };
        let counts = Rc::new(ThreadCounts(Counts::new(1)));
        let client = |text: &str| {
            let mut permit = Permit::new(&counts, 0, most).unwrap();
            permit.for_client(text.parse().unwrap(), most).map(|()| permit)
        };
        let first = client("192.0.2.1").unwrap();
        let _second = client("::ffff:192.0.2.1").unwrap();
        assert_eq!(client("192.0.2.1").unwrap_err(), TooMany::OfClient);
        let _another = client("192.0.2.2").unwrap();
        drop(first);
        let _third = client("192.0.2.1").unwrap();
        // One network of 64 bits is one client.
        let _v6 = [client("2001:db8::1").unwrap(), client("2001:db8::2").unwrap()];
        assert_eq!(client("2001:db8::3").unwrap_err(), TooMany::OfClient);
        assert!(client("2001:db8:0:1::3").is_ok());
    }

    #[test]
    fn nothing_is_left_behind() {
        let counts = Rc::new(ThreadCounts(Counts::new(1)));
        let client: IpAddr = "192.0.2.1".parse().unwrap();
        for _ in 0..1000 {
            let mut permit = Permit::new(&counts, 0, MOST).unwrap();
            permit.for_client(client, MOST).unwrap();
        }
        assert_eq!(counts.0.open(), 0);
        assert!(counts.0.clients.iter().flatten().all(|cell| cell.load(Relaxed) == 0));
    }
}
