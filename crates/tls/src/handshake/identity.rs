//! Who the peer is, and who we are: the questions VerifyPeer and SelectCredential, in both versions.
//!
//! Must not know: which message carries a certificate. Next: `config/policy.rs`.

use std::sync::Arc;

use pki_types::{ServerName, UnixTime};
use tercel_pki::Refusal;
use tercel_wire::{ClientHello, ProtocolVersion, SignatureScheme};

use super::flow::{Flow, Message, wrong_answer};
use super::hello::negotiate;
use super::question::{
    Answer, Question, RequestSource, SelectCredentialQuestion, VerifyPeerQuestion,
};
use crate::config::credential::{Credential, CredentialRequest};
use crate::config::policy::{PeerIdentity, Policy, SelectCredential, VerifyPeer};
use crate::config::server::ServerConfig;
pub(crate) use crate::connection::authentication::shown::Shown;
use crate::error::{Error, Peer};
use crate::session::state::Session;

/// Has the peer's chain judged; a refusal ends the handshake.
pub(crate) async fn verify(
    flow: &mut Flow,
    policy: &Policy<dyn VerifyPeer>,
    shown: &Shown,
    server_name: Option<&ServerName<'static>>,
    now: UnixTime,
) -> Result<(), Error> {
    let verdict = judge(flow, policy, &shown.identity(server_name, now)).await?;
    verdict.map_err(|refusal| flow.refuse(refusal))
}

/// Has the peer's chain judged.
pub(crate) async fn judge(
    flow: &mut Flow,
    policy: &Policy<dyn VerifyPeer>,
    shown: &PeerIdentity<'_>,
) -> Result<Result<(), Box<Refusal>>, Error> {
    if let Policy::Here(verifier) = policy {
        return Ok(verifier.verify_peer(shown));
    }
    match flow.ask(Question::VerifyPeer(VerifyPeerQuestion::of(shown))).await {
        Answer::Peer(verdict) => Ok(verdict),
        _ => Err(wrong_answer()),
    }
}

/// The credential that a full handshake would show to the client of one hello. It is chosen at most once, however many sessions
/// the client names, and only where the choice is made by a set of credentials.
pub(crate) struct CredentialForHello<'h> {
    pub(crate) config: &'h ServerConfig,
    pub(crate) hello: &'h ClientHello<'h>,
    version: ProtocolVersion,
    chosen: Option<Option<Arc<Credential>>>,
}

impl<'h> CredentialForHello<'h> {
    pub(crate) fn new(
        config: &'h ServerConfig,
        hello: &'h ClientHello<'h>,
        version: ProtocolVersion,
    ) -> Self {
        Self { config, hello, version, chosen: None }
    }

    /// Whether a full handshake would authenticate the same server as the one behind the session: with the same leaf, or with a
    /// certificate for the name that the session was made under. If the application chooses credentials itself, this is not known
    /// in advance; then both configurations need the same label, which is part of the session's context.
    pub(crate) fn authenticates(&mut self, session: &Session) -> bool {
        let Some(set) = &self.config.known_names else {
            return self.config.resumption.has_label();
        };
        let Some(shown) = session.credential else { return false };
        let has_server_name = session.server_name.is_some();
        let Self { config, hello, version, chosen } = self;
        let name = negotiate::server_name(hello);
        // A server with one certificate can show no other, so what the client can verify makes no difference.
        let takes_certificates = hello.extensions.server_certificate_type.is_none();
        if takes_certificates && set.shows_only(shown, has_server_name) && !set.refuses_name(name) {
            return true;
        }
        let choose =
            || set.select_credential(&negotiate::request_to_resume(hello, *version, config));
        let Some(credential) = chosen.get_or_insert_with(choose) else { return false };
        if credential.id().in_session(has_server_name) == shown {
            return true;
        }
        // A raw public key names nobody: whether another one has taken its place cannot be told. RFC 7250
        if credential.raw_key().is_some() || session.server_raw_key {
            return config.resumption.has_label();
        }
        match (&session.server_name, name) {
            // Two names where tickets are good for all names of a certificate.
            (Some(made_under), Some(asked)) => {
                credential.covers(made_under) && (made_under == asked || credential.covers(asked))
            }
            _ => false,
        }
    }
}

/// Has the credential chosen that a server shows to this client, and the scheme it signs with.
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
    let scheme = request.scheme_for(&credential).ok_or(Peer::NoCommonSignatureScheme)?;
    Ok((credential, scheme))
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
