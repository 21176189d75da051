//! Connecting to the store.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, RedisConnectionInfo,
};
use tercel::certificates::CredentialError;
use tercel::error::ConfigError;
use tercel::fips::FipsReason;
use tercel::pki::{Roots, RootsError, load_certs_pem, load_key_pem};
use tercel::pki_types::CertificateDer;
use tercel::{ClientConfig, Credential, ServerName};
use tercel_tokio::Connector;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::{Notify, watch};
use tracing::warn;

use super::bounded::BoundedReplies;
use super::reply::reason;
use crate::error::FleetError;
use crate::secrets::files::read_private;
use crate::settings::StoreSettings;
use crate::settings::url::split_tls;

/// The address of a store, with TLS configuration and login.
pub(crate) struct StoreAddress {
    endpoint: Endpoint,
    /// The name in the certificate of the store; `None` without TLS.
    server_name: Option<ServerName<'static>>,
    tls: watch::Sender<StoreTls>,
    login: RedisConnectionInfo,
}

/// The TLS configuration of a node's connections to its store, read from the files that its
/// settings name: trusted certificate authorities, client certificate and private key. It is empty
/// for an address without TLS. Cheap to clone.
///
/// ```no_run
/// use tercel_fleet::{Fleet, FleetError, StoreSettings, StoreTls};
///
/// /// Reads the files again after they were replaced.
/// fn reload(fleet: &Fleet, store: &StoreSettings) -> Result<(), FleetError> {
///     fleet.use_store_tls(StoreTls::read(store)?);
///     Ok(())
/// }
/// ```
#[derive(Clone)]
pub struct StoreTls(Option<Arc<TlsFiles>>);

/// A TLS configuration, and the contents of the files that it was made from.
struct TlsFiles {
    config: Arc<ClientConfig>,
    /// The fingerprint of the roots.
    roots: [u8; 32],
    /// The client's certificates, which determine its private key.
    chain: Vec<CertificateDer<'static>>,
}

enum Endpoint {
    Tcp(String, u16),
    #[cfg(unix)]
    Unix(std::path::PathBuf),
}

impl StoreAddress {
    pub(crate) fn of(settings: &StoreSettings) -> Result<Self, FleetError> {
        let refused = |why| FleetError::Setting("store.url", why);
        let (url, with_tls) = split_tls(&settings.url);
        if url.contains('#') {
            return Err(refused(
                "a `#` fragment is not allowed: it could disable certificate checks",
            ));
        }
        let info: ConnectionInfo = url.as_str().into_connection_info().map_err(|_| {
            refused("must be redis://user:password@host:port/db, rediss://... or unix:///path")
        })?;
        let endpoint = match info.addr() {
            ConnectionAddr::Tcp(host, port) => Endpoint::Tcp(host.clone(), *port),
            #[cfg(unix)]
            ConnectionAddr::Unix(path) => Endpoint::Unix(path.clone()),
            _ => return Err(refused("unsupported kind of address")),
        };
        let server_name = match &endpoint {
            Endpoint::Tcp(host, _) if with_tls => Some(
                ServerName::try_from(host.clone())
                    .map_err(|_| refused("host is not a valid DNS name or IP address"))?,
            ),
            _ => None,
        };
        Ok(Self {
            endpoint,
            server_name,
            tls: watch::channel(StoreTls::read(settings)?).0,
            login: info.redis_settings().clone().set_skip_set_lib_name(),
        })
    }

    /// Uses these files for connections from now on.
    pub(crate) fn use_tls(&self, tls: StoreTls) {
        self.tls.send_if_modified(|current| {
            let differs = current.contents() != tls.contents();
            if differs {
                *current = tls;
            }
            differs
        });
    }

    /// Notified when other files are to be used.
    pub(crate) fn tls_changes(&self) -> watch::Receiver<StoreTls> {
        self.tls.subscribe()
    }

    /// Opens a connection, logs in, and waits for a reply. The task that drives the connection is
    /// spawned on the current runtime; `lost` is notified when it ends.
    pub(crate) async fn connect(
        &self,
        lost: &Arc<Notify>,
    ) -> Result<MultiplexedConnection, String> {
        let mut connection = match &self.endpoint {
            #[cfg(unix)]
            Endpoint::Unix(path) => {
                let socket = tokio::net::UnixStream::connect(path).await;
                self.log_in(socket.map_err(|error| error.to_string())?, lost).await
            }
            Endpoint::Tcp(host, port) => {
                let socket = TcpStream::connect((host.as_str(), *port)).await;
                let socket = socket.map_err(|error| error.to_string())?;
                // Requests are small, and handshakes wait for them.
                socket.set_nodelay(true).map_err(|error| error.to_string())?;
                match &self.server_name {
                    None => self.log_in(socket, lost).await,
                    Some(name) => {
                        let files = self.tls.borrow().0.clone();
                        // The store is never used without TLS then.
                        let files = files.ok_or("no TLS files of the store")?;
                        let connector = Connector::new(Arc::clone(&files.config));
                        let stream = Box::pin(connector.connect(name.clone(), socket)).await;
                        self.log_in(stream.map_err(|error| error.to_string())?, lost).await
                    }
                }
            }
        }?;
        // Without credentials the login sends nothing, so only this reply shows that the server
        // responds.
        let ping: Result<String, _> = redis::cmd("PING").query_async(&mut connection).await;
        ping.map(|_| connection).map_err(|error| reason(&error))
    }

    async fn log_in<T>(
        &self,
        stream: T,
        lost: &Arc<Notify>,
    ) -> Result<MultiplexedConnection, String>
    where
        T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let stream = BoundedReplies::new(stream);
        // Each request has a time limit of its own.
        let config = AsyncConnectionConfig::new()
            .set_response_timeout(None)
            .set_pipeline_buffer_size(PIPELINE_CAPACITY);
        let greeted =
            Box::pin(MultiplexedConnection::new_with_config(&self.login, stream, config)).await;
        let (connection, driver) = greeted.map_err(|error| reason(&error))?;
        let lost = Arc::clone(lost);
        tokio::spawn(async move {
            driver.await;
            lost.notify_one();
        });
        Ok(connection)
    }
}

impl StoreTls {
    /// Reads the files.
    ///
    /// # Errors
    /// If a file is missing or invalid, or the file of the private key is exposed to other users.
    pub fn read(settings: &StoreSettings) -> Result<Self, FleetError> {
        let (_, with_tls) = split_tls(&settings.url);
        let files = with_tls.then(|| TlsFiles::read(settings)).transpose()?;
        Ok(Self(files.map(Arc::new)))
    }

    /// The values that distinguish the contents of the files.
    fn contents(&self) -> Option<(&[u8; 32], &[CertificateDer<'static>])> {
        self.0.as_ref().map(|files| (&files.roots, &*files.chain))
    }
}

impl std::fmt::Debug for StoreTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoreTls").finish_non_exhaustive()
    }
}

impl TlsFiles {
    fn read(settings: &StoreSettings) -> Result<Self, FleetError> {
        let roots = read_roots(settings)?;
        let fingerprint = roots.fingerprint();
        let mut config = ClientConfig::builder().roots(roots).fips(settings.fips);
        let mut chain = Vec::new();
        if let Some((file, key)) = &settings.certificate {
            chain = load_certs_pem(&read(file)?)
                .map_err(|error| FleetError::Content(file.clone(), error.as_str()))?;
            config = config.credential(credential(chain.clone(), file, key)?);
        }
        let config = config.build().map_err(|error| match error {
            ConfigError::NotFips(FipsReason::NotBuilt | FipsReason::ModuleOff) => {
                FleetError::Setting("store.fips", "requires AWS-LC's FIPS module: feature `fips`")
            }
            ConfigError::NotFips(_) => {
                FleetError::Setting("store.fips", "the certificate or its key is not approved")
            }
            _ => FleetError::Setting("store.url", "invalid TLS configuration"),
        })?;
        Ok(Self { config, roots: fingerprint, chain })
    }
}

fn read_roots(settings: &StoreSettings) -> Result<Roots, FleetError> {
    let Some(path) = &settings.roots else {
        let found = Roots::native().map_err(FleetError::Roots)?;
        if let Some(left_out) = found.left_out() {
            warn!("store.roots: {left_out}");
        }
        return Ok(found.roots);
    };
    let mut roots = Roots::new();
    roots.add_pem(&read(path)?).map_err(|error| {
        let why = match error {
            RootsError::Pem(error) => error.as_str(),
            _ => "contains a certificate that cannot be used as a trust anchor",
        };
        FleetError::Content(path.clone(), why)
    })?;
    Ok(roots)
}

/// The client's credential, with the certificates of the file `chain` and the private key of the
/// file `key`.
fn credential(
    certificates: Vec<CertificateDer<'static>>,
    chain: &Path,
    key: &Path,
) -> Result<Credential, FleetError> {
    let private = load_key_pem(&read_private(key)?)
        .map_err(|error| FleetError::Content(key.to_owned(), error.as_str()))?;
    Credential::new(certificates, &private).map_err(|error| {
        let (file, why) = match error {
            CredentialError::KeyMismatch => (key, "private key does not match the certificate"),
            CredentialError::LeafNotFirst(_) => (chain, "the leaf is not the first certificate"),
            CredentialError::BadKey => (key, "private key cannot be parsed or is not supported"),
            _ => (chain, "contains a certificate with which no handshake can be signed"),
        };
        FleetError::Content(file.to_owned(), why)
    })
}

fn read(path: &Path) -> Result<Vec<u8>, FleetError> {
    fs::read(path).map_err(|error| FleetError::File(path.to_owned(), error))
}

/// The number of requests that may be queued on one connection.
const PIPELINE_CAPACITY: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(url: &str) -> String {
        refusal_of(&StoreSettings::new(url, ""))
    }

    fn refusal_of(settings: &StoreSettings) -> String {
        StoreAddress::of(settings).err().map(|error| error.to_string()).unwrap()
    }

    #[test]
    fn urls_of_all_kinds_are_parsed() {
        for (url, host, port) in [
            ("redis://user:pa%3ass@store.example:7000/3", "store.example", 7000),
            ("redis://127.0.0.1", "127.0.0.1", 6379),
            ("redis://[::1]:7000", "::1", 7000),
        ] {
            let address = StoreAddress::of(&StoreSettings::new(url, "")).unwrap();
            assert!(
                matches!(address.endpoint, Endpoint::Tcp(h, p) if h == host && p == port),
                "{url}"
            );
            assert!(address.server_name.is_none() && address.tls.borrow().0.is_none());
        }
        let address = StoreAddress::of(&StoreSettings::new("redis://u:pa%3ass@a:1/3", "")).unwrap();
        assert_eq!(address.login.username(), Some("u"));
        assert_eq!((address.login.password(), address.login.db()), (Some("pa:ss"), 3));
    }

    #[cfg(unix)]
    #[test]
    fn a_socket_path_is_an_address() {
        let address =
            StoreAddress::of(&StoreSettings::new("unix:///run/store.sock?db=2", "")).unwrap();
        assert!(
            matches!(address.endpoint, Endpoint::Unix(path) if path == Path::new("/run/store.sock"))
        );
        assert_eq!(address.login.db(), 2);
    }

    #[test]
    fn tls_needs_roots_and_cannot_be_weakened() {
        let mut settings = StoreSettings::new("rediss://store.example", "");
        settings.roots = Some("/nonexistent/roots".into());
        assert!(matches!(StoreAddress::of(&settings), Err(FleetError::File(path, _))
                if path == Path::new("/nonexistent/roots")));
        assert!(refusal("rediss://store.example/#insecure").contains('#'));
    }

    /// A store announces a reply of a gigabyte, and keeps sending.
    #[tokio::test]
    async fn a_reply_without_end_ends_the_connection() {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let address = StoreAddress::of(&StoreSettings::new("redis://store.example", "")).unwrap();
        let (near, mut far) = tokio::io::duplex(1 << 16);
        let lost = Arc::new(Notify::new());
        let sent = tokio::spawn(async move {
            let _ = far.read(&mut [0; 1000]).await;
            let mut sent = 0;
            far.write_all(b"$1000000000\r\n").await.unwrap();
            while far.write_all(&[b'x'; 1 << 12]).await.is_ok() {
                sent += 1 << 12;
            }
            sent
        });
        let mut connection = address.log_in(near, &lost).await.unwrap();
        let reply: Result<Vec<u8>, _> =
            redis::cmd("GET").arg("key").query_async(&mut connection).await;
        assert!(reply.is_err());
        drop(connection);
        lost.notified().await;
        let sent: usize = sent.await.unwrap();
        assert!(sent < 3 << 20, "{sent} bytes");
    }

    #[test]
    fn tls_has_the_option_fips_of_the_settings() {
        let mut settings = StoreSettings::new("rediss://store.example", "");
        assert!(!TlsFiles::read(&settings).unwrap().config.fips().is_approved());
        settings.fips = true;
        match TlsFiles::read(&settings) {
            Ok(files) => assert!(files.config.fips().is_approved()),
            Err(error) if cfg!(feature = "fips") => panic!("{error}"),
            Err(error) => {
                assert!(matches!(error, FleetError::Setting("store.fips", _)), "{error}");
                assert!(refusal_of(&settings).starts_with("store.fips: "));
            }
        }
    }

    #[test]
    fn an_invalid_url_is_refused_without_repeating_it() {
        for url in ["", "http://user:secret@host", "redis://", "redis://u:secret@h/notanumber"] {
            let refusal = refusal(url);
            assert!(refusal.starts_with("store.url: ") && !refusal.contains("secret"), "{refusal}");
        }
    }
}
