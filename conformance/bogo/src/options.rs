//! The runner's flags, parsed into options for each connection.
//!
//! For a flag that is not in [`crate::flags`] the shim answers "not implemented", which the runner
//! counts separately from failures.

use crate::ech::EchOptions;
use crate::flags::{FLAGS, Kind};
use crate::psk::PskOptions;

/// The options of one connection.
#[derive(Clone, Default)]
pub(crate) struct Options {
    pub(crate) port: u16,
    pub(crate) ipv6: bool,
    pub(crate) shim_id: u64,
    pub(crate) server: bool,
    pub(crate) resume_count: usize,
    /// The option `fips` in each configuration.
    pub(crate) fips: bool,

    /// The runner's mock of QUIC instead of records.
    pub(crate) quic: bool,
    pub(crate) quic_parameters: Option<Vec<u8>>,
    /// The transport parameters in the extension of the drafts, which has another code point.
    pub(crate) quic_draft_code_point: bool,
    pub(crate) quic_early_data_context: Vec<u8>,

    pub(crate) no_tls12: bool,
    pub(crate) no_tls13: bool,
    pub(crate) min_version: u16,
    pub(crate) max_version: u16,
    pub(crate) fallback_scsv: bool,
    pub(crate) curves: Vec<u16>,
    /// For each curve, 1 if it has the same preference as the next curve.
    pub(crate) curves_flags: Vec<u8>,
    pub(crate) server_groups: Vec<u16>,
    pub(crate) key_shares: Option<Vec<u16>>,
    pub(crate) verify_prefs: Vec<u16>,
    pub(crate) server_preference: bool,
    /// Suites of TLS 1.2 in OpenSSL's notation.
    pub(crate) cipher: Option<String>,
    pub(crate) policy: Option<Policy>,
    pub(crate) permute_extensions: bool,
    pub(crate) grease: bool,
    pub(crate) require_secure_renegotiation: bool,
    pub(crate) max_send_fragment: Option<u16>,

    pub(crate) no_ticket: bool,
    pub(crate) enable_early_data: bool,
    pub(crate) reverify_on_resume: bool,
    pub(crate) digests_only: bool,
    pub(crate) across_names: bool,
    pub(crate) ticket_key: Vec<u8>,
    /// The seconds by which the clock advances after the connection.
    pub(crate) resumption_delay: u64,

    pub(crate) host_name: Option<String>,
    /// The protocol names in the format of the extension: a length byte before each name.
    pub(crate) advertise_alpn: Vec<u8>,
    pub(crate) select_alpn: Vec<u8>,
    pub(crate) reject_alpn: bool,
    pub(crate) no_server_name_ack: bool,
    pub(crate) request_server_padding: Option<u16>,
    pub(crate) answer_server_padding: bool,
    pub(crate) enable_ocsp_stapling: bool,
    pub(crate) enable_signed_cert_timestamps: bool,

    /// Certificate compression with all of the runner's algorithms, or with one.
    pub(crate) compression: bool,
    pub(crate) one_compression: Option<u16>,

    pub(crate) verify_peer: bool,
    pub(crate) require_any_client_certificate: bool,
    pub(crate) verify_fail: bool,
    pub(crate) custom_verify_callback: bool,
    pub(crate) use_client_ca_list: Option<String>,
    pub(crate) use_ocsp_callback: bool,
    pub(crate) decline_ocsp_callback: bool,
    pub(crate) fail_ocsp_callback: bool,

    /// The credential that is set without `-new-x509-credential`, which is the last in order.
    pub(crate) credential: CredentialOptions,
    pub(crate) credentials: Vec<CredentialOptions>,

    /// The certificate types that are accepted from the peer, and the types that a client offers.
    pub(crate) accepted_types: Vec<u8>,
    pub(crate) available_types: Vec<u8>,

    pub(crate) ech: EchOptions,

    pub(crate) asynchronous: bool,
    pub(crate) shim_writes_first: bool,
    pub(crate) shim_initial_write: Option<Vec<u8>>,
    pub(crate) repeat_shim_initial_write: Option<usize>,
    /// The type of the handshake message after which early data is sent; by default it is sent at
    /// once.
    pub(crate) early_write_after_message: Option<u8>,
    pub(crate) shim_shuts_down: bool,
    pub(crate) check_close_notify: bool,
    pub(crate) send_alert: bool,
    pub(crate) key_update: bool,
    pub(crate) read_size: Option<usize>,
    pub(crate) read_with_unfinished_write: bool,
    pub(crate) export_keying_material: usize,
    pub(crate) export_label: Vec<u8>,
    pub(crate) export_context: Vec<u8>,
    pub(crate) use_export_context: bool,
    pub(crate) export_traffic_secrets: bool,

    pub(crate) expect: Expectations,
}

/// The expectations that are checked after the handshake.
#[derive(Clone, Default)]
pub(crate) struct Expectations {
    pub(crate) version: Option<u16>,
    pub(crate) cipher: Option<u16>,
    pub(crate) cipher_aes: Option<u16>,
    pub(crate) cipher_no_aes: Option<u16>,
    pub(crate) curve_id: Option<u16>,
    pub(crate) peer_signature_algorithm: Option<u16>,
    pub(crate) peer_verify_prefs: Vec<u16>,
    pub(crate) selected_credential: Option<i32>,
    pub(crate) retry: Option<bool>,
    pub(crate) session_miss: bool,
    /// Client: the connection must give no session.
    pub(crate) no_session: bool,
    /// Client: a resumed session of TLS 1.2 must get a new ticket.
    pub(crate) ticket_renewal: bool,
    /// Client: whether the last ticket allows early data.
    pub(crate) ticket_supports_early_data: bool,
    /// Server: whether the session must or must not be stored under an ID.
    pub(crate) session_id: bool,
    pub(crate) no_session_id: bool,
    pub(crate) accept_early_data: bool,
    pub(crate) reject_early_data: bool,
    pub(crate) no_offer_early_data: bool,
    /// The reason why early data was rejected, or `accept`.
    pub(crate) early_data_reason: Option<String>,
    /// Client: the server must send the requested padding.
    pub(crate) server_padding: bool,
    /// Server: the expected error of a resumed ticket's age in seconds; 0 accepts any.
    pub(crate) ticket_age_skew: i64,
    /// Server: only a digest of the client's certificate must be stored.
    pub(crate) client_digest: bool,
    /// Client: whether the last ticket is valid for other names.
    pub(crate) across_names: Option<bool>,
    pub(crate) extended_master_secret: bool,
    pub(crate) secure_renegotiation: Option<bool>,
    pub(crate) alpn: Vec<u8>,
    pub(crate) advertised_alpn: Vec<u8>,
    pub(crate) server_name: Option<String>,
    pub(crate) no_server_name: bool,
    pub(crate) ocsp_response: Vec<u8>,
    pub(crate) signed_cert_timestamps: Vec<u8>,
    pub(crate) peer_cert_file: Option<String>,
    pub(crate) no_peer_cert: bool,
    pub(crate) peer_type: Option<u8>,
    pub(crate) peer_raw_key_digest: Vec<u8>,
    pub(crate) verify_result: bool,
    pub(crate) client_ca_list: Option<String>,
    pub(crate) certificate_types: Vec<u8>,
    pub(crate) quic_parameters: Vec<u8>,
}

/// A certificate chain, its key, and its extensions.
#[derive(Clone, Default)]
pub(crate) struct CredentialOptions {
    /// A raw public key instead of a chain. RFC 7250
    pub(crate) raw_public_key: bool,
    pub(crate) cert_file: Option<String>,
    pub(crate) key_file: Option<String>,
    pub(crate) ocsp_response: Vec<u8>,
    pub(crate) signed_cert_timestamps: Vec<u8>,
    pub(crate) signing_prefs: Vec<u16>,
    pub(crate) must_match_issuer: bool,
    /// A pre-shared key instead of a certificate.
    pub(crate) psk: Option<PskOptions>,
}

/// A compliance policy, which restricts versions, suites, groups and signatures.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    Fips202205,
    Wpa202304,
    Cnsa202407,
    Cnsa1,
    Cnsa2,
}

/// The options of all connections of a test.
#[derive(Default)]
pub(crate) struct Plan {
    pub(crate) initial: Options,
    pub(crate) resume: Options,
    /// The options of a resuming client after its early data was rejected.
    pub(crate) retry: Options,
}

/// The reason why the flags cannot be applied.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unsupported {
    /// A flag or value for a feature that is not implemented.
    Unimplemented(String),
    /// Flags under which no value is left to offer, with BoringSSL's token.
    Refused(&'static str),
    /// Flags that the option `fips` does not allow, with the library's reason.
    NotFips(String),
    /// A flag whose value is missing or invalid.
    Malformed(String),
}

impl Plan {
    /// Parses the command line without the program's name.
    pub(crate) fn parse(arguments: &[Vec<u8>]) -> Result<Self, Unsupported> {
        let mut plan = Self::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let flag = String::from_utf8_lossy(argument).into_owned();
            let (name, times) = split_prefix(&flag);
            let kind = FLAGS.iter().find(|(known, _)| *known == name).map(|(_, kind)| kind);
            let Some(kind) = kind else { return Err(Unsupported::Unimplemented(flag)) };
            let value = match kind {
                Kind::Take(_) | Kind::IgnoreWithValue => {
                    rest.next().ok_or_else(|| Unsupported::Malformed(flag.clone()))?
                }
                Kind::Set(_) | Kind::Ignore => &Vec::new(),
            };
            let apply = |options: &mut Options| match kind {
                Kind::Set(set) => {
                    set(options);
                    Some(())
                }
                Kind::Take(take) => take(options, value),
                Kind::Ignore | Kind::IgnoreWithValue => Some(()),
            };
            let applied = match times {
                Connections::Always => apply(&mut plan.initial)
                    .and_then(|()| apply(&mut plan.resume))
                    .and_then(|()| apply(&mut plan.retry)),
                Connections::Initial => apply(&mut plan.initial),
                Connections::Resume => apply(&mut plan.resume),
                Connections::Retry => apply(&mut plan.retry),
                Connections::Never => Some(()),
            };
            applied.ok_or(Unsupported::Malformed(flag))?;
        }
        Ok(plan)
    }
}

/// The connections to which a flag applies.
#[derive(Clone, Copy)]
enum Connections {
    Always,
    Initial,
    Resume,
    Retry,
    Never,
}

/// The flag without its prefix.
fn split_prefix(flag: &str) -> (&str, Connections) {
    let behind = |prefix: &str| flag.strip_prefix(prefix).filter(|rest| rest.starts_with('-'));
    if let Some(name) = behind("-on-initial") {
        (name, Connections::Initial)
    } else if let Some(name) = behind("-on-resume") {
        (name, Connections::Resume)
    } else if let Some(name) = behind("-on-retry") {
        (name, Connections::Retry)
    } else if let Some(name) = behind("-on-shim") {
        (name, Connections::Always)
    } else if let Some(name) = behind("-on-handshaker") {
        (name, Connections::Never)
    } else {
        (flag, Connections::Always)
    }
}

impl Options {
    /// The initial writes, each in its own record.
    pub(crate) fn initial_writes(&self) -> Vec<Vec<u8>> {
        if !self.shim_writes_first && !self.read_with_unfinished_write {
            return Vec::new();
        }
        let word = self.shim_initial_write.clone().unwrap_or_else(|| b"hello".to_vec());
        vec![word; self.repeat_shim_initial_write.unwrap_or(1)]
    }

    /// The credential to which credential flags apply at this position of the command line.
    pub(crate) fn current(&mut self) -> &mut CredentialOptions {
        self.credentials.last_mut().unwrap_or(&mut self.credential)
    }
}

impl CredentialOptions {
    /// The key to which key flags apply.
    pub(crate) fn psk(&mut self) -> &mut PskOptions {
        self.psk.get_or_insert_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Plan, Unsupported> {
        let words: Vec<Vec<u8>> = line.split(' ').map(|word| word.as_bytes().to_vec()).collect();
        Plan::parse(&words)
    }

    #[test]
    fn a_prefix_selects_the_connection() {
        let line = "-server -on-initial-curves 29 -on-resume-curves 23 -on-retry-curves 24";
        let plan = parse(line).ok().unwrap();
        assert!(plan.initial.server && plan.resume.server && plan.retry.server);
        assert_eq!((plan.initial.curves, plan.resume.curves), (vec![29], vec![23]));
        assert_eq!(plan.retry.curves, [24]);
    }

    #[test]
    fn credential_flags_apply_to_the_last_credential() {
        let plan = parse("-cert-file a -new-x509-credential -cert-file b -must-match-issuer");
        let options = plan.ok().unwrap().initial;
        assert_eq!(options.credential.cert_file.as_deref(), Some("a"));
        assert_eq!(options.credentials[0].cert_file.as_deref(), Some("b"));
        assert!(options.credentials[0].must_match_issuer && !options.credential.must_match_issuer);
    }

    #[test]
    fn unknown_flags_and_malformed_values_differ() {
        let unsupported = |line| parse(line).err().unwrap();
        assert_eq!(unsupported("-dtls"), Unsupported::Unimplemented("-dtls".to_owned()));
        assert_eq!(
            unsupported("-on-retry-dtls"),
            Unsupported::Unimplemented("-on-retry-dtls".to_owned())
        );
        assert_eq!(unsupported("-port"), Unsupported::Malformed("-port".to_owned()));
        assert_eq!(unsupported("-port x"), Unsupported::Malformed("-port".to_owned()));
    }

    #[test]
    fn flags_for_the_split_handshake_helper_are_ignored() {
        let options =
            parse("-on-handshaker-cert-file x -on-shim-cert-file y").ok().unwrap().initial;
        assert_eq!(options.credential.cert_file.as_deref(), Some("y"));
    }
}
