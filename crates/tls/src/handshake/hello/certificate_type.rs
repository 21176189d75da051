//! Which form of certificate each side shows: X.509 or a raw public key. RFC 7250 4
//!
//! Pure functions, one for each moment at which a side learns something. Must not know: how a
//! certificate is read. Next: [`super::negotiate`], `config/certificate_types.rs`.

use tercel_wire::{CertificateType, ClientHello, List};

use crate::config::certificate_types;
use crate::config::client::ClientConfig;
use crate::config::server::{ClientAuth, ServerConfig};
use crate::connection::facts::Facts;
use crate::error::{Error, Peer};

/// What a client says about the types it can check or show: nothing, if that is X.509 only. RFC 7250 4.1
pub(crate) fn offer(types: &[CertificateType]) -> Option<List<'_, CertificateType>> {
    (types != certificate_types::DEFAULT).then_some(List::of(types))
}

/// The types of which a server's certificate may be.
pub(crate) fn of_server<'a>(hello: &ClientHello<'a>) -> List<'a, CertificateType> {
    let offered = hello.extensions.server_certificate_type;
    offered.unwrap_or(List::of(certificate_types::DEFAULT))
}

/// Refuses a list that says what saying nothing says. RFC 7250 4.1
pub(crate) fn check_offer(hello: &ClientHello<'_>) -> Result<(), Error> {
    let extensions = &hello.extensions;
    let pointless = |types: &Option<List<'_, CertificateType>>| {
        *types == Some(List::of(certificate_types::DEFAULT))
    };
    if pointless(&extensions.server_certificate_type)
        || pointless(&extensions.client_certificate_type)
    {
        return Err(Peer::PointlessCertificateType.into());
    }
    Ok(())
}

/// The type of which a client's certificate shall be: the best of ours that it has. RFC 7250 4.2
pub(crate) fn of_client(
    hello: &ClientHello<'_>,
    config: &ServerConfig,
) -> Result<CertificateType, Error> {
    if config.client_auth == ClientAuth::None {
        return Ok(CertificateType::X509);
    }
    let offered = hello.extensions.client_certificate_type;
    let theirs = offered.unwrap_or(List::of(certificate_types::DEFAULT));
    let mut ours = config.client_certificate_types.iter().copied();
    ours.find(|ours| theirs.contains(*ours)).ok_or_else(|| Peer::NoCommonCertificateType.into())
}

/// A server's answers: the types of its own certificate and of the client's. To nothing it answers
/// nothing, nor about a client's certificate that it does not ask for. RFC 7250 4.2
pub(crate) fn answers(
    hello: &ClientHello<'_>,
    config: &ServerConfig,
    facts: &Facts,
) -> (Option<CertificateType>, Option<CertificateType>) {
    if facts.pre_shared_key().is_some() {
        return (None, None);
    }
    let extensions = &hello.extensions;
    if facts.resumed {
        // What was shown before: some clients that take no X.509 read silence as just that.
        let own = facts.server_certificate_type;
        let fits = |offered: &List<'_, CertificateType>| offered.contains(own);
        return (extensions.server_certificate_type.filter(fits).map(|_| own), None);
    }
    let own = extensions.server_certificate_type.map(|_| facts.server_certificate_type);
    let client = extensions.client_certificate_type.map(|_| facts.client_certificate_type);
    (own, client.filter(|_| config.client_auth != ClientAuth::None))
}

/// Takes over a server's answers, which choose among what was offered. RFC 7250 4.2
pub(crate) fn accept(
    (server, client): (Option<CertificateType>, Option<CertificateType>),
    config: &ClientConfig,
    facts: &mut Facts,
) -> Result<(), Error> {
    if let Some(server) = server {
        facts.server_certificate_type = server;
        check_server(config, facts)?;
    }
    if let Some(client) = client {
        facts.client_certificate_type = client;
        check_client(config, facts)?;
    }
    Ok(())
}

/// A server that is about to show a certificate and said nothing of its type shows X.509, which may
/// be what we cannot check.
pub(crate) fn check_server(config: &ClientConfig, facts: &Facts) -> Result<(), Error> {
    within(&config.server_certificate_types, facts.server_certificate_type)
}

/// A server that asks for a certificate and said nothing of its type asks for X.509.
pub(crate) fn check_client(config: &ClientConfig, facts: &Facts) -> Result<(), Error> {
    within(&config.client_certificate_types, facts.client_certificate_type)
}

fn within(offered: &[CertificateType], chosen: CertificateType) -> Result<(), Error> {
    if offered.contains(&chosen) { Ok(()) } else { Err(Peer::NoCommonCertificateType.into()) }
}
