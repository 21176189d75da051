//! Options of the clients `connect` and `load`: trust, credentials, server name.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use clap::Args;
use tercel::crypto::HashAlgorithm;
use tercel::pki::{ChainVerifier, OcspPolicy};
use tercel::{
    ClientConfig, Policy, ServerName,
    certificates::{AcceptAnyPeer, ChainPolicy},
    client::ClientConfigBuilder,
};
use tercel_crypto::Hash;

use crate::explain::UsageError;
use crate::options::TlsOptions;
use crate::psk::PskOptions;
use crate::{credential_files, explain, target};

/// Options of a TLS client.
#[derive(Args, Debug)]
pub(crate) struct ClientOptions {
    /// Trust the certificate authorities in this PEM file instead of those of the system
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub(crate) ca: Option<PathBuf>,

    /// Do not verify the server
    #[arg(long)]
    pub(crate) insecure: bool,

    /// Require a stapled OCSP response with the status "good" for the server's certificate
    #[arg(long, conflicts_with = "insecure")]
    pub(crate) require_ocsp: bool,

    /// Server name to send and to verify; default: HOST
    #[arg(
        long,
        visible_alias = "server-name",
        value_name = "NAME",
        value_parser = server_name
    )]
    pub(crate) name: Option<ServerName<'static>>,

    /// Client certificate chain in PEM, leaf first
    #[arg(long, value_name = "FILE", requires = "key")]
    pub(crate) cert: Option<PathBuf>,

    /// Private key of --cert, in PEM
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub(crate) key: Option<PathBuf>,

    /// Trust a server that presents one of these raw public keys (PEM), without verifying its name
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub(crate) server_keys: Option<PathBuf>,

    /// Authenticate with the raw public key of this private key (PEM) instead of a certificate
    #[arg(long, value_name = "FILE", conflicts_with = "cert")]
    pub(crate) raw_key: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) tls: TlsOptions,

    #[command(flatten)]
    pub(crate) keys: PskOptions,
}

impl ClientOptions {
    /// The name for which the server is verified: --name, or the host.
    pub(crate) fn server_name(&self, host: &str) -> Result<ServerName<'static>, UsageError> {
        let name = self.name.clone().map_or_else(|| server_name(host), Ok);
        name.map_err(|why| UsageError::new(format!("{why}; set one with --name")))
    }

    /// Warns if the server is not verified.
    pub(crate) fn warn(&self) {
        if self.insecure {
            explain::warn(format_args!("server not verified (--insecure)"));
        }
    }

    /// A builder with all options that subcommands share.
    pub(crate) fn builder(&self) -> Result<ClientConfigBuilder> {
        let mut builder = crate::options::apply!(&self.tls, ClientConfig::builder());
        if let Some(protocols) = &self.tls.alpn {
            builder = builder.alpn(&protocols.0);
        }
        if let (Some(certificates), Some(key)) = (&self.cert, &self.key) {
            builder = builder.credential(credential_files::credential(certificates, key)?);
        }
        builder = builder.pre_shared_keys(self.keys.keys()?);
        if let Some(key) = &self.raw_key {
            builder = builder.credential(credential_files::raw_public_key(key)?);
        }
        self.add_trust(builder)
    }

    /// Adds what is trusted.
    pub(crate) fn add_trust(&self, builder: ClientConfigBuilder) -> Result<ClientConfigBuilder> {
        if self.insecure {
            return Ok(builder.verifier(Policy::Here(Arc::new(AcceptAnyPeer))));
        }
        let builder = match &self.server_keys {
            Some(file) => builder.trusted_raw_keys(credential_files::public_keys(file)?),
            None => builder,
        };
        let roots = match (&self.ca, &self.server_keys) {
            (Some(file), _) => credential_files::roots(file)?,
            // With --server-keys alone, no certificate authority is trusted.
            (None, Some(_)) => return Ok(builder),
            // With pre-shared keys no certificate authority is needed.
            (None, None) if self.keys.is_set() => return Ok(builder),
            (None, None) => credential_files::system_roots()?,
        };
        if !self.require_ocsp {
            return Ok(builder.roots(roots));
        }
        let verifier =
            ChainVerifier::builder(Arc::new(roots)).ocsp_policy(OcspPolicy::Require).build();
        Ok(builder.verifier(Policy::Here(Arc::new(ChainPolicy::with_verifier(verifier?)))))
    }

    /// A digest of the trust and credential options, so that a session is resumed only under the
    /// options with which it was made.
    pub(crate) fn session_context(&self) -> Result<Vec<u8>> {
        let mut hash = Hash::new(HashAlgorithm::Sha256);
        hash.update(&[self.insecure.into(), self.require_ocsp.into()]);
        for file in [&self.ca, &self.server_keys, &self.cert, &self.raw_key] {
            let content = file.as_deref().map(credential_files::read).transpose()?;
            let content = content.as_deref().unwrap_or_default();
            hash.update(&content.len().to_be_bytes());
            hash.update(content);
        }
        Ok(hash.finish().to_vec())
    }
}

/// A DNS name or an IP address in an argument. The zone of an address is dropped: it is known only
/// to this machine. RFC 4007 11.2
pub(crate) fn server_name(text: &str) -> Result<ServerName<'static>, String> {
    let name = target::ascii_host(text)?;
    ServerName::try_from(target::without_zone(&name))
        .map(|name| name.to_owned())
        .map_err(|_| format!("`{text}` is neither a DNS name nor an IP address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = include_str!("../../wire/tests/material/host_names.txt");

    /// The table is shared by all places that take host names. Only the program converts names in
    /// other scripts.
    #[test]
    fn each_name_of_the_table() {
        for row in TABLE.lines().filter(|line| !line.starts_with('#')) {
            let (text, expected) = row.split_once('\t').unwrap();
            let expected = match text.is_ascii() {
                true => expected,
                false => "xn--bcher-kva.example",
            };
            let name = server_name(text).map(|name| name.to_str().into_owned());
            assert_eq!(name.unwrap_or_default(), expected, "{text}");
        }
    }

    #[test]
    fn names_are_dns_names_or_addresses() {
        assert_eq!(server_name("a.example.").unwrap().to_str(), "a.example");
        assert!(matches!(server_name("::1"), Ok(ServerName::IpAddress(_))));
        assert!(matches!(server_name("127.0.0.1"), Ok(ServerName::IpAddress(_))));
        assert_eq!(server_name("fe80::1%lo").unwrap().to_str(), "fe80::1");
        assert_eq!(server_name("B\u{fc}cher.example").unwrap().to_str(), "xn--bcher-kva.example");
        for other in ["a b", "", "a%lo", "127.0.0.1%lo", "xn--\u{fc}.example"] {
            assert!(server_name(other).is_err(), "{other}");
        }
    }
}
