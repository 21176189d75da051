//! Worker for Tercel.
//!
//! The worker uses `Handshake::advance`, `Sender::seal` and `Receiver::open_into` with the
//! library's defaults, except for pinned parameters. In published accounting it is timed and
//! configured like rustls in rustls-bench.

#![forbid(unsafe_code)]

mod loading;
mod quic;

use std::fs;
use std::process::ExitCode;
use std::sync::Arc;

use lab_quic::{ALPN, EARLY_DATA_CONTEXT, EitherTransport, QuicWorker};
use lab_scenario::{
    About, Accounting, Ech, Endpoint, Files, Group, Library, LibraryWorker, LoadedObject, Material,
    Outcome, PrepareError, Program, Result, Resumption, Row, Scheme, SendBuffer, Sink, Suite,
    Transport, Version, locked_version, serve,
};
use tercel::crypto::{Kernel, kernel_state};
use tercel::fips::fips_module;
use tercel::pki::{ChainVerifier, Roots, load_certs_pem, load_key_pem};
use tercel::pki_types::UnixTime;
use tercel::wire::{CipherSuite, NamedGroup, ProtocolVersion, SignatureScheme};
use tercel::{
    ClientConfig, Connection, Credential, Filled, Handshake, Next, Opened, Policy, ReceiveBuffer,
    ServerConfig, ServerName,
    certificates::{ChainPolicy, VerifyPeer},
    ech::{Key, Keys, Offer, Retry},
    server::{ClientAuth, ServerConfigBuilder},
    session::{ReplayGuard, ServerMemoryStore},
};

fn main() -> ExitCode {
    let (tcp, quic) = (LibraryWorker::<Tercel>::new(), QuicWorker::<quic::Tercel>::new());
    serve(EitherTransport { tcp, quic })
}

/// The early data limit of tickets, in bytes.
const MAX_EARLY_DATA: u32 = 16 << 10;

/// The capacity of the replay guard, in ClientHellos with early data of one run.
const GUARD: usize = 1 << 18;

struct Tercel {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
    name: ServerName<'static>,
    /// What the client offers of Encrypted ClientHello.
    ech: Offer,
}

impl Library for Tercel {
    type Client = Side<true>;
    type Server = Side<false>;

    const PROGRAM: Option<Program> = Some(Program::RustlsBench);
    const ECH: bool = true;

    fn about() -> About {
        let lock = include_str!("../../../Cargo.lock");
        let state = |kernel: &Kernel| format!("{kernel} {}", kernel_state(*kernel));
        let kernels = Kernel::ALL.iter().map(state).collect::<Vec<_>>().join(", ");
        let aws_lc = locked_version(lock, "aws-lc-sys");
        let crypto = match fips_module() {
            None => format!("AWS-LC (aws-lc-sys {aws_lc}); kernels: {kernels}"),
            Some(module) => module.version.to_owned(),
        };
        About {
            library: "Tercel".to_owned(),
            version: locked_version(lock, "tercel").to_owned(),
            crypto,
            interface: "Handshake::advance, Sender::seal, Receiver::open_into; over QUIC \
                        tercel-quinn"
                .to_owned(),
            build: "release, thin LTO, one codegen unit".to_owned(),
            ..About::default()
        }
    }

    fn configure(row: &Row, files: &Files) -> std::result::Result<Self, PrepareError> {
        let name = ServerName::try_from(files.server_name())?;
        let (client, mut server) = configurations(row, files)?;
        let mut ech = Offer::None;
        if !row.ech.is_none() {
            let key = Key::generate(Ech::PUBLIC_NAME, Ech::MAXIMUM_NAME_LENGTH)?;
            ech = match row.ech {
                Ech::Accepted => Offer::Configs(key.config()),
                Ech::None | Ech::Grease => Offer::Grease,
            };
            let keys = Keys::new(vec![(key, Retry::Send)])?;
            server = server_builder(row, files)?.ech(Arc::new(keys)).build()?;
        }
        Ok(Self { client, server, name, ech })
    }

    fn client(&self) -> Result<Self::Client> {
        let handshake = Handshake::client(Arc::clone(&self.client), self.name.clone());
        Ok(Side::new(match &self.ech {
            Offer::None => handshake,
            offer => handshake.with_ech(offer.clone()),
        }))
    }

    fn server(&self) -> Result<Self::Server> {
        Ok(Side::new(Handshake::server(Arc::clone(&self.server))))
    }

    fn load(
        &self,
        row: &Row,
        material: &Material,
    ) -> std::result::Result<LoadedObject<Self>, PrepareError> {
        loading::load(self, row, material)
    }
}

/// The configurations of both sides.
fn configurations(
    row: &Row,
    files: &Files,
) -> std::result::Result<(Arc<ClientConfig>, Arc<ServerConfig>), PrepareError> {
    let trusted = |chain| roots(&fs::read(files.root(chain))?);
    let clients = |chain| {
        credential(&fs::read(files.client_chain(chain))?, &fs::read(files.client_key(chain))?)
    };
    let own = row.client_chain.map(clients).transpose()?;
    let client = client(row, trusted(row.chain)?, own)?;
    Ok((client, server_builder(row, files)?.build()?))
}

/// The configuration of the server, with its chain.
fn server_builder(
    row: &Row,
    files: &Files,
) -> std::result::Result<ServerConfigBuilder, PrepareError> {
    let (chain, key) = (files.server_chain(row.chain), files.server_key(row.chain));
    let own = credential(&fs::read(chain)?, &fs::read(key)?)?;
    let client_roots = row.client_chain.map(|chain| roots(&fs::read(files.root(chain))?));
    server_with(row, own, client_roots.transpose()?)
}

fn client(
    row: &Row,
    roots: Roots,
    own: Option<Credential>,
) -> std::result::Result<Arc<ClientConfig>, PrepareError> {
    let mut builder = ClientConfig::builder()
        .verifier(verifier(row, roots)?)
        .versions(&[version(row.version)])
        .cipher_suites(&[suite(row.suite)?])
        .early_data(row.early_data > 0)
        .fips(is_fips(row));
    if !is_published(row) {
        builder = builder.signature_schemes(&schemes(row));
    }
    if row.pins_groups() {
        builder = builder.groups(&groups(row)?);
    }
    if row.resumption.is_none() {
        builder = builder.without_resumption();
    }
    if let Some(own) = own {
        builder = builder.credential(own);
    }
    if row.transport == Transport::Quic {
        builder = builder.alpn(&[ALPN]).quic_early_data_context(EARLY_DATA_CONTEXT);
    }
    Ok(builder.build()?)
}

fn server(
    row: &Row,
    own: Credential,
    client_roots: Option<Roots>,
) -> std::result::Result<Arc<ServerConfig>, PrepareError> {
    Ok(server_with(row, own, client_roots)?.build()?)
}

fn server_with(
    row: &Row,
    own: Credential,
    client_roots: Option<Roots>,
) -> std::result::Result<ServerConfigBuilder, PrepareError> {
    let mut builder = ServerConfig::builder()
        .credential(own)
        .versions(&[version(row.version)])
        .fips(is_fips(row));
    builder = if is_published(row) {
        // These are the defaults of rustls.
        builder.ticket_counts(2, 2)
    } else {
        builder.cipher_suites(&[suite(row.suite)?]).ticket_counts(row.tickets, row.tickets)
    };
    if row.pins_groups() {
        builder = builder.groups(&groups(row)?);
    }
    builder = match row.resumption {
        None => builder.without_tickets(),
        Some(Resumption::Stateless) => builder,
        Some(Resumption::Stateful) => builder
            .without_tickets()
            .session_store(Policy::Here(Arc::new(ServerMemoryStore::default()))),
    };
    if row.early_data > 0 {
        let guard = ReplayGuard::new(GUARD, UnixTime::since_unix_epoch(std::time::Duration::ZERO));
        builder = builder.early_data(MAX_EARLY_DATA, Policy::Here(Arc::new(guard)));
    }
    if row.transport == Transport::Quic {
        builder = builder.alpn(&[ALPN]).quic_early_data_context(EARLY_DATA_CONTEXT);
    }
    if let Some(roots) = client_roots {
        builder = builder.signature_schemes(&schemes(row)).client_auth(ClientAuth::Required, roots);
    }
    Ok(builder)
}

/// Whether the configuration has the option `fips`: if this build has the module, and the row's
/// parameters are approved. The other rows use the module without the option.
fn is_fips(row: &Row) -> bool {
    let is_approved = row.transport != Transport::Quic
        && row.ech.is_none()
        && !row.groups().contains(&Group::X25519)
        && !row.suite.name().contains("CHACHA20");
    fips_module().is_some() && is_approved
}

/// Whether the row has published accounting. If it has, the client pins the cipher suite but no
/// signature schemes, and the server pins no cipher suite, as in rustls-bench.
fn is_published(row: &Row) -> bool {
    row.accounting == Accounting::Published
}

/// The default verifier, without a cache if the row forbids caches.
fn verifier(row: &Row, roots: Roots) -> std::result::Result<Policy<dyn VerifyPeer>, PrepareError> {
    let policy = match row.first_visit {
        false => ChainPolicy::new(roots)?,
        true => {
            let verifier = ChainVerifier::builder(Arc::new(roots)).cache_signatures(false);
            ChainPolicy::with_verifier(verifier.build()?)
        }
    };
    Ok(Policy::Here(Arc::new(policy)))
}

fn roots(pem: &[u8]) -> std::result::Result<Roots, PrepareError> {
    let mut roots = Roots::new();
    roots.add_pem(pem)?;
    Ok(roots)
}

fn credential(chain: &[u8], key: &[u8]) -> std::result::Result<Credential, PrepareError> {
    Ok(Credential::new(load_certs_pem(chain)?, &load_key_pem(key)?)?)
}

fn version(version: Version) -> ProtocolVersion {
    match version {
        Version::Tls12 => ProtocolVersion::TLS1_2,
        Version::Tls13 => ProtocolVersion::TLS1_3,
    }
}

fn suite(suite: Suite) -> std::result::Result<CipherSuite, PrepareError> {
    CipherSuite::from_name(suite.name()).ok_or_else(|| PrepareError::unsupported(suite.name()))
}

fn groups(row: &Row) -> std::result::Result<Vec<NamedGroup>, PrepareError> {
    let group = |group: &Group| {
        NamedGroup::from_name(group.name()).ok_or_else(|| PrepareError::unsupported(group.name()))
    };
    row.groups().iter().map(group).collect()
}

/// The row's scheme for the handshake, and the scheme of RSA certificates.
fn schemes(row: &Row) -> Vec<SignatureScheme> {
    match row.chain.scheme() {
        Scheme::RsaPssRsaeSha256 => {
            vec![SignatureScheme::RSA_PSS_RSAE_SHA256, SignatureScheme::RSA_PKCS1_SHA256]
        }
        Scheme::EcdsaSecp256r1Sha256 => vec![SignatureScheme::ECDSA_SECP256R1_SHA256],
        Scheme::Ed25519 => vec![SignatureScheme::ED25519],
    }
}

/// Buffers that a thread uses for all its connections.
struct Buffers {
    received: ReceiveBuffer,
    /// Output of the handshake.
    flight: Vec<u8>,
    /// Encrypted application data.
    sealed: SendBuffer,
    /// Decrypted application data.
    opened: Vec<u8>,
    published: bool,
}

/// Space for the content of a record and its type.
const OPENED_LENGTH: usize = 17 << 10;

/// The transfer size in published accounting, as in rustls-bench.
const PUBLISHED_BUFFER: usize = 256 << 10;

/// One end of a connection.
struct Side<const CLIENT: bool> {
    state: State,
    early_data: usize,
}

enum State {
    Handshake(Handshake),
    Connected(Box<Connection>),
}

impl<const CLIENT: bool> Side<CLIENT> {
    fn new(handshake: Handshake) -> Self {
        Self { state: State::Handshake(handshake), early_data: 0 }
    }

    fn connection(&mut self) -> Result<&mut Connection> {
        match &mut self.state {
            State::Connected(connection) => Ok(connection),
            State::Handshake(_) => Err("not connected".into()),
        }
    }
}

impl<const CLIENT: bool> Endpoint for Side<CLIENT> {
    type Buffers = Buffers;

    fn buffers(row: &Row, capacity: usize) -> Buffers {
        Buffers {
            received: ReceiveBuffer::with_capacity(capacity),
            flight: Vec::with_capacity(capacity),
            sealed: SendBuffer::new(row, capacity),
            opened: vec![0; OPENED_LENGTH],
            published: is_published(row),
        }
    }

    fn deliver(&mut self, buffers: &mut Buffers, bytes: &[u8]) -> Result<usize> {
        buffers.received.extend(bytes);
        Ok(bytes.len())
    }

    fn advance(&mut self, buffers: &mut Buffers) -> Result<()> {
        loop {
            match &mut self.state {
                State::Handshake(handshake) => {
                    match handshake.advance(&mut buffers.received, &mut buffers.flight)? {
                        Next::Receive => return Ok(()),
                        Next::EarlyData(bytes) => self.early_data += bytes.len(),
                        Next::Connected(connection) => self.state = State::Connected(connection),
                        other => return Err(format!("{other:?}").into()),
                    }
                }
                // After the handshake only tickets arrive.
                State::Connected(connection) => {
                    return match connection.receiver.open(&mut buffers.received)? {
                        Opened::More => Ok(()),
                        other => Err(format!("{other:?} after a handshake").into()),
                    };
                }
            }
        }
    }

    fn collect(&mut self, buffers: &mut Buffers, wire: &mut Vec<u8>) -> Result<()> {
        wire.append(&mut buffers.flight);
        let most = if buffers.published { PUBLISHED_BUFFER } else { usize::MAX };
        buffers.sealed.collect_at_most(wire, most);
        Ok(())
    }

    fn send_early(&mut self, buffers: &mut Buffers, data: &[u8]) -> Result<()> {
        let State::Handshake(handshake) = &mut self.state else {
            return Err("the handshake has ended".into());
        };
        let sender = handshake.early_sender().ok_or("the session does not allow early data")?;
        Ok(sender.seal_to(data, &mut buffers.flight)?)
    }

    fn outcome(&self) -> Result<Outcome> {
        let State::Connected(connection) = &self.state else { return Err("not connected".into()) };
        let info = &connection.info;
        let version = match info.version {
            ProtocolVersion::TLS1_2 => Version::Tls12,
            _ => Version::Tls13,
        };
        let suite = Suite::ALL.iter().find(|each| Some(each.name()) == info.cipher_suite.name());
        let group = |group: NamedGroup| {
            Group::ALL
                .iter()
                .find(|each| NamedGroup::from_name(each.name()) == Some(group))
                .copied()
        };
        let signed = if CLIENT { info.peer_signature_scheme } else { info.own_signature_scheme };
        let scheme = signed.and_then(SignatureScheme::name).and_then(|name| {
            Scheme::ALL.iter().find(|each| each.name().eq_ignore_ascii_case(name)).copied()
        });
        // Each ticket is one record, and no other records use these keys yet.
        let tickets = u32::try_from(connection.receiver.sequence())?;
        Ok(Outcome {
            version,
            suite: *suite.ok_or("an unknown suite")?,
            group: info.group.and_then(group),
            scheme,
            resumed: info.resumed,
            client_certificate: (!CLIENT).then(|| !info.peer_chain().is_empty()),
            tickets: (CLIENT && version == Version::Tls13).then_some(tickets),
            early_data: self.early_data,
        })
    }

    fn ech_accepted(&self) -> bool {
        match &self.state {
            State::Connected(connection) => connection.info.ech == tercel::Ech::Accepted,
            State::Handshake(_) => false,
        }
    }

    fn send(&mut self, buffers: &mut Buffers, data: &[u8]) -> Result<()> {
        let sender = &mut self.connection()?.sender;
        for piece in data.chunks(buffers.sealed.piece_size()) {
            let room = buffers.sealed.space(sender.sealed_length(piece.len()));
            let sealed = sender.seal(piece, room)?;
            if sealed.consumed < piece.len() {
                return Err("a piece does not fit".into());
            }
            buffers.sealed.fill(sealed.written);
        }
        Ok(())
    }

    fn park(&mut self) -> Result<bool> {
        self.connection()?.park();
        Ok(true)
    }

    fn receive(&mut self, buffers: &mut Buffers, sink: Sink<'_>) -> Result<()> {
        let receiver = &mut self.connection()?.receiver;
        loop {
            match receiver.open_into(&mut buffers.received, &mut buffers.opened)? {
                Filled::Data(length) => sink(buffers.opened.get(..length).unwrap_or_default()),
                Filled::More => return Ok(()),
                other => return Err(format!("{other:?}").into()),
            }
        }
    }
}
