//! Property queries, by which programs select the implementations of algorithms.

use crate::objects::dane::Digest;

/// Whether the implementations of this library meet a query: each clause is optional, or selects
/// what is neither the FIPS module nor another special module.
pub(super) fn are_met(query: &str) -> bool {
    query.split(',').map(str::trim).all(|clause| {
        // A clause with a leading `-` removes a default.
        clause.is_empty() || clause.starts_with(['?', '-']) || is_met(clause)
    })
}

/// Whether one clause is met. This library counts as the provider `default`, and has no other
/// property; a property that is absent is `no` (property(7)).
fn is_met(clause: &str) -> bool {
    let clause: String = clause.split_whitespace().collect();
    let clause = clause.to_ascii_lowercase();
    let (name, value, is_equal) = match (clause.split_once("!="), clause.split_once('=')) {
        (Some((name, value)), _) => (name, value, false),
        (None, Some((name, value))) => (name, value, true),
        (None, None) => (clause.as_str(), "yes", true),
    };
    let own = if name == "provider" { "default" } else { "no" };
    let is_number = value.starts_with(|first: char| first.is_ascii_digit());
    !is_number && (value.trim_matches(['\'', '"']) == own) == is_equal
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
    fn preferences_and_the_absence_of_special_modules_are_met() {
        let met = [
            "",
            "?fips=yes",
            "fips=no",
            "-fips",
            "?provider=default, fips = no",
            "provider!=fips",
            "provider=default",
            "provider = 'default', fips != yes",
            "x!=y",
        ];
        for query in met {
            assert!(are_met(query), "{query}");
        }
        let unmet = [
            "fips=yes",
            "fips",
            "provider=fips",
            "provider!=default",
            "?a=b,fips=yes",
            "fips!=no",
            "x",
            "x=1",
        ];
        for query in unmet {
            assert!(!are_met(query), "{query}");
        }
    }
}
