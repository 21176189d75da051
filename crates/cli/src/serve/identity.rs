//! The credentials of the server, and the trust anchors for its clients.

use std::net::IpAddr;

use anyhow::Result;
use tercel::Credential;
use tercel::fips::fips_module;
use tercel::pki::Roots;

use super::authority::{self, Authority};
use super::options::{ClientAuthMode, Options};
use crate::credential_files;
use crate::ech_files::{self, ServerKeys};
use crate::explain::UsageError;

/// The credentials of the server, and the trust anchors for its clients.
pub(crate) struct Identity {
    pub(crate) credentials: Vec<Credential>,
    /// The files of the embedded authority, if that issued the credentials.
    pub(crate) authority: Option<Authority>,
    /// The trust anchors for clients, if their certificates are requested.
    pub(crate) client_roots: Option<Roots>,
    /// The keys for Encrypted ClientHello.
    pub(crate) ech: Option<ServerKeys>,
}

impl Identity {
    pub(crate) fn new(options: &Options, address: IpAddr) -> Result<Self> {
        let ech = options.ech.as_deref().map(ech_files::server_keys).transpose()?;
        let pairs = options.cert.iter().zip(&options.key);
        let mut credentials = pairs
            .map(|(certificates, key)| credential_files::server_credential(certificates, key))
            .collect::<Result<Vec<_>>>()?;
        for (credential, file) in credentials.iter_mut().zip(&options.ocsp) {
            *credential = credential.with_ocsp_response(credential_files::ocsp_response(file)?);
        }
        if let Some(key) = &options.raw_key {
            credentials.push(credential_files::raw_public_key(key)?);
        }
        let mut authority = None;
        if credentials.is_empty() && !options.keys.is_set() {
            if options.tls.fips {
                let why = if fips_module().is_none() {
                    "--fips needs a program that was built with the feature fips"
                } else {
                    "--fips needs --cert and --key: without them, keys are made outside of the \
                     FIPS module"
                };
                return Err(UsageError::new(why).into());
            }
            let names = ech.as_ref().map_or(&[][..], |ech| &ech.public_names);
            let (made, leaves) = authority::make(options.state_dir.as_deref(), address, names)?;
            authority = Some(made);
            credentials = leaves;
        }
        let own_ca = authority.as_ref().map(|authority| &authority.ca);
        let client_ca = options.client_ca.as_ref().or(own_ca);
        let client_ca = client_ca.filter(|_| options.client_auth != ClientAuthMode::None);
        let client_roots = client_ca.map(|file| credential_files::roots(file)).transpose()?;
        if let Some(ech) = &ech {
            ech.warn_without_certificate(&credentials);
        }
        Ok(Self { credentials, authority, client_roots, ech })
    }
}
