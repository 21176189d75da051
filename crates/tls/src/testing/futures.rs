//! What a handshake costs while it waits, and that it can wait on any thread.
//!
//! What it is for: pinning the size of the two coroutines, which hold a whole exchange.
//! Must not know: what they do. Next: `handshake/coroutine.rs`.

use super::adversary::any_scene;
use super::measure::{FUTURE_LIMIT, future_sizes};
use crate::config::policy::Side;
use crate::handshake::flow::{Flow, Line, Post, Wanted};
use crate::handshake::records::Records;
use crate::handshake::running::Running;
use crate::handshake::{Handshake, hello};
use crate::session::client_store::ClientSessionKey;
use crate::{
    Answer, ClientSession, Connection, Next, Question, Receiver, Sender, ServerSession, Stream,
};

/// More than this, if it is not needed before the peer has spoken.
const MOST_SILENT: usize = 2048;

#[test]
fn a_handshake_future_is_small() {
    let scene = any_scene();
    let to = ClientSessionKey::new("localhost".try_into().unwrap(), None, [0; 32]);
    let client = hello::client(Flow::default(), scene.client(), to);
    let sizes = future_sizes();
    let measured = |name| sizes.iter().find(|(each, _)| *each == name).map(|(_, size)| *size);
    assert_eq!(measured("client"), Some(size_of_val(&client)));
    // Something must be there, or the wrong thing was measured.
    assert!(sizes.iter().all(|(_, size)| (256..=FUTURE_LIMIT).contains(size)), "{sizes:?}");
    // What is held of everyone who has not said anything yet; a server holds no future for those.
    assert!(measured("client") <= Some(MOST_SILENT), "{sizes:?}");
}

#[test]
fn a_server_has_no_future_before_a_hello_is_whole() {
    let mut running = Running::server(any_scene().server());
    let mut post = Some(Box::new(Post::new(Line::Records(Records::new(Side::Server)))));
    assert!(running.resume(&mut post).is_none());
    assert_eq!(post.unwrap().wanted, Some(Wanted::Message));
    assert!(matches!(running, Running::Listening(Some(_))));
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
