//! Which route a client's name leads to.
//!
//! Must not know: what a route is. Next: [`crate::live`].

use std::collections::HashMap;
use std::sync::Arc;

use tercel::wire::ClientHello;
use tercel::{ChooseConfig, ServerConfig};

/// Names and the numbers of their routes.
#[derive(Debug, Default)]
pub(crate) struct Names {
    exact: HashMap<String, usize>,
    /// Without the `*.` in front.
    wildcard: HashMap<String, usize>,
    other: Option<usize>,
}

impl Names {
    /// Adds a name in lower case, which may begin with `*.`.
    pub(crate) fn add(&mut self, name: &str, route: usize) {
        match name.strip_prefix("*.") {
            Some(rest) => self.wildcard.insert(rest.to_owned(), route),
            None => self.exact.insert(name.to_owned(), route),
        };
    }

    /// The route for every name that is nowhere else, and for clients that name none.
    pub(crate) fn add_other(&mut self, route: usize) {
        self.other = Some(route);
    }

    /// An exact name goes before a wildcard, which stands for one label, and that before the rest.
    pub(crate) fn find(&self, name: Option<&str>) -> Option<usize> {
        let named = name.and_then(|name| {
            if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
                self.find_lower(&name.to_ascii_lowercase())
            } else {
                self.find_lower(name)
            }
        });
        named.or(self.other)
    }

    fn find_lower(&self, name: &str) -> Option<usize> {
        let wildcard = || self.wildcard.get(name.split_once('.')?.1);
        self.exact.get(name).or_else(wildcard).copied()
    }
}

/// Chooses a route's configuration while the handshake is under way.
pub(crate) struct Chooser {
    pub(crate) names: Arc<Names>,
    pub(crate) configs: Vec<Arc<ServerConfig>>,
}

impl ChooseConfig for Chooser {
    fn choose_config(&self, hello: &ClientHello<'_>) -> Option<Arc<ServerConfig>> {
        let name = hello.extensions.server_name.and_then(|offer| offer.host_name());
        // What is no name is none: `Facts::server_name`, by which the route is found again, has no addresses.
        let name = name.filter(|name| !name.is_ip_address());
        let route = self.names.find(name.map(|name| name.as_str()))?;
        self.configs.get(route).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_exact_name_decides() {
        let mut names = Names::default();
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
        names.add_other(3);
        assert_eq!(names.find(Some("z.y.a.example")), Some(3));
        assert_eq!(names.find(None), Some(3));
        assert_eq!(names.find(Some("a.example")), Some(0));
    }
}
