//! The commands of SSL_CONF, and the elements of their lists.

use core::ffi::{c_int, c_uint};

use crate::settings::options as o;

pub(super) const FLAG_CMDLINE: c_uint = 1;
pub(super) const FLAG_FILE: c_uint = 2;
pub(super) const FLAG_CLIENT: c_uint = 4;
pub(super) const FLAG_SERVER: c_uint = 8;
pub(super) const FLAG_SHOW_ERRORS: c_uint = 0x10;
pub(super) const FLAG_CERTIFICATE: c_uint = 0x20;
pub(super) const FLAG_REQUIRE_PRIVATE: c_uint = 0x40;

pub(super) const TYPE_UNKNOWN: c_int = 0;
pub(super) const TYPE_STRING: c_int = 1;
pub(super) const TYPE_FILE: c_int = 2;
pub(super) const TYPE_FOLDER: c_int = 3;
pub(super) const TYPE_NONE: c_int = 4;
pub(super) const TYPE_STORE: c_int = 5;

/// The bits that a command or an element of a list sets.
#[derive(Clone, Copy)]
pub(super) enum Bits {
    Options(u64),
    Verify(c_int),
}

/// An element of a list, or a switch: its name, the sides that have it, whether it removes the
/// bits, and the bits.
pub(super) struct Flag(
    pub(super) &'static str,
    pub(super) c_uint,
    pub(super) bool,
    pub(super) Bits,
);

pub(super) const BOTH: c_uint = FLAG_CLIENT | FLAG_SERVER;

/// The option bits without a name in `options.rs`, because they have no effect here.
mod bit {
    pub(super) const NO_EXTENDED_MAIN_SECRET: u64 = 1;
    pub(super) const KTLS: u64 = 1 << 3;
    pub(super) const CLIENT_RENEGOTIATION: u64 = 1 << 8;
    pub(super) const ALLOW_NO_DHE_KEX: u64 = 1 << 10;
    pub(super) const NO_EMPTY_FRAGMENTS: u64 = 1 << 11;
    pub(super) const NO_RESUMPTION_ON_RENEGOTIATION: u64 = 1 << 16;
    pub(super) const NO_ENCRYPT_THEN_MAC: u64 = 1 << 19;
    pub(super) const NO_SSL3: u64 = 1 << 25;
    pub(super) const NO_TLS1: u64 = 1 << 26;
    pub(super) const NO_TLS1_1: u64 = 1 << 28;
    pub(super) const NO_RENEGOTIATION: u64 = 1 << 30;
    pub(super) const BUGS: u64 = 1 << 31 | NO_EMPTY_FRAGMENTS | 1 << 4 | 1 << 6;
}

const NO_ALL: u64 = bit::NO_SSL3 | bit::NO_TLS1 | bit::NO_TLS1_1 | o::NO_TLS1_2 | o::NO_TLS1_3;

/// A bit of the options of both sides.
const fn option(name: &'static str, bits: u64) -> Flag {
    Flag(name, BOTH, false, Bits::Options(bits))
}

/// A flag whose name removes the bits.
const fn inverted(name: &'static str, bits: u64) -> Flag {
    Flag(name, BOTH, true, Bits::Options(bits))
}

/// A flag that only servers have.
const fn of_server(name: &'static str, bits: u64) -> Flag {
    Flag(name, FLAG_SERVER, false, Bits::Options(bits))
}

static PROTOCOLS: &[Flag] = &[
    inverted("ALL", NO_ALL),
    inverted("SSLv2", 0),
    inverted("SSLv3", bit::NO_SSL3),
    inverted("TLSv1", bit::NO_TLS1),
    inverted("TLSv1.1", bit::NO_TLS1_1),
    inverted("TLSv1.2", o::NO_TLS1_2),
    inverted("TLSv1.3", o::NO_TLS1_3),
    // The versions of DTLS have the bits of TLS.
    inverted("DTLSv1", bit::NO_TLS1),
    inverted("DTLSv1.2", o::NO_TLS1_2),
];

static OPTIONS: &[Flag] = &[
    inverted("SessionTicket", o::NO_TICKET),
    inverted("EmptyFragments", bit::NO_EMPTY_FRAGMENTS),
    option("Bugs", bit::BUGS),
    inverted("Compression", o::NO_COMPRESSION),
    of_server("ServerPreference", o::CIPHER_SERVER_PREFERENCE),
    of_server("NoResumptionOnRenegotiation", bit::NO_RESUMPTION_ON_RENEGOTIATION),
    of_server("DHSingle", 0),
    of_server("ECDHSingle", 0),
    option("UnsafeLegacyRenegotiation", o::UNSAFE_LEGACY_RENEGOTIATION),
    option("UnsafeLegacyServerConnect", o::LEGACY_SERVER_CONNECT),
    option("ClientRenegotiation", bit::CLIENT_RENEGOTIATION),
    inverted("EncryptThenMac", bit::NO_ENCRYPT_THEN_MAC),
    option("NoRenegotiation", bit::NO_RENEGOTIATION),
    option("AllowNoDHEKEX", bit::ALLOW_NO_DHE_KEX),
    option("PrioritizeChaCha", o::PRIORITIZE_CHACHA),
    option("MiddleboxCompat", o::ENABLE_MIDDLEBOX_COMPAT),
    inverted("AntiReplay", o::NO_ANTI_REPLAY),
    inverted("ExtendedMasterSecret", bit::NO_EXTENDED_MAIN_SECRET),
    inverted("CANames", o::DISABLE_CA_NAMES),
    option("KTLS", bit::KTLS),
];

static VERIFY_MODES: &[Flag] = &[
    Flag("Peer", FLAG_CLIENT, false, Bits::Verify(o::VERIFY_PEER)),
    Flag("Request", FLAG_SERVER, false, Bits::Verify(o::VERIFY_PEER)),
    Flag("Require", FLAG_SERVER, false, Bits::Verify(REQUIRE)),
    Flag("Once", FLAG_SERVER, false, Bits::Verify(o::VERIFY_PEER | o::VERIFY_CLIENT_ONCE)),
    Flag("RequestPostHandshake", FLAG_SERVER, false, Bits::Verify(REQUEST_LATE)),
    Flag("RequirePostHandshake", FLAG_SERVER, false, Bits::Verify(REQUEST_LATE | REQUIRE)),
];

const REQUIRE: c_int = o::VERIFY_PEER | o::VERIFY_FAIL_IF_NO_PEER_CERT;
const REQUEST_LATE: c_int = o::VERIFY_PEER | o::VERIFY_POST_HANDSHAKE;

/// The effect of a command.
#[derive(Clone, Copy)]
pub(super) enum Command {
    Switch(Bits, bool),
    /// Stricter checks of the own chain, which are not supported.
    Strict,
    List(&'static [Flag]),
    Schemes,
    ClientSchemes,
    Groups,
    OneGroup,
    Ciphers,
    Suites,
    MinVersion,
    MaxVersion,
    Certificate,
    PrivateKey,
    ServerInfo,
    ChainStore,
    VerifyStore,
    Authorities,
    DhParameters,
    Padding,
    Tickets,
}

/// A command: its name in files, its name on command lines, the flags that it needs, the type of
/// its value, and its effect.
pub(super) struct Row {
    pub(super) file: &'static str,
    pub(super) line: &'static str,
    pub(super) needs: c_uint,
    pub(super) value: c_int,
    pub(super) command: Command,
}

const fn switch(line: &'static str, needs: c_uint, bits: u64, inverted: bool) -> Row {
    let command = Command::Switch(Bits::Options(bits), inverted);
    Row { file: "", line, needs, value: TYPE_NONE, command }
}

const fn row(
    file: &'static str,
    line: &'static str,
    needs: c_uint,
    value: c_int,
    command: Command,
) -> Row {
    Row { file, line, needs, value, command }
}

const CERTIFICATE: c_uint = FLAG_CERTIFICATE;
const OF_SERVER: c_uint = FLAG_CERTIFICATE | FLAG_SERVER;

pub(super) static COMMANDS: &[Row] = &[
    switch("no_ssl3", 0, bit::NO_SSL3, false),
    switch("no_tls1", 0, bit::NO_TLS1, false),
    switch("no_tls1_1", 0, bit::NO_TLS1_1, false),
    switch("no_tls1_2", 0, o::NO_TLS1_2, false),
    switch("no_tls1_3", 0, o::NO_TLS1_3, false),
    switch("bugs", 0, bit::BUGS, false),
    switch("no_comp", 0, o::NO_COMPRESSION, false),
    switch("comp", 0, o::NO_COMPRESSION, true),
    switch("ecdh_single", FLAG_SERVER, 0, false),
    switch("no_ticket", 0, o::NO_TICKET, false),
    switch("serverpref", FLAG_SERVER, o::CIPHER_SERVER_PREFERENCE, false),
    switch("legacy_renegotiation", 0, o::UNSAFE_LEGACY_RENEGOTIATION, false),
    switch("client_renegotiation", FLAG_SERVER, bit::CLIENT_RENEGOTIATION, false),
    switch("legacy_server_connect", FLAG_CLIENT, o::LEGACY_SERVER_CONNECT, false),
    switch("no_renegotiation", 0, bit::NO_RENEGOTIATION, false),
    switch("no_resumption_on_reneg", FLAG_SERVER, bit::NO_RESUMPTION_ON_RENEGOTIATION, false),
    switch("no_legacy_server_connect", FLAG_CLIENT, o::LEGACY_SERVER_CONNECT, true),
    switch("allow_no_dhe_kex", 0, bit::ALLOW_NO_DHE_KEX, false),
    switch("prioritize_chacha", FLAG_SERVER, o::PRIORITIZE_CHACHA, false),
    row("", "strict", 0, TYPE_NONE, Command::Strict),
    switch("no_middlebox", 0, o::ENABLE_MIDDLEBOX_COMPAT, true),
    switch("anti_replay", FLAG_SERVER, o::NO_ANTI_REPLAY, true),
    switch("no_anti_replay", FLAG_SERVER, o::NO_ANTI_REPLAY, false),
    switch("no_etm", 0, bit::NO_ENCRYPT_THEN_MAC, false),
    row("SignatureAlgorithms", "sigalgs", 0, TYPE_STRING, Command::Schemes),
    row("ClientSignatureAlgorithms", "client_sigalgs", 0, TYPE_STRING, Command::ClientSchemes),
    row("Curves", "curves", 0, TYPE_STRING, Command::Groups),
    row("Groups", "groups", 0, TYPE_STRING, Command::Groups),
    row("ECDHParameters", "named_curve", FLAG_SERVER, TYPE_STRING, Command::OneGroup),
    row("CipherString", "cipher", 0, TYPE_STRING, Command::Ciphers),
    row("Ciphersuites", "ciphersuites", 0, TYPE_STRING, Command::Suites),
    row("Protocol", "", 0, TYPE_STRING, Command::List(PROTOCOLS)),
    row("MinProtocol", "min_protocol", 0, TYPE_STRING, Command::MinVersion),
    row("MaxProtocol", "max_protocol", 0, TYPE_STRING, Command::MaxVersion),
    row("Options", "", 0, TYPE_STRING, Command::List(OPTIONS)),
    row("VerifyMode", "", 0, TYPE_STRING, Command::List(VERIFY_MODES)),
    row("Certificate", "cert", CERTIFICATE, TYPE_FILE, Command::Certificate),
    row("PrivateKey", "key", CERTIFICATE, TYPE_FILE, Command::PrivateKey),
    row("ServerInfoFile", "", OF_SERVER, TYPE_FILE, Command::ServerInfo),
    row("ChainCAPath", "chainCApath", CERTIFICATE, TYPE_FOLDER, Command::ChainStore),
    row("ChainCAFile", "chainCAfile", CERTIFICATE, TYPE_FILE, Command::ChainStore),
    row("ChainCAStore", "chainCAstore", CERTIFICATE, TYPE_STORE, Command::ChainStore),
    row("VerifyCAPath", "verifyCApath", CERTIFICATE, TYPE_FOLDER, Command::VerifyStore),
    row("VerifyCAFile", "verifyCAfile", CERTIFICATE, TYPE_FILE, Command::VerifyStore),
    row("VerifyCAStore", "verifyCAstore", CERTIFICATE, TYPE_STORE, Command::VerifyStore),
    row("RequestCAFile", "requestCAFile", CERTIFICATE, TYPE_FILE, Command::Authorities),
    row("ClientCAFile", "", OF_SERVER, TYPE_FILE, Command::Authorities),
    row("RequestCAPath", "", CERTIFICATE, TYPE_FOLDER, Command::Authorities),
    row("ClientCAPath", "", OF_SERVER, TYPE_FOLDER, Command::Authorities),
    row("RequestCAStore", "requestCAStore", CERTIFICATE, TYPE_STORE, Command::Authorities),
    row("ClientCAStore", "", OF_SERVER, TYPE_STORE, Command::Authorities),
    row("DHParameters", "dhparam", OF_SERVER, TYPE_FILE, Command::DhParameters),
    row("RecordPadding", "record_padding", 0, TYPE_STRING, Command::Padding),
    row("NumTickets", "num_tickets", FLAG_SERVER, TYPE_STRING, Command::Tickets),
];
