//! FIPS 140-3: the module, and the status of configurations and connections.

use core::ffi::{CStr, c_char};
use core::mem::discriminant;
use core::ptr;
use std::ffi::CString;
use std::sync::OnceLock;

use tercel::fips::{FipsReason, FipsStatus, fips_module};
use tercel::wire::{CipherSuite, NamedGroup, SignatureScheme};

/// Whether a configuration or a connection uses approved cryptography of a validated module only:
/// TERCEL_FIPS_CERTIFIED, TERCEL_FIPS_IN_PROCESS, or the first rule that is broken. docs/fips.md
/// has the rules. 0 is a rule of a later version.
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
/// The connection was restored from saved keys. The C interface cannot do this.
pub const TERCEL_FIPS_RESTORED: Fips = 28;
/// The traffic keys were exported to another record layer. The C interface cannot do this.
pub const TERCEL_FIPS_EXPORTED: Fips = 29;
/// Tickets are sealed outside of the library. The C interface cannot do this.
pub const TERCEL_FIPS_TICKET_SEALER: Fips = 30;
/// Encrypted ClientHello is used. The C interface does not have it.
pub const TERCEL_FIPS_ECH: Fips = 31;
/// QUIC is used. The C interface does not have it.
pub const TERCEL_FIPS_QUIC: Fips = 32;

/// The number of each reason. A reason with a value has an arbitrary one here, since only variants
/// are compared. A test checks that no variant is missing.
const REASONS: [(Fips, FipsReason); 17] = [
    (TERCEL_FIPS_NOT_BUILT, FipsReason::NotBuilt),
    (TERCEL_FIPS_MODULE_OFF, FipsReason::ModuleOff),
    (TERCEL_FIPS_CIPHER_SUITE, FipsReason::CipherSuite(CipherSuite(0))),
    (TERCEL_FIPS_GROUP, FipsReason::Group(NamedGroup(0))),
    (TERCEL_FIPS_SIGNATURE_SCHEME, FipsReason::SignatureScheme(SignatureScheme(0))),
    (TERCEL_FIPS_EXTENDED_MAIN_SECRET, FipsReason::ExtendedMainSecret),
    (TERCEL_FIPS_VERIFIER, FipsReason::Verifier),
    (TERCEL_FIPS_SIGNER, FipsReason::Signer),
    (TERCEL_FIPS_CREDENTIAL_CHAIN, FipsReason::CredentialChain),
    (TERCEL_FIPS_PRE_SHARED_KEYS, FipsReason::PreSharedKeys),
    (TERCEL_FIPS_KEY_LOG, FipsReason::KeyLog),
    (TERCEL_FIPS_NOT_ENFORCED, FipsReason::NotEnforced),
    (TERCEL_FIPS_RESTORED, FipsReason::Restored),
    (TERCEL_FIPS_EXPORTED, FipsReason::Exported),
    (TERCEL_FIPS_TICKET_SEALER, FipsReason::TicketSealer),
    (TERCEL_FIPS_ECH, FipsReason::Ech),
    (TERCEL_FIPS_QUIC, FipsReason::Quic),
];

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
    let same = |row: &&(Fips, FipsReason)| discriminant(&row.1) == discriminant(&reason);
    REASONS.iter().find(same).map_or(0, |(number, _)| *number)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::status::tests::variants;

    #[test]
    fn each_reason_has_a_number_of_its_own() {
        let names: Vec<_> = REASONS
            .iter()
            .map(|(_, reason)| {
                let text = format!("{reason:?}");
                text.split('(').next().unwrap().to_owned()
            })
            .collect();
        let variants = variants("tls/src/fips.rs", "FipsReason");
        assert_eq!(names.iter().collect::<BTreeSet<_>>(), variants.iter().collect());
        let numbers: BTreeSet<_> = REASONS.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers.len(), variants.len());
        for (number_of, reason) in REASONS {
            assert_eq!(number(FipsStatus::No(reason)), number_of);
        }
        // The value of a reason does not matter.
        let group = FipsReason::Group(NamedGroup::X25519);
        assert_eq!(number(FipsStatus::No(group)), TERCEL_FIPS_GROUP);
    }

    #[test]
    fn each_status_has_a_number() {
        for variant in variants("tls/src/fips.rs", "FipsStatus") {
            let status = match variant.as_str() {
                "Certified" => FipsStatus::Certified,
                "InProcess" => FipsStatus::InProcess,
                "No" => FipsStatus::No(FipsReason::KeyLog),
                other => panic!("FipsStatus::{other} has no number"),
            };
            assert_ne!(number(status), 0, "{variant}");
        }
        assert_eq!(number(FipsStatus::Certified), TERCEL_FIPS_CERTIFIED);
        assert_eq!(number(FipsStatus::InProcess), TERCEL_FIPS_IN_PROCESS);
        assert_eq!(tercel_fips_module().is_null(), !cfg!(feature = "fips"));
    }
}
