//! Steps of the key schedule that are the same on both sides, with key logging. RFC 9846 7.1

use tercel_crypto::{ShortSecret, constant_time_eq};
use tercel_wire::{Finished, HandshakeType, MessageHeader};

use crate::connection::export::Exporter;
use crate::error::{Error, InternalError};
use crate::handshake::runtime::flow::Flow;
use crate::handshake::secret_log::SecretLog;
use crate::handshake::short_list::ShortList;
use crate::handshake::transcript::Transcript;
use crate::keys::direction::NewKeys;
use crate::keys::tls13::{
    FinishedKey, HandshakeKeys, HandshakeSecret, MainSecret, ResumptionSecret,
};

/// Derives and logs the handshake keys after the ServerHello.
pub(crate) fn handshake_keys(
    secret: HandshakeSecret,
    transcript: &mut Transcript,
    log: &SecretLog,
) -> HandshakeKeys {
    let secrets = secret.into_traffic_secrets(&transcript.digest());
    log.log("CLIENT_HANDSHAKE_TRAFFIC_SECRET", secrets.client());
    log.log("SERVER_HANDSHAKE_TRAFFIC_SECRET", secrets.server());
    secrets.into_keys()
}

/// The application keys of both sides, and the exporter.
pub(crate) struct ApplicationKeys {
    pub(crate) client: NewKeys,
    pub(crate) server: NewKeys,
    pub(crate) exporter: Exporter,
}

/// The keys for the client's Finished, or its precomputed content. The resumption secret depends on
/// the client's Finished.
pub(crate) enum ClientFinished {
    /// The client's Finished directly follows the server's. Therefore the content of the client's
    /// Finished and the resumption secret are already computed, and the main secret has been
    /// dropped.
    Precomputed {
        /// The content of the client's Finished, which is secret until the client sends it.
        verify_data: ShortSecret,
        resumption: Option<ResumptionSecret>,
    },
    /// Other messages precede the client's Finished, or the server's Finished is not in the
    /// transcript yet.
    Pending { client_finished: FinishedKey, main: MainSecret },
}

impl ClientFinished {
    /// Derives the application keys, after the server's Finished. If the client's Finished
    /// `follows` directly, its content is computed now and replaces the main secret. If
    /// `resumption` is set, the resumption secret is computed then too. RFC 9846 7.1
    pub(crate) fn application_keys(
        &mut self,
        follows: bool,
        resumption: bool,
        transcript: &mut Transcript,
        log: &SecretLog,
    ) -> Result<ApplicationKeys, Error> {
        let Self::Pending { client_finished, main } = &*self else {
            return Err(InternalError::Internal.into());
        };
        let known = follows.then_some(client_finished);
        let made = main.application_secrets(&transcript.digest(), known);
        log.log("CLIENT_TRAFFIC_SECRET_0", made.client.as_bytes());
        log.log("SERVER_TRAFFIC_SECRET_0", made.server.as_bytes());
        log.log("EXPORTER_SECRET", made.exporter.as_bytes());
        let finished = made.client_verify_data.as_ref().filter(|_| resumption);
        let finished =
            finished.map(|data| transcript.digest_with(&finished_message(data.as_bytes())));
        let ([client_key, server_key], resumption) = made.write_keys(main, finished.as_ref());
        if let Some(verify_data) = made.client_verify_data {
            // The main secret is dropped in place, so that it is zeroized and not moved.
            *self = Self::Precomputed { verify_data, resumption };
        }
        Ok(ApplicationKeys {
            client: NewKeys::tls13(made.client, client_key),
            server: NewKeys::tls13(made.server, server_key),
            exporter: Exporter::tls13(made.exporter),
        })
    }

    /// Whether `received` is the client's `verify_data` for `transcript`. The comparison takes
    /// constant time. RFC 9846 4.5.3
    pub(crate) fn verifies(&self, transcript: &mut Transcript, received: &[u8]) -> bool {
        match self {
            Self::Precomputed { verify_data, .. } => {
                constant_time_eq(verify_data.as_bytes(), received)
            }
            Self::Pending { client_finished, .. } => {
                client_finished.verifies(&transcript.digest(), received)
            }
        }
    }

    /// Sends the client's Finished.
    pub(crate) fn send(&self, flow: &mut Flow, transcript: &mut Transcript) -> Result<(), Error> {
        match self {
            Self::Precomputed { verify_data, .. } => {
                flow.send(&Finished { verify_data: verify_data.as_bytes() }, transcript)
            }
            Self::Pending { client_finished, .. } => {
                let verify_data = client_finished.verify_data(&transcript.digest());
                flow.send(&Finished { verify_data: &verify_data }, transcript)
            }
        }
    }

    /// Returns the resumption secret. `transcript` must include the client's Finished. `None` if
    /// the secret was not requested when the client's Finished was computed in advance.
    pub(crate) fn into_resumption_secret(
        self,
        transcript: &mut Transcript,
    ) -> Option<ResumptionSecret> {
        match self {
            Self::Precomputed { resumption, .. } => resumption,
            Self::Pending { main, .. } => Some(main.resumption_secret(&transcript.digest())),
        }
    }
}

/// Encodes a Finished message with its header. RFC 9846 4.1, 4.5.3
fn finished_message(verify_data: &[u8]) -> ShortList<u8, { MessageHeader::LENGTH + 48 }> {
    let [.., length] = verify_data.len().to_be_bytes();
    ShortList::joined(0, &[&[HandshakeType::FINISHED.0, 0, 0, length], verify_data])
}

#[cfg(test)]
mod tests {
    use tercel_crypto::{KeyExchange, KeyExchangeAlgorithm};
    use tercel_wire::HandshakeMessage;

    use super::*;
    use crate::keys::suite;
    use crate::keys::suite::Suite;
    use crate::keys::tls13::EarlySecret;

    #[test]
    fn a_precomputed_finished_equals_the_one_received() {
        let client = KeyExchange::generate(KeyExchangeAlgorithm::X25519).unwrap();
        let (_, shared) =
            KeyExchange::respond(KeyExchangeAlgorithm::X25519, client.public_share()).unwrap();
        let log = SecretLog::new(None, &[0; 32]);
        for suite in suite::ALL.iter().filter(|suite| suite.is_tls13()) {
            let begin = |suite: &'static Suite| {
                let mut transcript = Transcript::new(suite.hash);
                transcript.add(b"hellos");
                let secret = EarlySecret::new(suite, None).into_handshake(&shared);
                let keys = handshake_keys(secret, &mut transcript, &log);
                transcript.add(b"Finished of the server");
                (keys, transcript)
            };
            let ends = [(true, true), (false, true), (true, false)].map(|(follows, wanted)| {
                let (HandshakeKeys { client_finished, main, .. }, mut transcript) = begin(suite);
                let verify_data = client_finished.verify_data(&transcript.digest());
                let mut end = ClientFinished::Pending { client_finished, main };
                end.application_keys(follows, wanted, &mut transcript, &log).unwrap();
                assert_eq!(matches!(end, ClientFinished::Precomputed { .. }), follows);
                assert!(end.verifies(&mut transcript, &verify_data));
                for other in
                    [&verify_data[1..], &verify_data[..1], &[], &[&verify_data[..], &[0]].concat()]
                {
                    assert!(!end.verifies(&mut transcript, other), "{} bytes", other.len());
                }
                let mut message = Vec::new();
                Finished { verify_data: &verify_data }.encode(&mut message).unwrap();
                transcript.add(&message);
                let secret = end.into_resumption_secret(&mut transcript);
                secret.map(|secret| secret.as_bytes().to_vec())
            });
            let [known, open, unwanted] = ends;
            assert!(known.is_some() && known == open);
            assert_eq!(unwanted, None);
        }
    }
}
