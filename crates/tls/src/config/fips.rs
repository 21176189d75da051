//! The rules of FIPS 140-3 for configurations, which `docs/fips.md` lists, and the option that
//! enforces them.
//!
//! A rule that depends on what a peer or the application chooses later is enforced in handshakes:
//! `Common::fips` is their condition.

use tercel_wire::ProtocolVersion;

use super::client::ClientConfig;
use super::common::{Common, GROUPS};
use super::server::ServerConfig;
use crate::auth::credential::Credential;
use crate::auth::verify_peer::VerifyPeer;
use crate::error::InternalError;
use crate::error::config::ConfigError;
use crate::fips::{FipsReason, FipsStatus};
use crate::keys::{group, scheme};
use crate::policy::Policy;

impl Common {
    /// Restricts the default options to approved ones, if the option `fips` is on. Options of the
    /// application are not changed.
    pub(super) fn restrict_to_fips(&mut self) {
        if !self.fips {
            return;
        }
        if !self.suites_chosen {
            self.suites.retain(|suite| suite.is_fips_approved());
        }
        if self.groups == GROUPS {
            self.groups.retain(|group| group::is_fips_approved(*group));
        }
        self.require_extended_main_secret = true;
    }

    /// Sets the status, and refuses a configuration with the option `fips` that is not approved.
    pub(super) fn set_fips_status(
        &mut self,
        broken: Option<FipsReason>,
    ) -> Result<(), ConfigError> {
        let broken = broken.or((!self.fips).then_some(FipsReason::NotEnforced));
        self.fips_status = FipsStatus::of(broken);
        match self.fips_status {
            FipsStatus::No(reason) if self.fips => Err(ConfigError::NotFips(reason)),
            _ => Ok(()),
        }
    }

    /// Returns the first rule for the options of both sides that is broken.
    fn broken_fips_rule(&self) -> Option<FipsReason> {
        if let Some(suite) = self.usable_suites().find(|suite| !suite.is_fips_approved()) {
            return Some(FipsReason::CipherSuite(suite.code));
        }
        if let Some(group) = self.groups.iter().find(|group| !group::is_fips_approved(**group)) {
            return Some(FipsReason::Group(*group));
        }
        // All schemes that are implemented are approved. Those for certificates may be others.
        let in_certificates = self.certificate_signature_schemes.iter().flatten();
        let mut schemes = self.signature_schemes.iter().chain(in_certificates);
        if let Some(scheme) = schemes.find(|scheme| scheme::algorithm(**scheme).is_none()) {
            return Some(FipsReason::SignatureScheme(*scheme));
        }
        if self.has_version(ProtocolVersion::TLS1_2) && !self.require_extended_main_secret {
            return Some(FipsReason::ExtendedMainSecret);
        }
        self.key_log.is_some().then_some(FipsReason::KeyLog)
    }

    /// Refuses a credential that was selected for a connection, if the option `fips` is on and the
    /// credential is not approved.
    pub(crate) fn check_fips(&self, credential: &Credential) -> Result<(), InternalError> {
        match self.fips && credential.broken_fips_rule().is_some() {
            true => Err(InternalError::NotFips),
            false => Ok(()),
        }
    }
}

impl ClientConfig {
    /// Returns whether this configuration uses approved cryptography of a validated module only.
    /// The reason against it is the first rule of `docs/fips.md` that the configuration breaks.
    #[must_use]
    pub fn fips(&self) -> FipsStatus {
        self.common.fips_status
    }

    /// Returns the first rule that is broken. `credential` is the client's, if it is known.
    pub(super) fn broken_fips_rule(&self, credential: Option<&Credential>) -> Option<FipsReason> {
        if let Some(broken) = self.common.broken_fips_rule() {
            return Some(broken);
        }
        #[cfg(feature = "ech")]
        if self.ech_grease {
            return Some(FipsReason::Ech);
        }
        if !self.pre_shared_keys.is_empty() {
            return Some(FipsReason::PreSharedKeys);
        }
        let credential = credential.and_then(Credential::broken_fips_rule);
        let verifier = || (!is_approved(&self.verifier)).then_some(FipsReason::Verifier);
        verifier().or(credential)
    }
}

impl ServerConfig {
    /// Returns whether this configuration uses approved cryptography of a validated module only.
    /// The reason against it is the first rule of `docs/fips.md` that the configuration breaks.
    #[must_use]
    pub fn fips(&self) -> FipsStatus {
        self.common.fips_status
    }

    /// Returns the first rule that is broken.
    pub(super) fn broken_fips_rule(&self) -> Option<FipsReason> {
        if let Some(broken) = self.common.broken_fips_rule() {
            return Some(broken);
        }
        #[cfg(feature = "ech")]
        if self.ech.is_some() {
            return Some(FipsReason::Ech);
        }
        if self.pre_shared_keys.is_some() {
            return Some(FipsReason::PreSharedKeys);
        }
        if self.client_verifier.as_ref().is_some_and(|verifier| !is_approved(verifier)) {
            return Some(FipsReason::Verifier);
        }
        let credentials = self.credential_set.as_ref();
        if let Some(broken) = credentials.and_then(|credentials| credentials.broken_fips_rule()) {
            return Some(broken);
        }
        let tickets = self.resumption.tickets.as_ref();
        tickets.filter(|tickets| !tickets.is_fips_approved()).map(|_| FipsReason::TicketSealer)
    }
}

fn is_approved(verifier: &Policy<dyn VerifyPeer>) -> bool {
    match verifier {
        Policy::Here(verifier) => verifier.is_fips_approved(),
        Policy::Ask => false,
    }
}
