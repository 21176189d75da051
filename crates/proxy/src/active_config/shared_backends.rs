//! Finds routes that lead around the client certificates of another route.
//!
//! A route that requires certificates protects its backends only if no other route leads to them:
//! in HTTP, a client of the other route can request the names of this one. A client of a route that
//! does not terminate TLS chooses all bytes that a backend receives. A backend may compare the name
//! with the PROXY header, so this is a warning and no error.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use tercel::server::ClientAuth;

use super::own_address::reached;
use super::{ActiveListener, ActiveRoute};
use crate::backend::endpoint::Endpoint;
use crate::config::{ConfigError, Listener, Route};

/// An address of a backend.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Address<'a> {
    Tcp(IpAddr, u16),
    Unix(&'a Path),
}

/// Returns a warning for each route that has a backend of a route with required client
/// certificates, and itself requires none, or those of other authorities. `active` has the resolved
/// backends of `listeners`.
pub(super) fn warnings(listeners: &[Listener], active: &[ActiveListener]) -> Vec<ConfigError> {
    let routes = || {
        let pairs = listeners.iter().zip(active);
        pairs.flat_map(|(of, active)| of.routes.iter().zip(&active.routes))
    };
    let mut protected: BTreeMap<_, Vec<&Route>> = BTreeMap::new();
    for (route, active) in routes().filter(|(route, _)| requires(route)) {
        for address in addresses(active) {
            protected.entry(address).or_default().push(route);
        }
    }
    let mut warnings = Vec::new();
    for (route, active) in routes() {
        warnings.extend(addresses(active).find_map(|address| {
            let is_led_around =
                |other: &&&Route| !requires(route) || route.client_ca != other.client_ca;
            let other = protected.get(&address)?.iter().find(is_led_around)?;
            Some(warning(route, address, other))
        }));
    }
    warnings
}

fn requires(route: &Route) -> bool {
    route.client_auth == ClientAuth::Required
}

fn warning(route: &Route, address: Address<'_>, other: &Route) -> ConfigError {
    let address = match address {
        Address::Tcp(ip, port) => SocketAddr::from((ip, port)).to_string(),
        Address::Unix(path) => format!("unix:{}", path.display()),
    };
    let difference = if requires(route) { " of other authorities" } else { ", unlike this route" };
    let consequence = match route.passthrough {
        true => "the bytes of its clients are relayed unchanged",
        false => "in HTTP, a client of this route can request the names of that one",
    };
    let reason = format!(
        "{address} is also a backend of {}, which requires client certificates{difference}: \
         {consequence}",
        other.location.path()
    );
    route.location.error("to", reason)
}

/// The addresses of a route's backends.
fn addresses(route: &ActiveRoute) -> impl Iterator<Item = Address<'_>> {
    route.backends.iter().flat_map(|backend| match backend {
        Endpoint::Tcp(all) => {
            all.iter().map(|to| Address::Tcp(reached(to.ip()), to.port())).collect::<Vec<_>>()
        }
        Endpoint::Unix(path) => vec![Address::Unix(path)],
    })
}
