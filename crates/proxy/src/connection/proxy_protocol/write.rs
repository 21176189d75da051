//! Builds PROXY headers of version 2 for backends.

use std::net::{IpAddr, Ipv6Addr};

use tercel::pki_types::CertificateDer;
use tercel::wire::{CipherSuite, ProtocolVersion};
use tercel::{ConnectionInfo, pki};

use super::{Addresses, PROXY, SIGNATURE, TCP4, TCP6};

/// TLV types. Section 2.2
const ALPN: u8 = 0x01;
const AUTHORITY: u8 = 0x02;
const SSL: u8 = 0x20;
/// The TLV type of the early data length, from the range for custom applications: the number of
/// bytes after the header that are early data forwarded before the handshake was complete, as a
/// 32-bit big-endian integer. Section 2.2.8
const EARLY_DATA: u8 = 0xe0;
const SSL_VERSION: u8 = 0x21;
const SSL_CN: u8 = 0x22;
const SSL_CIPHER: u8 = 0x23;

/// Flags of the `client` field: the client uses TLS; the client presented a certificate in this
/// connection; the client presented a certificate in this session. Section 2.2
const CLIENT_SSL: u8 = 0x01;
const CLIENT_CERT_CONN: u8 = 0x02;
const CLIENT_CERT_SESS: u8 = 0x04;

/// The header for a client with these addresses and negotiated parameters.
pub(crate) fn header(addresses: Addresses, info: &ConnectionInfo) -> Vec<u8> {
    with_values(addresses, |rest| {
        if let Some(protocol) = &info.alpn {
            push_tlv(ALPN, protocol, rest);
        }
        if let Some(name) = &info.server_name {
            push_tlv(AUTHORITY, name.as_bytes(), rest);
        }
        push_tlv(SSL, &ssl_tlv(info), rest);
    })
}

/// The header for a client with these addresses whose TLS is not terminated here.
pub(crate) fn passthrough_header(addresses: Addresses, server_name: Option<&str>) -> Vec<u8> {
    with_values(addresses, |rest| {
        if let Some(name) = server_name {
            push_tlv(AUTHORITY, name.as_bytes(), rest);
        }
    })
}

/// A header with these addresses, and the TLVs that `push` appends.
fn with_values(addresses: Addresses, push: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut rest = Vec::with_capacity(128);
    let family =
        match (addresses.source.ip().to_canonical(), addresses.destination.ip().to_canonical()) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                rest.extend(source.octets());
                rest.extend(destination.octets());
                TCP4
            }
            (source, destination) => {
                rest.extend(to_ipv6(source).octets());
                rest.extend(to_ipv6(destination).octets());
                TCP6
            }
        };
    rest.extend(addresses.source.port().to_be_bytes());
    rest.extend(addresses.destination.port().to_be_bytes());
    push(&mut rest);
    let mut header = SIGNATURE.to_vec();
    header.extend([PROXY, family]);
    // The length fits, because names and protocols are far shorter than 65536 bytes.
    header.extend(u16::try_from(rest.len()).unwrap_or(u16::MAX).to_be_bytes());
    header.append(&mut rest);
    header
}

/// Appends the early data length to a header.
pub(crate) fn add_early_data_length(header: &mut Vec<u8>, length: usize) {
    let before = header.len();
    push_tlv(EARLY_DATA, &u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes(), header);
    let added = u16::try_from(header.len().saturating_sub(before)).unwrap_or(0);
    let location = SIGNATURE.len().saturating_add(2);
    if let Some(length) = header.get_mut(location..).and_then(|rest| rest.first_chunk_mut::<2>()) {
        *length = u16::from_be_bytes(*length).saturating_add(added).to_be_bytes();
    }
}

fn ssl_tlv(info: &ConnectionInfo) -> Vec<u8> {
    let leaf = info.peer_chain().first();
    let certificate = match (leaf, info.resumed) {
        (None, _) => 0,
        (Some(_), true) => CLIENT_CERT_SESS,
        (Some(_), false) => CLIENT_CERT_CONN | CLIENT_CERT_SESS,
    };
    let mut content = vec![CLIENT_SSL | certificate];
    // `verify` is 0 if the client presented a certificate and it was verified.
    content.extend(u32::from(leaf.is_none()).to_be_bytes());
    let version = if info.version == ProtocolVersion::TLS1_3 { "TLSv1.3" } else { "TLSv1.2" };
    push_tlv(SSL_VERSION, version.as_bytes(), &mut content);
    push_tlv(SSL_CIPHER, cipher_name(info.cipher_suite).as_bytes(), &mut content);
    if let Some(name) = leaf.and_then(common_name) {
        push_tlv(SSL_CN, name.as_bytes(), &mut content);
    }
    content
}

/// Appends a TLV. A value of more than 1024 bytes is omitted; actual values are shorter.
fn push_tlv(kind: u8, content: &[u8], out: &mut Vec<u8>) {
    if let (Ok(length), ..=1024) = (u16::try_from(content.len()), content.len()) {
        out.push(kind);
        out.extend(length.to_be_bytes());
        out.extend(content);
    }
}

fn to_ipv6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

/// The name of a cipher suite. For TLS 1.2 it is OpenSSL's name, as in the specification's example.
fn cipher_name(suite: CipherSuite) -> String {
    let name = match suite {
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 => "ECDHE-ECDSA-AES128-GCM-SHA256",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 => "ECDHE-ECDSA-AES256-GCM-SHA384",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 => {
            "ECDHE-ECDSA-CHACHA20-POLY1305"
        }
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 => "ECDHE-RSA-AES128-GCM-SHA256",
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 => "ECDHE-RSA-AES256-GCM-SHA384",
        CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 => "ECDHE-RSA-CHACHA20-POLY1305",
        other => return other.to_string(),
    };
    name.to_owned()
}

/// The common name of the subject, for backends that decide by it. `None` also if it names a host
/// and name constraints, which limit an authority to some hosts, do not apply to it.
/// RFC 5280 4.1.2.6
fn common_name(certificate: &CertificateDer<'_>) -> Option<String> {
    let name = pki::constrained_common_name(certificate).ok()??;
    (name.len() <= MAX_COMMON_NAME).then_some(name)
}

/// The most bytes of a common name, which X.520 limits to 64 characters: the TLV that contains it
/// is not omitted.
const MAX_COMMON_NAME: usize = 256;

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, KeyPair};

    use super::*;

    /// The common name that backends see of a certificate with these names.
    fn seen(name: &str, hosts: &[&str]) -> Option<String> {
        let hosts: Vec<_> = hosts.iter().map(|host| (*host).to_owned()).collect();
        let mut params = CertificateParams::new(hosts).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        common_name(certificate.der())
    }

    /// RFC 5280 4.1.2.6
    #[test]
    fn a_common_name_names_no_host_that_constraints_have_not_seen() {
        let shown = |name: &str, hosts: &[&str]| seen(name, hosts).as_deref() == Some(name);
        assert!(shown("Alice", &[]) && shown("Alice", &["x.a.example"]));
        assert!(shown("admin.b.example", &[]));
        assert!(shown("X.a.example", &["y.a.example", "x.A.example"]));
        assert!(!shown("admin.b.example", &["x.a.example"]));
        // Programs may read these as hosts, and constraints do not apply to them.
        for unseen in ["admin.b.example.", "*.b.example", ".b.example", " admin.b.example"] {
            assert!(!shown(unseen, &[]) && !shown(unseen, &["x.a.example"]), "{unseen}");
        }
        assert!(shown("*.a.example", &["*.a.example"]));
        for person in ["Alice B. Example", "alice@a.example"] {
            assert!(shown(person, &[]) && shown(person, &["x.a.example"]), "{person}");
        }
        assert!(shown(&"n".repeat(256), &[]) && !shown(&"n".repeat(257), &[]));
    }
}
