//! OCSP responses made by OpenSSL. OpenSSL and this program both staple and verify them. The tests
//! are skipped without OpenSSL.

use std::process::Command;

use rcgen::{
    CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, SerialNumber,
};

use super::support::{Folder, OpenSsl, Server, connect, run};

const VERSIONS: [&str; 2] = ["--tls1.3", "--tls1.2"];
const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

/// A certificate authority with a responder and a leaf for localhost, as files for OpenSSL.
struct OcspFiles {
    folder: Folder,
    cert: String,
    key: String,
    ca: String,
}

impl OcspFiles {
    /// `None` without OpenSSL.
    fn new() -> Option<Self> {
        if !OpenSsl::is_installed() {
            return None;
        }
        let folder = Folder::new();
        let named = |name: &str| {
            let mut params = CertificateParams::default();
            params.distinguished_name.push(DnType::CommonName, name);
            params
        };
        let mut params = named("authority");
        params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let ca = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        folder.write("ca.key", ca.key().serialize_pem());
        let mut params = named("responder");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::OcspSigning];
        let key = KeyPair::generate().unwrap();
        folder.write("responder.pem", params.signed_by(&key, &ca).unwrap().pem());
        folder.write("responder.key", key.serialize_pem());
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.serial_number = Some(SerialNumber::from(0x4711_u64));
        let key = KeyPair::generate().unwrap();
        let cert = folder.write("leaf.pem", params.signed_by(&key, &ca).unwrap().pem());
        let key = folder.write("leaf.key", key.serialize_pem());
        let ca = folder.write("ca.pem", ca.pem());
        Some(Self { cert, key, ca, folder })
    }

    /// A response of this signer for this entry of the index.
    fn response(&self, entry: &str, signer: &str, more: &[&str]) -> String {
        self.folder.write("index.txt", format!("{entry}\t4711\tunknown\t/CN=leaf\n"));
        let made = Command::new("openssl")
            .current_dir(&self.folder.0)
            .args(["ocsp", "-index", "index.txt", "-CA", "ca.pem", "-issuer", "ca.pem"])
            .args(["-rsigner", &format!("{signer}.pem"), "-rkey", &format!("{signer}.key")])
            .args(more)
            .args(["-cert", "leaf.pem", "-respout", "response.der", "-ndays", "1", "-noverify"])
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        self.folder.file("response.der").display().to_string()
    }

    fn good(&self) -> String {
        self.response(GOOD, "ca", &[])
    }

    /// Starts a server that staples this response.
    fn serve(&self, response: &str) -> Server {
        let options = ["--cert", &self.cert, "--key", &self.key, "--ocsp", response];
        Server::start(&options)
    }

    fn trust(&self) -> [&str; 5] {
        ["--ca", &self.ca, "--name", "localhost", "--require-ocsp"]
    }
}

/// Entries of OpenSSL's index: valid until 2099, and revoked in 2025.
const GOOD: &str = "V\t20991231235959Z\t";
const REVOKED: &str = "R\t20991231235959Z\t250101000000Z";

#[test]
fn responses_of_openssl_are_verified() {
    let Some(files) = OcspFiles::new() else { return };
    for (entry, signer, more, refusal) in [
        (GOOD, "ca", &[][..], None),
        (GOOD, "responder", &[], None),
        (GOOD, "responder", &["-resp_key_id"], None),
        (GOOD, "ca", &["-sha256"], None),
        (GOOD, "ca", &["-rmd", "sha512"], None),
        (REVOKED, "ca", &[], Some("revoked")),
        (GOOD, "responder", &["-resp_no_certs"], Some("not signed by")),
        (GOOD, "leaf", &[], Some("not signed by")),
    ] {
        let server = files.serve(&files.response(entry, signer, more));
        for version in VERSIONS {
            let options = [&files.trust()[..], &[version]].concat();
            let outcome = connect(&server.address, &options, GET);
            match refusal {
                None => assert_eq!(outcome.success().reported("ocsp-staple"), ["yes"]),
                Some(words) => assert!(outcome.failure().contains(words), "{}", outcome.said),
            }
        }
    }
}

#[test]
fn a_server_without_a_staple_is_refused_if_one_is_required() {
    let server = Server::start(&[]);
    server.connect(&[], GET).success();
    let outcome = server.connect(&["--require-ocsp"], GET);
    assert!(outcome.failure().contains("OCSP response is required"), "{}", outcome.said);
}

#[test]
fn an_invalid_response_is_refused_at_the_start() {
    let folder = Folder::new();
    let leaf = super::support::Leaf::new("localhost", 4000);
    let options = leaf.write(&folder, "leaf");
    let pem = options[1].clone();
    let mut command = super::support::tercel();
    command.args(["serve", "--listen", "127.0.0.1:0", "--ocsp", &pem]).args(options);
    let outcome = run(&mut command, b"");
    assert!(outcome.failure().contains("not an OCSP response in DER"), "{}", outcome.said);
}

#[test]
fn openssl_verifies_the_staple_of_our_server() {
    let Some(files) = OcspFiles::new() else { return };
    let server = files.serve(&files.good());
    for version in ["-tls1_3", "-tls1_2"] {
        let mut command = Command::new("openssl");
        command.args(["s_client", "-connect", &server.address, "-servername", "localhost"]);
        command.args(["-CAfile", &files.ca, "-verify_return_error", "-status", version]);
        let text = run(&mut command, b"Q\n").success().text();
        assert!(text.contains("OCSP Response Status: successful"), "{text}");
        assert!(text.contains("Cert Status: good"), "{text}");
        assert!(text.contains("Serial Number: 4711"), "{text}");
    }
}

#[test]
fn our_client_verifies_the_staple_of_an_openssl_server() {
    let Some(files) = OcspFiles::new() else { return };
    for (entry, accepted) in [(GOOD, true), (REVOKED, false)] {
        let response = files.response(entry, "responder", &[]);
        let options = ["-status_file", &response, "-www"];
        let server = OpenSsl::serve(&files.cert, &files.key, &options).unwrap();
        for version in VERSIONS {
            let options = [&files.trust()[..], &[version]].concat();
            let outcome = connect(&server.address, &options, GET);
            if accepted {
                assert_eq!(outcome.success().reported("ocsp-staple"), ["yes"]);
            } else {
                assert!(outcome.failure().contains("revoked"), "{}", outcome.said);
            }
        }
    }
}
