//! The connector of HTTP clients.

use std::error::Error;
use std::fmt;
use std::future::Future;
#[cfg(feature = "ech")]
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::Uri;
use http::uri::Scheme;
use hyper::rt::{Read, Write};
use hyper_util::client::legacy::connect::{Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use tercel_tokio::Connector;
#[cfg(feature = "ech")]
use tercel_tokio::TlsStream;
#[cfg(feature = "ech")]
use tercel_tokio::tercel::ech::Offer;
use tercel_tokio::tercel::{ClientConfig, ServerName};
use tower_service::Service;

use crate::connector_stream::MaybeHttpsStream;

type BoxError = Box<dyn Error + Send + Sync>;

/// Connects hyper's client, or tonic's, to `https` URIs over TLS and to `http` URIs without TLS.
///
/// The name in the URI is the name that the server's certificate must have, except with
/// [`Self::server_name`]. TLS sessions are kept separately for each name and port.
///
/// Another connector makes the connections below TLS: hyper-util's [`HttpConnector`] by default.
/// To tunnel through a proxy by CONNECT, pass such a connector to [`Self::with_transport`]:
///
/// ```
/// use hyper_util::client::legacy::connect::{HttpConnector, proxy::Tunnel};
/// use tercel_hyper::{HttpsConnector, tercel::ClientConfig, tercel_tokio::Connector};
///
/// # fn connector() -> Result<(), Box<dyn std::error::Error>> {
/// let config = ClientConfig::builder().native_roots().alpn(&["h2", "http/1.1"]).build()?;
/// let proxy = Tunnel::new("http://proxy.example:3128".parse()?, HttpConnector::new());
/// let connector = HttpsConnector::with_transport(proxy, Connector::new(config));
/// # Ok(())
/// # }
/// ```
///
/// The connector of an `https` proxy is `Tunnel::new(uri, HttpsConnector::new(config))`, with a
/// configuration without `h2`. Pass it to [`Self::with_transport`], too, also if all origins are
/// `http` URIs: otherwise their responses have the [`TlsInfo`](crate::TlsInfo) of the proxy.
#[derive(Clone)]
pub struct HttpsConnector<C = HttpConnector> {
    transport: C,
    tls: Connector,
    https_only: bool,
    server_name: Option<ServerName<'static>>,
    #[cfg(feature = "ech")]
    ech: Option<EchOffers<C>>,
}

impl HttpsConnector {
    /// A connector over TCP, with a time limit of 15 seconds for a TLS handshake. HTTP/2 is used
    /// with servers that choose it if the configuration's `alpn` names `h2`.
    #[must_use]
    pub fn new(config: Arc<ClientConfig>) -> Self {
        let mut transport = HttpConnector::new();
        transport.enforce_http(false);
        transport.set_nodelay(true);
        Self::with_transport(transport, Connector::new(config))
    }
}

impl<C> HttpsConnector<C> {
    /// A connector that runs TLS over the connections of `transport`, with the configuration, the
    /// time limit and the [answers](Connector::answers) of `tls`. If `transport` is an
    /// [`HttpConnector`], call its `enforce_http(false)` before, because otherwise it refuses
    /// `https` URIs.
    #[must_use]
    pub fn with_transport(transport: C, tls: Connector) -> Self {
        Self {
            transport,
            tls,
            https_only: false,
            server_name: None,
            #[cfg(feature = "ech")]
            ech: None,
        }
    }

    /// Sets whether `http` URIs are refused. Default: off; they are connected to without TLS.
    #[must_use]
    pub fn https_only(mut self, on: bool) -> Self {
        self.https_only = on;
        self
    }

    /// Sets the name that is sent to every server and that its certificate must have, instead of
    /// the name in the URI.
    #[must_use]
    pub fn server_name(mut self, name: ServerName<'static>) -> Self {
        self.server_name = Some(name);
        self
    }

    /// Sets the function that returns the offer of Encrypted ClientHello for a connection. It is
    /// called with the name and port of the server. If it returns `None`, the setting
    /// [`ech_grease`](tercel_tokio::tercel::client::ClientConfigBuilder::ech_grease) of the
    /// configuration applies. Default: `None` for all servers.
    ///
    /// If a server rejects the configurations, a clone of the transport's connector opens another
    /// connection for a second attempt: see [`Connector::connect_with_ech`].
    ///
    /// ```
    /// use std::collections::HashMap;
    /// use tercel_hyper::{HttpsConnector, tercel::ClientConfig, tercel::ech::{ConfigList, Offer}};
    ///
    /// # fn connector(published: HashMap<String, ConfigList>)
    /// #     -> Result<HttpsConnector, Box<dyn std::error::Error>> {
    /// let config = ClientConfig::builder().native_roots().ech_grease(true).build()?;
    /// let connector = HttpsConnector::new(config).ech(move |name, _port| {
    ///     published.get(&*name.to_str()).cloned().map(Offer::Configs)
    /// });
    /// # Ok(connector) }
    /// ```
    #[cfg(feature = "ech")]
    #[cfg_attr(docsrs, doc(cfg(feature = "ech")))]
    #[must_use]
    pub fn ech<F>(mut self, offer: F) -> Self
    where
        F: Fn(&ServerName<'_>, u16) -> Option<Offer> + Send + Sync + 'static,
        C: Clone,
    {
        self.ech = Some(EchOffers { offer: Arc::new(offer), clone: C::clone });
        self
    }

    /// The name and port of the server; `None` without TLS.
    fn tls_server(&self, uri: &Uri) -> io::Result<Option<(ServerName<'static>, u16)>> {
        let refused = |why: String| io::Error::new(io::ErrorKind::InvalidInput, why);
        if uri.scheme() == Some(&Scheme::HTTP) && !self.https_only {
            return Ok(None);
        }
        if uri.scheme() != Some(&Scheme::HTTPS) {
            return Err(refused(format!("the scheme of {uri} is not https")));
        }
        let host = uri.host().ok_or_else(|| refused(format!("{uri} has no host")))?;
        // An IPv6 address is in brackets.
        let host = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
        let name = match &self.server_name {
            Some(name) => name.clone(),
            None => ServerName::try_from(host.to_owned())
                .map_err(|error| refused(format!("the host of {uri}: {error}")))?,
        };
        Ok(Some((name, uri.port_u16().unwrap_or(443))))
    }
}

/// The offers of Encrypted ClientHello, and the way to a second transport after a rejection.
#[cfg(feature = "ech")]
struct EchOffers<C> {
    offer: Arc<OfferFunction>,
    /// A function, so that only [`HttpsConnector::ech`] needs a transport that can be cloned.
    clone: fn(&C) -> C,
}

#[cfg(feature = "ech")]
type OfferFunction = dyn Fn(&ServerName<'_>, u16) -> Option<Offer> + Send + Sync;

#[cfg(feature = "ech")]
impl<C> Clone for EchOffers<C> {
    fn clone(&self) -> Self {
        Self { offer: Arc::clone(&self.offer), clone: self.clone }
    }
}

impl<C: fmt::Debug> fmt::Debug for HttpsConnector<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpsConnector")
            .field("transport", &self.transport)
            .field("tls", &self.tls)
            .field("https_only", &self.https_only)
            .field("server_name", &self.server_name)
            .finish_non_exhaustive()
    }
}

#[cfg(feature = "ech")]
type Opening<T> = Pin<Box<dyn Future<Output = io::Result<TokioIo<T>>> + Send>>;

/// Connects TLS with this offer over the transport that `first` opens, and over another one of
/// `again` if the server rejects the offer.
#[cfg(feature = "ech")]
async fn connect_with_ech<C>(
    tls: Connector,
    (name, offer): (ServerName<'static>, Offer),
    first: C::Future,
    mut again: C,
    uri: Uri,
) -> io::Result<TlsStream<TokioIo<C::Response>>>
where
    C: Service<Uri> + Send + 'static,
    C::Response: Connection + Read + Write + Send + Unpin + 'static,
    C::Error: Into<BoxError>,
    C::Future: Send + 'static,
{
    let opened = |result: Result<C::Response, C::Error>| match result {
        Ok(transport) => Ok(TokioIo::new(transport)),
        Err(error) => Err(io::Error::other(error)),
    };
    let first: Opening<C::Response> = Box::pin(async move { opened(first.await) });
    let second: Opening<C::Response> = Box::pin(async move {
        poll_fn(|context| again.poll_ready(context)).await.map_err(io::Error::other)?;
        opened(again.call(uri).await)
    });
    let mut attempts = [first, second].into_iter();
    tls.connect_with_ech(name, offer, || {
        // There are at most two attempts.
        attempts.next().unwrap_or_else(|| Box::pin(async { Err(io::ErrorKind::Other.into()) }))
    })
    .await
}

impl<C> Service<Uri> for HttpsConnector<C>
where
    C: Service<Uri> + Send + 'static,
    C::Response: Connection + Read + Write + Send + Unpin + 'static,
    C::Error: Into<BoxError>,
    C::Future: Send + 'static,
{
    type Response = MaybeHttpsStream<C::Response>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.transport.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let server = match self.tls_server(&uri) {
            Ok(server) => server,
            Err(error) => return Box::pin(async move { Err(error.into()) }),
        };
        let Some((name, port)) = server else {
            let connecting = self.transport.call(uri);
            return Box::pin(async move {
                Ok(MaybeHttpsStream::Http(connecting.await.map_err(Into::into)?))
            });
        };
        let tls = self.tls.clone().port(port);
        #[cfg(feature = "ech")]
        if let Some(ech) = &self.ech {
            if let Some(offer) = (ech.offer)(&name, port) {
                let again = (ech.clone)(&self.transport);
                let first = self.transport.call(uri.clone());
                let connecting = connect_with_ech(tls, (name, offer), first, again, uri);
                return Box::pin(async move { Ok(MaybeHttpsStream::https(connecting.await?)) });
            }
        }
        let connecting = self.transport.call(uri);
        Box::pin(async move {
            let transport = connecting.await.map_err(Into::into)?;
            let stream = tls.connect(name, TokioIo::new(transport)).await?;
            Ok(MaybeHttpsStream::https(stream))
        })
    }
}
