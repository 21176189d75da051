//! Tests of a handshake that waits: its memory is limited, and it can be sent to other threads.

use super::measure::{FUTURE_LIMIT, future_sizes};
use super::misbehaving_peer::any_case;
use crate::auth::server_identity::ServerIdentity;
use crate::handshake::runtime::command::Wanted;
use crate::handshake::runtime::flow::Flow;
use crate::handshake::runtime::mailbox::{Mailbox, Transport};
use crate::handshake::runtime::records::Records;
use crate::handshake::task::Task;
use crate::handshake::{Handshake, start};
use crate::side::Side;
use crate::{
    Answer, Connection, Next, Question, Receiver, Sender, Stream,
    session::{ClientSession, ServerSession},
};

/// The limit for memory that is held before the peer has sent anything.
const LIMIT_BEFORE_PEER_DATA: usize = 2048;

#[test]
fn a_handshake_future_is_small() {
    let case = any_case();
    let server = ServerIdentity::new("localhost".try_into().unwrap(), None);
    let client = start::client(Flow::default(), case.client(), server, Default::default());
    let sizes = future_sizes();
    let measured = |name| sizes.iter().find(|(each, _)| *each == name).map(|(_, size)| *size);
    assert_eq!(measured("client"), Some(size_of_val(&client)));
    // The lower limit checks that the right type was measured.
    assert!(sizes.iter().all(|(_, size)| (256..=FUTURE_LIMIT).contains(size)), "{sizes:?}");
    // A client holds its future before the server has sent anything. A server holds no future
    // before the client has sent anything.
    assert!(measured("client") <= Some(LIMIT_BEFORE_PEER_DATA), "{sizes:?}");
}

#[test]
fn a_server_has_no_future_before_a_complete_client_hello() {
    let mut running = Task::server(any_case().server());
    let mut mailbox = Some(Box::new(Mailbox::new(Transport::Records(Records::new(Side::Server)))));
    assert!(running.resume(&mut mailbox).is_none());
    assert_eq!(mailbox.unwrap().wanted, Some(Wanted::Message));
    assert!(matches!(running, Task::AwaitingClientHello(Some(_))));
}

#[test]
fn values_of_the_caller_are_send() {
    fn send<T: Send>() {}
    send::<Handshake>();
    send::<Next>();
    send::<Question>();
    send::<Answer>();
    send::<Connection>();
    send::<Sender>();
    send::<Receiver>();
    send::<ClientSession>();
    send::<ServerSession>();
    send::<Stream<std::net::TcpStream>>();
}
