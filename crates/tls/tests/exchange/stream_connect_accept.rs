//! `Stream::connect` and `Stream::accept` over sockets, and the errors of both.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tercel::error::{HandshakeError, Misuse, PeerError};
use tercel::pki::RefusalReason;
use tercel::server::ClientAuth;
use tercel::wire::{AlertDescription, ProtocolVersion};
use tercel::{ClientConfig, Error, Policy, ServerConfig, Side, Stream};

use crate::fixtures::{KINDS, NAME, client, credential, plain, roots, server};

const BOTH_VERSIONS: [ProtocolVersion; 2] = [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2];

type Connected = io::Result<Stream<TcpStream>>;

fn sockets() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (near, listener.accept().unwrap().0)
}

/// Runs both handshakes, and then `serve` with the server's stream.
fn run(
    client: &Arc<ClientConfig>,
    server: &Arc<ServerConfig>,
    name: &'static str,
    serve: impl FnOnce(&mut Stream<TcpStream>) + Send,
) -> (Connected, Connected) {
    let (near, far) = sockets();
    thread::scope(|scope| {
        let accepted = scope.spawn(|| {
            let mut accepted = Stream::accept(server, far);
            accepted.as_mut().map(serve).ok();
            accepted
        });
        let connected = Stream::connect(client, name.try_into().unwrap(), near);
        (connected, accepted.join().unwrap())
    })
}

/// The error of the handshake in an error of `std::io`.
fn handshake_error(error: &io::Error) -> &HandshakeError {
    error.get_ref().unwrap().downcast_ref::<HandshakeError>().unwrap()
}

fn inner(error: &io::Error) -> Error {
    handshake_error(error).error
}

fn failure(connected: Connected) -> (ErrorKind, Error) {
    let error = connected.unwrap_err();
    (error.kind(), inner(&error))
}

#[test]
fn connect_and_accept_run_a_whole_handshake() {
    for version in BOTH_VERSIONS {
        let client = client().versions(&[version]).alpn(&["a"]).build().unwrap();
        let server = server().alpn(&["a"]).build().unwrap();
        let (connected, accepted) =
            run(&client, &server, NAME, |stream| stream.write_all(b"from the server").unwrap());
        let (mut connected, mut accepted) = (connected.unwrap(), accepted.unwrap());
        let mut read = [0; 15];
        connected.read_exact(&mut read).unwrap();
        assert_eq!(&read, b"from the server");
        connected.write_all(b"from the client").unwrap();
        connected.close_now().unwrap();
        let mut rest = Vec::new();
        accepted.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, b"from the client");
        for stream in [&connected, &accepted] {
            let info = &stream.connection().info;
            assert_eq!((info.version, info.alpn.as_deref()), (version, Some(&b"a"[..])));
        }
        // The configurations are shared, so the second connection resumes the session of the first.
        let (again, _) = run(&client, &server, NAME, |stream| stream.write_all(b"x").unwrap());
        assert!(again.unwrap().connection().info.resumed);
    }
}

/// An application changes settings of the transport, not its bytes, so the connection works as
/// before.
#[test]
fn transport_mut_is_for_the_settings_of_the_transport() {
    let (client, server) = plain();
    let (connected, accepted) = run(&client, &server, NAME, |_| {});
    let (mut connected, mut accepted) = (connected.unwrap(), accepted.unwrap());
    let limit = Some(Duration::from_millis(20));
    connected.transport_mut().set_read_timeout(limit).unwrap();
    assert_eq!(connected.transport().read_timeout().unwrap(), limit);
    let error = connected.read(&mut [0]).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{error}");
    connected.transport_mut().set_read_timeout(None).unwrap();
    accepted.write_all(b"late").unwrap();
    let mut read = [0; 4];
    connected.read_exact(&mut read).unwrap();
    assert_eq!(&read, b"late");
}

#[test]
fn a_refused_server_is_an_error_with_the_reason_on_both_sides() {
    for version in BOTH_VERSIONS {
        let client = client().versions(&[version]).build().unwrap();
        let (connected, accepted) = run(&client, &plain().1, "other.example", |_| {});
        let refused = Error::Refused(RefusalReason::NameMismatch);
        let error = connected.unwrap_err();
        let refusal = handshake_error(&error).refusal.as_ref().unwrap();
        assert_eq!((&*refusal.names, refusal.chain.len()), (&[NAME.to_owned()][..], 1));
        let text =
            format!("the certificate is not valid for other.example; it is valid for {NAME}");
        assert_eq!(error.to_string(), text);
        assert_eq!((error.kind(), inner(&error)), (ErrorKind::InvalidData, refused));
        let alert = Error::AlertReceived(AlertDescription::BAD_CERTIFICATE);
        assert_eq!(refused.alert(), Some(AlertDescription::BAD_CERTIFICATE));
        assert_eq!(failure(accepted), (ErrorKind::ConnectionAborted, alert));
    }
}

#[test]
fn no_common_version_is_an_error_on_both_sides() {
    let client = client().versions(&[ProtocolVersion::TLS1_3]).build().unwrap();
    let server = server().versions(&[ProtocolVersion::TLS1_2]).build().unwrap();
    let (connected, accepted) = run(&client, &server, NAME, |_| {});
    let alert = Error::AlertReceived(AlertDescription::PROTOCOL_VERSION);
    assert_eq!(failure(connected), (ErrorKind::ConnectionAborted, alert));
    let unsupported = Error::Peer(PeerError::UnsupportedVersion);
    assert_eq!(failure(accepted), (ErrorKind::InvalidData, unsupported));
}

/// RFC 9846 4.5.1.3
#[test]
fn a_missing_client_certificate_is_an_error_of_accept() {
    let server = server().client_auth(ClientAuth::Required, roots()).build().unwrap();
    let (_, accepted) = run(&plain().0, &server, NAME, |_| {});
    let required = Error::Peer(PeerError::CertificateRequired);
    assert_eq!(failure(accepted), (ErrorKind::InvalidData, required));
    let client = client().credential(credential(KINDS[1])).build().unwrap();
    let (connected, accepted) = run(&client, &server, NAME, |_| {});
    assert_eq!(accepted.unwrap().connection().info.peer_chain().len(), 1);
    connected.unwrap();
}

#[test]
fn an_end_of_the_transport_is_an_unexpected_one() {
    let (client, server) = plain();
    for side in [Side::Client, Side::Server] {
        let (near, far) = sockets();
        drop(far);
        let connected = match side {
            Side::Client => Stream::connect(&client, NAME.try_into().unwrap(), near),
            Side::Server => Stream::accept(&server, near),
        };
        let error = connected.unwrap_err();
        // The system may reset the connection, which is an error of the transport.
        if error.kind() != ErrorKind::ConnectionReset {
            assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "{side:?}");
            assert_eq!(inner(&error), Error::Truncated, "{side:?}");
        }
    }
}

#[test]
fn a_client_of_plain_http_is_an_error_of_accept() {
    let (mut near, far) = sockets();
    near.write_all(b"GET / HTTP/1.1\r\nHost: server.example\r\n\r\n").unwrap();
    let http = Error::Peer(PeerError::PlainHttp);
    assert_eq!(failure(Stream::accept(&plain().1, far)), (ErrorKind::InvalidData, http));
}

/// `connect` and `accept` answer no questions: a configuration that asks is for
/// `Handshake::advance`. The peer gets an alert under the keys that it expects. RFC 9846 6.2
#[test]
fn a_configuration_that_asks_is_a_misuse() {
    let asks = ClientConfig::builder().verifier(Policy::Ask).build().unwrap();
    let (connected, accepted) = run(&asks, &plain().1, NAME, |_| {});
    let misuse = (ErrorKind::InvalidInput, Error::Misuse(Misuse::QuestionOpen));
    let alert = Error::AlertReceived(AlertDescription::INTERNAL_ERROR);
    let alert = (ErrorKind::ConnectionAborted, alert);
    assert_eq!((failure(connected), failure(accepted)), (misuse, alert));
    let asks = ServerConfig::builder().credentials(Policy::Ask).build().unwrap();
    let (connected, accepted) = run(&plain().0, &asks, NAME, |_| {});
    assert_eq!((failure(accepted), failure(connected)), (misuse, alert));
}
