//! The values of the ClientHello that a server's selector of credentials gets, in place and as a
//! question.

use std::sync::{Arc, Mutex};

use tercel::certificates::{AcceptAnyPeer, CredentialRequest, Credentials, SelectCredential};
use tercel::server::ClientAuth;
use tercel::wire::{CipherSuite, List, ProtocolName, ProtocolVersion, SignatureScheme};
use tercel::{ClientConfig, Credential, Policy, Question, ServerConfig};

use crate::fixtures::{Kind, NAME, client, credential, server};
use crate::pair::Pair;

const SUITES: [(ProtocolVersion, CipherSuite); 2] = [
    (ProtocolVersion::TLS1_3, CipherSuite::TLS_AES_256_GCM_SHA384),
    (ProtocolVersion::TLS1_2, CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384),
];
const SCHEMES: [SignatureScheme; 2] =
    [SignatureScheme::ECDSA_SECP256R1_SHA256, SignatureScheme::ED25519];

/// The lists of a request.
#[derive(Debug, PartialEq)]
struct Seen {
    alpn: Option<Vec<Vec<u8>>>,
    suites: Vec<CipherSuite>,
    schemes: Vec<SignatureScheme>,
}

impl Seen {
    fn new(request: &CredentialRequest<'_>) -> Self {
        Self {
            alpn: request.alpn.map(names_of),
            suites: request.cipher_suites.iter().collect(),
            schemes: request.signature_schemes.iter().collect(),
        }
    }
}

fn names_of<'a>(list: List<'a, ProtocolName<'a>>) -> Vec<Vec<u8>> {
    list.iter().map(|name| name.0.to_vec()).collect()
}

/// A selector that records the requests.
struct Records {
    own: Arc<Credential>,
    seen: Mutex<Vec<Seen>>,
}

impl SelectCredential for Records {
    fn select_credential(&self, request: &CredentialRequest<'_>) -> Option<Arc<Credential>> {
        self.seen.lock().unwrap().push(Seen::new(request));
        Some(Arc::clone(&self.own))
    }
}

fn records() -> Arc<Records> {
    Arc::new(Records { own: Arc::new(credential(Kind::P256)), seen: Mutex::default() })
}

/// RFC 7301 3.1, RFC 9846 4.2.2, 4.3.3
#[test]
fn a_server_sees_protocols_suites_and_schemes_of_the_client() {
    for (version, suite) in SUITES {
        for protocols in [&["acme-tls/1"][..], &["h2", "http/1.1"][..], &[][..]] {
            for asks in [false, true] {
                let records = records();
                let here = Policy::Here(Arc::clone(&records) as _);
                let server = ServerConfig::builder()
                    .credentials(if asks { Policy::Ask } else { here })
                    .alpn(protocols)
                    .build()
                    .unwrap();
                let client = client()
                    .versions(&[version])
                    .cipher_suites(&[suite])
                    .signature_schemes(&SCHEMES)
                    .alpn(protocols)
                    .grease(false)
                    .build()
                    .unwrap();
                Pair::new(&client, &server, NAME)
                    .answering(|_, question| {
                        let Question::SelectCredential(question) = question else {
                            panic!("{question:?}")
                        };
                        question.resolve(&*records)
                    })
                    .connect()
                    .unwrap();
                let names = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
                let seen = records.seen.lock().unwrap();
                let [seen] = &seen[..] else { panic!("{seen:?}") };
                assert_eq!(seen.alpn, (!protocols.is_empty()).then_some(names));
                assert!(seen.suites.contains(&suite), "{:?}", seen.suites);
                assert_eq!(seen.schemes, SCHEMES);
            }
        }
    }
}

/// A server's CertificateRequest has neither protocols nor suites.
#[test]
fn a_client_sees_no_protocols_and_no_suites() {
    for (version, _) in SUITES {
        let records = records();
        let anyone = Policy::Here(Arc::new(AcceptAnyPeer) as _);
        let server = server().alpn(&["h2"]).client_verifier(ClientAuth::Required, anyone);
        let client = client()
            .versions(&[version])
            .alpn(&["h2"])
            .credentials(Policy::Here(Arc::clone(&records) as _))
            .build()
            .unwrap();
        Pair::new(&client, &server.build().unwrap(), NAME).connect().unwrap();
        let seen = records.seen.lock().unwrap();
        let [Seen { alpn: None, suites, schemes }] = &seen[..] else { panic!("{seen:?}") };
        assert!(suites.is_empty() && !schemes.is_empty());
    }
}

/// The server of the documentation.
struct WithChallenges {
    usual: Credentials,
    challenge: Arc<Credential>,
}

impl SelectCredential for WithChallenges {
    fn select_credential(&self, request: &CredentialRequest<'_>) -> Option<Arc<Credential>> {
        if request.alpn.iter().flatten().eq([ProtocolName(b"acme-tls/1")]) {
            return Some(Arc::clone(&self.challenge));
        }
        self.usual.select_credential(request)
    }
}

/// RFC 8737 3
#[test]
fn only_a_client_that_offers_nothing_else_gets_the_certificate_of_a_challenge() {
    let (usual, challenge) = (credential(Kind::P256), credential(Kind::P384));
    let leaves = [&usual, &challenge].map(|each| each.chain()[0].clone());
    let select =
        WithChallenges { usual: Credentials::new(vec![usual]), challenge: Arc::new(challenge) };
    let server = ServerConfig::builder()
        .credentials(Policy::Here(Arc::new(select)))
        .alpn(&["h2", "acme-tls/1"])
        .build()
        .unwrap();
    for (version, _) in SUITES {
        for (protocols, selected, leaf) in [
            (&["acme-tls/1"][..], Some("acme-tls/1"), 1),
            (&["acme-tls/1", "h2"][..], Some("h2"), 0),
            (&[][..], None, 0),
        ] {
            let client = ClientConfig::builder()
                .verifier(Policy::Here(Arc::new(AcceptAnyPeer)))
                .versions(&[version])
                .alpn(protocols)
                .build()
                .unwrap();
            let ends = Pair::new(&client, &server, NAME).connect().unwrap();
            let info = &ends.client.connection.info;
            assert_eq!(info.alpn.as_deref(), selected.map(str::as_bytes));
            assert_eq!(info.peer_chain(), std::slice::from_ref(&leaves[leaf]));
        }
    }
}
