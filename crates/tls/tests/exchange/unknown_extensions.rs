//! ClientHellos with many extensions. `tests/work` uses this file, too.

/// Adds empty extensions of unknown types to the ClientHello in this record, and divides it into
/// records.
pub(crate) fn with_unknown_extensions(record: &[u8], bytes: usize) -> Vec<u8> {
    let message = &record[5..];
    let mut at = 4 + 2 + 32;
    at += 1 + usize::from(message[at]);
    at += 2 + usize::from(u16::from_be_bytes([message[at], message[at + 1]]));
    at += 1 + usize::from(message[at]);
    let own = &message[at + 2..];
    let unknown = (0x2000_u16..0xf000).rev().take(bytes / 4);
    let unknown: Vec<u8> =
        unknown.flat_map(|kind| [&kind.to_be_bytes()[..], &[0, 0]].concat()).collect();
    let extensions = [own, &unknown].concat();
    let length = u16::try_from(extensions.len()).unwrap().to_be_bytes();
    let body = [&message[4..at], &length, &extensions].concat();
    let length = u32::try_from(body.len()).unwrap().to_be_bytes();
    let message = [&[1], &length[1..], &body].concat();
    let records = message.chunks(1 << 14).map(|piece| {
        let length = u16::try_from(piece.len()).unwrap().to_be_bytes();
        [&[22, 3, 3], &length[..], piece].concat()
    });
    records.collect::<Vec<_>>().concat()
}
