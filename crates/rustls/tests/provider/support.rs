//! Identities, and connections in memory.

use std::io::{Read, Write};
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::crypto::{CryptoProvider, SupportedKxGroup, aws_lc_rs};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{
    ClientConfig, ClientConnection, Connection, Error, RootCertStore, ServerConfig,
    ServerConnection, SupportedCipherSuite, SupportedProtocolVersion,
};

pub(crate) const NAME: &str = "localhost";

/// A chain whose keys all have one algorithm.
pub(crate) struct Identity {
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) key: PrivateKeyDer<'static>,
    pub(crate) roots: Arc<RootCertStore>,
}

impl Identity {
    pub(crate) fn new(algorithm: &'static rcgen::SignatureAlgorithm) -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root_key = KeyPair::generate_for(algorithm).unwrap();
        let root = params.self_signed(&root_key).unwrap();
        let issuer = Issuer::new(params, root_key);
        let key = KeyPair::generate_for(algorithm).unwrap();
        let params = CertificateParams::new(vec![NAME.to_owned()]).unwrap();
        let leaf = params.signed_by(&key, &issuer).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(root.der().clone()).unwrap();
        Self {
            chain: vec![leaf.der().clone()],
            key: PrivateKeyDer::Pkcs8(key.serialize_der().into()),
            roots: Arc::new(roots),
        }
    }

    pub(crate) fn p256() -> Self {
        Self::new(&rcgen::PKCS_ECDSA_P256_SHA256)
    }

    pub(crate) fn rsa() -> Self {
        Self::new(&rcgen::PKCS_RSA_SHA256)
    }

    pub(crate) fn server(
        &self,
        provider: CryptoProvider,
        versions: &[&'static SupportedProtocolVersion],
    ) -> ServerConfig {
        ServerConfig::builder_with_provider(Arc::new(provider))
            .with_protocol_versions(versions)
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(self.chain.clone(), self.key.clone_key())
            .unwrap()
    }

    pub(crate) fn client(
        &self,
        provider: CryptoProvider,
        versions: &[&'static SupportedProtocolVersion],
    ) -> ClientConfig {
        ClientConfig::builder_with_provider(Arc::new(provider))
            .with_protocol_versions(versions)
            .unwrap()
            .with_root_certificates(Arc::clone(&self.roots))
            .with_no_client_auth()
    }
}

/// This provider, and rustls' own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Provider {
    Tercel,
    AwsLcRs,
}

impl Provider {
    /// Each pair of client and server of which one is Tercel.
    pub(crate) const PAIRS: [(Self, Self); 3] = [
        (Self::Tercel, Self::Tercel),
        (Self::Tercel, Self::AwsLcRs),
        (Self::AwsLcRs, Self::Tercel),
    ];

    pub(crate) fn default(self) -> CryptoProvider {
        match self {
            Self::Tercel => tercel_rustls::default_provider(),
            Self::AwsLcRs => aws_lc_rs::default_provider(),
        }
    }

    fn groups(self) -> &'static [&'static dyn SupportedKxGroup] {
        match self {
            Self::Tercel => tercel_rustls::ALL_KX_GROUPS,
            Self::AwsLcRs => aws_lc_rs::ALL_KX_GROUPS,
        }
    }

    /// The provider with this suite only, and with its own implementation of the suite.
    pub(crate) fn with_suite(self, suite: SupportedCipherSuite) -> CryptoProvider {
        let mut provider = self.default();
        provider.cipher_suites.retain(|each| each.suite() == suite.suite());
        provider
    }

    /// The provider with this group only, if it has the group.
    pub(crate) fn with_group(self, group: &dyn SupportedKxGroup) -> Option<CryptoProvider> {
        let own = self.groups().iter().find(|each| each.name() == group.name())?;
        Some(CryptoProvider { kx_groups: vec![*own], ..self.default() })
    }
}

/// Two ends of a connection, and the plaintext that each has received.
pub(crate) struct Pair {
    pub(crate) client: Connection,
    pub(crate) server: Connection,
    pub(crate) at_client: Vec<u8>,
    pub(crate) at_server: Vec<u8>,
}

impl Pair {
    pub(crate) fn new(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> Self {
        let name = NAME.try_into().unwrap();
        Self {
            client: ClientConnection::new(Arc::clone(client), name).unwrap().into(),
            server: ServerConnection::new(Arc::clone(server)).unwrap().into(),
            at_client: Vec::new(),
            at_server: Vec::new(),
        }
    }

    pub(crate) fn connected(client: ClientConfig, server: ServerConfig) -> Result<Self, Error> {
        let mut pair = Self::new(&Arc::new(client), &Arc::new(server));
        pair.transfer()?;
        assert!(!pair.client.is_handshaking() && !pair.server.is_handshaking());
        Ok(pair)
    }

    /// Transfers records in both directions until there are no more.
    pub(crate) fn transfer(&mut self) -> Result<(), Error> {
        loop {
            let to_server = taken(&mut self.client);
            deliver(&to_server, &mut self.server, &mut self.at_server)?;
            let to_client = taken(&mut self.server);
            deliver(&to_client, &mut self.client, &mut self.at_client)?;
            if to_server.is_empty() && to_client.is_empty() {
                return Ok(());
            }
        }
    }

    /// Sends data in both directions, in one piece and in several.
    pub(crate) fn exchange_data(&mut self) {
        let data: Vec<u8> = (0..40_000_u32).map(|at| at.to_be_bytes()[3]).collect();
        for length in [1, 15, 16, 17, 255, 1350, 16_383, 16_384, 16_385, data.len()] {
            let pieces = [&data[..length], b"", &data[..length / 2]];
            let slices = pieces.map(std::io::IoSlice::new);
            let whole = pieces.concat();
            for sender in [&mut self.client, &mut self.server] {
                sender.set_buffer_limit(None);
                assert_eq!(sender.writer().write_vectored(&slices).unwrap(), whole.len());
                sender.writer().write_all(&whole).unwrap();
            }
            self.transfer().unwrap();
            let twice = [&whole[..], &whole].concat();
            assert!(self.at_server == twice && self.at_client == twice, "{length} bytes");
            self.at_server.clear();
            self.at_client.clear();
        }
    }
}

/// What a side wants to send.
pub(crate) fn taken(from: &mut Connection) -> Vec<u8> {
    let mut records = Vec::new();
    while from.wants_write() {
        from.write_tls(&mut records).unwrap();
    }
    records
}

pub(crate) fn deliver(
    mut records: &[u8],
    to: &mut Connection,
    received: &mut Vec<u8>,
) -> Result<(), Error> {
    while !records.is_empty() {
        to.read_tls(&mut records).unwrap();
        let state = to.process_new_packets()?;
        let mut plaintext = vec![0; state.plaintext_bytes_to_read()];
        to.reader().read_exact(&mut plaintext).unwrap();
        received.append(&mut plaintext);
    }
    Ok(())
}

pub(crate) fn hex(digits: &str) -> Vec<u8> {
    assert_eq!(digits.len() % 2, 0);
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(byte).collect()
}
