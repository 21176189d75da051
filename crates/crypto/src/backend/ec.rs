//! The NIST curves: `EC_KEY` and its points.
//!
//! This module has key pairs, public points in uncompressed form, ECDH, and ECDSA. See
//! `key_exchange.rs`, `signing_key.rs` and `public_key.rs` above.
//!
//! The FIPS module approves ECDH and ECDSA only by the EVP interface. ECDH costs the same by it,
//! and uses it in every build. ECDSA costs more, and uses it with the feature `fips`: docs/fips.md
//! has the figures.

#[cfg(feature = "fips")]
mod approved_operations;
#[cfg(not(feature = "fips"))]
mod operations;

use core::ptr;

use super::check;
use super::handle::Handle;
use super::lc;
use crate::error::CryptoError;

/// A supported curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Curve {
    P256,
    P384,
    P521,
}

impl Curve {
    /// The length of a coordinate, which is also the length of an ECDH secret.
    pub(crate) const fn field_len(self) -> usize {
        match self {
            Self::P256 => 32,
            Self::P384 => 48,
            Self::P521 => 66,
        }
    }

    /// The length of a point: the byte for its form, and two coordinates (SEC 1, 2.3.3).
    pub(crate) const fn point_len(self) -> usize {
        1 + 2 * self.field_len()
    }

    /// The nominal size of the field in bits.
    pub(crate) const fn bits(self) -> usize {
        match self {
            Self::P256 => 256,
            Self::P384 => 384,
            Self::P521 => 521,
        }
    }

    fn group(self) -> *const lc::EC_GROUP {
        // SAFETY: these functions return static groups.
        unsafe {
            match self {
                Self::P256 => lc::EC_group_p256(),
                Self::P384 => lc::EC_group_p384(),
                Self::P521 => lc::EC_group_p521(),
            }
        }
    }

    fn nid(self) -> i32 {
        match self {
            Self::P256 => lc::NID_X9_62_prime256v1,
            Self::P384 => lc::NID_secp384r1,
            Self::P521 => lc::NID_secp521r1,
        }
    }

    fn from_nid(nid: i32) -> Result<Self, CryptoError> {
        [Self::P256, Self::P384, Self::P521]
            .into_iter()
            .find(|curve| curve.nid() == nid)
            .ok_or(CryptoError::Unsupported)
    }
}

/// A public or a private key on one of the curves.
pub(crate) struct EcKey {
    key: Handle<lc::EC_KEY>,
    /// A container with a reference to `key`, for the EVP interface.
    container: Handle<lc::EVP_PKEY>,
    curve: Curve,
}

impl EcKey {
    /// Makes a fresh key pair with AWS-LC's generator.
    pub(crate) fn generate(curve: Curve) -> Result<Self, CryptoError> {
        // The approved function also tests the new pair, for which it signs and verifies.
        #[cfg(feature = "fips")]
        let generate = lc::EC_KEY_generate_key_fips;
        #[cfg(not(feature = "fips"))]
        let generate = lc::EC_KEY_generate_key;
        let key = Self::empty(curve)?;
        // SAFETY: the key is valid, and its group is set.
        let code = unsafe { generate(key.key.as_ptr()) };
        check(code, CryptoError::Internal)?;
        Ok(key)
    }

    /// A key pair derived from `secret`. The secret needs at least as many bits as the order of
    /// the curve, and should have 64 more.
    #[cfg(any(test, all(feature = "deterministic", debug_assertions)))]
    pub(crate) fn derive(curve: Curve, secret: &[u8]) -> Result<Self, CryptoError> {
        // SAFETY: the group is static; `secret` is passed with its length; we own the result.
        let key = unsafe {
            let key = lc::EC_KEY_derive_from_secret(curve.group(), secret.as_ptr(), secret.len());
            Handle::new(key, CryptoError::Internal)?
        };
        Self::new(key, curve)
    }

    /// The key pair with this private scalar.
    #[cfg(any(test, all(feature = "deterministic", debug_assertions)))]
    pub(crate) fn from_scalar(curve: Curve, scalar: &[u8]) -> Result<Self, CryptoError> {
        if scalar.len() != curve.field_len() {
            return Err(CryptoError::InvalidKey);
        }
        let this = Self::empty(curve)?;
        // SAFETY: `scalar` is passed with its length; we own the results and check them.
        let (number, point) = unsafe {
            let number = lc::BN_bin2bn(scalar.as_ptr(), scalar.len(), ptr::null_mut());
            let number = Handle::new(number, CryptoError::Internal)?;
            let point = Handle::new(lc::EC_POINT_new(curve.group()), CryptoError::Internal)?;
            (number, point)
        };
        // SAFETY: all objects are valid and of one group; the setters copy.
        unsafe {
            let code = lc::EC_KEY_set_private_key(this.key.as_ptr(), number.as_ptr());
            check(code, CryptoError::InvalidKey)?;
            let code = lc::EC_POINT_mul(
                curve.group(),
                point.as_ptr(),
                number.as_ptr(),
                ptr::null(),
                ptr::null(),
                ptr::null_mut(),
            );
            check(code, CryptoError::InvalidKey)?;
            let code = lc::EC_KEY_set_public_key(this.key.as_ptr(), point.as_ptr());
            check(code, CryptoError::InvalidKey)?;
        }
        Ok(this)
    }

    /// Makes a public key from a point. If the point is compressed or not on the curve, the result
    /// is `error`.
    pub(crate) fn from_point(
        curve: Curve,
        point: &[u8],
        error: CryptoError,
    ) -> Result<Self, CryptoError> {
        let point = decode_point(curve, point, error)?;
        let this = Self::empty(curve)?;
        // SAFETY: the objects are valid and of one group; the point is copied.
        let code = unsafe { lc::EC_KEY_set_public_key(this.key.as_ptr(), point.as_ptr()) };
        check(code, error)?;
        Ok(this)
    }

    /// Wraps a parsed key if its curve is supported.
    pub(super) fn adopt(key: Handle<lc::EC_KEY>) -> Result<Self, CryptoError> {
        // SAFETY: the key is valid. Its group is null or lives as long as the key, and only the
        // group's name is read.
        let nid = unsafe {
            let group = lc::EC_KEY_get0_group(key.as_ptr());
            if group.is_null() {
                return Err(CryptoError::InvalidKey);
            }
            lc::EC_GROUP_get_curve_name(group)
        };
        Self::new(key, Curve::from_nid(nid)?)
    }

    /// Parses a SEC 1 private key (RFC 5915) that names its curve.
    pub(crate) fn from_sec1(der: &[u8]) -> Result<Self, CryptoError> {
        let mut input = lc::CBS { data: der.as_ptr(), len: der.len() };
        // SAFETY: `input` covers `der`. The group may be null: the key must then name its curve.
        let key = unsafe {
            let key = lc::EC_KEY_parse_private_key(&raw mut input, ptr::null());
            Handle::new(key, CryptoError::InvalidKey)?
        };
        if input.len != 0 {
            return Err(CryptoError::InvalidKey);
        }
        Self::adopt(key)
    }

    pub(crate) fn curve(&self) -> Curve {
        self.curve
    }

    /// Writes the public point, uncompressed; `out` must have [`Curve::point_len`] bytes.
    pub(crate) fn write_point(&self, out: &mut [u8]) -> Result<(), CryptoError> {
        assert!(out.len() == self.curve.point_len());
        // SAFETY: the key is valid, and its group is static; the point is null or lives as long as
        // the key; `out` is passed with its length.
        let written = unsafe {
            let point = lc::EC_KEY_get0_public_key(self.key.as_ptr());
            if point.is_null() {
                return Err(CryptoError::InvalidKey);
            }
            lc::EC_POINT_point2oct(
                self.curve.group(),
                point,
                lc::point_conversion_form_t::POINT_CONVERSION_UNCOMPRESSED,
                out.as_mut_ptr(),
                out.len(),
                ptr::null_mut(),
            )
        };
        check(i32::from(written == out.len()), CryptoError::Internal)
    }

    /// The x coordinate of this private key times the peer's point; `out` must have
    /// [`Curve::field_len`] bytes.
    pub(crate) fn agree(&self, peer: &[u8], out: &mut [u8]) -> Result<(), CryptoError> {
        assert!(out.len() == self.curve.field_len());
        let peer = Self::from_point(self.curve, peer, CryptoError::InvalidShare)?;
        let (context, mut len) = (self.container.context()?, out.len());
        // SAFETY: the context and both keys are valid, and the context takes its own reference to
        // the peer's key; `out` is passed with its length.
        unsafe {
            check(lc::EVP_PKEY_derive_init(context.as_ptr()), CryptoError::Internal)?;
            let code = lc::EVP_PKEY_derive_set_peer(context.as_ptr(), peer.container.as_ptr());
            check(code, CryptoError::InvalidShare)?;
            let code = lc::EVP_PKEY_derive(context.as_ptr(), out.as_mut_ptr(), &raw mut len);
            check(code, CryptoError::InvalidShare)?;
        }
        if len == out.len() { Ok(()) } else { Err(CryptoError::InvalidShare) }
    }

    fn new(key: Handle<lc::EC_KEY>, curve: Curve) -> Result<Self, CryptoError> {
        Ok(Self { container: container(&key)?, key, curve })
    }

    fn empty(curve: Curve) -> Result<Self, CryptoError> {
        // SAFETY: the result is null, or a new key that we own.
        let key = unsafe {
            Handle::new(lc::EC_KEY_new_by_curve_name(curve.nid()), CryptoError::Internal)?
        };
        Self::new(key, curve)
    }
}

/// A container with a reference to a key.
fn container(key: &Handle<lc::EC_KEY>) -> Result<Handle<lc::EVP_PKEY>, CryptoError> {
    // SAFETY: the container is null, or new and ours; the key is valid, and the container takes
    // its own reference to it.
    unsafe {
        let container = Handle::new(lc::EVP_PKEY_new(), CryptoError::Internal)?;
        let code = lc::EVP_PKEY_set1_EC_KEY(container.as_ptr(), key.as_ptr());
        check(code, CryptoError::Internal)?;
        Ok(container)
    }
}

fn decode_point(
    curve: Curve,
    bytes: &[u8],
    error: CryptoError,
) -> Result<Handle<lc::EC_POINT>, CryptoError> {
    // The checks of length and form exclude compressed points and infinity.
    if bytes.len() != curve.point_len() || bytes[0] != 4 {
        return Err(error);
    }
    // SAFETY: the group is static; the result is null, or we own it.
    let point = unsafe { Handle::new(lc::EC_POINT_new(curve.group()), CryptoError::Internal)? };
    // SAFETY: the objects are valid and of one group; `bytes` is passed with its length. AWS-LC
    // refuses a point that is not on the curve.
    let code = unsafe {
        lc::EC_POINT_oct2point(
            curve.group(),
            point.as_ptr(),
            bytes.as_ptr(),
            bytes.len(),
            ptr::null_mut(),
        )
    };
    check(code, error)?;
    Ok(point)
}
