//! Encrypted ClientHello: configurations, keys, and what a client offers. RFC 9849
//!
//! The ClientHello discloses the server's name to all observers on the path. With Encrypted
//! ClientHello (ECH), a client encrypts it to a key that the server has published, usually in DNS.
//! An observer sees an outer ClientHello with a public name, which is the same for all clients of
//! the key.
//!
//! A server has [`Keys`], which are shared by configurations and replaceable at any time:
//!
//! ```
//! # fn run(credential: tercel::Credential) -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//! use tercel::ServerConfig;
//! use tercel::ech::{Key, Keys, Retry};
//!
//! let key = Key::generate("cover.example", 64)?;
//! let (stored, published) = (key.to_pem()?, key.config().to_base64());
//! let keys = Arc::new(Keys::new(vec![(key, Retry::Send)])?);
//! let config = ServerConfig::builder().credential(credential).ech(keys).build()?;
//! # let _ = (stored, published, config); Ok(()) }
//! ```
//!
//! The server needs a credential for the public name, too: a client whose configuration is out of
//! date verifies that name, and gets the current configurations.
//!
//! A client offers ECH on a connection, not in its configuration, because each server has
//! configurations of its own:
//!
//! ```
//! # fn run(published: &str, config: std::sync::Arc<tercel::ClientConfig>)
//! #     -> Result<(), Box<dyn std::error::Error>> {
//! use tercel::Handshake;
//! use tercel::ech::{ConfigList, Offer};
//!
//! let offer = Offer::Configs(ConfigList::from_base64(published)?);
//! let handshake = Handshake::client(config, "secret.example".try_into()?).with_ech(offer);
//! # let _ = handshake; Ok(()) }
//! ```
//!
//! If the server rejects the offer, the handshake ends with [`crate::Error::EchRejected`], and
//! [`crate::Handshake::ech_retry_configs`] has the configurations for one further attempt.
//!
//! [`ServiceBinding`] reads and writes the DNS records in which configurations are published.
//!
//! In split mode, a client-facing server has the keys, and uses [`Front`] to forward inner
//! ClientHellos to backend servers. RFC 9849 3.1

mod base64;
mod config_list;
mod front;
mod inner_hello;
mod key;
mod keys;
mod opening;
mod service_binding;
mod suite;

pub use config_list::{ConfigList, ConfigListError};
pub use front::{Front, FrontStep, InnerHello};
pub use key::{Key, KeyError};
pub use keys::{Keys, KeysError, Retry};
pub use service_binding::{ServiceBinding, ServiceBindingError, ServiceParameter};

pub(crate) use config_list::Selected;
pub(crate) use keys::KeySet;
pub(crate) use opening::{Opening, extension};
pub(crate) use suite::MANDATORY;

/// The offer of Encrypted ClientHello on one connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Offer {
    /// Offer ECH with the first usable configuration. If there is none, or if TLS 1.3 is not
    /// enabled, the effect is that of [`Self::Grease`] or [`Self::None`], according to
    /// [`crate::client::ClientConfigBuilder::ech_grease`]: the server's name is not encrypted.
    /// [`ConfigList::usable`] reports whether there is a usable configuration.
    Configs(ConfigList),
    /// Send an extension with random contents, which servers ignore. An observer cannot
    /// distinguish it from ECH. RFC 9849 6.2
    Grease,
    /// Do not send the extension.
    #[default]
    None,
}

/// The beginning of HPKE's `info`, before the ECHConfig. RFC 9849 6.1
pub(crate) const INFO: &[u8] = b"tls ech\0";
