//! The connector and the listener: versions of HTTP, certificates, proxies, and what handlers learn
//! about a connection.
#![allow(clippy::unwrap_used)]

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo as Extract;
use axum::routing::{get, post};
use http::{StatusCode, Version};
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connect, HttpConnector, HttpInfo};
use hyper_util::rt::TokioExecutor;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, SanType};
use tercel_hyper::tercel::client::ClientConfigBuilder;
use tercel_hyper::tercel::pki::{Roots, uri_names};
use tercel_hyper::tercel::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use tercel_hyper::tercel::server::{ClientAuth, ServerConfigBuilder};
use tercel_hyper::tercel::session::AdmitEarlyData;
use tercel_hyper::tercel::{ClientConfig, Credential, Policy, ServerConfig};
use tercel_hyper::tercel_tokio::{Acceptor, Connector};
use tercel_hyper::{ConnectInfo, HttpsConnector, HttpsListener, TlsInfo};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const HTTP: [&str; 2] = ["h2", "http/1.1"];
const SPIFFE_ID: &str = "spiffe://example.org/client";

/// An authority that signs the certificates of a test.
struct Authority(Issuer<'static, KeyPair>, CertificateDer<'static>);

impl Authority {
    fn new() -> Self {
        Self::named("Authority")
    }

    fn named(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let root = params.self_signed(&key).unwrap().der().clone();
        Self(Issuer::new(params, key), root)
    }

    fn sign(&self, params: &CertificateParams) -> Credential {
        let key = KeyPair::generate().unwrap();
        let leaf = params.signed_by(&key, &self.0).unwrap().der().clone();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        Credential::new(vec![leaf], &key).unwrap()
    }

    fn roots(&self) -> Roots {
        let mut roots = Roots::new();
        roots.add_der(&self.1).unwrap();
        roots
    }

    fn server(&self) -> ServerConfigBuilder {
        let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
        let params = CertificateParams::new(names).unwrap();
        ServerConfig::builder().credential(self.sign(&params)).alpn(&HTTP)
    }

    fn client(&self) -> ClientConfigBuilder {
        ClientConfig::builder().roots(self.roots()).alpn(&HTTP)
    }
}

/// Serves an application that says what it learns about its client; returns the port.
async fn serve(config: Arc<ServerConfig>, address: &str) -> u16 {
    let listener = HttpsListener::bind(address, config).await.unwrap();
    let port = listener.get_ref().local_addr().unwrap().port();
    let app = Router::new().route("/", get(describe));
    let app = app.into_make_service_with_connect_info::<ConnectInfo<SocketAddr>>();
    tokio::spawn(async move { axum::serve(listener, app).await });
    port
}

async fn describe(Extract(client): Extract<ConnectInfo<SocketAddr>>) -> String {
    let names = client.tls.peer_chain().first().map(|leaf| uri_names(leaf).unwrap());
    let name = names.and_then(|names| names.into_iter().next());
    format!(
        "{} {} {}",
        client.peer.ip(),
        client.tls.server_name().unwrap_or("-"),
        name.as_deref().unwrap_or("-")
    )
}

type HttpClient<C> = Client<C, Empty<Bytes>>;

fn client<C: Connect + Clone>(connector: C) -> HttpClient<C> {
    Client::builder(TokioExecutor::new()).build(connector)
}

struct Answer {
    status: StatusCode,
    version: Version,
    tls: Option<TlsInfo>,
    body: String,
}

/// Requests this URI; the error is the text of all causes.
macro_rules! get {
    ($client:expr, $uri:expr) => {
        match $client.get($uri.parse().unwrap()).await {
            Ok(response) => {
                let (status, version) = (response.status(), response.version());
                let tls = response.extensions().get::<TlsInfo>().cloned();
                let body = response.into_body().collect().await.unwrap().to_bytes();
                let body = String::from_utf8(body.to_vec()).unwrap();
                Ok(Answer { status, version, tls, body })
            }
            Err(error) => Err(causes(&error)),
        }
    };
}

fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[tokio::test]
async fn alpn_decides_on_the_version_of_http() {
    let authority = Authority::new();
    let port = serve(authority.server().build().unwrap(), "127.0.0.1:0").await;
    let uri = format!("https://localhost:{port}/");
    let offers: [(&[&str], Version); 3] =
        [(&HTTP, Version::HTTP_2), (&["http/1.1"], Version::HTTP_11), (&[], Version::HTTP_11)];
    for (offer, version) in offers {
        let config = authority.client().alpn(offer).build().unwrap();
        let answer: Answer = get!(client(HttpsConnector::new(config)), uri).unwrap();
        assert_eq!((answer.status, answer.version), (StatusCode::OK, version));
        assert_eq!(answer.body, "127.0.0.1 localhost -");
        let alpn = answer.tls.unwrap().alpn().map(<[u8]>::to_vec);
        assert_eq!(alpn.is_none(), offer.is_empty());
        assert_eq!(alpn.as_deref() == Some(b"h2"), version == Version::HTTP_2);
    }
}

/// Unread input, such as the rest of a request, must not reset the connection.
#[tokio::test]
async fn an_answer_arrives_although_the_request_is_not_read() {
    const ANSWER: usize = 1 << 20;
    let authority = Authority::new();
    let config = authority.server().build().unwrap();
    let listener = HttpsListener::bind("127.0.0.1:0", config).await.unwrap();
    let address = listener.get_ref().local_addr().unwrap();
    let app = Router::new().route("/", post(async || vec![7; ANSWER]));
    tokio::spawn(async move { axum::serve(listener, app).await });
    let config = authority.client().alpn(&["http/1.1"]).build().unwrap();
    let transport = TcpStream::connect(address).await.unwrap();
    let name = "localhost".try_into().unwrap();
    let mut stream = Connector::new(config).connect(name, transport).await.unwrap();
    let head = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999\r\n\r\n";
    stream.write_all(head).await.unwrap();
    stream.write_all(&[7; 256 * 1024]).await.unwrap();
    // A slow reader, so that the server ends while its answer is in transit.
    let (mut answer, mut part) = (Vec::new(), vec![0; 64 * 1024]);
    loop {
        match stream.read(&mut part).await.unwrap() {
            0 => break,
            count => answer.extend_from_slice(&part[..count]),
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(answer.len() > ANSWER, "{} bytes", answer.len());
}

#[tokio::test]
async fn an_untrusted_certificate_is_refused_with_the_reason() {
    let port = serve(Authority::new().server().build().unwrap(), "127.0.0.1:0").await;
    let config = Authority::named("Another").client().build().unwrap();
    let error = get!(client(HttpsConnector::new(config)), format!("https://localhost:{port}/"));
    let error = error.map(|answer| answer.body).unwrap_err();
    assert!(error.contains("the issuer is unknown"), "{error}");
}

#[tokio::test]
async fn a_host_that_the_certificate_does_not_name_is_refused_unless_a_name_is_set() {
    let authority = Authority::new();
    let names = CertificateParams::new(vec!["service.example".to_owned()]).unwrap();
    let config = ServerConfig::builder().credential(authority.sign(&names)).build().unwrap();
    let port = serve(config, "127.0.0.1:0").await;
    let uri = format!("https://localhost:{port}/");
    let connector = HttpsConnector::new(authority.client().build().unwrap());
    let error = get!(client(connector.clone()), uri).map(|answer| answer.body).unwrap_err();
    assert!(error.contains("service.example"), "{error}");
    let named = connector.server_name("service.example".try_into().unwrap());
    assert_eq!(get!(client(named), uri).unwrap().body, "127.0.0.1 service.example -");
}

#[tokio::test]
async fn addresses_are_names_too() {
    let authority = Authority::new();
    let connector = HttpsConnector::new(authority.client().build().unwrap());
    for (listen, host) in [("127.0.0.1:0", "127.0.0.1"), ("[::1]:0", "[::1]")] {
        let port = serve(authority.server().build().unwrap(), listen).await;
        let answer = get!(client(connector.clone()), format!("https://{host}:{port}/")).unwrap();
        // RFC 6066 3: an address is not sent as a server name.
        let ip = host.trim_matches(['[', ']']);
        assert_eq!(answer.body, format!("{ip} - -"));
    }
}

#[tokio::test]
async fn http_without_tls_is_connected_to_unless_only_https_is_allowed() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://localhost:{}/", listener.local_addr().unwrap().port());
    let app = Router::new().route("/", get(|| async { "plain" }));
    tokio::spawn(async move { axum::serve(listener, app).await });
    let connector = HttpsConnector::new(Authority::new().client().build().unwrap());
    let answer = get!(client(connector.clone()), uri).unwrap();
    assert!(answer.tls.is_none() && answer.body == "plain", "{}", answer.body);
    let error = get!(client(connector.https_only(true)), uri).map(|answer| answer.body);
    assert!(error.as_ref().is_err_and(|e| e.contains("is not https")), "{error:?}");
}

#[tokio::test]
async fn connections_of_one_name_and_port_resume_and_others_do_not() {
    let authority = Authority::new();
    let config = authority.server().build().unwrap();
    let ports = [
        serve(Arc::clone(&config), "127.0.0.1:0").await,
        serve(Arc::clone(&config), "127.0.0.1:0").await,
    ];
    let connector = HttpsConnector::new(authority.client().build().unwrap());
    let mut resumed = Vec::new();
    for port in [ports[0], ports[0], ports[1]] {
        // A new client has a pool of its own, so each request makes a connection.
        let answer = get!(client(connector.clone()), format!("https://localhost:{port}/")).unwrap();
        resumed.push(answer.tls.unwrap().resumed());
    }
    assert_eq!(resumed, [false, true, false]);
}

#[tokio::test]
async fn one_connection_serves_many_requests() {
    let authority = Authority::new();
    let uri = format!(
        "https://localhost:{}/",
        serve(authority.server().build().unwrap(), "127.0.0.1:0").await
    );
    for offer in [&HTTP[..], &HTTP[1..]] {
        let config = authority.client().alpn(offer).without_resumption().build().unwrap();
        let client = client(HttpsConnector::new(config));
        let first = get!(client, uri).unwrap().tls.unwrap();
        let second = get!(client, uri).unwrap().tls.unwrap();
        // The information belongs to the connection: one allocation is shared by all responses.
        assert!(std::ptr::eq(first.alpn().unwrap(), second.alpn().unwrap()));
    }
}

#[tokio::test]
async fn handlers_learn_the_name_of_an_authenticated_client() {
    let authority = Authority::new();
    let server =
        authority.server().client_auth(ClientAuth::Required, authority.roots()).build().unwrap();
    let port = serve(server, "127.0.0.1:0").await;
    let uri = format!("https://localhost:{port}/");
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.subject_alt_names = vec![SanType::URI(SPIFFE_ID.try_into().unwrap())];
    let config = authority.client().credential(authority.sign(&params)).build().unwrap();
    let answer = get!(client(HttpsConnector::new(config)), uri).unwrap();
    assert_eq!(answer.body, format!("127.0.0.1 localhost {SPIFFE_ID}"));
    let without = authority.client().build().unwrap();
    assert!(get!(client(HttpsConnector::new(without)), uri).is_err());
}

#[tokio::test]
async fn a_proxy_tunnels_by_connect() {
    let authority = Authority::new();
    let port = serve(authority.server().build().unwrap(), "127.0.0.1:0").await;
    let proxy = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy_uri = format!("http://{}", proxy.local_addr().unwrap()).parse().unwrap();
    let tunnel = tokio::spawn(async move { tunnel(proxy.accept().await?.0).await });
    let config = authority.client().build().unwrap();
    let connector = HttpsConnector::with_transport(
        Tunnel::new(proxy_uri, HttpConnector::new()),
        Connector::new(config),
    );
    let client = client(connector);
    let answer = get!(client, format!("https://localhost:{port}/")).unwrap();
    assert_eq!((answer.version, answer.body.as_str()), (Version::HTTP_2, "127.0.0.1 localhost -"));
    drop(client);
    assert_eq!(tunnel.await.unwrap().unwrap(), format!("CONNECT localhost:{port} HTTP/1.1"));
}

/// What a TLS connection to a proxy negotiated says nothing about the origin: neither its
/// certificate, nor its version of HTTP.
#[tokio::test]
async fn responses_through_a_tls_proxy_have_the_information_of_the_origin_only() {
    let authority = Authority::new();
    let origin = authority.server().alpn(&["http/1.1"]).build().unwrap();
    let https = serve(origin, "127.0.0.1:0").await;
    let plain = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let http = plain.local_addr().unwrap().port();
    let app = Router::new().route("/", get(|| async { "plain" }));
    tokio::spawn(async move { axum::serve(plain, app).await });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = format!("https://localhost:{}", listener.local_addr().unwrap().port());
    // This proxy selects h2, although the tunnel is requested by HTTP/1.1.
    let acceptor = Acceptor::new(authority.server().alpn(&["h2"]).build().unwrap());
    tokio::spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            let acceptor = acceptor.clone();
            tokio::spawn(async move { tunnel(acceptor.accept(socket).await?).await });
        }
    });
    let config = authority.client().build().unwrap();
    let below = Tunnel::new(proxy.parse().unwrap(), HttpsConnector::new(Arc::clone(&config)));
    let connector = HttpsConnector::with_transport(below, Connector::new(config));
    let answer = get!(client(connector.clone()), format!("http://localhost:{http}/")).unwrap();
    assert!(answer.tls.is_none(), "{:?}", answer.tls);
    assert_eq!((answer.version, answer.body.as_str()), (Version::HTTP_11, "plain"));
    let answer = get!(client(connector), format!("https://localhost:{https}/")).unwrap();
    assert_eq!(answer.tls.unwrap().alpn(), Some(&b"http/1.1"[..]));
    assert_eq!(answer.version, Version::HTTP_11);
}

/// The address of the origin's connection is kept.
#[tokio::test]
async fn responses_have_the_addresses_of_their_connection() {
    let authority = Authority::new();
    let port = serve(authority.server().build().unwrap(), "127.0.0.1:0").await;
    let connector = HttpsConnector::new(authority.client().build().unwrap());
    let uri = format!("https://localhost:{port}/").parse().unwrap();
    let response = client(connector).get(uri).await.unwrap();
    let addresses = response.extensions().get::<HttpInfo>().unwrap();
    assert_eq!(addresses.remote_addr().port(), port);
}

/// Serves one CONNECT request; returns its first line.
async fn tunnel(mut client: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.read_u8().await?);
    }
    let line = String::from_utf8_lossy(&head).lines().next().unwrap_or_default().to_owned();
    let target = line.split(' ').nth(1).unwrap_or_default();
    let mut server = TcpStream::connect(target).await?;
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
    let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
    Ok(line)
}

/// RFC 9849 6.1.6
#[cfg(feature = "ech")]
#[tokio::test]
async fn configurations_are_offered_to_each_host_and_replaced_once() {
    use tercel_hyper::tercel::Ech;
    use tercel_hyper::tercel::ech::{Key, Keys, Offer, Retry};

    let authority = Authority::new();
    let key = Key::generate("localhost", 0).unwrap();
    let current = key.config();
    let keys = Arc::new(Keys::new(vec![(key, Retry::Send)]).unwrap());
    let port = serve(authority.server().ech(keys).build().unwrap(), "127.0.0.1:0").await;
    let outdated = Key::generate("localhost", 0).unwrap().config();
    let foreign = Key::generate("foreign.example", 0).unwrap().config();
    let without_keys = serve(authority.server().build().unwrap(), "127.0.0.1:0").await;
    for (configs, port, expected) in [
        (Some(&current), port, Some(Ech::Accepted)),
        // The second attempt has the configurations of the server, or none.
        (Some(&outdated), port, Some(Ech::Accepted)),
        (Some(&outdated), without_keys, Some(Ech::NotOffered)),
        (None, port, Some(Ech::Grease)),
        (Some(&foreign), port, None),
    ] {
        let offer = configs.cloned().map(Offer::Configs);
        let config = authority.client().ech_grease(true).build().unwrap();
        let connector = HttpsConnector::new(config).ech(move |name, asked| {
            assert_eq!((name.to_str().as_ref(), asked), ("localhost", port));
            offer.clone()
        });
        let answer = get!(client(connector), format!("https://localhost:{port}/"));
        match (answer, expected) {
            (Ok(answer), Some(expected)) => {
                assert_eq!(answer.tls.unwrap().ech(), expected);
                assert!(answer.body.contains(" localhost "), "{}", answer.body);
            }
            (Err(error), None) => assert!(error.contains("certificate"), "{error}"),
            (answer, _) => panic!("{expected:?}: {:?}", answer.map(|answer| answer.body)),
        }
    }
}

struct AdmitAlways;

impl AdmitEarlyData for AdmitAlways {
    fn admit_early_data(&self, _: &[u8], _: UnixTime) -> bool {
        true
    }
}

/// hyper would read a request without its beginning. RFC 8470 3
#[tokio::test]
async fn early_data_is_rejected_and_sent_again() {
    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let authority = Authority::new();
    let config = authority.server().alpn(&["http/1.1"]);
    let config = config.early_data(1000, Policy::Here(Arc::new(AdmitAlways))).build().unwrap();
    let client = authority.client().alpn(&["http/1.1"]).early_data(true).build().unwrap();
    let connector = Connector::new(client);
    let name = || "localhost".try_into().unwrap();
    // A ticket for early data, under the same keys.
    let (near, far) = tokio::io::duplex(1 << 16);
    let acceptor = Acceptor::new(Arc::clone(&config));
    let (near, far) = tokio::join!(connector.connect(name(), near), acceptor.accept(far));
    far.unwrap().write_all(b"x").await.unwrap();
    near.unwrap().read_exact(&mut [0]).await.unwrap();

    let port = serve(config, "127.0.0.1:0").await;
    let transport = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let mut early = connector.connect_early(name(), transport, REQUEST).await.unwrap();
    assert!(early.stream.info().resumed);
    assert_eq!(early.accepted, 0);
    early.stream.write_all(REQUEST).await.unwrap();
    let mut answer = String::new();
    early.stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with(" -"), "{answer}");
}

#[tokio::test]
async fn a_silent_server_is_left_after_the_time_limit() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("https://localhost:{}/", listener.local_addr().unwrap().port());
    let silent = tokio::spawn(async move { listener.accept().await });
    let config = Authority::new().client().build().unwrap();
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    let tls = Connector::new(config).time_limit(Some(Duration::from_millis(50)));
    let error = get!(client(HttpsConnector::with_transport(http, tls)), uri);
    let error = error.map(|answer| answer.body).unwrap_err();
    assert!(error.contains("50 ms") || error.contains("50ms"), "{error}");
    drop(silent.await);
}
