//! Parsing of store URLs.

#[cfg(feature = "redis")]
use redis::IntoConnectionInfo;

/// Whether the URL contains a password.
#[cfg(feature = "redis")]
pub(crate) fn has_password(url: &str) -> bool {
    let info = split_tls(url).0.as_str().into_connection_info();
    info.is_ok_and(|info| info.redis_settings().password().is_some())
}

/// Whether the URL may contain a password.
#[cfg(not(feature = "redis"))]
pub(crate) fn has_password(url: &str) -> bool {
    url.contains('@')
}

/// The URL in a form that the client library parses, and whether its scheme requires TLS.
#[cfg(feature = "redis")]
pub(crate) fn split_tls(url: &str) -> (String, bool) {
    for scheme in ["rediss://", "valkeys://"] {
        if let Some(rest) = url.strip_prefix(scheme) {
            return (format!("redis://{rest}"), true);
        }
    }
    (url.to_owned(), false)
}

#[cfg(all(test, feature = "redis"))]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_an_address_is_seen() {
        for (url, has) in [
            ("redis://user:word@store.example", true),
            ("rediss://:word@store.example:7000/3", true),
            ("redis://store.example", false),
            ("redis://user@store.example", false),
            ("no address", false),
        ] {
            assert_eq!(has_password(url), has, "{url}");
        }
    }
}
