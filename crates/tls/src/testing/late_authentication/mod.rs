//! Clients and servers that break the rules of authentication after the handshake. RFC 9846 4.7.2
//!
//! What it is for: messages that only a peer with the right keys can send, sealed by a connection's own
//! sender; here is how they are made. Must not know: how the answer of an honest client is made, but by its parts.
//! Next: `answers.rs`, `interruptions.rs` and `requests.rs`, then `connection/authentication/`.

mod answers;
mod interruptions;
mod requests;

use std::sync::Arc;

use tercel_crypto::Hash;
use tercel_wire::{
    Certificate, CertificateVerify, ContentType, Finished, HandshakeMessage, List, SignatureScheme,
};

use super::adversary::{credential, name};
use crate::config::client::ClientConfig;
use crate::config::credential::{Credential, Key};
use crate::config::policy::{Policy, Side};
use crate::config::scheme;
use crate::config::server::{ClientAuth, ServerConfig, ServerConfigBuilder};
use crate::config::verifier::AcceptAnyPeer;
use crate::connection::Connection;
use crate::connection::authentication::certificate::content_to_sign;
use crate::connection::buffer::Received;
use crate::connection::receiver::Opened;
use crate::error::{Error, Peer};
use crate::handshake::{Handshake, Next};
use crate::keys::tls13::TrafficSecret;

const SCHEME: SignatureScheme = SignatureScheme::ECDSA_SECP256R1_SHA256;

/// A connection with a client whose words the tests choose, or a server's.
struct Ends {
    client: Connection,
    server: Connection,
    to_server: Received,
    to_client: Received,
}

/// What a receiver found last.
#[derive(Debug, PartialEq)]
enum Seen {
    Nothing,
    Data,
    Requested,
    Answered { verified: bool },
    Closed,
}

/// A client's answer in parts, to be spoilt.
struct Parts {
    id: Vec<u8>,
    transcript: Hash,
    secret: TrafficSecret,
    credential: Arc<Credential>,
}

impl Parts {
    /// To the request that was written last.
    fn to(ends: &mut Ends, demand: ClientAuth) -> Self {
        let requester = ends.server.requester.as_ref().unwrap();
        let mut message = Vec::new();
        let pending = requester.request(demand, &mut message).unwrap();
        let (id, transcript) = (pending.context().to_vec(), pending.transcript().clone());
        ends.server.receiver.expect(pending).unwrap();
        let secret = secret_of(&ends.client);
        Self { id, transcript, secret, credential: Arc::new(credential()) }
    }

    fn add(&mut self, message: Vec<u8>) -> Vec<u8> {
        self.transcript.update(&message);
        message
    }

    fn certificate(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        let extensions = Default::default();
        Certificate::encode_chain(&self.id, self.credential.chain(), &extensions, &mut out)
            .unwrap();
        self.add(out)
    }

    fn nothing(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        let certificate_list = List::of(&[]);
        Certificate { certificate_request_context: &self.id, certificate_list }
            .encode(&mut out)
            .unwrap();
        self.add(out)
    }

    fn verify(&mut self) -> Vec<u8> {
        self.verify_as(Side::Client, SCHEME)
    }

    fn verify_as(&mut self, side: Side, algorithm: SignatureScheme) -> Vec<u8> {
        let content = content_to_sign(side, &self.transcript.fork_finish());
        let Key::Here(signer) = self.credential.key() else { panic!() };
        let signature = signer.sign(scheme::algorithm(SCHEME).unwrap(), &content).unwrap();
        let mut out = Vec::new();
        CertificateVerify { algorithm, signature: &signature }.encode(&mut out).unwrap();
        self.add(out)
    }

    fn finished(&mut self) -> Vec<u8> {
        let verify_data = self.secret.verify_data(&self.transcript.fork_finish());
        let mut out = Vec::new();
        Finished { verify_data: &verify_data }.encode(&mut out).unwrap();
        out
    }

    fn flight(&mut self) -> Vec<u8> {
        [self.certificate(), self.verify(), self.finished()].concat()
    }
}

impl Ends {
    fn new() -> Self {
        Self::with(true, |server| server)
    }

    fn with(
        offered: bool,
        change: impl FnOnce(ServerConfigBuilder) -> ServerConfigBuilder,
    ) -> Self {
        let anyone = || Policy::Here(Arc::new(AcceptAnyPeer) as _);
        let client = ClientConfig::builder().verifier(anyone()).post_handshake_auth(offered);
        let server = ServerConfig::builder()
            .credential(credential())
            .without_tickets()
            .client_verifier(ClientAuth::None, anyone());
        let mut client = Handshake::client(client.build().unwrap(), name());
        let mut server = Handshake::server(change(server).build().unwrap());
        let (mut to_server, mut to_client) = (Received::new(), Received::new());
        let (mut of_client, mut of_server) = (None, None);
        while of_client.is_none() || of_server.is_none() {
            advance(&mut client, &mut of_client, &mut to_client, &mut to_server);
            advance(&mut server, &mut of_server, &mut to_server, &mut to_client);
        }
        let (client, server) = (*of_client.unwrap(), *of_server.unwrap());
        Self { client, server, to_server, to_client }
    }

    /// The client says this in handshake records; what the server makes of it.
    fn client_says(&mut self, messages: &[u8]) -> Result<Seen, Error> {
        say(&mut self.client, ContentType::HANDSHAKE, messages, &mut self.to_server);
        hear(&mut self.server, &mut self.to_server)
    }

    fn server_says(&mut self, messages: &[u8]) -> Result<Seen, Error> {
        say(&mut self.server, ContentType::HANDSHAKE, messages, &mut self.to_client);
        hear(&mut self.client, &mut self.to_client)
    }

    /// Application data of the client.
    fn data(&mut self, data: &[u8]) -> Result<Seen, Error> {
        say(&mut self.client, ContentType::APPLICATION_DATA, data, &mut self.to_server);
        hear(&mut self.server, &mut self.to_server)
    }

    /// The client changes its key.
    fn update(&mut self) -> Result<Seen, Error> {
        let mut out = Vec::new();
        self.client.sender.update_key(false, &mut out).unwrap();
        self.to_server.extend(&out);
        hear(&mut self.server, &mut self.to_server)
    }
}

fn advance(
    handshake: &mut Handshake,
    connection: &mut Option<Box<Connection>>,
    received: &mut Received,
    sent: &mut Received,
) {
    if connection.is_some() {
        return;
    }
    let mut out = Vec::new();
    if let Next::Connected(connected) = handshake.advance(received, &mut out).unwrap() {
        *connection = Some(connected);
    }
    sent.extend(&out);
}

fn say(from: &mut Connection, kind: ContentType, content: &[u8], to: &mut Received) {
    let mut out = Vec::new();
    from.sender.sealer().unwrap().seal_to(kind, content, &mut out).unwrap();
    to.extend(&out);
}

/// What it seals under.
fn secret_of(end: &Connection) -> TrafficSecret {
    end.sender.keys().as_ref().unwrap().traffic_secret().unwrap().duplicate()
}

/// Everything up to the first that is not data, or the last data.
fn hear(end: &mut Connection, received: &mut Received) -> Result<Seen, Error> {
    let mut seen = Seen::Nothing;
    loop {
        match end.receiver.open(received)? {
            Opened::Data(_) => seen = Seen::Data,
            Opened::More => return Ok(seen),
            Opened::Closed => return Ok(Seen::Closed),
            Opened::CertificateRequested(_) => seen = Seen::Requested,
            Opened::ClientCertificate(answer) => {
                seen = Seen::Answered { verified: answer.is_verified() };
            }
        }
    }
}

fn bad(peer: Peer) -> Result<Seen, Error> {
    Err(peer.into())
}

const ANSWERED: Result<Seen, Error> = Ok(Seen::Answered { verified: true });
const DECLINED: Result<Seen, Error> = Ok(Seen::Answered { verified: false });
