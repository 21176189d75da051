//! OCSP responses and timestamps in the entries of a Certificate message. They are refused if they
//! were not requested, and ignored in the entries of CA certificates otherwise.

use tercel_wire::{
    AlertDescription as Alert, Certificate, CertificateEntry, CertificateEntryExtensions,
    CertificateStatus, HandshakeMessage as _, HandshakeType as Type, List, SerializedSct,
};

use super::cases::Case;
use super::message_content::{assert_alert, case, encoded, run_with_changed};
use super::scripted_peer::Outcome;
use crate::side::Side;

/// Sends the certificate twice, as if it were also its own issuer, with these extensions on each
/// entry.
fn with(
    case: Case,
    of_leaf: CertificateEntryExtensions<'_>,
    of_issuer: CertificateEntryExtensions<'_>,
) -> Outcome {
    run_with_changed(case, Type::CERTIFICATE, 1, |message| {
        let certificate = Certificate::parse(&message[4..]).unwrap();
        let cert_data = certificate.certificate_list.first().unwrap().cert_data;
        let entries = [
            CertificateEntry { cert_data, extensions: of_leaf },
            CertificateEntry { cert_data, extensions: of_issuer },
        ];
        encoded(&Certificate { certificate_list: List::new(&entries), ..certificate })
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
    let signed_certificate_timestamp = Some(List::new(&LIST));
    CertificateEntryExtensions { signed_certificate_timestamp, ..nothing() }
}

/// RFC 9846 4.5.1.1
#[test]
fn unsolicited_certificate_extensions_are_refused() {
    // By default a client requests an OCSP response and no timestamps; a server requests neither.
    let client = case(Side::Client, Case::tls13);
    let server = case(Side::Server, |case| case.tls13() && case.client_auth);
    let cases = [
        (client, timestamps(), nothing()),
        (client, nothing(), timestamps()),
        (server, response(), nothing()),
        (server, nothing(), response()),
        (server, timestamps(), nothing()),
        (server, nothing(), timestamps()),
    ];
    for (number, (case, of_leaf, of_issuer)) in cases.into_iter().enumerate() {
        let outcome = with(case, of_leaf, of_issuer);
        assert_alert(&outcome, Alert::UNSUPPORTED_EXTENSION, number);
    }
}

#[test]
fn a_response_for_an_authority_is_ignored() {
    let client = case(Side::Client, Case::tls13);
    for (number, of_leaf) in [nothing(), response()].into_iter().enumerate() {
        // The extension is accepted. The handshake fails only because the signature in
        // CertificateVerify covers the unchanged Certificate.
        let outcome = with(client, of_leaf, response());
        assert_alert(&outcome, Alert::DECRYPT_ERROR, number);
    }
}
