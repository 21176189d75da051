//! Authentication after the handshake: a server asks, a client answers. RFC 9846 4.7.2
//!
//! For: every way to ask and to answer. Must not know: clients and servers that break the rules, which
//! are in `src/testing/late_authentication.rs`. Next: `raw_public_keys.rs`.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use tercel::crypto::HashAlgorithm;
use tercel::pki::RefusalReason;
use tercel::pki_types::{PrivateKeyDer, SubjectPublicKeyInfoDer};
use tercel::wire::{AlertDescription, ProtocolVersion};
use tercel::{
    AcceptAnyPeer, CertificateRequested, ClientAuth, ClientCertificate, ClientConfig,
    ClientConfigBuilder, Credential, Credentials, Error, Filled, Handshake, Local, Misuse, Opened,
    Peer, Policy, PreSharedKey, ServerConfig, ServerConfigBuilder, Side,
};

use crate::identity::{KINDS, Kind, NAME, client, credential, leaf, roots, server};
use crate::pair::{Delivery, End, Ends, Pair, records};

const TLS12: ProtocolVersion = ProtocolVersion::TLS1_2;

/// A client that may be asked, and has nothing to show by itself.
fn willing() -> ClientConfigBuilder {
    client().post_handshake_auth(true)
}

/// A server that does not ask during the handshake but knows whom to trust.
fn curious() -> ServerConfigBuilder {
    server().client_auth(ClientAuth::None, roots())
}

fn connect(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> Ends {
    Pair::new(client, server, NAME).connect().unwrap()
}

fn willing_and_curious() -> Ends {
    connect(&willing().build().unwrap(), &curious().build().unwrap())
}

/// Asks, and what the client is given.
fn ask(ends: &mut Ends, demand: ClientAuth) -> CertificateRequested {
    let mut wire = Vec::new();
    ends.server.connection.request_certificate(demand, &mut wire).unwrap();
    requested(&mut ends.client, &wire, Delivery::Whole)
}

fn requested(end: &mut End, wire: &[u8], delivery: Delivery) -> CertificateRequested {
    match next(end, wire, delivery).unwrap() {
        Seen::Requested(request) => request,
        other => panic!("{other:?}"),
    }
}

fn answered(end: &mut End, wire: &[u8], delivery: Delivery) -> ClientCertificate {
    match next(end, wire, delivery).unwrap() {
        Seen::Answered(answer) => answer,
        other => panic!("{other:?}"),
    }
}

#[derive(Debug)]
enum Seen {
    Requested(CertificateRequested),
    Answered(ClientCertificate),
    Nothing,
}

/// The first event among these bytes; data before it is an error of the test.
fn next(end: &mut End, mut wire: &[u8], delivery: Delivery) -> Result<Seen, Error> {
    let mut step = match delivery {
        Delivery::Whole => wire.len(),
        _ => 1,
    };
    loop {
        match end.connection.receiver.open(&mut end.received)? {
            Opened::CertificateRequested(request) => return Ok(Seen::Requested(request)),
            Opened::ClientCertificate(answer) => return Ok(Seen::Answered(answer)),
            Opened::More if !wire.is_empty() => {
                step = step.min(wire.len());
                end.received.extend(&wire[..step]);
                wire = &wire[step..];
            }
            Opened::More => return Ok(Seen::Nothing),
            other => panic!("{other:?}"),
        }
    }
}

fn answer(end: &mut End, request: CertificateRequested, with: Option<&Arc<Credential>>) -> Vec<u8> {
    let mut wire = Vec::new();
    end.connection.sender.authenticate(request, with, &mut wire).unwrap();
    wire
}

#[test]
fn a_client_shows_its_certificate_when_it_is_asked_later() {
    for kind in KINDS {
        let own = Arc::new(credential(kind));
        let mut ends = willing_and_curious();
        assert!(ends.client.connection.facts.post_handshake_auth);
        assert!(ends.server.connection.facts.post_handshake_auth);
        assert!(ends.client.connection.requester.is_none());
        ends.talk();
        let mut wire = Vec::new();
        let context =
            ends.server.connection.request_certificate(ClientAuth::Required, &mut wire).unwrap();
        let request = requested(&mut ends.client, &wire, Delivery::Whole);
        assert_eq!(request.context(), context);
        let wanted = request.request().unwrap();
        assert_eq!((wanted.side, wanted.server_name), (Side::Client, None));
        assert_eq!(wanted.authorities.map(|names| names.iter().count()), Some(1));
        let scheme = wanted.scheme_for(&own);
        // Data goes both ways in the meantime.
        ends.talk();
        let wire = answer(&mut ends.client, request, Some(&own));
        let answer = answered(&mut ends.server, &wire, Delivery::Whole);
        assert_eq!(answer.context(), context);
        assert!(answer.is_verified());
        assert_eq!(answer.signature_scheme(), scheme);
        let identity = answer.identity().unwrap();
        assert_eq!((identity.side, identity.chain), (Side::Client, own.chain()));
        assert_eq!((identity.server_name, identity.raw_public_key), (None, None));
        assert_eq!(answer.into_chain(), own.chain());
        ends.talk();
    }
}

#[test]
fn a_client_may_decline_what_is_optional() {
    let mut ends = willing_and_curious();
    let request = ask(&mut ends, ClientAuth::Optional);
    assert!(matches!(request.select(), Ok(None)), "it has no credential configured");
    let wire = answer(&mut ends.client, request, None);
    let answer = answered(&mut ends.server, &wire, Delivery::Whole);
    assert!(!answer.is_verified() && answer.identity().is_none());
    assert_eq!(answer.signature_scheme(), None);
    assert!(answer.into_chain().is_empty());
    ends.talk();
}

#[test]
fn a_client_that_declines_what_is_required_is_refused() {
    let mut ends = willing_and_curious();
    let request = ask(&mut ends, ClientAuth::Required);
    let wire = answer(&mut ends.client, request, None);
    refuses(&mut ends, &wire, Peer::CertificateRequired.into());
    assert!(ends.server.connection.receiver.refusal().is_none());
}

#[test]
fn a_client_that_is_not_trusted_is_refused() {
    let made = rcgen::generate_simple_self_signed(vec!["client".to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    let stranger = Arc::new(Credential::new(vec![made.cert.der().clone()], &key).unwrap());
    let mut ends = willing_and_curious();
    let request = ask(&mut ends, ClientAuth::Optional);
    let wire = answer(&mut ends.client, request, Some(&stranger));
    let reason = next(&mut ends.server, &wire, Delivery::Whole).unwrap_err();
    let Error::Refused(reason) = reason else { panic!("{reason:?}") };
    assert!(matches!(reason, RefusalReason::SelfSigned | RefusalReason::UnknownIssuer));
    let refusal = ends.server.connection.receiver.refusal().unwrap();
    assert_eq!((refusal.reason, &refusal.chain[..]), (reason, stranger.chain()));
    hears(&mut ends, Error::Refused(reason).alert().unwrap());
}

/// The server fails, and the client hears why.
fn refuses(ends: &mut Ends, wire: &[u8], error: Error) {
    let failed = next(&mut ends.server, wire, Delivery::Whole).unwrap_err();
    assert_eq!(failed, error);
    hears(ends, error.alert().unwrap());
}

fn hears(ends: &mut Ends, alert: AlertDescription) {
    let mut wire = Vec::new();
    ends.server.connection.sender.control(&mut wire).unwrap();
    let told = ends.client.read(&wire, Delivery::Whole);
    assert_eq!(told, Err(Error::AlertReceived(alert)));
}

#[test]
fn a_server_that_asks_judges_by_itself() {
    let own = Arc::new(credential(Kind::P256));
    let server = server().client_verifier(ClientAuth::None, Policy::Ask).build().unwrap();
    let mut ends = connect(&willing().build().unwrap(), &server);
    let request = ask(&mut ends, ClientAuth::Required);
    // Nobody here trusts anyone, so there are no names to give.
    assert!(request.request().unwrap().authorities.is_none());
    let wire = answer(&mut ends.client, request, Some(&own));
    let answer = answered(&mut ends.server, &wire, Delivery::Whole);
    assert!(!answer.is_verified());
    assert_eq!(answer.identity().unwrap().chain, own.chain());
    ends.talk();
}

#[test]
fn a_server_that_asked_in_the_handshake_asks_again() {
    let server = server().client_auth(ClientAuth::Required, roots()).build().unwrap();
    let client = willing().credential(credential(Kind::Ed25519)).build().unwrap();
    let mut ends = connect(&client, &server);
    assert_eq!(ends.server.connection.facts.peer_chain().len(), 1);
    let request = ask(&mut ends, ClientAuth::Required);
    let other = Arc::new(credential(Kind::P384));
    let wire = answer(&mut ends.client, request, Some(&other));
    let answer = answered(&mut ends.server, &wire, Delivery::Whole);
    assert_eq!(answer.into_chain(), other.chain());
    ends.talk();
}

#[test]
fn the_answer_is_made_under_the_key_of_its_moment() {
    let own = Arc::new(credential(Kind::P256));
    let mut ends = willing_and_curious();
    let update = |ends: &mut Ends, side, request| {
        let (from, to) = ends.both(side);
        let (mut wire, mut back) = (Vec::new(), Vec::new());
        from.connection.sender.update_key(request, &mut wire).unwrap();
        assert_eq!(to.read(&wire, Delivery::Whole), Ok(Vec::new()));
        to.connection.sender.control(&mut back).unwrap();
        assert_eq!(from.read(&back, Delivery::Whole), Ok(Vec::new()));
    };
    for round in 0..3 {
        // Before the request, before the answer, and after it; of one side and of both.
        update(&mut ends, Side::Client, round == 1);
        let request = ask(&mut ends, ClientAuth::Required);
        update(&mut ends, Side::Server, round == 2);
        update(&mut ends, Side::Client, round == 0);
        let wire = answer(&mut ends.client, request, Some(&own));
        assert!(answered(&mut ends.server, &wire, Delivery::Whole).is_verified());
        update(&mut ends, Side::Client, true);
        ends.talk();
    }
}

#[test]
fn an_update_that_is_due_goes_ahead_of_the_answer_not_into_it() {
    let own = Arc::new(credential(Kind::P256));
    let mut ends = willing_and_curious();
    let mut wire = Vec::new();
    ends.server.connection.request_certificate(ClientAuth::Required, &mut wire).unwrap();
    ends.server.connection.sender.update_key(true, &mut wire).unwrap();
    let request = requested(&mut ends.client, &wire, Delivery::Whole);
    assert!(matches!(next(&mut ends.client, &[], Delivery::Whole), Ok(Seen::Nothing)));
    let wire = answer(&mut ends.client, request, Some(&own));
    assert_eq!(records(&wire).len(), 2);
    assert!(answered(&mut ends.server, &wire, Delivery::Whole).is_verified());
    ends.talk();
}

#[test]
fn requests_may_be_answered_in_another_order() {
    let owns = [Kind::P256, Kind::Ed25519, Kind::P384].map(|kind| Arc::new(credential(kind)));
    let mut ends = willing_and_curious();
    let mut requests: Vec<_> = owns.iter().map(|_| ask(&mut ends, ClientAuth::Required)).collect();
    assert!(requests.windows(2).all(|two| two[0] != two[1]));
    for own in &owns {
        let request = requests.pop().unwrap();
        let context = request.context().to_vec();
        let wire = answer(&mut ends.client, request, Some(own));
        let answer = answered(&mut ends.server, &wire, Delivery::Whole);
        assert_eq!((answer.context(), answer.is_verified()), (&context[..], true));
        assert_eq!(answer.into_chain(), own.chain());
        ends.talk();
    }
}

#[test]
fn the_messages_may_be_cut_anywhere() {
    let own = Arc::new(credential(Kind::P256));
    let client = willing().max_fragment(64).record_size_limit(65).build().unwrap();
    let mut ends = connect(&client, &curious().build().unwrap());
    let mut wire = Vec::new();
    ends.server.connection.request_certificate(ClientAuth::Required, &mut wire).unwrap();
    assert!(records(&wire).len() > 1);
    let request = requested(&mut ends.client, &wire, Delivery::Bytes);
    let wire = answer(&mut ends.client, request, Some(&own));
    assert!(records(&wire).len() > 5);
    assert!(answered(&mut ends.server, &wire, Delivery::Bytes).is_verified());
    ends.talk();
}

#[test]
fn events_come_before_the_data_behind_them() {
    let own = Arc::new(credential(Kind::P256));
    let mut ends = willing_and_curious();
    let mut out = [0; 20_000];
    let Ends { client, server } = &mut ends;
    let mut wire = Vec::new();
    server.connection.request_certificate(ClientAuth::Optional, &mut wire).unwrap();
    server.connection.request_certificate(ClientAuth::Optional, &mut wire).unwrap();
    server.connection.sender.seal_to(b"data", &mut wire).unwrap();
    client.received.extend(&wire);
    let mut wire = Vec::new();
    for _ in 0..2 {
        let filled = client.connection.receiver.open_into(&mut client.received, &mut out).unwrap();
        let Filled::CertificateRequested(request) = filled else { panic!("{filled:?}") };
        client.connection.sender.authenticate(request, Some(&own), &mut wire).unwrap();
    }
    let filled = client.connection.receiver.open_into(&mut client.received, &mut out);
    assert_eq!(filled, Ok(Filled::Data(4)));
    client.connection.sender.seal_to(b"more", &mut wire).unwrap();
    server.received.extend(&wire);
    for _ in 0..2 {
        let filled = server.connection.receiver.open_into(&mut server.received, &mut out).unwrap();
        let Filled::ClientCertificate(answer) = filled else { panic!("{filled:?}") };
        assert!(answer.is_verified());
    }
    let filled = server.connection.receiver.open_into(&mut server.received, &mut out);
    assert_eq!(filled, Ok(Filled::Data(4)));
}

#[test]
fn the_halves_of_a_server_need_only_the_request_between_them() {
    let own = Arc::new(credential(Kind::P256));
    let Ends { mut client, server } = willing_and_curious();
    let (tercel::Connection { mut sender, mut receiver, requester, .. }, mut received) =
        (server.connection, server.received);
    let requester = requester.unwrap();
    let mut wire = Vec::new();
    let pending = sender.request_certificate(&requester, ClientAuth::Required, &mut wire).unwrap();
    let context = pending.context().to_vec();
    receiver.expect(pending).unwrap();
    let request = requested(&mut client, &wire, Delivery::Whole);
    received.extend(&answer(&mut client, request, Some(&own)));
    let Ok(Opened::ClientCertificate(answer)) = receiver.open(&mut received) else { panic!() };
    assert_eq!(answer.context(), context);
}

#[test]
fn only_a_client_that_offers_it_is_asked() {
    // RFC 9846 4.3.6
    let mut wire = Vec::new();
    let curious = curious().build().unwrap();
    let mut not_offered = connect(&client().build().unwrap(), &curious);
    assert!(!not_offered.server.connection.facts.post_handshake_auth);
    let mut no_verifier = connect(&willing().build().unwrap(), &server().build().unwrap());
    let mut old = connect(&willing().versions(&[TLS12]).build().unwrap(), &curious);
    let mut good = connect(&willing().build().unwrap(), &curious);
    for (connection, misuse) in [
        (&mut not_offered.server.connection, Misuse::NoPostHandshakeAuth),
        (&mut not_offered.client.connection, Misuse::NoPostHandshakeAuth),
        (&mut good.client.connection, Misuse::NoPostHandshakeAuth),
        (&mut no_verifier.server.connection, Misuse::NoPostHandshakeAuth),
        (&mut old.server.connection, Misuse::WrongVersion),
    ] {
        assert!(connection.requester.is_none());
        let refused = connection.request_certificate(ClientAuth::Required, &mut wire);
        assert_eq!(refused, Err(misuse.into()));
    }
    let refused = good.server.connection.request_certificate(ClientAuth::None, &mut wire);
    assert_eq!(refused, Err(Misuse::InvalidArgument.into()));
    assert!(wire.is_empty());
    good.talk();
    old.talk();
}

/// RFC 9846 4.4.2
#[test]
fn who_has_an_external_key_is_not_asked() {
    let key = || PreSharedKey::external(b"name", &[7; 32], HashAlgorithm::Sha256).unwrap();
    let client = willing().pre_shared_keys([key()]).build().unwrap();
    let server = curious().pre_shared_keys([key()]).build().unwrap();
    for resumed in [false, true] {
        let mut ends = connect(&client, &server);
        assert_eq!(ends.server.connection.facts.resumed, resumed);
        assert_eq!(ends.server.connection.facts.pre_shared_key(), Some(&b"name"[..]));
        for facts in [&ends.client.connection.facts, &ends.server.connection.facts] {
            assert!(!facts.post_handshake_auth);
        }
        let mut wire = Vec::new();
        let refused = ends.server.connection.request_certificate(ClientAuth::Optional, &mut wire);
        assert_eq!(refused, Err(Misuse::NoPostHandshakeAuth.into()));
        ends.talk();
    }
}

#[test]
fn a_hello_says_so_only_where_it_means_something() {
    for (config, expected) in [
        (client().build(), false),
        (willing().build(), true),
        (willing().versions(&[TLS12]).build(), false),
    ] {
        let mut hello = Vec::new();
        Pair::new(&config.unwrap(), &curious().build().unwrap(), NAME)
            .tap_to_server(|bytes| hello.extend_from_slice(bytes))
            .connect()
            .unwrap();
        // The extension is empty: type 49, length 0.
        let (_, fragment) = &records(&hello)[0];
        let hello = tercel::wire::HandshakeMessage::parse(&fragment[4..]);
        let hello: tercel::wire::ClientHello<'_> = hello.unwrap();
        assert_eq!(hello.extensions.post_handshake_auth.is_some(), expected);
    }
}

#[test]
fn no_more_than_eight_requests_are_open() {
    let mut ends = willing_and_curious();
    let mut requests: Vec<_> = (0..8).map(|_| ask(&mut ends, ClientAuth::Optional)).collect();
    let mut wire = Vec::new();
    let server = &mut ends.server.connection;
    let refused = server.request_certificate(ClientAuth::Optional, &mut wire);
    assert_eq!(refused, Err(Misuse::TooManyCertificateRequests.into()));
    assert!(wire.is_empty());
    // With each answer there is room for another.
    for _ in 0..20 {
        let wire = answer(&mut ends.client, requests.remove(0), None);
        answered(&mut ends.server, &wire, Delivery::Whole);
        requests.push(ask(&mut ends, ClientAuth::Optional));
    }
    ends.talk();
}

#[test]
fn what_belongs_to_another_connection_is_not_taken() {
    let own = Arc::new(credential(Kind::P256));
    let (mut ends, mut others) = (willing_and_curious(), willing_and_curious());
    let misuse = Err(Misuse::InvalidArgument.into());
    let request = ask(&mut others, ClientAuth::Optional);
    let mut wire = Vec::new();
    let sender = &mut ends.client.connection.sender;
    assert_eq!(sender.authenticate(request, Some(&own), &mut wire), misuse);
    let requester = others.server.connection.requester.as_ref().unwrap();
    let sender = &mut ends.server.connection.sender;
    let refused = sender.request_certificate(requester, ClientAuth::Optional, &mut wire);
    assert_eq!(refused.map(|_| ()), misuse);
    assert!(wire.is_empty());
    let sender = &mut others.server.connection.sender;
    let pending = sender.request_certificate(requester, ClientAuth::Optional, &mut wire).unwrap();
    assert_eq!(ends.server.connection.receiver.expect(pending), misuse);
    ends.talk();
}

#[test]
fn a_key_may_be_elsewhere() {
    let (chain, key) = leaf(Kind::P256, &["client"]);
    let remote = Arc::new(Credential::remote(chain).unwrap());
    let key = PrivateKeyDer::Pkcs8(key.into());
    let signer = tercel::crypto::SigningKey::from_der(key.secret_der()).unwrap();
    let mut ends = willing_and_curious();
    let mut wire = Vec::new();

    let request = ask(&mut ends, ClientAuth::Required);
    let sender = &mut ends.client.connection.sender;
    let refused = sender.authenticate(request, Some(&remote), &mut wire);
    assert_eq!(refused, Err(Misuse::KeyElsewhere.into()));
    assert!(wire.is_empty());

    let request = ask(&mut ends, ClientAuth::Required);
    let unsigned = request.prepare(&remote).unwrap();
    assert_eq!(unsigned.credential().chain(), remote.chain());
    assert!(unsigned.content().starts_with(&[0x20; 64]));
    assert!(unsigned.content()[64..].starts_with(b"TLS 1.3, client CertificateVerify\0"));
    // Whoever signs takes some time.
    ends.talk();
    let mut update = Vec::new();
    ends.client.connection.sender.update_key(false, &mut update).unwrap();
    ends.server.read(&update, Delivery::Whole).unwrap();
    let signature = unsigned.sign(&signer).unwrap();
    let sender = &mut ends.client.connection.sender;
    sender.authenticate_signed(unsigned, &signature, &mut wire).unwrap();
    let answer = answered(&mut ends.server, &wire, Delivery::Whole);
    assert_eq!((answer.is_verified(), answer.into_chain()), (true, remote.chain().to_vec()));
}

#[test]
fn a_credential_has_to_fit_the_request() {
    let server =
        curious().signature_schemes(&[tercel::wire::SignatureScheme::ED25519]).build().unwrap();
    let mut ends = connect(&willing().build().unwrap(), &server);
    let request = ask(&mut ends, ClientAuth::Required);
    let mut wire = Vec::new();
    let own = Arc::new(credential(Kind::P256));
    let refused = ends.client.connection.sender.authenticate(request, Some(&own), &mut wire);
    assert_eq!(refused, Err(Misuse::InvalidArgument.into()));
    assert!(wire.is_empty());
    ends.talk();
}

#[test]
fn the_configuration_chooses_among_its_credentials() {
    let set = Credentials::new(vec![credential(Kind::P256), credential(Kind::Ed25519)]);
    let client = willing().credentials(Policy::Here(Arc::new(set))).build().unwrap();
    let server =
        curious().signature_schemes(&[tercel::wire::SignatureScheme::ED25519]).build().unwrap();
    let mut ends = connect(&client, &server);
    let request = ask(&mut ends, ClientAuth::Required);
    let chosen = request.select().unwrap().unwrap();
    assert_eq!(chosen.kind(), tercel::crypto::KeyKind::Ed25519);
    let wire = answer(&mut ends.client, request, Some(&chosen));
    assert!(answered(&mut ends.server, &wire, Delivery::Whole).is_verified());

    let client = willing().credentials(Policy::Ask).build().unwrap();
    let mut ends = connect(&client, &curious().build().unwrap());
    let request = ask(&mut ends, ClientAuth::Required);
    assert_eq!(request.select().map(|_| ()), Err(Misuse::QuestionOpen.into()));
}

#[test]
fn a_raw_public_key_serves_if_that_was_agreed() {
    let (_, key) = leaf(Kind::P256, &["client"]);
    let key = PrivateKeyDer::Pkcs8(key.into());
    let signer = tercel::crypto::SigningKey::from_der(key.secret_der()).unwrap();
    let public = tercel::crypto::Signer::public_key_spki(&signer).unwrap();
    let public = SubjectPublicKeyInfoDer::from(public);
    let own = Credential::raw_public_key(public.clone(), &key).unwrap();
    let client = willing().credential(own).build().unwrap();
    let server = server().client_raw_keys(ClientAuth::Optional, vec![public.clone()]);
    let mut ends = connect(&client, &server.build().unwrap());
    let request = ask(&mut ends, ClientAuth::Required);
    let chosen = request.select().unwrap().unwrap();
    let wire = answer(&mut ends.client, request, Some(&chosen));
    let answer = answered(&mut ends.server, &wire, Delivery::Whole);
    assert!(answer.is_verified());
    assert_eq!(answer.identity().unwrap().raw_public_key, Some(public.as_ref()));
    assert!(answer.into_chain().is_empty());
}

#[test]
fn a_resumed_connection_can_be_asked() {
    // RFC 9846 4.4.2
    let own = Arc::new(credential(Kind::P256));
    let (client, server) = (willing().build().unwrap(), curious().build().unwrap());
    connect(&client, &server).talk();
    let mut ends = connect(&client, &server);
    assert!(ends.server.connection.facts.resumed);
    let request = ask(&mut ends, ClientAuth::Required);
    let wire = answer(&mut ends.client, request, Some(&own));
    assert!(answered(&mut ends.server, &wire, Delivery::Whole).is_verified());
}

#[test]
fn who_has_closed_neither_asks_nor_answers() {
    let own = Arc::new(credential(Kind::P256));
    let mut ends = willing_and_curious();
    let request = ask(&mut ends, ClientAuth::Optional);
    let mut wire = Vec::new();
    let closed = Error::from(Local::Closed);
    ends.client.connection.sender.close(&mut wire).unwrap();
    let length = wire.len();
    let sender = &mut ends.client.connection.sender;
    assert_eq!(sender.authenticate(request, Some(&own), &mut wire), Err(closed));
    assert_eq!(wire.len(), length);
    wire.clear();
    ends.server.connection.sender.close(&mut wire).unwrap();
    let refused = ends.server.connection.request_certificate(ClientAuth::Optional, &mut wire);
    assert_eq!(refused, Err(closed));
}

#[test]
fn what_comes_after_a_close_is_not_looked_at() {
    let mut ends = willing_and_curious();
    let mut request = Vec::new();
    ends.server.connection.request_certificate(ClientAuth::Optional, &mut request).unwrap();
    let mut wire = Vec::new();
    ends.server.connection.sender.close(&mut wire).unwrap();
    let client = &mut ends.client;
    client.received.extend(&request);
    client.received.extend(&wire);
    client.received.extend(&request);
    let opened = client.connection.receiver.open(&mut client.received);
    assert!(matches!(opened, Ok(Opened::CertificateRequested(_))));
    for _ in 0..2 {
        let opened = client.connection.receiver.open(&mut client.received);
        assert_eq!(opened, Ok(Opened::Closed));
    }
}

#[test]
fn a_stream_answers_while_it_reads() {
    let own = credential(Kind::P256);
    let chain = own.chain().to_vec();
    let client = willing().credential(own).build().unwrap();
    let seen = over_sockets(&client, ClientAuth::Required);
    assert!(seen.is_verified());
    assert_eq!(seen.into_chain(), chain);
    let seen = over_sockets(&willing().build().unwrap(), ClientAuth::Optional);
    assert!(seen.identity().is_none());
}

/// Data, a request, more data than the client's buffer holds, an answer, and a farewell.
fn over_sockets(client: &Arc<ClientConfig>, demand: ClientAuth) -> ClientCertificate {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let served = thread::spawn(move || {
        let (transport, _) = listener.accept().unwrap();
        let config = curious().build().unwrap();
        let mut stream = Handshake::server(config).complete(transport).unwrap();
        let mut line = [0; 5];
        stream.read_exact(&mut line).unwrap();
        assert_eq!(&line, b"first");
        let answer = stream.authenticate_client(demand).unwrap();
        assert!(stream.take_client_certificates().is_empty());
        // What the client said before it read the request is not lost.
        let mut line = [0; 6];
        stream.read_exact(&mut line).unwrap();
        assert_eq!(&line, b"second");
        stream.write_all(b"known").unwrap();
        stream.close().unwrap();
        answer
    });
    let transport = TcpStream::connect(address).unwrap();
    let name = NAME.try_into().unwrap();
    let mut stream = Handshake::client(Arc::clone(client), name).complete(transport).unwrap();
    stream.write_all(b"first").unwrap();
    stream.write_all(b"second").unwrap();
    // Two bytes at a time: the request does not fit, and is taken aside.
    let mut said = Vec::new();
    loop {
        let mut few = [0; 2];
        match stream.read(&mut few).unwrap() {
            0 => break,
            count => said.extend_from_slice(&few[..count]),
        }
    }
    assert_eq!(said, b"known");
    served.join().unwrap()
}

#[test]
fn a_stream_does_not_wait_for_who_has_gone() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let served = thread::spawn(move || {
        let (transport, _) = listener.accept().unwrap();
        let anyone = Policy::Here(Arc::new(AcceptAnyPeer) as _);
        let config = server().client_verifier(ClientAuth::None, anyone).build().unwrap();
        let mut stream = Handshake::server(config).complete(transport).unwrap();
        stream.authenticate_client(ClientAuth::Optional).unwrap_err().kind()
    });
    let transport = TcpStream::connect(address).unwrap();
    let config = willing().build().unwrap();
    let mut stream =
        Handshake::client(config, NAME.try_into().unwrap()).complete(transport).unwrap();
    stream.close().unwrap();
    // The request comes after our close: it cannot be answered, and is no error.
    let mut rest = Vec::new();
    let end = stream.read_to_end(&mut rest);
    assert_eq!(served.join().unwrap(), std::io::ErrorKind::UnexpectedEof);
    assert_eq!(end.unwrap_err().kind(), std::io::ErrorKind::UnexpectedEof);
}

#[test]
fn what_an_answer_rests_on_is_not_handed_over() {
    let refused = |connection: tercel::Connection| match connection.save() {
        Err(refused) => refused.reason,
        Ok(_) => panic!("it was saved"),
    };
    let awaited = Error::from(Misuse::CertificateAwaited);
    // A client may be asked at any time, a server only waits for what it asked for.
    assert_eq!(refused(willing_and_curious().client.connection), awaited);
    assert!(willing_and_curious().server.connection.save().is_ok());
    let mut ends = willing_and_curious();
    ends.client.connection.park();
    ends.server.connection.park();
    let request = ask(&mut ends, ClientAuth::Optional);
    ends.client.connection.park();
    ends.server.connection.park();
    let wire = answer(&mut ends.client, request, None);
    let Ends { client, server } = ends;
    let refused = server.connection.save().unwrap_err();
    assert_eq!(refused.reason, awaited);
    let refused = refused.connection.export_traffic_keys(&server.received).err().unwrap();
    assert_eq!(refused.reason, awaited);
    let mut server = End { connection: *refused.connection, received: server.received };
    answered(&mut server, &wire, Delivery::Whole);
    assert!(server.connection.save().is_ok());
    let refused = client.connection.export_traffic_keys(&client.received).err().unwrap();
    assert_eq!(refused.reason, awaited);
}
