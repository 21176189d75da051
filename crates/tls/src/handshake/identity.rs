//! Who the peer is, and who we are: the questions VerifyPeer and SelectCredential, in both versions.
//!
//! Must not know: which message carries a certificate. Next: `config/policy.rs`.

use std::sync::Arc;

use pki_types::{CertificateDer, ServerName, UnixTime};
use tercel_pki::Refusal;

use super::flow::{Flow, wrong_answer};
use super::question::{
    Answer, Question, RequestSource, SelectCredentialQuestion, VerifyPeerQuestion,
};
use crate::config::credential::{Credential, CredentialRequest};
use crate::config::policy::{PeerIdentity, Policy, SelectCredential, Side, VerifyPeer};
use crate::connection::facts::Facts;
use crate::error::Error;

/// What a peer showed, owned by the handshake.
pub(crate) struct Shown {
    pub(crate) side: Side,
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) ocsp_response: Option<Vec<u8>>,
    pub(crate) signed_certificate_timestamps: Option<Vec<u8>>,
}

impl Shown {
    /// The facts keep what the application may want to see.
    pub(crate) fn into_facts(self, facts: &mut Facts) {
        facts.peer_chain = self.chain;
        facts.ocsp_response = self.ocsp_response;
        facts.signed_certificate_timestamps = self.signed_certificate_timestamps;
    }
}

/// Has the peer's chain judged; a refusal ends the handshake.
pub(crate) async fn verify(
    flow: &mut Flow,
    policy: &Policy<dyn VerifyPeer>,
    shown: &Shown,
    server_name: Option<&ServerName<'static>>,
    now: UnixTime,
) -> Result<(), Error> {
    let verdict = judge(flow, policy, shown, server_name, now).await?;
    verdict.map_err(|refusal| flow.refuse(refusal))
}

/// Has the peer's chain judged.
pub(crate) async fn judge(
    flow: &mut Flow,
    policy: &Policy<dyn VerifyPeer>,
    shown: &Shown,
    server_name: Option<&ServerName<'static>>,
    now: UnixTime,
) -> Result<Result<(), Box<Refusal>>, Error> {
    if let Policy::Here(verifier) = policy {
        let identity = PeerIdentity {
            side: shown.side,
            chain: &shown.chain,
            server_name,
            ocsp_response: shown.ocsp_response.as_deref(),
            signed_certificate_timestamps: shown.signed_certificate_timestamps.as_deref(),
            now,
        };
        return Ok(verifier.verify_peer(&identity));
    }
    let question = Question::VerifyPeer(VerifyPeerQuestion {
        side: shown.side,
        chain: shown.chain.clone(),
        server_name: server_name.cloned(),
        ocsp_response: shown.ocsp_response.clone(),
        signed_certificate_timestamps: shown.signed_certificate_timestamps.clone(),
        now,
    });
    match flow.ask(question).await {
        Answer::Peer(verdict) => Ok(verdict),
        _ => Err(wrong_answer()),
    }
}

/// Has one of our own credentials chosen.
pub(crate) async fn select(
    flow: &mut Flow,
    policy: &Policy<dyn SelectCredential>,
    request: &CredentialRequest<'_>,
    source: impl FnOnce() -> RequestSource,
) -> Result<Option<Arc<Credential>>, Error> {
    if let Policy::Here(select) = policy {
        return Ok(select.select_credential(request));
    }
    let question = SelectCredentialQuestion { source: source() };
    match flow.ask(Question::SelectCredential(question)).await {
        Answer::Credential(credential) => Ok(credential),
        _ => Err(wrong_answer()),
    }
}
