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

/// The first name of the server's list that the client has, or else the client's first.
pub(crate) fn select_protocol<'a>(server: &'a [u8], client: &'a [u8]) -> (&'a [u8], i32) {
    let (server, client) = (parse(server).unwrap_or_default(), parse(client).unwrap_or_default());
    match server.iter().find(|name| client.contains(name)) {
        Some(name) => (name, NEGOTIATED),
        None => (client.first().copied().unwrap_or_default(), NO_OVERLAP),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_order_decides() {
        let (http, both) = (&b"\x08http/1.1"[..], &b"\x08http/1.1\x02h2"[..]);
        assert_eq!(select_protocol(b"\x02h2\x08http/1.1", both), (&b"h2"[..], NEGOTIATED));
        assert_eq!(select_protocol(b"\x02h2", http), (&b"http/1.1"[..], NO_OVERLAP));
        assert_eq!(select_protocol(b"\x02h2", b""), (&b""[..], NO_OVERLAP));
        assert_eq!(parse(b"\x02h"), None);
        assert_eq!(parse(b"\x00"), None);
    }
}
