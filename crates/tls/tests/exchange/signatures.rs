//! signature_algorithms_cert: selection of a chain by the signatures in it. RFC 9846 4.3.3, 4.5.1.2

use rcgen::{CertificateParams, CertifiedIssuer, KeyPair};
use tercel::pki::Roots;
use tercel::pki_types::PrivateKeyDer;
use tercel::wire::{ProtocolVersion, SignatureScheme};
use tercel::{
    ClientConfig, Credential, Policy, ServerConfig, Side, certificates::Credentials,
    server::ClientAuth,
};

use crate::fixtures::NAME;
use crate::pair::{Ends, Pair};

const P256: SignatureScheme = SignatureScheme::ECDSA_SECP256R1_SHA256;
const P384: SignatureScheme = SignatureScheme::ECDSA_SECP384R1_SHA384;
const ED25519: SignatureScheme = SignatureScheme::ED25519;
const BOTH_VERSIONS: [ProtocolVersion; 2] = [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2];

#[test]
fn a_server_sends_a_chain_that_the_client_can_verify() {
    let pki = Pki::new();
    for version in BOTH_VERSIONS {
        let shown = |schemes: Option<&[SignatureScheme]>| {
            let mut client = ClientConfig::builder().versions(&[version]).roots(pki.roots());
            if let Some(schemes) = schemes {
                client = client.certificate_signature_schemes(schemes);
            }
            let mut server = ServerConfig::builder();
            for credential in pki.credentials() {
                server = server.credential(credential);
            }
            let (client, server) = (client.build().unwrap(), server.build().unwrap());
            let ends = Pair::new(&client, &server, NAME).connect().unwrap();
            pki.issuer_of(&ends, Side::Client)
        };
        assert_eq!(shown(None), 0, "{version:?}");
        assert_eq!(shown(Some(&[P256, P384])), 0, "{version:?}");
        assert_eq!(shown(Some(&[P384])), 1, "{version:?}");
        // The client's list has no algorithm of any chain, so the first chain is sent.
        assert_eq!(shown(Some(&[ED25519])), 0, "{version:?}");
    }
}

#[test]
fn without_the_extension_signature_algorithms_applies() {
    let pki = Pki::new();
    for version in BOTH_VERSIONS {
        // Leaves have P-256 keys, so that both lists are sufficient for the handshake.
        for (schemes, expected) in [(&[P256, P384][..], 1), (&[P256], 0)] {
            let client = ClientConfig::builder()
                .versions(&[version])
                .signature_schemes(schemes)
                .roots(pki.roots())
                .build()
                .unwrap();
            let [second, first] = pki.credentials();
            let server =
                ServerConfig::builder().credential(first).credential(second).build().unwrap();
            let ends = Pair::new(&client, &server, NAME).connect().unwrap();
            assert_eq!(pki.issuer_of(&ends, Side::Client), expected, "{version:?}");
        }
    }
}

#[test]
fn a_client_sends_a_chain_that_the_server_can_verify() {
    let pki = Pki::new();
    let set = Credentials::new(pki.credentials().into());
    let client = ClientConfig::builder()
        .versions(&[ProtocolVersion::TLS1_3])
        .roots(pki.roots())
        .credentials(Policy::Here(std::sync::Arc::new(set)))
        .build()
        .unwrap();
    let shown = |schemes: Option<&[SignatureScheme]>| {
        let [credential, _] = pki.credentials();
        let mut server = ServerConfig::builder()
            .credential(credential)
            .client_auth(ClientAuth::Required, pki.roots());
        if let Some(schemes) = schemes {
            server = server.certificate_signature_schemes(schemes);
        }
        let server = server.build().unwrap();
        let ends = Pair::new(&client, &server, NAME).connect().unwrap();
        pki.issuer_of(&ends, Side::Server)
    };
    assert_eq!(shown(None), 0);
    assert_eq!(shown(Some(&[P384])), 1);
    assert_eq!(shown(Some(&[ED25519])), 0);
}

/// Two authorities, which sign with P-256 and P-384.
struct Pki([CertifiedIssuer<'static, KeyPair>; 2]);

impl Pki {
    fn new() -> Self {
        let authority = |algorithm, name| {
            let mut params = CertificateParams::default();
            params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
            params.distinguished_name.push(rcgen::DnType::CommonName, name);
            let key = KeyPair::generate_for(algorithm).unwrap();
            CertifiedIssuer::self_signed(params, key).unwrap()
        };
        Self([
            authority(&rcgen::PKCS_ECDSA_P256_SHA256, "authority 256"),
            authority(&rcgen::PKCS_ECDSA_P384_SHA384, "authority 384"),
        ])
    }

    fn roots(&self) -> Roots {
        let mut roots = Roots::new();
        for authority in &self.0 {
            roots.add_der(authority.der()).unwrap();
        }
        roots
    }

    /// One credential of each authority, with keys of one type. The chains include the root, whose
    /// own signature must not affect the selection.
    fn credentials(&self) -> [Credential; 2] {
        self.0.each_ref().map(|authority| {
            let key = KeyPair::generate().unwrap();
            let params = CertificateParams::new(vec![NAME.to_owned()]).unwrap();
            let leaf = params.signed_by(&key, authority).unwrap();
            let chain = vec![leaf.der().clone(), authority.der().clone()];
            Credential::new(chain, &PrivateKeyDer::Pkcs8(key.serialize_der().into())).unwrap()
        })
    }

    /// The authority of the chain that this side received.
    fn issuer_of(&self, ends: &Ends, side: Side) -> usize {
        let end = if side == Side::Client { &ends.client } else { &ends.server };
        let root = &end.connection.info.peer_chain()[1];
        self.0.iter().position(|authority| authority.der() == root).unwrap()
    }
}
