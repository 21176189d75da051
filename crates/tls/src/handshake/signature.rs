//! Handshake signatures: made by a credential, checked against a peer's key.
//! RFC 9846 4.5.2, RFC 5246 4.7
//!
//! Must not know: which message carries the signature. Next: `config/scheme.rs`.

use std::sync::Arc;

use tercel_wire::{ProtocolVersion, SignatureScheme};

use super::flow::{Flow, wrong_answer};
use super::identity::Shown;
use super::question::{Answer, Question, SignQuestion};
use crate::config::credential::{Credential, Key};
use crate::config::scheme;
use crate::error::{Error, Local, Peer};

/// Signs `content`, here or wherever the key is.
pub(crate) async fn sign(
    flow: &mut Flow,
    credential: &Arc<Credential>,
    scheme: SignatureScheme,
    content: Vec<u8>,
) -> Result<Vec<u8>, Error> {
    if let Key::Here(signer) = credential.key() {
        let algorithm = scheme::algorithm(scheme).ok_or(Local::SigningFailed)?;
        return signer.sign(algorithm, &content).map_err(|_| Local::SigningFailed.into());
    }
    let credential = Arc::clone(credential);
    let question = Question::Sign(SignQuestion { credential, scheme, content });
    match flow.ask(question).await {
        Answer::Signature(signature) => signature.ok_or_else(|| Local::SigningFailed.into()),
        _ => Err(wrong_answer()),
    }
}

/// Checks a peer's signature, whose scheme must be among `offered`.
pub(crate) fn verify(
    signer: &Shown,
    scheme: SignatureScheme,
    version: ProtocolVersion,
    offered: &[SignatureScheme],
    content: &[u8],
    signature: &[u8],
) -> Result<(), Error> {
    // What was not offered is not looked at.
    if !offered.contains(&scheme) {
        return Err(Peer::WrongSignatureScheme.into());
    }
    let key = signer.public_key()?;
    let algorithm = scheme::algorithm(scheme).ok_or(Peer::WrongSignatureScheme)?;
    if !scheme::usable(scheme, key.kind(), version) {
        return Err(Peer::WrongSignatureScheme.into());
    }
    key.verify(algorithm, content, signature).map_err(|_| Peer::BadSignature.into())
}
