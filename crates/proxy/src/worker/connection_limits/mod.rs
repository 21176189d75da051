//! Connection counts and limits of the process, of listeners and of clients.
//!
//! Counts are atomic integers; no lock is taken. Clients are counted in a count-min sketch of fixed
//! size, because an attacker could fill a table of addresses. Each address is counted in one cell
//! of each of two rows, selected by hashes with a secret key, and the smaller count is an upper
//! bound of its connections. Two addresses that share both cells share a limit.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use crate::observability::metrics::labels::ConnectionRefusal;
use crate::sync::atomic::Ordering::{AcqRel, Relaxed};
use crate::sync::atomic::{AtomicU32, AtomicUsize};

/// The reason why a connection is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LimitReached {
    /// The limit of the process.
    Process,
    /// The limit of the listener.
    Listener,
    /// The limit of the client address.
    Client,
}

impl std::fmt::Display for LimitReached {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Process => "process connection limit reached",
            Self::Listener => "listener connection limit reached",
            Self::Client => "per-client connection limit reached",
        })
    }
}

impl From<LimitReached> for ConnectionRefusal {
    fn from(reason: LimitReached) -> Self {
        match reason {
            LimitReached::Process => Self::ConnectionLimit,
            LimitReached::Listener => Self::ListenerLimit,
            LimitReached::Client => Self::AddressLimit,
        }
    }
}

/// The connection counts of a process.
#[derive(Debug)]
pub(crate) struct ConnectionCounts {
    process: AtomicUsize,
    listeners: Vec<AtomicUsize>,
    clients: [Vec<AtomicU32>; 2],
    hashes: [RandomState; 2],
}

/// A worker's reference to the counts. Each connection has a reference to this value instead of the
/// shared counts, so that the reference count is not shared with other threads.
#[derive(Debug)]
pub(crate) struct WorkerCounts(pub(crate) Arc<ConnectionCounts>);

/// The limits in effect.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionLimits {
    pub(crate) process: usize,
    pub(crate) per_listener: Option<u32>,
    pub(crate) per_client: Option<u32>,
}

/// The number of cells in a row; both rows take 512 KiB. Model checks use one cell.
const CELLS: usize = if cfg!(all(test, loom)) { 1 } else { 1 << 16 };
const LAST_CELL: u64 = CELLS as u64 - 1;

impl ConnectionCounts {
    pub(crate) fn new(listeners: usize) -> Arc<Self> {
        let row = || (0..CELLS).map(|_| AtomicU32::new(0)).collect();
        Arc::new(Self {
            process: AtomicUsize::new(0),
            listeners: (0..listeners).map(|_| AtomicUsize::new(0)).collect(),
            clients: [row(), row()],
            hashes: [RandomState::new(), RandomState::new()],
        })
    }

    /// The number of open connections of the process.
    pub(crate) fn open(&self) -> usize {
        self.process.load(Relaxed)
    }

    fn cells(&self, client: IpAddr) -> [u32; 2] {
        let network = client_network(client);
        self.hashes.each_ref().map(|hash| {
            // The mask makes the hash an index into the row.
            u32::try_from(hash.hash_one(network) & LAST_CELL).unwrap_or(0)
        })
    }

    fn cell(&self, row: usize, at: u32) -> Option<&AtomicU32> {
        self.clients.get(row)?.get(usize::try_from(at).ok()?)
    }
}

/// The key of a client: its IPv4 address, or its IPv6 /64 network, because a client may use all
/// addresses of its network.
fn client_network(client: IpAddr) -> u64 {
    match client.to_canonical() {
        IpAddr::V4(address) => u64::from(address.to_bits()),
        IpAddr::V6(address) => u64::try_from(address.to_bits() >> 64).unwrap_or(0) | 1 << 63,
    }
}

/// A counted connection. Dropping it decrements the counts.
#[derive(Debug)]
pub(crate) struct Permit {
    counts: Rc<WorkerCounts>,
    listener: u32,
    client: Option<[u32; 2]>,
}

impl Permit {
    /// Counts a connection of this listener, unless a limit is reached.
    pub(crate) fn new(
        counts: &Rc<WorkerCounts>,
        listener: usize,
        limits: ConnectionLimits,
    ) -> Result<Self, LimitReached> {
        let number = u32::try_from(listener).unwrap_or(u32::MAX);
        // The connection is counted before the limit is checked, so that two threads cannot both
        // take the last place.
        let permit = Self { counts: Rc::clone(counts), listener: number, client: None };
        let all = counts.0.process.fetch_add(1, Relaxed);
        let own = counts.0.listeners.get(listener).map_or(0, |own| own.fetch_add(1, Relaxed));
        if all >= limits.process {
            return Err(LimitReached::Process);
        }
        let limit = limits.per_listener.and_then(|limit| usize::try_from(limit).ok());
        if limit.is_some_and(|limit| own >= limit) {
            return Err(LimitReached::Listener);
        }
        Ok(permit)
    }

    /// Counts the connection for its client, whose address may come from a PROXY header.
    pub(crate) fn count_client(
        &mut self,
        client: IpAddr,
        limits: ConnectionLimits,
    ) -> Result<(), LimitReached> {
        let Some(limit) = limits.per_client else { return Ok(()) };
        let counts = &self.counts.0;
        let cells @ [first, second] = counts.cells(client);
        self.client = Some(cells);
        let cells = counts.cell(0, first).zip(counts.cell(1, second));
        let Some((first, second)) = cells else { return Ok(()) };
        first.fetch_add(1, Relaxed);
        // Two threads may increment both rows at the same time. The thread that is later in the
        // second row also sees the other thread's increment of the first row. So at least one of
        // the two threads counts the other in both rows.
        let before_in_second = second.fetch_add(1, AcqRel);
        let before_in_first = first.load(Relaxed).saturating_sub(1);
        let most_before = before_in_first.min(before_in_second);
        if most_before >= limit { Err(LimitReached::Client) } else { Ok(()) }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.counts.0.process.fetch_sub(1, Relaxed);
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

    const LIMITS: ConnectionLimits =
        ConnectionLimits { process: 3, per_listener: Some(2), per_client: Some(2) };

    #[test]
    fn dropped_permit_frees_its_place() {
        let counts = Rc::new(WorkerCounts(ConnectionCounts::new(2)));
        let first = Permit::new(&counts, 0, LIMITS).unwrap();
        let _second = Permit::new(&counts, 0, LIMITS).unwrap();
        assert_eq!(Permit::new(&counts, 0, LIMITS).unwrap_err(), LimitReached::Listener);
        let _third = Permit::new(&counts, 1, LIMITS).unwrap();
        assert_eq!(Permit::new(&counts, 1, LIMITS).unwrap_err(), LimitReached::Process);
        assert_eq!(counts.0.open(), 3);
        drop(first);
        assert!(Permit::new(&counts, 0, LIMITS).is_ok());
        assert_eq!(counts.0.open(), 2);
    }

    #[test]
    fn per_client_limit_counts_each_client_separately() {
        let limits = ConnectionLimits { process: 100, per_listener: None, per_client: Some(2) };
        let counts = Rc::new(WorkerCounts(ConnectionCounts::new(1)));
        let client = |text: &str| {
            let mut permit = Permit::new(&counts, 0, limits).unwrap();
            permit.count_client(text.parse().unwrap(), limits).map(|()| permit)
        };
        let first = client("192.0.2.1").unwrap();
        let _second = client("::ffff:192.0.2.1").unwrap();
        assert_eq!(client("192.0.2.1").unwrap_err(), LimitReached::Client);
        let _another = client("192.0.2.2").unwrap();
        drop(first);
        let _third = client("192.0.2.1").unwrap();
        // A /64 network counts as one client.
        let _v6 = [client("2001:db8::1").unwrap(), client("2001:db8::2").unwrap()];
        assert_eq!(client("2001:db8::3").unwrap_err(), LimitReached::Client);
        assert!(client("2001:db8:0:1::3").is_ok());
    }

    #[test]
    fn dropped_permits_restore_all_counts() {
        let counts = Rc::new(WorkerCounts(ConnectionCounts::new(1)));
        let client: IpAddr = "192.0.2.1".parse().unwrap();
        for _ in 0..1000 {
            let mut permit = Permit::new(&counts, 0, LIMITS).unwrap();
            permit.count_client(client, LIMITS).unwrap();
        }
        assert_eq!(counts.0.open(), 0);
        assert!(counts.0.clients.iter().flatten().all(|cell| cell.load(Relaxed) == 0));
    }
}
