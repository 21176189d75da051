//! The credential of a client's answer, and its verification.

use std::sync::Arc;

use tercel::pki::RefusalReason;
use tercel::pki_types::{PrivateKeyDer, SubjectPublicKeyInfoDer};
use tercel::wire::AlertDescription;
use tercel::{
    Credential, Error, Policy,
    certificates::Credentials,
    error::{Misuse, PeerError},
    server::ClientAuth,
};

use super::{
    answer, answered, ask, connect, connected_pair, next, offering_client, server_with_roots,
};
use crate::fixtures::{Kind, credential, leaf, server};
use crate::pair::{Delivery, Ends};

#[test]
fn a_client_that_declines_a_required_request_is_refused() {
    let mut ends = connected_pair();
    let request = ask(&mut ends, ClientAuth::Required);
    let wire = answer(&mut ends.client, request, None);
    refuses(&mut ends, &wire, PeerError::CertificateRequired.into());
    assert!(ends.server.connection.receiver.refusal().is_none());
}

#[test]
fn a_client_that_is_not_trusted_is_refused() {
    let made = rcgen::generate_simple_self_signed(vec!["client".to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    let unrelated = Arc::new(Credential::new(vec![made.cert.der().clone()], &key).unwrap());
    let mut ends = connected_pair();
    let request = ask(&mut ends, ClientAuth::Optional);
    let wire = answer(&mut ends.client, request, Some(&unrelated));
    let reason = next(&mut ends.server, &wire, Delivery::Whole).unwrap_err();
    let Error::Refused(reason) = reason else { panic!("{reason:?}") };
    assert!(matches!(reason, RefusalReason::SelfSigned | RefusalReason::UnknownIssuer));
    let refusal = ends.server.connection.receiver.refusal().unwrap();
    assert_eq!((refusal.reason, &refusal.chain[..]), (reason, unrelated.chain()));
    expect_alert(&mut ends, Error::Refused(reason).alert().unwrap());
}

/// Asserts that the server refuses with this error, and that the client receives the alert.
fn refuses(ends: &mut Ends, wire: &[u8], error: Error) {
    let failed = next(&mut ends.server, wire, Delivery::Whole).unwrap_err();
    assert_eq!(failed, error);
    expect_alert(ends, error.alert().unwrap());
}

fn expect_alert(ends: &mut Ends, alert: AlertDescription) {
    let mut wire = Vec::new();
    ends.server.connection.sender.control(&mut wire).unwrap();
    let reported = ends.client.read(&wire, Delivery::Whole);
    assert_eq!(reported, Err(Error::AlertReceived(alert)));
}

#[test]
fn with_a_question_the_certificate_is_returned_unverified() {
    let own = Arc::new(credential(Kind::P256));
    let server = server().client_verifier(ClientAuth::None, Policy::Ask).build().unwrap();
    let mut ends = connect(&offering_client().build().unwrap(), &server);
    let request = ask(&mut ends, ClientAuth::Required);
    // Without a verifier the request names no authorities.
    assert!(request.request().authorities.is_none());
    let wire = answer(&mut ends.client, request, Some(&own));
    let answer = answered(&mut ends.server, &wire, Delivery::Whole);
    assert!(!answer.is_verified());
    assert_eq!(answer.identity().unwrap().chain, own.chain());
    ends.talk();
}

#[test]
fn an_answer_can_be_signed_outside() {
    let (chain, key) = leaf(Kind::P256, &["client"]);
    let remote = Arc::new(Credential::remote(chain).unwrap());
    let key = PrivateKeyDer::Pkcs8(key.into());
    let signer = tercel::crypto::SigningKey::from_der(key.secret_der()).unwrap();
    let mut ends = connected_pair();
    let mut wire = Vec::new();

    let request = ask(&mut ends, ClientAuth::Required);
    let sender = &mut ends.client.connection.sender;
    let refused = sender.authenticate(request, Some(&remote), &mut wire);
    assert_eq!(refused, Err(Misuse::KeyNotLocal.into()));
    assert!(wire.is_empty());

    let request = ask(&mut ends, ClientAuth::Required);
    let unsigned = request.prepare(&remote).unwrap();
    assert_eq!(unsigned.credential().chain(), remote.chain());
    assert!(unsigned.content().starts_with(&[0x20; 64]));
    assert!(unsigned.content()[64..].starts_with(b"TLS 1.3, client CertificateVerify\0"));
    // Signing in an external device takes time, so data and key updates may come in between.
    ends.talk();
    let mut update = Vec::new();
    ends.client.connection.sender.update_key(false, &mut update).unwrap();
    ends.server.read(&update, Delivery::Whole).unwrap();
    let signature = unsigned.sign(&signer).unwrap();
    let sender = &mut ends.client.connection.sender;
    sender.authenticate_signed(unsigned, &signature, &mut wire).unwrap();
    let answer = answered(&mut ends.server, &wire, Delivery::Whole);
    assert_eq!((answer.is_verified(), answer.into_chain()), (true, remote.chain().to_vec()));
}

#[test]
fn a_credential_must_fit_the_request() {
    let server = server_with_roots()
        .signature_schemes(&[tercel::wire::SignatureScheme::ED25519])
        .build()
        .unwrap();
    let mut ends = connect(&offering_client().build().unwrap(), &server);
    let request = ask(&mut ends, ClientAuth::Required);
    let mut wire = Vec::new();
    let own = Arc::new(credential(Kind::P256));
    let refused = ends.client.connection.sender.authenticate(request, Some(&own), &mut wire);
    assert_eq!(refused, Err(Misuse::InvalidArgument.into()));
    assert!(wire.is_empty());
    ends.talk();
}

#[test]
fn the_configuration_selects_a_credential() {
    let set = Credentials::new(vec![credential(Kind::P256), credential(Kind::Ed25519)]);
    let client = offering_client().credentials(Policy::Here(Arc::new(set))).build().unwrap();
    let server = server_with_roots()
        .signature_schemes(&[tercel::wire::SignatureScheme::ED25519])
        .build()
        .unwrap();
    let mut ends = connect(&client, &server);
    let request = ask(&mut ends, ClientAuth::Required);
    let chosen = request.select().unwrap().unwrap();
    assert_eq!(chosen.kind(), tercel::crypto::KeyKind::Ed25519);
    let wire = answer(&mut ends.client, request, Some(&chosen));
    assert!(answered(&mut ends.server, &wire, Delivery::Whole).is_verified());

    let client = offering_client().credentials(Policy::Ask).build().unwrap();
    let mut ends = connect(&client, &server_with_roots().build().unwrap());
    let request = ask(&mut ends, ClientAuth::Required);
    assert_eq!(request.select().map(|_| ()), Err(Misuse::QuestionOpen.into()));
}

#[test]
fn a_raw_public_key_is_sent_if_negotiated() {
    let (_, key) = leaf(Kind::P256, &["client"]);
    let key = PrivateKeyDer::Pkcs8(key.into());
    let signer = tercel::crypto::SigningKey::from_der(key.secret_der()).unwrap();
    let public = tercel::crypto::Signer::public_key_spki(&signer).unwrap();
    let public = SubjectPublicKeyInfoDer::from(public);
    let own = Credential::raw_public_key(public.clone(), &key).unwrap();
    let client = offering_client().credential(own).build().unwrap();
    let server = server().client_raw_keys(ClientAuth::Optional, vec![public.clone()]);
    let mut ends = connect(&client, &server.build().unwrap());
    let request = ask(&mut ends, ClientAuth::Required);
    let chosen = request.select().unwrap().unwrap();
    let wire = answer(&mut ends.client, request, Some(&chosen));
    let answer = answered(&mut ends.server, &wire, Delivery::Whole);
    assert!(answer.is_verified());
    assert_eq!(answer.identity().unwrap().raw_public_key, Some(public.as_ref()));
    assert!(answer.into_chain().is_empty());
}
