//! Handshakes that begin, end or fail on a thread in the middle of another handshake.
//!
//! The state of a coroutine must not leak into another handshake.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tercel::pki::Refusal;
use tercel::wire::ProtocolVersion;
use tercel::{
    ClientConfig, Handshake, Next, Policy, ReceiveBuffer, ServerConfig, ServerName,
    certificates::{PeerIdentity, VerifyPeer},
};

use crate::fixtures::{NAME, client, plain, server};
use crate::pair::Pair;
use crate::resumption::VERSIONS;

/// A verifier that calls a function, and then accepts all peers.
struct CallFirst<F>(F);

impl<F: Fn() + Send + Sync> VerifyPeer for CallFirst<F> {
    fn verify_peer(&self, _: &PeerIdentity<'_>) -> Result<(), Box<Refusal>> {
        (self.0)();
        Ok(())
    }
}

fn client_that(
    version: ProtocolVersion,
    meanwhile: impl Fn() + Send + Sync + 'static,
) -> Arc<ClientConfig> {
    let verifier = Policy::Here(Arc::new(CallFirst(meanwhile)) as _);
    client().versions(&[version]).verifier(verifier).build().unwrap()
}

fn connect(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) {
    Pair::new(client, server, NAME).connect().unwrap().talk();
}

#[test]
fn a_policy_may_run_handshakes_of_its_own() {
    let (inner, server) = plain();
    for version in VERSIONS {
        let (runs, inner, to) = (Arc::new(AtomicUsize::new(0)), inner.clone(), server.clone());
        let counted = runs.clone();
        let outer = client_that(version, move || {
            connect(&inner, &to);
            // The inner handshakes include one that is not completed, and one that is refused.
            let mut left = Handshake::client(inner.clone(), ServerName::try_from(NAME).unwrap());
            left.advance(&mut ReceiveBuffer::new(), &mut Vec::new()).unwrap();
            assert!(Pair::new(&inner, &to, "another.example").connect().is_err());
            counted.fetch_add(1, Ordering::Relaxed);
        });
        connect(&outer, &server);
        assert_eq!(runs.load(Ordering::Relaxed), 1, "{version}");
    }
}

#[test]
fn a_panic_of_an_inner_handshake_does_not_affect_the_outer_one() {
    let (_, server) = plain();
    for version in VERSIONS {
        let to = server.clone();
        let inner = client_that(version, || resume_unwind(Box::new("inner")));
        let outer = client_that(version, move || {
            let run = || Pair::new(&inner, &to, NAME).connect();
            assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
        });
        connect(&outer, &server);
    }
}

#[test]
fn after_a_panic_a_handshake_is_over_and_its_thread_usable() {
    let (_, server) = plain();
    for version in VERSIONS {
        let config = client_that(version, || resume_unwind(Box::new("panic in a verifier")));
        let mut client = Handshake::client(config, ServerName::try_from(NAME).unwrap());
        let mut server_side = Handshake::server(server.clone());
        let (mut to_client, mut to_server) = (ReceiveBuffer::new(), ReceiveBuffer::new());
        let mut wire = Vec::new();
        client.advance(&mut to_client, &mut wire).unwrap();
        to_server.extend(&wire);
        wire.clear();
        server_side.advance(&mut to_server, &mut wire).unwrap();
        to_client.extend(&wire);
        let mut out = Vec::new();
        let run = || client.advance(&mut to_client, &mut out).map(|_| ());
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
        for _ in 0..2 {
            let again = client.advance(&mut ReceiveBuffer::new(), &mut out);
            let over = tercel::Error::Misuse(tercel::error::Misuse::HandshakeEnded);
            assert_eq!(again.map(|_| ()), Err(over), "{version}");
        }
        assert!(client.early_sender().is_none() && client.refusal().is_none());
        // The other side is unaffected, and the thread keeps no state of the handshake.
        assert!(matches!(server_side.advance(&mut to_server, &mut out), Ok(Next::Receive)));
        let (plain, _) = plain();
        connect(&plain, &server);
    }
}

/// Makes a connection when it is dropped.
struct ConnectOnDrop(Arc<ClientConfig>, Arc<ServerConfig>, Arc<AtomicUsize>);

impl Drop for ConnectOnDrop {
    fn drop(&mut self) {
        assert!(thread::panicking());
        if Pair::new(&self.0, &self.1, NAME).connect().is_ok() {
            self.2.fetch_add(1, Ordering::Relaxed);
        }
        // Checks that a handshake that fails reports its error, and has an alert to send.
        let mut refused = Handshake::server(self.1.clone());
        let (mut received, mut out) = (ReceiveBuffer::new(), Vec::new());
        received.extend(&[22, 3, 1, 0, 4, 2, 0, 0, 0]);
        let error = refused.advance(&mut received, &mut out).map(|_| ()).unwrap_err();
        if error.alert().is_some() && !out.is_empty() {
            self.2.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[test]
fn a_thread_that_unwinds_can_still_connect() {
    let (client, server) = plain();
    let done = Arc::new(AtomicUsize::new(0));
    let parting = ConnectOnDrop(client, server, done.clone());
    let unwound = catch_unwind(AssertUnwindSafe(move || {
        let _parting = parting;
        resume_unwind(Box::new("unwinding"));
    }));
    assert!(unwound.is_err());
    assert_eq!(done.load(Ordering::Relaxed), 2);
}

#[test]
fn a_handshake_may_change_threads_between_calls() {
    for version in VERSIONS {
        let client = client().versions(&[version]).build().unwrap();
        let mut here = Handshake::client(client, ServerName::try_from(NAME).unwrap());
        let mut there = Handshake::server(server().build().unwrap());
        let (mut received, mut to_there) = (ReceiveBuffer::new(), ReceiveBuffer::new());
        let mut connected = 0;
        for _ in 0..8 {
            let mut out = Vec::new();
            let step = thread::spawn(move || {
                let next = here.advance(&mut received, &mut out);
                (here, received, out, next)
            });
            let (moved, rest, sent, next) = step.join().unwrap();
            to_there.extend(&sent);
            match next.unwrap() {
                Next::Connected(_) => connected += 1,
                next => assert!(matches!(next, Next::Receive), "{next:?}"),
            }
            (here, received, there, to_there) = (there, to_there, moved, rest);
            if connected == 2 {
                break;
            }
        }
        assert_eq!(connected, 2, "{version}");
    }
}
