//! Whether HTTP/3 answers: one handshake over QUIC, at the UDP port of the same number.
//!
//! An answer that is late counts as none, because a firewall that discards packets looks like a
//! server without HTTP/3.

use std::sync::Arc;
use std::time::Duration;

use tercel::certificates::AcceptAnyPeer;
use tercel::pki_types::ServerName;
use tercel::wire::AlertDescription;
use tercel::{ClientConfig, ConnectionInfo, Policy};

use super::report::Feature;
use super::scanner::Scanner;
use crate::http3::{self, Client, Failure, client_config};

/// Completes a handshake over QUIC, and sends nothing else. `None` if the scan has ended before.
pub(crate) fn find(scanner: &mut Scanner, name: &ServerName<'static>) -> Option<Feature> {
    let limit = scanner.connections.time().min(LIMIT);
    scanner.connections.begin().ok()?;
    let (supported, detail) = match connect(scanner, name, limit) {
        Ok(Ok(info)) => {
            scanner.note_completed(&info);
            let group = info.group.map(|group| format!(", {group}")).unwrap_or_default();
            (Some(true), format!("{}{group}", info.cipher_suite))
        }
        Ok(Err(failure)) => judge(&failure, scanner.connections.address().port(), limit),
        Err(why) => (None, why),
    };
    Some(Feature { name: "HTTP/3", supported, detail })
}

fn connect(
    scanner: &Scanner,
    name: &ServerName<'static>,
    limit: Duration,
) -> Result<Result<Arc<ConnectionInfo>, Failure>, String> {
    // The chain is judged elsewhere.
    let tls = ClientConfig::builder()
        .verifier(Policy::Here(Arc::new(AcceptAnyPeer)))
        .without_resumption()
        .alpn(&[http3::PROTOCOL])
        .build()
        .map_err(|error| error.to_string())?;
    let address = scanner.connections.address();
    let config = client_config(tls, address.port()).map_err(|error| error.to_string())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot create a runtime: {error}"))?;
    runtime.block_on(async {
        let client = Client::new(address).map_err(|error| crate::explain::io_error(&error))?;
        let connected = client.connect(&config, name, limit).await;
        let info = connected.map(|established| {
            http3::close(&established.connection);
            established.info
        });
        client.finish().await;
        Ok(info)
    })
}

/// Whether a server that failed in this way has HTTP/3, and the detail.
fn judge(failure: &Failure, port: u16, limit: Duration) -> (Option<bool>, String) {
    match (failure, failure.alert()) {
        (Failure::Refused, _) => (Some(false), format!("nothing listens on UDP port {port}")),
        (Failure::TimedOut, _) => {
            let seconds = limit.as_secs_f64();
            (Some(false), format!("no answer on UDP port {port} within {seconds:.1} s"))
        }
        (_, Some(AlertDescription::NO_APPLICATION_PROTOCOL)) => {
            (Some(false), "QUIC is served, but without HTTP/3".to_owned())
        }
        (_, Some(alert)) => (None, format!("QUIC is served: alert {alert}")),
        (Failure::Tls(failure), None) => (None, format!("QUIC is served: {}", failure.ended)),
        (Failure::Quic(error), None) => (None, http3::connection_error(error)),
        (Failure::Local(why), None) => (None, why.clone()),
    }
}

/// The time limit of the handshake.
const LIMIT: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_answer_is_no_http3() {
        let (supported, detail) = judge(&Failure::TimedOut, 443, LIMIT);
        assert_eq!(supported, Some(false));
        assert_eq!(detail, "no answer on UDP port 443 within 2.0 s");
        assert_eq!(judge(&Failure::Refused, 443, LIMIT).0, Some(false));
        assert_eq!(judge(&Failure::Local("x".to_owned()), 443, LIMIT).0, None);
    }
}
