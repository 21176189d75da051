//! Property queries, by which programs select the implementations of algorithms.

use crate::objects::dane::Digest;

/// Whether the implementations of this library meet a query: each clause is optional, or excludes
/// the FIPS module.
pub(super) fn are_met(query: &str) -> bool {
    query.split(',').map(str::trim).all(|clause| {
        let compact: String = clause.split_whitespace().collect();
        let compact = compact.to_ascii_lowercase();
        // A clause with a leading `-` removes a default.
        clause.is_empty()
            || clause.starts_with(['?', '-'])
            || ["fips=no", "fips!=yes"].contains(&compact.as_str())
    })
}

/// Whether the process uses algorithms outside of the FIPS module. Its default properties, its
/// default library context and its providers select where SHA-256 comes from, which OpenSSL needs
/// for each context.
pub(super) fn are_usual() -> bool {
    let Some(digest) = Digest::named(c"SHA2-256") else { return false };
    digest.provider().is_none_or(|name| name != c"fips")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_preferences_and_the_absence_of_fips_are_met() {
        for query in ["", "?fips=yes", "fips=no", "-fips", "?provider=default, fips = no"] {
            assert!(are_met(query), "{query}");
        }
        for query in ["fips=yes", "fips", "provider=default", "?a=b,fips=yes", "fips!=no", "x"] {
            assert!(!are_met(query), "{query}");
        }
    }
}
