//! What `--ech` offers to one server, and where that server is. RFC 9848

use anyhow::Result;
use tercel::ech::Offer;
use tercel::wire::ProtocolVersion;

use super::Options;
use crate::ech_offer::{EchSource, configs};
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

fn look_up(_: &Options, _: &Target) -> Result<EchPlan> {
    let message = "--ech auto: tercel was built without lookups in DNS (feature dns)";
    Err(UsageError::new(message).into())
}
