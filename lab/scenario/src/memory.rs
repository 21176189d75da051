//! Memory per connection, and allocations per handshake.
//!
//! The bytes of a side are those allocated in calls on that side, plus the size of the connection's
//! value. Buffers of the thread and of the transport are not counted. Resident memory is that of
//! the whole process: its growth per pair of connections.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::allocations::{Allocations, Count, resident};
use crate::check::{check, describe};
use crate::handshake::{MAX_EXCHANGES, MAX_FLIGHT};
use crate::library::{Endpoint, Library, Result};
use crate::protocol::Measurement;
use crate::row::{ALLOCATIONS, RESIDENT, Row};
use crate::worker::PreparedTask;

/// Data that each end sends before it is idle.
const SAID: [u8; 1 << 10] = [0x74; 1 << 10];

/// The connections of a memory row.
pub(crate) struct Memory<L: Library> {
    library: Arc<L>,
    row: Row,
    counter: Allocations,
    done: BTreeMap<String, String>,
}

impl<L: Library> Memory<L> {
    pub(crate) fn new(library: Arc<L>, row: &Row, counter: Allocations) -> Result<Self> {
        let done = BTreeMap::new();
        let mut memory = Self { library, row: row.clone(), counter, done };
        // Warms up with one pair, so that one-time allocations happen before the first count.
        let mut crowd = memory.crowd(1);
        crowd.open(1)?;
        crowd.talk(0)?;
        memory.done = crowd.done()?;
        Ok(memory)
    }

    fn crowd(&mut self, most: usize) -> Crowd<'_, L> {
        Crowd {
            clients: Side::new(&self.row, most),
            servers: Side::new(&self.row, most),
            flights: Vec::new(),
            scratch: Vec::with_capacity(MAX_FLIGHT),
            library: &self.library,
            row: &self.row,
            counter: &mut self.counter,
        }
    }

    /// Measures by how many bytes the process grows for each pair of open, idle connections.
    #[allow(clippy::cast_precision_loss)]
    fn growth(&mut self) -> Result<f64> {
        let counts = self.row.connections.clone();
        let mut crowd = self.crowd(counts.last().copied().unwrap_or_default());
        let mut points = Vec::new();
        for count in counts {
            while crowd.clients.ends.len() < count {
                crowd.open(1)?;
                crowd.talk(crowd.clients.ends.len() - 1)?;
            }
            points.push((count as f64, resident()?));
        }
        Ok(slope(&points))
    }
}

impl<L: Library> PreparedTask for Memory<L> {
    fn measure(&mut self, _: Duration) -> Result<Measurement> {
        let growth = self.growth()?;
        let connections = &self.row.connections;
        let place = connections.len().checked_sub(2).ok_or("fewer than two connection counts")?;
        let count = connections[place];
        let mut crowd = self.crowd(count);
        crowd.open(count)?;
        let mut sides = BTreeMap::from([(RESIDENT.to_owned(), growth)]);
        crowd.tell("connected", &mut sides);
        crowd.tell_opening(&mut sides);
        (0..count).try_for_each(|index| crowd.talk(index))?;
        crowd.tell("idle", &mut sides);
        let mut parts = BTreeMap::new();
        if crowd.park()? {
            crowd.tell("parked", &mut parts);
        }
        let done = self.done.clone();
        let repetitions = count as u64;
        Ok(Measurement { repetitions, sides, parts, done, ..Measurement::default() })
    }

    fn slices(&self) -> u32 {
        1
    }
}

/// Connections that are open at the same time.
struct Crowd<'m, L: Library> {
    clients: Side<L::Client>,
    servers: Side<L::Server>,
    /// The pending flight of each connection.
    flights: Vec<Vec<u8>>,
    scratch: Vec<u8>,
    library: &'m L,
    row: &'m Row,
    counter: &'m mut Allocations,
}

impl<L: Library> Crowd<'_, L> {
    /// Opens more connections in lockstep: sends each flight of all connections before the next
    /// flight.
    fn open(&mut self, count: usize) -> Result<()> {
        let first = self.clients.ends.len();
        let Self { clients, servers, flights, scratch, library, row, counter } = self;
        flights.resize_with(count.max(flights.len()), Vec::new);
        for flight in &mut flights[..count] {
            flight.clear();
            let made = clients.counted(counter, |_, _| library.client())?;
            clients.ends.push(made);
            let made = servers.counted(counter, |_, _| library.server())?;
            servers.ends.push(made);
            let newest = clients.ends.len() - 1;
            clients.counted(counter, |ends, buffers| ends[newest].advance(buffers))?;
            clients.collect(counter, newest, scratch, flight)?;
        }
        for turn in 0.. {
            if turn == MAX_EXCHANGES {
                return Err("the handshake does not complete".into());
            }
            let mut quiet = true;
            for (index, flight) in (first..).zip(&mut flights[..count]) {
                quiet &= flight.is_empty();
                servers.step(counter, index, scratch, flight)?;
            }
            for (index, flight) in (first..).zip(&mut flights[..count]) {
                quiet &= flight.is_empty();
                clients.step(counter, index, scratch, flight)?;
            }
            if quiet {
                break;
            }
        }
        for (client, server) in clients.ends.iter().zip(&servers.ends).skip(first) {
            check(row, false, "client", &client.outcome()?)?;
            check(row, false, "server", &server.outcome()?)?;
        }
        Ok(())
    }

    /// Sends 1 KiB each way over one connection.
    fn talk(&mut self, index: usize) -> Result<()> {
        let Self { clients, servers, scratch, counter, .. } = self;
        say(counter, index, scratch, clients, servers)?;
        say(counter, index, scratch, servers, clients)
    }

    /// Releases memory that idle connections do not need. Returns whether the library has a call
    /// for it.
    fn park(&mut self) -> Result<bool> {
        let Self { clients, servers, counter, .. } = self;
        let mut parked = true;
        for index in 0..clients.ends.len() {
            parked &= clients.counted(counter, |ends, _| ends[index].park())?;
            parked &= servers.counted(counter, |ends, _| ends[index].park())?;
        }
        Ok(parked)
    }

    /// Stores the current number of bytes per connection under the name `what`.
    fn tell(&self, what: &str, figures: &mut BTreeMap<String, f64>) {
        figures.insert(format!("client {what}"), self.clients.each(self.clients.taken.bytes));
        figures.insert(format!("server {what}"), self.servers.each(self.servers.taken.bytes));
    }

    /// Stores the peak bytes and the number of allocations of the handshakes.
    fn tell_opening(&self, figures: &mut BTreeMap<String, f64>) {
        figures.insert("client peak".to_owned(), self.clients.each(self.clients.peak));
        figures.insert("server peak".to_owned(), self.servers.each(self.servers.peak));
        figures.insert(format!("client {ALLOCATIONS}"), self.clients.times());
        figures.insert(format!("server {ALLOCATIONS}"), self.servers.times());
    }

    fn done(&self) -> Result<BTreeMap<String, String>> {
        let (client, server) = (self.clients.ends.first(), self.servers.ends.first());
        let (client, server) = client.zip(server).ok_or("no connection")?;
        Ok(describe(&client.outcome()?, &server.outcome()?))
    }
}

/// Sends data from an end of `from` to its peer in `to`.
fn say<F: Endpoint, T: Endpoint>(
    counter: &mut Allocations,
    index: usize,
    scratch: &mut Vec<u8>,
    from: &mut Side<F>,
    to: &mut Side<T>,
) -> Result<()> {
    scratch.clear();
    from.counted(counter, |ends, buffers| ends[index].send(buffers, &SAID))?;
    from.counted(counter, |ends, buffers| ends[index].collect(buffers, scratch))?;
    let (mut rest, mut arrived) = (scratch.as_slice(), 0);
    while !rest.is_empty() {
        let taken = to.counted(counter, |ends, buffers| {
            let taken = ends[index].deliver(buffers, rest)?;
            ends[index].receive(buffers, &mut |bytes| arrived += bytes.len())?;
            Ok(taken)
        })?;
        rest = rest
            .get(taken..)
            .filter(|_| taken > 0)
            .ok_or("the receiver does not accept more data")?;
    }
    if arrived != SAID.len() {
        return Err(format!("received {arrived} bytes").into());
    }
    Ok(())
}

/// The connections of one side, and the allocations of their library.
struct Side<E: Endpoint> {
    ends: Vec<E>,
    buffers: E::Buffers,
    taken: Count,
    peak: i64,
}

impl<E: Endpoint> Side<E> {
    fn new(row: &Row, most: usize) -> Self {
        Self {
            ends: Vec::with_capacity(most),
            buffers: E::buffers(row, MAX_FLIGHT),
            taken: Count::default(),
            peak: 0,
        }
    }

    /// Passes a flight to an end and replaces it by the response.
    fn step(
        &mut self,
        counter: &mut Allocations,
        index: usize,
        scratch: &mut Vec<u8>,
        flight: &mut Vec<u8>,
    ) -> Result<()> {
        let mut rest = flight.as_slice();
        while !rest.is_empty() {
            let taken = self.counted(counter, |ends, buffers| {
                let taken = ends[index].deliver(buffers, rest)?;
                ends[index].advance(buffers)?;
                Ok(taken)
            })?;
            rest = rest.get(taken..).unwrap_or_default();
        }
        self.collect(counter, index, scratch, flight)
    }

    /// Collects through a buffer of sufficient capacity, so that growth of the buffer is not
    /// counted for a library.
    fn collect(
        &mut self,
        counter: &mut Allocations,
        index: usize,
        scratch: &mut Vec<u8>,
        flight: &mut Vec<u8>,
    ) -> Result<()> {
        scratch.clear();
        self.counted(counter, |ends, buffers| ends[index].collect(buffers, scratch))?;
        flight.clear();
        flight.extend_from_slice(scratch);
        Ok(())
    }

    fn counted<T>(
        &mut self,
        counter: &mut Allocations,
        action: impl FnOnce(&mut [E], &mut E::Buffers) -> Result<T>,
    ) -> Result<T> {
        let before = counter.now()?;
        let result = action(&mut self.ends, &mut self.buffers)?;
        let after = counter.now()?;
        self.taken.bytes += after.bytes - before.bytes;
        self.taken.times += after.times - before.times;
        self.peak = self.peak.max(self.taken.bytes);
        Ok(result)
    }

    /// Bytes per connection, including the size of the connection's value.
    #[allow(clippy::cast_precision_loss)]
    fn each(&self, bytes: i64) -> f64 {
        size_of::<E>() as f64 + bytes as f64 / self.ends.len().max(1) as f64
    }

    #[allow(clippy::cast_precision_loss)]
    fn times(&self) -> f64 {
        self.taken.times as f64 / self.ends.len().max(1) as f64
    }
}

/// The slope of the least squares line through these points.
#[allow(clippy::cast_precision_loss)]
fn slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len().max(1) as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let products: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let squares: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    products / squares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slope_leaves_out_what_does_not_grow() {
        let points = [100.0, 1000.0, 5000.0].map(|x| (x, 4e6 + 12_345.0 * x));
        assert!((slope(&points) - 12_345.0).abs() < 1e-6);
        assert!(slope(&points[..1]).is_nan());
    }
}
