//! Reads version, suite, group and alerts from the recorded plaintext of a handshake.
//!
//! The parser shares no code with Tercel, so that both cannot have the same mistake. `run.rs`
//! compares its results with the expectations of a cell.

/// The negotiated parameters that are sent in plaintext.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Negotiated {
    pub(crate) version: u16,
    pub(crate) suite: u16,
    /// The group. It is absent if a TLS 1.2 handshake ends before the server's key exchange.
    pub(crate) group: Option<u16>,
    /// Whether the server sent a HelloRetryRequest first.
    pub(crate) retried: bool,
}

/// Parses the ServerHello, and in TLS 1.2 the ServerKeyExchange, of the bytes that the server sent.
pub(crate) fn negotiated(from_server: &[u8]) -> Option<Negotiated> {
    let stream = handshake_stream(from_server);
    let mut rest = stream.as_slice();
    let mut found: Option<Negotiated> = None;
    while let Some((kind, body, after)) = message(rest) {
        rest = after;
        match (kind, &mut found) {
            (SERVER_HELLO, _) => {
                let retried = found.is_some_and(|earlier| earlier.retried);
                let hello = server_hello(body)?;
                found = Some(Negotiated { retried: retried || hello.retried, ..hello });
                // In TLS 1.3 the messages after the ServerHello are encrypted. RFC 9846 2
                if hello.version == TLS13 && !hello.retried {
                    break;
                }
            }
            (SERVER_KEY_EXCHANGE, Some(found)) => {
                // The group is a named curve, because no other form is used. RFC 8422 5.4
                found.group = body.get(1..3).map(|code| u16::from_be_bytes([code[0], code[1]]));
            }
            (SERVER_HELLO_DONE, _) => break,
            _ => {}
        }
    }
    // A HelloRetryRequest alone negotiates nothing: a ServerHello must follow.
    found.filter(|found| found.version != 0)
}

/// Whether the server resumed a session; `None` without a ServerHello.
///
/// In TLS 1.3 the server then selects a pre-shared key (RFC 9846 4.3.11). In TLS 1.2 it sends no
/// certificate (RFC 5246 7.3).
pub(crate) fn resumed(from_server: &[u8]) -> Option<bool> {
    let agreed = negotiated(from_server)?;
    let stream = handshake_stream(from_server);
    let messages = || messages(&stream);
    if agreed.version == TLS13 {
        let hellos = messages().filter(|(kind, _)| *kind == SERVER_HELLO);
        let (_, last) = hellos.last()?;
        return Some(server_extensions(last)?.any(|(kind, _)| kind == PRE_SHARED_KEY));
    }
    Some(!messages().any(|(kind, _)| kind == CERTIFICATE || kind == SERVER_KEY_EXCHANGE))
}

/// TLS 1.2: whether the server issued a ticket. RFC 5077 3.3
pub(crate) fn gives_ticket(from_server: &[u8]) -> bool {
    messages(&handshake_stream(from_server)).any(|(kind, _)| kind == NEW_SESSION_TICKET)
}

/// TLS 1.3: the length of the first identity that the client's last ClientHello offers.
/// RFC 9846 4.3.11
pub(crate) fn psk_identity_length(from_client: &[u8]) -> Option<usize> {
    let offered = client_extension(from_client, PRE_SHARED_KEY)?;
    offered.get(2..).and_then(number).map(usize::from)
}

/// The compression algorithms in the client's last ClientHello. RFC 8879 3
pub(crate) fn offered_compressions(from_client: &[u8]) -> Vec<u16> {
    let offered = client_extension(from_client, COMPRESS_CERTIFICATE).unwrap_or_default();
    offered.get(1..).unwrap_or_default().chunks_exact(2).filter_map(number).collect()
}

/// The description of a fatal alert in plaintext, if there is one.
pub(crate) fn alert(recorded: &[u8]) -> Option<u8> {
    records(recorded).take_while(|(kind, _)| *kind != APPLICATION_DATA).find_map(|(kind, body)| {
        match body {
            // An encrypted TLS 1.2 alert is longer than two bytes, so it does not match.
            [FATAL, description] if kind == ALERT => Some(*description),
            _ => None,
        }
    })
}

/// The length of the longest protected record.
pub(crate) fn longest_record(recorded: &[u8]) -> Option<usize> {
    let protected = records(recorded).filter(|(kind, _)| *kind == APPLICATION_DATA);
    protected.map(|(_, body)| body.len()).max()
}

fn records(mut bytes: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        let (header, rest) = bytes.split_at_checked(5)?;
        let length = usize::from(u16::from_be_bytes([header[3], header[4]]));
        let (body, after) = rest.split_at_checked(length)?;
        bytes = after;
        Some((header[0], body))
    })
}

fn handshake_stream(recorded: &[u8]) -> Vec<u8> {
    records(recorded)
        .take_while(|(kind, _)| *kind != APPLICATION_DATA)
        .filter(|(kind, _)| *kind == HANDSHAKE)
        .flat_map(|(_, body)| body.iter().copied())
        .collect()
}

fn message(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (header, rest) = bytes.split_at_checked(4)?;
    let length = u32::from_be_bytes([0, header[1], header[2], header[3]]) as usize;
    let (body, after) = rest.split_at_checked(length)?;
    Some((header[0], body, after))
}

/// All complete messages.
fn messages(mut stream: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        let (kind, body, after) = message(stream)?;
        stream = after;
        Some((kind, body))
    })
}

fn number(at: &[u8]) -> Option<u16> {
    Some(u16::from_be_bytes([*at.first()?, *at.get(1)?]))
}

/// The complete extensions of a list without its length.
fn extensions_in(mut list: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (kind, length) = (number(list)?, number(list.get(2..)?)?);
        let (value, rest) = list.get(4..)?.split_at_checked(usize::from(length))?;
        list = rest;
        Some((kind, value))
    })
}

/// An extension of the client's last ClientHello.
fn client_extension(from_client: &[u8], wanted: u16) -> Option<Vec<u8>> {
    let stream = handshake_stream(from_client);
    let (_, hello) = messages(&stream).filter(|(kind, _)| *kind == CLIENT_HELLO).last()?;
    let after_session_id = hello.get(35 + usize::from(*hello.get(34)?)..)?;
    let after_suites = after_session_id.get(2 + usize::from(number(after_session_id)?)..)?;
    let extensions = after_suites.get(1 + usize::from(*after_suites.first()?)..)?;
    let (_, value) = extensions_in(extensions.get(2..)?).find(|(kind, _)| *kind == wanted)?;
    Some(value.to_vec())
}

/// The fields after the session ID: suite, compression method, length, extensions.
fn after_session_id(server_hello: &[u8]) -> Option<&[u8]> {
    server_hello.get(35 + usize::from(*server_hello.get(34)?)..)
}

fn server_extensions(server_hello: &[u8]) -> Option<impl Iterator<Item = (u16, &[u8])>> {
    Some(extensions_in(after_session_id(server_hello)?.get(5..).unwrap_or_default()))
}

fn server_hello(body: &[u8]) -> Option<Negotiated> {
    let mut hello = Negotiated {
        version: number(body)?,
        suite: number(after_session_id(body)?)?,
        group: None,
        retried: body.get(2..34)? == HELLO_RETRY_REQUEST,
    };
    for (kind, value) in server_extensions(body)? {
        match kind {
            SUPPORTED_VERSIONS => hello.version = number(value)?,
            KEY_SHARE => hello.group = number(value),
            _ => {}
        }
    }
    Some(hello)
}

const TLS13: u16 = 0x0304;
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;
const FATAL: u8 = 2;
const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
const NEW_SESSION_TICKET: u8 = 4;
const CERTIFICATE: u8 = 11;
const SERVER_KEY_EXCHANGE: u8 = 12;
const SERVER_HELLO_DONE: u8 = 14;
const COMPRESS_CERTIFICATE: u16 = 27;
const SUPPORTED_VERSIONS: u16 = 43;
const PRE_SHARED_KEY: u16 = 41;
const KEY_SHARE: u16 = 51;

/// The random that marks a ServerHello as a HelloRetryRequest. RFC 9846 4.2.3
const HELLO_RETRY_REQUEST: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
    0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u8, body: &[u8]) -> Vec<u8> {
        let length = u16::try_from(body.len()).unwrap().to_be_bytes();
        [&[kind, 3, 3], &length[..], body].concat()
    }

    fn framed(kind: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len()).unwrap().to_be_bytes();
        [&[kind], &length[1..], body].concat()
    }

    fn hello(random: &[u8; 32], suite: [u8; 2], extensions: &[u8]) -> Vec<u8> {
        let length = u16::try_from(extensions.len()).unwrap().to_be_bytes();
        let body = [&[3, 3][..], random, &[1, 9], &suite, &[0], &length, extensions].concat();
        framed(SERVER_HELLO, &body)
    }

    #[test]
    fn tls13_parameters_are_read_after_a_retry() {
        let retry =
            hello(&HELLO_RETRY_REQUEST, [0x13, 1], &[0, 43, 0, 2, 3, 4, 0, 51, 0, 2, 0, 24]);
        let share = [0, 51, 0, 5, 0, 24, 0, 1, 7, 0, 43, 0, 2, 3, 4];
        let proper = hello(&[1; 32], [0x13, 1], &share);
        let sent =
            [record(22, &retry), record(20, &[1]), record(22, &proper), record(23, &[9; 40])];
        assert_eq!(
            negotiated(&sent.concat()),
            Some(Negotiated { version: TLS13, suite: 0x1301, group: Some(24), retried: true })
        );
    }

    #[test]
    fn tls12_parameters_are_read_from_split_records() {
        let stream = [
            hello(&[1; 32], [0xc0, 0x2f], &[0, 23, 0, 0]),
            framed(SERVER_KEY_EXCHANGE, &[3, 0, 29, 1, 2]),
            framed(SERVER_HELLO_DONE, &[]),
        ]
        .concat();
        let (first, second) = stream.split_at(20);
        let sent = [record(22, first), record(22, second), record(20, &[1]), record(22, &[5; 40])];
        assert_eq!(
            negotiated(&sent.concat()),
            Some(Negotiated { version: 0x0303, suite: 0xc02f, group: Some(29), retried: false })
        );
    }

    #[test]
    fn only_fatal_alerts_in_plaintext_are_found() {
        assert_eq!(alert(&record(21, &[2, 70])), Some(70));
        assert_eq!(alert(&record(21, &[1, 0])), None);
        assert_eq!(alert(&[record(23, &[0; 9]), record(21, &[2, 70])].concat()), None);
        assert_eq!(alert(&record(21, &[2, 70])[..6]), None);
    }

    #[test]
    fn only_complete_protected_records_are_measured() {
        let sent = [record(22, &[0; 90]), record(23, &[0; 40]), record(23, &[0; 50])].concat();
        assert_eq!(longest_record(&sent), Some(50));
        assert_eq!(longest_record(&sent[..sent.len() - 1]), Some(40));
        assert_eq!(longest_record(&[]), None);
    }

    #[test]
    fn tls13_resumption_is_a_selected_key_in_the_last_server_hello() {
        let chosen = [0, 41, 0, 2, 0, 0, 0, 43, 0, 2, 3, 4];
        let retry = record(22, &hello(&HELLO_RETRY_REQUEST, [0x13, 1], &[0, 43, 0, 2, 3, 4]));
        let resumed_hello = record(22, &hello(&[1; 32], [0x13, 1], &chosen));
        let full_hello = record(22, &hello(&[1; 32], [0x13, 1], &[0, 43, 0, 2, 3, 4]));
        assert_eq!(resumed(&resumed_hello), Some(true));
        assert_eq!(resumed(&full_hello), Some(false));
        assert_eq!(resumed(&[retry.clone(), resumed_hello].concat()), Some(true));
        assert_eq!(resumed(&[retry.clone(), full_hello].concat()), Some(false));
        assert_eq!(resumed(&retry[..20]), None);
    }

    #[test]
    fn tls12_resumption_has_no_certificate_and_may_have_a_ticket() {
        let hello = hello(&[1; 32], [0xc0, 0x2f], &[0, 23, 0, 0]);
        let ticket = framed(NEW_SESSION_TICKET, &[0, 0, 0, 9, 0, 1, 7]);
        let full = [hello.clone(), framed(CERTIFICATE, &[0, 0, 0]), ticket.clone()].concat();
        assert_eq!(resumed(&record(22, &full)), Some(false));
        assert_eq!(resumed(&record(22, &hello)), Some(true));
        assert_eq!(resumed(&record(22, &[hello.clone(), ticket].concat())), Some(true));
        assert!(gives_ticket(&record(22, &full)));
        assert!(!gives_ticket(&record(22, &hello)));
    }

    #[test]
    fn offered_identity_length_and_compressions_are_read() {
        let offered = [0, 27, 0, 5, 4, 0, 2, 0, 1, 0, 41, 0, 7, 0, 9, 0, 3, 1, 2, 3];
        let extensions = [&[0, 43, 0, 3, 2, 3, 4][..], &offered].concat();
        let length = u16::try_from(extensions.len()).unwrap().to_be_bytes();
        let start = [&[3, 3][..], &[1; 32], &[2, 8, 8], &[0, 2, 0x13, 1], &[1, 0]].concat();
        let body = [start.clone(), length.to_vec(), extensions].concat();
        let whole = record(22, &framed(CLIENT_HELLO, &body));
        assert_eq!(psk_identity_length(&whole), Some(3));
        assert_eq!(offered_compressions(&whole), [2, 1]);
        let without = [start, vec![0, 0]].concat();
        let without = record(22, &framed(CLIENT_HELLO, &without));
        assert_eq!(psk_identity_length(&without), None);
        assert!(offered_compressions(&without).is_empty());
    }

    #[test]
    fn truncated_recordings_give_no_results() {
        let whole = record(22, &hello(&[1; 32], [0x13, 1], &[0, 43, 0, 2, 3, 4]));
        assert!(negotiated(&whole).is_some());
        for length in 0..whole.len() {
            assert_eq!(negotiated(&whole[..length]), None);
        }
    }
}
