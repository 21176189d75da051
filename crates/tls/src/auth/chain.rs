//! A peer's certificate chain, shared by a connection and its sessions.

use core::fmt;
use core::ops::Deref;
use std::sync::Arc;

use pki_types::CertificateDer;

/// A certificate chain, leaf first. An empty one allocates no memory.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Chain(Option<Arc<Vec<CertificateDer<'static>>>>);

impl Chain {
    /// Returns the certificates, which are copied only if the chain is shared.
    pub(crate) fn into_vec(self) -> Vec<CertificateDer<'static>> {
        self.0.map(Arc::unwrap_or_clone).unwrap_or_default()
    }
}

impl From<Vec<CertificateDer<'static>>> for Chain {
    fn from(certificates: Vec<CertificateDer<'static>>) -> Self {
        Self((!certificates.is_empty()).then(|| Arc::new(certificates)))
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} certificates", self.len())
    }
}

impl Deref for Chain {
    type Target = [CertificateDer<'static>];

    fn deref(&self) -> &Self::Target {
        self.0.as_ref().map_or(&[], |certificates| certificates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_copied_only_if_it_is_shared() {
        let certificates = vec![CertificateDer::from(vec![1; 3]), CertificateDer::from(vec![2])];
        let chain = Chain::from(certificates.clone());
        let shared = chain.clone();
        assert_eq!(chain.as_ptr(), shared.as_ptr());
        assert_eq!(shared.into_vec(), certificates);
        let place = chain.as_ptr();
        assert_eq!(*chain, *certificates);
        let alone = chain.into_vec();
        assert_eq!(alone.as_ptr(), place, "copied although it is not shared");
        assert!(Chain::from(Vec::new()).0.is_none() && Chain::default().into_vec().is_empty());
    }
}
