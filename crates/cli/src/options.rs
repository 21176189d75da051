//! Options that `serve`, `connect` and `load` share, and the parsing of name lists.
//!
//! The names in the help are those that the library supports, so the help cannot become outdated.

use std::fmt::Debug;
use std::net::{Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tercel::crypto::Kernel;
use tercel::wire::{CipherSuite, NamedGroup, ProtocolVersion};
use tercel::{
    ClientConfig, Policy,
    certificates::{AcceptAnyPeer, CompressCertificate},
    client::ClientConfigBuilder,
};

use crate::explain::UsageError;

/// Options of TLS, for both sides.
#[derive(Args, Debug)]
pub(crate) struct TlsOptions {
    /// Enable TLS 1.2; TLS 1.3 is then enabled only with --tls1.3
    #[arg(long = "tls1.2")]
    pub(crate) tls12: bool,

    /// Enable TLS 1.3; TLS 1.2 is then enabled only with --tls1.2
    #[arg(long = "tls1.3")]
    pub(crate) tls13: bool,

    /// Key exchange groups in order of preference, separated by `:` or `,`
    #[arg(long, value_name = "NAMES", value_parser = groups)]
    pub(crate) groups: Option<List<NamedGroup>>,

    /// Cipher suites of both versions in order of preference, separated by `:` or `,`
    #[arg(long, value_name = "NAMES", value_parser = suites)]
    pub(crate) suites: Option<List<CipherSuite>>,

    /// Application protocols (ALPN) in order of preference, separated by `:` or `,`
    #[arg(long, value_name = "NAMES", value_parser = protocols)]
    pub(crate) alpn: Option<List<String>>,

    /// Request the peer to limit records to this many bytes, 64 to 16385
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u16).range(64..=16385))]
    pub(crate) record_size_limit: Option<u16>,

    /// Accept compressed certificates from the peer (TLS 1.3)
    #[arg(long)]
    pub(crate) compressed_certificates: bool,

    /// Certificate compression algorithms in order of preference: brotli, zlib; separated by `:`
    /// or `,` (TLS 1.3)
    ///
    /// By default this side's certificates are compressed with brotli, and the peer's may be
    /// compressed with either. Some clients cannot decompress other implementations' zlib streams.
    #[arg(long, value_name = "NAMES", value_parser = compressions)]
    pub(crate) certificate_compression: Option<List<Compression>>,

    /// Do not use vector instructions to hash several messages in parallel
    #[arg(long)]
    pub(crate) no_hash_lanes: bool,

    /// Kernels for AVX-512 not to use: aes-gcm, chacha20-poly1305, rsa-2048, or all; separated by
    /// `:` or `,`
    #[arg(long, value_name = "NAMES", value_parser = kernels)]
    pub(crate) no_kernels: Option<List<Kernel>>,

    /// Use only approved cryptography of AWS-LC's FIPS module; requires a build with the feature
    /// fips
    ///
    /// Fails at the start if another option is not approved. `connect` then sends no random
    /// contents in place of Encrypted ClientHello.
    #[arg(long)]
    pub(crate) fips: bool,

    /// Append TLS secrets to this file, in the NSS key log format
    #[arg(long, value_name = "FILE")]
    pub(crate) key_log: Option<PathBuf>,
}

/// A certificate compression algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Compression {
    Brotli,
    Zlib,
}

impl Compression {
    const ALL: [(&str, Self); 2] = [("brotli", Self::Brotli), ("zlib", Self::Zlib)];

    pub(crate) fn algorithm(self) -> Arc<dyn CompressCertificate> {
        match self {
            Self::Brotli => Arc::new(tercel::certificates::Brotli),
            Self::Zlib => Arc::new(tercel::certificates::Zlib),
        }
    }
}

/// A list given as one argument.
///
/// This is a separate type, because the parser treats a `Vec` as an option that may be repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct List<T>(pub(crate) Vec<T>);

impl TlsOptions {
    /// The enabled versions; all of them if no version was selected.
    pub(crate) fn versions(&self) -> Vec<ProtocolVersion> {
        let all = [(ProtocolVersion::TLS1_3, self.tls13), (ProtocolVersion::TLS1_2, self.tls12)];
        let unrestricted = !self.tls12 && !self.tls13;
        all.into_iter().filter(|(_, named)| *named || unrestricted).map(|(v, _)| v).collect()
    }
}

/// Applies the shared options to a builder of either side. A macro is used, because the two
/// builders have the same setters but no common trait. The value is a `Result`, since suites and
/// files can be invalid.
macro_rules! apply {
    ($options:expr, $builder:expr) => {{
        let options: &$crate::options::TlsOptions = $options;
        if options.no_hash_lanes {
            tercel::crypto::use_hash_lanes(false);
        }
        for kernel in options.no_kernels.iter().flat_map(|list| &list.0) {
            tercel::crypto::use_kernel(*kernel, false);
        }
        let mut builder = $builder.versions(&options.versions()).fips(options.fips);
        if let Some(groups) = &options.groups {
            builder = builder.groups(&groups.0);
        }
        if let Some(bytes) = options.record_size_limit {
            builder = builder.record_size_limit(bytes);
        }
        builder = builder.offer_certificate_compression(options.compressed_certificates);
        if let Some(names) = &options.certificate_compression {
            let algorithms = names.0.iter().map(|name| name.algorithm()).collect();
            builder = builder.certificate_compression(algorithms);
        }
        if let Some(log) = $crate::credential_files::key_log(options.key_log.as_deref())? {
            builder = builder.key_log(log);
        }
        if let Some(suites) = &options.suites {
            builder = builder.cipher_suites(&suites.0);
        }
        builder
    }};
}
pub(crate) use apply;

/// Refuses `--http3` in a build without HTTP/3, and without TLS 1.3, which QUIC needs. RFC 9001 4.2
pub(crate) fn check_http3(options: &TlsOptions) -> Result<(), UsageError> {
    if !cfg!(feature = "http3") {
        return Err(UsageError::new("--http3: tercel was built without HTTP/3 (feature http3)"));
    }
    if !options.versions().contains(&ProtocolVersion::TLS1_3) {
        return Err(UsageError::new("--http3 needs TLS 1.3: add --tls1.3, or omit --tls1.2"));
    }
    Ok(())
}

/// Parses a whole number of seconds, at least one.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(seconds @ 1..=86_400) => Ok(Duration::from_secs(seconds)),
        _ => Err("must be a whole number of seconds from 1 to 86400".to_owned()),
    }
}

/// Parses an address to listen on; `:PORT` means all IPv4 and IPv6 addresses.
pub(crate) fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let wrong = || "must be ADDRESS:PORT or :PORT, for example 127.0.0.1:8443 or :8443".to_owned();
    match text.strip_prefix(':') {
        Some(port) => {
            let port = port.parse().map_err(|_| wrong())?;
            Ok(SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)))
        }
        None => text.parse().map_err(|_| wrong()),
    }
}

fn groups(text: &str) -> Result<List<NamedGroup>, String> {
    named(text, "group", NamedGroup::NAMED, NamedGroup::from_name, |group| {
        any_server().groups(&[group]).build().is_ok()
    })
}

fn suites(text: &str) -> Result<List<CipherSuite>, String> {
    named(text, "cipher suite", CipherSuite::NAMED, CipherSuite::from_name, |suite| {
        any_server().cipher_suites(&[suite]).build().is_ok()
    })
}

/// A builder without missing options, to check a single option.
fn any_server() -> ClientConfigBuilder {
    ClientConfig::builder().verifier(Policy::Here(Arc::new(AcceptAnyPeer)))
}

/// An empty argument selects no protocol.
pub(crate) fn protocols(text: &str) -> Result<List<String>, String> {
    if text.is_empty() {
        return Ok(List(Vec::new()));
    }
    let names: Vec<String> = text.split(SEPARATORS).map(str::to_owned).collect();
    if names.iter().any(|name| name.is_empty() || name.len() > 255) {
        return Err("a protocol name must have 1 to 255 bytes".to_owned());
    }
    Ok(List(names))
}

/// An empty argument disables compression.
fn compressions(text: &str) -> Result<List<Compression>, String> {
    let mut list = Vec::new();
    for name in text.split(SEPARATORS).filter(|_| !text.is_empty()) {
        let known = Compression::ALL.into_iter().find(|(known, _)| *known == name.trim());
        let (_, value) = known.ok_or_else(|| {
            format!("unknown compression algorithm `{name}`; available: brotli, zlib")
        })?;
        if !list.contains(&value) {
            list.push(value);
        }
    }
    Ok(List(list))
}

/// Parses names of kernels; `all` means every kernel.
pub(crate) fn kernels(text: &str) -> Result<List<Kernel>, String> {
    let mut list = Vec::new();
    for name in text.split(SEPARATORS).map(str::trim) {
        let is_meant = |kernel: &Kernel| name == "all" || name == kernel.name();
        let before = list.len();
        list.extend(Kernel::ALL.iter().filter(|kernel| is_meant(kernel)));
        if list.len() == before {
            let names: Vec<_> = Kernel::ALL.iter().map(|kernel| kernel.name()).collect();
            return Err(format!("unknown kernel `{name}`; available: {}, all", names.join(", ")));
        }
    }
    Ok(List(list))
}

/// Parses names that are both registered and implemented. The error for any other name lists all of
/// these names.
fn named<T: Copy + PartialEq + Debug>(
    text: &str,
    kind: &str,
    registered: &[T],
    from_name: fn(&str) -> Option<T>,
    implemented: fn(T) -> bool,
) -> Result<List<T>, String> {
    let mut list = Vec::new();
    for name in text.split(SEPARATORS) {
        let Some(value) = from_name(name.trim()).filter(|value| implemented(*value)) else {
            let known = registered.iter().copied().filter(|value| implemented(*value));
            let known: Vec<String> = known.map(|value| format!("{value:?}")).collect();
            return Err(format!("unknown {kind} `{name}`; available: {}", known.join(", ")));
        };
        // Repetitions are ignored.
        if !list.contains(&value) {
            list.push(value);
        }
    }
    Ok(List(list))
}

const SEPARATORS: [char; 2] = [':', ','];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_keep_their_order_with_any_separator_and_spelling() {
        let expected = List(vec![NamedGroup::SECP256R1, NamedGroup::X25519MLKEM768]);
        assert_eq!(groups("secp256r1:X25519MLKEM768").as_ref(), Ok(&expected));
        assert_eq!(groups("SECP256R1, x25519mlkem768,secp256r1").as_ref(), Ok(&expected));
        let suite = List(vec![CipherSuite::TLS_AES_128_GCM_SHA256]);
        assert_eq!(suites("tls_aes_128_gcm_sha256"), Ok(suite));
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_available_ones() {
        let message = groups("x25519:nonesuch").unwrap_err();
        assert!(message.contains("`nonesuch`") && message.contains("secp384r1"), "{message}");
        let message = suites("RC4").unwrap_err();
        assert!(message.contains("TLS_CHACHA20_POLY1305_SHA256"), "{message}");
        assert!(groups("").is_err());
    }

    #[test]
    fn registered_but_unimplemented_names_are_unknown() {
        let message = groups("x448").unwrap_err();
        assert!(!message.contains("ffdhe2048"), "{message}");
        assert!(suites("TLS_FALLBACK_SCSV").is_err());
    }

    #[test]
    fn protocols_may_be_none() {
        assert_eq!(protocols(""), Ok(List(Vec::new())));
        let two = List(vec!["h2".to_owned(), "http/1.1".to_owned()]);
        assert_eq!(protocols("h2,http/1.1"), Ok(two));
        assert!(protocols("h2,,x").is_err());
    }

    #[test]
    fn compressions_keep_their_order_and_may_be_none() {
        let both = List(vec![Compression::Zlib, Compression::Brotli]);
        assert_eq!(compressions("zlib:brotli,zlib"), Ok(both));
        assert_eq!(compressions(""), Ok(List(Vec::new())));
        let message = compressions("zlib:gzip").unwrap_err();
        assert!(message.contains("`gzip`") && message.contains("brotli"), "{message}");
    }

    fn options(tls12: bool, tls13: bool) -> TlsOptions {
        TlsOptions {
            tls12,
            tls13,
            groups: None,
            suites: None,
            alpn: None,
            record_size_limit: None,
            compressed_certificates: false,
            certificate_compression: None,
            no_hash_lanes: false,
            no_kernels: None,
            fips: false,
            key_log: None,
        }
    }

    #[test]
    fn hash_lanes_can_be_switched_off() {
        use tercel::crypto::{HashLanes, hash_lanes, use_hash_lanes};
        let build = |options: &TlsOptions| {
            let builder = apply!(options, ClientConfig::builder());
            anyhow::Ok(builder.verifier(Policy::Here(Arc::new(AcceptAnyPeer))).build()?)
        };
        let found = hash_lanes();
        build(&options(false, false)).unwrap();
        assert_eq!(hash_lanes(), found);
        build(&TlsOptions { no_hash_lanes: true, ..options(false, false) }).unwrap();
        assert_eq!(hash_lanes(), HashLanes::None);
        use_hash_lanes(true);
        #[cfg(not(feature = "hash-lanes"))]
        assert_eq!(found, HashLanes::None);
    }

    #[test]
    fn kernels_can_be_switched_off() {
        use tercel::crypto::{KernelState, kernel_state, use_kernel};
        // Another kernel than those of other tests, which run at the same time.
        let kernel = Kernel::ChaCha20Poly1305;
        let found = kernel_state(kernel);
        let options = TlsOptions {
            no_kernels: Some(kernels("chacha20-poly1305").unwrap()),
            ..options(false, false)
        };
        let build = || anyhow::Ok(apply!(&options, ClientConfig::builder()));
        build().unwrap();
        let off = match found {
            KernelState::NotBuilt => KernelState::NotBuilt,
            _ => KernelState::Off,
        };
        assert_eq!(kernel_state(kernel), off);
        use_kernel(kernel, true);
        #[cfg(not(feature = "chacha20-poly1305-kernel"))]
        assert_eq!(found, KernelState::NotBuilt);
    }

    #[test]
    fn kernels_have_names() {
        let two = List(vec![Kernel::Rsa2048, Kernel::AesGcm]);
        assert_eq!(kernels("rsa-2048, aes-gcm"), Ok(two));
        assert_eq!(kernels("all"), Ok(List(Kernel::ALL.to_vec())));
        for wrong in ["", "aes", "aes-gcm:", "none"] {
            let message = kernels(wrong).unwrap_err();
            assert!(message.ends_with("aes-gcm, chacha20-poly1305, rsa-2048, all"), "{message}");
        }
    }

    #[test]
    fn versions_restrict_to_those_named() {
        let (new, old) = (ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2);
        assert_eq!(options(false, false).versions(), [new, old]);
        assert_eq!(options(true, true).versions(), [new, old]);
        assert_eq!(options(true, false).versions(), [old]);
        assert_eq!(options(false, true).versions(), [new]);
    }

    #[test]
    fn a_port_alone_means_all_addresses() {
        assert_eq!(listen_address(":8443"), Ok("[::]:8443".parse().unwrap()));
        assert_eq!(listen_address("127.0.0.1:0"), Ok("127.0.0.1:0".parse().unwrap()));
        for wrong in ["8443", "localhost:8443", ":", ":99999", "127.0.0.1", ""] {
            assert!(listen_address(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn time_limits_are_whole_seconds() {
        assert_eq!(seconds("30"), Ok(Duration::from_secs(30)));
        assert!(seconds("0").is_err() && seconds("1.5").is_err() && seconds("-1").is_err());
    }
}
