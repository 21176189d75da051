//! Keys, chains and roots from PEM in memory into what a library uses them as.
//!
//! Libraries differ in what they do at once and what they put off to the first use: parsing keys, sorting a
//! store, computing with a key's numbers. So two figures are judged: loading alone, and loading with the first use of
//! what was loaded, in which nothing is left to be put off. Each repetition loads anew; dropping is told.
//! Must not know: libraries. Next: [`Library::load`].

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::files::Files;
use crate::handshake::{Handshakes, Pair};
use crate::library::{Library, Result, Unable};
use crate::meter::Meter;
use crate::protocol::Measurement;
use crate::row::{LOADING, Load, ROOTS, Row};
use crate::worker::Prepared;

/// PEM, as an application has it after it has read its files.
pub enum Material {
    /// PKCS #8.
    Key(Vec<u8>),
    /// Leaf, intermediate and root, and the leaf's key as PKCS #8.
    Server {
        /// The certificates.
        chain: Vec<u8>,
        /// The key.
        key: Vec<u8>,
    },
    /// Certificates to trust.
    Roots(Vec<u8>),
}

/// What was loaded.
pub enum Loaded<L> {
    /// The key.
    Key(Box<dyn Key>),
    /// A library one of whose sides has a configuration of its own.
    Configured(L),
}

/// A key that is ready to sign.
pub trait Key {
    /// Timed: a signature by the row's scheme.
    ///
    /// # Errors
    /// The library's.
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>>;
}

/// What a handshake of TLS 1.3 signs is that long. RFC 9846 4.5.2
const SIGNED: [u8; 64 + 33 + 1 + 48] = [0x20; 146];

const LOAD: usize = 0;
const USE: usize = 1;
const DROP: usize = 2;

/// A row of loading.
pub(crate) struct Loading<L: Library> {
    library: Arc<L>,
    row: Row,
    load: Load,
    material: Material,
    pair: Pair<L>,
    meter: Meter<3>,
    done: BTreeMap<String, String>,
}

impl<L: Library> Loading<L> {
    pub(crate) fn new(
        library: Arc<L>,
        row: &Row,
        files: &Files,
    ) -> std::result::Result<Self, Unable> {
        let load = row.load.ok_or_else(|| Unable::Failed("nothing to load".into()))?;
        let material = match load {
            Load::Key => Material::Key(fs::read(files.server_key(row.chain))?),
            Load::Server => Material::Server {
                chain: fs::read(files.server_chain(row.chain))?,
                key: fs::read(files.server_key(row.chain))?,
            },
            Load::Roots => Material::Roots(fs::read(files.roots(row.chain))?),
        };
        // Asked once, so that a library that cannot says so.
        library.load(row, &material)?;
        let handshakes = Handshakes::new(Arc::clone(&library), row).map_err(Unable::Failed)?;
        let (pair, mut done) = handshakes.into_parts();
        if load == Load::Roots {
            done.insert("roots".to_owned(), ROOTS.to_string());
        }
        let meter = Meter::new();
        let mut loading = Self { library, row: row.clone(), load, material, pair, meter, done };
        loading.once().map_err(Unable::Failed)?;
        Ok(loading)
    }

    fn once(&mut self) -> Result<()> {
        let Self { library, row, material, meter, .. } = self;
        let loaded = meter.time::<LOAD, _>(|| library.load(row, material));
        match loaded.map_err(|unable| unable.to_string())? {
            Loaded::Key(key) => {
                let signature = meter.time::<USE, _>(|| key.sign(&SIGNED))?;
                if signature.len() < 64 {
                    return Err(format!("a signature of {} bytes", signature.len()).into());
                }
                meter.time::<DROP, _>(|| drop(key));
            }
            Loaded::Configured(configured) => {
                let configured = Arc::new(configured);
                self.pair.lend(&configured);
                let (client, server) = self.pair.connect(false)?;
                self.pair.drop_both(client, server);
                self.pair.lend(&self.library);
                self.meter.time::<DROP, _>(|| drop(configured));
            }
        }
        Ok(())
    }
}

impl<L: Library> Prepared for Loading<L> {
    fn measure(&mut self, budget: Duration) -> Result<Measurement> {
        self.meter.reset();
        self.pair.reset();
        let (start, mut repetitions) = (Instant::now(), 0);
        while repetitions == 0 || start.elapsed() < budget {
            self.once()?;
            repetitions += 1;
        }
        let [client, server] = self.pair.spent(repetitions);
        let first_use = match self.load {
            Load::Key => self.meter.nanoseconds(USE, repetitions),
            Load::Server => server,
            Load::Roots => client,
        };
        let load = self.meter.nanoseconds(LOAD, repetitions);
        let sides = LOADING.map(str::to_owned).into_iter().zip([load, load + first_use]);
        Ok(Measurement {
            repetitions,
            sides: sides.collect(),
            parts: [("drop".to_owned(), self.meter.nanoseconds(DROP, repetitions))].into(),
            done: self.done.clone(),
            ..Measurement::default()
        })
    }
}
