//! A client and a server that talk to each other, and someone between them.
//!
//! The input is a list of instructions: what the sides do, what arrives, what becomes of it on the way.
//! Must not know: messages. Next: [`crate::peer`], [`middle`].

pub(crate) mod keys;
mod middle;

use tercel::wire::AlertDescription;
use tercel::{EarlyData, Side};

use crate::configs::CONFIGS;
use crate::peer::Peer;
use crate::script::Script;
use middle::Middle;

/// Plays an input: the first byte chooses the configurations, the next the one between; then instructions.
///
/// In the end everything still under way arrives, both sides send a little, and close. Whether both were
/// connected and got all of it.
pub fn two_sided(input: &[u8]) -> bool {
    let mut world = World::play(input);
    let is_well = world.finish();
    world.check_data();
    is_well
}

/// Everything that client and server say to each other when nobody disturbs them: seeds for targets with one side.
#[must_use]
pub fn flights(client: usize, server: usize) -> [Vec<u8>; 2] {
    keys::forget();
    let mut world = World::new([client, server], 0);
    let mut said = [Vec::new(), Vec::new()];
    for round in 0..MAX_ROUNDS {
        for from in [0, 1] {
            if round == MAX_ROUNDS / 2 {
                world.peers[from].send(40);
                world.peers[from].act_connected(|it, out| it.sender.close(out));
                world.collect();
            }
            while let Some(bytes) = world.ways[from].hand_out() {
                said[from].extend_from_slice(&bytes);
                world.peers[1 - from].receive(&bytes);
            }
            world.collect();
        }
    }
    said
}

/// Instructions that are enough.
const MAX_STEPS: usize = 300;

/// Changes of keys, answers not counted, that no side takes for an attack.
const ENOUGH_UPDATES: usize = 15;

/// Rounds in which two sides come to rest: a handshake has three, and there may be two after it.
const MAX_ROUNDS: usize = 16;

/// What a side may have said at most when it was told to say little.
const MAX_SENT: usize = 1 << 20;

struct World {
    peers: [Peer; 2],
    /// From the peer of the same place.
    ways: [Middle; 2],
    /// Data arrives in pieces of this length; as it was sent if it is 0.
    piece: usize,
    is_confidant: bool,
    /// Nobody altered a record, gave up, or changed keys too often.
    is_undisturbed: bool,
    updates: usize,
    written: usize,
}

impl World {
    fn play(input: &[u8]) -> Self {
        keys::forget();
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
        let is_confidant = between & 1 == 1;
        let sides = [Side::Client, Side::Server];
        let mut world = Self {
            peers: [Peer::new(Side::Client, client), Peer::new(Side::Server, server)],
            ways: sides.map(|side| Middle::new(side, is_confidant)),
            piece: usize::from(between >> 4),
            is_confidant,
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

    /// Follows one instruction. `None` at the end of the script.
    fn step(&mut self, script: &mut Script<'_>) -> Option<()> {
        let instruction = script.byte()?;
        let from = usize::from(instruction >> 7);
        let (peer, way) = (&mut self.peers[from], &mut self.ways[from]);
        match instruction & 0x1f {
            tamper @ 0..16 => {
                self.is_undisturbed = false;
                let _ = way.tamper(tamper, script);
            }
            16 => self.deliver(from),
            17 => (0..script.byte()? % 8).for_each(|_| self.deliver(from)),
            18 => self.settle(),
            19 => peer.send(script.number()? % 5000),
            20 => peer.send_through(script.number()? % 5000, script.number()? % 5000),
            21 => {
                let request = script.byte()? & 1 == 1;
                self.updates += 1;
                self.is_undisturbed &= self.updates <= ENOUGH_UPDATES;
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

    /// What the sides sent is under way.
    fn collect(&mut self) {
        for (peer, way) in self.peers.iter_mut().zip(&mut self.ways) {
            self.written += peer.out.len();
            way.take_in(&peer.out);
            peer.out.clear();
        }
        assert!(self.written < MAX_SENT, "{} bytes were written", self.written);
        if let Some(random) = self.ways[1].server_random() {
            self.ways.iter_mut().for_each(|way| way.set_server_random(random));
        }
    }

    /// The next record from this side arrives at the other.
    fn deliver(&mut self, from: usize) {
        let Some(bytes) = self.ways[from].hand_out() else { return };
        let piece = if self.piece == 0 { bytes.len().max(1) } else { self.piece };
        bytes.chunks(piece).for_each(|piece| self.peers[1 - from].receive(piece));
        self.collect();
    }

    /// Everything arrives, until nobody has anything to say.
    fn settle(&mut self) {
        for _ in 0..MAX_ROUNDS {
            if self.ways.iter().all(Middle::is_empty) {
                return;
            }
            for from in [0, 1] {
                while !self.ways[from].is_empty() {
                    self.deliver(from);
                }
            }
        }
        panic!("the sides do not come to rest");
    }

    /// Everything arrives, and both sides say a little more and close. Whether all of it came through.
    fn finish(&mut self) -> bool {
        self.settle();
        for peer in &mut self.peers {
            peer.send(100);
        }
        self.collect();
        self.settle();
        self.check_agreement();
        for peer in &mut self.peers {
            peer.act_connected(|it, out| it.sender.close(out));
        }
        self.collect();
        self.settle();
        let is_well = self.peers.iter().all(Peer::is_well);
        self.peers.iter_mut().for_each(Peer::end);
        let [client, server] = &self.peers;
        let all = client.sent == server.arrived && server.sent == client.arrived;
        is_well && all && client.sent > 0 && server.sent > 0
    }

    /// Only who has the keys can put in a word, and where nobody does, every word arrives.
    fn check_data(&self) {
        let [client, server] = &self.peers;
        let connected = self.peers.iter().all(|peer| peer.connection.is_some());
        if self.is_undisturbed && connected {
            assert_eq!([client.error, server.error], [None, None], "nobody disturbed them");
            assert!(client.intact && server.intact, "nobody altered the data");
            let arrived = [server.arrived, client.arrived];
            assert_eq!(arrived, [client.sent, server.sent], "nobody lost the data");
        }
        for (from, to) in [(client, server), (server, client)] {
            assert!(self.is_confidant || to.intact, "data was altered");
            assert!(self.is_confidant || to.arrived <= from.sent, "data was repeated");
            let cut_short = to.heard_close && to.arrived < from.sent;
            assert!(self.is_confidant || !cut_short, "data was cut short");
        }
    }

    /// Two sides that are connected are connected to each other, and agree on what they agreed on.
    fn check_agreement(&self) {
        let [Some(client), Some(server)] = [0, 1].map(|side| self.peers[side].connection.as_ref())
        else {
            return;
        };
        let [ours, theirs] = [&client.facts, &server.facts];
        assert_eq!(ours.version, theirs.version);
        assert_eq!(ours.cipher_suite, theirs.cipher_suite);
        assert_eq!(ours.group, theirs.group);
        assert_eq!(ours.alpn, theirs.alpn);
        assert_eq!(ours.retried, theirs.retried);
        assert_eq!(ours.extended_main_secret, theirs.extended_main_secret);
        assert_eq!(ours.resumed, theirs.resumed);
        let accepted = |it: &tercel::Facts| it.early_data == EarlyData::Accepted;
        assert_eq!(accepted(ours), accepted(theirs));
        // A resumed session was signed for earlier.
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
    use tercel::{Error, Peer as Broken};

    use super::*;

    const TLS13: u8 = 0;
    const TLS12: u8 = 0o22;
    const OTHERS: [u8; 2] = [0o11, 0o33];
    const STRANGER: u8 = 0;
    const LAZY: u8 = 8;
    const CONFIDANT: u8 = 1;
    const BY_SERVER: u8 = 0x80;

    /// How client and server end.
    fn errors(input: &[u8]) -> [Option<Error>; 2] {
        let mut world = World::play(input);
        world.finish();
        world.peers.map(|peer| peer.error)
    }

    #[test]
    fn undisturbed_sides_end_well() {
        for configs in [TLS13, TLS12].into_iter().chain(OTHERS) {
            for between in [STRANGER, CONFIDANT, 0x17, 0xf0] {
                assert!(two_sided(&[configs, between]), "{configs} {between}");
                assert_eq!(errors(&[configs, between]), [None, None]);
            }
        }
    }

    #[test]
    fn returning_clients_are_resumed_and_heard_early() {
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
            let mut world = World::play(&[configs, STRANGER]);
            assert!(world.finish(), "{configs:o}");
            world.check_data();
            for peer in &world.peers {
                let facts = &peer.connection.as_ref().unwrap().facts;
                assert_eq!((facts.resumed, facts.early_data), (resumed, early), "{configs:o}");
            }
            assert_eq!(world.peers[1].heard_early() > 0, early == EarlyData::Accepted);
        }
    }

    #[test]
    fn what_is_pending_survives_a_small_buffer() {
        let update = [18, 21, 1, 18, BY_SERVER | 20, 0, 9, 0, 9, BY_SERVER | 19, 0, 9, 18];
        assert_eq!(errors(&[&[TLS13, LAZY], &update[..]].concat()), [None, None]);
    }

    #[test]
    fn the_room_asked_for_suffices() {
        for configs in [TLS13, OTHERS[0]] {
            let update = [18, 21, 1, 18, BY_SERVER | 27, 15, 160, 18];
            assert!(two_sided(&[&[configs, LAZY], &update[..]].concat()));
        }
    }

    #[test]
    fn an_answer_to_a_closure_may_be_all_that_is_sent() {
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
    fn a_stranger_cannot_alter_a_record() {
        let flip = [18, 19, 0, 9, 5, 0, 0, 7, 1];
        for configs in [TLS13, TLS12] {
            let errors = errors(&[&[configs, STRANGER], &flip[..]].concat());
            let told = Error::AlertReceived(AlertDescription::BAD_RECORD_MAC);
            assert_eq!(errors, [Some(told), Some(Broken::BadRecordMac.into())]);
        }
    }

    #[test]
    fn a_stranger_cannot_close() {
        for configs in [TLS13, TLS12] {
            for from in [0, BY_SERVER] {
                two_sided(&[configs, STRANGER, 18, from | 19, 0, 9, from | 3, 0, 2, 18]);
                let update = [18, from | 21, 0, from | 16, from | 19, 0, 9, from | 3, 0, 2, 18];
                two_sided(&[&[configs, STRANGER], &update[..]].concat());
            }
        }
    }

    #[test]
    fn a_confidant_can_say_what_the_sides_never_would() {
        let renegotiate = [18, BY_SERVER | 3, 0, 7];
        // Refused by a warning, and an error only when it comes again and again. RFC 5246 7.2.2
        assert_eq!(errors(&[&[TLS12, CONFIDANT], &renegotiate[..]].concat()), [None, None]);
        let [client, _] = errors(&[&[TLS12, CONFIDANT], &renegotiate.repeat(5)[..]].concat());
        assert_eq!(client, Some(Broken::Renegotiation.into()));
        let [client, _] = errors(&[&[TLS13, CONFIDANT], &renegotiate[..]].concat());
        assert_eq!(client, Some(Broken::UnexpectedMessage.into()));
        // A KeyUpdate that is not the peer's own moves the receiver's keys, and the confidant goes along.
        let update = [18, 3, 0, 9, 19, 0, 9, 18];
        assert_eq!(errors(&[&[TLS13, CONFIDANT], &update[..]].concat()), [None, None]);
    }

    #[test]
    fn a_confidant_alters_what_is_protected_in_a_handshake() {
        // One bit of EncryptedExtensions: found at the signature, over a transcript that was another.
        let alter = [16, BY_SERVER | 5, 2, 0, 9, 1];
        let [client, _] = errors(&[&[TLS13, CONFIDANT], &alter[..]].concat());
        let record_altered = Some(Error::from(Broken::BadRecordMac));
        assert!(client.is_some() && client != record_altered, "{client:?}");
    }
}
