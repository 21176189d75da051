//! Clients and servers that break the rules of post-handshake authentication. RFC 9846 4.7.2
//!
//! The connection's own sender seals the messages, because only a peer with the right keys can send
//! them.

mod answers;
mod interruptions;
mod requests;

use std::sync::Arc;

use tercel_crypto::Hash;
use tercel_wire::{
    Certificate, CertificateVerify, ContentType, Finished, HandshakeMessage, List, SignatureScheme,
};

use super::misbehaving_peer::{credential, name};
use crate::auth::certificate_verify::content_to_sign;
use crate::auth::credential::{Credential, Key};
use crate::auth::verifier::AcceptAnyPeer;
use crate::auth::verify_peer::VerifyPeer;
use crate::config::client::{ClientConfig, ClientConfigBuilder};
use crate::config::client_auth::ClientAuth;
use crate::config::server::{ServerConfig, ServerConfigBuilder};
use crate::connection::Connection;
use crate::connection::buffer::ReceiveBuffer;
use crate::connection::receiver::Opened;
use crate::error::{Error, PeerError};
use crate::handshake::{Handshake, Next};
use crate::keys::scheme;
use crate::keys::tls13::TrafficSecret;
use crate::policy::Policy;
use crate::side::Side;

const SCHEME: SignatureScheme = SignatureScheme::ECDSA_SECP256R1_SHA256;

/// A connection whose client or server sends messages that a test defines.
struct Ends {
    client: Connection,
    server: Connection,
    to_server: ReceiveBuffer,
    to_client: ReceiveBuffer,
}

/// The last result of a receiver.
#[derive(Debug, PartialEq)]
enum Event {
    Nothing,
    Data,
    Requested,
    Answered { verified: bool },
    Closed,
}

/// The messages of a client's answer, which tests can change.
struct AnswerParts {
    id: Vec<u8>,
    transcript: Hash,
    secret: TrafficSecret,
    credential: Arc<Credential>,
}

impl AnswerParts {
    /// The answer to the last request.
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
        let certificate_list = List::new(&[]);
        Certificate { certificate_request_context: &self.id, certificate_list }
            .encode(&mut out)
            .unwrap();
        self.add(out)
    }

    fn verify(&mut self) -> Vec<u8> {
        self.verify_as(Side::Client, SCHEME)
    }

    fn verify_as(&mut self, side: Side, algorithm: SignatureScheme) -> Vec<u8> {
        let content = content_to_sign(side, &self.transcript.current_digest());
        let Key::Here(signer) = self.credential.key() else { panic!() };
        let signature = signer.sign(scheme::algorithm(SCHEME).unwrap(), &content).unwrap();
        let mut out = Vec::new();
        CertificateVerify { algorithm, signature: &signature }.encode(&mut out).unwrap();
        self.add(out)
    }

    fn finished(&mut self) -> Vec<u8> {
        let verify_data = self.secret.finished_key().verify_data(&self.transcript.current_digest());
        let mut out = Vec::new();
        Finished { verify_data: &verify_data }.encode(&mut out).unwrap();
        out
    }

    fn flight(&mut self) -> Vec<u8> {
        [self.certificate(), self.verify(), self.finished()].concat()
    }
}

fn anyone() -> Policy<dyn VerifyPeer> {
    Policy::Here(Arc::new(AcceptAnyPeer))
}

fn client() -> ClientConfigBuilder {
    ClientConfig::builder().verifier(anyone())
}

impl Ends {
    fn new() -> Self {
        Self::with(true, |server| server)
    }

    fn with(
        offered: bool,
        change: impl FnOnce(ServerConfigBuilder) -> ServerConfigBuilder,
    ) -> Self {
        let server = ServerConfig::builder()
            .credential(credential())
            .without_tickets()
            .client_verifier(ClientAuth::None, anyone());
        Self::of(client().post_handshake_auth(offered), change(server))
    }

    fn of(client: ClientConfigBuilder, server: ServerConfigBuilder) -> Self {
        let mut client = Handshake::client(client.build().unwrap(), name());
        let mut server = Handshake::server(server.build().unwrap());
        let (mut to_server, mut to_client) = (ReceiveBuffer::new(), ReceiveBuffer::new());
        let (mut of_client, mut of_server) = (None, None);
        while of_client.is_none() || of_server.is_none() {
            advance(&mut client, &mut of_client, &mut to_client, &mut to_server);
            advance(&mut server, &mut of_server, &mut to_server, &mut to_client);
        }
        let (client, server) = (*of_client.unwrap(), *of_server.unwrap());
        Self { client, server, to_server, to_client }
    }

    /// Sends these messages from the client in handshake records, and returns the server's result.
    fn client_sends(&mut self, messages: &[u8]) -> Result<Event, Error> {
        send(&mut self.client, ContentType::HANDSHAKE, messages, &mut self.to_server);
        receive(&mut self.server, &mut self.to_server)
    }

    fn server_sends(&mut self, messages: &[u8]) -> Result<Event, Error> {
        send(&mut self.server, ContentType::HANDSHAKE, messages, &mut self.to_client);
        receive(&mut self.client, &mut self.to_client)
    }

    /// Sends application data from the client.
    fn data(&mut self, data: &[u8]) -> Result<Event, Error> {
        send(&mut self.client, ContentType::APPLICATION_DATA, data, &mut self.to_server);
        receive(&mut self.server, &mut self.to_server)
    }

    /// Updates the client's key.
    fn update(&mut self) -> Result<Event, Error> {
        let mut out = Vec::new();
        self.client.sender.update_key(false, &mut out).unwrap();
        self.to_server.extend(&out);
        receive(&mut self.server, &mut self.to_server)
    }
}

fn advance(
    handshake: &mut Handshake,
    connection: &mut Option<Box<Connection>>,
    received: &mut ReceiveBuffer,
    sent: &mut ReceiveBuffer,
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

fn send(from: &mut Connection, kind: ContentType, content: &[u8], to: &mut ReceiveBuffer) {
    let mut out = Vec::new();
    from.sender.sealer().unwrap().seal_to(kind, content, &mut out).unwrap();
    to.extend(&out);
}

/// The secret under which this end seals.
fn secret_of(end: &Connection) -> TrafficSecret {
    end.sender.keys().as_ref().unwrap().traffic_secret().unwrap().duplicate()
}

/// Returns the first result that is not data, or else whether data arrived.
fn receive(end: &mut Connection, received: &mut ReceiveBuffer) -> Result<Event, Error> {
    let mut seen = Event::Nothing;
    loop {
        match end.receiver.open(received)? {
            Opened::Data(_) => seen = Event::Data,
            Opened::More => return Ok(seen),
            Opened::Closed => return Ok(Event::Closed),
            Opened::CertificateRequested(_) => seen = Event::Requested,
            Opened::ClientCertificate(answer) => {
                seen = Event::Answered { verified: answer.is_verified() };
            }
        }
    }
}

fn bad(peer: PeerError) -> Result<Event, Error> {
    Err(peer.into())
}

const ANSWERED: Result<Event, Error> = Ok(Event::Answered { verified: true });
const DECLINED: Result<Event, Error> = Ok(Event::Answered { verified: false });
