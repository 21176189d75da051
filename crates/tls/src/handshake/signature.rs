//! Handshake signatures, made by a credential.
//! RFC 9846 4.5.2, RFC 5246 4.7
//!
//! Must not know: which message carries the signature. Next: `connection/authentication/shown.rs`,
//! which checks a peer's.

use std::sync::Arc;

use tercel_wire::SignatureScheme;

use super::flow::{Flow, wrong_answer};
use super::question::{Answer, Question, SignQuestion};
use crate::config::credential::{Credential, Key};
use crate::config::scheme;
use crate::error::{Error, Local};

/// Signs `content`, here or wherever the key is.
pub(crate) async fn sign(
    flow: &mut Flow,
    credential: &Arc<Credential>,
    scheme: SignatureScheme,
    content: &[u8],
) -> Result<Vec<u8>, Error> {
    if let Key::Here(signer) = credential.key() {
        let algorithm = scheme::algorithm(scheme).ok_or(Local::SigningFailed)?;
        return signer.sign(algorithm, content).map_err(|_| Local::SigningFailed.into());
    }
    let credential = Arc::clone(credential);
    let content = content.to_vec();
    let question = Question::Sign(SignQuestion { credential, scheme, content });
    match flow.ask(question).await {
        Answer::Signature(signature) => signature.ok_or_else(|| Local::SigningFailed.into()),
        _ => Err(wrong_answer()),
    }
}
