//! How a connection to the store is made.
//!
//! Must not know: what it is for, and when to try again. Next: [`crate::keeper`].

use std::fs;
use std::path::Path;
use std::sync::Arc;

use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, RedisConnectionInfo,
};
use tercel::pki::{Roots, load_certs_pem, load_key_pem};
use tercel::pki_types::ServerName;
use tercel::{ClientConfig, Credential};
use tercel_tokio::Connector;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Notify;

use super::reason;
use crate::error::FleetError;
use crate::files::read_private;
use crate::settings::StoreSettings;

/// Where the store is.
pub(crate) struct Address {
    place: Place,
    tls: Option<(Connector, ServerName<'static>)>,
    login: RedisConnectionInfo,
}

enum Place {
    Tcp(String, u16),
    #[cfg(unix)]
    Unix(std::path::PathBuf),
}

impl Address {
    pub(crate) fn of(settings: &StoreSettings) -> Result<Self, FleetError> {
        let refused = |why| FleetError::Setting("store.url", why);
        let (url, with_tls) = without_tls(&settings.url);
        if url.contains('#') {
            return Err(refused("what stands behind # would turn checks off, and none can be"));
        }
        let info: ConnectionInfo = url.as_str().into_connection_info().map_err(|_| {
            refused("not of the form redis://user:password@host:port/db, rediss:// or unix:///path")
        })?;
        let place = match info.addr() {
            ConnectionAddr::Tcp(host, port) => Place::Tcp(host.clone(), *port),
            #[cfg(unix)]
            ConnectionAddr::Unix(path) => Place::Unix(path.clone()),
            _ => return Err(refused("not a kind of address that is known here")),
        };
        let tls = match &place {
            Place::Tcp(host, _) if with_tls => {
                let name = ServerName::try_from(host.clone())
                    .map_err(|_| refused("the host is no name that a certificate could have"))?;
                Some((Connector::new(client_config(settings)?), name))
            }
            _ => None,
        };
        Ok(Self { place, tls, login: info.redis_settings().clone().set_skip_set_lib_name() })
    }

    /// A connection that answers. The task that drives it runs where this is called; `lost` hears of its end.
    pub(crate) async fn dial(&self, lost: &Arc<Notify>) -> Result<MultiplexedConnection, String> {
        let mut connection = match &self.place {
            #[cfg(unix)]
            Place::Unix(path) => {
                let socket = tokio::net::UnixStream::connect(path).await;
                self.greet(socket.map_err(|error| error.to_string())?, lost).await
            }
            Place::Tcp(host, port) => {
                let socket = TcpStream::connect((host.as_str(), *port)).await;
                let socket = socket.map_err(|error| error.to_string())?;
                // Questions are small, and somebody waits for each.
                socket.set_nodelay(true).map_err(|error| error.to_string())?;
                match &self.tls {
                    None => self.greet(socket, lost).await,
                    Some((connector, name)) => {
                        let stream = Box::pin(connector.connect(name.clone(), socket)).await;
                        self.greet(stream.map_err(|error| error.to_string())?, lost).await
                    }
                }
            }
        }?;
        // Greeting alone may ask nothing, and who accepts may still be deaf.
        let ping: Result<String, _> = redis::cmd("PING").query_async(&mut connection).await;
        ping.map(|_| connection).map_err(|error| reason(&error))
    }

    async fn greet<T>(&self, stream: T, lost: &Arc<Notify>) -> Result<MultiplexedConnection, String>
    where
        T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        // Who asks has a time limit of its own.
        let config = AsyncConnectionConfig::new()
            .set_response_timeout(None)
            .set_pipeline_buffer_size(WAITING);
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

/// Whether there is a password in this address.
pub(crate) fn has_password(url: &str) -> bool {
    let info = without_tls(url).0.as_str().into_connection_info();
    info.is_ok_and(|info| info.redis_settings().password().is_some())
}

/// The address in the form that is read here, and whether TLS was asked for.
fn without_tls(url: &str) -> (String, bool) {
    for scheme in ["rediss://", "valkeys://"] {
        if let Some(rest) = url.strip_prefix(scheme) {
            return (format!("redis://{rest}"), true);
        }
    }
    (url.to_owned(), false)
}

fn client_config(settings: &StoreSettings) -> Result<Arc<ClientConfig>, FleetError> {
    let roots = match &settings.roots {
        None => Roots::native()
            .map(|found| found.roots)
            .map_err(|_| FleetError::Setting("store.roots", "the system has no trust anchors"))?,
        Some(path) => {
            let mut roots = Roots::new();
            roots.add_pem(&read(path)?).map_err(|_| {
                FleetError::Content(path.clone(), "not PEM with certificates to trust in it")
            })?;
            roots
        }
    };
    let mut config = ClientConfig::builder().roots(roots);
    if let Some((chain, key)) = &settings.certificate {
        let certificates = load_certs_pem(&read(chain)?)
            .map_err(|_| FleetError::Content(chain.clone(), "not PEM with certificates in it"))?;
        let private = load_key_pem(&read_private(key)?)
            .map_err(|_| FleetError::Content(key.clone(), "not PEM with a private key in it"))?;
        let credential = Credential::new(certificates, &private)
            .map_err(|_| FleetError::Content(key.clone(), "not the key of the certificate"))?;
        config = config.credential(credential);
    }
    config.build().map_err(|_| FleetError::Setting("store.url", "no TLS is possible with this"))
}

fn read(path: &Path) -> Result<Vec<u8>, FleetError> {
    fs::read(path).map_err(|error| FleetError::File(path.to_owned(), error))
}

/// Questions that may wait to be sent on one connection.
const WAITING: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(url: &str) -> String {
        Address::of(&StoreSettings::new(url, "")).err().map(|error| error.to_string()).unwrap()
    }

    #[test]
    fn addresses_of_all_kinds_are_read() {
        for (url, host, port) in [
            ("redis://user:pa%3ass@store.example:7000/3", "store.example", 7000),
            ("redis://127.0.0.1", "127.0.0.1", 6379),
            ("redis://[::1]:7000", "::1", 7000),
        ] {
            let address = Address::of(&StoreSettings::new(url, "")).unwrap();
            assert!(matches!(address.place, Place::Tcp(h, p) if h == host && p == port), "{url}");
            assert!(address.tls.is_none());
        }
        let address = Address::of(&StoreSettings::new("redis://u:pa%3ass@a:1/3", "")).unwrap();
        assert_eq!(address.login.username(), Some("u"));
        assert_eq!((address.login.password(), address.login.db()), (Some("pa:ss"), 3));
    }

    #[test]
    fn a_password_in_an_address_is_seen() {
        for (url, has) in [
            ("redis://user:word@store.example", true),
            ("rediss://:word@store.example:7000/3", true),
            ("redis://store.example", false),
            ("redis://user@store.example", false),
            ("no address", false),
        ] {
            assert_eq!(StoreSettings::new(url, "").has_password(), has, "{url}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_path_is_an_address() {
        let address = Address::of(&StoreSettings::new("unix:///run/store.sock?db=2", "")).unwrap();
        assert!(matches!(address.place, Place::Unix(path) if path == Path::new("/run/store.sock")));
        assert_eq!(address.login.db(), 2);
    }

    #[test]
    fn tls_needs_roots_and_cannot_be_weakened() {
        let mut settings = StoreSettings::new("rediss://store.example", "");
        settings.roots = Some("/nonexistent/roots".into());
        assert!(
            matches!(Address::of(&settings), Err(FleetError::File(path, _)) if path == Path::new("/nonexistent/roots"))
        );
        assert!(refusal("rediss://store.example/#insecure").contains('#'));
    }

    #[test]
    fn what_is_no_address_is_refused_without_repeating_it() {
        for url in ["", "http://user:secret@host", "redis://", "redis://u:secret@h/notanumber"] {
            let refusal = refusal(url);
            assert!(refusal.starts_with("store.url: ") && !refusal.contains("secret"), "{refusal}");
        }
    }
}
