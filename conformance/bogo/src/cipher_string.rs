//! Parses lists of cipher suites in OpenSSL's notation: the syntax that tests use, and the suites
//! that the library has.

use tercel::wire::CipherSuite;
use tercel_crypto::has_fast_aes;

/// The TLS 1.2 suites of a string in order of preference. Each inner list has suites of equal
/// preference. Suites that the library does not have are omitted; `None` if none is left, or on a
/// syntax error.
pub(crate) fn suites(string: &str) -> Option<Vec<Vec<CipherSuite>>> {
    let mut chosen: Vec<Vec<CipherSuite>> = Vec::new();
    for term in string.split(':') {
        if let Some(unwanted) = term.strip_prefix('!') {
            let unwanted = matching(unwanted)?;
            chosen.iter_mut().for_each(|equal| equal.retain(|suite| !unwanted.contains(suite)));
        } else if let Some(equal) = term.strip_prefix('[') {
            let equal = equal.strip_suffix(']')?.split('|').map(matching);
            chosen.push(equal.collect::<Option<Vec<_>>>()?.concat());
        } else {
            chosen.extend(matching(term)?.into_iter().map(|suite| vec![suite]));
        }
    }
    chosen.retain(|equal| !equal.is_empty());
    if chosen.is_empty() { None } else { Some(chosen) }
}

/// The suites of a keyword, or of a standard name.
fn matching(word: &str) -> Option<Vec<CipherSuite>> {
    let fits = |suite: &CipherSuite| {
        let name = suite.name().unwrap_or_default();
        match word {
            "ALL" | "DEFAULT" => true,
            "AES" => name.contains("_AES_"),
            "AES128" => name.contains("_AES_128_"),
            "AES256" => name.contains("_AES_256_"),
            word => name == word,
        }
    };
    let known = ["ALL", "DEFAULT", "AES", "AES128", "AES256", "3DES"].contains(&word);
    (known || word.starts_with("TLS_")).then(|| all().into_iter().filter(fits).collect())
}

/// The TLS 1.2 suites of the library in BoringSSL's order.
pub(crate) fn all() -> Vec<CipherSuite> {
    let mut suites = vec![
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    ];
    let chacha = [
        CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
        CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    ];
    let place = if has_fast_aes() { suites.len() } else { 0 };
    suites.splice(place..place, chacha);
    suites
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_brackets_and_exclusions_are_parsed() {
        let chacha = CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256;
        let aes_128 = CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256;
        let aes_256 = CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384;
        let bracket = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256:TLS_RSA_WITH_AES_128_CBC_SHA:\
            [TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384|TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256]";
        assert_eq!(suites(bracket), Some(vec![vec![aes_128], vec![aes_256, chacha]]));
        let without_aes = suites("DEFAULT:!AES").unwrap().concat();
        assert!(without_aes.contains(&chacha) && without_aes.len() == 2);
        assert_eq!(suites("ALL:3DES").unwrap().concat(), all());
        assert_eq!(suites("AES128").unwrap().len(), 2);
    }

    #[test]
    fn empty_results_and_unknown_words_are_refused() {
        assert_eq!(suites("TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA"), None);
        assert_eq!(suites("HIGH"), None);
    }
}
