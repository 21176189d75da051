//! Configurations that a context remembers, by what they were made from.
//!
//! A program can change the settings of each connection in the same way, such as by another context
//! for a server name. The configuration is then made once and not for each connection.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tercel::wire::{CipherSuite, NamedGroup, ProtocolVersion, SignatureScheme};
use tercel::{ClientConfig, Credential, ServerConfig};

use crate::objects::id::Id;
use crate::objects::name::Name;

/// The most configurations of each side that a context remembers.
const MOST: usize = 64;

/// What a configuration is made from.
#[derive(Clone)]
pub(crate) struct Inputs {
    pub(crate) versions: Vec<ProtocolVersion>,
    pub(crate) suites: Vec<CipherSuite>,
    pub(crate) groups: Option<Vec<NamedGroup>>,
    pub(crate) schemes: Vec<SignatureScheme>,
    /// The application protocols: those of a client, or that which a server selected.
    pub(crate) protocols: Vec<Vec<u8>>,
    pub(crate) session_context: Id,
    /// The options that configurations depend on.
    pub(crate) options: u64,
    pub(crate) mode: u32,
    pub(crate) cache_mode: u32,
    /// Other settings, as numbers.
    pub(crate) numbers: [i64; 7],
    pub(crate) flags: [bool; 5],
    /// The credentials of a server.
    pub(crate) credentials: Vec<Arc<Credential>>,
    pub(crate) authorities: Arc<Vec<Name>>,
}

impl Inputs {
    fn equals(&self, other: &Self) -> bool {
        let same = |one: &Vec<Arc<Credential>>, other: &Vec<Arc<Credential>>| {
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| Arc::ptr_eq(a, b))
        };
        self.versions == other.versions
            && self.suites == other.suites
            && self.groups == other.groups
            && self.schemes == other.schemes
            && self.protocols == other.protocols
            && self.session_context == other.session_context
            && (self.options, self.mode) == (other.options, other.mode)
            && self.cache_mode == other.cache_mode
            && (self.numbers, self.flags) == (other.numbers, other.flags)
            && same(&self.credentials, &other.credentials)
            && Arc::ptr_eq(&self.authorities, &other.authorities)
    }
}

/// Configurations of one side.
pub(crate) struct Remembered<T>(Mutex<Vec<(Inputs, Arc<T>)>>);

impl<T> Default for Remembered<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Remembered<T> {
    fn list(&self) -> MutexGuard<'_, Vec<(Inputs, Arc<T>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The configuration that was made from these inputs, or the one that `make` returns.
    pub(crate) fn get_or_make(
        &self,
        inputs: Inputs,
        make: impl FnOnce() -> Option<Arc<T>>,
    ) -> Option<Arc<T>> {
        if let Some((_, known)) = self.list().iter().find(|(known, _)| known.equals(&inputs)) {
            return Some(Arc::clone(known));
        }
        let made = make()?;
        let mut list = self.list();
        if list.len() >= MOST {
            list.remove(0);
        }
        list.push((inputs, Arc::clone(&made)));
        Some(made)
    }

    pub(crate) fn clear(&self) {
        self.list().clear();
    }
}

/// The configurations of both sides.
#[derive(Default)]
pub(crate) struct Configurations {
    pub(crate) clients: Remembered<ClientConfig>,
    pub(crate) servers: Remembered<ServerConfig>,
}

impl Configurations {
    /// Forgets all, when the context has changed.
    pub(crate) fn clear(&self) {
        self.clients.clear();
        self.servers.clear();
    }
}
