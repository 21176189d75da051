//! The common material of all runs: certificates from files, and a fixed time.

use std::sync::Arc;
use std::time::Duration;

use pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, UnixTime};
use tercel::crypto::SigningKey;
use tercel::{Credential, clock::Clock};
use tercel_pki::Roots;

const ROOT: &[u8] = include_bytes!("../material/root.der");
const MIDDLE: &[u8] = include_bytes!("../material/middle.der");
const SERVER: &[u8] = include_bytes!("../material/server.der");
const SERVER_KEY: &[u8] = include_bytes!("../material/server.key.der");
const CLIENT: &[u8] = include_bytes!("../material/client.der");
const CLIENT_KEY: &[u8] = include_bytes!("../material/client.key.der");

const RSA_SERVER: &[u8] = include_bytes!("../material/rsa-server.der");
const RSA_SERVER_KEY: &[u8] = include_bytes!("../material/rsa-server.key.der");
const P256_CLIENT: &[u8] = include_bytes!("../material/p256-client.der");
const P256_CLIENT_KEY: &[u8] = include_bytes!("../material/p256-client.key.der");

/// The roots, with the only certificate authority.
pub(crate) fn roots() -> Roots {
    let mut roots = Roots::new();
    roots.add_der(&CertificateDer::from(ROOT)).expect("the root is an authority");
    roots
}

/// The server's chain and key.
pub(crate) fn server() -> Credential {
    Credential::new(chain(SERVER), &key(SERVER_KEY))
        .expect("the server's files fit together")
        .ocsp_response(vec![0x30, 0])
        .signed_certificate_timestamps(vec![0, 3, 0, 1, 7])
        .expect("a list of one")
}

/// The root, the server's chain and the server's key, as PEM.
pub(crate) fn pem() -> [String; 3] {
    let chain = format!("{}{}", to_pem("CERTIFICATE", SERVER), to_pem("CERTIFICATE", MIDDLE));
    [to_pem("CERTIFICATE", ROOT), chain, to_pem("PRIVATE KEY", SERVER_KEY)]
}

fn to_pem(label: &str, der: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = format!("-----BEGIN {label}-----\n");
    for line in der.chunks(48) {
        for part in line.chunks(3) {
            let bits = part.iter().fold(0, |bits, byte| bits << 8 | u32::from(*byte));
            let bits = bits << (8 * (3 - part.len()));
            for at in 0..4 {
                let letter = usize::try_from(bits >> (18 - 6 * at) & 0x3f).unwrap_or_default();
                text.push(if at <= part.len() { char::from(LETTERS[letter]) } else { '=' });
            }
        }
        text.push('\n');
    }
    text + &format!("-----END {label}-----\n")
}

/// A server's credential with randomized signatures, for recording only.
pub(crate) fn rsa_server() -> Credential {
    Credential::new(chain(RSA_SERVER), &key(RSA_SERVER_KEY)).expect("the files fit together")
}

/// A client's credential with randomized signatures, for recording only.
pub(crate) fn p256_client() -> Credential {
    Credential::new(chain(P256_CLIENT), &key(P256_CLIENT_KEY)).expect("the files fit together")
}

/// The client's chain and key.
pub(crate) fn client() -> Credential {
    Credential::new(chain(CLIENT), &key(CLIENT_KEY)).expect("the client's files fit together")
}

/// The server's chain. The application holds its key.
pub(crate) fn remote_server() -> Credential {
    Credential::remote(chain(SERVER)).expect("the server's chain can be read")
}

/// The client's chain. The application holds its key.
pub(crate) fn remote_client() -> Credential {
    Credential::remote(chain(CLIENT)).expect("the client's chain can be read")
}

/// The key of [`remote_server`].
pub(crate) fn server_key() -> SigningKey {
    SigningKey::from_der(SERVER_KEY).expect("the server's key can be read")
}

/// The key of [`remote_client`].
pub(crate) fn client_key() -> SigningKey {
    SigningKey::from_der(CLIENT_KEY).expect("the client's key can be read")
}

/// The fixed time of all runs: 28 May 2026.
pub(crate) fn now() -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(1_780_000_000))
}

/// A clock that returns [`now`].
pub(crate) fn clock() -> Arc<dyn Clock> {
    Arc::new(Stopped)
}

struct Stopped;

impl Clock for Stopped {
    fn now(&self) -> UnixTime {
        now()
    }
}

fn chain(leaf: &'static [u8]) -> Vec<CertificateDer<'static>> {
    vec![CertificateDer::from(leaf), CertificateDer::from(MIDDLE)]
}

fn key(der: &'static [u8]) -> PrivateKeyDer<'static> {
    PrivatePkcs8KeyDer::from(der).into()
}
