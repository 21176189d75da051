//! What a handshake costs while it waits, and that it can wait on any thread.
//!
//! What it is for: pinning the size of the two coroutines, which hold a whole exchange.
//! Must not know: what they do. Next: `handshake/coroutine.rs`.

use super::adversary::any_scene;
use crate::handshake::client_session::Destination;
use crate::handshake::coroutine::Mailbox;
use crate::handshake::flow::{Flow, Post};
use crate::handshake::{Handshake, hello};
use crate::{Answer, Connection, Next, Question, Receiver, Sender, Stream};

/// More than this belongs in a box of its own.
const MOST: usize = 4096;

#[test]
fn a_handshake_future_is_small() {
    let scene = any_scene();
    let flow = || Flow::new(Mailbox::new(Post::default()));
    let to = Destination { name: "localhost".try_into().unwrap(), port: None };
    let client = hello::client(flow(), scene.client(), to);
    let server = hello::server(flow(), scene.server());
    let sizes = (size_of_val(&client), size_of_val(&server));
    // Something must be there, or the wrong thing was measured.
    assert!(sizes.0 > 256 && sizes.1 > 256, "{sizes:?}");
    assert!(sizes.0 <= MOST && sizes.1 <= MOST, "{sizes:?}");
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
    send::<Stream<std::net::TcpStream>>();
}
