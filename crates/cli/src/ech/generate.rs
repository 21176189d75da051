//! `tercel ech generate`: a new key, and the record that publishes its configuration.

use std::path::PathBuf;

use anyhow::{Result, anyhow};
use clap::Args;
use tercel::ech::{Key, KeyError, ServiceBinding};

use crate::credential_files::{Overwrite, write_readable_by_group};
use crate::explain::UsageError;
use crate::options::{List, protocols};
use crate::output;

/// Make a key for servers, and print the DNS record that publishes its configuration
///
/// The file has the private key and the configuration (RFC 9934). Its owner can read and write it,
/// and its group can read it. `tercel serve` and `tercel proxy` read it, and servers that use
/// OpenSSL 4.0, such as nginx and HAProxy.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Name that observers see instead of the server's; the server needs a certificate for it
    #[arg(long, value_name = "NAME")]
    public_name: String,

    /// Length of the longest server name that the key will hide; clients pad shorter names to it,
    /// so that the length of a ClientHello does not reveal the name; 0 if it is unknown
    #[arg(long, value_name = "N", default_value = "0")]
    max_name_length: u8,

    /// File to write, such as 2026-12.ech: of a directory, servers read the files *.ech
    #[arg(long, value_name = "FILE")]
    out: PathBuf,

    /// Replace the file if it exists
    #[arg(long)]
    force: bool,

    /// Server name for the printed record, or _PORT._https.NAME if the port is not 443
    #[arg(long, value_name = "NAME", default_value = "example.com")]
    owner: String,

    /// Time to live for the printed record
    #[arg(long, value_name = "SECONDS", default_value = "300")]
    ttl: u32,

    /// Application protocols (ALPN) for the printed record, separated by `:` or `,`
    #[arg(long, value_name = "NAMES", default_value = "h2,http/1.1", value_parser = protocols)]
    alpn: List<String>,
}

/// Writes the key and prints the record.
pub(super) fn run(options: &Options) -> Result<()> {
    let key = Key::generate(&options.public_name, options.max_name_length);
    let key = key.map_err(|error| match error {
        // The name is the only part that can be wrong.
        KeyError::UnsupportedConfig | KeyError::BadConfig(_) => UsageError::new(format!(
            "--public-name: `{}` cannot be a public name: it must be a DNS name whose labels have \
             only letters, digits and hyphens, and whose last label is not a number",
            options.public_name.escape_default()
        ))
        .into(),
        error => anyhow!(error),
    })?;
    let owner = owner(&options.owner)?;
    let alpn: Vec<_> = options.alpn.0.iter().map(String::as_str).collect();
    let mut record = ServiceBinding::service(&alpn, &key.config())?;
    if let Some(host) = host_of(&owner) {
        record = record.with_target(host)?;
    }
    let overwrite = if options.force { Overwrite::Replace } else { Overwrite::Refuse };
    write_readable_by_group(&options.out, key.to_pem()?.as_bytes(), overwrite)?;
    output::print(format!("{owner} {} IN HTTPS {record}\n", options.ttl))
}

/// The owner as an absolute name.
fn owner(name: &str) -> Result<String, UsageError> {
    // The target of an alias has the same syntax.
    let alias = format!("0 {name}").parse::<ServiceBinding>();
    match alias {
        Ok(alias) if !name.contains(char::is_whitespace) => Ok(alias.target()),
        _ => {
            let name = name.escape_default();
            Err(UsageError::new(format!(
                "--owner: `{name}` is not a domain name, such as a.example or \
                 _8443._https.a.example"
            )))
        }
    }
}

/// The host, if the owner has a port in its name. RFC 9460 9.1
fn host_of(owner: &str) -> Option<&str> {
    let (port, rest) = owner.strip_prefix('_')?.split_once('.')?;
    port.parse::<u16>().ok()?;
    rest.strip_prefix("_https.")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9460 9.1
    #[test]
    fn owners_become_absolute() {
        assert_eq!(owner("a.example").unwrap(), "a.example.");
        assert_eq!(owner("_8443._https.a.example.").unwrap(), "_8443._https.a.example.");
        assert_eq!(host_of("_8443._https.a.example."), Some("a.example."));
        assert_eq!(host_of("_x._https.a.example."), None);
        for wrong in ["", "a..b", "a b", "a ; b", "a\nb"] {
            assert!(owner(wrong).is_err(), "{wrong}");
        }
    }
}
