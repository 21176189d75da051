//! What a server sent in answer to a ClientHello.

use tercel::pki_types::CertificateDer;
use tercel_wire::{
    AlertDescription, CertificateCompressionAlgorithm, CipherSuite, ExtensionType, NamedGroup,
    ProtocolVersion, ServerHello, SignatureScheme,
};

use crate::negotiated::version_name;

/// The answer to a ClientHello.
#[derive(Debug)]
pub(crate) enum Reply {
    /// A ServerHello or a HelloRetryRequest, and what was read after it.
    Hello(Box<ServerFlight>),
    /// A fatal alert.
    Alert(AlertDescription),
    /// The server ended the connection without an alert, in this way.
    Closed(&'static str),
    /// The answer is not TLS, or breaks its rules, for this reason.
    Invalid(String),
    /// There is no answer, for this reason: the network, a time limit or a limit of the scan.
    Unanswered(String),
}

impl Reply {
    /// The reason why there is no ServerHello.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::Hello(flight) => format!("chose {}", version_name(flight.version)),
            Self::Alert(alert) => format!("alert {alert}"),
            Self::Closed(how) => (*how).to_owned(),
            Self::Invalid(why) | Self::Unanswered(why) => why.clone(),
        }
    }

    /// Whether the reply answers the question of the ClientHello. Only a message and an alert do: a
    /// connection may end for reasons that have nothing to do with the ClientHello.
    pub(crate) fn is_answer(&self) -> bool {
        match self {
            Self::Hello(flight) => !matches!(flight.cut, Some(Cut::Lost(_))),
            Self::Alert(_) => true,
            Self::Closed(_) | Self::Invalid(_) | Self::Unanswered(_) => false,
        }
    }
}

/// Why the messages after a ServerHello were not read to their end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// A fatal alert.
    Alert(AlertDescription),
    /// The connection ended, or the time passed.
    Lost(String),
    /// The messages break the protocol, are too long, or cannot be decrypted.
    Unreadable(String),
}

impl Cut {
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::Alert(alert) => format!("alert {alert}"),
            Self::Lost(why) | Self::Unreadable(why) => why.clone(),
        }
    }
}

/// The server's first messages.
#[derive(Clone, Debug)]
pub(crate) struct ServerFlight {
    pub(crate) version: ProtocolVersion,
    pub(crate) suite: CipherSuite,
    pub(crate) random: [u8; 32],
    /// Whether the message is a HelloRetryRequest.
    pub(crate) retry: bool,
    /// The group of the key exchange, or the group that a HelloRetryRequest requests.
    pub(crate) group: Option<NamedGroup>,
    /// The size of the prime of a finite-field key exchange before TLS 1.3, in bits.
    pub(crate) dh_bits: Option<usize>,
    pub(crate) session_id_length: usize,
    /// The extensions of ServerHello and EncryptedExtensions.
    pub(crate) extensions: Vec<ExtensionType>,
    pub(crate) alpn: Option<Vec<u8>>,
    pub(crate) record_size_limit: Option<u16>,
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) ocsp_response: Option<Vec<u8>>,
    /// The number of certificate timestamps in the handshake.
    pub(crate) timestamps: usize,
    pub(crate) compression: Option<CertificateCompressionAlgorithm>,
    pub(crate) scheme: Option<SignatureScheme>,
    pub(crate) requests_certificate: bool,
    /// The reason why the messages after the ServerHello were not read to their end.
    pub(crate) cut: Option<Cut>,
    /// The breach of the protocol that ended the reading, if there was one.
    pub(crate) breach: Option<String>,
}

impl ServerFlight {
    pub(crate) fn new(hello: &ServerHello<'_>) -> Self {
        let extensions = &hello.extensions;
        Self {
            version: extensions.supported_versions.unwrap_or(hello.legacy_version),
            suite: hello.cipher_suite,
            random: *hello.random,
            retry: hello.is_hello_retry_request(),
            group: hello.key_share().map(|share| share.group).or(hello.key_share_group()),
            dh_bits: None,
            session_id_length: hello.session_id_echo.len(),
            extensions: extensions.types().collect(),
            alpn: extensions.alpn.map(|name| name.0.to_vec()),
            record_size_limit: extensions.record_size_limit,
            chain: Vec::new(),
            ocsp_response: None,
            timestamps: extensions.signed_certificate_timestamp.map_or(0, |list| list.len()),
            compression: None,
            scheme: None,
            requests_certificate: false,
            cut: None,
            breach: None,
        }
    }

    pub(crate) fn has(&self, extension: ExtensionType) -> bool {
        self.extensions.contains(&extension)
    }
}
