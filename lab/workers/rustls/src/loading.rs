//! Objects of rows of loading. Shared by the workers for two releases.

use std::sync::Arc;

use lab_scenario::{Key, LoadedObject, Material, PrepareError, Result, Row, Scheme};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;

use crate::configuration::{Configured, client_with_roots, server_with_chain};
use crate::{PrivateKey, Rustls, SignatureScheme};

pub(crate) fn load(
    shared: &Rustls,
    row: &Row,
    material: &Material,
) -> std::result::Result<LoadedObject<Rustls>, PrepareError> {
    let Rustls { configured, provider, files } = shared;
    let Configured { client, server, name } = configured;
    let (mut client, mut server) = (Arc::clone(client), Arc::clone(server));
    match material {
        Material::Key(pem) => {
            let key = PrivateKeyDer::from_pem_slice(pem)?;
            let key = provider.key_provider.load_private_key(key)?;
            return Ok(LoadedObject::Key(Box::new(OwnKey(key, scheme(row.chain.scheme())))));
        }
        Material::Server { chain, key } => {
            server = Arc::new(server_with_chain(chain, key, row, files, provider)?);
        }
        Material::Roots(pem) => {
            client = Arc::new(client_with_roots(pem, row, files, provider)?);
        }
    }
    let configured = Configured { client, server, name: name.clone() };
    let (provider, files) = (Arc::clone(provider), files.clone());
    Ok(LoadedObject::Configured(Rustls { configured, provider, files }))
}

struct OwnKey(PrivateKey, SignatureScheme);

impl Key for OwnKey {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>> {
        let signer =
            self.0.choose_scheme(&[self.1]).ok_or("the key does not support the scheme")?;
        Ok(signer.sign(message)?)
    }
}

fn scheme(scheme: Scheme) -> SignatureScheme {
    match scheme {
        Scheme::RsaPssRsaeSha256 => SignatureScheme::RSA_PSS_SHA256,
        Scheme::EcdsaSecp256r1Sha256 => SignatureScheme::ECDSA_NISTP256_SHA256,
        Scheme::Ed25519 => SignatureScheme::ED25519,
    }
}
