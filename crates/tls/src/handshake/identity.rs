//! Who the peer is, and who we are: the questions VerifyPeer and SelectCredential, in both versions.
//!
//! Must not know: which message carries a certificate. Next: `config/policy.rs`.

use std::sync::Arc;

use pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use tercel_crypto::{CryptoError, PublicKey};
use tercel_pki::{Refusal, RefusalReason};

use super::flow::{Flow, wrong_answer};
use super::question::{
    Answer, Question, RequestSource, SelectCredentialQuestion, VerifyPeerQuestion,
};
use crate::config::credential::{Credential, CredentialRequest};
use crate::config::policy::{PeerIdentity, Policy, SelectCredential, Side, VerifyPeer};
use crate::connection::facts::Facts;
use crate::error::{Error, Peer};

/// What a peer showed, owned by the handshake.
pub(crate) struct Shown {
    pub(crate) side: Side,
    /// Empty if the peer showed a raw public key.
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) raw_public_key: Option<SubjectPublicKeyInfoDer<'static>>,
    /// Whether we asked for an OCSP response.
    pub(crate) ocsp_requested: bool,
    pub(crate) ocsp_response: Option<Vec<u8>>,
    pub(crate) signed_certificate_timestamps: Option<Vec<u8>>,
}

impl Shown {
    /// A chain, with nothing stapled to it.
    pub(crate) fn chain(side: Side, chain: Vec<CertificateDer<'static>>) -> Self {
        Self {
            side,
            chain,
            raw_public_key: None,
            ocsp_requested: false,
            ocsp_response: None,
            signed_certificate_timestamps: None,
        }
    }

    /// A SubjectPublicKeyInfo. RFC 7250 3
    pub(crate) fn raw_public_key(side: Side, key: &[u8]) -> Self {
        let key = SubjectPublicKeyInfoDer::from(key.to_vec());
        Self { raw_public_key: Some(key), ..Self::chain(side, Vec::new()) }
    }

    /// The key that signs the handshake.
    pub(crate) fn public_key(&self) -> Result<PublicKey, Error> {
        match &self.raw_public_key {
            Some(key) => PublicKey::from_spki(key).map_err(|error| match error {
                CryptoError::Unsupported => Error::Refused(RefusalReason::UnsupportedKey),
                _ => Peer::BadRawPublicKey.into(),
            }),
            None => tercel_pki::end_entity_public_key(&self.chain).map_err(Error::Refused),
        }
    }

    /// The facts keep what the application may want to see.
    pub(crate) fn into_facts(self, facts: &mut Facts) {
        facts.peer_chain = self.chain;
        facts.peer_raw_public_key = self.raw_public_key;
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
            raw_public_key: shown.raw_public_key.as_deref(),
            server_name,
            ocsp_requested: shown.ocsp_requested,
            ocsp_response: shown.ocsp_response.as_deref(),
            signed_certificate_timestamps: shown.signed_certificate_timestamps.as_deref(),
            now,
        };
        return Ok(verifier.verify_peer(&identity));
    }
    let question = Question::VerifyPeer(VerifyPeerQuestion {
        side: shown.side,
        chain: shown.chain.clone(),
        raw_public_key: shown.raw_public_key.clone(),
        server_name: server_name.cloned(),
        ocsp_requested: shown.ocsp_requested,
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
