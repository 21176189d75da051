//! The way in which an application makes a decision: immediately or later.
//!
//! Each decision is a trait with one method and borrowed arguments. A configuration contains either
//! [`Policy::Here`] with an implementation, which answers without suspending the handshake, or
//! [`Policy::Ask`], which makes [`crate::Handshake::advance`] return a [`crate::Question`].

use std::sync::Arc;

/// A way to make a decision: immediately by an object, or later by the caller of the handshake.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
/// use tercel::{certificates::ChainPolicy, pki::Roots, ClientConfig, Policy};
///
/// let mut roots = Roots::new();
/// roots.add_pem(&std::fs::read("ca.pem")?)?;
/// let here = Policy::Here(Arc::new(ChainPolicy::new(roots)?) as _);
/// let decides_at_once = ClientConfig::builder().verifier(here).build()?;
/// let asks_the_caller = ClientConfig::builder().verifier(Policy::Ask).build()?;
/// # let _ = (decides_at_once, asks_the_caller); Ok(()) }
/// ```
#[derive(Debug)]
pub enum Policy<T: ?Sized> {
    /// This object answers without suspending the handshake.
    Here(Arc<T>),
    /// The handshake is suspended with [`crate::Next::Answer`] until the caller answers. After the
    /// handshake nothing asks: the caller verifies the certificate of a client, or selects the
    /// credential for a server's request, without a question.
    Ask,
}

impl<T: ?Sized> Clone for Policy<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Here(object) => Self::Here(Arc::clone(object)),
            Self::Ask => Self::Ask,
        }
    }
}
