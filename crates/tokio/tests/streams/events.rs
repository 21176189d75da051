//! Events of handshakes for subscribers of `tracing`, from a connector and an acceptor.

use tercel_tokio::{Acceptor, Connector};
use tokio::io::duplex;
use tracing::Level;

use crate::event_collector::Collector;
use crate::support::{client, name, server};

#[tokio::test]
async fn a_handshake_that_is_done_and_one_that_is_refused() {
    // The test's runtime uses this thread only.
    let collector = Collector::new(Level::DEBUG);
    for (protocol, message) in [("a", "handshake done"), ("b", "handshake refused")] {
        let connector = Connector::new(client().alpn(&[protocol]).build().unwrap());
        let acceptor = Acceptor::new(server().alpn(&["a"]).build().unwrap());
        let (ours, theirs) = duplex(100_000);
        let (connected, accepted) =
            tokio::join!(connector.connect(name(), ours), acceptor.accept(theirs));
        assert_eq!(connected.is_ok(), message == "handshake done");
        assert_eq!(accepted.is_ok(), connected.is_ok());
        let mut events = collector.take();
        events.sort_by_key(|event| event.get("side").unwrap().to_owned());
        let seen: Vec<_> =
            events.iter().map(|event| (event.message(), event.get("side"))).collect();
        assert_eq!(seen, ["client", "server"].map(|side| (message, Some(side))));
        assert!(events.iter().all(|event| event.target == "tercel::handshake"));
    }
}
