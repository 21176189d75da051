//! A client and a server over QUIC in one thread, connected in memory.

use std::collections::VecDeque;
use std::sync::Arc;

use tercel::quic::{Connection, DirectionKeys, Ended, Handshake, KeyUpdates, Keys, Level, Next};
use tercel::quic::{PacketKey, Version};
use tercel::{
    Answer, ClientConfig, Question, ServerConfig, ServerName, Side, client::ClientConfigBuilder,
    server::ServerConfigBuilder,
};

use crate::fixtures::{self, NAME};

/// The transport parameters of both sides. They are not interpreted.
pub(crate) const OF_CLIENT: &[u8] = b"parameters of the client";
pub(crate) const OF_SERVER: &[u8] = b"parameters of the server";

/// A client and a server that agree on a protocol.
pub(crate) fn client() -> ClientConfigBuilder {
    fixtures::client().alpn(&["h3"])
}

pub(crate) fn server() -> ServerConfigBuilder {
    fixtures::server().alpn(&["h3"])
}

pub(crate) fn plain() -> (Arc<ClientConfig>, Arc<ServerConfig>) {
    (client().build().unwrap(), server().build().unwrap())
}

/// CRYPTO data of a level.
pub(crate) type Data = (Level, Vec<u8>);

/// A function that is called with the data that one side sends. It may change the data.
type Tap<'t> = Box<dyn FnMut(&mut Data) + 't>;
type Resolve<'t> = Box<dyn FnMut(Side, Question) -> Answer + 't>;

/// Two handshakes before their start.
pub(crate) struct Pair<'t> {
    client: Handshake,
    server: Handshake,
    /// The number of bytes that are delivered at a time.
    piece: usize,
    to_server: Tap<'t>,
    to_client: Tap<'t>,
    resolve: Resolve<'t>,
}

/// Both ends, after the handshakes have ended.
pub(crate) struct Ends {
    pub(crate) client: End,
    pub(crate) server: End,
}

/// What one side received from its handshake.
pub(crate) struct End {
    pub(crate) early_keys: Option<Box<DirectionKeys>>,
    pub(crate) early_data_rejected: bool,
    pub(crate) handshake_keys: Option<Box<Keys>>,
    pub(crate) application_keys: Option<Box<Keys>>,
    pub(crate) updates: Option<KeyUpdates>,
    /// The names of the events, in order.
    pub(crate) events: Vec<&'static str>,
    /// The data that was sent.
    pub(crate) sent: Vec<Data>,
    /// The peer's parameters when the early keys were given.
    pub(crate) early_parameters: Option<Vec<u8>>,
    /// The protocol that was negotiated when the 1-RTT keys were given.
    pub(crate) early_protocol: Option<Vec<u8>>,
    pub(crate) result: Option<Result<Connection, Ended>>,
    /// The handshake, once it cannot be continued.
    pub(crate) handshake: Option<Handshake>,
}

impl<'t> Pair<'t> {
    pub(crate) fn new(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> Self {
        Self::of_version(client, server, Version::V1)
    }

    pub(crate) fn of_version(
        client: &Arc<ClientConfig>,
        server: &Arc<ServerConfig>,
        version: Version,
    ) -> Self {
        let name = ServerName::try_from(NAME).unwrap();
        Self {
            client: Handshake::client(client, name, version, OF_CLIENT.to_vec()).unwrap(),
            server: Handshake::server(server, version, OF_SERVER.to_vec()).unwrap(),
            piece: usize::MAX,
            to_server: Box::new(|_| {}),
            to_client: Box::new(|_| {}),
            resolve: Box::new(|side, question| panic!("{side:?} asks {question:?}")),
        }
    }

    /// Two handshakes, whose client may distinguish servers by port.
    pub(crate) fn to_port(
        client: &Arc<ClientConfig>,
        server: &Arc<ServerConfig>,
        port: Option<u16>,
    ) -> Self {
        let mut pair = Self::new(client, server);
        if let Some(port) = port {
            let (name, parameters) = (ServerName::try_from(NAME).unwrap(), OF_CLIENT.to_vec());
            let client = Handshake::client_with_port(client, name, port, Version::V1, parameters);
            pair.client = client.unwrap();
        }
        pair
    }

    pub(crate) fn in_pieces_of(mut self, bytes: usize) -> Self {
        self.piece = bytes;
        self
    }

    pub(crate) fn tap_to_server(mut self, tap: impl FnMut(&mut Data) + 't) -> Self {
        self.to_server = Box::new(tap);
        self
    }

    pub(crate) fn tap_to_client(mut self, tap: impl FnMut(&mut Data) + 't) -> Self {
        self.to_client = Box::new(tap);
        self
    }

    pub(crate) fn answering(mut self, resolve: impl FnMut(Side, Question) -> Answer + 't) -> Self {
        self.resolve = Box::new(resolve);
        self
    }

    /// Runs both handshakes until neither can continue.
    pub(crate) fn run(self) -> Ends {
        let Self { client, server, piece, mut to_server, mut to_client, mut resolve } = self;
        let (mut client, mut server) = (Party::new(client), Party::new(server));
        loop {
            let sent = client.step(&mut resolve, &mut to_server);
            let progress = !sent.is_empty();
            server.inbox.extend(sent);
            let received = server.receive(piece);
            let sent = server.step(&mut resolve, &mut to_client);
            let progress = progress || received || !sent.is_empty();
            client.inbox.extend(sent);
            if !client.receive(piece) && !progress {
                return Ends { client: client.end(), server: server.end() };
            }
        }
    }

    /// Runs both handshakes, which must succeed.
    pub(crate) fn connect(self) -> Ends {
        let ends = self.run();
        for end in [&ends.client, &ends.server] {
            assert!(matches!(end.result, Some(Ok(_))), "{:?}", end.result);
        }
        ends
    }
}

struct Party {
    handshake: Handshake,
    inbox: VecDeque<Data>,
    end: End,
}

impl Party {
    fn new(handshake: Handshake) -> Self {
        let end = End {
            early_keys: None,
            early_data_rejected: false,
            handshake_keys: None,
            application_keys: None,
            updates: None,
            events: Vec::new(),
            sent: Vec::new(),
            early_parameters: None,
            early_protocol: None,
            result: None,
            handshake: None,
        };
        Self { handshake, inbox: VecDeque::new(), end }
    }

    fn end(self) -> End {
        End { handshake: Some(self.handshake), ..self.end }
    }

    /// Advances as far as possible, and returns the data to send.
    fn step(&mut self, resolve: &mut Resolve<'_>, tap: &mut Tap<'_>) -> Vec<Data> {
        let (end, mut sent) = (&mut self.end, Vec::new());
        while end.result.is_none() {
            let next = match self.handshake.advance() {
                Ok(next) => next,
                Err(ended) => {
                    end.result = Some(Err(ended));
                    break;
                }
            };
            match next {
                Next::Receive => break,
                Next::Send(level, data) => {
                    end.events.push("send");
                    end.sent.push((level, data.clone()));
                    sent.push((level, data));
                }
                Next::EarlyKeys(keys) => {
                    end.events.push("early keys");
                    end.early_parameters = self.handshake.peer_parameters().map(<[u8]>::to_vec);
                    end.early_keys = Some(keys);
                }
                Next::EarlyDataRejected => {
                    end.events.push("early data rejected");
                    end.early_data_rejected = true;
                }
                Next::HandshakeKeys(keys) => {
                    end.events.push("handshake keys");
                    end.handshake_keys = Some(keys);
                }
                Next::ApplicationKeys(keys, updates) => {
                    end.events.push("application keys");
                    let info = self.handshake.early_info();
                    end.early_protocol = info.and_then(|info| info.alpn.clone());
                    end.application_keys = Some(keys);
                    end.updates = Some(updates);
                }
                Next::Answer(question) => {
                    let answer = resolve(self.handshake.side(), question);
                    self.handshake.answer(answer).unwrap();
                }
                Next::Connected(connection) => {
                    end.events.push("connected");
                    end.result = Some(Ok(*connection));
                }
                other => panic!("{other:?}"),
            }
        }
        sent.iter_mut().for_each(tap);
        sent
    }

    /// Receives at most this number of bytes. Returns `false` if there is nothing to receive.
    fn receive(&mut self, piece: usize) -> bool {
        let Some((level, data)) = self.inbox.front_mut() else { return false };
        let level = *level;
        let piece: Vec<u8> = data.drain(..data.len().min(piece)).collect();
        if data.is_empty() {
            self.inbox.pop_front();
        }
        let received = match &mut self.end.result {
            None => self.handshake.receive(level, &piece),
            Some(Ok(connection)) => {
                assert_eq!(level, Level::Application);
                connection.incoming.receive(&piece)
            }
            Some(Err(_)) => Ok(()),
        };
        if let Err(ended) = received {
            self.end.result = Some(Err(ended));
        }
        true
    }
}

impl End {
    pub(crate) fn connection(&mut self) -> &mut Connection {
        self.result.as_mut().unwrap().as_mut().unwrap()
    }

    /// The error of this side.
    pub(crate) fn error(&self) -> Ended {
        *self.result.as_ref().unwrap().as_ref().expect_err("the handshake has succeeded")
    }
}

/// Whether a packet that one key protects is opened by the other.
pub(crate) fn belong_together(local: &PacketKey, remote: &PacketKey) -> bool {
    let mut packet = [&b"frames"[..], &[0; PacketKey::TAG_LEN]].concat();
    local.seal(7, b"header", &mut packet).unwrap();
    let opened = remote.open(7, b"header", &mut packet);
    opened.is_ok_and(|length| &packet[..length] == b"frames")
}

/// Checks that the keys of both sides belong together.
pub(crate) fn check_keys(one: &Keys, other: &Keys) {
    for (local, remote) in [(&one.local, &other.remote), (&other.local, &one.remote)] {
        check_direction(local, remote);
        assert_eq!(local.packet.integrity_limit(), remote.packet.integrity_limit());
    }
    assert!(!belong_together(&one.local.packet, &one.remote.packet));
}

pub(crate) fn check_direction(local: &DirectionKeys, remote: &DirectionKeys) {
    assert!(belong_together(&local.packet, &remote.packet));
    assert_eq!(local.header.mask(&[9; 16]), remote.header.mask(&[9; 16]));
}
