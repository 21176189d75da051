//! Both sides of a connection in one thread, for the measuring examples.

use std::sync::Arc;

use tercel::pki::{ChainVerifier, Roots};
use tercel::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tercel::wire::{CipherSuite, ProtocolVersion};
use tercel::{
    ClientConfig, Connection, Credential, Handshake, Next, Opened, Policy, ReceiveBuffer,
    ServerConfig, certificates::ChainPolicy, session::ServerMemoryStore,
};

/// The configurations of both sides.
pub(crate) struct Pair {
    pub(crate) client: Arc<ClientConfig>,
    pub(crate) server: Arc<ServerConfig>,
    pub(crate) name: ServerName<'static>,
}

/// The type of the server's key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Key {
    Rsa2048,
    EcdsaP256,
}

/// The way in which the peers of a handshake are authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Basis {
    /// Certificates; the server issues no sessions.
    Full,
    /// Certificates of a chain whose signatures the client has not verified before.
    FirstVisit,
    /// A session in a ticket.
    Ticket,
    /// A session in the server's store, named by its ID or by a ticket.
    Stored,
}

impl Basis {
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
    pub(crate) basis: Basis,
}

impl Pair {
    /// The configurations of a row: a chain of three certificates (the root is not sent), and
    /// defaults otherwise. If the row resumes, there is a session.
    #[allow(dead_code)]
    pub(crate) fn of(row: &Row) -> Self {
        let pair = Self::new(row.version, row.key, row.basis);
        if row.basis.resumes() {
            let (mut client, mut server) = pair.connect_ends();
            assert!(!client.0.info.resumed);
            transfer(&mut server, &mut client);
        }
        pair
    }

    /// The configurations before the first connection.
    #[allow(dead_code)]
    pub(crate) fn new(version: ProtocolVersion, key: Key, basis: Basis) -> Self {
        Self::of_suite(version, key, basis, None)
    }

    /// The configurations before the first connection. The client is limited to `suite`, if given.
    pub(crate) fn of_suite(
        version: ProtocolVersion,
        key: Key,
        basis: Basis,
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
        let mut client = match basis {
            Basis::FirstVisit => {
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
        let (client, server) = match basis {
            // The server issues no sessions.
            Basis::Full | Basis::FirstVisit => {
                (client.without_resumption(), server.without_session_ids())
            }
            Basis::Ticket => (client, server),
            Basis::Stored => {
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

    /// Completes a handshake; returns each connection with its unread bytes.
    pub(crate) fn connect_ends(&self) -> (End, End) {
        let mut client = Handshake::client(Arc::clone(&self.client), self.name.clone());
        let mut server = Handshake::server(Arc::clone(&self.server));
        let (mut to_client, mut to_server) = (ReceiveBuffer::new(), ReceiveBuffer::new());
        let mut out = Vec::new();
        let (mut of_client, mut of_server) = (None, None);
        while of_client.is_none() || of_server.is_none() {
            if of_client.is_none() {
                of_client = client_step(&mut client, &mut to_client, &mut out);
                to_server.extend(&out);
                out.clear();
            }
            if of_server.is_none() {
                of_server = server_step(&mut server, &mut to_server, &mut out);
                to_client.extend(&out);
                out.clear();
            }
        }
        let (client, server) = (of_client.expect("connected"), of_server.expect("connected"));
        ((client, to_client), (server, to_server))
    }
}

/// A connection with its unread bytes.
pub(crate) type End = (Connection, ReceiveBuffer);

/// Transfers 1 KiB from one end to the other, after any tickets.
#[allow(dead_code)]
pub(crate) fn transfer(from: &mut End, to: &mut End) {
    let mut out = Vec::new();
    from.0.sender.seal_to(&[7; 1024], &mut out).expect("sealed");
    to.1.extend(&out);
    while let Opened::Data(_) = to.0.receiver.open(&mut to.1).expect("opened") {}
}

/// All steps of a client, in a function of its own so that callgrind can count it.
#[inline(never)]
#[allow(dead_code)]
pub(crate) fn client_step(
    handshake: &mut Handshake,
    received: &mut ReceiveBuffer,
    out: &mut Vec<u8>,
) -> Option<Connection> {
    step(handshake, received, out)
}

/// The additional step of a client that resumes: it reads the tickets after the handshake.
#[inline(never)]
#[allow(dead_code)]
pub(crate) fn client_step_for_tickets(client: &mut End) {
    while let Opened::Data(_) = client.0.receiver.open(&mut client.1).expect("opened") {}
}

/// All steps of a server.
#[inline(never)]
#[allow(dead_code)]
pub(crate) fn server_step(
    handshake: &mut Handshake,
    received: &mut ReceiveBuffer,
    out: &mut Vec<u8>,
) -> Option<Connection> {
    // This code differs from the client's step. Otherwise the linker would merge both functions.
    std::hint::black_box("server");
    step(handshake, received, out)
}

#[inline(always)]
fn step(
    handshake: &mut Handshake,
    received: &mut ReceiveBuffer,
    out: &mut Vec<u8>,
) -> Option<Connection> {
    match handshake.advance(received, out).expect("a handshake without error") {
        Next::Connected(connection) => Some(*connection),
        _ => None,
    }
}

/// The rows that the examples measure.
pub(crate) const ROWS: [Row; 10] = [
    Row {
        name: "TLS 1.3 full, ECDSA P-256, X25519MLKEM768",
        version: ProtocolVersion::TLS1_3,
        key: Key::EcdsaP256,
        basis: Basis::Full,
    },
    Row {
        name: "TLS 1.3 full, RSA-2048, X25519MLKEM768",
        version: ProtocolVersion::TLS1_3,
        key: Key::Rsa2048,
        basis: Basis::Full,
    },
    Row {
        name: "TLS 1.2 full, ECDSA P-256, X25519",
        version: ProtocolVersion::TLS1_2,
        key: Key::EcdsaP256,
        basis: Basis::Full,
    },
    Row {
        name: "TLS 1.2 full, RSA-2048, X25519",
        version: ProtocolVersion::TLS1_2,
        key: Key::Rsa2048,
        basis: Basis::Full,
    },
    Row {
        name: "TLS 1.3 resumed by ticket, X25519MLKEM768",
        version: ProtocolVersion::TLS1_3,
        key: Key::EcdsaP256,
        basis: Basis::Ticket,
    },
    Row {
        name: "TLS 1.3 resumed from store, X25519MLKEM768",
        version: ProtocolVersion::TLS1_3,
        key: Key::EcdsaP256,
        basis: Basis::Stored,
    },
    Row {
        name: "TLS 1.2 resumed by ticket",
        version: ProtocolVersion::TLS1_2,
        key: Key::EcdsaP256,
        basis: Basis::Ticket,
    },
    Row {
        name: "TLS 1.2 resumed by id",
        version: ProtocolVersion::TLS1_2,
        key: Key::EcdsaP256,
        basis: Basis::Stored,
    },
    Row {
        name: "TLS 1.2 first visit, ECDSA P-256, X25519",
        version: ProtocolVersion::TLS1_2,
        key: Key::EcdsaP256,
        basis: Basis::FirstVisit,
    },
    Row {
        name: "TLS 1.2 first visit, RSA-2048, X25519",
        version: ProtocolVersion::TLS1_2,
        key: Key::Rsa2048,
        basis: Basis::FirstVisit,
    },
];
