//! Handshake signatures, made by a credential.
//! RFC 9846 4.5.2, RFC 5246 4.7
//!
//! Must not know: which message carries the signature. Next: `connection/authentication/shown.rs`,
//! which checks a peer's.

use std::sync::Arc;

use tercel_crypto::{SignatureAlgorithm, Signer};
use tercel_wire::SignatureScheme;

use super::flow::{Flow, wrong_answer};
use super::question::{Answer, Question, SignQuestion};
use crate::config::credential::{Credential, Key};
use crate::config::scheme;
use crate::error::{Error, Local};

/// A signature on its way to where it belongs in a message.
pub(crate) enum Signature<'s> {
    /// Made when it is written, in its place.
    Here {
        signer: &'s dyn Signer,
        algorithm: SignatureAlgorithm,
        content: &'s [u8],
    },
    Made(Vec<u8>),
}

/// Has `content` signed, wherever the key is; here, once it is written.
pub(crate) async fn sign<'s>(
    flow: &mut Flow,
    credential: &'s Arc<Credential>,
    scheme: SignatureScheme,
    content: &'s [u8],
) -> Result<Signature<'s>, Error> {
    if let Key::Here(signer) = credential.key() {
        let algorithm = scheme::algorithm(scheme).ok_or(Local::SigningFailed)?;
        return Ok(Signature::Here { signer: signer.as_ref(), algorithm, content });
    }
    let credential = Arc::clone(credential);
    let content = content.to_vec();
    let question = Question::Sign(SignQuestion { credential, scheme, content });
    match flow.ask(question).await {
        Answer::Signature(signature) => {
            signature.map(Signature::Made).ok_or_else(|| Local::SigningFailed.into())
        }
        _ => Err(wrong_answer()),
    }
}

impl Signature<'_> {
    /// Appends it.
    pub(crate) fn write(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        match self {
            Self::Here { signer, algorithm, content } => {
                let signed = signer.sign_to(*algorithm, content, out);
                signed.map_err(|_| Local::SigningFailed.into())
            }
            Self::Made(signature) => {
                out.extend_from_slice(signature);
                Ok(())
            }
        }
    }
}
