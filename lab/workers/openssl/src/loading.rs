//! What rows of loading load: contexts as for any other row, and private keys by themselves, which sign by
//! EVP_DigestSign(3).
//!
//! Shared with the worker for BoringSSL, by `crate::library`. Must not know: TLS. Next: `configuration.rs`.

use lab_scenario::{Files, Key, Loaded, Material, Result, Row, Scheme, Unable};

use crate::configuration::{client_that_trusts, server_that_shows};
use crate::library::hash::MessageDigest;
use crate::library::pkey::{PKey, Private};
use crate::library::rsa::Padding;
use crate::library::sign::{RsaPssSaltlen, Signer};
use crate::library::ssl::SslContext;

/// A key, or what `configured` makes of both contexts, of which one is new and the other the client's or the server's
/// that there is.
pub(crate) fn load<L>(
    row: &Row,
    material: &Material,
    files: &Files,
    (client, server): (&SslContext, &SslContext),
    configured: impl FnOnce(SslContext, SslContext) -> L,
) -> std::result::Result<Loaded<L>, Unable> {
    let (client, server) = match material {
        Material::Key(pem) => return key(pem, row.chain.scheme()).map(Loaded::Key),
        Material::Server { chain, key } => {
            (client.clone(), server_that_shows(chain, key, row, files)?)
        }
        Material::Roots(pem) => (client_that_trusts(pem, row, files)?, server.clone()),
    };
    Ok(Loaded::Configured(configured(client, server)))
}

/// A key from PEM, ready to sign by this scheme.
fn key(pem: &[u8], scheme: Scheme) -> std::result::Result<Box<dyn Key>, Unable> {
    let key = PKey::private_key_from_pem(pem)?;
    Ok(Box::new(OwnKey { key, scheme }))
}

struct OwnKey {
    key: PKey<Private>,
    scheme: Scheme,
}

impl Key for OwnKey {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>> {
        let mut signer = match self.scheme {
            Scheme::Ed25519 => Signer::new_without_digest(&self.key)?,
            _ => Signer::new(MessageDigest::sha256(), &self.key)?,
        };
        if self.scheme == Scheme::RsaPssRsaeSha256 {
            signer.set_rsa_padding(Padding::PKCS1_PSS)?;
            signer.set_rsa_pss_saltlen(RsaPssSaltlen::DIGEST_LENGTH)?;
        }
        Ok(signer.sign_oneshot_to_vec(message)?)
    }
}
