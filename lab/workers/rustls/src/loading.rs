//! What rows of loading load; shared by the workers of two releases.
//!
//! Must not know: how it is timed, and what a release calls its types. Next: `configuration.rs`.

use std::sync::Arc;

use lab_scenario::{Key, Loaded, Material, Result, Row, Scheme, Unable};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;

use crate::configuration::{Configured, client_that_trusts, server_that_shows};
use crate::{PrivateKey, Rustls, SignatureScheme};

pub(crate) fn load(
    shared: &Rustls,
    row: &Row,
    material: &Material,
) -> std::result::Result<Loaded<Rustls>, Unable> {
    let Rustls { configured, provider, files } = shared;
    let Configured { client, server, name } = configured;
    let (mut client, mut server) = (Arc::clone(client), Arc::clone(server));
    match material {
        Material::Key(pem) => {
            let key = PrivateKeyDer::from_pem_slice(pem)?;
            let key = provider.key_provider.load_private_key(key)?;
            return Ok(Loaded::Key(Box::new(OwnKey(key, scheme(row.chain.scheme())))));
        }
        Material::Server { chain, key } => {
            server = Arc::new(server_that_shows(chain, key, row, files, provider)?);
        }
        Material::Roots(pem) => {
            client = Arc::new(client_that_trusts(pem, row, files, provider)?);
        }
    }
    let configured = Configured { client, server, name: name.clone() };
    let (provider, files) = (Arc::clone(provider), files.clone());
    Ok(Loaded::Configured(Rustls { configured, provider, files }))
}

struct OwnKey(PrivateKey, SignatureScheme);

impl Key for OwnKey {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>> {
        let signer = self.0.choose_scheme(&[self.1]).ok_or("not a scheme of this key")?;
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
