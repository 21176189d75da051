//! The trust anchors of the operating system, with an event about those that are left out.

use tercel_pki::{Roots, RootsError};

/// Reads the authorities that the operating system trusts, as [`Roots::native`] does. With the
/// feature `tracing`, a WARN of the target `tercel::roots` names certificates that are left out.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut roots = tercel::certificates::native_roots()?;
/// roots.add_pem(&std::fs::read("own-ca.pem")?)?;
/// let config = tercel::ClientConfig::builder().roots(roots).build()?;
/// # let _ = config; Ok(()) }
/// ```
///
/// # Errors
/// If no authority can be read: the error has the first file that cannot, and the reason.
#[cfg_attr(docsrs, doc(cfg(feature = "native-roots")))]
pub fn native_roots() -> Result<Roots, RootsError> {
    let found = Roots::native()?;
    #[cfg(feature = "tracing")]
    if let Some(left_out) = found.left_out() {
        tracing::warn!(target: "tercel::roots", "{left_out}");
    }
    Ok(found.roots)
}
