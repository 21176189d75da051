//! Verification of the peer and selection of a credential, in both versions.

use std::sync::Arc;

use pki_types::UnixTime;
use tercel_pki::{Refusal, ServerName};
use tercel_wire::{CertificateType, ClientHello, ProtocolVersion, SignatureScheme};

use super::negotiate;
use super::question::{
    AdmitAnonymousQuestion, AnswerValue, Question, RequestSource, SelectCredentialQuestion,
    VerifyPeerQuestion, request_from_message,
};
use super::runtime::flow::{Flow, wrong_answer};
use crate::auth::credential::{Credential, CredentialRequest, SelectCredential};
use crate::auth::verify_peer::{PeerIdentity, VerifyPeer};
use crate::config::client::ClientConfig;
use crate::config::client_auth::ClientAuth;
use crate::config::server::ServerConfig;
use crate::error::{Error, InternalError, PeerError};
use crate::policy::Policy;
use crate::record::joiner::Message;
use crate::resumption::session::Session;

pub(crate) use crate::auth::peer_certificate::PeerCertificate;

/// Verifies the peer; a refusal ends the handshake.
pub(crate) async fn verify(
    flow: &mut Flow,
    policy: &Policy<dyn VerifyPeer>,
    certificate: &PeerCertificate,
    server_name: Option<&ServerName<'static>>,
    now: UnixTime,
) -> Result<(), Error> {
    let result = verify_identity(flow, policy, &certificate.identity(server_name, now)).await?;
    result.map_err(|refusal| flow.refuse(refusal))
}

/// Verifies the peer, and returns a refusal as a value.
pub(crate) async fn verify_identity(
    flow: &mut Flow,
    policy: &Policy<dyn VerifyPeer>,
    peer: &PeerIdentity<'_>,
) -> Result<Result<(), Box<Refusal>>, Error> {
    if let Policy::Here(verifier) = policy {
        return Ok(verifier.verify_peer(peer));
    }
    match flow.ask(Question::VerifyPeer(VerifyPeerQuestion::of(peer))).await {
        AnswerValue::Peer(result) => Ok(result),
        _ => Err(wrong_answer()),
    }
}

/// Whether a client is admitted that declined the request for a certificate.
pub(super) async fn admits_anonymous(flow: &mut Flow, demand: ClientAuth) -> Result<bool, Error> {
    if demand != ClientAuth::Ask {
        return Ok(demand != ClientAuth::Required);
    }
    match flow.ask(Question::AdmitAnonymous(AdmitAnonymousQuestion)).await {
        AnswerValue::Anonymous(is_admitted) => Ok(is_admitted),
        _ => Err(wrong_answer()),
    }
}

/// The credential that a full handshake with this ClientHello would use. The credential is selected
/// on demand and at most once, even if the client offers several sessions. It is selected only if
/// the configuration has a set of credentials.
pub(crate) struct CredentialForHello<'h> {
    pub(crate) config: &'h ServerConfig,
    pub(crate) hello: &'h ClientHello<'h>,
    version: ProtocolVersion,
    chosen: Option<Option<Arc<Credential>>>,
}

/// Whether two names are equal, or both absent. Case does not count.
pub(super) fn is_same_name(one: Option<&str>, other: Option<&str>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.eq_ignore_ascii_case(other),
        _ => one.is_none() && other.is_none(),
    }
}

impl<'h> CredentialForHello<'h> {
    pub(crate) fn new(
        config: &'h ServerConfig,
        hello: &'h ClientHello<'h>,
        version: ProtocolVersion,
    ) -> Self {
        Self { config, hello, version, chosen: None }
    }

    /// Whether a full handshake would authenticate the same server as the session's original
    /// handshake: with the same end-entity certificate, or with a certificate for the session's
    /// server name. If the application selects credentials itself, this cannot be determined in
    /// advance. Then the configuration that issued the session and this one need the same session
    /// context, which is part of the context digest.
    pub(crate) fn authenticates(&mut self, session: &Session) -> bool {
        let Some(set) = &self.config.credential_set else {
            let Self { config, hello, version, .. } = self;
            // A full handshake would refuse a name that is unknown by now. RFC 6066 3
            let is_unknown = |of: &dyn SelectCredential| {
                let request = negotiate::request_to_resume(hello, *version, config);
                of.is_unknown_name(&request) && of.select_credential(&request).is_none()
            };
            return config.resumption.has_session_context()
                && !matches!(&config.credentials, Policy::Here(of) if is_unknown(&**of));
        };
        let Some(original) = session.credential else { return false };
        let has_server_name = session.server_name.is_some();
        let Self { config, hello, version, chosen } = self;
        let name = hello.host_name();
        // A server with a single certificate uses that certificate, whatever the client can verify.
        let takes_certificates = hello.extensions.server_certificate_type.is_none();
        if takes_certificates
            && set.contains_only(original, has_server_name)
            && !set.refuses_name(name)
        {
            return true;
        }
        let choose =
            || set.select_credential(&negotiate::request_to_resume(hello, *version, config));
        let Some(credential) = chosen.get_or_insert_with(choose) else { return false };
        if credential.id().in_session(has_server_name) == original {
            return true;
        }
        // A raw public key has no name, so it is unknown whether two keys belong to the same
        // server. RFC 7250
        if credential.raw_key().is_some() || session.server_raw_key {
            return config.resumption.has_session_context();
        }
        match (&session.server_name, name) {
            // The names can differ only if tickets are valid for all names of a certificate.
            (Some(made_under), Some(asked)) => {
                credential.covers(made_under) && (made_under == asked || credential.covers(asked))
            }
            _ => false,
        }
    }
}

/// Selects the credential for this client, and the scheme to sign with.
pub(crate) async fn select_for_client(
    flow: &mut Flow,
    config: &Arc<ServerConfig>,
    message: &Message,
    hello: &ClientHello<'_>,
    request: &CredentialRequest<'_>,
) -> Result<(Arc<Credential>, SignatureScheme), Error> {
    let source = || RequestSource::Hello {
        hello: message.clone(),
        version: request.version,
        config: Arc::clone(config),
    };
    let credential = select(flow, &config.credentials, request, source).await?;
    let credential = credential.ok_or_else(|| negotiate::no_credential(hello, config))?;
    config.common.check_fips(&credential)?;
    let scheme = request.scheme_for(&credential).ok_or(PeerError::NoCommonSignatureScheme)?;
    Ok((credential, scheme))
}

/// Selects a client's credential for the request of a server, and the scheme for its signature.
/// Without a credential the client sends an empty Certificate.
pub(crate) async fn select_for_server(
    flow: &mut Flow,
    config: &ClientConfig,
    message: &Message,
    version: ProtocolVersion,
    certificate_type: CertificateType,
) -> Result<Option<(Arc<Credential>, SignatureScheme)>, Error> {
    let Some(policy) = &config.credentials else { return Ok(None) };
    let request = request_from_message(message.body(), version, certificate_type)
        .ok_or(PeerError::MissingServerExtension)?;
    let source = || RequestSource::Request { message: message.clone(), version, certificate_type };
    let Some(credential) = select(flow, policy, &request, source).await? else { return Ok(None) };
    config.common.check_fips(&credential)?;
    let scheme = request.scheme_for(&credential).ok_or(PeerError::NoCommonSignatureScheme)?;
    Ok(Some((credential, scheme)))
}

/// Selects a credential. A server name that is unknown to the application ends the handshake.
pub(crate) async fn select(
    flow: &mut Flow,
    policy: &Policy<dyn SelectCredential>,
    request: &CredentialRequest<'_>,
    source: impl FnOnce() -> RequestSource,
) -> Result<Option<Arc<Credential>>, Error> {
    let has_name = request.server_name.is_some();
    if let Policy::Here(select) = policy {
        return match select.select_credential(request) {
            None if has_name && select.is_unknown_name(request) => {
                Err(InternalError::NoCredentialForName.into())
            }
            selected => Ok(selected),
        };
    }
    let question = SelectCredentialQuestion { source: source() };
    match flow.ask(Question::SelectCredential(question)).await {
        AnswerValue::Credential(credential) => Ok(credential),
        AnswerValue::UnknownName if has_name => Err(InternalError::NoCredentialForName.into()),
        AnswerValue::UnknownName => Ok(None),
        _ => Err(wrong_answer()),
    }
}
