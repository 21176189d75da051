//! Answers that take their time: asynchronous functions for the questions of a handshake.
//!
//! Must not know: transports. Next: [`crate::handshake`], which asks; [`tercel::Question`].

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use tercel::pki::Refusal;
use tercel::{
    AdmitEarlyDataQuestion, Answer, ChooseConfigQuestion, Credential, FindPreSharedKeyQuestion,
    FindSessionQuestion, NewSession, PreSharedKey, Question, SelectCredentialQuestion,
    ServerConfig, SignQuestion, VerifyPeerQuestion,
};

use crate::error::HandshakeError;

type Eventually<A> = Pin<Box<dyn Future<Output = A> + Send>>;
type Function<Q, A> = Arc<dyn Fn(Q) -> Eventually<A> + Send + Sync>;

/// Asynchronous functions for the questions of handshakes whose configuration says [`tercel::Policy::Ask`].
///
/// ```
/// use tercel_tokio::Answers;
/// # async fn sign_in_a_vault(_: &[u8]) -> Option<Vec<u8>> { None }
/// let answers = Answers::new()
///     .sign(|question| async move { sign_in_a_vault(question.content()).await });
/// ```
#[derive(Clone, Default)]
pub struct Answers {
    choose_config: Option<Function<ChooseConfigQuestion, Option<Arc<ServerConfig>>>>,
    find_session: Option<Function<FindSessionQuestion, Option<Vec<u8>>>>,
    keep_session: Option<Function<NewSession, ()>>,
    find_pre_shared_key: Option<Function<FindPreSharedKeyQuestion, Option<Arc<PreSharedKey>>>>,
    admit_early_data: Option<Function<AdmitEarlyDataQuestion, bool>>,
    select_credential: Option<Function<SelectCredentialQuestion, Option<Arc<Credential>>>>,
    sign: Option<Function<SignQuestion, Option<Vec<u8>>>>,
    verify_peer: Option<Function<VerifyPeerQuestion, Result<(), Box<Refusal>>>>,
}

impl Answers {
    /// Without a function: every question ends the handshake.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Which configuration? `None` refuses the client.
    #[must_use]
    pub fn choose_config<F>(
        mut self,
        answer: impl Fn(ChooseConfigQuestion) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Option<Arc<ServerConfig>>> + Send + 'static,
    {
        self.choose_config = Some(later(answer));
        self
    }

    /// The stored session of this name. One that [is for single use](FindSessionQuestion::is_single_use)
    /// has to be taken from its store in the same step.
    #[must_use]
    pub fn find_session<F>(
        mut self,
        answer: impl Fn(FindSessionQuestion) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Option<Vec<u8>>> + Send + 'static,
    {
        self.find_session = Some(later(answer));
        self
    }

    /// The pre-shared key that the client means, one of those it offers; `None` if none is known.
    #[must_use]
    pub fn find_pre_shared_key<F>(
        mut self,
        answer: impl Fn(FindPreSharedKeyQuestion) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Option<Arc<PreSharedKey>>> + Send + 'static,
    {
        self.find_pre_shared_key = Some(later(answer));
        self
    }

    /// Stores a new session. The client learns of it only when this is done. Which ones are to be forgotten after a fatal
    /// alert is told to [`forget_session`](tercel::ServerConfigBuilder::forget_session), at any time later.
    #[must_use]
    pub fn keep_session<F>(mut self, keep: impl Fn(NewSession) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.keep_session = Some(later(keep));
        self
    }

    /// Whether early data with this unique value may be accepted, which is never so twice.
    #[must_use]
    pub fn admit_early_data<F>(
        mut self,
        answer: impl Fn(AdmitEarlyDataQuestion) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = bool> + Send + 'static,
    {
        self.admit_early_data = Some(later(answer));
        self
    }

    /// Which certificate?
    #[must_use]
    pub fn select_credential<F>(
        mut self,
        answer: impl Fn(SelectCredentialQuestion) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Option<Arc<Credential>>> + Send + 'static,
    {
        self.select_credential = Some(later(answer));
        self
    }

    /// The signature; `None` if it cannot be had.
    #[must_use]
    pub fn sign<F>(mut self, answer: impl Fn(SignQuestion) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Option<Vec<u8>>> + Send + 'static,
    {
        self.sign = Some(later(answer));
        self
    }

    /// Whether the peer is to be trusted.
    #[must_use]
    pub fn verify_peer<F>(
        mut self,
        answer: impl Fn(VerifyPeerQuestion) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<(), Box<Refusal>>> + Send + 'static,
    {
        self.verify_peer = Some(later(answer));
        self
    }

    pub(crate) async fn answer(&self, question: Question) -> Result<Answer, HandshakeError> {
        Ok(match question {
            Question::ChooseConfig(question) => {
                Answer::Config(known(&self.choose_config, "ChooseConfig")?(question).await)
            }
            Question::FindSession(question) => {
                Answer::Session(known(&self.find_session, "FindSession")?(question).await)
            }
            Question::FindPreSharedKey(question) => Answer::PreSharedKey(
                known(&self.find_pre_shared_key, "FindPreSharedKey")?(question).await,
            ),
            Question::AdmitEarlyData(question) => {
                Answer::EarlyData(known(&self.admit_early_data, "AdmitEarlyData")?(question).await)
            }
            Question::SelectCredential(question) => Answer::Credential(
                known(&self.select_credential, "SelectCredential")?(question).await,
            ),
            Question::Sign(question) => {
                Answer::Signature(known(&self.sign, "Sign")?(question).await)
            }
            Question::VerifyPeer(question) => {
                Answer::Peer(known(&self.verify_peer, "VerifyPeer")?(question).await)
            }
            _ => return Err(HandshakeError::Unanswered("a question of a newer kind")),
        })
    }

    pub(crate) async fn keep(&self, sessions: Vec<NewSession>) -> Result<(), HandshakeError> {
        for session in sessions {
            known(&self.keep_session, "to keep a session")?(session).await;
        }
        Ok(())
    }
}

fn later<Q, A, F>(answer: impl Fn(Q) -> F + Send + Sync + 'static) -> Function<Q, A>
where
    F: Future<Output = A> + Send + 'static,
{
    Arc::new(move |question| Box::pin(answer(question)))
}

fn known<'f, Q, A>(
    function: &'f Option<Function<Q, A>>,
    name: &'static str,
) -> Result<&'f Function<Q, A>, HandshakeError> {
    function.as_ref().ok_or(HandshakeError::Unanswered(name))
}

impl std::fmt::Debug for Answers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answers").finish_non_exhaustive()
    }
}
