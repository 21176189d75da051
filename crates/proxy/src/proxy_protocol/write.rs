//! The header of version 2 that a backend is sent ahead of a client's bytes.
//!
//! Must not know: how it gets there. Next: [`super`].

use std::net::{IpAddr, Ipv6Addr};

use tercel::pki_types::CertificateDer;
use tercel::wire::{CipherSuite, ProtocolVersion};
use tercel::{Facts, pki};

use super::{Ends, PROXY, SIGNATURE, TCP4, TCP6};

/// Types of values. Section 2.2.
const ALPN: u8 = 0x01;
const AUTHORITY: u8 = 0x02;
const SSL: u8 = 0x20;
/// Ours, of the range for applications: so many bytes at the beginning of what follows are early data that is handed on
/// before the client's handshake is complete, in four bytes, the highest first. Section 2.2.8
const EARLY_DATA: u8 = 0xe0;
const SSL_VERSION: u8 = 0x21;
const SSL_CN: u8 = 0x22;
const SSL_CIPHER: u8 = 0x23;

/// What the client did: it speaks TLS, showed a certificate in this connection, in this session. Section 2.2.
const CLIENT_SSL: u8 = 0x01;
const CLIENT_CERT_CONN: u8 = 0x02;
const CLIENT_CERT_SESS: u8 = 0x04;

/// The header for a client at these ends, with what was agreed on.
pub(crate) fn header(ends: Ends, facts: &Facts) -> Vec<u8> {
    let mut rest = Vec::with_capacity(128);
    let family = match (ends.source.ip().to_canonical(), ends.destination.ip().to_canonical()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            rest.extend(source.octets());
            rest.extend(destination.octets());
            TCP4
        }
        (source, destination) => {
            rest.extend(in_v6(source).octets());
            rest.extend(in_v6(destination).octets());
            TCP6
        }
    };
    rest.extend(ends.source.port().to_be_bytes());
    rest.extend(ends.destination.port().to_be_bytes());
    if let Some(protocol) = &facts.alpn {
        value(ALPN, protocol, &mut rest);
    }
    if let Some(name) = &facts.server_name {
        value(AUTHORITY, name.as_bytes(), &mut rest);
    }
    value(SSL, &ssl(facts), &mut rest);
    let mut header = SIGNATURE.to_vec();
    header.extend([PROXY, family]);
    // A name, a protocol, a common name: far from 65536 bytes.
    header.extend(u16::try_from(rest.len()).unwrap_or(u16::MAX).to_be_bytes());
    header.append(&mut rest);
    header
}

/// Adds to a header how many bytes behind it are early data.
pub(crate) fn add_early_data(header: &mut Vec<u8>, length: usize) {
    let before = header.len();
    value(EARLY_DATA, &u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes(), header);
    let added = u16::try_from(header.len().saturating_sub(before)).unwrap_or(0);
    let place = SIGNATURE.len().saturating_add(2);
    if let Some(length) = header.get_mut(place..).and_then(|rest| rest.first_chunk_mut::<2>()) {
        *length = u16::from_be_bytes(*length).saturating_add(added).to_be_bytes();
    }
}

fn ssl(facts: &Facts) -> Vec<u8> {
    let leaf = facts.peer_chain().first();
    let certificate = match (leaf, facts.resumed) {
        (None, _) => 0,
        (Some(_), true) => CLIENT_CERT_SESS,
        (Some(_), false) => CLIENT_CERT_CONN | CLIENT_CERT_SESS,
    };
    let mut content = vec![CLIENT_SSL | certificate];
    // 0: a certificate was shown, and is to be trusted.
    content.extend(u32::from(leaf.is_none()).to_be_bytes());
    let version = if facts.version == ProtocolVersion::TLS1_3 { "TLSv1.3" } else { "TLSv1.2" };
    value(SSL_VERSION, version.as_bytes(), &mut content);
    value(SSL_CIPHER, cipher(facts.cipher_suite).as_bytes(), &mut content);
    if let Some(name) = leaf.and_then(common_name) {
        value(SSL_CN, name.as_bytes(), &mut content);
    }
    content
}

/// Longer ones are left out: no one has them.
fn value(kind: u8, content: &[u8], out: &mut Vec<u8>) {
    if let (Ok(length), ..=1024) = (u16::try_from(content.len()), content.len()) {
        out.push(kind);
        out.extend(length.to_be_bytes());
        out.extend(content);
    }
}

fn in_v6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

/// The names that the specification's example uses, which for TLS 1.2 are not those of the registry.
fn cipher(suite: CipherSuite) -> String {
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

/// The subject's common name.
fn common_name(certificate: &CertificateDer<'_>) -> Option<String> {
    pki::common_name(certificate).ok()?
}
