//! The roots of the platform and of Mozilla's programme, each set by one call of the builder.
//!
//! The environment selects the platform's roots, and a process has only one environment. So each
//! test about them runs in its own process.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::{env, fs};

use tercel::certificates::AcceptAnyPeer;
use tercel::error::{ConfigError, Error};
use tercel::pki::{NotAuthority, RefusalReason, Roots, RootsError};
use tercel::{ClientConfig, Policy};

use crate::fixtures::{NAME, authority, server};
use crate::pair::{Failure, Pair};
use crate::pem_credentials::section;

const CHILD: &str = "TERCEL_TEST_CHILD";

/// Runs the test of this name again in a child process, with this variable set to `value`. Returns
/// true in the child, where the test does its work.
fn in_child(test: &str, variable: &str, value: &Path) -> bool {
    if env::var_os(CHILD).is_some() {
        return true;
    }
    // If an emulator runs this program, the machine may not be able to start it.
    let program = env::current_exe().unwrap();
    let listed = Command::new(&program).arg("--list").output();
    if !listed.is_ok_and(|listed| listed.status.success()) {
        println!("not run: this machine cannot start {}", program.display());
        return false;
    }
    let mut command = Command::new(program);
    command.args(["--exact", &format!("public_roots::{test}"), "--nocapture"]);
    command.env_remove("SSL_CERT_FILE").env_remove("SSL_CERT_DIR");
    let output = command.env(CHILD, "1").env(variable, value).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("1 passed"), "{test} is not the name of a test: {text}");
    false
}

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("tercel-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn native() -> Result<Arc<ClientConfig>, ConfigError> {
    ClientConfig::builder().native_roots().build()
}

/// Connects to a server of the tests' authority.
fn connect(client: &Arc<ClientConfig>) -> Result<(), Failure> {
    Pair::new(client, &server().build().unwrap(), NAME).connect().map(|mut ends| ends.talk())
}

fn assert_untrusted(client: &Arc<ClientConfig>) {
    let unknown = Error::Refused(RefusalReason::UnknownIssuer);
    assert_eq!(connect(client).unwrap_err().client, Some(unknown));
}

/// The PEM of the tests' authority. Each process has a different authority.
fn trusted() -> String {
    section("CERTIFICATE", &authority().0)
}

fn untrusted() -> String {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::default();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    params.self_signed(&key).unwrap().pem()
}

/// A self-signed server certificate, as a package may leave it among the authorities.
fn no_authority() -> String {
    let key = rcgen::KeyPair::generate().unwrap();
    rcgen::CertificateParams::default().self_signed(&key).unwrap().pem()
}

#[test]
fn native_roots_are_those_of_ssl_cert_file() {
    let folder = Folder::new("cert-file");
    let file = folder.0.join("roots.pem");
    if !in_child("native_roots_are_those_of_ssl_cert_file", "SSL_CERT_FILE", &file) {
        return;
    }
    let file = PathBuf::from(env::var_os("SSL_CERT_FILE").unwrap());
    fs::write(&file, untrusted() + &trusted()).unwrap();
    connect(&native().unwrap()).unwrap();
    // Each call reads the file again, and trusts no other roots.
    fs::write(&file, untrusted()).unwrap();
    assert_untrusted(&native().unwrap());
    assert_eq!(Roots::native().unwrap().roots.len(), 1);
    // A certificate that is not an authority's is left out and listed. RFC 5280 4.2.1.9
    fs::write(&file, untrusted() + &no_authority()).unwrap();
    let found = Roots::native().unwrap();
    assert_eq!((found.roots.len(), &found.problems[..]), (1, &[][..]));
    let text = found.left_out().unwrap();
    assert!(text.starts_with("1 left out of the system's trusted certificates"), "{text}");
    assert!(text.ends_with("(no subject)") || text.contains("CN="), "{text}");
    let [other] = found.roots.not_anchors() else { panic!("{:?}", found.roots.not_anchors()) };
    assert_eq!((other.reason, other.is_pinned), (NotAuthority::EndEntity, false));
    fs::write(&file, no_authority()).unwrap();
    let alone = Roots::native().map(drop);
    assert_eq!(alone, Err(RootsError::NotAuthority(NotAuthority::EndEntity)));
}

#[test]
fn native_roots_are_those_of_ssl_cert_dir() {
    let folder = Folder::new("cert-dir");
    if !in_child("native_roots_are_those_of_ssl_cert_dir", "SSL_CERT_DIR", &folder.0) {
        return;
    }
    let folder = PathBuf::from(env::var_os("SSL_CERT_DIR").unwrap());
    fs::write(folder.join("one.pem"), untrusted()).unwrap();
    assert_untrusted(&native().unwrap());
    fs::write(folder.join("other.pem"), trusted()).unwrap();
    connect(&native().unwrap()).unwrap();
}

/// The setter does not fail; the error of `build` names the option.
#[test]
fn a_file_without_readable_roots_fails_the_build() {
    let folder = Folder::new("no-roots");
    let file = folder.0.join("roots.pem");
    if !in_child("a_file_without_readable_roots_fails_the_build", "SSL_CERT_FILE", &file) {
        return;
    }
    let file = PathBuf::from(env::var_os("SSL_CERT_FILE").unwrap());
    assert!(!file.exists());
    assert_eq!(native().map(drop), Err(ConfigError::NoNativeRoots));
    let nothing = Roots::native().map(drop).unwrap_err();
    assert!(matches!(nothing, RootsError::Unreadable(_)), "{nothing}");
    let start = format!("no trust anchors: {}: ", file.display());
    assert!(nothing.to_string().starts_with(&start), "{nothing}");
    let trusted_form = trusted().replace(" CERTIFICATE", " TRUSTED CERTIFICATE");
    for (content, reason) in [
        ("", "SSL_CERT_FILE names no file or folder with trust anchors"),
        ("no PEM", "SSL_CERT_FILE names no file or folder with trust anchors"),
        (&section("CERTIFICATE", b"no certificate"), "unusable trust anchor: "),
        (&trusted()[..200], "roots.pem:1: "),
        (&trusted_form, "roots.pem:1: "),
    ] {
        fs::write(&file, content).unwrap();
        assert_eq!(native().map(drop), Err(ConfigError::NoNativeRoots), "{content}");
        let nothing = Roots::native().map(drop).unwrap_err().to_string();
        assert!(nothing.contains(reason), "{content}: {nothing}");
    }
    let text = ConfigError::NoNativeRoots.to_string();
    assert_eq!(text, "native_roots: the platform's root certificates cannot be read");
    // The verifier that was set last is used, in either order.
    let any = || Policy::Here(Arc::new(AcceptAnyPeer) as Arc<_>);
    ClientConfig::builder().native_roots().verifier(any()).build().unwrap();
    let refused = ClientConfig::builder().verifier(any()).native_roots().build();
    assert_eq!(refused.map(drop), Err(ConfigError::NoNativeRoots));
    // One readable certificate is enough.
    fs::write(&file, section("CERTIFICATE", b"no certificate") + &trusted()).unwrap();
    connect(&native().unwrap()).unwrap();
    assert_eq!(Roots::native().unwrap().problems.len(), 1);
}

#[test]
fn webpki_roots_do_not_trust_a_private_authority() {
    assert!(Roots::webpki().len() > 50);
    assert_untrusted(&ClientConfig::builder().webpki_roots().build().unwrap());
}
