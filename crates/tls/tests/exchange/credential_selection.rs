//! Selection among several chains by a server or client: by key, curve, authority, name and order.

use std::sync::{Arc, Mutex};

use rcgen::{CertificateParams, CertifiedIssuer, KeyPair, SignatureAlgorithm};
use tercel::pki::Roots;
use tercel::pki_types::{CertificateDer, PrivateKeyDer};
use tercel::wire::{NamedGroup, ProtocolVersion, SignatureScheme};
use tercel::{
    ClientConfig, Credential, Policy, ServerConfig,
    certificates::{AcceptAnyPeer, CredentialRequest, Credentials, SelectCredential},
    client::ClientConfigBuilder,
    error::ConfigError,
    server::ClientAuth,
};

use crate::fixtures::NAME;
use crate::pair::{Failure, Pair};

const BOTH_VERSIONS: [ProtocolVersion; 2] = [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2];
const TLS13: ProtocolVersion = ProtocolVersion::TLS1_3;
const TLS12: ProtocolVersion = ProtocolVersion::TLS1_2;

/// A certificate authority with its own name.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        Self(
            CertifiedIssuer::self_signed(Self::params(name), KeyPair::generate().unwrap()).unwrap(),
        )
    }

    /// Creates an intermediate authority that this authority issues.
    fn below(&self, name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        Self(CertifiedIssuer::signed_by(Self::params(name), key, &self.0).unwrap())
    }

    fn params(name: &str) -> CertificateParams {
        let mut params = CertificateParams::default();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        params
    }

    fn roots(&self) -> Roots {
        let mut roots = Roots::new();
        roots.add_der(self.0.der()).unwrap();
        roots
    }

    pub(crate) fn names(&self) -> Vec<Vec<u8>> {
        self.roots().subjects().collect()
    }

    fn issue(&self, algorithm: &'static SignatureAlgorithm, above: &[&Self]) -> Credential {
        self.issue_for(NAME, algorithm, above)
    }

    /// A credential whose chain has these authorities above the leaf.
    pub(crate) fn issue_for(
        &self,
        name: &str,
        algorithm: &'static SignatureAlgorithm,
        above: &[&Self],
    ) -> Credential {
        let key = KeyPair::generate_for(algorithm).unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let leaf = params.signed_by(&key, &self.0).unwrap().der().clone();
        let above = above.iter().map(|authority| authority.0.der().clone());
        let chain = core::iter::once(leaf).chain(above).collect();
        Credential::new(chain, &PrivateKeyDer::Pkcs8(key.serialize_der().into())).unwrap()
    }
}

/// A set of credentials, with their leaves to recognize them.
struct Set {
    credentials: Arc<Credentials>,
    leaves: Vec<CertificateDer<'static>>,
}

impl Set {
    fn new(credentials: Vec<Credential>) -> Self {
        let leaves = credentials.iter().map(|each| each.chain()[0].clone()).collect();
        Self { credentials: Arc::new(Credentials::new(credentials)), leaves }
    }

    /// The position of the credential that a server sends to this client.
    fn sent_to(&self, client: ClientConfigBuilder) -> Result<usize, Failure> {
        let anybody = Policy::Here(Arc::new(AcceptAnyPeer) as _);
        let client = client.verifier(anybody).build().unwrap();
        let server = ServerConfig::builder()
            .replaceable_credentials(Arc::clone(&self.credentials))
            .build()
            .unwrap();
        let ends = Pair::new(&client, &server, NAME).connect()?;
        Ok(self.position(&ends.client.connection.info.peer_chain()[0]))
    }

    fn position(&self, leaf: &CertificateDer<'_>) -> usize {
        self.leaves.iter().position(|known| known == leaf).unwrap()
    }
}

fn client_of(version: ProtocolVersion) -> ClientConfigBuilder {
    ClientConfig::builder().versions(&[version])
}

#[test]
fn the_first_key_type_that_the_client_can_verify_is_sent() {
    let authority = Authority::new("authority");
    let set = Set::new(vec![
        authority.issue(&rcgen::PKCS_ML_DSA_65, &[]),
        authority.issue(&rcgen::PKCS_ED25519, &[]),
        authority.issue(&rcgen::PKCS_ECDSA_P256_SHA256, &[]),
        authority.issue(&rcgen::PKCS_RSA_SHA256, &[]),
    ]);
    let order = [
        SignatureScheme::MLDSA65,
        SignatureScheme::ED25519,
        SignatureScheme::ECDSA_SECP256R1_SHA256,
        SignatureScheme::RSA_PSS_RSAE_SHA256,
    ];
    for version in BOTH_VERSIONS {
        // ML-DSA is defined for TLS 1.3 only.
        let first = usize::from(version == TLS12);
        for known in first..order.len() {
            // The order of the set determines the credential, not the client's order.
            let mut schemes = order[known..].to_vec();
            schemes.reverse();
            let client = client_of(version).signature_schemes(&schemes);
            assert_eq!(set.sent_to(client), Ok(known), "{version:?}");
            let client = client_of(version).signature_schemes(&[order[known]]);
            assert_eq!(set.sent_to(client), Ok(known), "{version:?}");
        }
        let client = client_of(version).signature_schemes(&[SignatureScheme::RSA_PSS_PSS_SHA256]);
        set.sent_to(client).unwrap_err();
    }
}

/// RFC 9846 4.3.7
#[test]
fn in_tls12_the_curve_must_be_one_of_the_clients_groups() {
    let authority = Authority::new("authority");
    let set = Set::new(vec![
        authority.issue(&rcgen::PKCS_ECDSA_P384_SHA384, &[]),
        authority.issue(&rcgen::PKCS_ECDSA_P256_SHA256, &[]),
        authority.issue(&rcgen::PKCS_RSA_SHA256, &[]),
    ]);
    let (x25519, p256, p384) = (NamedGroup::X25519, NamedGroup::SECP256R1, NamedGroup::SECP384R1);
    for (groups, in_tls12) in [(&[x25519, p384, p256][..], 0), (&[x25519, p256], 1), (&[x25519], 2)]
    {
        // In TLS 1.3 the scheme includes the curve. RFC 9846 4.3.3
        for (version, expected) in [(TLS13, 0), (TLS12, in_tls12)] {
            let shown = set.sent_to(client_of(version).groups(groups));
            assert_eq!(shown, Ok(expected), "{version:?} {groups:?}");
        }
    }
}

#[test]
fn a_chain_of_an_authority_that_the_client_names_is_preferred() {
    let [old, new, other] = ["old", "new", "other"].map(Authority::new);
    let middle = new.below("middle");
    let p256 = &rcgen::PKCS_ECDSA_P256_SHA256;
    let set = Set::new(vec![
        old.issue(p256, &[]),
        // This authority issued the second certificate of the chain.
        middle.issue(p256, &[&middle]),
        new.issue(&rcgen::PKCS_RSA_SHA256, &[]),
    ]);
    let naming = |authorities: &[&Authority]| {
        let names = authorities.iter().flat_map(|authority| authority.names()).collect();
        client_of(TLS13).certificate_authorities(names)
    };
    assert_eq!(set.sent_to(naming(&[])), Ok(0));
    assert_eq!(set.sent_to(naming(&[&old])), Ok(0));
    assert_eq!(set.sent_to(naming(&[&new])), Ok(1));
    assert_eq!(set.sent_to(naming(&[&middle])), Ok(1));
    assert_eq!(set.sent_to(naming(&[&other, &new])), Ok(1));
    // If several chains fit, the first is sent.
    assert_eq!(set.sent_to(naming(&[&new, &old])), Ok(0));
    // If the client names only unknown authorities, the first chain is sent, because the client may
    // still trust it.
    assert_eq!(set.sent_to(naming(&[&other])), Ok(0));
    // A chain of a named authority is not sent if the client cannot verify its key.
    let rsa = [SignatureScheme::RSA_PSS_RSAE_SHA256];
    assert_eq!(set.sent_to(naming(&[&old]).signature_schemes(&rsa)), Ok(2));
}

#[test]
fn the_server_name_takes_precedence_over_the_authority() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let p256 = &rcgen::PKCS_ECDSA_P256_SHA256;
    let other_name = theirs.issue_for("elsewhere.example", p256, &[]);
    let set = Set::new(vec![other_name, ours.issue(p256, &[])]);
    let client = || client_of(TLS13).certificate_authorities(theirs.names());
    assert_eq!(set.sent_to(client()), Ok(1));
    assert_eq!(set.sent_to(client().send_server_name(false)), Ok(0));
}

#[test]
fn a_credential_that_must_match_its_issuer_needs_a_named_issuer() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let p256 = &rcgen::PKCS_ECDSA_P256_SHA256;
    let set = Set::new(vec![ours.issue(p256, &[]).must_match_issuer(), theirs.issue(p256, &[])]);
    let naming = |names| client_of(TLS13).certificate_authorities(names);
    assert_eq!(set.sent_to(naming(ours.names())), Ok(0));
    assert_eq!(set.sent_to(naming(theirs.names())), Ok(1));
    assert_eq!(set.sent_to(naming(Vec::new())), Ok(1));
    let alone = Set::new(vec![ours.issue(p256, &[]).must_match_issuer()]);
    alone.sent_to(naming(theirs.names())).unwrap_err();
}

/// RFC 9846 4.3.4
#[test]
fn a_client_sends_a_chain_of_an_authority_that_the_server_names() {
    let [first, second, third] = ["first", "second", "third"].map(Authority::new);
    let p256 = &rcgen::PKCS_ECDSA_P256_SHA256;
    for version in BOTH_VERSIONS {
        let set = Set::new(vec![first.issue(p256, &[]), second.issue(p256, &[])]);
        let client = client_of(version)
            .verifier(Policy::Here(Arc::new(AcceptAnyPeer) as _))
            .credentials(Policy::Here(Arc::clone(&set.credentials) as _))
            .build()
            .unwrap();
        for (trusted, expected) in [(&first, Some(0)), (&second, Some(1)), (&third, None)] {
            let server = ServerConfig::builder()
                .credential(third.issue(p256, &[]))
                .client_auth(ClientAuth::Required, trusted.roots())
                .build()
                .unwrap();
            // A server may trust more authorities than it names, so a client without a match sends
            // its first chain.
            let outcome = Pair::new(&client, &server, NAME).connect();
            let shown =
                outcome.ok().map(|ends| set.position(&ends.server.connection.info.peer_chain()[0]));
            assert_eq!(shown, expected, "{version:?}");
        }
    }
}

/// A server lists the authorities of its configuration, also if its caller verifies the clients.
#[test]
fn a_server_lists_authorities_for_clients() {
    struct Records(Mutex<Vec<Vec<u8>>>);

    impl SelectCredential for Records {
        fn select_credential(&self, request: &CredentialRequest<'_>) -> Option<Arc<Credential>> {
            let names = request.authorities.iter().flatten().map(|name| name.0.to_vec());
            self.0.lock().unwrap().extend(names);
            None
        }
    }

    let names = vec![b"one name".to_vec(), b"another".to_vec()];
    let server = || {
        let own = Authority::new("own").issue(&rcgen::PKCS_ECDSA_P256_SHA256, &[]);
        ServerConfig::builder().credential(own).client_verifier(ClientAuth::Optional, Policy::Ask)
    };
    for version in BOTH_VERSIONS {
        let seen = Arc::new(Records(Mutex::default()));
        let client = client_of(version)
            .verifier(Policy::Here(Arc::new(AcceptAnyPeer) as _))
            .credentials(Policy::Here(Arc::clone(&seen) as _))
            .build()
            .unwrap();
        let server = server().client_authorities(names.clone()).build().unwrap();
        Pair::new(&client, &server, NAME).connect().unwrap();
        assert_eq!(*seen.0.lock().unwrap(), names);
    }
    let bad = server().client_authorities(vec![Vec::new()]).build();
    assert_eq!(bad.err(), Some(ConfigError::BadAuthorities));
}

#[test]
fn authorities_are_not_sent_unless_named_nor_to_servers_of_tls12() {
    let authority = Authority::new("a name to be found in the hello");
    let name = authority.names().remove(0);
    let sends = |versions: &[ProtocolVersion], names| {
        let client = ClientConfig::builder()
            .versions(versions)
            .roots(authority.roots())
            .certificate_authorities(names)
            .build()
            .unwrap();
        let server = ServerConfig::builder()
            .credential(authority.issue(&rcgen::PKCS_ECDSA_P256_SHA256, &[]))
            .build()
            .unwrap();
        let mut seen = false;
        let tap = |bytes: &mut Vec<u8>| seen |= bytes.windows(name.len()).any(|part| part == name);
        Pair::new(&client, &server, NAME).tap_to_server(tap).connect().unwrap().talk();
        seen
    };
    assert!(!sends(&BOTH_VERSIONS, Vec::new()));
    assert!(sends(&BOTH_VERSIONS, vec![name.clone()]));
    assert!(!sends(&[TLS12], vec![name.clone()]));
}

#[test]
fn authorities_that_cannot_be_encoded_are_refused_at_build() {
    let build = |names: Vec<Vec<u8>>| {
        let anybody = Policy::Here(Arc::new(AcceptAnyPeer) as _);
        ClientConfig::builder().verifier(anybody).certificate_authorities(names).build().err()
    };
    assert_eq!(build(vec![vec![0x30, 0]; 8192]), None);
    assert_eq!(build(vec![vec![0x30, 0]; 8193]), Some(ConfigError::BadAuthorities));
    assert_eq!(build(vec![vec![0x30, 0], Vec::new()]), Some(ConfigError::BadAuthorities));
}

#[test]
fn thousands_of_authorities_can_be_sent() {
    let authority = Authority::new("authority");
    let p256 = &rcgen::PKCS_ECDSA_P256_SHA256;
    let other = Authority::new("other");
    let set = Set::new(vec![other.issue(p256, &[]), authority.issue(p256, &[])]);
    let mut names = vec![vec![0x30, 0]; 7000];
    names.extend(authority.names());
    assert_eq!(set.sent_to(client_of(TLS13).certificate_authorities(names)), Ok(1));
}

#[test]
fn an_application_can_query_which_credentials_fit() {
    /// A selector that sends a chain only to peers that name its issuer.
    struct NamedIssuersOnly(Vec<Arc<Credential>>);
    impl SelectCredential for NamedIssuersOnly {
        fn select_credential(&self, request: &CredentialRequest<'_>) -> Option<Arc<Credential>> {
            let suits = |each: &&Arc<Credential>| {
                request.scheme_for(each).is_some() && request.names_issuer_of(each)
            };
            self.0.iter().find(suits).cloned()
        }
    }
    let [first, second, third] = ["first", "second", "third"].map(Authority::new);
    let p256 = &rcgen::PKCS_ECDSA_P256_SHA256;
    let own = [&first, &second].map(|authority| Arc::new(authority.issue(p256, &[])));
    let reserved = Policy::Here(Arc::new(NamedIssuersOnly(own.to_vec())) as _);
    let server = ServerConfig::builder().credentials(reserved).build().unwrap();
    let sent_to = |names| {
        let client = client_of(TLS13)
            .verifier(Policy::Here(Arc::new(AcceptAnyPeer) as _))
            .certificate_authorities(names)
            .build()
            .unwrap();
        let ends = Pair::new(&client, &server, NAME).connect().ok()?;
        let chain = ends.client.connection.info.peer_chain().to_vec();
        own.iter().position(|each| each.chain() == chain)
    };
    // A peer that names no authority may trust any.
    assert_eq!(sent_to(Vec::new()), Some(0));
    assert_eq!(sent_to(second.names()), Some(1));
    assert_eq!(sent_to(third.names()), None);
}

/// A CertificateRequest has at most 65,535 bytes of extensions. RFC 9846 4.3.4, RFC 5246 7.4.4
#[test]
fn authorities_that_do_not_fit_into_a_request_are_not_listed() {
    let authority = Authority::new("authority");
    let credential = authority.issue(&rcgen::PKCS_ECDSA_P256_SHA256, &[]);
    let anchor = |number: usize| {
        // A commonName of 50 digits.
        let mut subject = vec![0x31, 59, 0x30, 57, 6, 3, 0x55, 4, 3, 12, 50];
        subject.extend(format!("{number:050}").bytes());
        tercel::pki_types::TrustAnchor {
            subject: subject.into(),
            subject_public_key_info: vec![0x30, 0].into(),
            name_constraints: None,
        }
    };
    for (count, omits) in [(900, false), (1200, true)] {
        let mut roots = authority.roots();
        (0..count).for_each(|number| roots.add_trust_anchor(anchor(number)));
        let server = ServerConfig::builder()
            .credential(authority.issue(&rcgen::PKCS_ECDSA_P256_SHA256, &[]))
            .client_auth(ClientAuth::Required, roots)
            .build()
            .unwrap();
        assert_eq!(server.omits_authorities(), omits);
        for version in [ProtocolVersion::TLS1_2, ProtocolVersion::TLS1_3] {
            let client = client_of(version).roots(authority.roots());
            let client = client.credential(credential.clone()).build().unwrap();
            Pair::new(&client, &server, NAME).connect().unwrap().talk();
        }
    }
}
