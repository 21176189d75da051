//! Clients and servers of HTTP/3 on quinn with rustls.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use h3::client::{RequestStream, SendRequest};
use hyper::body::{Buf, Bytes};
use hyper::{Request, Response};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use super::super::support::{Folder, Leaf, Server};

/// A runtime whose tests end after a minute.
pub(super) fn runtime() -> Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    Runtime(builder.worker_threads(2).enable_all().build().unwrap())
}

pub(super) struct Runtime(tokio::runtime::Runtime);

impl Runtime {
    pub(super) fn block_on<T>(&self, test: impl Future<Output = T>) -> T {
        let limit = Duration::from_secs(60);
        let limited = async { tokio::time::timeout(limit, Box::pin(test)).await };
        self.0.block_on(limited).expect("the test takes too long")
    }
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::aws_lc_rs::default_provider())
}

/// A client with one connection.
pub(super) struct Client {
    pub(super) connection: quinn::Connection,
    sender: SendRequest<h3_quinn::OpenStreams, Bytes>,
    _endpoint: quinn::Endpoint,
}

/// A request that was sent.
pub(super) struct Sent(RequestStream<h3_quinn::BidiStream<Bytes>, Bytes>);

/// Connects over QUIC with this protocol.
pub(super) async fn quic(
    server: &Server,
    protocol: &[u8],
) -> Result<(quinn::Endpoint, quinn::Connection), String> {
    let mut roots = rustls::RootCertStore::empty();
    let pem = std::fs::read(&server.ca).unwrap();
    roots.add(CertificateDer::from_pem_slice(&pem).unwrap()).unwrap();
    let config = rustls::ClientConfig::builder_with_provider(provider());
    let config = config.with_protocol_versions(&[&rustls::version::TLS13]).unwrap();
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    let crypto = Arc::new(QuicClientConfig::try_from(config).unwrap());
    let mut endpoint = quinn::Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap();
    endpoint.set_default_client_config(quinn::ClientConfig::new(crypto));
    let address: SocketAddr = server.address.parse().unwrap();
    let connecting = endpoint.connect(address, "localhost").unwrap();
    let connection = connecting.await.map_err(|error| error.to_string())?;
    Ok((endpoint, connection))
}

impl Client {
    pub(super) async fn connect(server: &Server, protocol: &[u8]) -> Result<Self, String> {
        let (endpoint, connection) = quic(server, protocol).await?;
        let streams = h3_quinn::Connection::new(connection.clone());
        let begun = Box::pin(h3::client::new(streams)).await;
        let (mut driver, sender) = begun.map_err(|error| error.to_string())?;
        tokio::spawn(async move {
            let _ = std::future::poll_fn(|context| driver.poll_close(context)).await;
        });
        Ok(Self { connection, sender, _endpoint: endpoint })
    }

    pub(super) async fn send(
        &mut self,
        method: &str,
        path: &str,
        content: &'static [u8],
    ) -> Result<Sent, String> {
        let request = Request::builder().method(method).uri(format!("https://localhost{path}"));
        self.send_head(request.body(()).unwrap(), content).await
    }

    pub(super) async fn send_head(
        &mut self,
        head: Request<()>,
        content: &'static [u8],
    ) -> Result<Sent, String> {
        let failed = |error: h3::error::StreamError| error.to_string();
        let mut stream = self.sender.send_request(head).await.map_err(failed)?;
        if !content.is_empty() {
            stream.send_data(content.into()).await.map_err(failed)?;
        }
        // A server may stop the stream before its end.
        let _ = stream.finish().await;
        Ok(Sent(stream))
    }
}

impl Sent {
    /// The response with its content.
    pub(super) async fn receive(mut self) -> Result<(Response<()>, Vec<u8>), String> {
        Ok((self.head().await?, self.content().await?))
    }

    /// The head of the response, which comes first.
    pub(super) async fn head(&mut self) -> Result<Response<()>, String> {
        self.0.recv_response().await.map_err(|error| error.to_string())
    }

    pub(super) async fn content(&mut self) -> Result<Vec<u8>, String> {
        let failed = |error: h3::error::StreamError| error.to_string();
        let mut content = Vec::new();
        while let Some(mut data) = self.0.recv_data().await.map_err(failed)? {
            content.extend_from_slice(&data.copy_to_bytes(data.remaining()));
        }
        Ok(content)
    }
}

/// A server that runs until it is dropped.
pub(super) struct PeerServer {
    pub(super) address: String,
    pub(super) ca: String,
    _folder: Folder,
    _runtime: Runtime,
}

/// A server of this protocol over QUIC, without connections yet.
fn listen(protocol: &[u8]) -> (PeerServer, quinn::Endpoint) {
    let (folder, leaf) = (Folder::new(), Leaf::new("localhost", 2099));
    let ca = folder.write("ca.pem", leaf.ca.pem());
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(leaf.key.serialize_der()));
    let config = rustls::ServerConfig::builder_with_provider(provider());
    let config = config.with_protocol_versions(&[&rustls::version::TLS13]).unwrap();
    let chain = vec![CertificateDer::from(leaf.certificate.der().to_vec())];
    let mut config = config.with_no_client_auth().with_single_cert(chain, key).unwrap();
    config.alpn_protocols = vec![protocol.to_vec()];
    let crypto = Arc::new(QuicServerConfig::try_from(config).unwrap());
    let runtime = runtime();
    let endpoint = {
        let _context = runtime.0.enter();
        let config = quinn::ServerConfig::with_crypto(crypto);
        quinn::Endpoint::server(config, "127.0.0.1:0".parse().unwrap()).unwrap()
    };
    let address = endpoint.local_addr().unwrap().to_string();
    (PeerServer { address, ca, _folder: folder, _runtime: runtime }, endpoint)
}

/// A server that accepts connections of this protocol and does nothing else.
pub(super) fn idle_server(protocol: &[u8]) -> PeerServer {
    let (server, endpoint) = listen(protocol);
    server._runtime.0.spawn(async move {
        let mut open = Vec::new();
        while let Some(incoming) = endpoint.accept().await {
            open.push(incoming.await);
        }
    });
    server
}

/// A server that answers each request with this content, after an interim response.
pub(super) fn answering_server(content: &[u8]) -> PeerServer {
    let (server, endpoint) = listen(b"h3");
    let content = Bytes::from(content.to_vec());
    server._runtime.0.spawn(async move {
        while let Some(incoming) = endpoint.accept().await {
            tokio::spawn(answer(incoming, content.clone()));
        }
    });
    server
}

async fn answer(incoming: quinn::Incoming, content: Bytes) {
    let Ok(connection) = incoming.await else { return };
    let streams = h3_quinn::Connection::new(connection);
    let begun = Box::pin(h3::server::Connection::<_, Bytes>::new(streams)).await;
    let mut connection = Box::new(begun.unwrap());
    while let Ok(Some(request)) = connection.accept().await {
        let (request, mut stream) = request.resolve_request().await.unwrap();
        let path = request.uri().path_and_query().unwrap().as_str().to_owned();
        let interim = Response::builder().status(103).body(()).unwrap();
        stream.send_response(interim).await.unwrap();
        let head = Response::builder().header("x-path", path).body(()).unwrap();
        stream.send_response(head).await.unwrap();
        stream.send_data(content.clone()).await.unwrap();
        stream.finish().await.unwrap();
    }
}

/// A server that answers each request with these bytes.
pub(super) fn raw_server(answer: &'static [u8]) -> PeerServer {
    let (server, endpoint) = listen(b"h3");
    server._runtime.0.spawn(async move {
        while let Some(incoming) = endpoint.accept().await {
            tokio::spawn(async move {
                let Ok(connection) = incoming.await else { return };
                // A control stream with an empty SETTINGS frame. RFC 9114 6.2.1
                let mut control = connection.open_uni().await.unwrap();
                control.write_all(&[0, 4, 0]).await.unwrap();
                while let Ok((mut send, _receive)) = connection.accept_bi().await {
                    let _ = send.write_all(answer).await;
                    let _ = send.finish();
                    let _ = send.stopped().await;
                }
            });
        }
    });
    server
}
