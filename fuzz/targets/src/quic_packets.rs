//! Packets over QUIC, with an attacker who changes them; Retry packets and tokens.
//!
//! An input begins with a byte that selects the keys: of Initial packets, with a connection ID of
//! the input, or of 1-RTT packets of a connection with any of the suites, in one of the first key
//! phases. Steps follow: the first byte of a step selects what happens, see [`Endpoints::step`].

use std::sync::{Mutex, OnceLock, PoisonError};

use tercel::Side;
use tercel::quic::{
    HeaderKey, KeyUpdates, Keys, PacketKey, ResetKey, TokenKey, Version, initial_keys,
    is_valid_retry, retry_tag,
};
use tercel::wire::CipherSuite;

use crate::quic::application_keys;
use crate::script::Script;

/// The number of key phases.
const PHASES: usize = 3;

/// The most bytes of a connection ID. RFC 9000 17.2
const MAX_ID: usize = 20;

const SUITES: [CipherSuite; 3] = [
    CipherSuite::TLS_AES_128_GCM_SHA256,
    CipherSuite::TLS_AES_256_GCM_SHA384,
    CipherSuite::TLS_CHACHA20_POLY1305_SHA256,
];

/// Seals and opens packets. Returns whether a packet was opened.
pub fn quic_packets(input: &[u8]) -> bool {
    let mut script = Script::new(input);
    let Some(choice) = script.byte() else { return false };
    let version = if choice & 0x80 == 0 { Version::V1 } else { Version::V2 };
    let mut is_opened = false;
    let mut run = |sender: &Direction<'_>, receiver: &Direction<'_>, script: &mut Script<'_>| {
        let endpoints = Endpoints { version, sender, receiver };
        while let Some(action) = script.byte() {
            is_opened |= endpoints.step(action, script);
        }
    };
    if choice & 3 == 3 {
        let id = connection_id(&mut script);
        let keys = |side| initial_keys(version, &id, side).expect("keys of Initial packets");
        let (client, server) = (keys(Side::Client), keys(Side::Server));
        let (client, server) = (&client.local, &server.remote);
        run(
            &Direction { header: &client.header, packet: &client.packet },
            &Direction { header: &server.header, packet: &server.packet },
            &mut script,
        );
    } else {
        let suite = usize::from(choice & 3);
        let keys = connections()[suite + if version == Version::V1 { 0 } else { SUITES.len() }]
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let [client, server] = &*keys;
        let phase = usize::from(choice >> 2) % PHASES;
        run(&client.local(phase), &server.remote(phase), &mut script);
    }
    is_opened
}

/// Inputs that reach each part.
pub fn quic_packet_seeds() -> Vec<(String, Vec<u8>)> {
    let mut seeds = Vec::new();
    for (name, choice) in [("aes128", 0), ("aes256", 1), ("chacha20", 2), ("initial", 3)] {
        for (version, bit) in [(1, 0), (2, 0x80)] {
            // A connection ID for Initial keys, which other keys read as a step.
            let id: &[u8] = if choice == 3 { &[4, 1, 2, 3, 4] } else { &[] };
            // A sealed packet: first byte, lengths of header and payload, packet number, the bit
            // that is changed.
            let packet = [&[0, 0x41, 9, 0, 50, 1, 2, 3, 4, 0, 17][..], &[7; 59]].concat();
            let seed = [&[choice | bit][..], id, &packet, &packet].concat();
            seeds.push((format!("valid-{name}-{version}"), seed));
        }
    }
    seeds.push((
        "valid-phase-2".into(),
        [&[8, 0, 0x41, 9, 0, 50, 1, 2, 3, 4, 0, 17][..], &[7; 59]].concat(),
    ));
    seeds.push(("arbitrary".into(), [&[1, 1, 9, 0, 60][..], &[0x55; 60]].concat()));
    seeds
        .push(("retry".into(), [&[3, 2, 9, 9, 2, 4, 1, 2, 3, 4, 0, 30][..], &[0x55; 30]].concat()));
    seeds.push(("token".into(), [&[0, 3, 6, 1, 2, 3, 4, 5, 6, 0, 40][..], &[0x55; 40]].concat()));
    // This seed is long, because a fuzzer limits the length of inputs to that of the longest seed.
    seeds.push(("valid-long".into(), [&[0, 0, 0x41, 9, 0, 255][..], &[3; 2000]].concat()));
    seeds
}

/// The keys of one direction.
struct Direction<'k> {
    header: &'k HeaderKey,
    packet: &'k PacketKey,
}

struct Endpoints<'k> {
    version: Version,
    sender: &'k Direction<'k>,
    receiver: &'k Direction<'k>,
}

impl Endpoints<'_> {
    /// Performs one action. Returns whether a packet was opened.
    fn step(&self, action: u8, script: &mut Script<'_>) -> bool {
        match action & 3 {
            0 => self.sealed_packet(script),
            1 => {
                self.arbitrary_packet(script);
                false
            }
            2 => {
                retry(self.version, script);
                false
            }
            _ => {
                token(script);
                false
            }
        }
    }

    /// A packet is opened as it was sealed, and not after a change of any bit.
    fn sealed_packet(&self, script: &mut Script<'_>) -> bool {
        let first = script.byte().unwrap_or_default();
        let number_at = 1 + usize::from(script.byte().unwrap_or_default()) % 60;
        let number_len = usize::from(first & 3) + 1;
        // A payload has at least four bytes with the packet number, for the sample. RFC 9001 5.4.2
        let length = 4 + script.number().unwrap_or_default() % 1500;
        let number = packet_number(script);
        let (at, mask) = (script.number().unwrap_or_default(), script.byte().unwrap_or_default());
        let mut header = vec![0; number_at + number_len];
        fill(script, &mut header);
        header[0] = first;
        let mut frames = vec![0; length];
        fill(script, &mut frames);
        let mut packet = [&header[..], &frames, &[0; PacketKey::TAG_LEN]].concat();
        let (clear, payload) = packet.split_at_mut(header.len());
        self.sender.packet.seal(number, clear, payload).expect("room for the tag");
        assert!(self.sender.header.protect(number_at, &mut packet));

        let mut received = packet.clone();
        let opened = self.open(number, number_at, &mut received).expect("an authentic packet");
        assert_eq!((&opened.0, opened.1), (&header, length));
        assert_eq!(received[header.len()..header.len() + length], frames);
        // No other packet number, and no other packet.
        let mut received = packet.clone();
        assert!(self.open(number ^ 1, number_at, &mut received).is_none());
        if mask != 0 {
            let mut changed = packet;
            let at = at % changed.len();
            changed[at] ^= mask;
            assert!(self.open(number, number_at, &mut changed).is_none(), "byte {at}");
        }
        true
    }

    /// Bytes that no sender made are not accepted, whatever their length.
    fn arbitrary_packet(&self, script: &mut Script<'_>) {
        let number_at = usize::from(script.byte().unwrap_or_default());
        let length = script.number().unwrap_or_default() % 2000;
        let mut packet = script.take(length).to_vec();
        let number = packet_number(script);
        let before = packet.clone();
        let is_long = number_at > 0 && packet.len() >= number_at + 4 + HeaderKey::SAMPLE_LEN;
        assert_eq!(self.receiver.header.unprotect(number_at, &mut packet), is_long);
        if is_long {
            // Protection is removed once, and applied again.
            assert!(self.sender.header.protect(number_at, &mut packet));
        }
        assert_eq!(packet, before);
        assert!(self.open(number, number_at, &mut packet).is_none());
        assert!(self.receiver.packet.open(number, &[], &mut packet).is_err());
    }

    /// Returns the clear header and the length of the frames.
    fn open(&self, number: u64, at: usize, packet: &mut [u8]) -> Option<(Vec<u8>, usize)> {
        if !self.receiver.header.unprotect(at, packet) {
            return None;
        }
        let header_len = at + usize::from(packet.first()? & 3) + 1;
        let (header, payload) = packet.split_at_mut_checked(header_len)?;
        let length = self.receiver.packet.open(number, header, payload).ok()?;
        Some((header.to_vec(), length))
    }
}

/// The tag of a Retry packet is valid for this packet, connection ID and version only.
fn retry(version: Version, script: &mut Script<'_>) {
    let id = connection_id(script);
    let length = script.number().unwrap_or_default() % 300;
    let packet = script.take(length);
    let tag = retry_tag(version, &id, packet).expect("a tag");
    assert!(!is_valid_retry(version, &id, packet));
    let mut whole = [packet, &tag].concat();
    assert!(is_valid_retry(version, &id, &whole));
    let other = if version == Version::V1 { Version::V2 } else { Version::V1 };
    assert!(!is_valid_retry(other, &id, &whole));
    assert!(!is_valid_retry(version, &[&id[..], &[1]].concat(), &whole));
    let at = script.number().unwrap_or_default() % whole.len();
    whole[at] ^= 1;
    assert!(!is_valid_retry(version, &id, &whole));
}

/// A token is opened with the key of its random bytes and its additional data only.
fn token(script: &mut Script<'_>) {
    let (tokens, resets) = (TokenKey::new(&[3; 32]), ResetKey::new(&[4; 32]));
    let length = usize::from(script.byte().unwrap_or_default()) % 64;
    let random = script.take(length).to_vec();
    let key = |random: &[u8]| tokens.for_token(random).expect("a key");
    let length = script.number().unwrap_or_default() % 300;
    let content = script.take(length);
    assert!(key(&random).open(&mut content.to_vec(), b"data").is_err());
    let mut token = content.to_vec();
    key(&random).seal(&mut token, b"data").expect("a token");
    assert!(key(&random).open(&mut token.clone(), b"other").is_err());
    assert!(key(&[&random[..], &[0]].concat()).open(&mut token.clone(), b"data").is_err());
    assert_eq!(key(&random).open(&mut token, b"data").ok(), Some(content.len()));
    assert_eq!(&token[..content.len()], content);
    let mut signature = resets.sign(content);
    assert!(resets.verify(content, &signature) && !resets.verify(content, &signature[1..]));
    signature[length % ResetKey::SIGNATURE_LEN] ^= 1;
    assert!(!resets.verify(content, &signature));
}

fn connection_id(script: &mut Script<'_>) -> Vec<u8> {
    let length = usize::from(script.byte().unwrap_or_default()) % (MAX_ID + 1);
    script.take(length).to_vec()
}

/// A packet number of at most 62 bits. RFC 9000 12.3
fn packet_number(script: &mut Script<'_>) -> u64 {
    let halves = [(); 2].map(|()| script.number().unwrap_or_default() as u64 & 0xffff);
    let number = halves[0] | halves[1] << 16;
    // Some numbers have high bits as well.
    number.rotate_right(u32::from(number & 1 == 1) * 4) & ((1 << 62) - 1)
}

/// Fills a buffer with the next bytes of the input, repeated.
fn fill(script: &mut Script<'_>, bytes: &mut [u8]) {
    let from = script.take(bytes.len());
    for (byte, from) in bytes.iter_mut().zip(from.iter().cycle()) {
        *byte = *from;
    }
}

/// The 1-RTT keys of one side, in all key phases.
struct SideKeys {
    first: Box<Keys>,
    later: Vec<tercel::quic::PacketKeys>,
}

impl SideKeys {
    fn new(first: Box<Keys>, mut updates: KeyUpdates) -> Self {
        let later = (1..PHASES).map(|_| updates.next_keys().expect("keys of the next phase"));
        let later = later.collect();
        Self { first, later }
    }

    fn local(&self, phase: usize) -> Direction<'_> {
        let first = &self.first.local;
        let later = phase.checked_sub(1).and_then(|at| self.later.get(at));
        let packet = later.map_or(&first.packet, |keys| &keys.local);
        Direction { header: &first.header, packet }
    }

    fn remote(&self, phase: usize) -> Direction<'_> {
        let first = &self.first.remote;
        let later = phase.checked_sub(1).and_then(|at| self.later.get(at));
        let packet = later.map_or(&first.packet, |keys| &keys.remote);
        Direction { header: &first.header, packet }
    }
}

/// The keys of both sides of connections: each suite in version 1, then in version 2.
fn connections() -> &'static [Mutex<[SideKeys; 2]>] {
    static ALL: OnceLock<Vec<Mutex<[SideKeys; 2]>>> = OnceLock::new();
    ALL.get_or_init(|| {
        let versions = [Version::V1, Version::V2].into_iter();
        let all = versions.flat_map(|version| SUITES.map(|suite| (version, suite)));
        let keys = |(version, suite)| {
            let sides = application_keys(version, suite);
            Mutex::new(sides.map(|(keys, updates)| SideKeys::new(keys, updates)))
        };
        all.map(keys).collect()
    })
}
