//! What a handshake costs while it waits, and that it can wait on any thread.
//!
//! What it is for: pinning the size of the two coroutines, which hold a whole exchange.
//! Must not know: what they do. Next: `handshake/coroutine.rs`.

use super::adversary::any_scene;
use crate::handshake::flow::Flow;
use crate::handshake::measure::future_sizes;
use crate::handshake::{Handshake, hello};
use crate::session::client_store::ClientSessionKey;
use crate::{
    Answer, ClientSession, Connection, Next, Question, Receiver, Sender, ServerSession, Stream,
};

/// More than this belongs in a box of its own.
const MOST: usize = 4096;

/// And more than this, if it is not needed before the peer has spoken.
const MOST_SILENT: usize = 2048;

#[test]
fn a_handshake_future_is_small() {
    let scene = any_scene();
    let to = ClientSessionKey::new("localhost".try_into().unwrap(), None, [0; 32]);
    let client = hello::client(Flow::default(), scene.client(), to);
    let server = hello::server(Flow::default(), scene.server());
    let sizes = future_sizes();
    let measured = |name| sizes.iter().find(|(each, _)| *each == name).map(|(_, size)| *size);
    assert_eq!(measured("client"), Some(size_of_val(&client)));
    assert_eq!(measured("server"), Some(size_of_val(&server)));
    // Something must be there, or the wrong thing was measured.
    assert!(sizes.iter().all(|(_, size)| (256..=MOST).contains(size)), "{sizes:?}");
    // What is held of everyone who has not said anything yet.
    let silent = measured("client").max(measured("server"));
    assert!(silent <= Some(MOST_SILENT), "{sizes:?}");
}

#[test]
fn what_the_caller_holds_can_go_to_another_thread() {
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
