//! The URL of a server: `https://HOST[:PORT]/PATH`, or `HOST:PORT`.

use std::str::FromStr;

use crate::target::Target;

/// A server and the path of the requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Url {
    pub(crate) target: Target,
    /// The value of the Host field. RFC 9112 3.2
    pub(crate) authority: String,
    pub(crate) path: String,
}

impl FromStr for Url {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rest = match text.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => rest,
            Some(_) => return Err("the scheme must be https".to_owned()),
            None => text,
        };
        let (authority, path) = rest.find('/').map_or((rest, "/"), |start| rest.split_at(start));
        if path.bytes().any(|byte| !byte.is_ascii_graphic() || byte == b'#') {
            return Err("the path has characters that must be percent-encoded".to_owned());
        }
        let has_port = authority.rsplit(']').next().is_some_and(|end| end.contains(':'));
        let target = match (has_port, rest.len() < text.len()) {
            (true, _) => authority.parse()?,
            (false, true) => format!("{authority}:443").parse()?,
            (false, false) => return Err("must be a URL or HOST:PORT".to_owned()),
        };
        Ok(Self { target, authority: authority.to_owned(), path: path.to_owned() })
    }
}

impl std::fmt::Display for Url {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "https://{}{}", self.authority, self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_and_addresses() {
        let parts = |text: &str| {
            let url: Url = text.parse().ok()?;
            Some((url.target.host, url.target.port, url.authority, url.path))
        };
        let expected = |host: &str, port, authority: &str, path: &str| {
            Some((host.to_owned(), port, authority.to_owned(), path.to_owned()))
        };
        assert_eq!(parts("a:8443"), expected("a", 8443, "a:8443", "/"));
        assert_eq!(parts("https://a"), expected("a", 443, "a", "/"));
        assert_eq!(parts("HTTPS://a:1/b?c=d"), expected("a", 1, "a:1", "/b?c=d"));
        assert_eq!(parts("https://[::1]/"), expected("::1", 443, "[::1]", "/"));
        assert_eq!(parts("[::1]:5/x"), expected("::1", 5, "[::1]:5", "/x"));
        for wrong in ["a", "http://a/", "https://", "https://:1/", "a:1/b c", "a:1/#b", "a:1/\r\n"]
        {
            assert_eq!(parts(wrong), None, "{wrong:?}");
        }
    }
}
