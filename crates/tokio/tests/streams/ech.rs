//! Encrypted ClientHello with one automatic retry.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tercel::ech::{Key, Keys, Offer, Retry};
use tercel::{Ech, ServerConfig};
use tercel_tokio::{Acceptor, Connector, HandshakeError, TlsStream};
use tokio::io::{DuplexStream, duplex};

use crate::support::{client, credential, name, server};

/// The name in the credential of the tests, which is the public name, too.
const PUBLIC: &str = "server.example";

fn keys(key: Key) -> Arc<Keys> {
    Arc::new(Keys::new(vec![(key, Retry::Send)]).unwrap())
}

/// Connects to servers with these configurations, one after the other. Returns the result and the
/// number of attempts.
async fn connect(
    offer: Offer,
    servers: [Arc<ServerConfig>; 2],
) -> (std::io::Result<TlsStream<DuplexStream>>, usize) {
    let connector = Connector::new(client().build().unwrap());
    let attempts = AtomicUsize::new(0);
    let open = || {
        let config = Arc::clone(&servers[attempts.fetch_add(1, Ordering::Relaxed)]);
        let (near, far) = duplex(1 << 16);
        tokio::spawn(async move {
            let stream = Acceptor::new(config).accept(far).await;
            // Keeps the stream open until the client has its result.
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            drop(stream);
        });
        async move { Ok(near) }
    };
    let result = connector.connect_with_ech(name(), offer, open).await;
    (result, attempts.into_inner())
}

/// RFC 9849 6.1.6
#[tokio::test(start_paused = true)]
async fn a_rejected_client_retries_once_with_the_configurations_of_the_server() {
    let (current, old) =
        (Key::generate(PUBLIC, 0).unwrap(), Key::generate(PUBLIC, 0).unwrap().config());
    let configs = current.config();
    let with_key = server().ech(keys(current)).build().unwrap();
    let both = [Arc::clone(&with_key), with_key];
    for (configs, attempts) in [(configs, 1), (old.clone(), 2)] {
        let (stream, tried) = connect(Offer::Configs(configs), both.clone()).await;
        assert_eq!(stream.unwrap().info().ech, Ech::Accepted);
        assert_eq!(tried, attempts);
    }
    // A server without keys disables Encrypted ClientHello.
    let without = ServerConfig::builder().credential(credential()).build().unwrap();
    let (stream, tried) = connect(Offer::Configs(old.clone()), [without.clone(), without]).await;
    assert_eq!(stream.unwrap().info().ech, Ech::NotOffered);
    assert_eq!(tried, 2);
    // Servers that do not know the configurations of each other.
    let another = server().ech(keys(Key::generate(PUBLIC, 0).unwrap())).build().unwrap();
    let [first, _] = both;
    let (stream, tried) = connect(Offer::Configs(old), [first, another]).await;
    let error = stream.unwrap_err();
    let inner = error.get_ref().unwrap().downcast_ref::<HandshakeError>().unwrap();
    assert!(matches!(inner, HandshakeError::EchRejected { .. }), "{inner:?}");
    assert_eq!(inner.to_string(), "the server rejected Encrypted ClientHello");
    assert_eq!(tried, 2);
}
