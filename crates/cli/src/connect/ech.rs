//! What `--ech` offers to one server, and where that server is. RFC 9848

use anyhow::Result;
use tercel::ech::{ConfigList, Offer};
use tercel::wire::ProtocolVersion;
#[cfg(feature = "dns")]
use tercel::{ClientConfig, ServerName};

use super::Options;
#[cfg(feature = "dns")]
use super::failure::{Failure, Reason};
#[cfg(feature = "dns")]
use crate::client::server_name;
#[cfg(feature = "dns")]
use crate::dns::{Choice, Lookup, owner_of};
#[cfg(feature = "dns")]
use crate::ech_offer::WITHOUT_ENCRYPTION;
use crate::ech_offer::{EchSource, configs};
use crate::explain::{self, UsageError};
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
    if encrypts && options.client.tls.fips {
        let why = "--fips excludes --ech, whose cryptography (HPKE) is outside of the FIPS module: omit one \
                   of them";
        return Err(UsageError::new(why).into());
    }
    let offer = match &options.ech {
        EchSource::Grease if options.client.tls.fips => Offer::None,
        EchSource::Grease => Offer::Grease,
        EchSource::Off => Offer::None,
        EchSource::Named(argument) => configs(argument)?,
        EchSource::Auto => return look_up(options, target),
    };
    Ok(EchPlan { offer, endpoint: None })
}

/// The second offer after a server has rejected the first: with the configurations that it sent, or
/// without any, as it says. RFC 9849 6.1.6
pub(super) fn second_offer(options: &Options, first: &Offer, configs: &ConfigList) -> Offer {
    let public_name = match first {
        Offer::Configs(configs) => configs.public_name().unwrap_or_default(),
        _ => "",
    };
    let (next, how) = match configs.usable() {
        true => (Offer::Configs(configs.clone()), "with the configurations that it sent"),
        false => {
            let how = "without it, because it sent no usable configuration; the server name is \
                       not encrypted";
            (Offer::None, how)
        }
    };
    if !options.quiet {
        explain::print_line(format_args!(
            "{public_name} rejected Encrypted ClientHello; connecting again {how}"
        ));
    }
    next
}

#[cfg(not(feature = "dns"))]
fn look_up(_: &Options, _: &Target) -> Result<EchPlan> {
    let message = "--ech auto: tercel was built without lookups in DNS: build it with the feature \
                   dns, or pass the record that `dig +short NAME HTTPS` prints";
    Err(UsageError::new(message).into())
}

/// Takes the configurations from the HTTPS record of the server. If it has none, the connection is
/// like any other. If none is usable, it is an error, and if the lookup fails, too, because an
/// attacker could have caused that. RFC 9460 3.1
#[cfg(feature = "dns")]
fn look_up(options: &Options, target: &Target) -> Result<EchPlan> {
    if !matches!(server_name(&target.host), Ok(ServerName::DnsName(_))) {
        return Err(UsageError::new(
            "--ech auto needs a host name, because addresses have no HTTPS record",
        )
        .into());
    }
    // The server for DNS gets neither the certificate of this client nor its sessions.
    let config = options.client.add_trust(ClientConfig::builder().alpn(&["h2", "http/1.1"]))?;
    let config = config.ech_grease(true).build()?;
    let lookup = Lookup { server: options.dns.clone(), config, timeout: options.timeout };
    let choice = lookup.choose(target);
    let failed =
        |error| format!("{error:#}; --dns selects another DNS server, {WITHOUT_ENCRYPTION}");
    match choice.map_err(|error| Failure::new(Reason::Connect, &failed(error)))? {
        Choice::Configs { configs, endpoint } => {
            Ok(EchPlan { offer: Offer::Configs(configs), endpoint: Some(endpoint) })
        }
        // As for a record on the command line: the name would be sent in the clear, although it was
        // to be encrypted.
        Choice::Unusable => {
            let owner = owner_of(target);
            let text = format!(
                "--ech auto: none of the configurations in DNS for {owner} is usable; \
                 {WITHOUT_ENCRYPTION}"
            );
            Err(Failure::new(Reason::Configuration, &text).into())
        }
        Choice::Alias(_) | Choice::None => {
            if !options.quiet {
                let owner = owner_of(target);
                explain::print_line(format_args!(
                    "no ECH configuration in DNS for {owner}: the server name is not encrypted"
                ));
            }
            Ok(EchPlan { offer: Offer::Grease, endpoint: None })
        }
    }
}
