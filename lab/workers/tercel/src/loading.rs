//! The objects that benchmark rows of the task "loading" load: private keys, certificates, roots.

use std::sync::Arc;

use lab_scenario::{Key, LoadedObject, Material, PrepareError, Result, Row, Scheme};
use tercel::crypto::{SignatureAlgorithm, SigningKey};
use tercel::ech::Offer;
use tercel::pki::load_key_pem;

use crate::{Tercel, client, credential, roots, server};

pub(crate) fn load(
    shared: &Tercel,
    row: &Row,
    material: &Material,
) -> std::result::Result<LoadedObject<Tercel>, PrepareError> {
    let (mut client_config, mut server_config) =
        (Arc::clone(&shared.client), Arc::clone(&shared.server));
    match material {
        Material::Key(pem) => {
            let key = SigningKey::from_der(load_key_pem(pem)?.secret_der())?;
            return Ok(LoadedObject::Key(Box::new(OwnKey(key, algorithm(row.chain.scheme())))));
        }
        Material::Server { chain, key } => {
            server_config = server(row, credential(chain, key)?, None)?;
        }
        Material::Roots(pem) => client_config = client(row, roots(pem)?, None)?,
    }
    let name = shared.name.clone();
    Ok(LoadedObject::Configured(Tercel {
        client: client_config,
        server: server_config,
        name,
        ech: Offer::None,
    }))
}

struct OwnKey(SigningKey, SignatureAlgorithm);

impl Key for OwnKey {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>> {
        Ok(self.0.sign(self.1, message)?)
    }
}

fn algorithm(scheme: Scheme) -> SignatureAlgorithm {
    match scheme {
        Scheme::RsaPssRsaeSha256 => SignatureAlgorithm::RsaPssSha256,
        Scheme::EcdsaSecp256r1Sha256 => SignatureAlgorithm::EcdsaSha256,
        Scheme::Ed25519 => SignatureAlgorithm::Ed25519,
    }
}
