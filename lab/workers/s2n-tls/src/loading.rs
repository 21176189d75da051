//! What rows of loading load. A key by itself has no call: s2n-tls takes it together with its chain.
//!
//! Must not know: how it is timed. Next: `configuration.rs`.

use std::ffi::CString;
use std::sync::Arc;

use lab_scenario::{Loaded, Material, Result, Row, Unable, untimed};

use crate::S2n;
use crate::configuration::Config;
use crate::policies;

pub(crate) fn load(
    shared: &S2n,
    row: &Row,
    material: &Material,
) -> std::result::Result<Loaded<S2n>, Unable> {
    let (policies, files) = (policies::of(row)?, &shared.files);
    let (mut client, mut server) = (Arc::clone(&shared.client), Arc::clone(&shared.server));
    let configured = match material {
        Material::Key(_) => return Err(Unable::cannot("it loads no key without its chain")),
        Material::Server { chain, key } => text(chain).and_then(|chain| {
            server = Config::server((&chain, &*text(key)?), row, files, policies.server)?;
            Ok(())
        }),
        Material::Roots(pem) => text(pem).and_then(|pem| {
            client = Config::client(&pem, row, files, policies.client)?;
            Ok(())
        }),
    };
    configured.map_err(Unable::Failed)?;
    let (name, files) = (shared.name.clone(), files.clone());
    Ok(Loaded::Configured(S2n { client, server, name, files, ..*shared }))
}

/// PEM as an application in C has it when it has read its file.
fn text(pem: &[u8]) -> Result<CString> {
    Ok(untimed(|| CString::new(pem))?)
}
