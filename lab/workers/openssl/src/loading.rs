//! Objects of rows of loading: contexts, and private keys that sign with EVP_DigestSign(3). Shared
//! with the worker for BoringSSL through `crate::library`.

use lab_scenario::{Files, Key, LoadedObject, Material, PrepareError, Result, Row, Scheme};

use crate::configuration::{client_with_roots, server_with_chain};
use crate::library::hash::MessageDigest;
use crate::library::pkey::{PKey, Private};
use crate::library::rsa::Padding;
use crate::library::sign::{RsaPssSaltlen, Signer};
use crate::library::ssl::SslContext;

/// Loads a key, or a new context of one side. `configured` combines it with the existing context of
/// the other side.
pub(crate) fn load<L>(
    row: &Row,
    material: &Material,
    files: &Files,
    (client, server): (&SslContext, &SslContext),
    configured: impl FnOnce(SslContext, SslContext) -> L,
) -> std::result::Result<LoadedObject<L>, PrepareError> {
    let (client, server) = match material {
        Material::Key(pem) => return key(pem, row.chain.scheme()).map(LoadedObject::Key),
        Material::Server { chain, key } => {
            (client.clone(), server_with_chain(chain, key, row, files)?)
        }
        Material::Roots(pem) => (client_with_roots(pem, row, files)?, server.clone()),
    };
    Ok(LoadedObject::Configured(configured(client, server)))
}

/// A key from PEM for signatures with this scheme.
fn key(pem: &[u8], scheme: Scheme) -> std::result::Result<Box<dyn Key>, PrepareError> {
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
