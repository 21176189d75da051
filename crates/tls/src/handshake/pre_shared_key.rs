//! Selection of an external pre-shared key by a server. RFC 9846 4.3.11
//!
//! The key is selected before the cipher suite, because the key's hash restricts the suites. The
//! key's binder is checked later.

use std::sync::Arc;

use tercel_wire::ClientHello;

use super::negotiate::{self, KnownSuites, pre_shared_key_request, supports_psk_dhe_ke};
use super::question::{AnswerValue, FindPreSharedKeyQuestion, Question};
use super::runtime::flow::{Flow, wrong_answer};
use crate::config::server::ServerConfig;
use crate::error::Error;
use crate::policy::Policy;
use crate::psk::PreSharedKey;
use crate::record::joiner::Message;

/// Finds the key to use, if the application knows an offered key whose hash is that of a common
/// suite.
pub(crate) async fn find(
    flow: &mut Flow,
    config: &ServerConfig,
    hello: &ClientHello<'_>,
    suites: &KnownSuites,
    message: &Message,
) -> Result<Option<Arc<PreSharedKey>>, Error> {
    let Some(policy) = &config.pre_shared_keys else { return Ok(None) };
    if hello.extensions.pre_shared_key.is_none() || !supports_psk_dhe_ke(hello) {
        return Ok(None);
    }
    let hashes = negotiate::hashes13(suites, config)?;
    let found = match policy {
        Policy::Here(find) => find.find_pre_shared_key(&pre_shared_key_request(hello, &hashes)),
        Policy::Ask => {
            let hello = message.clone();
            let question = FindPreSharedKeyQuestion { hello, hashes: hashes.clone() };
            match flow.ask(Question::FindPreSharedKey(question)).await {
                AnswerValue::PreSharedKey(found) => found,
                _ => return Err(wrong_answer()),
            }
        }
    };
    // A returned key that was not offered, or fits no suite, is ignored.
    let Some(key) = found else { return Ok(None) };
    Ok(pre_shared_key_request(hello, &hashes).fits(&key).then_some(key))
}
