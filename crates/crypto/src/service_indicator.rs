//! Which calls are approved services of the FIPS module. **For tests only.**
//!
//! The module counts the approved services that each thread has completed. A service that consists
//! of others counts once. See `tests/fips_indicator.rs`.

/// Test seam. Runs `action`, and returns how many approved services of the FIPS module it used,
/// with the result of `action`. The number is `None` without the feature `fips`.
pub fn approved_services<T>(action: impl FnOnce() -> T) -> (Option<u64>, T) {
    let before = count();
    let result = action();
    let services = count().zip(before).map(|(after, before)| after - before);
    (services, result)
}

fn count() -> Option<u64> {
    #[cfg(feature = "fips")]
    return Some(crate::backend::fips::approved_services());
    #[cfg(not(feature = "fips"))]
    None
}
