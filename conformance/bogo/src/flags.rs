//! The table of flags, with their values and the options that they set.

use crate::base64;
use crate::ech::ServerKey;
use crate::options::{CredentialOptions, Options, Policy};

/// The effect of a flag.
pub(crate) enum Kind {
    /// A flag without a value.
    Set(fn(&mut Options)),
    /// A flag with a value; `None` if the value is invalid.
    Take(fn(&mut Options, &[u8]) -> Option<()>),
    /// A flag for behaviour that this library always has, or that the shim cannot influence.
    Ignore,
    IgnoreWithValue,
}

use Kind::{Ignore, IgnoreWithValue, Set, Take};

/// Every supported flag. The runner's other flags are for features that are not implemented.
pub(crate) const FLAGS: &[(&str, Kind)] = &[
    ("-port", Take(|o, v| put(&mut o.port, number(v)))),
    ("-ipv6", Set(|o| o.ipv6 = true)),
    ("-shim-id", Take(|o, v| put(&mut o.shim_id, number(v)))),
    ("-server", Set(|o| o.server = true)),
    ("-resume-count", Take(|o, v| put(&mut o.resume_count, number(v)))),
    // Flags for QUIC.
    ("-quic", Set(|o| o.quic = true)),
    ("-quic-transport-params", Take(|o, v| keep(&mut o.quic_parameters, base64::decode(v)))),
    (
        "-quic-use-legacy-codepoint",
        Take(|o, v| put(&mut o.quic_draft_code_point, number::<u8>(v).map(|value| value == 1))),
    ),
    (
        "-quic-early-data-context",
        Take(|o, v| put(&mut o.quic_early_data_context, Some(v.to_vec()))),
    ),
    // A flag that `tools/bogo-fips.sh` adds.
    ("-fips", Set(|o| o.fips = true)),
    // Flags for negotiation.
    ("-no-tls12", Set(|o| o.no_tls12 = true)),
    ("-no-tls13", Set(|o| o.no_tls13 = true)),
    ("-no-tls11", Ignore),
    ("-no-tls1", Ignore),
    ("-no-ssl3", Ignore),
    ("-min-version", Take(|o, v| put(&mut o.min_version, number(v)))),
    ("-max-version", Take(|o, v| put(&mut o.max_version, number(v)))),
    ("-fallback-scsv", Set(|o| o.fallback_scsv = true)),
    ("-curves", Take(|o, v| add(&mut o.curves, number(v)))),
    ("-curves-flags", Take(|o, v| add(&mut o.curves_flags, number(v)))),
    ("-server-supported-groups-hint", Take(|o, v| add(&mut o.server_groups, number(v)))),
    ("-key-shares", Take(|o, v| add(o.key_shares.get_or_insert_default(), number(v)))),
    ("-no-key-shares", Set(|o| o.key_shares = Some(Vec::new()))),
    ("-verify-prefs", Take(|o, v| add(&mut o.verify_prefs, number(v)))),
    ("-server-preference", Set(|o| o.server_preference = true)),
    ("-fips-202205", Set(|o| o.policy = Some(Policy::Fips202205))),
    ("-wpa-202304", Set(|o| o.policy = Some(Policy::Wpa202304))),
    ("-cnsa-202407", Set(|o| o.policy = Some(Policy::Cnsa202407))),
    ("-cnsa1-202603", Set(|o| o.policy = Some(Policy::Cnsa1))),
    ("-cnsa2-202603", Set(|o| o.policy = Some(Policy::Cnsa2))),
    ("-permute-extensions", Set(|o| o.permute_extensions = true)),
    ("-enable-grease", Set(|o| o.grease = true)),
    ("-cipher", Take(|o, v| keep(&mut o.cipher, text(v)))),
    ("-no-legacy-server-connect", Set(|o| o.require_secure_renegotiation = true)),
    ("-max-send-fragment", Take(|o, v| keep(&mut o.max_send_fragment, number(v)))),
    ("-host-name", Take(|o, v| keep(&mut o.host_name, text(v)))),
    ("-advertise-alpn", Take(|o, v| put(&mut o.advertise_alpn, Some(v.to_vec())))),
    ("-select-alpn", Take(|o, v| put(&mut o.select_alpn, Some(v.to_vec())))),
    ("-decline-alpn", Ignore),
    ("-reject-alpn", Set(|o| o.reject_alpn = true)),
    ("-request-server-padding", Take(|o, v| keep(&mut o.request_server_padding, number(v)))),
    ("-server-supports-padding", Set(|o| o.answer_server_padding = true)),
    ("-no-server-name-ack", Set(|o| o.no_server_name_ack = true)),
    // There is no SRTP over TLS, so its configuration has no effect.
    ("-srtp-profiles", IgnoreWithValue),
    ("-enable-ocsp-stapling", Set(|o| o.enable_ocsp_stapling = true)),
    ("-enable-signed-cert-timestamps", Set(|o| o.enable_signed_cert_timestamps = true)),
    ("-install-cert-compression-algs", Set(|o| o.compression = true)),
    ("-install-one-cert-compression-alg", Take(|o, v| keep(&mut o.one_compression, number(v)))),
    // Flags for resumption.
    ("-no-ticket", Set(|o| o.no_ticket = true)),
    ("-resumption-delay", Take(|o, v| put(&mut o.resumption_delay, number(v)))),
    ("-enable-early-data", Set(|o| o.enable_early_data = true)),
    ("-reverify-on-resume", Set(|o| o.reverify_on_resume = true)),
    ("-retain-only-sha256-client-cert", Set(|o| o.digests_only = true)),
    ("-resumption-across-names-enabled", Set(|o| o.across_names = true)),
    ("-ticket-key", Take(|o, v| put(&mut o.ticket_key, base64::decode(v)))),
    // Flags for certificates: verification and credentials.
    ("-trust-cert", IgnoreWithValue),
    ("-verify-peer", Set(|o| o.verify_peer = true)),
    ("-require-any-client-certificate", Set(|o| o.require_any_client_certificate = true)),
    ("-verify-fail", Set(|o| o.verify_fail = true)),
    ("-use-custom-verify-callback", Set(|o| o.custom_verify_callback = true)),
    ("-use-client-ca-list", Take(|o, v| keep(&mut o.use_client_ca_list, text(v)))),
    ("-use-ocsp-callback", Set(|o| o.use_ocsp_callback = true)),
    ("-set-ocsp-in-callback", Ignore),
    ("-decline-ocsp-callback", Set(|o| o.decline_ocsp_callback = true)),
    ("-fail-ocsp-callback", Set(|o| o.fail_ocsp_callback = true)),
    ("-use-old-client-cert-callback", Ignore),
    ("-use-early-callback", Ignore),
    ("-new-x509-credential", Set(|o| o.credentials.push(CredentialOptions::default()))),
    (
        "-new-rpk-credential",
        Set(|o| {
            o.credentials.push(CredentialOptions { raw_public_key: true, ..Default::default() });
        }),
    ),
    ("-accepted-peer-cert-types", Take(|o, v| add(&mut o.accepted_types, number(v)))),
    ("-available-client-cert-types", Take(|o, v| add(&mut o.available_types, number(v)))),
    ("-cert-file", Take(|o, v| keep(&mut o.current().cert_file, text(v)))),
    ("-key-file", Take(|o, v| keep(&mut o.current().key_file, text(v)))),
    ("-ocsp-response", Take(|o, v| put(&mut o.current().ocsp_response, base64::decode(v)))),
    (
        "-signed-cert-timestamps",
        Take(|o, v| put(&mut o.current().signed_cert_timestamps, base64::decode(v))),
    ),
    ("-signing-prefs", Take(|o, v| add(&mut o.current().signing_prefs, number(v)))),
    ("-must-match-issuer", Set(|o| o.current().must_match_issuer = true)),
    // Flags for pre-shared keys.
    ("-new-psk-credential", Set(|o| o.credentials.push(CredentialOptions::default()))),
    ("-psk-importer-key", Take(|o, v| put(&mut o.current().psk().key, base64::decode(v)))),
    (
        "-psk-importer-identity",
        Take(|o, v| put(&mut o.current().psk().identity, base64::decode(v))),
    ),
    ("-psk-importer-context", Take(|o, v| put(&mut o.current().psk().context, base64::decode(v)))),
    ("-psk-importer-sha256", Set(|o| o.current().psk().sha384 = false)),
    ("-psk-importer-sha384", Set(|o| o.current().psk().sha384 = true)),
    // Flags for Encrypted ClientHello.
    (
        "-ech-server-config",
        Take(|o, v| {
            let config = base64::decode(v)?;
            o.ech.keys.push(ServerKey { config, ..Default::default() });
            Some(())
        }),
    ),
    ("-ech-server-key", Take(|o, v| put(&mut o.ech.current()?.private, base64::decode(v)))),
    (
        "-ech-is-retry-config",
        Take(|o, v| {
            let retry = number::<u8>(v).map(|value| value == 1);
            put(&mut o.ech.current()?.retry, retry)
        }),
    ),
    ("-ech-config-list", Take(|o, v| keep(&mut o.ech.config_list, base64::decode(v)))),
    ("-enable-ech-grease", Set(|o| o.ech.grease = true)),
    ("-reject-unusable-ech-config", Set(|o| o.ech.reject_unusable = true)),
    ("-expect-ech-accept", Set(|o| o.ech.expect_accept = true)),
    (
        "-expect-ech-retry-configs",
        Take(|o, v| keep(&mut o.ech.expect_retry_configs, base64::decode(v))),
    ),
    ("-expect-no-ech-retry-configs", Set(|o| o.ech.expect_no_retry_configs = true)),
    ("-expect-ech-name-override", Take(|o, v| keep(&mut o.ech.expect_name_override, text(v)))),
    ("-expect-no-ech-name-override", Set(|o| o.ech.expect_no_name_override = true)),
    // Flags for data after the handshake, and for the behaviour of the shim.
    ("-async", Set(|o| o.asynchronous = true)),
    ("-implicit-handshake", Ignore),
    ("-no-op-extra-handshake", Ignore),
    ("-forbid-renegotiation-after-handshake", Ignore),
    ("-shim-writes-first", Set(|o| o.shim_writes_first = true)),
    ("-shim-initial-write", Take(|o, v| keep(&mut o.shim_initial_write, Some(v.to_vec())))),
    ("-repeat-shim-initial-write", Take(|o, v| keep(&mut o.repeat_shim_initial_write, number(v)))),
    ("-early-write-after-message", Take(|o, v| keep(&mut o.early_write_after_message, number(v)))),
    ("-shim-shuts-down", Set(|o| o.shim_shuts_down = true)),
    ("-check-close-notify", Set(|o| o.check_close_notify = true)),
    ("-send-alert", Set(|o| o.send_alert = true)),
    ("-key-update", Set(|o| o.key_update = true)),
    ("-read-size", Take(|o, v| keep(&mut o.read_size, number(v)))),
    ("-read-with-unfinished-write", Set(|o| o.read_with_unfinished_write = true)),
    ("-export-keying-material", Take(|o, v| put(&mut o.export_keying_material, number(v)))),
    ("-export-label", Take(|o, v| put(&mut o.export_label, Some(v.to_vec())))),
    ("-export-context", Take(|o, v| put(&mut o.export_context, Some(v.to_vec())))),
    ("-use-export-context", Set(|o| o.use_export_context = true)),
    ("-export-traffic-secrets", Set(|o| o.export_traffic_secrets = true)),
    // Flags for expectations.
    ("-expect-version", Take(|o, v| keep(&mut o.expect.version, number(v)))),
    ("-expect-cipher", Take(|o, v| keep(&mut o.expect.cipher, number(v)))),
    ("-expect-cipher-aes", Take(|o, v| keep(&mut o.expect.cipher_aes, number(v)))),
    ("-expect-cipher-no-aes", Take(|o, v| keep(&mut o.expect.cipher_no_aes, number(v)))),
    ("-expect-curve-id", Take(|o, v| keep(&mut o.expect.curve_id, number(v)))),
    (
        "-expect-peer-signature-algorithm",
        Take(|o, v| keep(&mut o.expect.peer_signature_algorithm, number(v))),
    ),
    ("-expect-peer-verify-pref", Take(|o, v| add(&mut o.expect.peer_verify_prefs, number(v)))),
    (
        "-expect-selected-credential",
        Take(|o, v| keep(&mut o.expect.selected_credential, number(v))),
    ),
    ("-expect-hrr", Set(|o| o.expect.retry = Some(true))),
    ("-expect-no-hrr", Set(|o| o.expect.retry = Some(false))),
    ("-expect-session-miss", Set(|o| o.expect.session_miss = true)),
    ("-expect-early-data-reason", Take(|o, v| keep(&mut o.expect.early_data_reason, text(v)))),
    ("-expect-no-session", Set(|o| o.expect.no_session = true)),
    ("-expect-ticket-renewal", Set(|o| o.expect.ticket_renewal = true)),
    ("-expect-ticket-supports-early-data", Set(|o| o.expect.ticket_supports_early_data = true)),
    ("-expect-session-id", Set(|o| o.expect.session_id = true)),
    ("-expect-no-session-id", Set(|o| o.expect.no_session_id = true)),
    ("-expect-accept-early-data", Set(|o| o.expect.accept_early_data = true)),
    ("-expect-reject-early-data", Set(|o| o.expect.reject_early_data = true)),
    ("-expect-no-offer-early-data", Set(|o| o.expect.no_offer_early_data = true)),
    ("-expect-extended-master-secret", Set(|o| o.expect.extended_master_secret = true)),
    ("-expect-secure-renegotiation", Set(|o| o.expect.secure_renegotiation = Some(true))),
    ("-expect-no-secure-renegotiation", Set(|o| o.expect.secure_renegotiation = Some(false))),
    ("-expect-server-sent-requested-padding", Set(|o| o.expect.server_padding = true)),
    ("-expect-ticket-age-skew", Take(|o, v| put(&mut o.expect.ticket_age_skew, number(v)))),
    ("-expect-sha256-client-cert", Set(|o| o.expect.client_digest = true)),
    ("-expect-resumable-across-names", Set(|o| o.expect.across_names = Some(true))),
    ("-expect-not-resumable-across-names", Set(|o| o.expect.across_names = Some(false))),
    ("-expect-alpn", Take(|o, v| put(&mut o.expect.alpn, Some(v.to_vec())))),
    ("-expect-advertised-alpn", Take(|o, v| put(&mut o.expect.advertised_alpn, Some(v.to_vec())))),
    ("-expect-server-name", Take(|o, v| keep(&mut o.expect.server_name, text(v)))),
    ("-expect-no-server-name", Set(|o| o.expect.no_server_name = true)),
    ("-expect-ocsp-response", Take(|o, v| put(&mut o.expect.ocsp_response, base64::decode(v)))),
    (
        "-expect-signed-cert-timestamps",
        Take(|o, v| put(&mut o.expect.signed_cert_timestamps, base64::decode(v))),
    ),
    ("-expect-peer-cert-file", Take(|o, v| keep(&mut o.expect.peer_cert_file, text(v)))),
    ("-expect-peer-certificate-type", Take(|o, v| keep(&mut o.expect.peer_type, number(v)))),
    (
        "-expect-peer-rpk-sha256",
        Take(|o, v| put(&mut o.expect.peer_raw_key_digest, base64::decode(v))),
    ),
    ("-expect-no-peer-cert", Set(|o| o.expect.no_peer_cert = true)),
    ("-expect-verify-result", Set(|o| o.expect.verify_result = true)),
    (
        "-expect-certificate-types",
        Take(|o, v| put(&mut o.expect.certificate_types, base64::decode(v))),
    ),
    (
        "-expect-quic-transport-params",
        Take(|o, v| put(&mut o.expect.quic_parameters, base64::decode(v))),
    ),
    ("-expect-client-ca-list", Take(|o, v| keep(&mut o.expect.client_ca_list, text(v)))),
];

fn put<T>(place: &mut T, value: Option<T>) -> Option<()> {
    *place = value?;
    Some(())
}

fn keep<T>(place: &mut Option<T>, value: Option<T>) -> Option<()> {
    *place = Some(value?);
    Some(())
}

fn add<T>(list: &mut Vec<T>, value: Option<T>) -> Option<()> {
    list.push(value?);
    Some(())
}

fn text(value: &[u8]) -> Option<String> {
    String::from_utf8(value.to_vec()).ok()
}

fn number<T: std::str::FromStr>(value: &[u8]) -> Option<T> {
    std::str::from_utf8(value).ok()?.parse().ok()
}
