//! The state of AWS-LC's FIPS module.
//!
//! See `fips.rs` above.

use super::lc;

/// Whether the module runs in FIPS mode: it has passed its integrity and self-tests. A module that
/// fails them ends the process.
pub(crate) fn is_on() -> bool {
    // SAFETY: the function takes nothing and returns a number.
    unsafe { lc::FIPS_mode() == 1 }
}

/// The version of the module, as its library prints it.
pub(crate) fn version() -> &'static str {
    // SAFETY: the function returns a string that is constant in the library, with a final zero.
    let version = unsafe { core::ffi::CStr::from_ptr(lc::awslc_version_string()) };
    version.to_str().unwrap_or("AWS-LC FIPS")
}

/// The number of approved services that the module has completed for this thread.
#[cfg(any(test, all(feature = "deterministic", debug_assertions)))]
pub(crate) fn approved_services() -> u64 {
    // SAFETY: the function takes nothing and returns a number. It returns the same number as the
    // function for use after a call.
    unsafe { lc::FIPS_service_indicator_before_call() }
}
