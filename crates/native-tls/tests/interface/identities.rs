//! Identities from PKCS#8 and PKCS#12.

use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::thread;

use tercel::pki::Roots;
use tercel::server::ClientAuth;
use tercel_native_tls::Identity;

use crate::fixtures::{Authority, Issued, exchange, folder, localhost, sockets, trusting};

#[test]
fn a_server_with_a_pkcs8_key() {
    let (authority, issued) = localhost();
    let identity = issued.identity();
    // The same identity on both sides; this server does not request it.
    let connector = trusting(&authority).identity(identity.clone()).build().unwrap();
    let acceptor = tercel_native_tls::TlsAcceptor::new(identity).unwrap();
    exchange(&connector, "localhost", &acceptor);
}

#[test]
fn a_key_in_another_form_or_of_another_certificate_is_refused() {
    let (_, issued) = localhost();
    let (_, other) = localhost();
    let chain = issued.chain_pem();
    let error = |chain: &str, key: &str| {
        Identity::from_pkcs8(chain.as_bytes(), key.as_bytes()).err().unwrap().to_string()
    };
    let key = issued.key.serialize_pem();
    assert!(error(&chain, &other.key.serialize_pem()).contains("does not match"));
    assert!(error("", &key).contains("no section of the wanted kind"));
    assert!(error(&chain, "").contains("no section of the wanted kind"));
    assert!(error(&chain, &chain).contains("no section of the wanted kind"));

    let Some(files) = Files::new("pkcs8-forms", &issued) else { return };
    files.openssl(&["ec", "-in", "key.pem", "-out", "sec1.pem"]);
    assert!(error(&chain, &files.text("sec1.pem")).contains("not in the form PKCS#8"));
    files.openssl(&["genrsa", "-traditional", "-out", "pkcs1.pem", "2048"]);
    assert!(error(&chain, &files.text("pkcs1.pem")).contains("not in the form PKCS#8"));
    let encrypt = ["pkcs8", "-topk8", "-in", "key.pem", "-passout", "pass:x", "-out", "secret.pem"];
    files.openssl(&encrypt);
    assert!(error(&chain, &files.text("secret.pem")).contains("encrypted"));
}

/// RFC 5280 4.2.1.12
#[test]
fn an_identity_of_a_client_does_not_serve() {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap();
    params.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth];
    let pem = params.self_signed(&key).unwrap().pem();
    let identity = Identity::from_pkcs8(pem.as_bytes(), key.serialize_pem().as_bytes()).unwrap();
    let error = tercel_native_tls::TlsAcceptor::new(identity).err().unwrap().to_string();
    assert!(error.contains("does not allow servers"), "{error}");
}

/// Files of GnuTLS and NSS lack the parameters of PBKDF2's function. RFC 8018 B.1.2
#[test]
fn pkcs12_files_of_gnutls_and_nss_are_opened() {
    for file in [
        &include_bytes!("../../../crypto/tests/vectors/gnutls.p12")[..],
        include_bytes!("../../../crypto/tests/vectors/nss.p12"),
    ] {
        let identity = Identity::from_pkcs12(file, "secret").unwrap();
        tercel_native_tls::TlsAcceptor::new(identity).unwrap();
    }
}

/// The default of OpenSSL 3, the one of older versions, and the one of some other programs.
const FORMS: [&[&str]; 3] =
    [&[], &["-legacy"], &["-keypbe", "PBE-SHA1-3DES", "-certpbe", "PBE-SHA1-3DES"]];

#[test]
fn a_server_with_a_pkcs12_file() {
    let authority = Authority::new("root");
    let (one, two) = (authority.intermediate("one"), authority.intermediate("two"));
    let mut issued = two.issue("localhost");
    // Only one of both belongs to the chain; the server sends both.
    issued.intermediates = vec![two.certificate, one.certificate];
    let Some(files) = Files::new("pkcs12-server", &issued) else { return };
    for form in FORMS {
        let file = files.pkcs12("password", form);
        let identity = Identity::from_pkcs12(&file, "password").unwrap();
        // The same file again.
        let again = Identity::from_pkcs12(&file, "password").unwrap();
        for identity in [identity, again] {
            let acceptor = tercel_native_tls::TlsAcceptor::new(identity).unwrap();
            exchange(&trusting(&authority).build().unwrap(), "localhost", &acceptor);
        }
    }
}

/// The leaf is the certificate of the key, wherever it is in the file.
#[test]
fn the_leaf_of_a_pkcs12_file_may_follow_its_issuers() {
    let authority = Authority::new("root");
    let intermediate = authority.intermediate("intermediate");
    let mut issued = intermediate.issue("localhost");
    issued.intermediates.push(intermediate.certificate);
    let Some(files) = Files::new("pkcs12-order", &issued) else { return };
    // `openssl` puts the certificate of the key first, unless it is among the others.
    let (leaf, above) = (issued.certificate.pem(), issued.intermediates[0].pem());
    files.write("chain.pem", &format!("{above}{leaf}"));
    let file = files.pkcs12("password", &[]);
    let identity = Identity::from_pkcs12(&file, "password").unwrap();
    let acceptor = tercel_native_tls::TlsAcceptor::new(identity).unwrap();
    exchange(&trusting(&authority).build().unwrap(), "localhost", &acceptor);
}

#[test]
fn a_pkcs12_file_that_is_no_identity_is_refused() {
    let (_, issued) = localhost();
    let error =
        |file: &[u8], password| Identity::from_pkcs12(file, password).err().unwrap().to_string();
    assert!(error(b"no file", "").starts_with("PKCS#12: the file is malformed"));
    let Some(files) = Files::new("pkcs12-refused", &issued) else { return };
    let file = files.pkcs12("right", &[]);
    assert!(error(&file, "wrong").contains("password is wrong"));
    let whole = error(&file[..file.len() - 1], "right");
    assert_eq!(whole, "PKCS#12: the file is malformed, or has a form that is not supported");
    let file = files.pkcs12("right", &["-nomac"]);
    assert_eq!(error(&file, "right"), "PKCS#12: the file has no MAC");
    let file = files.pkcs12("right", &["-keypbe", "aria-256-cbc"]);
    let expected = "PKCS#12: the file uses an algorithm that is not supported";
    assert_eq!(error(&file, "right"), expected);
    let export = ["pkcs12", "-export", "-passout", "pass:right", "-out", "file.p12"];
    files.openssl(&[&export[..], &["-nokeys", "-in", "chain.pem"]].concat());
    assert!(error(&files.read("file.p12"), "right").contains("contains no private key"));
    files.openssl(&[&export[..], &["-nocerts", "-inkey", "key.pem"]].concat());
    assert!(error(&files.read("file.p12"), "right").contains("no certificate for its private key"));
}

/// The reason names the key, not the file. RFC 5480 2.1.1
#[test]
fn a_pkcs12_file_with_an_unusable_key_is_refused_for_its_key() {
    let (_, issued) = localhost();
    let Some(files) = Files::new("pkcs12-unusable", &issued) else { return };
    let curve = ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"];
    let explicit = [&curve[..], &["-pkeyopt", "ec_param_enc:explicit"]].concat();
    let pss = vec!["-algorithm", "RSA-PSS"];
    for (made, expected) in [
        (explicit, "the leaf certificate cannot be used: a certificate's key is of a kind, or on"),
        (pss, "PKCS#12: the file uses an algorithm that is not supported"),
    ] {
        files.openssl(&[&["genpkey", "-out", "odd.pem"][..], &made].concat());
        let request = ["req", "-x509", "-key", "odd.pem", "-subj", "/CN=odd", "-out", "odd.crt"];
        files.openssl(&request);
        let export = ["pkcs12", "-export", "-passout", "pass:right", "-out", "file.p12"];
        files.openssl(&[&export[..], &["-inkey", "odd.pem", "-in", "odd.crt"]].concat());
        let error = Identity::from_pkcs12(&files.read("file.p12"), "right").err().unwrap();
        assert!(error.to_string().contains(expected), "{error}");
    }
}

/// An acceptor requests no client certificates, so the server is one of `tercel`.
#[test]
fn a_client_sends_its_identity_if_the_server_requests_it() {
    let (authority, issued) = localhost();
    let clients = Authority::new("clients");
    let identity = clients.issue("client.test");
    let mut roots = Roots::new();
    roots.add_der(clients.certificate.der()).unwrap();
    let key = issued.key.serialize_pem();
    let credential = tercel::Credential::from_pem(issued.chain_pem().as_bytes(), key.as_bytes());
    let config = tercel::ServerConfig::builder()
        .credential(credential.unwrap())
        .client_auth(ClientAuth::Required, roots)
        .build()
        .unwrap();
    for identified in [true, false] {
        let (near, far) = sockets();
        let config = Arc::clone(&config);
        let server = thread::spawn(move || {
            let mut stream = tercel::Stream::accept(&config, far).ok()?;
            stream.write_all(b"x").unwrap();
            stream.connection().info.peer_chain().first().cloned()
        });
        let mut connector = trusting(&authority);
        if identified {
            connector.identity(identity.identity());
        }
        let connected = connector.build().unwrap().connect("localhost", near);
        let read = connected.ok().and_then(|mut stream| stream.read_exact(&mut [0]).ok());
        assert_eq!(read.is_some(), identified);
        let leaf = server.join().unwrap();
        assert_eq!(leaf.is_some(), identified);
        assert!(leaf.is_none_or(|leaf| leaf == *identity.certificate.der()));
    }
}

/// A folder with the files of a certificate, for the program `openssl`.
struct Files(std::path::PathBuf);

impl Files {
    /// Nothing without the program.
    fn new(name: &str, issued: &Issued) -> Option<Self> {
        Command::new("openssl").arg("version").output().ok()?;
        let files = Self(folder(name));
        files.write("key.pem", &issued.key.serialize_pem());
        files.write("chain.pem", &issued.chain_pem());
        Some(files)
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        Path::new(&self.0).join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).unwrap()
    }

    fn openssl(&self, arguments: &[&str]) {
        let output = Command::new("openssl").current_dir(&self.0).args(arguments).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "openssl {arguments:?}: {text}");
    }

    fn pkcs12(&self, password: &str, form: &[&str]) -> Vec<u8> {
        let password = format!("pass:{password}");
        let export = ["pkcs12", "-export", "-passout", &password, "-out", "file.p12"];
        let content = ["-inkey", "key.pem", "-in", "chain.pem"];
        self.openssl(&[&export[..], &content, form].concat());
        self.read("file.p12")
    }
}
