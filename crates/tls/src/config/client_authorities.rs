//! The authorities that a client names to servers. RFC 9846 4.3.4
//!
//! Must not know: how a handshake goes. Next: [`super::client`], whose builder this is.

use super::client::ClientConfigBuilder;
use super::error::ConfigError;

impl ClientConfigBuilder {
    /// Names of authorities that the server is told we trust (TLS 1.3), so that one with several chains shows
    /// one that leads there: each a DER `Name`, as [`tercel_pki::Roots::subjects`] gives them. What is accepted is up to
    /// the verifier. Default: none are sent; they make the hello longer, and tell whom a client trusts.
    /// RFC 9846 4.3.4
    #[must_use]
    pub fn certificate_authorities(mut self, names: Vec<Vec<u8>>) -> Self {
        self.certificate_authorities = names;
        self
    }
}

/// Each name has a length in two bytes, and so have all together; none is empty. RFC 9846 4.3.4
pub(super) fn check_authorities(names: &[Vec<u8>]) -> Result<(), ConfigError> {
    let all =
        names.iter().fold(0_usize, |sum, name| sum.saturating_add(name.len()).saturating_add(2));
    // The block of all extensions has to have room for the rest too.
    if all > MOST_OF_AUTHORITIES || names.iter().any(Vec::is_empty) {
        return Err(ConfigError::BadAuthorities);
    }
    Ok(())
}

/// Half of what a hello's extensions may have together.
const MOST_OF_AUTHORITIES: usize = 1 << 15;
