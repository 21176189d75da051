//! The steps of the key schedule that both sides take alike, and their lines in the key log. RFC 9846 7.1
//!
//! Must not know: whose turn it is. Next: `keys/tls13/`.

use tercel_crypto::{ShortSecret, constant_time_eq};
use tercel_wire::{Finished, HandshakeType, MessageHeader};

use crate::connection::export::Exporter;
use crate::error::{Error, Local};
use crate::handshake::few::Few;
use crate::handshake::flow::Flow;
use crate::handshake::log::SecretLog;
use crate::handshake::transcript::Transcript;
use crate::keys::direction::NewKeys;
use crate::keys::tls13::{
    FinishedKey, HandshakeKeys, HandshakeSecret, MainSecret, ResumptionSecret,
};

/// The keys of the handshake, after the ServerHello.
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

/// What application data needs, in the roles' names.
pub(crate) struct Application {
    pub(crate) client: NewKeys,
    pub(crate) server: NewKeys,
    pub(crate) exporter: Exporter,
}

/// The last stage, after the server's Finished. `follows`: the client has no other message to send before its own, so that
/// the handshake's `end` is known. `resumption`: there may be sessions of it.
pub(crate) fn application(
    end: &mut End,
    follows: bool,
    resumption: bool,
    transcript: &mut Transcript,
    log: &SecretLog,
) -> Result<Application, Error> {
    let End::Open { client_finished, main } = &*end else { return Err(Local::Encode.into()) };
    let known = follows.then_some(client_finished);
    let made = main.application_secrets(&transcript.digest(), known);
    log.log("CLIENT_TRAFFIC_SECRET_0", made.client.as_bytes());
    log.log("SERVER_TRAFFIC_SECRET_0", made.server.as_bytes());
    log.log("EXPORTER_SECRET", made.exporter.as_bytes());
    let finished = made.client_verify_data.as_ref().filter(|_| resumption);
    let finished = finished.map(|data| transcript.digest_with(&finished_message(data.as_bytes())));
    let ([client_key, server_key], resumption) = made.write_keys(main, finished.as_ref());
    if let Some(verify_data) = made.client_verify_data {
        *end = End::Known { verify_data, resumption };
    }
    Ok(Application {
        client: NewKeys::tls13(made.client, client_key),
        server: NewKeys::tls13(made.server, server_key),
        exporter: Exporter::tls13(made.exporter),
    })
}

/// How the handshake ends: with the client's Finished, which sessions are over too.
pub(crate) enum End {
    /// It follows on the server's at once: what it says is known, and what comes of that. The main secret is gone.
    Known {
        /// A secret until the client sends it.
        verify_data: ShortSecret,
        resumption: Option<ResumptionSecret>,
    },
    /// Other messages stand between, or the server's Finished is still to come.
    Open { client_finished: FinishedKey, main: MainSecret },
}

impl End {
    /// Whether the client's Finished says this, `transcript` being what it is over. Compares in constant time.
    /// RFC 9846 4.5.3
    pub(crate) fn verifies(&self, transcript: &mut Transcript, said: &[u8]) -> bool {
        match self {
            Self::Known { verify_data, .. } => constant_time_eq(verify_data.as_bytes(), said),
            Self::Open { client_finished, .. } => {
                client_finished.verifies(&transcript.digest(), said)
            }
        }
    }

    /// Sends the client's Finished.
    pub(crate) fn send(&self, flow: &mut Flow, transcript: &mut Transcript) -> Result<(), Error> {
        match self {
            Self::Known { verify_data, .. } => {
                flow.send(&Finished { verify_data: verify_data.as_bytes() }, transcript)
            }
            Self::Open { client_finished, .. } => {
                let verify_data = client_finished.verify_data(&transcript.digest());
                flow.send(&Finished { verify_data: &verify_data }, transcript)
            }
        }
    }

    /// What the keys of tickets come of, if it was wanted; `transcript` goes as far as the client's Finished.
    pub(crate) fn into_resumption_secret(
        self,
        transcript: &mut Transcript,
    ) -> Option<ResumptionSecret> {
        match self {
            Self::Known { resumption, .. } => resumption,
            Self::Open { main, .. } => Some(main.resumption_secret(&transcript.digest())),
        }
    }
}

/// A whole Finished message. RFC 9846 4.1, 4.5.3
fn finished_message(verify_data: &[u8]) -> Few<u8, { MessageHeader::LENGTH + 48 }> {
    let [.., length] = verify_data.len().to_be_bytes();
    Few::joined(0, &[&[HandshakeType::FINISHED.0, 0, 0, length], verify_data])
}

#[cfg(test)]
mod tests {
    use tercel_crypto::{KeyExchange, KeyExchangeAlgorithm};
    use tercel_wire::HandshakeMessage;

    use super::*;
    use crate::keys::suite::{self, Suite};
    use crate::keys::tls13::EarlySecret;

    #[test]
    fn what_is_known_beforehand_is_what_comes() {
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
                let said = client_finished.verify_data(&transcript.digest());
                let mut end = End::Open { client_finished, main };
                application(&mut end, follows, wanted, &mut transcript, &log).unwrap();
                assert_eq!(matches!(end, End::Known { .. }), follows);
                assert!(end.verifies(&mut transcript, &said));
                for other in [&said[1..], &said[..1], &[], &[&said[..], &[0]].concat()] {
                    assert!(!end.verifies(&mut transcript, other), "{} bytes", other.len());
                }
                let mut message = Vec::new();
                Finished { verify_data: &said }.encode(&mut message).unwrap();
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
