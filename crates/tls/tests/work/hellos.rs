//! ClientHellos that are filled with one kind of entry.
//!
//! There is one for each list and version. Each ends with the content of an ordinary ClientHello,
//! so that its handshake continues as far as possible.

use std::sync::Arc;

use tercel::wire::{CipherSuite, ClientHello, List, NamedGroup, ProtocolVersion};
use tercel::{Answer, Credential, Handshake, Policy, Question, ReceiveBuffer, ServerConfig};
use tercel_wire::{
    ClientExtensions, CompressionMethod, ExtensionType, HandshakeMessage, UnknownExtensions,
};

use crate::configs::{credentials, server, server_for_named_issuers, server_with_keys};
use crate::fixtures::{NAME, client};

use crate::{Case, ROOM, counted, no_question};

/// The case with which other cases are compared.
pub(crate) const ORDINARY: &str = "an ordinary handshake, TLSv1.3";

/// The parts of a ClientHello.
#[derive(Clone)]
struct Parts {
    suites: Vec<CipherSuite>,
    compression: Vec<CompressionMethod>,
    extensions: Vec<(ExtensionType, Vec<u8>)>,
}

/// A function that adds a number of bytes to a list of a ClientHello.
type Fill = fn(&mut Parts, usize);

const TLS12: ProtocolVersion = ProtocolVersion::TLS1_2;
const TLS13: ProtocolVersion = ProtocolVersion::TLS1_3;

const FILLS: [(&str, &[ProtocolVersion], Fill); 16] = [
    ("cipher_suites", &[TLS13, TLS12], |parts, bytes| {
        let unknown = codes(0x6000, bytes / 2).map(CipherSuite);
        parts.suites = unknown.chain(parts.suites.clone()).collect();
    }),
    ("supported_groups", &[TLS13, TLS12], |parts, bytes| {
        parts.prepend(ExtensionType::SUPPORTED_GROUPS, 2, &two_bytes(0x4000, bytes / 2));
    }),
    ("supported_groups, no curve of a credential", &[TLS12], |parts, bytes| {
        let x25519 = NamedGroup::X25519.0.to_be_bytes();
        let groups = [two_bytes(0x4000, bytes / 2), x25519.to_vec()].concat();
        parts.set(ExtensionType::SUPPORTED_GROUPS, with_length(&groups));
    }),
    ("key_share, in the opposite order", &[TLS13], |parts, bytes| {
        let count = bytes / 7;
        parts.prepend(ExtensionType::SUPPORTED_GROUPS, 2, &two_bytes(0x4000, count));
        let share = |group: u16| [&group.to_be_bytes()[..], &[0, 1, 7]].concat();
        let shares: Vec<_> = codes(0x4000, count).map(share).collect();
        parts.prepend(
            ExtensionType::KEY_SHARE,
            2,
            &shares.into_iter().rev().collect::<Vec<_>>().concat(),
        );
    }),
    ("signature_algorithms", &[TLS13, TLS12], |parts, bytes| {
        parts.prepend(ExtensionType::SIGNATURE_ALGORITHMS, 2, &two_bytes(0x1000, bytes / 2));
    }),
    ("signature_algorithms, none of a credential", &[TLS13, TLS12], |parts, bytes| {
        let schemes = [two_bytes(0x1000, bytes / 2), vec![8, 7]].concat();
        parts.set(ExtensionType::SIGNATURE_ALGORITHMS, with_length(&schemes));
    }),
    ("signature_algorithms_cert", &[TLS13, TLS12], |parts, bytes| {
        let schemes = [two_bytes(0x1000, bytes / 2), vec![4, 3]].concat();
        parts.set(ExtensionType::SIGNATURE_ALGORITHMS_CERT, with_length(&schemes));
    }),
    ("certificate_authorities", &[TLS13, TLS12], |parts, bytes| {
        let name = |number: u16| [&[0, 2][..], &number.to_be_bytes()].concat();
        let names: Vec<_> = codes(0x1000, 1 + bytes / 4).map(name).collect();
        parts.set(ExtensionType::CERTIFICATE_AUTHORITIES, with_length(&names.concat()));
    }),
    ("application_layer_protocol_negotiation", &[TLS13, TLS12], |parts, bytes| {
        let name = |number: u16| [&[2][..], &number.to_be_bytes()].concat();
        let names: Vec<_> = codes(0x1000, 1 + bytes / 3).map(name).collect();
        let kind = ExtensionType::APPLICATION_LAYER_PROTOCOL_NEGOTIATION;
        parts.set(kind, with_length(&names.concat()));
    }),
    ("pre_shared_key, names", &[TLS13], |parts, bytes| parts.pre_shared_keys(4, 1 + bytes / 43)),
    ("pre_shared_key, tickets", &[TLS13], |parts, bytes| {
        parts.pre_shared_keys(120, 1 + bytes / 159);
    }),
    ("unknown extensions", &[TLS13, TLS12], |parts, bytes| {
        let unknown = codes(0x1000, bytes / 4).map(|kind| (ExtensionType(kind), Vec::new()));
        parts.extensions.splice(..0, unknown);
    }),
    ("server_name, names of other types", &[TLS13, TLS12], |parts, bytes| {
        let count = u8::try_from(bytes / 243).unwrap();
        let name = |kind| [&[kind, 0, 240][..], &[b'a'; 240]].concat();
        let names: Vec<_> = (1..=count).map(name).collect();
        parts.prepend(ExtensionType::SERVER_NAME, 2, &names.concat());
    }),
    ("status_request, responders", &[TLS13, TLS12], |parts, bytes| {
        let responders = [0, 1, 7].repeat(bytes / 3);
        let body = [vec![1], with_length(&responders), vec![0, 0]].concat();
        parts.set(ExtensionType::STATUS_REQUEST, body);
    }),
    ("session_ticket", &[TLS12], |parts, bytes| {
        parts.set(ExtensionType::SESSION_TICKET, vec![7; bytes]);
    }),
    ("lists of one byte's length", &[TLS13, TLS12], |parts, bytes| {
        let most = |most: usize| most * bytes / ROOM;
        let list = |body: Vec<u8>| [vec![u8::try_from(body.len()).unwrap()], body].concat();
        for kind in [ExtensionType::SERVER_CERTIFICATE_TYPE, ExtensionType::CLIENT_CERTIFICATE_TYPE]
        {
            parts.set(kind, list([vec![9; most(253) + 1], vec![0]].concat()));
        }
        parts.set(ExtensionType::COMPRESS_CERTIFICATE, list(two_bytes(0x1000, 1 + most(126))));
        parts.set(
            ExtensionType::PSK_KEY_EXCHANGE_MODES,
            list([vec![9; most(254)], vec![1]].concat()),
        );
        parts.set(ExtensionType::EC_POINT_FORMATS, list([vec![9; most(254)], vec![0]].concat()));
        let versions = [two_bytes(0x6000, most(120)), parts.versions()].concat();
        parts.set(ExtensionType::SUPPORTED_VERSIONS, list(versions));
        if parts.is_tls12() {
            parts.compression = vec![CompressionMethod(9); most(254)];
            parts.compression.push(CompressionMethod::NULL);
        }
    }),
];

/// Every kind of ClientHello, for servers whose lists have this number of entries.
pub(crate) fn cases(scale: usize) -> Vec<Case> {
    let plain = server(scale).build().unwrap();
    let own = Arc::new(credentials(scale).into_iter().map(Arc::new).collect::<Vec<_>>());
    let asking = ServerConfig::builder().credentials(Policy::Ask).build().unwrap();
    let servers = [
        ("", Arc::clone(&plain)),
        (", for named issuers", server_for_named_issuers(scale).build().unwrap()),
        (", with pre-shared keys", server_with_keys(scale).build().unwrap()),
        (", asking", asking),
        (", after a retry", server(scale).groups(&[NamedGroup::SECP384R1]).build().unwrap()),
    ];
    let mut cases = Vec::new();
    let ordinary_hellos = [TLS13, TLS12].map(|version| (version, ordinary_parts(version)));
    for halves in 0..=2 {
        for version in [TLS13, TLS12] {
            cases.push(ordinary(version, halves, scale));
        }
        for (name, versions, fill) in FILLS {
            for (version, parts) in ordinary_hellos.iter().filter(|(of, _)| versions.contains(of)) {
                for (suffix, server) in &servers {
                    if !applies(name, suffix, *version) {
                        continue;
                    }
                    let mut parts = parts.clone();
                    fill(&mut parts, ROOM / 2 * halves);
                    let retried = (*suffix == ", after a retry").then(|| again(&parts));
                    let messages = [Some(parts), retried].into_iter().flatten();
                    let messages: Vec<_> = messages.map(|parts| parts.records()).collect();
                    let (server, own) = (Arc::clone(server), Arc::clone(&own));
                    cases.push(Case {
                        kind: format!("{name}, {version}{suffix}"),
                        halves,
                        scale,
                        run: Box::new(move || show(&server, &messages, &own)),
                    });
                }
            }
        }
    }
    cases
}

/// Whether a ClientHello is sent to this server. The plain server gets almost all ClientHellos. A
/// server with a special list gets those that fill that list.
fn applies(name: &str, server: &str, version: ProtocolVersion) -> bool {
    match server {
        "" => !name.starts_with("pre_shared_key"),
        ", with pre-shared keys" => name.starts_with("pre_shared_key"),
        ", for named issuers" => name.starts_with("certificate_authorities"),
        ", asking" => {
            version == TLS12
                && ["supported_groups", "signature_algorithms", "certificate_authorities", "lists"]
                    .iter()
                    .any(|start| name.starts_with(start))
        }
        _ => {
            version == TLS13
                && (name.starts_with("cipher_suites") || name.starts_with("extensions"))
        }
    }
}

/// Makes a complete handshake with a default client. Only the server's part is counted.
fn ordinary(version: ProtocolVersion, halves: usize, scale: usize) -> Case {
    let run = move || {
        let config = client().versions(&[version]).verifier(accept_any()).build().unwrap();
        let mut client = Handshake::client(config, NAME.try_into().unwrap());
        let mut server = Handshake::server(server(1).build().unwrap());
        let (mut to_client, mut to_server) = (ReceiveBuffer::new(), ReceiveBuffer::new());
        loop {
            let mut out = Vec::new();
            let next = client.advance(&mut to_client, &mut out).unwrap();
            to_server.extend(&out);
            out.clear();
            let over = counted(&mut server, &mut to_server, &mut out, &no_question);
            to_client.extend(&out);
            if over {
                drop(next);
                return;
            }
        }
    };
    let kind = format!("an ordinary handshake, {version}");
    Case { kind, halves, scale, run: Box::new(run) }
}

fn accept_any() -> Policy<dyn tercel::certificates::VerifyPeer> {
    Policy::Here(Arc::new(tercel::certificates::AcceptAnyPeer))
}

/// Sends these messages to a server, which may ask for a credential.
fn show(config: &Arc<ServerConfig>, messages: &[Vec<u8>], own: &[Arc<Credential>]) {
    let mut server = Handshake::server(Arc::clone(config));
    let (mut received, mut out) = (ReceiveBuffer::new(), Vec::new());
    for message in messages {
        received.extend(message);
        counted(&mut server, &mut received, &mut out, &|question| choose(own, question));
    }
}

/// Selects a credential like an application that examines each of its own credentials.
pub(crate) fn choose(own: &[Arc<Credential>], question: &Question) -> Answer {
    let Question::SelectCredential(question) = question else { panic!("{question:?}") };
    let request = question.request();
    let usable = own.iter().filter(|each| request.scheme_for(each).is_some());
    let rank =
        |each: &&Arc<Credential>| (request.names_issuer_of(each), request.can_verify_chain(each));
    question.answer(usable.max_by_key(rank).cloned())
}

fn ordinary_parts(version: ProtocolVersion) -> Parts {
    let config = client().versions(&[version]).build().unwrap();
    let mut client = Handshake::client(config, NAME.try_into().unwrap());
    let mut out = Vec::new();
    client.advance(&mut ReceiveBuffer::new(), &mut out).unwrap();
    let hello = ClientHello::parse(&out[9..]).unwrap();
    Parts {
        suites: hello.cipher_suites.iter().collect(),
        compression: hello.compression_methods.iter().collect(),
        extensions: hello
            .extensions
            .received
            .iter()
            .map(|(kind, body)| (kind, body.to_vec()))
            .collect(),
    }
}

/// The ClientHello after a retry, with one share for P-384 of the right length.
fn again(parts: &Parts) -> Parts {
    let mut parts = parts.clone();
    let share = [&[0, 24, 0, 97][..], &[4; 97]].concat();
    parts.set(ExtensionType::KEY_SHARE, with_length(&share));
    parts
}

impl Parts {
    fn set(&mut self, kind: ExtensionType, body: Vec<u8>) {
        self.extensions.retain(|(other, _)| *other != kind);
        self.extensions.push((kind, body));
    }

    /// Prepends entries to a list that has a length of this many bytes.
    fn prepend(&mut self, kind: ExtensionType, length: usize, entries: &[u8]) {
        let old = self.extensions.iter().find(|(other, _)| *other == kind);
        let old = old.expect("an ordinary hello has it").1.clone();
        self.set(kind, with_length(&[entries, &old[length..]].concat()));
    }

    /// Adds a number of identities of this length, each with a binder.
    fn pre_shared_keys(&mut self, length: usize, count: usize) {
        let name = vec![b'n'; length - 4];
        let identity = |number: usize| {
            let number = u32::try_from(number).unwrap().to_be_bytes();
            [with_length(&[&name[..], &number].concat()), vec![0; 4]].concat()
        };
        let identities: Vec<_> = (0..count).map(identity).collect();
        let binders = [vec![32], vec![7; 32]].concat().repeat(count);
        let body = [with_length(&identities.concat()), with_length(&binders)].concat();
        self.set(ExtensionType::PRE_SHARED_KEY, body);
    }

    fn is_tls12(&self) -> bool {
        !self.extensions.iter().any(|(kind, _)| *kind == ExtensionType::KEY_SHARE)
    }

    fn versions(&self) -> Vec<u8> {
        if self.is_tls12() { vec![3, 3] } else { vec![3, 4] }
    }

    /// The message, divided into records.
    fn records(&self) -> Vec<u8> {
        let extensions: Vec<_> =
            self.extensions.iter().map(|(kind, body)| (*kind, body.as_slice())).collect();
        let hello = ClientHello {
            legacy_version: TLS12,
            random: &[7; 32],
            session_id: &[7; 32],
            cipher_suites: List::new(&self.suites),
            compression_methods: List::new(&self.compression),
            extensions_present: true,
            extensions: ClientExtensions {
                unknown: UnknownExtensions::new(&extensions),
                ..Default::default()
            },
        };
        let mut message = Vec::new();
        hello.encode(&mut message).unwrap();
        assert!(message.len() <= 4 + 64 * 1024, "{} bytes", message.len());
        let record = |fragment: &[u8]| [&[22, 3, 3][..], &with_length(fragment)].concat();
        message.chunks(1 << 14).flat_map(record).collect()
    }
}

/// A number of consecutive code points.
fn codes(first: u16, count: usize) -> impl Iterator<Item = u16> {
    (first..=u16::MAX).take(count)
}

/// A number of consecutive code points, as bytes.
pub(crate) fn two_bytes(first: u16, count: usize) -> Vec<u8> {
    codes(first, count).flat_map(u16::to_be_bytes).collect()
}

fn with_length(bytes: &[u8]) -> Vec<u8> {
    [&u16::try_from(bytes.len()).unwrap().to_be_bytes()[..], bytes].concat()
}
