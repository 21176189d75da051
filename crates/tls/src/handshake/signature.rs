//! Handshake signatures that a credential creates. RFC 9846 4.5.2, RFC 5246 4.7

use std::sync::Arc;

use tercel_crypto::{SignatureAlgorithm, Signer};
use tercel_wire::SignatureScheme;

use super::question::{AnswerValue, Question, SignQuestion};
use super::runtime::flow::{Flow, wrong_answer};
use crate::auth::credential::{Credential, Key};
use crate::error::{Error, InternalError};
use crate::keys::scheme;

/// A signature that will be written into its message.
pub(crate) enum Signature<'s> {
    /// A signature that is computed in place when it is written.
    Here {
        signer: &'s dyn Signer,
        algorithm: SignatureAlgorithm,
        content: &'s [u8],
    },
    Made(Vec<u8>),
}

/// Signs `content`. If the key is in this process, the signature is computed when it is written.
pub(crate) async fn sign<'s>(
    flow: &mut Flow,
    credential: &'s Arc<Credential>,
    scheme: SignatureScheme,
    content: &'s [u8],
) -> Result<Signature<'s>, Error> {
    if let Key::Here(signer) = credential.key() {
        let algorithm = scheme::algorithm(scheme).ok_or(InternalError::SigningFailed)?;
        return Ok(Signature::Here { signer: signer.as_ref(), algorithm, content });
    }
    let credential = Arc::clone(credential);
    let content = content.to_vec();
    let question = Question::Sign(SignQuestion { credential, scheme, content });
    match flow.ask(question).await {
        AnswerValue::Signature(signature) => {
            signature.map(Signature::Made).ok_or_else(|| InternalError::SigningFailed.into())
        }
        _ => Err(wrong_answer()),
    }
}

impl Signature<'_> {
    /// Appends the signature.
    pub(crate) fn write(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        match self {
            Self::Here { signer, algorithm, content } => {
                let signed = signer.sign_to(*algorithm, content, out);
                signed.map_err(|_| InternalError::SigningFailed.into())
            }
            Self::Made(signature) => {
                out.extend_from_slice(signature);
                Ok(())
            }
        }
    }
}
