//! Inputs of a terminator and its fleet: PROXY headers, ClientHellos, configurations, ticket keys
//! from files and stores.

use tercel::session::TicketKeySet;
use tercel_fleet::{opened_from_store, sealed_for_store, ticket_keys_in_file};
use tercel_proxy::Config;

/// Parses a header of the PROXY protocol and the bytes after it. Returns whether the header is
/// valid.
///
/// Checks that bytes after the header do not affect the result, and that no prefix of the header is
/// accepted.
pub fn proxy_header(input: &[u8]) -> bool {
    let Some((ends, length)) = tercel_proxy::read_proxy_header(input) else { return false };
    let (header, _) = input.split_at(length);
    assert_eq!(
        tercel_proxy::read_proxy_header(header),
        Some((ends, length)),
        "bytes after the header matter"
    );
    for shorter in 0..length {
        let cut = input.get(..shorter).expect("shorter");
        assert_eq!(tercel_proxy::read_proxy_header(cut), None, "{shorter} of {length} bytes");
    }
    assert!(length <= 16 + 4096, "{length} bytes");
    if let Some([source, destination]) = ends {
        assert_eq!(source.is_ipv4(), destination.is_ipv4());
    }
    true
}

/// Reads the ClientHello of a connection that is relayed by its server name. The first byte is the
/// size of the pieces in which the other bytes are received. Returns whether a route is selected.
///
/// Checks that the size of the pieces does not affect the result, and that no byte is lost.
pub fn passthrough_hello(input: &[u8]) -> bool {
    let Some((piece, bytes)) = input.split_first() else { return false };
    let whole = tercel_proxy::read_client_hello(bytes, usize::MAX);
    let divided = tercel_proxy::read_client_hello(bytes, usize::from(*piece).max(1));
    let names = [&whole, &divided].map(|read| read.as_ref().map(|(name, _)| name));
    assert_eq!(names[0], names[1], "pieces of {piece} bytes");
    let (Some((name, all)), Some((_, needed))) = (whole, divided) else { return false };
    assert!(needed <= all && all == bytes.len().min(16 * 1024), "{needed} of {all} bytes");
    assert!(name.is_none_or(|name| !name.is_empty() && name.len() <= 255));
    true
}

/// Parses a terminator's configuration. Returns whether it is valid; an error must be one line.
pub fn proxy_config(input: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(input) else { return false };
    match Config::parse("fuzz.toml", text) {
        Ok(config) => {
            assert!(!config.listeners.is_empty());
            assert!(config.listeners.iter().all(|listener| !listener.routes.is_empty()));
            true
        }
        Err(fault) => {
            let line = fault.to_string();
            assert!(line.starts_with("fuzz.toml: "), "{line}");
            assert!(!line.chars().any(char::is_control), "{line:?}");
            false
        }
    }
}

/// Parses ticket keys of a fleet. The first byte selects whether they are read from a file, from
/// the store as they are, or from the store after sealing. Returns whether they are valid.
pub fn fleet_keys(input: &[u8]) -> bool {
    let Some((way, bytes)) = input.split_first() else { return false };
    let secret = [7; 32];
    match way % 3 {
        0 => ticket_keys_in_file(bytes).is_some_and(|set| {
            let begins = set.current().not_before();
            assert!(set.next().is_none_or(|next| next.not_before() >= begins));
            assert!(set.previous().is_none_or(|previous| previous.not_before() <= begins));
            // The encoding of a valid set is also a valid file.
            let again = ticket_keys_in_file(&set.to_bytes()).expect("the other form");
            assert_eq!(*again.to_bytes(), *set.to_bytes());
            true
        }),
        1 => {
            // Bytes that the secret opens cannot be made without the secret.
            assert!(opened_from_store(&secret, bytes).is_none(), "a forgery");
            false
        }
        _ => {
            let Some((number, content)) = bytes.split_first_chunk::<8>() else { return false };
            let number = u64::from_be_bytes(*number);
            let sealed = sealed_for_store(&secret, number, content).expect("randomness");
            let opened = opened_from_store(&secret, &sealed);
            let meant = TicketKeySet::from_bytes(content).ok().filter(|set| set.next().is_some());
            assert_eq!(opened.is_some(), meant.is_some());
            if let (Some((own, set)), Some(meant)) = (&opened, meant) {
                assert_eq!((*own, &**set.to_bytes()), (number, &**meant.to_bytes()));
            }
            assert!(opened_from_store(&[8; 32], &sealed).is_none(), "under another secret");
            opened.is_some()
        }
    }
}
