//! A ClientHello of the scan: what it offers, and its encoding.

use std::net::IpAddr;

use tercel_crypto::fill_random;
use tercel_wire::{
    CertificateCompressionAlgorithm, CertificateStatusRequest, CipherSuite, ClientExtensions,
    ClientHello, ClientHelloEncoding, CompressionMethod, EcPointFormat, ExtensionType, Grease,
    HostName, KeyShareEntry, List, NamedGroup, ProtocolName, ProtocolVersion, PskKeyExchangeMode,
    ServerNameOffer, SignatureScheme, UnknownExtensions,
};

/// What a ClientHello offers. The extensions follow from the version: TLS 1.3 is offered alone, and
/// SSL 3 without extensions.
#[derive(Clone, Debug)]
pub(crate) struct Offer {
    pub(crate) version: ProtocolVersion,
    /// The host to name in server_name; an IP address is not sent.
    pub(crate) host: String,
    pub(crate) suites: Vec<CipherSuite>,
    pub(crate) groups: Vec<NamedGroup>,
    /// TLS 1.3: the group of the key share. Without one, the server requests a share.
    pub(crate) share: Option<NamedGroup>,
    pub(crate) schemes: Vec<SignatureScheme>,
    pub(crate) protocols: Vec<&'static str>,
    pub(crate) compressions: Vec<CertificateCompressionAlgorithm>,
    /// Whether a TLS 1.2 ticket is requested.
    pub(crate) ticket: bool,
    /// Whether reserved values are added, which the server has to ignore. RFC 8701
    pub(crate) grease: bool,
    /// A value of legacy_version that differs from the version.
    pub(crate) legacy_version: Option<ProtocolVersion>,
}

impl Offer {
    /// An offer of this version with every group and signature scheme that has a name.
    pub(crate) fn new(version: ProtocolVersion, host: &str, suites: Vec<CipherSuite>) -> Self {
        let known = NamedGroup::NAMED.iter().copied();
        Self {
            version,
            host: host.to_owned(),
            suites,
            groups: match version {
                ProtocolVersion::TLS1_3 => known.collect(),
                _ => CURVES.to_vec(),
            },
            share: None,
            schemes: match version {
                ProtocolVersion::TLS1_3 => schemes_of_tls13(),
                _ => schemes_of_tls12(),
            },
            protocols: Vec::new(),
            compressions: Vec::new(),
            ticket: true,
            grease: false,
            legacy_version: None,
        }
    }

    /// The whole handshake message, with this key share. `None` if it does not fit its length
    /// fields, or if there is no randomness.
    pub(crate) fn encode(&self, share: Option<KeyShareEntry<'_>>) -> Option<Vec<u8>> {
        let mut random = [0; 32 + 32 + 8];
        fill_random(&mut random).ok()?;
        let (client_random, rest) = random.split_first_chunk::<32>()?;
        let (session_id, seed) = rest.split_first_chunk::<32>()?;
        let tls13 = self.version == ProtocolVersion::TLS1_3;
        let mut suites = self.suites.clone();
        if self.version == ProtocolVersion::SSL3_0 {
            suites.push(CipherSuite::TLS_EMPTY_RENEGOTIATION_INFO_SCSV);
        }
        let legacy = if tls13 { ProtocolVersion::TLS1_2 } else { self.version };
        let versions = [ProtocolVersion::TLS1_3];
        let protocols: Vec<ProtocolName<'_>> =
            self.protocols.iter().map(|name| ProtocolName(name.as_bytes())).collect();
        let shares: Vec<KeyShareEntry<'_>> = share.into_iter().collect();
        // Fewer schemes for the handshake must not exclude certificates. RFC 9846 4.3.3
        let in_certificates: Vec<SignatureScheme> =
            [schemes_of_tls13(), schemes_of_tls12()].concat();
        let encrypt_then_mac = [(ExtensionType::ENCRYPT_THEN_MAC, &[][..])];
        let mut extensions = ClientExtensions {
            server_name: self.server_name(),
            supported_groups: some_list(&self.groups),
            status_request: Some(CertificateStatusRequest::OCSP),
            signed_certificate_timestamp: Some(()),
            alpn: some_list(&protocols),
            record_size_limit: Some(MAX_RECORD_SIZE),
            ..ClientExtensions::default()
        };
        if tls13 {
            extensions.supported_versions = Some(List::new(&versions));
            extensions.key_share = Some(List::new(&shares));
            extensions.signature_algorithms = some_list(&self.schemes);
            extensions.signature_algorithms_cert = Some(List::new(&in_certificates));
            extensions.psk_key_exchange_modes = Some(List::new(&[PskKeyExchangeMode::PSK_DHE_KE]));
            extensions.compress_certificate = some_list(&self.compressions);
        } else {
            extensions.renegotiation_info = Some(&[]);
            extensions.ec_point_formats = Some(List::new(&[EcPointFormat::UNCOMPRESSED]));
            extensions.extended_master_secret = Some(());
            extensions.session_ticket = self.ticket.then_some(&[]);
            extensions.unknown = UnknownExtensions::new(&encrypt_then_mac);
            if self.version == ProtocolVersion::TLS1_2 {
                extensions.signature_algorithms = some_list(&self.schemes);
                extensions.signature_algorithms_cert = Some(List::new(&in_certificates));
            }
        }
        let hello = ClientHello {
            legacy_version: self.legacy_version.unwrap_or(legacy),
            random: client_random,
            session_id: if tls13 { session_id } else { &[] },
            cipher_suites: List::new(&suites),
            compression_methods: List::new(&[CompressionMethod::NULL]),
            extensions_present: self.version != ProtocolVersion::SSL3_0,
            extensions,
        };
        let grease = seed.first_chunk().filter(|_| self.grease).copied().map(Grease::from_random);
        let mut message = Vec::new();
        hello.encode_with(&ClientHelloEncoding { order: None, grease }, &mut message).ok()?;
        Some(message)
    }

    fn server_name(&self) -> Option<ServerNameOffer<'_>> {
        if self.host.parse::<IpAddr>().is_ok() {
            return None;
        }
        HostName::new(self.host.as_bytes()).ok().map(ServerNameOffer::HostName)
    }
}

/// A list, or nothing if it is empty: these extensions must not be empty.
fn some_list<T>(entries: &[T]) -> Option<List<'_, T>> {
    (!entries.is_empty()).then(|| List::new(entries))
}

/// The curves of TLS 1.2 and before. RFC 8422 5.1.1
pub(crate) const CURVES: [NamedGroup; 10] = [
    NamedGroup::X25519,
    NamedGroup::SECP256R1,
    NamedGroup::SECP384R1,
    NamedGroup::SECP521R1,
    NamedGroup::X448,
    NamedGroup(0x001a), // brainpoolP256r1
    NamedGroup(0x001b), // brainpoolP384r1
    NamedGroup(0x001c), // brainpoolP512r1
    NamedGroup(0x0016), // secp256k1
    NamedGroup(0x0013), // secp192r1
];

/// The name of a group, also of curves for TLS 1.2 only.
pub(crate) fn group_name(group: NamedGroup) -> String {
    match group.0 {
        0x0013 => "secp192r1".to_owned(),
        0x0016 => "secp256k1".to_owned(),
        0x001a => "brainpoolP256r1".to_owned(),
        0x001b => "brainpoolP384r1".to_owned(),
        0x001c => "brainpoolP512r1".to_owned(),
        _ => group.to_string(),
    }
}

/// The schemes for a handshake signature in TLS 1.3: none with SHA-1 or PKCS #1 v1.5.
/// RFC 9846 4.3.3
pub(crate) fn schemes_of_tls13() -> Vec<SignatureScheme> {
    let old = |scheme: &SignatureScheme| matches!(scheme.0 & 0xff, 0x01) || scheme.0 == 0x0203;
    SignatureScheme::NAMED.iter().copied().filter(|scheme| !old(scheme)).collect()
}

/// The schemes for a signature in TLS 1.2. RFC 5246 7.4.1.4.1, RFC 9846 4.3.3
pub(crate) fn schemes_of_tls12() -> Vec<SignatureScheme> {
    let known = SignatureScheme::NAMED.iter().copied();
    let older = [0x0101, 0x0301, 0x0303, 0x0202, 0x0402].map(SignatureScheme);
    known.filter(|scheme| scheme.to_string().find("mldsa").is_none()).chain(older).collect()
}

/// The name of a scheme, also of those for TLS 1.2 only.
pub(crate) fn scheme_name(scheme: SignatureScheme) -> String {
    match scheme.0 {
        0x0101 => "rsa_pkcs1_md5".to_owned(),
        0x0301 => "rsa_pkcs1_sha224".to_owned(),
        0x0303 => "ecdsa_sha224".to_owned(),
        0x0202 => "dsa_sha1".to_owned(),
        0x0402 => "dsa_sha256".to_owned(),
        _ => scheme.to_string(),
    }
}

/// The largest value of record_size_limit, so that records are not made smaller. RFC 8449 4
const MAX_RECORD_SIZE: u16 = (1 << 14) + 1;

#[cfg(test)]
mod tests {
    use super::*;
    use tercel_wire::HandshakeMessage;

    fn offer(version: ProtocolVersion) -> Offer {
        Offer::new(version, "a.example", vec![CipherSuite::TLS_AES_128_GCM_SHA256])
    }

    #[test]
    fn offers_are_hellos_of_their_version() {
        for version in [ProtocolVersion::TLS1_0, ProtocolVersion::TLS1_2, ProtocolVersion::TLS1_3] {
            let message = offer(version).encode(None).unwrap();
            let hello = ClientHello::parse(&message[4..]).unwrap();
            let tls13 = version == ProtocolVersion::TLS1_3;
            let legacy = if tls13 { ProtocolVersion::TLS1_2 } else { version };
            assert_eq!(hello.legacy_version, legacy);
            assert_eq!(hello.extensions.supported_versions.is_some(), tls13);
            let schemes = hello.extensions.signature_algorithms.is_some();
            assert_eq!(schemes, version != ProtocolVersion::TLS1_0);
            assert!(hello.extensions.server_name.is_some());
        }
        let message = offer(ProtocolVersion::SSL3_0).encode(None).unwrap();
        assert!(!ClientHello::parse(&message[4..]).unwrap().extensions_present);
    }

    /// RFC 6066 3
    #[test]
    fn addresses_are_not_server_names() {
        let mut offer = offer(ProtocolVersion::TLS1_2);
        offer.host = "127.0.0.1".to_owned();
        let message = offer.encode(None).unwrap();
        assert_eq!(ClientHello::parse(&message[4..]).unwrap().extensions.server_name, None);
    }

    #[test]
    fn schemes_of_tls13_have_no_sha1() {
        let schemes = schemes_of_tls13();
        assert!(schemes.contains(&SignatureScheme::ED25519));
        assert!(schemes.contains(&SignatureScheme::MLDSA65));
        for old in [SignatureScheme::RSA_PKCS1_SHA256, SignatureScheme::ECDSA_SHA1] {
            assert!(!schemes.contains(&old) && schemes_of_tls12().contains(&old), "{old}");
        }
    }
}
