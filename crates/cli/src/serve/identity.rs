//! The credentials of the server, and the trust anchors for its clients.

use std::net::IpAddr;
use std::path::PathBuf;

use anyhow::Result;
use tercel::Credential;

use super::authority::{self, Authority};
use super::options::Options;
use crate::credential_files;

/// The credentials of the server, and the certificate authority for its clients.
pub(crate) struct Identity {
    pub(crate) credentials: Vec<Credential>,
    /// The files of the embedded authority, if that issued the credentials.
    pub(crate) authority: Option<Authority>,
    pub(crate) client_ca: Option<PathBuf>,
}

impl Identity {
    pub(crate) fn new(options: &Options, address: IpAddr) -> Result<Self> {
        let pairs = options.cert.iter().zip(&options.key);
        let mut credentials = pairs
            .map(|(certificates, key)| credential_files::credential(certificates, key))
            .collect::<Result<Vec<_>>>()?;
        for (credential, file) in credentials.iter_mut().zip(&options.ocsp) {
            *credential = credential.with_ocsp_response(credential_files::ocsp_response(file)?);
        }
        if let Some(key) = &options.raw_key {
            credentials.push(credential_files::raw_public_key(key)?);
        }
        let mut authority = None;
        if credentials.is_empty() && !options.keys.is_set() {
            let (made, leaves) = authority::make(options.state_dir.as_deref(), address)?;
            authority = Some(made);
            credentials = leaves;
        }
        let own_ca = authority.as_ref().map(|authority| authority.ca.clone());
        Ok(Self { credentials, authority, client_ca: options.client_ca.clone().or(own_ca) })
    }
}
