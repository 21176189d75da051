//! The provider, with a count of the random values that are drawn from it: at least one for each
//! connection.

use std::sync::atomic::{AtomicUsize, Ordering};

use rustls::crypto::{CryptoProvider, GetRandomFailed, SecureRandom};

static CALLS: AtomicUsize = AtomicUsize::new(0);

/// Installs the provider for the process, by the one line of its README apart from the count.
pub(crate) fn install() {
    let provider = tercel_rustls::default_provider();
    let counted = Counted(provider.secure_random);
    let secure_random = Box::leak(Box::new(counted));
    let provider = CryptoProvider { secure_random, ..provider };
    provider.install_default().expect("no other provider is installed");
}

/// The number of calls so far.
pub(crate) fn calls() -> usize {
    CALLS.load(Ordering::Relaxed)
}

#[derive(Debug)]
struct Counted(&'static dyn SecureRandom);

impl SecureRandom for Counted {
    fn fill(&self, out: &mut [u8]) -> Result<(), GetRandomFailed> {
        CALLS.fetch_add(1, Ordering::Relaxed);
        self.0.fill(out)
    }
}
