//! The runner's pre-shared keys, which are all imported and ordered with the certificates.

use std::sync::Arc;

use tercel::crypto::HashAlgorithm;
use tercel::{
    ConnectionInfo,
    psk::{FindPreSharedKey, PreSharedKey, PreSharedKeyRequest},
};

use crate::application::Application;
use crate::options::{Options, Unsupported};

/// An external key as described by the flags.
#[derive(Clone, Default)]
pub(crate) struct PskOptions {
    pub(crate) key: Vec<u8>,
    pub(crate) identity: Vec<u8>,
    pub(crate) context: Vec<u8>,
    pub(crate) sha384: bool,
}

/// The imported keys of an external key, and the number of the external key.
pub(crate) struct Imported {
    pub(crate) keys: [Arc<PreSharedKey>; 2],
    pub(crate) number: i32,
}

/// The keys of a connection, in the order of the flags.
pub(crate) fn import(options: &Options) -> Result<Vec<Imported>, Unsupported> {
    let mut all = Vec::new();
    for (number, credential) in (0..).zip(&options.credentials) {
        let Some(psk) = &credential.psk else { continue };
        let keys = make(psk)?.map(Arc::new);
        all.push(Imported { keys, number });
    }
    Ok(all)
}

/// The keys of a client.
pub(crate) fn for_client(options: &Options) -> Result<Vec<PreSharedKey>, Unsupported> {
    let mut all = Vec::new();
    for psk in options.credentials.iter().filter_map(|credential| credential.psk.as_ref()) {
        all.extend(make(psk)?);
    }
    Ok(all)
}

fn make(psk: &PskOptions) -> Result<[PreSharedKey; 2], Unsupported> {
    let hash = if psk.sha384 { HashAlgorithm::Sha384 } else { HashAlgorithm::Sha256 };
    PreSharedKey::import(&psk.identity, &psk.context, &psk.key, hash)
        .map_err(|error| Unsupported::Unimplemented(error.to_string()))
}

/// The number of the key that a handshake selected.
pub(crate) fn selected(application: &Application, info: &ConnectionInfo) -> Option<i32> {
    let name = info.pre_shared_key()?;
    let same = |imported: &&Imported| imported.keys[0].external_identity() == name;
    application.pre_shared_keys.iter().find(same).map(|imported| imported.number)
}

impl FindPreSharedKey for Application {
    /// The first key of the request in the order of the flags. A certificate that precedes a key is
    /// selected instead if the client can verify certificates.
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
