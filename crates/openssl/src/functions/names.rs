//! Lists of names in the form of the ALPN extension: each after its length.

const NEGOTIATED: i32 = 1;
const NO_OVERLAP: i32 = 2;

/// The names of a list. `None` if it is malformed.
pub(crate) fn parse(mut list: &[u8]) -> Option<Vec<&[u8]>> {
    let mut names = Vec::new();
    while let Some((length, rest)) = list.split_first() {
        let (name, rest) = rest.split_at_checked(usize::from(*length))?;
        if name.is_empty() {
            return None;
        }
        names.push(name);
        list = rest;
    }
    Some(names)
}

/// The names of a list up to a malformed one, with empty ones.
fn prefix(mut list: &[u8]) -> impl Iterator<Item = &[u8]> {
    core::iter::from_fn(move || {
        let (length, rest) = list.split_first()?;
        let (name, rest) = rest.split_at_checked(usize::from(*length))?;
        list = rest;
        Some(name)
    })
}

/// The first name of the server's list that the client has, or else the client's first. `None` if
/// the client's list does not begin with a name. As in OpenSSL, what follows a malformed name is
/// ignored.
pub(crate) fn select_protocol<'a>(server: &'a [u8], client: &'a [u8]) -> (Option<&'a [u8]>, i32) {
    let Some(first) = prefix(client).next().filter(|name| !name.is_empty()) else {
        return (None, NO_OVERLAP);
    };
    let mut names = prefix(server).filter(|name| !name.is_empty());
    match names.find(|name| prefix(client).any(|own| own == *name)) {
        Some(name) => (Some(name), NEGOTIATED),
        None => (Some(first), NO_OVERLAP),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_order_decides() {
        let (http, both) = (&b"\x08http/1.1"[..], &b"\x08http/1.1\x02h2"[..]);
        let select = select_protocol;
        assert_eq!(select(b"\x02h2\x08http/1.1", both), (Some(&b"h2"[..]), NEGOTIATED));
        assert_eq!(select(b"\x02h2", http), (Some(&b"http/1.1"[..]), NO_OVERLAP));
        assert_eq!(select(b"\x02h2", b""), (None, NO_OVERLAP));
        assert_eq!(parse(b"\x02h"), None);
        assert_eq!(parse(b"\x00"), None);
    }
}
