//! What `--ech` offers to one server, and where that server is. RFC 9848

use anyhow::Result;
#[cfg(feature = "dns")]
use tercel::ClientConfig;
use tercel::ech::Offer;
#[cfg(feature = "dns")]
use tercel::pki_types::ServerName;
use tercel::wire::ProtocolVersion;

use super::Options;
#[cfg(feature = "dns")]
use super::failure::{Failure, Reason};
#[cfg(feature = "dns")]
use crate::client::server_name;
#[cfg(feature = "dns")]
use crate::dns::{Choice, Lookup, owner_of};
use crate::ech_offer::{EchSource, configs};
#[cfg(feature = "dns")]
use crate::explain;
use crate::explain::UsageError;
use crate::target::Target;

/// What is offered, and to which server.
#[derive(Debug)]
pub(super) struct EchPlan {
    pub(super) offer: Offer,
    /// The server that the record names in place of the target. RFC 9460 3
    pub(super) endpoint: Option<Target>,
}

/// Reads or looks up the configurations.
pub(super) fn plan(options: &Options, target: &Target) -> Result<EchPlan> {
    let encrypts = matches!(options.ech, EchSource::Named(_) | EchSource::Auto);
    if encrypts && !options.client.tls.versions().contains(&ProtocolVersion::TLS1_3) {
        return Err(UsageError::new("--ech needs TLS 1.3: add --tls1.3, or omit --tls1.2").into());
    }
    let offer = match &options.ech {
        EchSource::Grease => Offer::Grease,
        EchSource::Off => Offer::None,
        EchSource::Named(argument) => configs(argument)?,
        EchSource::Auto => return look_up(options, target),
    };
    Ok(EchPlan { offer, endpoint: None })
}

/// Refuses what cannot be offered over QUIC.
#[cfg(feature = "http3")]
pub(super) fn check_http3(options: &Options) -> Result<(), UsageError> {
    match options.ech {
        EchSource::Grease | EchSource::Off => Ok(()),
        _ => Err(UsageError::new("--http3 has only --ech grease and --ech off")),
    }
}

#[cfg(not(feature = "dns"))]
fn look_up(_: &Options, _: &Target) -> Result<EchPlan> {
    let message = "--ech auto: tercel was built without lookups in DNS (feature dns)";
    Err(UsageError::new(message).into())
}

/// Takes the configurations from the HTTPS record of the server. If it has none, the connection is
/// like any other; if the lookup fails, there is none, because an attacker could have caused that.
/// RFC 9460 3.1
#[cfg(feature = "dns")]
fn look_up(options: &Options, target: &Target) -> Result<EchPlan> {
    if !matches!(server_name(&target.host), Ok(ServerName::DnsName(_))) {
        return Err(UsageError::new("--ech auto needs a host name, not an address").into());
    }
    // The server for DNS gets neither the certificate of this client nor its sessions.
    let config = options.client.add_trust(ClientConfig::builder().alpn(&["h2", "http/1.1"]))?;
    let config = config.ech_grease(true).build()?;
    let lookup = Lookup { server: options.dns.clone(), config, timeout: options.timeout };
    let choice = lookup.choose(target);
    match choice.map_err(|error| Failure::new(Reason::Connect, &format!("{error:#}")))? {
        Choice::Configs { configs, endpoint } => {
            Ok(EchPlan { offer: Offer::Configs(configs), endpoint: Some(endpoint) })
        }
        Choice::Alias(_) | Choice::None => {
            if !options.quiet {
                let owner = owner_of(target);
                explain::print_line(format_args!("no ECH configuration in DNS for {owner}"));
            }
            Ok(EchPlan { offer: Offer::Grease, endpoint: None })
        }
    }
}
