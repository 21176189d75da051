//! The floor of bulk rows: records are encrypted from one buffer into another, and decrypted again.
//!
//! The memory accesses are those that a library needs: plaintext is read once, ciphertext is
//! written once to a [`SendBuffer`], and all decrypted records use the same memory.

use std::time::{Duration, Instant};

use lab_bare::Aead;
use lab_scenario::{
    Measurement, Meter, PrepareError, PreparedTask, Result, Row, SendBuffer, Span, Version,
};

use crate::operands::aead_name;

/// The maximum content of a record.
const RECORD: usize = 16 << 10;
const HEADER: usize = 5;
const TAG: usize = 16;
/// The bytes of writes in a timed batch, as for the peers.
const BATCH: usize = 256 << 10;
const MAX_WRITES: usize = 1024;

/// The records of a row, and their timer.
pub(crate) struct Bulk {
    records: Records,
    meter: Meter<2>,
}

pub(crate) struct Records {
    aead: Aead,
    /// TLS 1.3: the encrypted content type.
    content_type: &'static [u8],
    /// TLS 1.2 with AES-GCM: the length of the explicit nonce in each record. RFC 5288 3
    explicit_nonce: usize,
    plaintext: Vec<u8>,
    sealed: SendBuffer,
    /// The receiver's copy of the sealed records, which always has their length.
    wire: Vec<u8>,
    opened: Vec<u8>,
    writes: usize,
}

impl Bulk {
    pub(crate) fn new(row: &Row) -> Self {
        let meter = Meter::new().with_spans([Span::Send, Span::Receive]);
        Self { records: Records::new(row), meter }
    }
}

impl Records {
    pub(crate) fn new(row: &Row) -> Self {
        let tls13 = row.version == Version::Tls13;
        let explicit_nonce = if tls13 || row.suite.name().contains("CHACHA20") { 0 } else { 8 };
        let content_type: &[u8] = if tls13 { &[23] } else { &[] };
        let size = row.write_size.max(1);
        let writes = (BATCH / size).clamp(1, MAX_WRITES);
        let overhead = HEADER + explicit_nonce + content_type.len() + TAG;
        let length = writes * (size + size.div_ceil(RECORD) * overhead);
        Self {
            aead: Aead::new(aead_name(row.suite)),
            content_type,
            explicit_nonce,
            plaintext: vec![0x64; size],
            sealed: SendBuffer::new(row, length),
            wire: vec![0; length],
            opened: vec![0; RECORD + 1],
            writes,
        }
    }

    pub(crate) fn seal(&mut self) {
        let overhead = HEADER + self.explicit_nonce;
        let mut sequence = 0_u64;
        for _ in 0..self.writes {
            for content in self.plaintext.chunks(RECORD) {
                let length = overhead + content.len() + self.content_type.len() + TAG;
                let body = &mut self.sealed.space(length)[overhead..length];
                let (nonce, aad) = (nonce(sequence), [23, 3, 3, 0, 0]);
                self.aead.seal(&nonce, &aad, content, self.content_type, body);
                self.sealed.fill(length);
                sequence += 1;
            }
        }
    }

    pub(crate) fn open(&mut self) {
        let overhead = HEADER + self.explicit_nonce;
        let (mut sequence, mut from) = (0_u64, self.wire.as_slice());
        for _ in 0..self.writes {
            for content in self.plaintext.chunks(RECORD) {
                let inner = content.len() + self.content_type.len();
                let (record, rest) = from.split_at(overhead + inner + TAG);
                let (nonce, aad) = (nonce(sequence), [23, 3, 3, 0, 0]);
                self.aead.open(&nonce, &aad, &record[overhead..], &mut self.opened[..inner]);
                (sequence, from) = (sequence + 1, rest);
            }
        }
    }
}

impl Records {
    /// The number of records of equal length that [`Self::seal_alike`] encrypts.
    pub(crate) fn count(&self) -> usize {
        self.writes * self.plaintext.len().div_ceil(RECORD)
    }

    /// Encrypts these records with the same content and the same nonce.
    pub(crate) fn seal_alike(&mut self) {
        let start = HEADER + self.explicit_nonce;
        let (count, length) = (self.count(), self.wire.len() / self.count());
        for content in self.plaintext.chunks(RECORD).cycle().take(count) {
            let body = &mut self.sealed.space(length)[start..length];
            self.aead.seal(&nonce(0), &[0; 5], content, self.content_type, body);
            self.sealed.fill(length);
        }
    }

    /// Decrypts the output of [`Self::seal_alike`].
    pub(crate) fn open_alike(&mut self) {
        let start = HEADER + self.explicit_nonce;
        let length = self.wire.len() / self.count();
        let opened = &mut self.opened[..length - start - TAG];
        for record in self.wire.chunks_exact(length) {
            self.aead.open(&nonce(0), &[0; 5], &record[start..], opened);
        }
    }

    /// Moves encrypted records to the receiver.
    pub(crate) fn travel(&mut self) {
        self.wire.clear();
        self.sealed.collect(&mut self.wire);
    }
}

fn nonce(sequence: u64) -> [u8; 12] {
    let mut nonce = [7; 12];
    nonce[4..].copy_from_slice(&sequence.to_be_bytes());
    nonce
}

impl Bulk {
    fn batch(&mut self) {
        let Self { records, meter } = self;
        meter.time::<0, _>(|| records.seal());
        records.travel();
        meter.time::<1, _>(|| records.open());
    }

    /// Checks that the last record is unchanged, and returns the number of writes in these batches.
    fn checked(&self, batches: u64) -> Result<u64> {
        let Records { plaintext, opened, writes, .. } = &self.records;
        let last = (plaintext.len() - 1) % RECORD;
        if opened[..=last] != plaintext[..=last] {
            return Err("decrypted data differs from the plaintext".into());
        }
        Ok(batches * *writes as u64)
    }
}

impl PreparedTask for Bulk {
    fn measure(&mut self, budget: Duration) -> Result<Measurement> {
        self.meter.reset();
        let (start, mut batches) = (Instant::now(), 0);
        while batches == 0 || start.elapsed() < budget {
            self.batch();
            batches += 1;
        }
        let repetitions = self.checked(batches)?;
        let sides = [
            ("send".to_owned(), self.meter.nanoseconds(0, repetitions)),
            ("receive".to_owned(), self.meter.nanoseconds(1, repetitions)),
        ];
        Ok(Measurement { repetitions, sides: sides.into(), ..Measurement::default() })
    }

    fn repeat(&mut self, count: u64) -> std::result::Result<Measurement, PrepareError> {
        (0..count).for_each(|_| self.batch());
        let repetitions = self.checked(count).map_err(PrepareError::Failed)?;
        Ok(Measurement { repetitions, ..Measurement::default() })
    }
}
