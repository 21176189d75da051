//! Which servers a connector accepts, and what it sends.

use std::error::Error as _;
use std::io::{self, Read, Write};
use std::process::Command;

use rcgen::{BasicConstraints, IsCa};
use tercel_native_tls::{Certificate, HandshakeError, TlsConnector};

use crate::fixtures::{Authority, Issued, connect, exchange, localhost, refused, trusting};

#[test]
fn a_server_with_an_added_root_is_accepted() {
    let (authority, issued) = localhost();
    let connector = TlsConnector::builder().add_root_certificate(authority.root()).build().unwrap();
    exchange(&connector, "localhost", &issued.acceptor());
}

#[test]
fn added_roots_suffice_without_those_of_the_system() {
    let (authority, issued) = localhost();
    exchange(&trusting(&authority).build().unwrap(), "localhost", &issued.acceptor());
}

#[test]
fn each_of_several_roots_is_trusted() {
    let (one, two, three) = (Authority::new("one"), Authority::new("two"), Authority::new("three"));
    let mut builder = trusting(&one);
    let connector = builder.add_root_certificate(two.root()).build().unwrap();
    exchange(&connector, "localhost", &one.issue("localhost").acceptor());
    exchange(&connector, "localhost", &two.issue("localhost").acceptor());
    let error = refused(&connector, "localhost", &three.issue("localhost").acceptor());
    assert!(error.starts_with("certificate refused: "), "{error}");
}

#[test]
fn two_servers_with_different_authorities() {
    for name in ["one", "two"] {
        let authority = Authority::new(name);
        let acceptor = authority.issue("localhost").acceptor();
        exchange(&trusting(&authority).build().unwrap(), "localhost", &acceptor);
    }
}

#[test]
fn an_intermediate_certificate_is_sent() {
    let authority = Authority::new("root");
    let intermediate = authority.intermediate("intermediate");
    let mut issued = intermediate.issue("localhost");
    issued.intermediates.push(intermediate.certificate);
    exchange(&trusting(&authority).build().unwrap(), "localhost", &issued.acceptor());
    issued.intermediates.clear();
    refused(&trusting(&authority).build().unwrap(), "localhost", &issued.acceptor());
}

/// Not only an authority can be added, but also the server's certificate itself.
#[test]
fn an_added_self_signed_certificate_is_accepted_for_its_names() {
    for is_ca in [IsCa::NoCa, IsCa::ExplicitNoCa, IsCa::Ca(BasicConstraints::Unconstrained)] {
        let issued = Issued::self_signed("localhost", is_ca);
        let certificate = Certificate::from_der(issued.certificate.der()).unwrap();
        let connector = TlsConnector::builder()
            .disable_built_in_roots(true)
            .add_root_certificate(certificate)
            .build()
            .unwrap();
        exchange(&connector, "localhost", &issued.acceptor());
        let error = refused(&connector, "127.0.0.1", &issued.acceptor());
        assert!(error.contains("not valid for 127.0.0.1"), "{error}");
        let other = Issued::self_signed("localhost", is_ca);
        refused(&connector, "localhost", &other.acceptor());
    }
}

/// The key of a server may not certify other servers.
#[test]
fn an_added_server_certificate_is_no_authority() {
    for is_ca in [IsCa::NoCa, IsCa::ExplicitNoCa] {
        let server = Authority::without_rights("localhost", is_ca);
        let connector = trusting(&server).build().unwrap();
        let error = refused(&connector, "other.test", &server.issue("other.test").acceptor());
        assert!(error.starts_with("certificate refused: "), "{error}");
    }
}

#[test]
fn a_server_without_a_trusted_root_is_refused() {
    let (_, issued) = localhost();
    refused(&TlsConnector::new().unwrap(), "localhost", &issued.acceptor());
}

#[test]
fn a_connector_without_roots_refuses_every_server() {
    let (_, issued) = localhost();
    let connector = TlsConnector::builder().disable_built_in_roots(true).build().unwrap();
    let error = refused(&connector, "localhost", &issued.acceptor());
    assert!(error.contains("no root certificate is trusted"), "{error}");
}

#[test]
fn danger_accept_invalid_certs_accepts_every_server() {
    let authority = Authority::new("authority");
    let connector = TlsConnector::builder().danger_accept_invalid_certs(true).build().unwrap();
    for issued in [
        authority.issue("localhost"),
        authority.issue("other.test"),
        authority.issue_expired("localhost"),
        Issued::self_signed("localhost", IsCa::NoCa),
    ] {
        exchange(&connector, "localhost", &issued.acceptor());
    }
    exchange(&connector, "not a domain", &authority.issue("localhost").acceptor());
    let connector = TlsConnector::builder().danger_accept_invalid_certs(false).build().unwrap();
    refused(&connector, "localhost", &authority.issue("localhost").acceptor());
}

#[test]
fn a_wrong_host_is_refused() {
    let (authority, issued) = localhost();
    let connector = trusting(&authority).build().unwrap();
    let error = refused(&connector, "other.test", &issued.acceptor());
    assert!(error.contains("not valid for other.test; it is valid for localhost"), "{error}");
}

#[test]
fn danger_accept_invalid_hostnames_verifies_everything_else() {
    let (authority, issued) = localhost();
    let mut builder = trusting(&authority);
    let connector = builder.danger_accept_invalid_hostnames(true).build().unwrap();
    exchange(&connector, "other.test", &issued.acceptor());
    exchange(&connector, "not a domain", &issued.acceptor());
    refused(&connector, "other.test", &Authority::new("authority").issue("localhost").acceptor());
    let error = refused(&connector, "localhost", &authority.issue_expired("localhost").acceptor());
    assert!(error.contains("expired"), "{error}");
}

#[test]
fn an_ip_address_is_a_domain() {
    let authority = Authority::new("authority");
    let connector = trusting(&authority).build().unwrap();
    for address in ["127.0.0.1", "::1"] {
        exchange(&connector, address, &authority.issue(address).acceptor());
        refused(&connector, address, &authority.issue("localhost").acceptor());
    }
}

#[test]
fn a_domain_that_is_no_name_is_an_error() {
    let connector = TlsConnector::new().unwrap();
    for domain in ["", "not a domain", "localhost:443"] {
        let transport = io::Cursor::new(Vec::new());
        match connector.connect(domain, transport) {
            Err(HandshakeError::Failure(error)) => {
                assert!(error.to_string().contains("neither a DNS name nor an IP"), "{error}");
            }
            other => panic!("{other:?}"),
        }
    }
}

/// A transport that records what is sent, and then ends.
#[derive(Debug, Default)]
struct Recorder(Vec<u8>);

impl Read for &mut Recorder {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Ok(0)
    }
}

impl Write for &mut Recorder {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn the_server_name_is_sent_unless_switched_off() {
    for (use_sni, domain, expected) in
        [(true, "name.test", true), (false, "name.test", false), (true, "192.0.2.1", false)]
    {
        let connector = TlsConnector::builder().use_sni(use_sni).build().unwrap();
        let mut recorder = Recorder::default();
        let _ = connector.connect(domain, &mut recorder).unwrap_err();
        let hello = recorder.0;
        assert!(hello.len() > 100);
        let sent = hello.windows(domain.len()).any(|window| window == domain.as_bytes());
        assert_eq!(sent, expected, "{domain}, SNI {use_sni}");
    }
}

#[test]
fn an_error_has_the_typed_error_as_its_source() {
    let (authority, issued) = localhost();
    let connector = trusting(&authority).build().unwrap();
    let client = connect(&connector, "other.test", &issued.acceptor()).client;
    let error = HandshakeError::<std::net::TcpStream>::Failure(client.unwrap_err());
    let inner = error.source().unwrap();
    let source = inner.source().unwrap().downcast_ref::<tercel::Error>();
    assert!(matches!(source, Some(tercel::Error::Refused(_))), "{source:?}");

    let mut recorder = Recorder::default();
    let error = connector.connect("localhost", &mut recorder).unwrap_err();
    let HandshakeError::Failure(error) = error else { panic!("{error:?}") };
    let source = error.source().unwrap().downcast_ref::<tercel::Error>();
    assert_eq!(source, Some(&tercel::Error::Truncated));
}

/// The environment selects the authorities of the system, so a process of its own connects.
#[test]
fn the_roots_of_the_system_are_trusted() {
    const CHILD: &str = "TERCEL_TEST_AUTHORITY";
    if let Ok(key_folder) = std::env::var(CHILD) {
        return connect_with_roots_of_the_system(std::path::Path::new(&key_folder));
    }
    let (authority, issued) = localhost();
    let folder = crate::fixtures::folder("system-roots");
    std::fs::write(folder.join("ca.pem"), authority.certificate.pem()).unwrap();
    std::fs::write(folder.join("cert.pem"), issued.certificate.pem()).unwrap();
    std::fs::write(folder.join("key.pem"), issued.key.serialize_pem()).unwrap();
    let test = "connections::the_roots_of_the_system_are_trusted";
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, &folder)
        .env("SSL_CERT_FILE", folder.join("ca.pem"))
        .env_remove("SSL_CERT_DIR")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("1 passed"), "{text}");
}

fn connect_with_roots_of_the_system(folder: &std::path::Path) {
    let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
    let identity = tercel_native_tls::Identity::from_pkcs8(&read("cert.pem"), &read("key.pem"));
    let acceptor = tercel_native_tls::TlsAcceptor::new(identity.unwrap()).unwrap();
    exchange(&TlsConnector::new().unwrap(), "localhost", &acceptor);
    // An added root does not replace the others.
    let other = Authority::new("other");
    let connector = TlsConnector::builder().add_root_certificate(other.root()).build().unwrap();
    exchange(&connector, "localhost", &acceptor);
    exchange(&connector, "localhost", &other.issue("localhost").acceptor());
    let without = TlsConnector::builder().disable_built_in_roots(true).build().unwrap();
    refused(&without, "localhost", &acceptor);
}
