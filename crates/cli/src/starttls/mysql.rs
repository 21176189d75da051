//! MySQL and MariaDB: the initial handshake packet, and the SSL request that answers it.
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase.html>,
//! <https://mariadb.com/kb/en/connection/>

use std::io::{Read, Write};

use super::dialogue::Dialogue;
use super::error::StarttlsError;

pub(super) fn begin<S: Read + Write>(dialogue: &mut Dialogue<'_, S>) -> Result<(), StarttlsError> {
    let header = dialogue.bytes(4)?;
    let Some((length, 0)) = read_header(&header) else {
        return Err(StarttlsError::not(MYSQL, header));
    };
    // A packet of this kind has some hundred bytes. A greater length is text of another protocol.
    if length > MAX_GREETING {
        return Err(StarttlsError::not(MYSQL, header));
    }
    let greeting = dialogue.bytes(length)?;
    match greeting.split_first() {
        Some((&PROTOCOL_10, rest)) => match capabilities(rest) {
            Some(capabilities) if capabilities & CLIENT_SSL != 0 => {}
            Some(_) => return Err(StarttlsError::not_offered(server_version(rest))),
            None => return Err(StarttlsError::not(MYSQL, &greeting)),
        },
        // ERR packet: a code of two bytes and a message.
        Some((0xff, error)) => {
            return Err(StarttlsError::refused(error.get(2..).unwrap_or_default()));
        }
        _ => return Err(StarttlsError::not(MYSQL, &greeting)),
    }
    dialogue.send(ssl_request())
}

/// The length of a packet and its sequence number.
fn read_header(header: &[u8]) -> Option<(usize, u8)> {
    let [low, middle, high, sequence] = *header else { return None };
    let length = usize::from(low) | usize::from(middle) << 8 | usize::from(high) << 16;
    Some((length, sequence))
}

/// The lower half of the server's capabilities. They follow the server's version, the number of the
/// connection (4 bytes), the first part of the challenge (8 bytes) and a zero.
fn capabilities(greeting: &[u8]) -> Option<u16> {
    let rest = greeting.get(server_version(greeting).len() + 1..)?;
    let bytes = rest.get(13..15)?;
    Some(u16::from_le_bytes(bytes.try_into().ok()?))
}

fn server_version(greeting: &[u8]) -> &[u8] {
    greeting.split(|&byte| byte == 0).next().unwrap_or_default()
}

/// The start of a handshake response, which ends before the user's name.
fn ssl_request() -> Vec<u8> {
    let mut packet = vec![32, 0, 0, 1];
    packet.extend(u32::from(CLIENT_SSL).wrapping_add(OTHER_CAPABILITIES).to_le_bytes());
    packet.extend(MAX_PACKET.to_le_bytes());
    packet.push(UTF8MB4);
    packet.extend([0; 23]);
    packet
}

const MYSQL: &str = "MySQL";

const PROTOCOL_10: u8 = 10;

const CLIENT_SSL: u16 = 0x0800;

/// CLIENT_PROTOCOL_41, CLIENT_SECURE_CONNECTION, CLIENT_PLUGIN_AUTH.
const OTHER_CAPABILITIES: u32 = 0x0200 | 0x8000 | 0x0008_0000;

const MAX_PACKET: u32 = 1 << 24;

/// The number of the collation utf8mb4_general_ci.
const UTF8MB4: u8 = 45;

const MAX_GREETING: usize = 4 << 10;

#[cfg(test)]
mod tests {
    use super::super::Protocol::Mysql;
    use super::super::script::Step::{self, Expect, Send};
    use super::super::script::{check, run};

    const REQUEST: &[u8] = &[
        32, 0, 0, 1, 0x00, 0x8a, 0x08, 0, 0, 0, 0, 1, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0,
    ];

    fn packet(content: &[u8]) -> Vec<u8> {
        let length = u8::try_from(content.len()).unwrap();
        [&[length, 0, 0, 0], content].concat()
    }

    fn greeting(capabilities: [u8; 2]) -> Vec<u8> {
        let start = b"\x0a8.4.1-test\0\x01\0\0\0challeng\0";
        packet(&[start, &capabilities[..], b"\x2d\x02\0\xff\xdf\x15rest\0"].concat())
    }

    #[test]
    fn the_server_offers_tls_in_its_greeting() {
        check(Mysql, &[Send(&greeting([0xff, 0xff])), Expect(REQUEST)]);
        let absent = run(Mysql, &[Send(&greeting([0xff, 0xf7]))]).unwrap_err().to_string();
        assert_eq!(absent, "the server does not offer STARTTLS; it answered `8.4.1-test`");
    }

    #[test]
    fn errors_and_other_protocols_are_quoted() {
        let blocked = packet(b"\xff\x69\x04Host is blocked");
        let refused = run(Mysql, &[Send(&blocked)]).unwrap_err().to_string();
        assert!(refused.ends_with("it answered `Host is blocked`"), "{refused}");
        let truncated = packet(b"\x0a8.4");
        let steps: [(&[Step<'_>], &str); 2] =
            [(&[Send(b"220 mx ESMTP\r\n")], "220"), (&[Send(&truncated)], "8.4")];
        for (steps, quoted) in steps {
            let refused = run(Mysql, steps).unwrap_err().to_string();
            assert!(refused.starts_with("the server does not speak MySQL"), "{refused}");
            assert!(refused.contains(quoted), "{refused}");
        }
    }
}
