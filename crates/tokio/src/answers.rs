//! Asynchronous answers to the questions of a handshake.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use tercel::pki::Refusal;
use tercel::{
    Answer, Question, ServerConfig,
    psk::PreSharedKey,
    questions::{
        AdmitAnonymousQuestion, AdmitEarlyDataQuestion, ChooseConfigQuestion, ClaimSessionQuestion,
        FindClientSessionQuestion, FindPreSharedKeyQuestion, FindSessionQuestion,
        OpenTicketQuestion, SealTicketQuestion, SelectCredentialQuestion, SignQuestion,
        VerifyPeerQuestion,
    },
    session::{ClientSession, NewSession},
};

use crate::error::HandshakeError;

type BoxFuture<A> = Pin<Box<dyn Future<Output = A> + Send>>;
type AnswerFn<Q, A> = Arc<dyn Fn(Q) -> BoxFuture<A> + Send + Sync>;

/// Defines [`Answers`] from a table of `name: Variant(Question) => Answer`, where `Variant` is the
/// variant of [`Question`]: a function and its setter for each question, and the call of the
/// function that a question needs.
macro_rules! answers {
    ($(#[$meta:meta])* { $(
        $(#[$doc:meta])* $name:ident: $Variant:ident($Question:ident) => $Answer:ty,
    )* }) => {
        $(#[$meta])*
        #[derive(Clone, Default)]
        pub struct Answers {
            $($name: Option<AnswerFn<$Question, $Answer>>,)*
            open_ticket: Option<AnswerFn<OpenTicketQuestion, Answer>>,
            select_credential: Option<AnswerFn<SelectCredentialQuestion, Answer>>,
            store_session: Option<AnswerFn<NewSession, ()>>,
        }

        impl Answers {
            $(
                $(#[$doc])*
                #[must_use]
                pub fn $name<F>(
                    mut self,
                    answer: impl Fn($Question) -> F + Send + Sync + 'static,
                ) -> Self
                where
                    F: Future<Output = $Answer> + Send + 'static,
                {
                    self.$name = Some(boxed(answer));
                    self
                }
            )*

            pub(crate) async fn answer(&self, question: Question) -> Result<Answer, HandshakeError> {
                match question {
                    // Without the function, no session for single use is resumed.
                    Question::ClaimSession(question) if self.claim_session.is_none() => {
                        Ok(question.answer(false))
                    }
                    $(Question::$Variant(question) => {
                        let answer = required(&self.$name, stringify!($Variant))?;
                        Ok($Question::answer_from(answer(question).await))
                    })*
                    Question::OpenTicket(question) => {
                        Ok(required(&self.open_ticket, "OpenTicket")?(question).await)
                    }
                    Question::SelectCredential(question) => {
                        Ok(required(&self.select_credential, "SelectCredential")?(question).await)
                    }
                    _ => Err(HandshakeError::Unanswered("a question of an unknown kind")),
                }
            }
        }
    };
}

answers! {
    /// Asynchronous functions that answer the [questions](tercel::Question) of handshakes. They are
    /// asked by configurations with [`tercel::Policy::Ask`], remote private keys,
    /// [`ClientAuth::Ask`](tercel::server::ClientAuth::Ask),
    /// [`ask_for_tickets`](tercel::server::ServerConfigBuilder::ask_for_tickets) or
    /// [`ask_for_session`](tercel::client::ClientConfigBuilder::ask_for_session). After the
    /// handshake nothing is asked.
    ///
    /// ```
    /// use tercel_tokio::Answers;
    /// # async fn sign_in_a_vault(_: &[u8]) -> Option<Vec<u8>> { None }
    /// let answers = Answers::new()
    ///     .sign(|question| async move { sign_in_a_vault(question.content()).await });
    /// ```
    {
        /// Sets the function that chooses the configuration. `None` refuses the client.
        choose_config: ChooseConfig(ChooseConfigQuestion) => Option<Arc<ServerConfig>>,
        /// Sets the function that finds a stored session, which stays in the store.
        find_session: FindSession(FindSessionQuestion) => Option<Vec<u8>>,
        /// Sets the function that removes a session for single use (TLS 1.3) from the store, once
        /// its client has proved that it has the session's key. If several connections claim one
        /// session, only one may get `true`. Without the function, such sessions are not resumed.
        claim_session: ClaimSession(ClaimSessionQuestion) => bool,
        /// Sets the function that seals a session in a ticket, or returns `None` if no ticket can
        /// be made.
        seal_ticket: SealTicket(SealTicketQuestion) => Option<Vec<u8>>,
        /// Sets the function that finds the pre-shared key for one of the identities that the
        /// client offers. It returns `None` if no identity is known.
        find_pre_shared_key: FindPreSharedKey(FindPreSharedKeyQuestion) => Option<Arc<PreSharedKey>>,
        /// Sets the function that decides whether early data with a given unique value may be
        /// accepted. A value must not be accepted twice.
        admit_early_data: AdmitEarlyData(AdmitEarlyDataQuestion) => bool,
        /// Sets the function that finds a session to offer to a server. It has to remove the
        /// session from the store in the same step.
        find_client_session: FindClientSession(FindClientSessionQuestion) => Option<ClientSession>,
        /// Sets the function that signs. It returns `None` if no signature can be made.
        ///
        /// A [`Signer`](tercel::crypto::Signer) that blocks, such as a hardware module, signs on
        /// another thread:
        ///
        /// ```
        /// # use std::sync::Arc;
        /// use tercel_tokio::{Answers, tercel::crypto::Signer};
        ///
        /// fn answers(module: Arc<dyn Signer>) -> Answers {
        ///     Answers::new().sign(move |question| {
        ///         let module = Arc::clone(&module);
        ///         async move {
        ///             let signing = move || question.sign(&*module).ok();
        ///             tokio::task::spawn_blocking(signing).await.ok().flatten()
        ///         }
        ///     })
        /// }
        /// ```
        sign: Sign(SignQuestion) => Option<Vec<u8>>,
        /// Sets the function that verifies the peer.
        verify_peer: VerifyPeer(VerifyPeerQuestion) => Result<(), Box<Refusal>>,
        /// Sets the function that decides whether a client without a certificate is admitted
        /// ([`ClientAuth::Ask`](tercel::server::ClientAuth::Ask)).
        admit_anonymous: AdmitAnonymous(AdmitAnonymousQuestion) => bool,
    }
}

impl Answers {
    /// Creates answers without functions, with which each question fails the handshake, except
    /// [`claim_session`](Self::claim_session).
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the function that opens a client's ticket. It answers with
    /// [`answer`](OpenTicketQuestion::answer), or with
    /// [`answer_and_renew`](OpenTicketQuestion::answer_and_renew) if the ticket is to be replaced.
    ///
    /// ```
    /// use tercel_tokio::Answers;
    /// # async fn open_in_module(_: &[u8]) -> Option<Vec<u8>> { None }
    /// # async fn seal_in_module(_: &[u8]) -> Option<Vec<u8>> { None }
    /// let answers = Answers::new()
    ///     .seal_ticket(|question| async move { seal_in_module(question.session()).await })
    ///     .open_ticket(|question| async move {
    ///         question.answer(open_in_module(question.ticket()).await)
    ///     });
    /// ```
    #[must_use]
    pub fn open_ticket<F>(
        mut self,
        answer: impl Fn(OpenTicketQuestion) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Answer> + Send + 'static,
    {
        self.open_ticket = Some(boxed(answer));
        self
    }

    /// Sets the function that selects the credential. It answers with
    /// [`answer`](SelectCredentialQuestion::answer), or, for a server name that is unknown, with
    /// [`answer_unknown_name`](SelectCredentialQuestion::answer_unknown_name): the client is then
    /// refused with `unrecognized_name`. RFC 6066 3
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tercel_tokio::Answers;
    /// # async fn find(_: &str) -> Option<Arc<tercel::Credential>> { None }
    /// let answers = Answers::new().select_credential(|question| async move {
    ///     let name = question.request().server_name.unwrap_or("www.example").to_owned();
    ///     match find(&name).await {
    ///         None => question.answer_unknown_name(),
    ///         found => question.answer(found),
    ///     }
    /// });
    /// ```
    #[must_use]
    pub fn select_credential<F>(
        mut self,
        answer: impl Fn(SelectCredentialQuestion) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Answer> + Send + 'static,
    {
        self.select_credential = Some(boxed(answer));
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
