//! Several credentials, and the choice among them.
//!
//! Must not know: handshakes. Next: [`super::request`], which says what fits.

use core::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use tercel_wire::{CertificateType, List};

use super::{Credential, CredentialRequest};
use crate::config::policy::SelectCredential;

/// A set of credentials that can be replaced while connections are being made.
///
/// The first whose leaf covers the name asked for and whose key fits wins; if no leaf covers the name,
/// the first that fits. Among those, one whose whole chain the peer can verify goes first.
pub struct Credentials {
    current: ArcSwap<Vec<Arc<Credential>>>,
    require_known_name: bool,
}

impl Credentials {
    /// A set, in order of preference.
    #[must_use]
    pub fn new(credentials: Vec<Credential>) -> Self {
        Self { current: ArcSwap::from_pointee(shared(credentials)), require_known_name: false }
    }

    /// Refuses clients whose server name no leaf covers, with `unrecognized_name`. RFC 6066 3
    #[must_use]
    pub fn require_known_name(mut self) -> Self {
        self.require_known_name = true;
        self
    }

    /// Puts another set in place. Handshakes under way keep what they chose; nothing is dropped.
    pub fn replace(&self, credentials: Vec<Credential>) {
        self.current.store(Arc::new(shared(credentials)));
    }

    /// Whether there are credentials, and all are of other types than these.
    pub(crate) fn lacks_type_of(&self, types: &List<'_, CertificateType>) -> bool {
        let current = self.current.load();
        !current.is_empty() && !current.iter().any(|own| types.contains(own.certificate_type()))
    }

    /// Whether clients that ask for an unknown name are to be refused, and `host` is unknown.
    #[must_use]
    pub fn refuses_name(&self, host: Option<&str>) -> bool {
        self.require_known_name
            && host.is_some_and(|host| !self.current.load().iter().any(|c| c.covers(host)))
    }
}

impl SelectCredential for Credentials {
    fn select_credential(&self, request: &CredentialRequest<'_>) -> Option<Arc<Credential>> {
        if self.refuses_name(request.server_name) {
            return None;
        }
        let current = self.current.load();
        let fitting = || current.iter().filter(|each| request.scheme_for(each).is_some());
        let named =
            |each: &&Arc<Credential>| request.server_name.is_some_and(|host| each.covers(host));
        let verifiable = |each: &&Arc<Credential>| request.can_verify_chain(each);
        let best_named = fitting().filter(named).find(verifiable).or_else(|| fitting().find(named));
        best_named.or_else(|| fitting().find(verifiable)).or_else(|| fitting().next()).cloned()
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.current.load().iter()).finish()
    }
}

fn shared(credentials: Vec<Credential>) -> Vec<Arc<Credential>> {
    credentials.into_iter().map(Arc::new).collect()
}
