//! Certificates: parsing, and those of a connection.

use tercel_native_tls::{Certificate, Identity};

use crate::fixtures::{Authority, connect, localhost, trusting};
use crate::pem_cases::check;

#[test]
fn der_and_pem_are_the_same_certificate() {
    let certificate = Authority::new("authority").certificate;
    let from_der = Certificate::from_der(certificate.der()).unwrap();
    let from_pem = Certificate::from_pem(certificate.pem().as_bytes()).unwrap();
    assert_eq!(from_der.to_der().unwrap(), certificate.der().as_ref());
    assert_eq!(from_pem.to_der().unwrap(), certificate.der().as_ref());
}

#[test]
fn all_certificates_of_a_file_are_parsed() {
    let (one, two) = (Authority::new("one").certificate, Authority::new("two").certificate);
    let pem = format!("# a comment\n{}{}", one.pem(), two.pem());
    let stack = Certificate::stack_from_pem(pem.as_bytes()).unwrap();
    let stack: Vec<_> = stack.iter().map(|certificate| certificate.to_der().unwrap()).collect();
    assert_eq!(stack, [one.der().to_vec(), two.der().to_vec()]);
    let first = Certificate::from_pem(pem.as_bytes()).unwrap();
    assert_eq!(first.to_der().unwrap(), one.der().to_vec());
    assert!(Certificate::stack_from_pem(b"").unwrap().is_empty());
}

/// RFC 7468 2, 3
#[test]
fn files_of_odd_forms_are_read_or_refused_with_the_reason() {
    let (authority, issued) = localhost();
    let (one, other) = (authority.certificate.pem(), Authority::new("other").certificate.pem());
    check("stack", &one, &other, |pem| match Certificate::stack_from_pem(pem) {
        Ok(stack) if stack.is_empty() => Err("no certificate".to_owned()),
        Ok(stack) => Ok(stack.iter().map(|one| one.to_der().unwrap()).collect::<Vec<_>>()),
        Err(error) => Err(error.to_string()),
    });
    check("first", &one, &other, |pem| {
        Certificate::from_pem(pem).map(|_| ()).map_err(|error| error.to_string())
    });
    let (chain, key) = (issued.chain_pem(), issued.key.serialize_pem());
    let identity = |chain: &[u8], key: &[u8]| {
        Identity::from_pkcs8(chain, key).map(|_| ()).map_err(|error| error.to_string())
    };
    check("chain", &chain, &one, |pem| identity(pem, key.as_bytes()));
    check("key", &chain, &key, |pem| identity(chain.as_bytes(), pem));
}

#[test]
fn other_bytes_are_no_certificate() {
    let certificate = Authority::new("authority").certificate;
    let mut longer = certificate.der().to_vec();
    longer.push(0);
    for der in [&b""[..], b"no certificate", &longer, &certificate.der()[1..]] {
        let error = Certificate::from_der(der).err().unwrap();
        assert!(error.to_string().starts_with("the certificate cannot be parsed"), "{error}");
    }
    assert!(Certificate::from_pem(b"").is_err());
    let broken = certificate.pem().replacen("MII", "!!!", 1);
    assert!(Certificate::from_pem(broken.as_bytes()).is_err());
    assert!(Certificate::stack_from_pem(broken.as_bytes()).is_err());
}

#[test]
fn the_client_gets_the_servers_leaf_and_the_server_gets_none() {
    let (authority, issued) = localhost();
    let connector = trusting(&authority).build().unwrap();
    // Also on the second connection, which could resume a session.
    for _ in 0..2 {
        let connected = connect(&connector, "localhost", &issued.acceptor());
        let leaf = connected.client.unwrap().peer_certificate().unwrap().unwrap();
        assert_eq!(leaf.to_der().unwrap(), issued.certificate.der().as_ref());
        assert!(connected.server.unwrap().peer_certificate().unwrap().is_none());
    }
}
