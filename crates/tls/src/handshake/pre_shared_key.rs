//! A server's external pre-shared keys: which of those offered is meant, and where it stands. RFC 9846 4.3.11
//!
//! Found before a suite is chosen, because the key's hash has a say in that; its binder is checked later.
//! Must not know: tickets, binders. Next: `tls13/resumption.rs`, `config/pre_shared_key/`.

use std::sync::Arc;

use tercel_wire::{ClientHello, PskKeyExchangeMode};

use super::flow::{Flow, Message, wrong_answer};
use super::hello::negotiate::{self, KnownSuites};
use super::question::{Answer, FindPreSharedKeyQuestion, Question};
use crate::config::policy::Policy;
use crate::config::pre_shared_key::PreSharedKey;
use crate::config::pre_shared_key::request::PreSharedKeyRequest;
use crate::config::server::ServerConfig;
use crate::error::Error;
use crate::record::limits;

/// The key to use, if the application knows one of those offered and it fits.
pub(crate) async fn find(
    flow: &mut Flow,
    config: &ServerConfig,
    hello: &ClientHello<'_>,
    suites: &KnownSuites,
    message: &Message,
) -> Result<Option<Arc<PreSharedKey>>, Error> {
    let Some(policy) = &config.pre_shared_keys else { return Ok(None) };
    if hello.extensions.pre_shared_key.is_none() || !goes_with_key_exchange(hello) {
        return Ok(None);
    }
    let hashes = negotiate::hashes13(suites, config)?;
    let found = match policy {
        Policy::Here(find) => {
            request(hello, &hashes).and_then(|request| find.find_pre_shared_key(&request))
        }
        Policy::Ask => {
            let hello = message.clone();
            let question = FindPreSharedKeyQuestion { hello, hashes: hashes.clone() };
            match flow.ask(Question::FindPreSharedKey(question)).await {
                Answer::PreSharedKey(found) => found,
                _ => return Err(wrong_answer()),
            }
        }
    };
    // What was not offered or fits no suite was not found.
    let Some(key) = found else { return Ok(None) };
    let fits = request(hello, &hashes).is_some_and(|request| request.fits(&key));
    Ok(fits.then_some(key))
}

/// The key's place in this hello, if it is there.
pub(crate) fn is_offered(hello: &ClientHello<'_>, key: &PreSharedKey) -> bool {
    let Some(offered) = hello.extensions.pre_shared_key else { return false };
    let mut identities = offered.identities.iter().take(limits::MAX_PSK_IDENTITIES);
    identities.any(|each| each.identity == key.identity())
}

/// Whether the client would use its keys together with a key exchange, as is the only way here. RFC 9846 4.3.9
pub(crate) fn goes_with_key_exchange(hello: &ClientHello<'_>) -> bool {
    let modes = hello.extensions.psk_key_exchange_modes;
    modes.is_some_and(|modes| modes.contains(PskKeyExchangeMode::PSK_DHE_KE))
}

/// What the application is shown of a hello; `None` if no key is offered.
pub(crate) fn request<'a>(
    hello: &ClientHello<'a>,
    hashes: &'a [tercel_crypto::HashAlgorithm],
) -> Option<PreSharedKeyRequest<'a>> {
    Some(PreSharedKeyRequest {
        hashes,
        server_name: negotiate::server_name(hello),
        signature_schemes: hello.extensions.signature_algorithms,
        identities: hello.extensions.pre_shared_key?.identities,
    })
}
