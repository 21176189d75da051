//! Packets with the keys of a connection: sealed by the server, opened by the client.
//!
//! Packets are written before the timed span, because they are sealed in place. A packet is opened
//! in two steps, as by quinn: the header, then the payload, which is a separate buffer. Splitting
//! the packet in between is not timed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use lab_scenario::{Measurement, Meter, PrepareError, PreparedTask, Result, Row, Span};
use quinn_proto::crypto::Keys;

use crate::endpoint::End;
use crate::keys::{self, FRAMES};

/// Packets in one timed span.
const BATCH: usize = 64;

const SEND: usize = 0;
const RECEIVE: usize = 1;

pub(crate) struct Packets {
    client: End,
    server: End,
    meter: Meter<2>,
    frames: Vec<u8>,
    packets: Vec<Vec<u8>>,
    number: u64,
    done: BTreeMap<String, String>,
}

impl Packets {
    /// Both ends are connected.
    pub(crate) fn new(row: &Row, client: End, server: End) -> Result<Self> {
        if row.write_size > FRAMES {
            return Err("the frames do not fit into a packet".into());
        }
        let done = [
            ("version", row.version.to_string()),
            ("suite", row.suite.to_string()),
            ("packets timed at once", BATCH.to_string()),
        ];
        let mut packets = Self {
            client,
            server,
            meter: Meter::new().with_spans([Span::Send, Span::Receive]),
            frames: (0..row.write_size).map(|index| index.to_be_bytes()[7]).collect(),
            packets: vec![Vec::new(); BATCH],
            number: 0,
            done: done.map(|(name, value)| (name.to_owned(), value)).into(),
        };
        (0..3).try_for_each(|_| packets.batch())?;
        Ok(packets)
    }

    fn batch(&mut self) -> Result<()> {
        let Self { client, server, meter, frames, packets, number, .. } = self;
        let first = *number;
        for packet in packets.iter_mut() {
            keys::write(packet, *number, frames);
            *number += 1;
        }
        let keys = application(server)?;
        let (header, key) = (&*keys.header.local, &*keys.packet.local);
        meter.time::<SEND, _>(|| {
            for (number, packet) in (first..).zip(packets.iter_mut()) {
                keys::seal(header, key, number, packet);
            }
        });
        let mut received: Vec<_> =
            packets.iter().map(|packet| BytesMut::from(&packet[..])).collect();
        let keys = application(client)?;
        let (header, key) = (&*keys.header.remote, &*keys.packet.remote);
        meter.time::<RECEIVE, _>(|| {
            received.iter_mut().for_each(|packet| keys::open_header(header, packet));
        });
        let mut received: Vec<_> = received.into_iter().map(keys::split).collect();
        meter.time::<RECEIVE, _>(|| {
            (first..).zip(&mut received).try_for_each(|(number, (header, payload))| {
                key.decrypt(number, header, payload).map_err(|_| "a packet is not authentic")
            })
        })?;
        for (number, (header, payload)) in (first..).zip(&received) {
            if !keys::has_number(header, number) || payload[..] != frames[..] {
                return Err("a received packet differs from the sent packet".into());
            }
        }
        Ok(())
    }
}

fn application(end: &End) -> Result<&Keys> {
    end.keys().application.as_ref().ok_or_else(|| "not connected".into())
}

impl PreparedTask for Packets {
    fn measure(&mut self, budget: Duration) -> Result<Measurement> {
        self.meter.reset();
        let (start, mut repetitions) = (Instant::now(), 0);
        while repetitions == 0 || start.elapsed() < budget {
            self.batch()?;
            repetitions += BATCH as u64;
        }
        let sides = [
            ("send".to_owned(), self.meter.nanoseconds(SEND, repetitions)),
            ("receive".to_owned(), self.meter.nanoseconds(RECEIVE, repetitions)),
        ];
        let done = self.done.clone();
        Ok(Measurement { repetitions, sides: sides.into(), done, ..Measurement::default() })
    }

    fn repeat(&mut self, count: u64) -> std::result::Result<Measurement, PrepareError> {
        (0..count).try_for_each(|_| self.batch()).map_err(PrepareError::Failed)?;
        let (repetitions, done) = (count * BATCH as u64, self.done.clone());
        Ok(Measurement { repetitions, done, ..Measurement::default() })
    }
}
