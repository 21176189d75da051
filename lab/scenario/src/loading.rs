//! Loading of keys, chains and roots from PEM in memory.
//!
//! Libraries differ in the work that they defer to the first use of an object: parsing keys,
//! indexing roots, precomputation. Therefore two values are judged: loading alone, and loading with
//! the first use. Each repetition loads a new object. The time to drop it is reported, but not
//! judged.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::files::Files;
use crate::handshake::{ConnectionPair, Handshakes};
use crate::library::{Library, PrepareError, Result};
use crate::meter::Meter;
use crate::protocol::Measurement;
use crate::row::{LOADING_SIDES, Load, ROOTS, Row};
use crate::worker::PreparedTask;

/// PEM data in memory.
pub enum Material {
    /// A private key in PKCS #8.
    Key(Vec<u8>),
    /// A chain of leaf, intermediate and root, and the PKCS #8 key of the leaf.
    Server {
        /// The certificates.
        chain: Vec<u8>,
        /// The key.
        key: Vec<u8>,
    },
    /// Trusted root certificates.
    Roots(Vec<u8>),
}

/// A loaded object.
pub enum LoadedObject<L> {
    /// The key.
    Key(Box<dyn Key>),
    /// A library with a new configuration of one side.
    Configured(L),
}

/// A private key.
pub trait Key {
    /// Timed: signs with the scheme of the row.
    ///
    /// # Errors
    /// Any error of the library.
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>>;
}

/// Content of the length that a TLS 1.3 handshake signs. RFC 9846 4.5.2
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
    pair: ConnectionPair<L>,
    meter: Meter<3>,
    done: BTreeMap<String, String>,
}

impl<L: Library> Loading<L> {
    pub(crate) fn new(
        library: Arc<L>,
        row: &Row,
        files: &Files,
    ) -> std::result::Result<Self, PrepareError> {
        let load =
            row.load.ok_or_else(|| PrepareError::Failed("the row has no object to load".into()))?;
        let material = match load {
            Load::Key => Material::Key(fs::read(files.server_key(row.chain))?),
            Load::Server => Material::Server {
                chain: fs::read(files.server_chain(row.chain))?,
                key: fs::read(files.server_key(row.chain))?,
            },
            Load::Roots => Material::Roots(fs::read(files.roots(row.chain))?),
        };
        // Loads once in advance, so that an unsupported row is reported as such.
        library.load(row, &material)?;
        let handshakes =
            Handshakes::new(Arc::clone(&library), row).map_err(PrepareError::Failed)?;
        let (pair, mut done) = handshakes.into_parts();
        if load == Load::Roots {
            done.insert("roots".to_owned(), ROOTS.to_string());
        }
        let meter = Meter::new();
        let mut loading = Self { library, row: row.clone(), load, material, pair, meter, done };
        loading.once().map_err(PrepareError::Failed)?;
        Ok(loading)
    }

    fn once(&mut self) -> Result<()> {
        let Self { library, row, material, meter, .. } = self;
        let loaded = meter.time::<LOAD, _>(|| library.load(row, material));
        match loaded.map_err(|unable| unable.to_string())? {
            LoadedObject::Key(key) => {
                let signature = meter.time::<USE, _>(|| key.sign(&SIGNED))?;
                if signature.len() < 64 {
                    return Err(format!("a signature of {} bytes", signature.len()).into());
                }
                meter.time::<DROP, _>(|| drop(key));
            }
            LoadedObject::Configured(configured) => {
                let configured = Arc::new(configured);
                self.pair.set_library(&configured);
                let (client, server) = self.pair.connect(false)?;
                self.pair.drop_both(client, server);
                self.pair.set_library(&self.library);
                self.meter.time::<DROP, _>(|| drop(configured));
            }
        }
        Ok(())
    }
}

impl<L: Library> PreparedTask for Loading<L> {
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
        let sides = LOADING_SIDES.map(str::to_owned).into_iter().zip([load, load + first_use]);
        Ok(Measurement {
            repetitions,
            sides: sides.collect(),
            parts: [("drop".to_owned(), self.meter.nanoseconds(DROP, repetitions))].into(),
            done: self.done.clone(),
            ..Measurement::default()
        })
    }
}
