//! Events of handshakes for subscribers of `tracing`, on both sides of a handshake.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use rcgen::{CertificateParams, KeyPair};
use tercel::pki::{RefusalReason, Roots};
use tercel::wire::{CipherSuite, ProtocolVersion};
use tercel::{ClientConfig, Handshake, ReceiveBuffer, ServerConfig, Stream};
use tracing::Level;

use crate::early_data::guard;
use crate::early_data_rejection::{LIMIT, never, servers, tls13_client, visit};
use crate::event_collector::{Collected, Collector};
use crate::fixtures::{NAME, client, plain, server};
use crate::pair::Pair;

const HANDSHAKE: &str = "tercel::handshake";
const EARLY_DATA: &str = "tercel::early_data";

#[test]
fn a_handshake_that_is_done() {
    let suites = [CipherSuite::TLS_AES_256_GCM_SHA384];
    let client = client().cipher_suites(&suites).alpn(&["h2", "http/1.1"]).build().unwrap();
    let server = server().alpn(&["http/1.1"]).build().unwrap();
    let expected = |side| {
        event(
            HANDSHAKE,
            "handshake done",
            side,
            &[
                ("server_name", NAME),
                ("version", "TLSv1.3"),
                ("cipher_suite", "TLS_AES_256_GCM_SHA384"),
                ("group", "X25519MLKEM768"),
                ("alpn", "http/1.1"),
                ("resumed", "false"),
                ("early_data", "not offered"),
            ],
        )
    };
    assert_eq!(events(&client, &server), [expected("client"), expected("server")]);
}

#[test]
fn a_resumption_in_each_version() {
    for version in [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2] {
        let (client, server) =
            (client().versions(&[version]).build().unwrap(), server().build().unwrap());
        for resumed in ["false", "true"] {
            for event in visit_events(&client, &server) {
                assert_eq!(event.message(), "handshake done");
                assert_eq!(event.get("resumed"), Some(resumed), "{event:?}");
                assert_eq!(event.get("version"), Some(version.to_string().as_str()));
                assert_eq!(event.get("alpn"), None);
            }
        }
    }
}

#[test]
fn a_certificate_that_the_client_refuses() {
    let (client, server) = (distrusting_client(), server().build().unwrap());
    let [ours, theirs] = <[_; 2]>::try_from(events(&client, &server)).unwrap();
    let reason = RefusalReason::UnknownIssuer.to_string();
    let certificate = ours.get("certificate").unwrap();
    assert!(certificate.starts_with(&format!("{reason}; the chain ends at ")), "{certificate}");
    let reason = format!("certificate refused: {reason}");
    assert_refused(&ours, "client", &reason, [Some("unknown_ca"), None]);
    let reason = "the peer sent the fatal alert unknown_ca";
    assert_refused(&theirs, "server", reason, [None, Some("unknown_ca")]);
}

#[test]
fn a_client_that_the_server_refuses() {
    let (client, server) =
        (client().alpn(&["a"]).build().unwrap(), server().alpn(&["b"]).build().unwrap());
    let [theirs, ours] = <[_; 2]>::try_from(events(&client, &server)).unwrap();
    let alert = Some("no_application_protocol");
    let reason = "no application protocol in common with the peer";
    assert_refused(&theirs, "server", reason, [alert, None]);
    let reason = "the peer sent the fatal alert no_application_protocol";
    assert_refused(&ours, "client", reason, [None, alert]);
    assert_eq!(ours.get("server_name"), Some(NAME));
}

#[test]
fn a_transport_that_ends() {
    let collector = Collector::new(Level::DEBUG);
    let mut handshake = Handshake::client(plain().0, NAME.try_into().unwrap());
    handshake.advance(&mut ReceiveBuffer::new(), &mut Vec::new()).unwrap();
    assert_eq!(collector.take(), []);
    handshake.end_of_input().unwrap_err();
    let reason = "connection closed without close_notify";
    assert_refused(&collector.take()[0], "client", reason, [None, None]);
    // The handshake has ended, so this is an error of the caller, which has no event.
    handshake.end_of_input().unwrap_err();
    assert_eq!(collector.take(), []);
}

/// The server has the early data, so it reports that before the handshake is complete.
#[test]
fn early_data_that_is_accepted() {
    let (client, server) = (tls13_client(), server().early_data(LIMIT, guard()).build().unwrap());
    visit(&client, &server);
    let events = visit_events(&client, &server);
    let messages: Vec<_> = events.iter().map(Collected::message).collect();
    let [accepted, done] = ["early data accepted", "handshake done"];
    assert_eq!(messages, [accepted, accepted, done, done]);
    let sides: Vec<_> = events.iter().map(|event| event.get("side").unwrap()).collect();
    assert_eq!(sides, ["server", "client", "client", "server"]);
    assert_eq!(events[0], event(EARLY_DATA, accepted, "server", &[]));
    assert_eq!(events[1], event(EARLY_DATA, accepted, "client", &[("server_name", NAME)]));
    for done in &events[2..] {
        assert_eq!(done.get("early_data"), Some("accepted"));
        assert_eq!(done.get("resumed"), Some("true"));
    }
}

#[test]
fn early_data_that_is_rejected_and_the_reason() {
    let build = servers();
    let first = build().early_data(LIMIT, guard()).build().unwrap();
    let no_reason = "the server gave no reason";
    for (second, reasons) in [
        (build().early_data(LIMIT, never()), [no_reason, "the replay guard did not admit it"]),
        (build(), [no_reason, "the server or the session allows no early data"]),
        (server(), ["the session was not resumed"; 2]),
    ] {
        let (client, second) = (tls13_client(), second.build().unwrap());
        visit(&client, &first);
        let events = visit_events(&client, &second);
        for (side, reason) in ["client", "server"].into_iter().zip(reasons) {
            let fields = [("server_name", NAME), ("reason", reason)];
            let expected = event(EARLY_DATA, "early data rejected", side, &fields);
            let of_side = |event: &&Collected| event.get("side") == Some(side);
            let of_side: Vec<_> = events.iter().filter(of_side).collect();
            assert_eq!(of_side.len(), 2);
            assert_eq!(*of_side[0], expected);
            assert_eq!(of_side[1].message(), "handshake done");
            assert_eq!(of_side[1].get("early_data"), Some("rejected"));
        }
    }
}

#[test]
fn blocking_streams_have_the_same_events() {
    let (client, server) = plain();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let accepting = thread::spawn(move || {
        let collector = Collector::new(Level::DEBUG);
        let accepted = Stream::accept(&server, listener.accept().unwrap().0);
        (collector.take(), accepted.map(drop).map_err(|error: io::Error| error.to_string()))
    });
    let collector = Collector::new(Level::DEBUG);
    let transport = TcpStream::connect(address).unwrap();
    let stream = Stream::connect(&client, NAME.try_into().unwrap(), transport).unwrap();
    let (theirs, accepted) = accepting.join().unwrap();
    accepted.unwrap();
    drop(stream);
    let all = [collector.take(), theirs].concat();
    let messages: Vec<_> = all.iter().map(|event| (event.message(), event.get("side"))).collect();
    let expected = ["client", "server"].map(|side| ("handshake done", Some(side)));
    assert_eq!(messages, expected);
}

/// A subscriber of INFO gets nothing, because peers cause these events.
#[test]
fn every_event_has_the_level_debug() {
    let (client, server) = plain();
    let collector = Collector::new(Level::INFO);
    for client in [client, distrusting_client()] {
        let _ = Pair::new(&client, &server, NAME).connect();
    }
    assert_eq!(collector.take(), []);
}

/// A client that trusts an authority other than that of the server.
fn distrusting_client() -> Arc<ClientConfig> {
    let key = KeyPair::generate().unwrap();
    let authority = CertificateParams::default().self_signed(&key).unwrap();
    let mut roots = Roots::new();
    roots.add_der(authority.der()).unwrap();
    ClientConfig::builder().roots(roots).build().unwrap()
}

/// The events of a handshake between these two.
fn events(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> Vec<Collected> {
    let collector = Collector::new(Level::DEBUG);
    let _ = Pair::new(client, server, NAME).connect();
    collector.take()
}

/// The events of a handshake whose client offers early data if it can, and gets tickets.
fn visit_events(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> Vec<Collected> {
    let collector = Collector::new(Level::DEBUG);
    visit(client, server);
    collector.take()
}

fn event(target: &str, message: &str, side: &str, fields: &[(&'static str, &str)]) -> Collected {
    let fields = [("message", message), ("side", side)].into_iter().chain(fields.iter().copied());
    let fields = fields.map(|(name, value)| (name, value.to_owned())).collect();
    Collected { level: Level::DEBUG, target: target.to_owned(), fields }
}

/// Asserts the fields of a refusal, with the alerts that were sent and received.
#[track_caller]
fn assert_refused(
    event: &Collected,
    side: &str,
    reason: &str,
    [sent, received]: [Option<&str>; 2],
) {
    assert_eq!((event.level, event.target.as_str()), (Level::DEBUG, HANDSHAKE));
    assert_eq!(event.message(), "handshake refused");
    assert_eq!(event.get("side"), Some(side));
    assert_eq!(event.get("reason"), Some(reason));
    assert_eq!((event.get("alert_sent"), event.get("alert_received")), (sent, received));
}
