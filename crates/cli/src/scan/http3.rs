//! Whether HTTP/3 answers: one handshake over QUIC, at the UDP port of the same number.
//!
//! Without an answer, the row is unknown: a firewall that discards packets looks like a server
//! without HTTP/3. The result does not count for the completeness of a scan, which is about TCP.

use std::sync::Arc;
use std::time::Duration;

use tercel::certificates::AcceptAnyPeer;
use tercel::wire::AlertDescription;
use tercel::{ClientConfig, ConnectionInfo, Policy, ServerName};

use super::report::Feature;
use super::scanner::Scanner;
use crate::http3::{self, Client, Failure, client_config};

/// Completes a handshake over QUIC, and sends nothing else. `None` if the scan has ended before.
pub(crate) fn find(scanner: &mut Scanner, name: &ServerName<'static>) -> Option<Feature> {
    let mut limit = scanner.connections.time().min(LIMIT);
    scanner.connections.begin().ok()?;
    let mut result = connect(scanner, name, limit);
    let is_answer = |result: &Result<_, Failure>| {
        result.is_ok() || matches!(result, Err(f) if f.alert().is_some())
    };
    let refused = matches!(result, Ok(Err(Failure::Refused)));
    if !refused && !result.as_ref().is_ok_and(is_answer) && scanner.connections.begin().is_ok() {
        limit = scanner.connections.time().min(LIMIT);
        result = connect(scanner, name, limit);
    }
    let (supported, detail) = match result {
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
            (None, format!("no answer on UDP port {port} within {seconds:.1} s"))
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
    fn no_answer_shows_nothing() {
        let (supported, detail) = judge(&Failure::TimedOut, 443, LIMIT);
        assert_eq!(supported, None);
        assert_eq!(detail, "no answer on UDP port 443 within 2.0 s");
        assert_eq!(judge(&Failure::Refused, 443, LIMIT).0, Some(false));
        assert_eq!(judge(&Failure::Local("x".to_owned()), 443, LIMIT).0, None);
    }
}
