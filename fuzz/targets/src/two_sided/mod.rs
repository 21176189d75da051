//! A client and a server that are connected through an attacker.
//!
//! The input is a list of instructions: actions of the sides, deliveries, and changes of records in
//! transit.

mod attacker;
pub(crate) mod keys;

use tercel::wire::AlertDescription;
use tercel::{EarlyData, Side};

use crate::configs::CONFIGS;
use crate::peer::Peer;
use crate::script::Script;
use attacker::Attacker;

/// Runs an input: the first byte selects the configurations, the second the attacker; instructions
/// follow.
///
/// At the end all records in transit are delivered, and both sides send some data and close.
/// Returns whether both were connected and received all data.
pub fn two_sided(input: &[u8]) -> bool {
    let mut world = World::play(input);
    let is_connected = world.finish();
    world.check_data();
    is_connected
}

/// All bytes that client and server send to each other without an attacker. They are seeds for
/// targets with one side.
#[must_use]
pub fn flights(client: usize, server: usize) -> [Vec<u8>; 2] {
    keys::clear();
    let mut world = World::new([client, server], 0);
    let mut said = [Vec::new(), Vec::new()];
    for round in 0..MAX_ROUNDS {
        for from in [0, 1] {
            if round == MAX_ROUNDS / 2 {
                world.peers[from].send(40);
                world.peers[from].act_connected(|it, out| it.sender.close(out));
                world.collect();
            }
            while let Some(bytes) = world.ways[from].deliver_next() {
                said[from].extend_from_slice(&bytes);
                world.peers[1 - from].receive(&bytes);
            }
            world.collect();
        }
    }
    said
}

/// The limit of instructions.
const MAX_STEPS: usize = 300;

/// The maximum number of unanswered key updates that no side refuses as a flood.
const MAX_UPDATES: usize = 15;

/// The limit of rounds without new actions: a handshake takes three, and two may follow.
const MAX_ROUNDS: usize = 16;

/// The limit of bytes that a side sends, given that the instructions send little.
const MAX_SENT: usize = 1 << 20;

struct World {
    peers: [Peer; 2],
    /// One attacker for each direction, at the index of the sender.
    ways: [Attacker; 2],
    /// The length of the parts in which data is delivered; 0 delivers all sent bytes at once.
    piece: usize,
    has_keys: bool,
    /// Whether no record was changed, no side has ended, and there were few key updates.
    is_undisturbed: bool,
    updates: usize,
    written: usize,
}

impl World {
    fn play(input: &[u8]) -> Self {
        keys::clear();
        let mut script = Script::new(input);
        let configs = usize::from(script.byte().unwrap_or(0));
        let configs = [configs % CONFIGS, configs / CONFIGS % CONFIGS];
        let mut world = Self::new(configs, script.byte().unwrap_or(0));
        for _ in 0..MAX_STEPS {
            if world.step(&mut script).is_none() {
                break;
            }
        }
        world
    }

    fn new([client, server]: [usize; 2], between: u8) -> Self {
        let has_keys = between & 1 == 1;
        let sides = [Side::Client, Side::Server];
        let mut world = Self {
            peers: [Peer::new(Side::Client, client), Peer::new(Side::Server, server)],
            ways: sides.map(|side| Attacker::new(side, has_keys)),
            piece: usize::from(between >> 4),
            has_keys,
            is_undisturbed: true,
            updates: 0,
            written: 0,
        };
        world.peers[0].room = if between & 2 == 0 { 0 } else { 1 << 15 };
        world.peers[1].room = if between & 4 == 0 { 0 } else { 1 << 15 };
        world.peers.iter_mut().for_each(|peer| peer.is_lazy = between & 8 != 0);
        world.peers[0].receive(&[]);
        world.collect();
        world
    }

    /// Executes one instruction. `None` at the end of the script.
    fn step(&mut self, script: &mut Script<'_>) -> Option<()> {
        let instruction = script.byte()?;
        let from = usize::from(instruction >> 7);
        let (peer, way) = (&mut self.peers[from], &mut self.ways[from]);
        match instruction & 0x1f {
            change @ 0..16 => {
                self.is_undisturbed = false;
                let _ = way.change(change, script);
            }
            16 => self.deliver(from),
            17 => (0..script.byte()? % 8).for_each(|_| self.deliver(from)),
            18 => self.deliver_all(),
            19 => peer.send(script.number()? % 5000),
            20 => peer.send_through(script.number()? % 5000, script.number()? % 5000),
            21 => {
                let request = script.byte()? & 1 == 1;
                self.updates += 1;
                self.is_undisturbed &= self.updates <= MAX_UPDATES;
                peer.act_connected(|it, out| it.sender.update_key(request, out));
            }
            22 => peer.act_connected(|it, out| it.sender.close(out)),
            23 => {
                let alert = AlertDescription(script.byte()?);
                self.is_undisturbed = false;
                peer.act_connected(|it, out| it.sender.abort(alert, out));
            }
            24 => peer.room = script.number()? % (1 << 15),
            25 => peer.act_connected(|it, out| it.sender.control(out)),
            26 => {
                self.is_undisturbed = false;
                peer.end();
            }
            27 => peer.send_at_once(script.number()? % 5000),
            28 => peer.act_connected(|it, _| {
                it.park();
                Ok(())
            }),
            29 => peer.renew(),
            _ => self.piece = usize::from(script.byte()?),
        }
        self.collect();
        Some(())
    }

    /// Passes the output of both sides to the attackers.
    fn collect(&mut self) {
        for (peer, way) in self.peers.iter_mut().zip(&mut self.ways) {
            self.written += peer.out.len();
            way.accept(&peer.out);
            peer.out.clear();
        }
        assert!(self.written < MAX_SENT, "{} bytes were written", self.written);
        if let Some(random) = self.ways[1].server_random() {
            self.ways.iter_mut().for_each(|way| way.set_server_random(random));
        }
    }

    /// Delivers the next record from this side.
    fn deliver(&mut self, from: usize) {
        let Some(bytes) = self.ways[from].deliver_next() else { return };
        let piece = if self.piece == 0 { bytes.len().max(1) } else { self.piece };
        bytes.chunks(piece).for_each(|piece| self.peers[1 - from].receive(piece));
        self.collect();
    }

    /// Delivers everything until no side has output.
    fn deliver_all(&mut self) {
        for _ in 0..MAX_ROUNDS {
            if self.ways.iter().all(Attacker::is_empty) {
                return;
            }
            for from in [0, 1] {
                while !self.ways[from].is_empty() {
                    self.deliver(from);
                }
            }
        }
        panic!("the sides do not stop sending");
    }

    /// Delivers everything, and both sides send some data and close. Returns whether all of it
    /// arrived.
    fn finish(&mut self) -> bool {
        self.deliver_all();
        for peer in &mut self.peers {
            peer.send(100);
        }
        self.collect();
        self.deliver_all();
        self.check_agreement();
        for peer in &mut self.peers {
            peer.act_connected(|it, out| it.sender.close(out));
        }
        self.collect();
        self.deliver_all();
        let is_connected = self.peers.iter().all(Peer::is_connected);
        self.peers.iter_mut().for_each(Peer::end);
        let [client, server] = &self.peers;
        let all = client.sent == server.arrived && server.sent == client.arrived;
        is_connected && all && client.sent > 0 && server.sent > 0
    }

    /// Checks that only an attacker with the keys can insert data, and that all data arrives if
    /// nothing was changed.
    fn check_data(&self) {
        let [client, server] = &self.peers;
        let connected = self.peers.iter().all(|peer| peer.connection.is_some());
        if self.is_undisturbed && connected {
            assert_eq!([client.error, server.error], [None, None], "nothing was changed");
            assert!(client.intact && server.intact, "the data was not changed");
            let arrived = [server.arrived, client.arrived];
            assert_eq!(arrived, [client.sent, server.sent], "the data was not lost");
        }
        for (from, to) in [(client, server), (server, client)] {
            assert!(self.has_keys || to.intact, "data was changed");
            assert!(self.has_keys || to.arrived <= from.sent, "data was repeated");
            let cut_short = to.heard_close && to.arrived < from.sent;
            assert!(self.has_keys || !cut_short, "data was truncated");
        }
    }

    /// Checks that two connected sides are connected to each other, with the same parameters.
    fn check_agreement(&self) {
        let [Some(client), Some(server)] = [0, 1].map(|side| self.peers[side].connection.as_ref())
        else {
            return;
        };
        let [ours, theirs] = [&client.info, &server.info];
        assert_eq!(ours.version, theirs.version);
        assert_eq!(ours.cipher_suite, theirs.cipher_suite);
        assert_eq!(ours.group, theirs.group);
        assert_eq!(ours.alpn, theirs.alpn);
        assert_eq!(ours.retried, theirs.retried);
        assert_eq!(ours.extended_main_secret, theirs.extended_main_secret);
        assert_eq!(ours.resumed, theirs.resumed);
        let accepted = |it: &tercel::ConnectionInfo| it.early_data == EarlyData::Accepted;
        assert_eq!(accepted(ours), accepted(theirs));
        // A resumed session was authenticated earlier.
        if !ours.resumed {
            assert_eq!(ours.peer_signature_scheme, theirs.own_signature_scheme);
            assert_eq!(ours.own_signature_scheme, theirs.peer_signature_scheme);
        }
        let exported = [client, server].map(|connection| {
            let mut out = [0; 32];
            connection.exporter.export(b"EXPORTER-fuzz", Some(b"context"), &mut out).map(|()| out)
        });
        assert!(exported[0].is_ok() && exported[0] == exported[1]);
    }
}

#[cfg(test)]
mod tests {
    use tercel::wire::AlertDescription;
    use tercel::{Error, error::PeerError};

    use super::*;

    const TLS13: u8 = 0;
    const TLS12: u8 = 0o22;
    const OTHER_CONFIGS: [u8; 2] = [0o11, 0o33];
    const WITHOUT_KEYS: u8 = 0;
    const LAZY: u8 = 8;
    const WITH_KEYS: u8 = 1;
    const BY_SERVER: u8 = 0x80;

    /// The errors of client and server.
    fn errors(input: &[u8]) -> [Option<Error>; 2] {
        let mut world = World::play(input);
        world.finish();
        world.peers.map(|peer| peer.error)
    }

    #[test]
    fn unchanged_connections_succeed() {
        for configs in [TLS13, TLS12].into_iter().chain(OTHER_CONFIGS) {
            for between in [WITHOUT_KEYS, WITH_KEYS, 0x17, 0xf0] {
                assert!(two_sided(&[configs, between]), "{configs} {between}");
                assert_eq!(errors(&[configs, between]), [None, None]);
            }
        }
    }

    #[test]
    fn resuming_clients_send_early_data() {
        let early = EarlyData::NotOffered;
        for (configs, resumed, early) in [
            (0o44, true, EarlyData::Accepted),
            (0o55, true, EarlyData::Accepted),
            (0o64, true, EarlyData::Rejected),
            (0o74, true, EarlyData::Rejected),
            (0o45, false, EarlyData::Rejected),
            (0o46, true, early),
            (0o57, true, early),
            (0o47, false, early),
        ] {
            let mut world = World::play(&[configs, WITHOUT_KEYS]);
            assert!(world.finish(), "{configs:o}");
            world.check_data();
            for peer in &world.peers {
                let info = &peer.connection.as_ref().unwrap().info;
                assert_eq!((info.resumed, info.early_data), (resumed, early), "{configs:o}");
            }
            assert_eq!(world.peers[1].early_received() > 0, early == EarlyData::Accepted);
        }
    }

    #[test]
    fn pending_output_survives_a_small_buffer() {
        let update = [18, 21, 1, 18, BY_SERVER | 20, 0, 9, 0, 9, BY_SERVER | 19, 0, 9, 18];
        assert_eq!(errors(&[&[TLS13, LAZY], &update[..]].concat()), [None, None]);
    }

    #[test]
    fn the_sealed_length_is_sufficient() {
        for configs in [TLS13, OTHER_CONFIGS[0]] {
            let update = [18, 21, 1, 18, BY_SERVER | 27, 15, 160, 18];
            assert!(two_sided(&[&[configs, LAZY], &update[..]].concat()));
        }
    }

    #[test]
    fn the_answer_to_a_closure_may_be_the_only_output() {
        let close = [18, BY_SERVER | 22, 18, 27, 0, 9, 18];
        two_sided(&[&[TLS12, LAZY], &close[..]].concat());
    }

    #[test]
    fn the_same_input_gives_the_same_bytes() {
        for config in 0..CONFIGS {
            assert_eq!(flights(config, config), flights(config, config));
        }
    }

    #[test]
    fn without_keys_a_record_cannot_be_changed() {
        let flip = [18, 19, 0, 9, 5, 0, 0, 7, 1];
        for configs in [TLS13, TLS12] {
            let errors = errors(&[&[configs, WITHOUT_KEYS], &flip[..]].concat());
            let alert = Error::AlertReceived(AlertDescription::BAD_RECORD_MAC);
            assert_eq!(errors, [Some(alert), Some(PeerError::BadRecordMac.into())]);
        }
    }

    #[test]
    fn without_keys_a_connection_cannot_be_closed() {
        for configs in [TLS13, TLS12] {
            for from in [0, BY_SERVER] {
                two_sided(&[configs, WITHOUT_KEYS, 18, from | 19, 0, 9, from | 3, 0, 2, 18]);
                let update = [18, from | 21, 0, from | 16, from | 19, 0, 9, from | 3, 0, 2, 18];
                two_sided(&[&[configs, WITHOUT_KEYS], &update[..]].concat());
            }
        }
    }

    #[test]
    fn with_keys_forbidden_messages_can_be_sent() {
        let renegotiate = [18, BY_SERVER | 3, 0, 7];
        // A renegotiation is refused with a warning, and only after several with an error.
        // RFC 5246 7.2.2
        assert_eq!(errors(&[&[TLS12, WITH_KEYS], &renegotiate[..]].concat()), [None, None]);
        let [client, _] = errors(&[&[TLS12, WITH_KEYS], &renegotiate.repeat(5)[..]].concat());
        assert_eq!(client, Some(PeerError::Renegotiation.into()));
        let [client, _] = errors(&[&[TLS13, WITH_KEYS], &renegotiate[..]].concat());
        assert_eq!(client, Some(PeerError::UnexpectedMessage.into()));
        // An inserted KeyUpdate changes the receiver's keys, which the attacker follows.
        let update = [18, 3, 0, 9, 19, 0, 9, 18];
        assert_eq!(errors(&[&[TLS13, WITH_KEYS], &update[..]].concat()), [None, None]);
    }

    #[test]
    fn with_keys_a_protected_handshake_can_be_changed() {
        // One changed bit of EncryptedExtensions is detected by the signature over the transcript.
        let alter = [16, BY_SERVER | 5, 2, 0, 9, 1];
        let [client, _] = errors(&[&[TLS13, WITH_KEYS], &alter[..]].concat());
        let record_altered = Some(Error::from(PeerError::BadRecordMac));
        assert!(client.is_some() && client != record_altered, "{client:?}");
    }
}
