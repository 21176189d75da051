//! Single options of a configuration, and their effect on the peer.
//!
//! The options are predicted groups, unacknowledged names, padding, the alert of a verifier, and
//! the requested certificate types.

use std::sync::{Arc, Mutex};

use tercel::pki::{Refusal, RefusalReason};
use tercel::wire::{
    AlertDescription, ClientCertificateType, ClientHello, List, NamedGroup, ProtocolVersion,
};
use tercel::{
    ClientConfig, Credential, Error, Policy,
    certificates::{CredentialRequest, PeerIdentity, SelectCredential, VerifyPeer},
    server::ClientAuth,
};
use tercel_wire::{HandshakeMessage, ServerHello};

use crate::fixtures::{NAME, client, plain, roots, server};
use crate::pair::{Pair, first_message};

#[cfg(debug_assertions)] // Needs a test seam.
#[test]
fn a_share_is_sent_for_the_best_group_that_the_server_supports() {
    const GROUPS: [NamedGroup; 3] =
        [NamedGroup::X25519MLKEM768, NamedGroup::SECP256R1, NamedGroup::SECP384R1];
    let shares = |hint: &[NamedGroup], explicit: &[NamedGroup]| {
        let config = client().groups(&GROUPS).key_shares(explicit).server_groups_hint(hint).build();
        let mut sent = Vec::new();
        let (config, (_, server)) = (config.unwrap(), plain());
        let ends = Pair::new(&config, &server, NAME)
            .tap_to_server(|bytes| {
                if sent.is_empty() {
                    let body = first_message(bytes);
                    let hello = ClientHello::parse(&body).unwrap();
                    let shares = hello.extensions.key_share.unwrap();
                    sent.extend(shares.iter().map(|share| share.group));
                }
            })
            .connect()
            .unwrap();
        (sent, ends.client.connection.info.retried)
    };
    let (p256, p384) = (NamedGroup::SECP256R1, NamedGroup::SECP384R1);
    // The client's order of groups determines the share, not the order of the hint.
    assert_eq!(shares(&[p384, p256], &[GROUPS[0]]).0, [p256]);
    assert_eq!(shares(&[p384], &[]).0, [p384]);
    // A hint without any of the client's groups has no effect.
    assert_eq!(shares(&[NamedGroup::X448], &[p384]).0, [p384]);
    // A wrong hint costs a round trip: this server prefers the first group.
    assert!(shares(&[p384], &[]).1);
}

#[test]
fn a_name_is_acknowledged_unless_configured_otherwise() {
    for acknowledges in [true, false] {
        let client = client().versions(&[ProtocolVersion::TLS1_2]).build().unwrap();
        let server = server().acknowledge_server_name(acknowledges).build().unwrap();
        let mut first = Vec::new();
        let ends = Pair::new(&client, &server, NAME)
            .tap_to_client(|bytes| first.extend_from_slice(bytes))
            .connect()
            .unwrap();
        let body = first_message(&first);
        let hello = ServerHello::parse(&body).unwrap();
        assert_eq!(hello.extensions.server_name.is_some(), acknowledges);
        assert_eq!(ends.server.connection.info.server_name.as_deref(), Some(NAME));
    }
}

#[cfg(debug_assertions)] // Needs a test seam.
#[test]
fn a_server_sends_requested_padding_if_configured() {
    let sent = |version, bytes: Option<u16>, takes_part| {
        let client = client().versions(&[version]);
        let client = bytes.map_or(client.clone(), |bytes| client.request_server_padding(bytes));
        let server = server().answer_server_padding(takes_part).build().unwrap();
        let mut flight = 0;
        let ends = Pair::new(&client.build().unwrap(), &server, NAME)
            .tap_to_client(|bytes| flight += bytes.len())
            .connect()
            .unwrap();
        (ends.client.connection.info.got_server_padding(), flight)
    };
    let (tls13, tls12) = (ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2);
    let plain = sent(tls13, None, true);
    let near = |flight: usize| flight < plain.1 + 100;
    assert!(!plain.0);
    let (padded, flight) = sent(tls13, Some(16_384), true);
    assert!(padded && flight > plain.1 + 16_384);
    // There is no padding if the server is not configured for it, if the request is above the
    // limit, and in TLS 1.2.
    for (version, bytes, takes_part) in
        [(tls13, 1000, false), (tls13, 16_385, true), (tls12, 1000, true)]
    {
        let (padded, flight) = sent(version, Some(bytes), takes_part);
        assert!(!padded && near(flight), "{version} {bytes} {takes_part}");
    }
}

/// A verifier that refuses all peers with this alert.
struct Refusing(u8);

impl VerifyPeer for Refusing {
    fn verify_peer(&self, identity: &PeerIdentity<'_>) -> Result<(), Box<Refusal>> {
        Err(Box::new(identity.refusal(RefusalReason::ByVerifier { alert: self.0 })))
    }
}

#[test]
fn a_verifier_chooses_among_the_alerts_that_refuse_a_peer() {
    let reported = |alert: AlertDescription| {
        let verifier: Arc<dyn VerifyPeer> = Arc::new(Refusing(alert.0));
        let client = ClientConfig::builder().verifier(Policy::Here(verifier)).build().unwrap();
        let failure = Pair::new(&client, &plain().1, NAME).connect().unwrap_err();
        let Some(Error::AlertReceived(alert)) = failure.server else { panic!("{failure:?}") };
        alert
    };
    for alert in [
        AlertDescription::HANDSHAKE_FAILURE,
        AlertDescription::ACCESS_DENIED,
        AlertDescription::ILLEGAL_PARAMETER,
        AlertDescription::BAD_CERTIFICATE,
    ] {
        assert_eq!(reported(alert), alert);
    }
    // A verifier's refusal cannot look like a regular end of the connection.
    for other in
        [AlertDescription::CLOSE_NOTIFY, AlertDescription::USER_CANCELED, AlertDescription(7)]
    {
        assert_eq!(reported(other), AlertDescription::CERTIFICATE_UNKNOWN);
    }
}

/// Records the certificate types that a server requests, and sends no certificate.
#[derive(Default)]
struct RecordingSelector(Mutex<Vec<Option<Vec<ClientCertificateType>>>>);

impl SelectCredential for RecordingSelector {
    fn select_credential(&self, request: &CredentialRequest<'_>) -> Option<Arc<Credential>> {
        let types = request.client_certificate_types;
        self.0.lock().unwrap().push(types.map(|types| List::iter(&types).collect()));
        None
    }
}

/// RFC 5246 7.4.4, RFC 8422 5.5
#[test]
fn a_tls12_client_sees_which_certificate_types_the_server_accepts() {
    let types = [ClientCertificateType::ECDSA_SIGN, ClientCertificateType::RSA_SIGN];
    for (version, expected) in
        [(ProtocolVersion::TLS1_2, Some(types.to_vec())), (ProtocolVersion::TLS1_3, None)]
    {
        let listening = Arc::new(RecordingSelector::default());
        let credentials: Arc<dyn SelectCredential> = listening.clone();
        let client = client().versions(&[version]).credentials(Policy::Here(credentials));
        let server = server().client_auth(ClientAuth::Optional, roots()).build().unwrap();
        Pair::new(&client.build().unwrap(), &server, NAME).connect().unwrap();
        assert_eq!(*listening.0.lock().unwrap(), [expected]);
    }
}
