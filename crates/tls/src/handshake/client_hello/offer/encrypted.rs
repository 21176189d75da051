//! A client's choice between its two ClientHellos, according to the server's answer. RFC 9849 6.1.4

use tercel_wire::ServerHello;

use super::Offer;
use crate::error::Error;
#[cfg(feature = "ech")]
use crate::error::InternalError;
use crate::handshake::ech::client::Settled;
use crate::handshake::transcript::Transcript;
use crate::keys::suite;

impl Offer {
    /// Decides by a HelloRetryRequest, which is the first answer. `message` includes the header.
    pub(crate) fn settle_ech_by_retry(
        &mut self,
        message: &[u8],
        retry: &ServerHello<'_>,
    ) -> Result<(), Error> {
        let Self { ech, message: own, random, .. } = self;
        // With an unknown suite, the answer is refused later.
        let transcript = || {
            let suite = suite::find(retry.cipher_suite)?;
            Some(Transcript::after_retry(suite.hash, own))
        };
        let settled = ech.settle_by_retry(message, retry, random, transcript)?;
        self.continue_with(settled)
    }

    /// Decides by a ServerHello. `before` is the transcript before it, if there was a
    /// HelloRetryRequest.
    pub(crate) fn settle_ech(
        &mut self,
        message: &[u8],
        hello: &ServerHello<'_>,
        before: Option<&Transcript>,
    ) -> Result<(), Error> {
        let Self { ech, message: own, random, .. } = self;
        let transcript = || match before {
            Some(before) => Some(before.clone()),
            None => {
                let mut transcript = Transcript::new(suite::find(hello.cipher_suite)?.hash);
                transcript.add(own);
                Some(transcript)
            }
        };
        let settled = ech.settle(message, random, transcript)?;
        self.continue_with(settled)
    }

    /// Continues with the outer ClientHello, if there is one.
    pub(crate) fn reject_ech(&mut self) -> Result<(), Error> {
        let settled = self.ech.reject();
        self.continue_with(settled)
    }

    /// The outer ClientHello offers neither a session nor a pre-shared key, and its server
    /// authenticates itself under the public name, never under the application's. RFC 9849 6.1.6,
    /// 6.1.7
    #[cfg_attr(
        not(feature = "ech"),
        allow(clippy::unnecessary_wraps, clippy::needless_pass_by_value)
    )]
    fn continue_with(&mut self, settled: Settled) -> Result<(), Error> {
        match settled {
            Settled::Unchanged => {}
            #[cfg(feature = "ech")]
            Settled::Outer(outer) => {
                self.message = outer.message;
                self.random = outer.random;
                self.transcript = None;
                self.session = None;
                self.pre_shared_keys = Vec::new();
                // The name was checked when the configuration was selected.
                let name = outer.public_name.try_into().map_err(|_| InternalError::Internal)?;
                self.server.continue_under_outer_name(name);
            }
        }
        Ok(())
    }
}
