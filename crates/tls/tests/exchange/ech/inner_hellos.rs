//! Clients whose inner ClientHello breaks a rule. A tap that has the server's key decrypts the
//! inner ClientHello, changes it, and encrypts it again.

use std::sync::{Arc, Mutex};

use tercel::certificates::{CredentialRequest, SelectCredential};
use tercel::error::{InternalError, PeerError};
use tercel::wire::{AlertDescription, DecodeError, NamedGroup};
use tercel::{Credential, Error, Handshake, Policy, ServerConfig};
use tercel_crypto::{AeadAlgorithm, HashAlgorithm, HpkeKey, HpkeRecipient, HpkeSender, HpkeSuite};
use tercel_wire::{
    ClientHello, Element, EncryptedClientHello, HandshakeMessage, OuterEncryptedClientHello,
    Writer, decode_inner_client_hello,
};

use super::front::Between;
use super::{PUBLIC, SECRET, TestKey, offer, pair, server, test_key, without_keys};
use crate::fixtures::client;
use crate::pair::{Pair, records};

const SUITE: HpkeSuite = HpkeSuite { kdf: HashAlgorithm::Sha256, aead: AeadAlgorithm::Aes128Gcm };

/// The parts of an encrypted ClientHello that a test may change.
pub(crate) struct Parts {
    /// The encoding of the inner ClientHello.
    encoded: Vec<u8>,
    config_id: u8,
    aead: u16,
    enc: Option<Vec<u8>>,
    /// The body of the extension in place of the encrypted one.
    extension: Option<Vec<u8>>,
    without_extension: bool,
    corrupt: bool,
}

/// A party that has the server's key.
pub(crate) struct Front {
    key: HpkeKey,
    info: Vec<u8>,
    recipient: Option<HpkeRecipient>,
    sender: Option<HpkeSender>,
}

impl Front {
    pub(crate) fn new(key: &TestKey) -> Self {
        let info = [b"tls ech\0", &key.config[..]].concat();
        let key = HpkeKey::from_private(&key.private).unwrap();
        Self { key, info, recipient: None, sender: None }
    }

    fn open(&mut self, body: &[u8]) -> Option<(Vec<u8>, u8)> {
        let hello = ClientHello::parse(body).unwrap();
        let extension = hello.extensions.encrypted_client_hello?;
        let EncryptedClientHello::Outer(outer) = EncryptedClientHello::parse(extension).unwrap()
        else {
            panic!("an inner ClientHello");
        };
        let mut associated_data = body.to_vec();
        associated_data[ClientHello::encrypted_payload(body).unwrap().unwrap()].fill(0);
        let recipient = self.recipient.get_or_insert_with(|| {
            HpkeRecipient::new(SUITE, &self.key, outer.enc, &self.info).unwrap()
        });
        Some((recipient.open(&associated_data, outer.payload).unwrap(), outer.config_id))
    }

    /// Replaces a ClientHello by its inner one, as a client-facing server does.
    pub(crate) fn forward(&mut self, bytes: &mut Vec<u8>, change: impl Fn(&mut Vec<u8>)) {
        replace_hello(bytes, |body| {
            let (encoded, _) = self.open(body).unwrap();
            let mut inner = decode_inner_client_hello(&encoded, body).unwrap();
            change(&mut inner);
            inner
        });
    }

    /// Changes a ClientHello and encrypts it again.
    pub(crate) fn change(&mut self, bytes: &mut Vec<u8>, change: impl Fn(&mut Parts)) {
        replace_hello(bytes, |body| {
            let is_first = self.recipient.is_none();
            let (encoded, config_id) = self.open(body).unwrap();
            let mut parts = Parts {
                encoded,
                config_id,
                aead: 1,
                enc: None,
                extension: None,
                without_extension: false,
                corrupt: false,
            };
            change(&mut parts);
            let public = self.key.public_key().unwrap();
            let mut enc = Vec::new();
            let sender = self.sender.get_or_insert_with(|| {
                let (sender, new) = HpkeSender::new(SUITE, &public, &self.info).unwrap();
                enc = new.to_vec();
                sender
            });
            assert_eq!(enc.is_empty(), !is_first);
            let enc = parts.enc.unwrap_or(enc);
            let mut payload = vec![0; parts.encoded.len() + 16];
            let extension = |payload: &[u8]| {
                let mut suite = tercel_wire::HpkeSymmetricCipherSuite {
                    kdf_id: tercel_wire::HpkeKdf::HKDF_SHA256,
                    aead_id: tercel_wire::HpkeAead::AES_128_GCM,
                };
                suite.aead_id.0 = parts.aead;
                let outer = OuterEncryptedClientHello {
                    cipher_suite: suite,
                    config_id: parts.config_id,
                    enc: &enc,
                    payload,
                };
                let mut body = Vec::new();
                EncryptedClientHello::Outer(outer).write(&mut Writer::new(&mut body));
                body
            };
            let mut hello = ClientHello::parse(body).unwrap();
            let write = |hello: &ClientHello<'_>| {
                let mut message = Vec::new();
                hello.encode(&mut message).unwrap();
                message
            };
            let zeros = extension(&payload);
            hello.extensions.encrypted_client_hello = Some(&zeros);
            let associated_data = write(&hello);
            sender.seal(&associated_data[4..], &parts.encoded, &mut payload).unwrap();
            if parts.corrupt {
                payload[3] ^= 1;
            }
            let sealed = parts.extension.clone().unwrap_or_else(|| extension(&payload));
            hello.extensions.encrypted_client_hello = (!parts.without_extension).then_some(&sealed);
            write(&hello)
        });
    }
}

/// Replaces the ClientHello in the first record of handshake messages, if there is one. The body of
/// the old message is passed.
fn replace_hello(bytes: &mut Vec<u8>, new: impl FnOnce(&[u8]) -> Vec<u8>) {
    let all = records(bytes);
    let Some(place) = all.iter().position(|(kind, content)| *kind == 22 && content[0] == 1) else {
        return;
    };
    let new = new(&all[place].1[4..]);
    bytes.clear();
    for (index, (kind, content)) in all.iter().enumerate() {
        let content = if index == place { &new } else { content };
        bytes.extend_from_slice(&[*kind, 3, 3]);
        bytes.extend_from_slice(&u16::try_from(content.len()).unwrap().to_be_bytes());
        bytes.extend_from_slice(content);
    }
}

/// The error of a server that receives a changed ClientHello; the second one, if `retried`.
fn server_error(retried: bool, change: impl Fn(&mut Parts)) -> Option<Error> {
    let key = test_key();
    let group = if retried { NamedGroup::SECP384R1 } else { NamedGroup::X25519MLKEM768 };
    let server = server(key.key()).groups(&[group]).build().unwrap();
    let client = client().build().unwrap();
    let mut front = Front::new(&key);
    let mut hellos = 0;
    let result = pair(&client, &server, &key.key().config())
        .tap_to_server(|bytes| {
            hellos += 1;
            if hellos <= 1 + usize::from(retried) {
                let is_changed = hellos == 1 + usize::from(retried);
                front.change(bytes, |parts| {
                    if is_changed {
                        change(parts);
                    }
                });
            }
        })
        .connect();
    result.unwrap_err().server
}

/// The same error of a server in shared mode and of a client-facing server.
fn error_of_both(retried: bool, change: impl Fn(&mut Parts)) -> Option<Error> {
    let error = server_error(retried, &change);
    assert_eq!(front_error(retried, change), error);
    error
}

/// The error of a client-facing server that receives a changed ClientHello; the second one, if
/// `retried`.
fn front_error(retried: bool, change: impl Fn(&mut Parts)) -> Option<Error> {
    let key = test_key();
    let group = if retried { NamedGroup::SECP384R1 } else { NamedGroup::X25519MLKEM768 };
    let backend = without_keys().ech_backend(true).groups(&[group]).build().unwrap();
    let mut party = Front::new(&key);
    let between = Between::new(super::keys(vec![key.key()]));
    let mut hellos = 0;
    let result = pair(&client().build().unwrap(), &backend, &key.key().config())
        .tap_to_server(|bytes| {
            hellos += 1;
            if hellos <= 1 + usize::from(retried) {
                let is_changed = hellos == 1 + usize::from(retried);
                party.change(bytes, |parts| {
                    if is_changed {
                        change(parts);
                    }
                });
            }
            between.to_backend(bytes);
        })
        .tap_to_client(|bytes| between.to_client(bytes))
        .connect();
    assert_eq!(result.unwrap_err().server, None, "the backend received the changed ClientHello");
    between.error()
}

/// Replaces bytes by others of the same length.
fn replace(bytes: &mut [u8], from: &[u8], to: &[u8]) {
    let at = place(bytes, from);
    bytes[at..at + from.len()].copy_from_slice(to);
}

/// The place of a part.
fn place(bytes: &[u8], part: &[u8]) -> usize {
    bytes.windows(part.len()).position(|window| window == part).unwrap()
}

/// The supported_versions of an inner ClientHello, and its mark.
const VERSIONS: &[u8] = &[0, 43, 0, 3, 2, 3, 4];
const MARK: &[u8] = &[0xfe, 0x0d, 0, 1, 1];

/// RFC 9849 7.1
#[test]
fn an_inner_hello_must_be_marked_and_only_for_tls13() {
    for retried in [false, true] {
        for (from, to) in [
            (VERSIONS, &[0, 43, 0, 3, 2, 3, 3][..]),
            (VERSIONS, &[0, 43, 0, 3, 2, 3, 1]),
            (VERSIONS, &[0x77, 0x43, 0, 3, 2, 3, 4]),
            (MARK, &[0x7e, 0x0d, 0, 1, 1]),
            (MARK, &[0xfe, 0x0d, 0, 1, 0]),
        ] {
            let error = error_of_both(retried, |parts| replace(&mut parts.encoded, from, to));
            assert_eq!(error, Some(PeerError::InvalidInnerHello.into()), "{to:?}");
            let alert = error.and_then(Error::alert);
            assert_eq!(alert, Some(AlertDescription::ILLEGAL_PARAMETER));
        }
    }
}

/// A change of an encoded inner ClientHello.
type Change = fn(&mut Vec<u8>);

/// The place of `ech_outer_extensions`: its type, its length, and the length of its list, which is
/// one less.
fn outer_extensions(encoded: &[u8]) -> usize {
    let begins = |at: &[u8]| at[..3] == [0xfd, 0, 0] && at[3] == at[4].wrapping_add(1);
    encoded.windows(5).position(begins).unwrap()
}

/// Replaces the reference to the outer ClientHello's protocol names by one name. RFC 9849 5.1
fn offer_protocol(encoded: &mut Vec<u8>, name: &[u8]) {
    let at = outer_extensions(encoded);
    let list = at + 5..at + 5 + usize::from(encoded[at + 4]);
    let named = encoded[list.clone()].chunks(2).position(|kind| kind == [0, 16]).unwrap();
    encoded.drain(list.start + 2 * named..list.start + 2 * named + 2);
    encoded[at + 3] -= 2;
    encoded[at + 4] -= 2;
    let length = u8::try_from(name.len()).unwrap();
    let mut extension = vec![0, 16, 0, length + 3, 0, length + 1, length];
    extension.extend_from_slice(name);
    let added = u16::try_from(extension.len()).unwrap() - 2;
    encoded.splice(at..at, extension);
    // After version, random and an empty session ID: suites, one compression method, extensions.
    let suites = usize::from(u16::from_be_bytes([encoded[35], encoded[36]]));
    let extensions = 37 + suites + 2;
    let before = u16::from_be_bytes([encoded[extensions], encoded[extensions + 1]]);
    encoded[extensions..extensions + 2].copy_from_slice(&(before + added).to_be_bytes());
}

/// RFC 9849 7.1
#[test]
fn the_inner_hello_decides_on_the_credential() {
    /// The name, the protocols and the number of suites of a request.
    type Request = (String, Vec<Vec<u8>>, usize);

    #[derive(Default)]
    struct Requests(Mutex<Vec<Request>>);

    impl SelectCredential for Requests {
        fn select_credential(&self, request: &CredentialRequest<'_>) -> Option<Arc<Credential>> {
            let name = request.server_name.unwrap_or_default().to_owned();
            let protocols = request.alpn.iter().flatten().map(|name| name.0.to_vec()).collect();
            self.0.lock().unwrap().push((name, protocols, request.cipher_suites.len()));
            None
        }
    }

    let key = test_key();
    // TLS 1.2 suites are in the outer ClientHello only.
    let client = client().alpn(&["outer"]).grease(false).build().unwrap();
    let server_for = |key| {
        let requests = Arc::new(Requests::default());
        let server = ServerConfig::builder()
            .credentials(Policy::Here(requests.clone()))
            .alpn(&["inner", "outer"])
            .ech(super::keys(vec![key]));
        (requests, server.build().unwrap())
    };
    let (requests, server) = server_for(key.key());
    let mut front = Front::new(&key);
    let failure = pair(&client, &server, &key.key().config())
        .tap_to_server(|bytes| {
            front.change(bytes, |parts| offer_protocol(&mut parts.encoded, b"inner"));
        })
        .connect()
        .unwrap_err();
    assert_eq!(failure.server, Some(InternalError::NoCredentialSelected.into()));
    assert_eq!(*requests.0.lock().unwrap(), [(SECRET.to_owned(), vec![b"inner".to_vec()], 3)]);

    // A server with another key uses the outer ClientHello.
    let (requests, server) = server_for(test_key().key());
    pair(&client, &server, &key.key().config()).connect().unwrap_err();
    let outer = requests.0.lock().unwrap();
    let [(name, protocols, suites)] = &outer[..] else { panic!("{outer:?}") };
    assert_eq!((name.as_str(), &protocols[..]), (PUBLIC, &[b"outer".to_vec()][..]));
    assert!(*suites > 3, "{suites}");
}

/// RFC 9849 5.1
#[test]
fn a_malformed_inner_hello_ends_the_handshake() {
    for retried in [false, true] {
        let changes: [(Change, DecodeError); 5] = [
            (|encoded| *encoded.last_mut().unwrap() = 1, DecodeError::InvalidInnerClientHello),
            (|encoded| encoded.truncate(40), DecodeError::Truncated),
            (
                |encoded| {
                    encoded[34] = 1;
                    encoded.insert(35, 9);
                },
                DecodeError::InvalidInnerClientHello,
            ),
            // The name of an extension that the outer ClientHello does not have.
            (
                |encoded| {
                    let at = outer_extensions(encoded);
                    encoded[at + 5..at + 7].copy_from_slice(&[0x77, 0x77]);
                },
                DecodeError::InvalidOuterExtensions,
            ),
            (
                |encoded| {
                    let at = outer_extensions(encoded);
                    encoded[at + 5..at + 7].copy_from_slice(&[0xfe, 0x0d]);
                },
                DecodeError::InvalidOuterExtensions,
            ),
        ];
        for (change, expected) in changes {
            let error = error_of_both(retried, |parts| change(&mut parts.encoded));
            assert_eq!(error, Some(PeerError::MalformedInnerHello(expected).into()));
            let alert = error.and_then(Error::alert);
            assert_eq!(alert, Some(AlertDescription::ILLEGAL_PARAMETER));
        }
    }
}

/// RFC 9849 7.1.1
#[test]
fn the_second_hello_must_continue_the_encryption() {
    let changed = Some(Error::Peer(PeerError::EncryptionChangedAfterRetry));
    assert_eq!(error_of_both(true, |parts| parts.config_id ^= 1), changed);
    assert_eq!(error_of_both(true, |parts| parts.aead = 3), changed);
    assert_eq!(error_of_both(true, |parts| parts.enc = Some(vec![1; 32])), changed);
    assert_eq!(error_of_both(true, |parts| parts.extension = Some(vec![1])), changed);
    assert_eq!(changed.and_then(Error::alert), Some(AlertDescription::ILLEGAL_PARAMETER));

    let missing = error_of_both(true, |parts| parts.without_extension = true);
    assert_eq!(missing, Some(PeerError::MissingExtension.into()));
    let corrupt = error_of_both(true, |parts| parts.corrupt = true);
    assert_eq!(corrupt, Some(PeerError::UndecryptableHello.into()));
    assert_eq!(corrupt.and_then(Error::alert), Some(AlertDescription::DECRYPT_ERROR));
}

/// A front selects the backend server by the name in the first ClientHello. Another name in the
/// second one must not reach the backend server. RFC 9846 4.2.2
#[test]
fn the_second_hello_must_have_the_name_of_the_first() {
    let other = error_of_both(true, |parts| {
        replace(&mut parts.encoded, SECRET.as_bytes(), b"public.example");
    });
    // The extension becomes an unknown one.
    let none = error_of_both(true, |parts| {
        let at = place(&parts.encoded, SECRET.as_bytes()) - 9;
        assert_eq!(parts.encoded[at..at + 2], [0, 0]);
        parts.encoded[at] = 0x77;
    });
    let changed = [other, none];
    assert_eq!(changed, [Some(PeerError::SecondHelloChanged.into()); 2]);
    let alert = changed[0].and_then(Error::alert);
    assert_eq!(alert, Some(AlertDescription::ILLEGAL_PARAMETER));
}

/// RFC 9849 7.1
#[test]
fn a_hello_that_no_key_opens_leads_to_the_outer_hello() {
    for change in [
        (|parts| parts.corrupt = true) as fn(&mut Parts),
        |parts| parts.config_id ^= 1,
        |parts| parts.aead = 3,
        |parts| parts.aead = 0x7777,
        |parts| parts.enc = Some(vec![1; 31]),
        |parts| parts.enc = Some(vec![0; 32]),
        |parts| parts.enc = Some(Vec::new()),
    ] {
        // The server continues with the outer ClientHello. Both sides have different transcripts,
        // and so different keys, because the outer ClientHello was changed.
        assert_eq!(server_error(false, change), Some(PeerError::BadRecordMac.into()));
    }
}

/// RFC 9849 7
#[test]
fn other_forms_of_the_extension_are_refused() {
    let inner = server_error(false, |parts| parts.extension = Some(vec![1]));
    assert_eq!(inner, Some(PeerError::UnexpectedInnerHello.into()));
    assert_eq!(inner.and_then(Error::alert), Some(AlertDescription::ILLEGAL_PARAMETER));
    let unknown = server_error(false, |parts| parts.extension = Some(vec![2]));
    let expected = DecodeError::InvalidEncryptedClientHelloType;
    assert_eq!(unknown, Some(PeerError::Decode(expected).into()));
    let long = server_error(false, |parts| parts.extension = Some(vec![1, 0]));
    assert_eq!(long, Some(PeerError::Decode(DecodeError::TrailingData).into()));
}

/// RFC 9849 7, 6.1.5
#[test]
fn a_backend_checks_the_mark_in_both_hellos() {
    let key = test_key();
    let backend =
        || without_keys().ech_backend(true).groups(&[NamedGroup::SECP384R1]).build().unwrap();
    let connect = |changed: usize, to: &'static [u8]| {
        let handshake = Handshake::client(client().build().unwrap(), SECRET.try_into().unwrap());
        let handshake = handshake.with_ech(offer(&key.key().config()));
        let mut front = Front::new(&key);
        let mut hellos = 0;
        Pair::of(handshake, Handshake::server(backend()))
            .tap_to_server(|bytes| {
                hellos += 1;
                if hellos <= 2 {
                    front.forward(bytes, |inner| {
                        if hellos == changed {
                            replace(inner, MARK, to);
                        }
                    });
                }
            })
            .connect()
            .unwrap_err()
            .server
    };
    assert_eq!(connect(2, &[0x7e, 0x0d, 0, 1, 1]), Some(PeerError::InvalidInnerHello.into()));
    let unknown = PeerError::Decode(DecodeError::InvalidEncryptedClientHelloType);
    assert_eq!(connect(1, &[0xfe, 0x0d, 0, 1, 9]), Some(unknown.into()));
}
