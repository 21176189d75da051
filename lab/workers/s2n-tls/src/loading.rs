//! Objects of rows of loading. s2n-tls has no call that loads a key without its chain.

use std::ffi::CString;
use std::sync::Arc;

use lab_scenario::{LoadedObject, Material, PrepareError, Result, Row, untimed};

use crate::S2n;
use crate::configuration::Config;
use crate::policies;

pub(crate) fn load(
    shared: &S2n,
    row: &Row,
    material: &Material,
) -> std::result::Result<LoadedObject<S2n>, PrepareError> {
    let (policies, files) = (policies::of(row)?, &shared.files);
    let (mut client, mut server) = (Arc::clone(&shared.client), Arc::clone(&shared.server));
    let configured = match material {
        Material::Key(_) => {
            return Err(PrepareError::unsupported("keys cannot be loaded without their chain"));
        }
        Material::Server { chain, key } => text(chain).and_then(|chain| {
            server = Config::server((&chain, &*text(key)?), row, files, policies.server)?;
            Ok(())
        }),
        Material::Roots(pem) => text(pem).and_then(|pem| {
            client = Config::client(&pem, row, files, policies.client)?;
            Ok(())
        }),
    };
    configured.map_err(PrepareError::Failed)?;
    let (name, files) = (shared.name.clone(), files.clone());
    Ok(LoadedObject::Configured(S2n { client, server, name, files, ..*shared }))
}

/// PEM as a C string.
fn text(pem: &[u8]) -> Result<CString> {
    Ok(untimed(|| CString::new(pem))?)
}
