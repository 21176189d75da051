//! Values that the messages of a handshake contain: the randoms, and both Finished.

use tercel_wire::{ContentType, HandshakeMessage, HandshakeType, ProtocolVersion, ServerHello};

use super::enabled::Direction;

/// The length of the longest Finished: the hash of TLS 1.3's suites. RFC 9846 4.5.3
const MAX_FINISHED: usize = 48;

/// The randoms and the Finished values of a handshake, which a [`super::MessageTap`] collects with
/// [`Self::see`].
#[derive(Clone, Default)]
pub struct HandshakeValues {
    client_random: Option<[u8; 32]>,
    server_random: Option<[u8; 32]>,
    sent: Finished,
    received: Finished,
    /// Whether this side sent its Finished before it received the peer's.
    sent_first: bool,
    /// The version that the server selected.
    version: Option<ProtocolVersion>,
    /// TLS 1.2: whether the extended main secret is used.
    extended: bool,
}

debug_fields!(HandshakeValues: sent_first);

#[derive(Clone, Copy)]
struct Finished {
    bytes: [u8; MAX_FINISHED],
    length: u8,
}

impl Default for Finished {
    fn default() -> Self {
        Self { bytes: [0; MAX_FINISHED], length: 0 }
    }
}

impl Finished {
    fn get(&self) -> Option<&[u8]> {
        self.bytes.get(..usize::from(self.length)).filter(|bytes| !bytes.is_empty())
    }

    fn set(&mut self, content: &[u8]) {
        // A longer one is refused by the handshake.
        let Some(room) = self.bytes.get_mut(..content.len()) else { return };
        room.copy_from_slice(content);
        self.length = u8::try_from(content.len()).unwrap_or_default();
    }
}

impl HandshakeValues {
    /// Takes the value that a message contains, if it is one of a handshake.
    pub fn see(&mut self, direction: Direction, content_type: ContentType, content: &[u8]) {
        let Some(([kind, ..], body)) = content.split_first_chunk::<4>() else { return };
        if content_type != ContentType::HANDSHAKE {
            return;
        }
        match HandshakeType(*kind) {
            // The random follows a version of two bytes. RFC 9846 4.2.2
            HandshakeType::CLIENT_HELLO => {
                self.client_random = body.get(2..).and_then(|rest| rest.first_chunk().copied());
            }
            HandshakeType::SERVER_HELLO => self.see_server_hello(body),
            HandshakeType::FINISHED => match direction {
                Direction::Sent => {
                    self.sent_first = self.received.get().is_none();
                    self.sent.set(body);
                }
                Direction::Received => self.received.set(body),
            },
            _ => {}
        }
    }

    fn see_server_hello(&mut self, body: &[u8]) {
        let hello = ServerHello::parse(body).ok();
        // A HelloRetryRequest has no random. RFC 9846 4.2.3
        let Some(hello) = hello.filter(|hello| !hello.is_hello_retry_request()) else { return };
        self.server_random = Some(*hello.random);
        self.version = hello.extensions.supported_versions.or(Some(hello.legacy_version));
        self.extended = hello.extensions.extended_master_secret.is_some();
    }

    /// Returns the random of the ClientHello. RFC 9846 4.2.2
    #[must_use]
    pub fn client_random(&self) -> Option<&[u8; 32]> {
        self.client_random.as_ref()
    }

    /// Returns the random of the ServerHello. RFC 9846 4.2.3
    #[must_use]
    pub fn server_random(&self) -> Option<&[u8; 32]> {
        self.server_random.as_ref()
    }

    /// Returns the version in the ServerHello. RFC 9846 4.2.3, 4.3.1
    #[must_use]
    pub fn version(&self) -> Option<ProtocolVersion> {
        self.version
    }

    /// Returns the content of the Finished message of this direction. It is the peer's own claim
    /// until the handshake is complete.
    #[must_use]
    pub fn finished(&self, direction: Direction) -> Option<&[u8]> {
        match direction {
            Direction::Sent => self.sent.get(),
            Direction::Received => self.received.get(),
        }
    }

    /// Returns the channel binding `tls-unique` of a connection of TLS 1.2: the first Finished of
    /// its handshake. `None` in TLS 1.3, where it is not defined, and without the extended main
    /// secret, where two connections may have the same value. RFC 5929 3.1, RFC 9266 3
    #[must_use]
    pub fn tls_unique(&self) -> Option<&[u8]> {
        let first = if self.sent_first { Direction::Sent } else { Direction::Received };
        let is_bound = self.version == Some(ProtocolVersion::TLS1_2) && self.extended;
        self.finished(first).filter(|_| is_bound)
    }
}
