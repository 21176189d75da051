//! Selects a route by server name.

use std::collections::HashMap;
use std::sync::Arc;

use tercel::wire::ClientHello;
use tercel::{ServerConfig, server::ChooseConfig};

/// Server names and the indices of their routes.
#[derive(Debug, Default)]
pub(crate) struct ServerNames {
    exact: HashMap<String, usize>,
    /// Wildcard names; the key is the name without its leading `*.`.
    wildcard: HashMap<String, usize>,
    default: Option<usize>,
}

impl ServerNames {
    /// Adds a lowercase name, which may begin with `*.`.
    pub(crate) fn add(&mut self, name: &str, route: usize) {
        match name.strip_prefix("*.") {
            Some(rest) => self.wildcard.insert(rest.to_owned(), route),
            None => self.exact.insert(name.to_owned(), route),
        };
    }

    /// Sets the route for all other names and for clients without server_name.
    pub(crate) fn set_default(&mut self, route: usize) {
        self.default = Some(route);
    }

    /// The route for a name: an exact match, else a wildcard match (one label), else the default.
    pub(crate) fn find(&self, name: Option<&str>) -> Option<usize> {
        let named = name.and_then(|name| {
            if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
                self.find_lowercase(&name.to_ascii_lowercase())
            } else {
                self.find_lowercase(name)
            }
        });
        named.or(self.default)
    }

    fn find_lowercase(&self, name: &str) -> Option<usize> {
        let wildcard = || self.wildcard.get(name.split_once('.')?.1);
        self.exact.get(name).or_else(wildcard).copied()
    }
}

/// Selects a route's server configuration from the ClientHello.
pub(crate) struct RouteSelector {
    pub(crate) names: Arc<ServerNames>,
    pub(crate) configs: Vec<Arc<ServerConfig>>,
}

impl ChooseConfig for RouteSelector {
    fn choose_config(&self, hello: &ClientHello<'_>) -> Option<Arc<ServerConfig>> {
        let route = self.names.find(hello.host_name())?;
        self.configs.get(route).cloned()
    }
}

/// Selects a route before the handshake, on a listener with routes that do not terminate TLS.
pub(crate) struct HelloSelector {
    /// The configuration that stops the handshake after the ClientHello.
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) names: Arc<ServerNames>,
    pub(crate) routes: Vec<RouteKind>,
}

/// What a route does with TLS.
#[derive(Clone)]
pub(crate) enum RouteKind {
    /// It is terminated with this configuration.
    Terminate(Arc<ServerConfig>),
    /// The connection is relayed.
    Passthrough,
    /// The connection is relayed, and encrypted ClientHellos are decrypted before.
    EchFront,
}

impl HelloSelector {
    /// The route for a server name.
    pub(crate) fn select(&self, name: Option<&str>) -> Option<(usize, RouteKind)> {
        let route = self.names.find(name)?;
        Some((route, self.routes.get(route)?.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_specific_name_wins() {
        let mut names = ServerNames::default();
        names.add("a.example", 0);
        names.add("*.a.example", 1);
        names.add("x.a.example", 2);
        assert_eq!(names.find(Some("a.example")), Some(0));
        assert_eq!(names.find(Some("A.Example")), Some(0));
        assert_eq!(names.find(Some("y.a.example")), Some(1));
        assert_eq!(names.find(Some("X.a.example")), Some(2));
        for unknown in [Some("z.y.a.example"), Some("example"), Some("b.example"), None] {
            assert_eq!(names.find(unknown), None, "{unknown:?}");
        }
        names.set_default(3);
        assert_eq!(names.find(Some("z.y.a.example")), Some(3));
        assert_eq!(names.find(None), Some(3));
        assert_eq!(names.find(Some("a.example")), Some(0));
    }
}
