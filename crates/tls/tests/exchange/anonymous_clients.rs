//! Servers that ask the application whether a client without a certificate is admitted.
//! RFC 9846 4.5.1.3, RFC 5246 7.4.6

use std::sync::Arc;

use tercel::error::{Error, PeerError};
use tercel::server::ClientAuth;
use tercel::wire::{AlertDescription, ProtocolVersion};
use tercel::{ClientConfig, Question, ServerConfig};

use crate::fixtures::{KINDS, NAME, client, credential, roots, server};
use crate::pair::{Ends, Failure, Pair};

const TLS12: ProtocolVersion = ProtocolVersion::TLS1_2;
const TLS13: ProtocolVersion = ProtocolVersion::TLS1_3;

fn asking() -> Arc<ServerConfig> {
    server().client_auth(ClientAuth::Ask, roots()).build().unwrap()
}

/// Connects, and returns also how often the server asked.
fn connect(client: &Arc<ClientConfig>, is_admitted: bool) -> (usize, Result<Ends, Failure>) {
    let mut asked = 0;
    let result = Pair::new(client, &asking(), NAME)
        .answering(|_, question| match question {
            Question::AdmitAnonymous(question) => {
                asked += 1;
                question.answer(is_admitted)
            }
            other => panic!("{other:?}"),
        })
        .connect();
    (asked, result)
}

#[test]
fn the_application_admits_a_client_without_a_certificate() {
    for version in [TLS12, TLS13] {
        let client = client().versions(&[version]).build().unwrap();
        let (asked, ends) = connect(&client, true);
        let mut ends = ends.unwrap();
        assert_eq!(asked, 1);
        assert!(ends.server.connection.info.peer_chain().is_empty());
        ends.talk();
    }
}

/// The refused client gets neither a Finished in TLS 1.2 nor a ticket, with which it would be
/// resumed without a question.
#[test]
fn the_application_refuses_a_client_without_a_certificate() {
    for (version, error, alert) in [
        (TLS12, PeerError::CertificateRequiredTls12, AlertDescription::HANDSHAKE_FAILURE),
        (TLS13, PeerError::CertificateRequired, AlertDescription::CERTIFICATE_REQUIRED),
    ] {
        let client = client().versions(&[version]).build().unwrap();
        let mut answers = Vec::new();
        let mut flights = 0;
        let result = Pair::new(&client, &asking(), NAME)
            .answering(|_, question| match question {
                Question::AdmitAnonymous(question) => question.answer(false),
                other => panic!("{other:?}"),
            })
            .tap_to_client(|bytes| {
                flights += usize::from(!bytes.is_empty());
                if flights == 2 {
                    answers.extend_from_slice(bytes);
                }
            })
            .connect();
        let failure = result.unwrap_err();
        assert_eq!(failure.server, Some(Error::Peer(error)));
        if version == TLS12 {
            // The plain alert is all that the server sends.
            assert_eq!(answers, [21, 3, 3, 0, 2, 2, alert.0]);
            assert_eq!(failure.client, Some(Error::AlertReceived(alert)));
        } else {
            // One record: the alert with its level, the content type and the tag.
            assert_eq!(answers.len(), 5 + 2 + 1 + 16);
        }
    }
}

#[test]
fn a_client_with_a_certificate_is_verified_without_a_question() {
    for version in [TLS12, TLS13] {
        let client = client().versions(&[version]).credential(credential(KINDS[1]));
        let (asked, ends) = connect(&client.build().unwrap(), false);
        assert_eq!((asked, ends.unwrap().server.connection.info.peer_chain().len()), (0, 1));
    }
}
