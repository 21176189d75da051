//! Security: the level of a context or a connection, and the program's function in its place. Both
//! decide which algorithms, keys and versions may be used.

use core::ffi::{c_int, c_void};

use crate::objects::certificate::Certificate;

/// The program's function. Its arguments: the connection and the context, one of which is NULL; the
/// operation; the strength in bits; libcrypto's number; the object; the program's pointer.
pub(crate) type Security = Option<
    unsafe extern "C" fn(
        *const c_void,
        *const c_void,
        c_int,
        c_int,
        c_int,
        *mut c_void,
        *mut c_void,
    ) -> c_int,
>;

/// The operations that the program's function is asked about (`ssl.h`).
pub(crate) mod operation {
    use core::ffi::c_int;

    const CIPHER: c_int = 1 << 16;
    const CURVE: c_int = 2 << 16;
    const PKEY: c_int = 4 << 16;
    const SIGALG: c_int = 5 << 16;
    const CERT: c_int = 6 << 16;

    pub(crate) const CIPHER_SUPPORTED: c_int = CIPHER | 1;
    pub(crate) const CIPHER_SHARED: c_int = CIPHER | 2;
    pub(crate) const CIPHER_CHECK: c_int = CIPHER | 3;
    pub(crate) const CURVE_SUPPORTED: c_int = CURVE | 4;
    pub(crate) const CURVE_SHARED: c_int = CURVE | 5;
    pub(crate) const CURVE_CHECK: c_int = CURVE | 6;
    pub(crate) const TMP_DH: c_int = PKEY | 7;
    pub(crate) const VERSION: c_int = 9;
    pub(crate) const TICKET: c_int = 10;
    pub(crate) const SIGALG_SUPPORTED: c_int = SIGALG | 11;
    pub(crate) const SIGALG_SHARED: c_int = SIGALG | 12;
    pub(crate) const SIGALG_CHECK: c_int = SIGALG | 13;
    pub(crate) const COMPRESSION: c_int = 15;
    pub(crate) const EE_KEY: c_int = CERT | 16;
    pub(crate) const CA_KEY: c_int = CERT | 17;
    pub(crate) const CA_MD: c_int = CERT | 18;
}

/// What may be used, as the program's function sees it.
#[derive(Clone, Copy)]
pub(crate) struct Subject {
    pub(crate) operation: c_int,
    /// The strength in bits; 0 for versions and tickets, -1 if it is unknown.
    pub(crate) bits: c_int,
    pub(crate) nid: c_int,
    pub(crate) object: *mut c_void,
}

/// The lowest strength in bits of a level.
pub(crate) fn least_bits(level: c_int) -> c_int {
    const BITS: [c_int; 6] = [0, 80, 112, 128, 192, 256];
    let index = usize::try_from(level).unwrap_or(0);
    BITS.get(index).copied().unwrap_or(256)
}

/// Whether a level allows an operation, if the program has no function of its own. Each suite here
/// is forward secure and has no other MAC than that of its AEAD.
pub(crate) fn is_allowed(level: c_int, operation: c_int, bits: c_int, nid: c_int) -> bool {
    const TLS1_1: c_int = 0x0302;
    if level <= 0 {
        return operation != operation::TMP_DH || bits >= 80;
    }
    match operation {
        operation::VERSION => nid > TLS1_1,
        operation::COMPRESSION => level < 2,
        operation::TICKET => level < 3,
        _ => bits >= least_bits(level),
    }
}

/// The subjects of a certificate: its key, and its signature unless it signs itself.
pub(crate) fn of_certificate(certificate: &Certificate, is_leaf: bool) -> Vec<Subject> {
    let object = certificate.as_ptr().cast();
    let operation = if is_leaf { operation::EE_KEY } else { operation::CA_KEY };
    let key = Subject { operation, bits: certificate.key_bits(), nid: 0, object };
    let signature = certificate.signature_strength().map(|(bits, nid)| Subject {
        operation: operation::CA_MD,
        bits,
        nid,
        object,
    });
    [Some(key), signature].into_iter().flatten().collect()
}

/// The strength of the weakest key or signature of a leaf and its chain.
pub(crate) fn weakest(leaf: &Certificate, chain: &[Certificate]) -> c_int {
    let all = core::iter::once((leaf, true)).chain(chain.iter().map(|each| (each, false)));
    let subjects = all.flat_map(|(each, is_leaf)| of_certificate(each, is_leaf));
    subjects.map(|subject| subject.bits).min().unwrap_or(0)
}

/// Which secrets of SRP the application has set. They are not supported.
#[derive(Clone, Copy, Default)]
pub(crate) struct SharedSecrets(u8);

impl SharedSecrets {
    pub(crate) const SRP_NAME: u8 = 1;
    pub(crate) const SRP_PASSWORD: u8 = 2;

    /// Remembers whether the application has set one of the secrets.
    pub(crate) fn set(&mut self, secret: u8, on: bool) {
        self.0 = if on { self.0 | secret } else { self.0 & !secret };
    }

    pub(crate) fn is_any(self) -> bool {
        self.0 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_refuse_what_is_weaker() {
        assert!(is_allowed(2, operation::CIPHER_SHARED, 128, 0));
        assert!(!is_allowed(4, operation::CIPHER_SHARED, 128, 0));
        assert!(is_allowed(4, operation::CIPHER_SHARED, 256, 0));
        assert!(!is_allowed(1, operation::VERSION, 0, 0x0302));
        assert!(is_allowed(5, operation::VERSION, 0, 0x0303));
        assert!(is_allowed(2, operation::TICKET, 0, 0));
        assert!(!is_allowed(3, operation::TICKET, 0, 0));
        assert!(!is_allowed(1, operation::EE_KEY, -1, 0));
        assert!(is_allowed(0, operation::EE_KEY, -1, 0));
        assert!(!is_allowed(9, operation::EE_KEY, 255, 0));
    }
}
