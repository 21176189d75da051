//! Both sides in one thread, no sockets: the shortest proof that a handshake works.

use std::sync::Arc;

use tercel::pki::Roots;
use tercel::pki_types::{CertificateDer, PrivateKeyDer};
use tercel::wire::ProtocolVersion;
use tercel::{
    ClientConfig, Connection, Credential, Error, Handshake, Next, Opened, Received, ServerConfig,
};

fn identity() -> (Credential, Roots) {
    let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap();
    let mut authority = rcgen::CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority_key = rcgen::KeyPair::generate().unwrap();
    let root = authority.self_signed(&authority_key).unwrap();
    let issuer = rcgen::Issuer::new(authority, authority_key);
    let leaf = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let leaf = leaf.signed_by(&key, &issuer).unwrap();
    let chain = vec![CertificateDer::from(leaf.der().to_vec())];
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let mut roots = Roots::new();
    roots.add_der(root.der()).unwrap();
    (Credential::new(chain, &key).unwrap(), roots)
}

fn connect(
    mut client: Handshake,
    mut server: Handshake,
) -> Result<(Connection, Connection), Error> {
    let (mut to_client, mut to_server) = (Received::new(), Received::new());
    let (mut c, mut s) = (None, None);
    let mut out = Vec::new();
    for _ in 0..20 {
        if c.is_none() {
            let step = client.advance(&mut to_client, &mut out);
            to_server.extend(&out);
            out.clear();
            if let Next::Connected(connection) = step? {
                c = Some(*connection);
            }
        }
        if s.is_none() {
            let step = server.advance(&mut to_server, &mut out);
            to_client.extend(&out);
            out.clear();
            if let Next::Connected(connection) = step? {
                s = Some(*connection);
            }
        }
        if c.is_some() && s.is_some() {
            break;
        }
    }
    Ok((c.unwrap(), s.unwrap()))
}

fn exchange(version: ProtocolVersion) {
    let (credential, roots) = identity();
    let client = ClientConfig::builder().roots(roots).versions(&[version]).build().unwrap();
    let server = ServerConfig::builder().credential(credential).build().unwrap();
    let client = Handshake::client(client, "localhost".try_into().unwrap());
    let server = Handshake::server(Arc::clone(&server));
    let (mut client, mut server) = connect(client, server).unwrap();
    assert_eq!(client.facts.version, version);
    assert_eq!(client.facts.group, server.facts.group);
    let mut out = Vec::new();
    client.sender.seal_to(b"hello", &mut out).unwrap();
    let mut received = Received::new();
    received.extend(&out);
    assert_eq!(
        server.receiver.open(&mut received).unwrap(),
        Opened::Data(&mut b"hello".to_vec()[..])
    );
    assert_eq!(server.receiver.open(&mut received).unwrap(), Opened::More);
    let mut a = [0; 40];
    let mut b = [0; 40];
    client.exporter.export(b"label", Some(b"context"), &mut a).unwrap();
    server.exporter.export(b"label", Some(b"context"), &mut b).unwrap();
    assert_eq!(a, b);
}

#[test]
fn tls13_connects() {
    exchange(ProtocolVersion::TLS1_3);
}

#[test]
fn tls12_connects() {
    exchange(ProtocolVersion::TLS1_2);
}
