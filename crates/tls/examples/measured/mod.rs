//! The configurations whose handshakes the examples measure.

use std::sync::Arc;

use tercel::pki::{ChainVerifier, Roots};
use tercel::pki_types::{CertificateDer, PrivateKeyDer};
use tercel::wire::{CipherSuite, ProtocolVersion};
use tercel::{
    ClientConfig, Credential, Handshake, Policy, ServerConfig, ServerName, Side,
    certificates::ChainPolicy, session::ServerMemoryStore,
};

use crate::pair::{Delivery, Ends, Pair};

/// The configurations of both sides.
pub(crate) struct Configs {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
    name: ServerName<'static>,
}

/// The type of the server's key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Key {
    Rsa2048,
    EcdsaP256,
}

/// The way in which the peers of a handshake are authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// Certificates; the server issues no sessions.
    Full,
    /// Certificates of a chain whose signatures the client has not verified before.
    FirstVisit,
    /// A session in a ticket.
    Ticket,
    /// A session in the server's store, named by its ID or by a ticket.
    Stored,
}

impl Method {
    /// Whether a session is resumed.
    pub(crate) fn resumes(self) -> bool {
        matches!(self, Self::Ticket | Self::Stored)
    }
}

/// A kind of handshake that the examples measure.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) version: ProtocolVersion,
    pub(crate) key: Key,
    pub(crate) method: Method,
}

impl Configs {
    /// The configurations of a row: a chain of three certificates (the root is not sent), and
    /// defaults otherwise. If the row resumes, there is a session.
    #[allow(dead_code)]
    pub(crate) fn of(row: &Row) -> Self {
        let configs = Self::new(row.version, row.key, row.method);
        if row.method.resumes() {
            let mut ends = configs.connect();
            assert!(!ends.client.connection.info.resumed);
            transfer(&mut ends, Side::Server);
        }
        configs
    }

    /// The configurations before the first connection.
    #[allow(dead_code)]
    pub(crate) fn new(version: ProtocolVersion, key: Key, method: Method) -> Self {
        Self::of_suite(version, key, method, None)
    }

    /// The configurations before the first connection. The client is limited to `suite`, if given.
    pub(crate) fn of_suite(
        version: ProtocolVersion,
        key: Key,
        method: Method,
        suite: Option<CipherSuite>,
    ) -> Self {
        let algorithm = match key {
            Key::Rsa2048 => &rcgen::PKCS_RSA_SHA256,
            Key::EcdsaP256 => &rcgen::PKCS_ECDSA_P256_SHA256,
        };
        let generate = || rcgen::KeyPair::generate_for(algorithm).expect("a key");
        let authority = || {
            let mut params = rcgen::CertificateParams::new(Vec::new()).expect("parameters");
            params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
            params
        };
        let (root_key, middle_key, leaf_key) = (generate(), generate(), generate());
        let mut root_params = authority();
        root_params.distinguished_name.push(rcgen::DnType::CommonName, "Root");
        let mut middle_params = authority();
        middle_params.distinguished_name.push(rcgen::DnType::CommonName, "Intermediate");
        let root = root_params.self_signed(&root_key).expect("a root");
        let root_issuer = rcgen::Issuer::new(root_params, root_key);
        let middle = middle_params.signed_by(&middle_key, &root_issuer).expect("an intermediate");
        let middle_issuer = rcgen::Issuer::new(middle_params, middle_key);
        let leaf = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).expect("parameters");
        let leaf = leaf.signed_by(&leaf_key, &middle_issuer).expect("a leaf");
        let chain = [leaf.der(), middle.der()].map(|der| CertificateDer::from(der.to_vec()));
        let private = PrivateKeyDer::try_from(leaf_key.serialize_der()).expect("a key");
        let credential = Credential::new(chain.to_vec(), &private).expect("a credential");
        let mut roots = Roots::new();
        roots.add_der(root.der()).expect("a root");
        let client = ClientConfig::builder().versions(&[version]);
        let mut client = match method {
            Method::FirstVisit => {
                let verifier = ChainVerifier::builder(Arc::new(roots)).cache_signatures(false);
                let policy = ChainPolicy::with_verifier(verifier.build().expect("a root"));
                client.verifier(Policy::Here(Arc::new(policy) as _))
            }
            _ => client.roots(roots),
        };
        if let Some(suite) = suite {
            client = client.cipher_suites(&[suite]);
        }
        let server = ServerConfig::builder().credential(credential);
        let (client, server) = match method {
            // The server issues no sessions.
            Method::Full | Method::FirstVisit => {
                (client.without_resumption(), server.without_session_ids())
            }
            Method::Ticket => (client, server),
            Method::Stored => {
                let store = Policy::Here(Arc::new(ServerMemoryStore::default()) as _);
                (client, server.without_tickets().session_store(store))
            }
        };
        Self {
            client: client.build().expect("ok"),
            server: server.build().expect("ok"),
            name: "localhost".try_into().expect("a name"),
        }
    }

    /// The handshake of a client.
    pub(crate) fn client(&self) -> Handshake {
        Handshake::client(Arc::clone(&self.client), self.name.clone())
    }

    /// The handshake of a server.
    pub(crate) fn server(&self) -> Handshake {
        Handshake::server(Arc::clone(&self.server))
    }

    /// Completes a handshake.
    pub(crate) fn connect(&self) -> Ends {
        Pair::of(self.client(), self.server()).connect().expect("connected")
    }
}

/// Transfers 1 KiB from one end to the other, after any tickets.
#[allow(dead_code)]
pub(crate) fn transfer(ends: &mut Ends, from: Side) {
    ends.transfer(from, &[7; 1024], Delivery::Whole);
}

/// The rows that the examples measure.
pub(crate) const ROWS: [Row; 10] = [
    Row {
        name: "TLS 1.3 full, ECDSA P-256, X25519MLKEM768",
        version: ProtocolVersion::TLS1_3,
        key: Key::EcdsaP256,
        method: Method::Full,
    },
    Row {
        name: "TLS 1.3 full, RSA-2048, X25519MLKEM768",
        version: ProtocolVersion::TLS1_3,
        key: Key::Rsa2048,
        method: Method::Full,
    },
    Row {
        name: "TLS 1.2 full, ECDSA P-256, X25519",
        version: ProtocolVersion::TLS1_2,
        key: Key::EcdsaP256,
        method: Method::Full,
    },
    Row {
        name: "TLS 1.2 full, RSA-2048, X25519",
        version: ProtocolVersion::TLS1_2,
        key: Key::Rsa2048,
        method: Method::Full,
    },
    Row {
        name: "TLS 1.3 resumed by ticket, X25519MLKEM768",
        version: ProtocolVersion::TLS1_3,
        key: Key::EcdsaP256,
        method: Method::Ticket,
    },
    Row {
        name: "TLS 1.3 resumed from store, X25519MLKEM768",
        version: ProtocolVersion::TLS1_3,
        key: Key::EcdsaP256,
        method: Method::Stored,
    },
    Row {
        name: "TLS 1.2 resumed by ticket",
        version: ProtocolVersion::TLS1_2,
        key: Key::EcdsaP256,
        method: Method::Ticket,
    },
    Row {
        name: "TLS 1.2 resumed by id",
        version: ProtocolVersion::TLS1_2,
        key: Key::EcdsaP256,
        method: Method::Stored,
    },
    Row {
        name: "TLS 1.2 first visit, ECDSA P-256, X25519",
        version: ProtocolVersion::TLS1_2,
        key: Key::EcdsaP256,
        method: Method::FirstVisit,
    },
    Row {
        name: "TLS 1.2 first visit, RSA-2048, X25519",
        version: ProtocolVersion::TLS1_2,
        key: Key::Rsa2048,
        method: Method::FirstVisit,
    },
];
