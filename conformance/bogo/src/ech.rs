//! Encrypted ClientHello: the keys of a server, the offer of a client, and their checks.

use std::sync::Arc;

use tercel::ech::{ConfigList, Key, Keys, Offer, Retry};

use tercel::error::PeerError;
use tercel::{ConnectionInfo, Ech, Error};

use crate::options::{Options, Unsupported};

/// The flags for Encrypted ClientHello.
#[derive(Clone, Default)]
pub(crate) struct EchOptions {
    /// The keys of a server. A configuration begins a new key.
    pub(crate) keys: Vec<ServerKey>,
    pub(crate) config_list: Option<Vec<u8>>,
    pub(crate) grease: bool,
    pub(crate) reject_unusable: bool,
    pub(crate) expect_accept: bool,
    pub(crate) expect_retry_configs: Option<Vec<u8>>,
    pub(crate) expect_no_retry_configs: bool,
    pub(crate) expect_name_override: Option<String>,
    pub(crate) expect_no_name_override: bool,
}

/// A key of a server.
#[derive(Clone, Default)]
pub(crate) struct ServerKey {
    pub(crate) config: Vec<u8>,
    pub(crate) private: Vec<u8>,
    pub(crate) retry: bool,
}

impl EchOptions {
    /// The key to which key flags apply.
    pub(crate) fn current(&mut self) -> Option<&mut ServerKey> {
        self.keys.last_mut()
    }
}

/// The keys of a server, if the test has some.
pub(crate) fn keys(options: &Options) -> Result<Option<Arc<Keys>>, Unsupported> {
    if options.ech.keys.is_empty() {
        return Ok(None);
    }
    let key = |from: &ServerKey| {
        let key =
            Key::from_parts(&from.config, &from.private).map_err(|error| error.to_string())?;
        Ok((key, if from.retry { Retry::Send } else { Retry::AcceptOnly }))
    };
    let keys: Result<Vec<_>, String> = options.ech.keys.iter().map(key).collect();
    let made = keys.and_then(|keys| Keys::new(keys).map_err(|error| error.to_string()));
    made.map(|keys| Some(Arc::new(keys))).map_err(Unsupported::Unimplemented)
}

/// What a client offers, if the test states it.
pub(crate) fn offer(options: &Options) -> Result<Option<Offer>, Unsupported> {
    let ech = &options.ech;
    let list = ech.config_list.as_deref().map(ConfigList::parse).transpose();
    let list = list.map_err(|_| Unsupported::Refused(":INVALID_ECH_CONFIG_LIST:"))?;
    let usable = list.as_ref().is_some_and(ConfigList::usable);
    let has_tls13 = crate::choices::versions(options).iter().any(|version| version.0 == 0x0304);
    if ech.reject_unusable && !(usable && has_tls13) {
        return Err(Unsupported::Refused(":UNUSABLE_ECH_CONFIG_LIST:"));
    }
    Ok(list.map(Offer::Configs))
}

/// Whether the result of a handshake is the expected one.
pub(crate) fn is_expected(options: &Options, info: &ConnectionInfo) -> bool {
    options.ech.expect_accept == (info.ech == Ech::Accepted)
}

/// What is wrong with the configurations of a failed handshake.
pub(crate) fn retry_fault(
    options: &Options,
    error: Error,
    configs: Option<&ConfigList>,
) -> Option<String> {
    if error != Error::EchRejected {
        return None;
    }
    let found = configs.map(ConfigList::as_bytes);
    let expected = match &options.ech.expect_retry_configs {
        Some(expected) => Some(expected.as_slice()),
        None if options.ech.expect_no_retry_configs => Some(&[][..]),
        None => found,
    };
    (found.is_none() || found != expected).then(|| format!("unexpected retry configs: {found:?}"))
}

/// BoringSSL's token, if it is another one than without Encrypted ClientHello: BoringSSL's outer
/// ClientHello has no pre-shared keys, so that the selection of one is an unexpected extension.
pub(crate) fn token(options: &Options, error: Error) -> Option<&'static str> {
    let selected = error == PeerError::WrongPreSharedKeyChosen.into();
    (selected && options.ech.config_list.is_some()).then_some(":UNEXPECTED_EXTENSION:")
}

/// What is wrong with the name for which a server is verified. `earlier` is the number of earlier
/// verifications on the connection.
pub(crate) fn name_fault(options: &Options, name: Option<&str>, earlier: usize) -> Option<String> {
    let own = options.host_name.as_deref().unwrap_or(UNNAMED);
    let expected = match &options.ech.expect_name_override {
        // The certificate of a stored session is verified before the session is offered.
        Some(_) if options.reverify_on_resume && earlier == 0 => own,
        Some(name) => name,
        None if options.ech.expect_no_name_override => own,
        None => return None,
    };
    (name != Some(expected)).then(|| format!("verification of the name {name:?}"))
}

/// The server name in tests without one.
pub(crate) const UNNAMED: &str = "unnamed.test";
