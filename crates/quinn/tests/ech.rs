//! Encrypted ClientHello over quinn: offers for each connection, random contents, and a rejection
//! with configurations for a second attempt. RFC 9849

#[allow(dead_code)]
mod peers;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use quinn::{Connection, Endpoint};
use tercel_quinn::tercel::ech::{ConfigList, Key, Keys, Offer, Retry};
use tercel_quinn::tercel::{ClientConfig, Ech, Error, ServerConfig, client::ClientConfigBuilder};
use tercel_quinn::{HandshakeData, QuicClientConfig, QuicServerConfig, TlsFailure};

use peers::{credential, roots};

const PUBLIC: &str = "cover.example";
const SECRET: &str = "localhost";

/// A server with these keys, which echoes nothing, and its address.
fn server(keys: Option<Arc<Keys>>) -> (Endpoint, SocketAddr) {
    let names = [PUBLIC, SECRET].map(str::to_owned);
    let mut tls = ServerConfig::builder().credential(credential(&names)).alpn(&["echo"]);
    if let Some(keys) = keys {
        tls = tls.ech(keys);
    }
    let crypto = QuicServerConfig::try_from(tls.build().unwrap()).unwrap();
    let config = tercel_quinn::server_config(crypto).unwrap();
    let endpoint = tercel_quinn::server_endpoint(config, "127.0.0.1:0".parse().unwrap()).unwrap();
    let address = endpoint.local_addr().unwrap();
    (endpoint, address)
}

fn keys() -> (Arc<Keys>, ConfigList) {
    let key = Key::generate(PUBLIC, 32).unwrap();
    let config = key.config();
    (Arc::new(Keys::new(vec![(key, Retry::Send)]).unwrap()), config)
}

fn client() -> ClientConfigBuilder {
    ClientConfig::builder().roots(roots()).alpn(&["echo"])
}

fn ech_of(connection: &Connection) -> Ech {
    let data = connection.handshake_data().unwrap().downcast::<HandshakeData>().unwrap();
    data.info.unwrap().ech
}

/// The client's side and the server's side of a connection, or the failure of the client.
async fn connect(
    (endpoint, address): &(Endpoint, SocketAddr),
    tls: &Arc<ClientConfig>,
    offer: impl Into<Option<Offer>>,
) -> Result<[Connection; 2], Box<TlsFailure>> {
    let mut config = QuicClientConfig::try_from(Arc::clone(tls)).unwrap();
    if let Some(offer) = offer.into() {
        config = config.ech(offer);
    }
    let client = tercel_quinn::client_endpoint("127.0.0.1:0".parse().unwrap()).unwrap();
    let config = tercel_quinn::client_config(config);
    let mut connecting = client.connect_with(config, *address, SECRET).unwrap();
    let accepted = async { endpoint.accept().await.unwrap().await };
    let connected = async {
        // If the handshake fails, the data can be read only here.
        let data = connecting.handshake_data().await;
        (data, connecting.await)
    };
    let both =
        tokio::time::timeout(Duration::from_secs(60), async { tokio::join!(connected, accepted) });
    match both.await.unwrap() {
        ((_, Ok(client)), Ok(server)) => {
            let data = client.handshake_data().unwrap();
            match data.downcast::<TlsFailure>() {
                Ok(failure) => Err(failure),
                Err(_) => Ok([client, server]),
            }
        }
        ((Ok(data), Err(_)), _) => Err(data.downcast().unwrap()),
        ((data, result), server) => panic!("{} {result:?} {server:?}", data.is_ok()),
    }
}

/// RFC 9849 6.1, 6.2, 7.1
#[tokio::test]
async fn each_connection_has_an_offer_of_its_own() {
    let (keys, config) = keys();
    let server = server(Some(keys));
    let tls = client().build().unwrap();
    let greases = client().ech_grease(true).build().unwrap();
    for (tls, offer, [of_client, of_server]) in [
        (&tls, Some(Offer::Configs(config.clone())), [Ech::Accepted; 2]),
        (&tls, Some(Offer::Grease), [Ech::Grease, Ech::Rejected]),
        (&greases, None, [Ech::Grease, Ech::Rejected]),
        (&greases, Some(Offer::Configs(config)), [Ech::Accepted; 2]),
        (&greases, Some(Offer::None), [Ech::NotOffered; 2]),
        (&tls, None, [Ech::NotOffered; 2]),
    ] {
        let [client, server] = connect(&server, tls, offer).await.unwrap();
        assert_eq!((ech_of(&client), ech_of(&server)), (of_client, of_server));
        let data = server.handshake_data().unwrap().downcast::<HandshakeData>().unwrap();
        assert_eq!(data.server_name.as_deref(), Some(SECRET));
        let outer = data.info.unwrap().outer_server_name().map(str::to_owned);
        assert_eq!(outer.as_deref(), (of_server == Ech::Accepted).then_some(PUBLIC));
    }
}

/// RFC 9849 6.1.6
#[tokio::test]
async fn a_rejection_has_configurations_for_a_second_attempt() {
    let (keys, config) = keys();
    let with_keys = server(Some(keys));
    let tls = client().build().unwrap();
    let outdated = || Offer::Configs(Key::generate(PUBLIC, 32).unwrap().config());
    let failure = connect(&with_keys, &tls, outdated()).await.unwrap_err();
    assert_eq!(failure.ended.error, Error::EchRejected);
    assert_eq!(failure.ended.code, 0x100 + 121);
    let configs = failure.ech_retry_configs.unwrap();
    assert_eq!(configs, config);
    let [client, _] = connect(&with_keys, &tls, Offer::Configs(configs)).await.unwrap();
    assert_eq!(ech_of(&client), Ech::Accepted);
    // A server without keys is to be connected to without Encrypted ClientHello.
    let without = server(None);
    let failure = connect(&without, &tls, outdated()).await.unwrap_err();
    assert_eq!(failure.ended.error, Error::EchRejected);
    assert!(!failure.ech_retry_configs.unwrap().usable());
    // A server that cannot prove the public name is refused, and sends nothing that is used.
    let other = Key::generate("other.example", 0).unwrap().config();
    let failure = connect(&with_keys, &tls, Offer::Configs(other)).await.unwrap_err();
    assert!(matches!(failure.ended.error, Error::Refused(_)), "{failure:?}");
    assert_eq!(failure.ech_retry_configs, None);
    assert!(failure.refusal.is_some());
}
