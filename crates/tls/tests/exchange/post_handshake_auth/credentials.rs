//! What a client answers with, and who judges it.
//!
//! Must not know: what may come between. Next: `refusals.rs`.

use std::sync::Arc;

use tercel::pki::RefusalReason;
use tercel::pki_types::{PrivateKeyDer, SubjectPublicKeyInfoDer};
use tercel::wire::AlertDescription;
use tercel::{ClientAuth, Credential, Credentials, Error, Misuse, Peer, Policy};

use super::{answer, answered, ask, connect, curious, next, willing, willing_and_curious};
use crate::identity::{Kind, credential, leaf, server};
use crate::pair::{Delivery, Ends};

#[test]
fn a_client_that_declines_what_is_required_is_refused() {
    let mut ends = willing_and_curious();
    let request = ask(&mut ends, ClientAuth::Required);
    let wire = answer(&mut ends.client, request, None);
    refuses(&mut ends, &wire, Peer::CertificateRequired.into());
    assert!(ends.server.connection.receiver.refusal().is_none());
}

#[test]
fn a_client_that_is_not_trusted_is_refused() {
    let made = rcgen::generate_simple_self_signed(vec!["client".to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    let stranger = Arc::new(Credential::new(vec![made.cert.der().clone()], &key).unwrap());
    let mut ends = willing_and_curious();
    let request = ask(&mut ends, ClientAuth::Optional);
    let wire = answer(&mut ends.client, request, Some(&stranger));
    let reason = next(&mut ends.server, &wire, Delivery::Whole).unwrap_err();
    let Error::Refused(reason) = reason else { panic!("{reason:?}") };
    assert!(matches!(reason, RefusalReason::SelfSigned | RefusalReason::UnknownIssuer));
    let refusal = ends.server.connection.receiver.refusal().unwrap();
    assert_eq!((refusal.reason, &refusal.chain[..]), (reason, stranger.chain()));
    hears(&mut ends, Error::Refused(reason).alert().unwrap());
}

/// The server fails, and the client hears why.
fn refuses(ends: &mut Ends, wire: &[u8], error: Error) {
    let failed = next(&mut ends.server, wire, Delivery::Whole).unwrap_err();
    assert_eq!(failed, error);
    hears(ends, error.alert().unwrap());
}

fn hears(ends: &mut Ends, alert: AlertDescription) {
    let mut wire = Vec::new();
    ends.server.connection.sender.control(&mut wire).unwrap();
    let told = ends.client.read(&wire, Delivery::Whole);
    assert_eq!(told, Err(Error::AlertReceived(alert)));
}

#[test]
fn a_server_that_asks_judges_by_itself() {
    let own = Arc::new(credential(Kind::P256));
    let server = server().client_verifier(ClientAuth::None, Policy::Ask).build().unwrap();
    let mut ends = connect(&willing().build().unwrap(), &server);
    let request = ask(&mut ends, ClientAuth::Required);
    // Nobody here trusts anyone, so there are no names to give.
    assert!(request.request().unwrap().authorities.is_none());
    let wire = answer(&mut ends.client, request, Some(&own));
    let answer = answered(&mut ends.server, &wire, Delivery::Whole);
    assert!(!answer.is_verified());
    assert_eq!(answer.identity().unwrap().chain, own.chain());
    ends.talk();
}

#[test]
fn a_key_may_be_elsewhere() {
    let (chain, key) = leaf(Kind::P256, &["client"]);
    let remote = Arc::new(Credential::remote(chain).unwrap());
    let key = PrivateKeyDer::Pkcs8(key.into());
    let signer = tercel::crypto::SigningKey::from_der(key.secret_der()).unwrap();
    let mut ends = willing_and_curious();
    let mut wire = Vec::new();

    let request = ask(&mut ends, ClientAuth::Required);
    let sender = &mut ends.client.connection.sender;
    let refused = sender.authenticate(request, Some(&remote), &mut wire);
    assert_eq!(refused, Err(Misuse::KeyElsewhere.into()));
    assert!(wire.is_empty());

    let request = ask(&mut ends, ClientAuth::Required);
    let unsigned = request.prepare(&remote).unwrap();
    assert_eq!(unsigned.credential().chain(), remote.chain());
    assert!(unsigned.content().starts_with(&[0x20; 64]));
    assert!(unsigned.content()[64..].starts_with(b"TLS 1.3, client CertificateVerify\0"));
    // Whoever signs takes some time.
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
fn a_credential_has_to_fit_the_request() {
    let server =
        curious().signature_schemes(&[tercel::wire::SignatureScheme::ED25519]).build().unwrap();
    let mut ends = connect(&willing().build().unwrap(), &server);
    let request = ask(&mut ends, ClientAuth::Required);
    let mut wire = Vec::new();
    let own = Arc::new(credential(Kind::P256));
    let refused = ends.client.connection.sender.authenticate(request, Some(&own), &mut wire);
    assert_eq!(refused, Err(Misuse::InvalidArgument.into()));
    assert!(wire.is_empty());
    ends.talk();
}

#[test]
fn the_configuration_chooses_among_its_credentials() {
    let set = Credentials::new(vec![credential(Kind::P256), credential(Kind::Ed25519)]);
    let client = willing().credentials(Policy::Here(Arc::new(set))).build().unwrap();
    let server =
        curious().signature_schemes(&[tercel::wire::SignatureScheme::ED25519]).build().unwrap();
    let mut ends = connect(&client, &server);
    let request = ask(&mut ends, ClientAuth::Required);
    let chosen = request.select().unwrap().unwrap();
    assert_eq!(chosen.kind(), tercel::crypto::KeyKind::Ed25519);
    let wire = answer(&mut ends.client, request, Some(&chosen));
    assert!(answered(&mut ends.server, &wire, Delivery::Whole).is_verified());

    let client = willing().credentials(Policy::Ask).build().unwrap();
    let mut ends = connect(&client, &curious().build().unwrap());
    let request = ask(&mut ends, ClientAuth::Required);
    assert_eq!(request.select().map(|_| ()), Err(Misuse::QuestionOpen.into()));
}

#[test]
fn a_raw_public_key_serves_if_that_was_agreed() {
    let (_, key) = leaf(Kind::P256, &["client"]);
    let key = PrivateKeyDer::Pkcs8(key.into());
    let signer = tercel::crypto::SigningKey::from_der(key.secret_der()).unwrap();
    let public = tercel::crypto::Signer::public_key_spki(&signer).unwrap();
    let public = SubjectPublicKeyInfoDer::from(public);
    let own = Credential::raw_public_key(public.clone(), &key).unwrap();
    let client = willing().credential(own).build().unwrap();
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
