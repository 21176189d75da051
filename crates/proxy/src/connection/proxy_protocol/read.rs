//! Parses PROXY headers of load balancers.
//!
//! The parser reads no byte after the header, because the TLS records follow.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::io::{AsyncRead, AsyncReadExt};

use super::{Addresses, LOCAL, PROXY, SIGNATURE, TCP4, TCP6};

/// Maximum length of a version 1 line, including CRLF. Section 2.1
const MAX_V1_LENGTH: usize = 107;

/// Maximum length of the addresses and TLVs of version 2.
const MAX_V2_LENGTH: usize = 4096;

/// Reads a header of either version. `None`: the header has no addresses (LOCAL or UNKNOWN).
pub(crate) async fn header<R: AsyncRead + Unpin>(reader: &mut R) -> io::Result<Option<Addresses>> {
    // The headers of both versions are longer than this.
    let mut start = [0; SIGNATURE.len()];
    reader.read_exact(&mut start).await?;
    if start == SIGNATURE {
        return version2(reader).await;
    }
    if !start.starts_with(b"PROXY ") {
        return Err(malformed("missing PROXY header"));
    }
    let mut line = start.to_vec();
    while !line.ends_with(b"\r\n") {
        if line.len() >= MAX_V1_LENGTH {
            return Err(malformed("PROXY header line is too long"));
        }
        line.push(reader.read_u8().await?);
    }
    let text = line.strip_suffix(b"\r\n").unwrap_or_default();
    version1(text).ok_or_else(|| malformed("malformed PROXY header line"))
}

fn version1(line: &[u8]) -> Option<Option<Addresses>> {
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split(' ').skip(1);
    let is_v6 = match words.next()? {
        // The rest of the line is ignored.
        "UNKNOWN" => return Some(None),
        "TCP4" => false,
        "TCP6" => true,
        _ => return None,
    };
    let mut address = || {
        let address: IpAddr = words.next()?.parse().ok()?;
        (address.is_ipv6() == is_v6).then_some(address)
    };
    let (source, destination) = (address()?, address()?);
    let mut port = || {
        let word = words.next()?;
        // A port has only digits, without sign or leading zero.
        let plain = word.bytes().all(|byte| byte.is_ascii_digit());
        let plain = plain && (word == "0" || !word.starts_with('0'));
        if plain { word.parse::<u16>().ok() } else { None }
    };
    let (source_port, destination_port) = (port()?, port()?);
    if words.next().is_some() {
        return None;
    }
    Some(Some(Addresses {
        source: SocketAddr::new(source, source_port),
        destination: SocketAddr::new(destination, destination_port),
    }))
}

async fn version2<R: AsyncRead + Unpin>(reader: &mut R) -> io::Result<Option<Addresses>> {
    let command = reader.read_u8().await?;
    let family = reader.read_u8().await?;
    let length = usize::from(reader.read_u16().await?);
    if length > MAX_V2_LENGTH {
        return Err(malformed("PROXY header is too long"));
    }
    let mut rest = vec![0; length];
    reader.read_exact(&mut rest).await?;
    match command {
        LOCAL => Ok(None),
        PROXY => match family {
            TCP4 => Ok(Some(tcp4(&rest).ok_or_else(|| malformed("PROXY header is truncated"))?)),
            TCP6 => Ok(Some(tcp6(&rest).ok_or_else(|| malformed("PROXY header is truncated"))?)),
            // The family is AF_UNSPEC, or one that is not used here. Section 2.2
            _ => Ok(None),
        },
        _ => Err(malformed("unsupported PROXY header version or command")),
    }
}

fn tcp4(mut rest: &[u8]) -> Option<Addresses> {
    let source = Ipv4Addr::from(take::<4>(&mut rest)?);
    let destination = Ipv4Addr::from(take::<4>(&mut rest)?);
    addresses(source.into(), destination.into(), rest)
}

fn tcp6(mut rest: &[u8]) -> Option<Addresses> {
    let source = Ipv6Addr::from(take::<16>(&mut rest)?);
    let destination = Ipv6Addr::from(take::<16>(&mut rest)?);
    addresses(source.into(), destination.into(), rest)
}

fn addresses(source: IpAddr, destination: IpAddr, mut rest: &[u8]) -> Option<Addresses> {
    let source_port = u16::from_be_bytes(take(&mut rest)?);
    let destination_port = u16::from_be_bytes(take(&mut rest)?);
    Some(Addresses {
        source: SocketAddr::new(source, source_port),
        destination: SocketAddr::new(destination, destination_port),
    })
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, left) = rest.split_first_chunk()?;
    *rest = left;
    Some(*taken)
}

fn malformed(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(bytes: &[u8]) -> (io::Result<Option<Addresses>>, Vec<u8>) {
        let mut reader = bytes;
        let header = header(&mut reader).await;
        (header, reader.to_vec())
    }

    fn addresses(source: &str, destination: &str) -> Addresses {
        Addresses { source: source.parse().unwrap(), destination: destination.parse().unwrap() }
    }

    #[tokio::test]
    async fn version_1_lines_are_parsed() {
        for (line, expected) in [
            (
                "PROXY TCP4 192.0.2.1 198.51.100.2 5000 443\r\n",
                Some(addresses("192.0.2.1:5000", "198.51.100.2:443")),
            ),
            (
                "PROXY TCP6 2001:db8::1 ::2 65535 0\r\n",
                Some(addresses("[2001:db8::1]:65535", "[::2]:0")),
            ),
            ("PROXY UNKNOWN\r\n", None),
            ("PROXY UNKNOWN ffff:f... whatever 1 2\r\n", None),
        ] {
            let (header, rest) = read(&[line.as_bytes(), b"\x16\x03"].concat()).await;
            assert_eq!(header.unwrap(), expected, "{line}");
            assert_eq!(rest, b"\x16\x03");
        }
    }

    #[tokio::test]
    async fn malformed_version_1_lines_are_refused() {
        let long = format!("PROXY UNKNOWN {}\r\n", "x".repeat(100));
        for line in [
            "PROXY TCP4 192.0.2.1 198.51.100.2 5000\r\n",
            "PROXY TCP4 192.0.2.1 198.51.100.2 5000 443 1\r\n",
            "PROXY TCP4 192.0.2.1 ::1 5000 443\r\n",
            "PROXY TCP6 192.0.2.1 198.51.100.2 5000 443\r\n",
            "PROXY TCP4 192.0.2.1 198.51.100.2 +5000 443\r\n",
            "PROXY TCP4 192.0.2.1 198.51.100.2 05000 443\r\n",
            "PROXY TCP4 192.0.2.1 198.51.100.2 65536 443\r\n",
            "PROXY  TCP4 192.0.2.1 198.51.100.2 1 2\r\n",
            "PROXY UDP4 192.0.2.1 198.51.100.2 1 2\r\n",
            "proxy TCP4 192.0.2.1 198.51.100.2 1 2\r\n",
            "\x16\x03\x01\x02\x00\x01\x00\x01\u{1}\x03\x03abcdef",
            "PROXY TCP4 192.",
            "",
            long.as_str(),
        ] {
            assert!(read(line.as_bytes()).await.0.is_err(), "{line}");
        }
    }

    #[tokio::test]
    async fn version_2_headers_are_parsed() {
        let header = |command: u8, family: u8, rest: &[u8]| {
            let length = u16::try_from(rest.len()).unwrap().to_be_bytes();
            [SIGNATURE.as_slice(), &[command, family], &length, rest, b"\x16"].concat()
        };
        let v4 = [192, 0, 2, 1, 198, 51, 100, 2, 0x13, 0x88, 0x01, 0xbb];
        let expected = addresses("192.0.2.1:5000", "198.51.100.2:443");
        let (read4, rest) = read(&header(PROXY, TCP4, &v4)).await;
        assert_eq!((read4.unwrap(), rest), (Some(expected), b"\x16".to_vec()));
        // With TLVs after the addresses.
        let (read4, rest) =
            read(&header(PROXY, TCP4, &[&v4[..], &[1, 0, 2, 104, 50]].concat())).await;
        assert_eq!((read4.unwrap(), rest), (Some(expected), b"\x16".to_vec()));
        let (read_local, rest) = read(&header(LOCAL, 0, &[1; 7])).await;
        assert_eq!((read_local.unwrap(), rest), (None, b"\x16".to_vec()));
        assert_eq!(read(&header(PROXY, 0, &[])).await.0.unwrap(), None);
        for bad in [
            header(PROXY, TCP4, &v4[..11]),
            header(PROXY, TCP6, &[0; 35]),
            header(0x22, TCP4, &v4),
            header(0x31, TCP4, &v4),
            header(PROXY, TCP4, &[0; MAX_V2_LENGTH + 1]),
            header(PROXY, TCP4, &v4)[..20].to_vec(),
        ] {
            assert!(read(&bad).await.0.is_err(), "{bad:?}");
        }
    }
}
