//! The runner's pre-shared keys: all of them imported, in one order with the certificates.
//!
//! Must not know: sockets. Next: [`crate::judge`], which finds them for the library.

use std::sync::Arc;

use tercel::crypto::HashAlgorithm;
use tercel::{Facts, FindPreSharedKey, PreSharedKey, PreSharedKeyRequest};

use crate::judge::Judge;
use crate::options::{Options, Unfit};

/// An external key as the flags describe it.
#[derive(Clone, Default)]
pub(crate) struct PskOptions {
    pub(crate) key: Vec<u8>,
    pub(crate) identity: Vec<u8>,
    pub(crate) context: Vec<u8>,
    pub(crate) sha384: bool,
}

/// What an external key was imported as, and its number for the runner.
pub(crate) struct Imported {
    pub(crate) keys: [Arc<PreSharedKey>; 2],
    pub(crate) number: i32,
}

/// The keys of a connection, in the order of the flags.
pub(crate) fn import(options: &Options) -> Result<Vec<Imported>, Unfit> {
    let mut all = Vec::new();
    for (number, credential) in (0..).zip(&options.credentials) {
        let Some(psk) = &credential.psk else { continue };
        let keys = make(psk)?.map(Arc::new);
        all.push(Imported { keys, number });
    }
    Ok(all)
}

/// Keys for a client, which takes them for itself.
pub(crate) fn for_client(options: &Options) -> Result<Vec<PreSharedKey>, Unfit> {
    let mut all = Vec::new();
    for psk in options.credentials.iter().filter_map(|credential| credential.psk.as_ref()) {
        all.extend(make(psk)?);
    }
    Ok(all)
}

fn make(psk: &PskOptions) -> Result<[PreSharedKey; 2], Unfit> {
    let hash = if psk.sha384 { HashAlgorithm::Sha384 } else { HashAlgorithm::Sha256 };
    PreSharedKey::import(&psk.identity, &psk.context, &psk.key, hash)
        .map_err(|error| Unfit::Unimplemented(error.to_string()))
}

/// The number of the key that a handshake rests on.
pub(crate) fn selected(judge: &Judge, facts: &Facts) -> Option<i32> {
    let name = facts.pre_shared_key()?;
    let same = |imported: &&Imported| imported.keys[0].external_identity() == name;
    judge.pre_shared_keys.iter().find(same).map(|imported| imported.number)
}

impl FindPreSharedKey for Judge {
    /// The first that fits in the order of the flags: a certificate ahead of a key wins if the client can
    /// verify any.
    fn find_pre_shared_key(&self, request: &PreSharedKeyRequest<'_>) -> Option<Arc<PreSharedKey>> {
        let verifies = request.signature_schemes.is_some_and(|schemes| !schemes.is_empty());
        let numbers = self.credentials.iter().map(|loaded| loaded.number);
        let certificate = numbers.filter(|number| verifies && *number >= 0).min();
        let ahead = |imported: &&Imported| {
            certificate.is_none_or(|certificate| imported.number < certificate)
        };
        let keys = self.pre_shared_keys.iter().take_while(ahead);
        let fitting = |imported: &Imported| {
            let with = |hash: &HashAlgorithm| {
                let mut keys = imported.keys.iter();
                keys.find(|key| key.hash() == *hash && request.fits(key)).map(Arc::clone)
            };
            request.hashes.iter().find_map(with)
        };
        keys.into_iter().find_map(fitting)
    }
    fn knows(&self, _: &[u8], fingerprint: &[u8; 32]) -> bool {
        let keys = self.pre_shared_keys.iter().flat_map(|imported| &imported.keys);
        keys.into_iter().any(|key| key.fingerprint() == *fingerprint)
    }
}
