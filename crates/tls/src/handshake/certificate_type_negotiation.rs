//! Negotiation of certificate types: X.509 or raw public key. RFC 7250 4

use tercel_wire::{CertificateType, ClientHello, List};

use crate::auth::certificate_types;
use crate::config::client::ClientConfig;
use crate::config::client_auth::ClientAuth;
use crate::config::server::ServerConfig;
use crate::connection::info::{ConnectionInfo, Ech};
use crate::error::{Error, PeerError};

/// Returns the content of a client's certificate type extension, or `None` if the only type is
/// X.509. The extension is then omitted. RFC 7250 4.1
pub(crate) fn offer(types: &[CertificateType]) -> Option<List<'_, CertificateType>> {
    (types != certificate_types::DEFAULT).then_some(List::new(types))
}

/// Returns the types that a client accepts for the server's certificate.
pub(crate) fn of_server<'a>(hello: &ClientHello<'a>) -> List<'a, CertificateType> {
    let offered = hello.extensions.server_certificate_type;
    offered.unwrap_or(List::new(certificate_types::DEFAULT))
}

/// Refuses an extension that contains only X.509. Such an extension must be omitted. RFC 7250 4.1
pub(crate) fn check_offer(hello: &ClientHello<'_>) -> Result<(), Error> {
    let extensions = &hello.extensions;
    let pointless = |types: &Option<List<'_, CertificateType>>| {
        *types == Some(List::new(certificate_types::DEFAULT))
    };
    if pointless(&extensions.server_certificate_type)
        || pointless(&extensions.client_certificate_type)
    {
        return Err(PeerError::UnnecessaryCertificateType.into());
    }
    Ok(())
}

/// Returns the type of the client's certificate, by the server's preference. RFC 7250 4.2
pub(crate) fn of_client(
    hello: &ClientHello<'_>,
    config: &ServerConfig,
) -> Result<CertificateType, Error> {
    if config.client_auth == ClientAuth::None {
        return Ok(CertificateType::X509);
    }
    let offered = hello.extensions.client_certificate_type;
    let theirs = offered.unwrap_or(List::new(certificate_types::DEFAULT));
    let mut ours = config.client_certificate_types.iter().copied();
    ours.find(|ours| theirs.contains(*ours))
        .ok_or_else(|| PeerError::NoCommonCertificateType.into())
}

/// Returns a server's extensions: the types of its own certificate and of the client's. An
/// extension is absent if the client did not send it. The second one is also absent if no client
/// certificate is requested. RFC 7250 4.2
pub(crate) fn answers(
    hello: &ClientHello<'_>,
    config: &ServerConfig,
    info: &ConnectionInfo,
) -> (Option<CertificateType>, Option<CertificateType>) {
    if info.pre_shared_key().is_some() {
        return (None, None);
    }
    let extensions = &hello.extensions;
    if info.resumed {
        // The server sends the type of the original handshake, because some clients that do not
        // accept X.509 interpret an absent extension as X.509.
        let own = info.server_certificate_type;
        let fits = |offered: &List<'_, CertificateType>| offered.contains(own);
        return (extensions.server_certificate_type.filter(fits).map(|_| own), None);
    }
    let own = extensions.server_certificate_type.map(|_| info.server_certificate_type);
    let client = extensions.client_certificate_type.map(|_| info.client_certificate_type);
    (own, client.filter(|_| config.client_auth != ClientAuth::None))
}

/// Applies a server's extensions, which must select offered types. RFC 7250 4.2
pub(crate) fn accept(
    (server, client): (Option<CertificateType>, Option<CertificateType>),
    config: &ClientConfig,
    info: &mut ConnectionInfo,
) -> Result<(), Error> {
    if let Some(server) = server {
        info.server_certificate_type = server;
        check_server(config, info)?;
    }
    if let Some(client) = client {
        info.client_certificate_type = client;
        check_client(config, info)?;
    }
    Ok(())
}

/// Checks that the client accepts the type of the server's certificate, which is X.509 if the
/// extension was absent.
pub(crate) fn check_server(config: &ClientConfig, info: &ConnectionInfo) -> Result<(), Error> {
    // A raw public key is not valid for the public name. RFC 9849 6.1.7
    if info.ech == Ech::Rejected && info.server_certificate_type != CertificateType::X509 {
        return Err(PeerError::NoCommonCertificateType.into());
    }
    within(&config.server_certificate_types, info.server_certificate_type)
}

/// Checks that the client can send a certificate of the selected type, which is X.509 if the
/// extension was absent.
pub(crate) fn check_client(config: &ClientConfig, info: &ConnectionInfo) -> Result<(), Error> {
    within(&config.client_certificate_types, info.client_certificate_type)
}

fn within(offered: &[CertificateType], chosen: CertificateType) -> Result<(), Error> {
    if offered.contains(&chosen) { Ok(()) } else { Err(PeerError::NoCommonCertificateType.into()) }
}
