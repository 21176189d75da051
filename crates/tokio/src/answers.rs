//! Asynchronous answers to the questions of a handshake.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use tercel::pki::Refusal;
use tercel::{
    Answer, Credential, Question, ServerConfig,
    psk::PreSharedKey,
    questions::{
        AdmitEarlyDataQuestion, ChooseConfigQuestion, FindPreSharedKeyQuestion,
        FindSessionQuestion, SelectCredentialQuestion, SignQuestion, VerifyPeerQuestion,
    },
    session::NewSession,
};

use crate::error::HandshakeError;

type BoxFuture<A> = Pin<Box<dyn Future<Output = A> + Send>>;
type AnswerFn<Q, A> = Arc<dyn Fn(Q) -> BoxFuture<A> + Send + Sync>;

/// Asynchronous functions that answer the questions of handshakes, for configurations with
/// [`tercel::Policy::Ask`].
///
/// ```
/// use tercel_tokio::Answers;
/// # async fn sign_in_a_vault(_: &[u8]) -> Option<Vec<u8>> { None }
/// let answers = Answers::new()
///     .sign(|question| async move { sign_in_a_vault(question.content()).await });
/// ```
#[derive(Clone, Default)]
pub struct Answers {
    choose_config: Option<AnswerFn<ChooseConfigQuestion, Option<Arc<ServerConfig>>>>,
    find_session: Option<AnswerFn<FindSessionQuestion, Option<Vec<u8>>>>,
    store_session: Option<AnswerFn<NewSession, ()>>,
    find_pre_shared_key: Option<AnswerFn<FindPreSharedKeyQuestion, Option<Arc<PreSharedKey>>>>,
    admit_early_data: Option<AnswerFn<AdmitEarlyDataQuestion, bool>>,
    select_credential: Option<AnswerFn<SelectCredentialQuestion, Option<Arc<Credential>>>>,
    sign: Option<AnswerFn<SignQuestion, Option<Vec<u8>>>>,
    verify_peer: Option<AnswerFn<VerifyPeerQuestion, Result<(), Box<Refusal>>>>,
}

impl Answers {
    /// A value without functions: every question ends the handshake.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the function that chooses the configuration. `None` refuses the client.
    #[must_use]
    pub fn choose_config<F>(
        mut self,
        answer: impl Fn(ChooseConfigQuestion) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Option<Arc<ServerConfig>>> + Send + 'static,
    {
        self.choose_config = Some(boxed(answer));
        self
    }

    /// Sets the function that finds a stored session. A session that [is for single
    /// use](FindSessionQuestion::is_single_use) has to be removed from the store in the same step.
    #[must_use]
    pub fn find_session<F>(
        mut self,
        answer: impl Fn(FindSessionQuestion) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Option<Vec<u8>>> + Send + 'static,
    {
        self.find_session = Some(boxed(answer));
        self
    }

    /// Sets the function that finds the pre-shared key for one of the identities that the client
    /// offers. It returns `None` if no identity is known.
    #[must_use]
    pub fn find_pre_shared_key<F>(
        mut self,
        answer: impl Fn(FindPreSharedKeyQuestion) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Option<Arc<PreSharedKey>>> + Send + 'static,
    {
        self.find_pre_shared_key = Some(boxed(answer));
        self
    }

    /// Sets the function that stores a new session. The client receives the session's ticket only
    /// when the function's future is complete. If a fatal alert requires the removal of a session,
    /// the object set by [`forget_session`](tercel::server::ServerConfigBuilder::forget_session) is
    /// notified, at any later time.
    #[must_use]
    pub fn store_session<F>(
        mut self,
        keep: impl Fn(NewSession) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.store_session = Some(boxed(keep));
        self
    }

    /// Sets the function that decides whether early data with a given unique value may be accepted.
    /// A value must not be accepted twice.
    #[must_use]
    pub fn admit_early_data<F>(
        mut self,
        answer: impl Fn(AdmitEarlyDataQuestion) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = bool> + Send + 'static,
    {
        self.admit_early_data = Some(boxed(answer));
        self
    }

    /// Sets the function that selects the certificate.
    #[must_use]
    pub fn select_credential<F>(
        mut self,
        answer: impl Fn(SelectCredentialQuestion) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Option<Arc<Credential>>> + Send + 'static,
    {
        self.select_credential = Some(boxed(answer));
        self
    }

    /// Sets the function that signs. It returns `None` if no signature can be made.
    #[must_use]
    pub fn sign<F>(mut self, answer: impl Fn(SignQuestion) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Option<Vec<u8>>> + Send + 'static,
    {
        self.sign = Some(boxed(answer));
        self
    }

    /// Sets the function that verifies the peer.
    #[must_use]
    pub fn verify_peer<F>(
        mut self,
        answer: impl Fn(VerifyPeerQuestion) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<(), Box<Refusal>>> + Send + 'static,
    {
        self.verify_peer = Some(boxed(answer));
        self
    }

    pub(crate) async fn answer(&self, question: Question) -> Result<Answer, HandshakeError> {
        Ok(match question {
            Question::ChooseConfig(question) => ChooseConfigQuestion::answer_from(
                required(&self.choose_config, "ChooseConfig")?(question).await,
            ),
            Question::FindSession(question) => FindSessionQuestion::answer_from(
                required(&self.find_session, "FindSession")?(question).await,
            ),
            Question::FindPreSharedKey(question) => FindPreSharedKeyQuestion::answer_from(
                required(&self.find_pre_shared_key, "FindPreSharedKey")?(question).await,
            ),
            Question::AdmitEarlyData(question) => AdmitEarlyDataQuestion::answer_from(
                required(&self.admit_early_data, "AdmitEarlyData")?(question).await,
            ),
            Question::SelectCredential(question) => SelectCredentialQuestion::answer_from(
                required(&self.select_credential, "SelectCredential")?(question).await,
            ),
            Question::Sign(question) => {
                SignQuestion::answer_from(required(&self.sign, "Sign")?(question).await)
            }
            Question::VerifyPeer(question) => VerifyPeerQuestion::answer_from(
                required(&self.verify_peer, "VerifyPeer")?(question).await,
            ),
            _ => return Err(HandshakeError::Unanswered("a question of an unknown kind")),
        })
    }

    pub(crate) async fn keep_sessions(
        &self,
        sessions: Vec<NewSession>,
    ) -> Result<(), HandshakeError> {
        for session in sessions {
            required(&self.store_session, "to keep a session")?(session).await;
        }
        Ok(())
    }
}

fn boxed<Q, A, F>(answer: impl Fn(Q) -> F + Send + Sync + 'static) -> AnswerFn<Q, A>
where
    F: Future<Output = A> + Send + 'static,
{
    Arc::new(move |question| Box::pin(answer(question)))
}

fn required<'f, Q, A>(
    function: &'f Option<AnswerFn<Q, A>>,
    name: &'static str,
) -> Result<&'f AnswerFn<Q, A>, HandshakeError> {
    function.as_ref().ok_or(HandshakeError::Unanswered(name))
}

impl std::fmt::Debug for Answers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answers").finish_non_exhaustive()
    }
}
