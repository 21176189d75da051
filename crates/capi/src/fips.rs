//! FIPS 140-3: the module, and the status of configurations and connections.

use core::ffi::{CStr, c_char};
use core::ptr;
use std::ffi::CString;
use std::sync::OnceLock;

use tercel::fips::{FipsReason, FipsStatus, fips_module};

/// Whether a configuration or a connection uses approved cryptography of a validated module only:
/// TERCEL_FIPS_CERTIFIED, TERCEL_FIPS_IN_PROCESS, or the first rule that is broken. docs/fips.md
/// has the rules. 0 is a rule without a number here.
pub type Fips = u64;

/// Only approved cryptography is used, and the module has a certificate.
pub const TERCEL_FIPS_CERTIFIED: Fips = 1;
/// Only approved cryptography is used, and the validation of the module is in process.
pub const TERCEL_FIPS_IN_PROCESS: Fips = 2;
/// The library was built without the feature `fips`.
pub const TERCEL_FIPS_NOT_BUILT: Fips = 16;
/// The module does not run in FIPS mode.
pub const TERCEL_FIPS_MODULE_OFF: Fips = 17;
/// A cipher suite is not approved.
pub const TERCEL_FIPS_CIPHER_SUITE: Fips = 18;
/// A group is not approved.
pub const TERCEL_FIPS_GROUP: Fips = 19;
/// A signature scheme is not approved.
pub const TERCEL_FIPS_SIGNATURE_SCHEME: Fips = 20;
/// TLS 1.2 is enabled, and does not require the extended main secret.
pub const TERCEL_FIPS_EXTENDED_MAIN_SECRET: Fips = 21;
/// The caller verifies peers.
pub const TERCEL_FIPS_VERIFIER: Fips = 22;
/// A private key is used outside of the module.
pub const TERCEL_FIPS_SIGNER: Fips = 23;
/// A key or a signature in the chain of a credential is not approved.
pub const TERCEL_FIPS_CREDENTIAL_CHAIN: Fips = 24;
/// There are pre-shared keys.
pub const TERCEL_FIPS_PRE_SHARED_KEYS: Fips = 25;
/// There is a key log.
pub const TERCEL_FIPS_KEY_LOG: Fips = 26;
/// The option TERCEL_OPTION_FIPS is off.
pub const TERCEL_FIPS_NOT_ENFORCED: Fips = 27;
/// The connection was restored from saved keys.
pub const TERCEL_FIPS_RESTORED: Fips = 28;

/// Returns the version of the cryptographic module of FIPS 140-3 that this library uses, or NULL if
/// it uses none. The text remains valid.
#[unsafe(no_mangle)]
pub extern "C" fn tercel_fips_module() -> *const c_char {
    static VERSION: OnceLock<Option<CString>> = OnceLock::new();
    let version = VERSION.get_or_init(|| CString::new(fips_module()?.version).ok());
    version.as_deref().map_or(ptr::null(), CStr::as_ptr)
}

/// Returns the number of a status.
pub(crate) fn number(status: FipsStatus) -> Fips {
    let reason = match status {
        FipsStatus::Certified => return TERCEL_FIPS_CERTIFIED,
        FipsStatus::InProcess => return TERCEL_FIPS_IN_PROCESS,
        FipsStatus::No(reason) => reason,
        _ => return 0,
    };
    match reason {
        FipsReason::NotBuilt => TERCEL_FIPS_NOT_BUILT,
        FipsReason::ModuleOff => TERCEL_FIPS_MODULE_OFF,
        FipsReason::CipherSuite(_) => TERCEL_FIPS_CIPHER_SUITE,
        FipsReason::Group(_) => TERCEL_FIPS_GROUP,
        FipsReason::SignatureScheme(_) => TERCEL_FIPS_SIGNATURE_SCHEME,
        FipsReason::ExtendedMainSecret => TERCEL_FIPS_EXTENDED_MAIN_SECRET,
        FipsReason::Verifier => TERCEL_FIPS_VERIFIER,
        FipsReason::Signer => TERCEL_FIPS_SIGNER,
        FipsReason::CredentialChain => TERCEL_FIPS_CREDENTIAL_CHAIN,
        FipsReason::PreSharedKeys => TERCEL_FIPS_PRE_SHARED_KEYS,
        FipsReason::KeyLog => TERCEL_FIPS_KEY_LOG,
        FipsReason::NotEnforced => TERCEL_FIPS_NOT_ENFORCED,
        FipsReason::Restored => TERCEL_FIPS_RESTORED,
        // The C interface has no other tickets, no Encrypted ClientHello and no QUIC.
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_status_has_a_number() {
        assert_eq!(number(FipsStatus::Certified), TERCEL_FIPS_CERTIFIED);
        assert_eq!(number(FipsStatus::InProcess), TERCEL_FIPS_IN_PROCESS);
        assert_eq!(number(FipsStatus::No(FipsReason::KeyLog)), TERCEL_FIPS_KEY_LOG);
        assert_eq!(number(FipsStatus::No(FipsReason::Quic)), 0);
        assert_eq!(tercel_fips_module().is_null(), !cfg!(feature = "fips"));
    }
}
