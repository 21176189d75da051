//! Hints for errors of the handshake: the usual cause, and the option that helps.
//!
//! The library says what happened; these hints say what to try with this program's options.

use tercel::Error;
use tercel::error::PeerError;
use tercel::pki::RefusalReason;
use tercel::wire::AlertDescription;

/// The hint for an error of `tercel connect` or `tercel load`.
pub(super) fn client(error: Error) -> Option<&'static str> {
    match error {
        Error::AlertReceived(alert) => alert_of_server(alert),
        Error::Peer(PeerError::UnsupportedVersion | PeerError::WrongVersionChosen) => {
            Some(OLD_SERVER)
        }
        Error::Peer(PeerError::PreSharedKeyDeclined) => {
            Some("give --psk the identity and the key that the server has")
        }
        Error::Peer(
            PeerError::ExtendedMainSecretRequired | PeerError::UnsafeLegacyRenegotiation,
        ) => Some("the server's TLS library is outdated and has to be updated"),
        Error::Peer(PeerError::NoCommonCertificateType) => {
            Some("the server presents a raw public key only: name it with --server-keys")
        }
        // The rule does not depend on trust. RFC 9846 4.5.1
        Error::Refused(RefusalReason::KeyMayNotSign) => Some(
            "the server needs a certificate whose key usage has digitalSignature, also with \
             --insecure",
        ),
        _ => None,
    }
}

/// The hint for an error of `tercel serve`.
pub(super) fn server(error: Error) -> Option<&'static str> {
    match error {
        Error::AlertReceived(alert) => alert_of_client(alert),
        Error::Peer(PeerError::PlainHttp) => Some("the client has to use https://"),
        _ => None,
    }
}

/// The hint for a refused certificate of a server.
pub(super) fn refusal(reason: RefusalReason) -> &'static str {
    match reason {
        RefusalReason::UnknownIssuer => {
            "trust a private authority with --ca FILE; --show-certs prints the chain"
        }
        RefusalReason::SelfSigned => {
            "--ca FILE trusts the certificate in FILE; --show-certs prints the chain"
        }
        RefusalReason::NameMismatch => {
            "--name NAME verifies another name; --show-certs prints the chain"
        }
        _ => "--show-certs prints the chain",
    }
}

/// The hint for a refused certificate of a server that rejected Encrypted ClientHello. `--name`
/// does not change the public name, and the certificate of the server itself may be good.
pub(super) fn refusal_of_public_name(reason: RefusalReason) -> &'static str {
    match reason {
        RefusalReason::NameMismatch => {
            "the configuration of --ech is outdated or of another server: look it up again; --ech \
             grease connects without encrypting the server name"
        }
        other => refusal(other),
    }
}

/// What usually causes an alert that a server sends.
fn alert_of_server(alert: AlertDescription) -> Option<&'static str> {
    Some(match alert {
        AlertDescription::HANDSHAKE_FAILURE => {
            "usually no cipher suite or group in common, or a client certificate is required: try \
             without --suites, --groups and --tls1.2, or with --cert and --key; suites with CBC or \
             RSA key exchange are not supported"
        }
        AlertDescription::INSUFFICIENT_SECURITY => {
            "the server requires stronger parameters: try without --suites and --groups"
        }
        AlertDescription::PROTOCOL_VERSION => OLD_SERVER,
        AlertDescription::UNRECOGNIZED_NAME => {
            "the server has no certificate for this server name: set the right one with --name"
        }
        AlertDescription::UNKNOWN_CA => {
            "the server does not trust the issuer of the client certificate: --cert must contain \
             the whole chain, issued by an authority that the server trusts"
        }
        AlertDescription::CERTIFICATE_REQUIRED => {
            "the server requires a client certificate: give one with --cert and --key"
        }
        AlertDescription::NO_CERTIFICATE
        | AlertDescription::BAD_CERTIFICATE
        | AlertDescription::UNSUPPORTED_CERTIFICATE
        | AlertDescription::CERTIFICATE_UNKNOWN
        | AlertDescription::CERTIFICATE_REVOKED => {
            "the server refuses the client certificate, or requires one: check --cert and --key"
        }
        AlertDescription::CERTIFICATE_EXPIRED => "renew the client certificate of --cert",
        AlertDescription::ACCESS_DENIED => {
            "the client certificate is valid, but the server does not admit its owner"
        }
        AlertDescription::NO_APPLICATION_PROTOCOL => {
            "the server has none of the offered protocols: change or omit --alpn"
        }
        AlertDescription::UNKNOWN_PSK_IDENTITY => "give --psk an identity that the server has",
        AlertDescription::DECRYPT_ERROR => {
            "a key does not match: check that --psk is the same on both sides, and --key belongs \
             to --cert"
        }
        AlertDescription::INTERNAL_ERROR => "the fault is the server's: see its log",
        _ => return None,
    })
}

/// What usually causes an alert that a client sends.
fn alert_of_client(alert: AlertDescription) -> Option<&'static str> {
    Some(match alert {
        AlertDescription::UNKNOWN_CA => {
            "the client does not trust the issuer of this server's certificate: --cert must \
             contain the whole chain, and the client the authority"
        }
        AlertDescription::BAD_CERTIFICATE | AlertDescription::CERTIFICATE_UNKNOWN => {
            "the client refuses this server's certificate: its log has the reason"
        }
        AlertDescription::CERTIFICATE_EXPIRED => "renew the certificate of --cert",
        _ => return None,
    })
}

const OLD_SERVER: &str = "the server has none of the offered versions: try without --tls1.2 and \
                          --tls1.3; TLS 1.1 and older are not supported";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_in_hints_exist() {
        use clap::CommandFactory;
        let alerts = AlertDescription::NAMED.iter().copied();
        let mut hints: Vec<_> = alerts.filter_map(alert_of_server).collect();
        hints.push(client(PeerError::PreSharedKeyDeclined.into()).unwrap());
        hints.push(client(PeerError::NoCommonCertificateType.into()).unwrap());
        hints.extend([RefusalReason::UnknownIssuer, RefusalReason::NameMismatch].map(refusal));
        hints.push(refusal_of_public_name(RefusalReason::NameMismatch));
        assert!(!refusal_of_public_name(RefusalReason::NameMismatch).contains("--name"));
        let command = crate::Arguments::command();
        let connect = command.find_subcommand("connect").unwrap();
        let known: Vec<_> = connect.get_arguments().filter_map(clap::Arg::get_long).collect();
        assert!(hints.len() > 10);
        for hint in hints {
            for word in hint.split([' ', ',', ';', ':']) {
                let Some(option) = word.strip_prefix("--") else { continue };
                assert!(known.contains(&option), "--{option}");
            }
        }
    }
}
