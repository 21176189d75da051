//! The cryptographic calls of each row.
//!
//! The list has the calls that any implementation needs if HMAC states are kept as long as their
//! keys, the constant early secret of TLS 1.3 is precomputed, the exporter secret is not derived, a
//! transcript hash is computed once for all its uses, and all public random values are drawn at
//! once (private keys draw their own). Message sizes are those of a minimal exchange.

use std::fmt;

use lab_scenario::{Group, Resumption, Row, Suite, Version};

/// A call, with the lengths that determine its cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Call {
    /// Draws this many random bytes.
    Random(usize),
    /// Generates a key pair of X25519.
    X25519Generate,
    /// Computes the shared secret of X25519.
    X25519Agree,
    /// Generates a key pair of ML-KEM.
    MlKemGenerate,
    /// Encapsulates a secret to the client's key.
    MlKemEncapsulate,
    /// Decapsulates the server's secret.
    MlKemDecapsulate,
    /// Signs the handshake with the leaf's key.
    Sign,
    /// Verifies the handshake's signature.
    VerifyHandshake,
    /// Parses the public key at this position of the chain.
    ParseKey(usize),
    /// Verifies the signature of the certificate at this position of the chain, including its hash.
    VerifyCertificate(usize),
    /// Hashes handshake messages into the transcript, and finalizes copies of the state.
    Transcript {
        /// Bytes of all messages.
        bytes: usize,
        /// The number of intermediate and final hashes.
        finishes: usize,
    },
    /// Initializes an HMAC state for several uses.
    HmacKey,
    /// Computes the HMAC of this many bytes with an initialized state.
    Hmac(usize),
    /// Prepares a record key.
    RecordKey,
    /// Encrypts a record of this many bytes.
    Seal(usize),
    /// Decrypts a record of this many bytes.
    Open(usize),
    /// Encrypts a ticket with a prepared key.
    SealTicket,
    /// Decrypts a ticket.
    OpenTicket,
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Random(bytes) => write!(f, "{bytes} random bytes"),
            Self::X25519Generate => f.write_str("X25519 key pair"),
            Self::X25519Agree => f.write_str("X25519 agreement"),
            Self::MlKemGenerate => f.write_str("ML-KEM-768 key pair"),
            Self::MlKemEncapsulate => f.write_str("ML-KEM-768 encapsulation"),
            Self::MlKemDecapsulate => f.write_str("ML-KEM-768 decapsulation"),
            Self::Sign => f.write_str("handshake signature"),
            Self::VerifyHandshake => f.write_str("handshake signature verified"),
            Self::ParseKey(place) => write!(f, "public key {place} parsed"),
            Self::VerifyCertificate(place) => write!(f, "certificate {place} verified"),
            Self::Transcript { bytes, finishes } => {
                write!(f, "transcript of {bytes} bytes, finished {finishes} times")
            }
            Self::HmacKey => f.write_str("HMAC key absorbed"),
            Self::Hmac(bytes) => write!(f, "HMAC of {bytes} bytes, key kept"),
            Self::RecordKey => f.write_str("record key"),
            Self::Seal(bytes) => write!(f, "record of {bytes} bytes sealed"),
            Self::Open(bytes) => write!(f, "record of {bytes} bytes opened"),
            Self::SealTicket => f.write_str("ticket sealed"),
            Self::OpenTicket => f.write_str("ticket opened"),
        }
    }
}

/// The calls of both sides, in protocol order.
pub(crate) struct Calls {
    pub(crate) client: Vec<Call>,
    pub(crate) server: Vec<Call>,
}

/// Lengths that depend on the row's certificates.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    /// The length of all certificates of a chain.
    pub(crate) chain: usize,
    /// The length of a handshake signature.
    pub(crate) signature: usize,
}

/// The length of a session in a ticket.
pub(crate) const SESSION: usize = 112;

/// The length of a ticket: nonce, session, tag and key name.
const TICKET: usize = NONCE + SESSION + 16 + 16;

/// The length of a ticket's nonce.
const NONCE: usize = 12;

/// The length of a stateful ticket, which is a key of the server's session store.
const TICKET_NAME: usize = 32;

/// The length of ticket_age_add, which is drawn for each TLS 1.3 ticket. RFC 9846 4.7.1
const AGE_ADD: usize = 4;

/// The calls of a handshake row.
pub(crate) fn of(row: &Row, sizes: Sizes) -> Calls {
    match row.version {
        Version::Tls12 => tls12(row, sizes),
        Version::Tls13 => tls13(row, sizes),
    }
}

fn tls12(row: &Row, sizes: Sizes) -> Calls {
    use Call as C;
    let resumed = row.resumption.is_some();
    let ticket = row.resumption == Some(Resumption::Stateless);
    let mutual = row.client_chain.is_some();
    let hash = hash_length(row.suite);
    let of_ticket = if ticket { NONCE } else { 0 };
    let (mut client, mut server) = (vec![C::Random(32)], vec![C::Random(32 + of_ticket)]);
    let mut both = Vec::new();
    if !resumed {
        client.extend([C::X25519Generate, C::X25519Agree]);
        server.extend([C::X25519Generate, C::X25519Agree, C::Sign]);
        client.extend(VERIFY);
        if mutual {
            client.push(C::Sign);
            server.extend(VERIFY);
        }
        // Derives the extended main secret from the premaster secret. RFC 7627 4
        both.push(C::HmacKey);
        both.extend(prf(22 + hash, 48, hash));
    }
    // Derives keys and both Finished from the main secret. RFC 5246 6.3, 7.4.9
    both.push(C::HmacKey);
    both.extend(prf(13 + 64, key_block(row.suite), hash));
    for _ in 0..2 {
        both.extend(prf(15 + hash, 12, hash));
    }
    let hellos = 200 + 90;
    let tickets = if ticket { 2 * TICKET } else { 0 };
    let certificate = sizes.chain + 20 + sizes.signature;
    let authenticated = match (resumed, mutual) {
        (true, _) => 0,
        (false, false) => certificate + 40 + 4 + 37,
        (false, true) => 2 * certificate + 40 + 4 + 37 + 60,
    };
    // The client's Finished uses the same hash as the extended main secret, unless
    // CertificateVerify comes in between.
    let finishes = if mutual { 3 } else { 2 };
    both.push(C::Transcript { bytes: hellos + tickets + authenticated + 2 * 16, finishes });
    both.extend([C::RecordKey, C::RecordKey, C::Seal(16), C::Open(16)]);
    if ticket {
        server.extend([C::OpenTicket, C::SealTicket]);
    }
    client.extend(&both);
    server.extend(&both);
    Calls { client, server }
}

fn tls13(row: &Row, sizes: Sizes) -> Calls {
    use Call as C;
    let resumed = row.resumption.is_some();
    let mutual = row.client_chain.is_some();
    let hybrid = row.group == Group::X25519MlKem768;
    let tickets = usize::from(row.tickets);
    let stateless = row.resumption == Some(Resumption::Stateless);
    let hash = hash_length(row.suite);
    let (stage, traffic) = (STAGE + hash, TRAFFIC + hash);
    let of_ticket = AGE_ADD + if stateless { NONCE } else { TICKET_NAME };
    let (mut client, mut server) = (vec![C::Random(64)], vec![C::Random(32 + tickets * of_ticket)]);
    client.push(C::X25519Generate);
    client.extend(hybrid.then_some(C::MlKemGenerate));
    client.push(C::X25519Agree);
    client.extend(hybrid.then_some(C::MlKemDecapsulate));
    server.extend([C::X25519Generate, C::X25519Agree]);
    server.extend(hybrid.then_some(C::MlKemEncapsulate));
    if !resumed {
        server.push(C::Sign);
        client.extend(VERIFY);
        if mutual {
            client.push(C::Sign);
            server.extend(VERIFY);
        }
    }

    let mut both = Vec::new();
    if resumed {
        // Computes the early secret, the binder key and its finished key, the binder, and the
        // secret for the next stage.
        both.extend([C::Hmac(hash), C::HmacKey, C::Hmac(stage), C::HmacKey, C::Hmac(FINISHED)]);
        both.extend([C::HmacKey, C::Hmac(hash), C::Hmac(stage), C::HmacKey]);
        if row.early_data > 0 {
            both.extend([C::Hmac(traffic), C::HmacKey, C::Hmac(KEY), C::Hmac(IV), C::RecordKey]);
        }
    }
    // Computes the handshake secret, both traffic secrets with key, iv and finished key, and the
    // secret for the next stage.
    both.extend([C::Hmac(if hybrid { 64 } else { 32 }), C::HmacKey]);
    for _ in 0..2 {
        both.extend([C::Hmac(traffic), C::HmacKey, C::Hmac(KEY), C::Hmac(IV), C::RecordKey]);
        both.extend([C::Hmac(FINISHED), C::HmacKey, C::Hmac(hash)]);
    }
    both.extend([C::Hmac(stage), C::HmacKey, C::Hmac(hash), C::HmacKey]);
    // Computes the main secret, and both traffic secrets with key and iv.
    for _ in 0..2 {
        both.extend([C::Hmac(traffic), C::HmacKey, C::Hmac(KEY), C::Hmac(IV), C::RecordKey]);
    }
    if tickets > 0 {
        // Computes the resumption secret, and one secret per ticket.
        both.extend([C::Hmac(traffic), C::HmacKey]);
        both.extend(std::iter::repeat_n(C::Hmac(25), tickets));
    }

    let shares = if hybrid { (1220, 1124) } else { (36, 36) };
    let hellos = (230 + shares.0) + (90 + shares.1);
    let offered = if resumed { TICKET + 22 + hash } else { 0 };
    let certificate = sizes.chain + 23 + sizes.signature + 8;
    let finished = 4 + hash;
    let (from_server, from_client) = match (resumed, mutual) {
        (true, _) => (6 + finished, finished),
        (false, false) => (6 + certificate + finished, finished),
        (false, true) => (6 + 45 + certificate + finished, certificate + finished),
    };
    let early_end = if row.early_data > 0 { 4 } else { 0 };
    // The hash is needed after ServerHello, for CertificateVerify (in a resumption, for the
    // binder), for the server's Finished, and for the main secret. Without client authentication,
    // the client's Finished uses the same hash as the main secret.
    let early = usize::from(row.early_data > 0);
    let finishes = 4 + usize::from(tickets > 0) + 2 * usize::from(mutual) + early;
    let bytes = hellos + offered + from_server + early_end + from_client;
    both.push(C::Transcript { bytes, finishes });
    client.extend(&both);
    server.extend(&both);

    if row.early_data > 0 {
        client.extend([C::Seal(row.early_data), C::Seal(4)]);
        server.extend([C::Open(row.early_data), C::Open(4)]);
    }
    server.extend([C::Seal(from_server), C::Open(from_client)]);
    client.extend([C::Open(from_server), C::Seal(from_client)]);
    server.extend(stateless.then_some(C::OpenTicket));
    for _ in 0..tickets {
        server.extend(stateless.then_some(C::SealTicket));
        server.push(C::Seal(TICKET + 40));
        client.push(C::Open(TICKET + 40));
    }
    Calls { client, server }
}

/// P_hash: computes A(1) and a block of output, and the same for each further block. RFC 5246 5
fn prf(seed: usize, output: usize, hash: usize) -> Vec<Call> {
    let mut calls = vec![Call::Hmac(seed), Call::Hmac(hash + seed)];
    for _ in 1..output.div_ceil(hash) {
        calls.extend([Call::Hmac(hash), Call::Hmac(hash + seed)]);
    }
    calls
}

/// The length of the suite's hash.
fn hash_length(suite: Suite) -> usize {
    if suite.name().ends_with("SHA384") { 48 } else { 32 }
}

/// The length of the keys and fixed nonce parts of both directions. RFC 5288 3, RFC 7905 2
fn key_block(suite: Suite) -> usize {
    let name = suite.name();
    let nonce = if name.contains("GCM") { 4 } else { 12 };
    let key = if name.contains("AES_128") { 16 } else { 32 };
    2 * (key + nonce)
}

/// The verifications of a peer whose chain has three certificates with a known trusted root: the
/// leaf certificate with the intermediate's key, the intermediate certificate with the root's key,
/// and the handshake with the leaf's key.
const VERIFY: [Call; 5] = [
    Call::ParseKey(0),
    Call::ParseKey(1),
    Call::VerifyCertificate(0),
    Call::VerifyCertificate(1),
    Call::VerifyHandshake,
];

// The following are input lengths of HKDF-Expand-Label, including the counter byte. RFC 9846 7.1
/// A traffic secret without the hash: a label of 12 bytes.
const TRAFFIC: usize = 2 + 1 + 6 + 12 + 1 + 1;
/// The label "derived" without the hash.
const STAGE: usize = 2 + 1 + 6 + 7 + 1 + 1;
/// The label "key".
const KEY: usize = 2 + 1 + 6 + 3 + 1 + 1;
/// The label "iv".
const IV: usize = 2 + 1 + 6 + 2 + 1 + 1;
/// The label "finished".
const FINISHED: usize = 2 + 1 + 6 + 8 + 1 + 1;

#[cfg(test)]
mod tests {
    use super::*;
    use lab_scenario::{Task, rows};

    const SIZES: Sizes = Sizes { chain: 2500, signature: 256 };

    fn count(calls: &[Call], is: impl Fn(&Call) -> bool) -> usize {
        calls.iter().filter(|call| is(call)).count()
    }

    fn calls(id: &str) -> Calls {
        of(&rows::all().into_iter().find(|row| row.id == id).unwrap(), SIZES)
    }

    #[test]
    fn both_sides_make_the_same_key_schedule() {
        for row in rows::all().into_iter().filter(|row| row.task == Task::Handshake) {
            let Calls { client, server } = of(&row, SIZES);
            for is in [
                (|call| matches!(call, Call::Hmac(_))) as fn(&Call) -> bool,
                |call| matches!(call, Call::HmacKey),
                |call| matches!(call, Call::RecordKey),
                |call| matches!(call, Call::Transcript { .. }),
            ] {
                assert_eq!(count(&client, is), count(&server, is), "{}", row.id);
            }
            let lengths = |calls: &[Call], of: fn(&Call) -> Option<usize>| {
                let mut lengths: Vec<_> = calls.iter().filter_map(of).collect();
                lengths.sort_unstable();
                lengths
            };
            let sealed = |calls: &[Call]| {
                lengths(
                    calls,
                    |call| if let Call::Seal(bytes) = call { Some(*bytes) } else { None },
                )
            };
            let opened = |calls: &[Call]| {
                lengths(
                    calls,
                    |call| if let Call::Open(bytes) = call { Some(*bytes) } else { None },
                )
            };
            assert_eq!(sealed(&client), opened(&server), "{}", row.id);
            assert_eq!(sealed(&server), opened(&client), "{}", row.id);
        }
    }

    #[test]
    fn signatures_are_made_and_verified_in_full_handshakes_only() {
        let verifies =
            |call: &Call| matches!(call, Call::VerifyCertificate(_) | Call::VerifyHandshake);
        for (id, of_client, of_server) in [
            ("full-13-rsa2048-hybrid", (0, 3), (1, 0)),
            ("full-12-rsa2048-x25519", (0, 3), (1, 0)),
            ("mutual-13-rsa2048-hybrid", (1, 3), (1, 3)),
            ("resumed-13-stateless-hybrid", (0, 0), (0, 0)),
            ("resumed-12-stateful", (0, 0), (0, 0)),
        ] {
            let Calls { client, server } = calls(id);
            for (calls, expected) in [(client, of_client), (server, of_server)] {
                let signs = count(&calls, |call| *call == Call::Sign);
                assert_eq!((signs, count(&calls, verifies)), expected, "{id}");
            }
        }
    }

    #[test]
    fn public_values_are_drawn_at_once() {
        for row in rows::all().into_iter().filter(|row| row.task == Task::Handshake) {
            let Calls { client, server } = of(&row, SIZES);
            for calls in [client, server] {
                let draws = count(&calls, |call| matches!(call, Call::Random(_)));
                assert_eq!(draws, 1, "{}", row.id);
            }
        }
    }

    #[test]
    fn the_prf_makes_as_many_blocks_as_its_output_has() {
        // RFC 5246 5: SHA-384 needs two blocks for 72 bytes of keys; SHA-256 needs two for 40 and
        // three for 88. The extended main secret takes one block of SHA-384 or two of SHA-256, and
        // each Finished takes one.
        for (id, blocks) in [
            ("full-12-rsa2048-x25519", 1 + 2 + 2),
            ("full-12-rsa2048-aes128", 2 + 2 + 2),
            ("full-12-ecdsa-p256-chacha20", 2 + 3 + 2),
            ("resumed-12-stateful", 2 + 2),
        ] {
            let calls = calls(id).client;
            assert_eq!(count(&calls, |call| matches!(call, Call::Hmac(_))), 2 * blocks, "{id}");
        }
    }

    #[test]
    fn the_key_schedule_is_as_long_as_the_rfc_says() {
        // RFC 9846 7.1: two extracts, two stages, four traffic secrets with key and iv each, and
        // two finished keys with one use each.
        let full = calls("full-13-rsa2048-x25519").client;
        assert_eq!(count(&full, |call| matches!(call, Call::Hmac(_))), 2 + 1 + 4 + 8 + 2 + 2);
        assert_eq!(count(&full, |call| *call == Call::RecordKey), 4);
        // A resumption has one more extract, three calls for the binder, one more stage, and two
        // calls for the ticket.
        let resumed = calls("resumed-13-stateless-x25519").client;
        let more = 1 + 1 + 1 + 1 + 1 + 2;
        assert_eq!(count(&resumed, |call| matches!(call, Call::Hmac(_))), 19 + more);
    }
}
