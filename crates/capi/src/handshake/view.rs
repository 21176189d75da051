//! The content of a question, copied once, so that reading it costs no more than its length.

use std::collections::BTreeMap;

use tercel::certificates::CredentialRequest;
use tercel::wire::{ClientHello, List};
use tercel::{Question, psk};

use super::question_codes::*;

/// The values of each field.
#[derive(Default)]
pub(crate) struct View {
    numbers: BTreeMap<Field, Vec<u64>>,
    bytes: BTreeMap<Field, Vec<Vec<u8>>>,
}

impl View {
    pub(super) fn new(question: &Question) -> Self {
        let mut view = Self::default();
        match question {
            Question::ChooseConfig(question) => {
                view.bytes(TERCEL_FIELD_CLIENT_HELLO, [question.client_hello_bytes()]);
                view.client_hello(&question.client_hello());
            }
            Question::FindSession(question) => {
                view.bytes(TERCEL_FIELD_IDENTITY, [question.identity()]);
                view.numbers(TERCEL_FIELD_SINGLE_USE, [question.is_single_use()]);
            }
            Question::ClaimSession(question) => {
                view.bytes(TERCEL_FIELD_IDENTITY, [question.identity()]);
            }
            Question::FindPreSharedKey(question) => view.psk_request(&question.request()),
            Question::AdmitEarlyData(question) => {
                view.bytes(TERCEL_FIELD_UNIQUE, [question.unique()]);
                view.numbers(TERCEL_FIELD_TIME, [question.checked_at().as_secs()]);
                view.numbers(
                    TERCEL_FIELD_FRESHNESS_WINDOW,
                    [question.freshness_window().as_secs()],
                );
            }
            Question::SelectCredential(question) => view.credential_request(&question.request()),
            Question::Sign(question) => {
                view.bytes(TERCEL_FIELD_CONTENT, [question.content()]);
                view.numbers(TERCEL_FIELD_SIGNATURE_SCHEME, [question.scheme().0]);
                view.bytes(TERCEL_FIELD_CERTIFICATE, question.credential().chain());
            }
            Question::VerifyPeer(question) => {
                let peer = question.identity();
                let name = peer.server_name.map(|name| name.to_str());
                view.bytes(TERCEL_FIELD_SERVER_NAME, name.iter().map(|name| name.as_bytes()));
                view.bytes(TERCEL_FIELD_CERTIFICATE, peer.chain);
                view.bytes(TERCEL_FIELD_RAW_PUBLIC_KEY, peer.raw_public_key);
                view.bytes(TERCEL_FIELD_OCSP_RESPONSE, peer.ocsp_response);
                view.bytes(TERCEL_FIELD_TIMESTAMPS, peer.signed_certificate_timestamps);
                view.numbers(TERCEL_FIELD_TIME, [peer.now.as_secs()]);
                view.numbers(TERCEL_FIELD_RESUMED, [peer.resumed]);
            }
            _ => {}
        }
        view
    }

    /// The number at this place; `None` behind the last one.
    pub(crate) fn number(&self, field: Field, index: usize) -> Option<u64> {
        self.numbers.get(&field)?.get(index).copied()
    }

    /// The bytes at this place; `None` behind the last ones.
    pub(crate) fn bytes_at(&self, field: Field, index: usize) -> Option<&[u8]> {
        self.bytes.get(&field)?.get(index).map(Vec::as_slice)
    }

    fn client_hello(&mut self, hello: &ClientHello<'_>) {
        let extensions = &hello.extensions;
        // The name by which the handshake selects credentials and sessions: no IP address.
        self.bytes(TERCEL_FIELD_SERVER_NAME, hello.host_name().iter().map(|name| name.as_bytes()));
        let protocols = extensions.alpn.iter().flat_map(List::iter);
        self.bytes(TERCEL_FIELD_ALPN, protocols.map(|name| name.0));
        self.numbers(
            TERCEL_FIELD_VERSION,
            extensions.supported_versions.iter().flat_map(List::iter).map(|code| code.0),
        );
        self.numbers(TERCEL_FIELD_CIPHER_SUITE, hello.cipher_suites.iter().map(|suite| suite.0));
        self.numbers(
            TERCEL_FIELD_GROUP,
            extensions.supported_groups.iter().flat_map(List::iter).map(|code| code.0),
        );
        let schemes =
            extensions.signature_algorithms.iter().flat_map(List::iter).map(|code| code.0);
        self.numbers(TERCEL_FIELD_SIGNATURE_SCHEME, schemes);
    }

    fn psk_request(&mut self, request: &psk::PreSharedKeyRequest<'_>) {
        self.bytes(TERCEL_FIELD_IDENTITY, request.identities());
        self.bytes(TERCEL_FIELD_SERVER_NAME, request.server_name);
        let schemes = request.signature_schemes.iter().flat_map(List::iter).map(|code| code.0);
        self.numbers(TERCEL_FIELD_SIGNATURE_SCHEME, schemes);
    }

    fn credential_request(&mut self, request: &CredentialRequest<'_>) {
        self.bytes(TERCEL_FIELD_SERVER_NAME, request.server_name);
        self.numbers(TERCEL_FIELD_VERSION, [request.version.0]);
        let protocols = request.alpn.iter().flat_map(List::iter);
        self.bytes(TERCEL_FIELD_ALPN, protocols.map(|name| name.0));
        self.numbers(TERCEL_FIELD_CIPHER_SUITE, request.cipher_suites.iter().map(|suite| suite.0));
        let schemes = request.signature_schemes.iter().map(|scheme| scheme.0);
        self.numbers(TERCEL_FIELD_SIGNATURE_SCHEME, schemes);
        let types = request.client_certificate_types;
        self.numbers(
            TERCEL_FIELD_CERTIFICATE_TYPE,
            types.iter().flat_map(List::iter).map(|kind| kind.0),
        );
        let authorities = request.authorities.iter().flat_map(List::iter);
        self.bytes(TERCEL_FIELD_AUTHORITY, authorities.map(|name| name.0));
    }

    fn numbers<N: Into<u64>>(&mut self, field: Field, numbers: impl IntoIterator<Item = N>) {
        self.numbers.insert(field, numbers.into_iter().map(Into::into).collect());
    }

    fn bytes<B: AsRef<[u8]>>(&mut self, field: Field, all: impl IntoIterator<Item = B>) {
        self.bytes.insert(field, all.into_iter().map(|bytes| bytes.as_ref().to_vec()).collect());
    }
}
