//! What is stapled to certificates without having been asked for, and what may be stapled unseen.
//!
//! What it is for: the extensions of Certificate's entries. Must not know: what is in a staple.
//! Next: [`super::content`].

use tercel_wire::{
    AlertDescription as Alert, Certificate, CertificateEntry, CertificateEntryExtensions,
    CertificateStatus, HandshakeMessage as _, HandshakeType as Type, List, SerializedSct,
};

use super::cast::Scene;
use super::content::{assert_alert, bend, encoded, scene};
use super::puppet::Outcome;
use crate::config::policy::Side;

/// The certificate sent twice, as if its issuer followed it, with these extensions on each.
fn with(
    scene: Scene,
    of_leaf: CertificateEntryExtensions<'_>,
    of_issuer: CertificateEntryExtensions<'_>,
) -> Outcome {
    bend(scene, Type::CERTIFICATE, 1, |message| {
        let certificate = Certificate::parse(&message[4..]).unwrap();
        let cert_data = certificate.certificate_list.first().unwrap().cert_data;
        let entries = [
            CertificateEntry { cert_data, extensions: of_leaf },
            CertificateEntry { cert_data, extensions: of_issuer },
        ];
        encoded(&Certificate { certificate_list: List::of(&entries), ..certificate })
    })
}

fn nothing() -> CertificateEntryExtensions<'static> {
    CertificateEntryExtensions::default()
}

fn response() -> CertificateEntryExtensions<'static> {
    let status_request = Some(CertificateStatus { ocsp_response: b"response" });
    CertificateEntryExtensions { status_request, ..nothing() }
}

fn timestamps() -> CertificateEntryExtensions<'static> {
    const LIST: [SerializedSct<'static>; 1] = [SerializedSct(b"timestamp")];
    let signed_certificate_timestamp = Some(List::of(&LIST));
    CertificateEntryExtensions { signed_certificate_timestamp, ..nothing() }
}

#[test]
fn what_was_not_asked_for_may_not_be_stapled() {
    // A client by default asks for a response and for no timestamps, a server for neither.
    let client = scene(Side::Client, Scene::tls13);
    let server = scene(Side::Server, |scene| scene.tls13() && scene.client_auth);
    let cases = [
        (client, timestamps(), nothing()),
        (client, nothing(), timestamps()),
        (server, response(), nothing()),
        (server, nothing(), response()),
        (server, timestamps(), nothing()),
        (server, nothing(), timestamps()),
    ];
    for (number, (scene, of_leaf, of_issuer)) in cases.into_iter().enumerate() {
        let outcome = with(scene, of_leaf, of_issuer);
        assert_alert(&outcome, Alert::UNSUPPORTED_EXTENSION, number);
    }
}

#[test]
fn a_response_for_an_authority_is_passed_over() {
    let client = scene(Side::Client, Scene::tls13);
    for (number, of_leaf) in [nothing(), response()].into_iter().enumerate() {
        // The message is taken; what was changed in it then shows in the signature over all messages.
        let outcome = with(client, of_leaf, response());
        assert_alert(&outcome, Alert::DECRYPT_ERROR, number);
    }
}
