//! Values that can be moved to another thread and shared between threads, checked at compile time.

use tercel::certificates::{ChainPolicy, Credentials, TrustedRawKeys};
use tercel::client::ClientConfigBuilder;
use tercel::handoff::{HandoffError, TrafficKeys};
use tercel::psk::{PreSharedKey, PreSharedKeys};
use tercel::server::{CertificateRequester, ClientCertificate, ServerConfigBuilder};
use tercel::session::{
    ClientMemoryStore, ClientSession, ReplayGuard, RotatingTickets, ServerMemoryStore,
    ServerSession, SharedTickets,
};
use tercel::{
    Answer, ClientConfig, Connection, ConnectionInfo, Credential, Error, Exporter, Handshake, Next,
    Opened, Question, ReceiveBuffer, Receiver, Sender, ServerConfig, Stream,
};

const fn shared<T: Send + Sync>() {}

/// A handshake, and each value that it takes and returns, can be held in a future that threads
/// share.
const _: () = {
    shared::<Handshake>();
    shared::<Next>();
    shared::<Question>();
    shared::<Answer>();
    shared::<ReceiveBuffer>();
    shared::<Error>();
};

const _: () = {
    shared::<Connection>();
    shared::<ConnectionInfo>();
    shared::<Sender>();
    shared::<Receiver>();
    shared::<Opened<'_>>();
    shared::<Exporter>();
    shared::<Stream<std::net::TcpStream>>();
    shared::<CertificateRequester>();
    shared::<ClientCertificate>();
    shared::<TrafficKeys>();
    shared::<HandoffError>();
};

const _: () = {
    shared::<ClientConfig>();
    shared::<ServerConfig>();
    shared::<ClientConfigBuilder>();
    shared::<ServerConfigBuilder>();
    shared::<Credential>();
    shared::<Credentials>();
    shared::<ChainPolicy>();
    shared::<TrustedRawKeys>();
    shared::<PreSharedKey>();
    shared::<PreSharedKeys>();
    shared::<tercel::pki::Roots>();
    shared::<tercel::pki::Refusal>();
};

const _: () = {
    shared::<ClientMemoryStore>();
    shared::<ServerMemoryStore>();
    shared::<ClientSession>();
    shared::<ServerSession>();
    shared::<ReplayGuard>();
    shared::<RotatingTickets>();
    shared::<SharedTickets>();
};

/// Another thread may inspect a handshake, which continues afterwards.
#[test]
fn a_handshake_in_progress_is_shared_by_reference() {
    let (client, server) = crate::fixtures::plain();
    let name = crate::fixtures::NAME.try_into().unwrap();
    let (mut client, mut server) = (Handshake::client(client, name), Handshake::server(server));
    let (mut received, mut out) = (ReceiveBuffer::new(), Vec::new());
    assert!(matches!(client.advance(&mut received, &mut out), Ok(Next::Receive)));
    received.extend(&out);
    out.clear();
    assert!(matches!(server.advance(&mut received, &mut out), Ok(Next::Receive)));
    std::thread::scope(|scope| {
        for handshake in [&client, &server] {
            scope.spawn(move || assert!(handshake.refusal().is_none()));
        }
    });
    received.extend(&out);
    out.clear();
    assert!(matches!(client.advance(&mut received, &mut out), Ok(Next::Connected(_))));
}
