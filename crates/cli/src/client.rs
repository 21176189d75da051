//! What a client trusts, shows and offers, for every subcommand that is one.
//!
//! Must not know: how many connections are made, or sockets. Next: [`crate::options`] for what servers have
//! too, [`crate::connect`], [`crate::load`].

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use clap::Args;
use tercel::crypto::{Hash, HashAlgorithm};
use tercel::pki::{ChainVerifier, OcspPolicy, Roots};
use tercel::pki_types::ServerName;
use tercel::{AcceptAnyPeer, ChainPolicy, ClientConfig, ClientConfigBuilder, Policy};

use crate::options::TlsOptions;
use crate::psk::PskOptions;
use crate::{explain, material, usage_error};

/// A client's side of what is agreed.
#[derive(Args, Debug)]
pub(crate) struct ClientOptions {
    /// Authorities in PEM to trust instead of the system's
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub(crate) ca: Option<PathBuf>,

    /// Trust whoever answers
    #[arg(long)]
    pub(crate) insecure: bool,

    /// Refuse a server that does not staple a good OCSP response to its certificate
    #[arg(long, conflicts_with = "insecure")]
    pub(crate) require_ocsp: bool,

    /// The name to verify and to send, instead of HOST
    #[arg(long, value_name = "NAME", value_parser = server_name)]
    pub(crate) name: Option<ServerName<'static>>,

    /// A certificate chain in PEM to show if the server asks for one
    #[arg(long, value_name = "FILE", requires = "key")]
    pub(crate) cert: Option<PathBuf>,

    /// The private key in PEM of --cert
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub(crate) key: Option<PathBuf>,

    /// Public keys in PEM that the server may show instead of a certificate; it need not have a name
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub(crate) server_keys: Option<PathBuf>,

    /// A private key in PEM whose public key is shown instead of a certificate, if the server asks
    #[arg(long, value_name = "FILE", conflicts_with = "cert")]
    pub(crate) raw_key: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) tls: TlsOptions,

    #[command(flatten)]
    pub(crate) keys: PskOptions,
}

impl ClientOptions {
    /// The name the server has to have: the one given, or the host it is reached by.
    pub(crate) fn server_name(&self, host: &str) -> ServerName<'static> {
        let name = self.name.clone().map_or_else(|| server_name(host), Ok);
        name.unwrap_or_else(|why| usage_error(&format!("{why}; give one with --name")))
    }

    /// Says so if nobody is verified.
    pub(crate) fn warn(&self) {
        if self.insecure {
            explain::say(format_args!("warning: the server is not authenticated (--insecure)"));
        }
    }

    /// A configuration that lacks only what is the subcommand's own.
    pub(crate) fn builder(&self) -> Result<ClientConfigBuilder> {
        let mut builder = crate::options::apply!(&self.tls, ClientConfig::builder())?;
        if let Some(protocols) = &self.tls.alpn {
            builder = builder.alpn(&protocols.0);
        }
        if let (Some(certificates), Some(key)) = (&self.cert, &self.key) {
            builder = builder.credential(material::credential(certificates, key)?);
        }
        builder = builder.pre_shared_keys(self.keys.keys()?);
        if let Some(key) = &self.raw_key {
            builder = builder.credential(material::raw_public_key(key)?);
        }
        self.trust(builder)
    }

    fn trust(&self, builder: ClientConfigBuilder) -> Result<ClientConfigBuilder> {
        if self.insecure {
            return Ok(builder.verifier(Policy::Here(Arc::new(AcceptAnyPeer))));
        }
        let builder = match &self.server_keys {
            Some(file) => builder.trusted_raw_keys(material::public_keys(file)?),
            None => builder,
        };
        let roots = match (&self.ca, &self.server_keys) {
            (Some(file), _) => material::roots(file)?,
            // Keys that were named are all that is trusted.
            (None, Some(_)) => return Ok(builder),
            // Who has a key needs no authority.
            (None, None) if self.keys.any() => return Ok(builder),
            (None, None) => Roots::native()?.roots,
        };
        if !self.require_ocsp {
            return Ok(builder.roots(roots));
        }
        let verifier =
            ChainVerifier::builder(Arc::new(roots)).ocsp_policy(OcspPolicy::Require).build();
        Ok(builder.verifier(Policy::Here(Arc::new(ChainPolicy::with_verifier(verifier?)))))
    }

    /// Tells command lines apart that trust or show different things, so that none resumes what another
    /// has agreed on.
    pub(crate) fn label(&self) -> Result<Vec<u8>> {
        let mut hash = Hash::new(HashAlgorithm::Sha256);
        hash.update(&[self.insecure.into(), self.require_ocsp.into()]);
        for file in [&self.ca, &self.server_keys, &self.cert, &self.raw_key] {
            let content = file.as_deref().map(material::read).transpose()?;
            let content = content.as_deref().unwrap_or_default();
            hash.update(&content.len().to_be_bytes());
            hash.update(content);
        }
        Ok(hash.finish().to_vec())
    }
}

fn server_name(text: &str) -> Result<ServerName<'static>, String> {
    // A final dot is for the resolver; certificates and server_name have none. RFC 6066 3
    let name = text.strip_suffix('.').unwrap_or(text);
    ServerName::try_from(name.to_owned())
        .map_err(|_| format!("`{text}` is neither a DNS name nor an IP address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_dns_names_or_addresses() {
        assert_eq!(server_name("a.example.").unwrap().to_str(), "a.example");
        assert!(matches!(server_name("::1"), Ok(ServerName::IpAddress(_))));
        assert!(matches!(server_name("127.0.0.1"), Ok(ServerName::IpAddress(_))));
        assert!(server_name("a b").is_err() && server_name("").is_err());
    }
}
