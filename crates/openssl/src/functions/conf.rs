//! SSL_CONF: settings by name, of a context or a connection.

use core::cell::Cell;
use core::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::Arc;

use super::context_credentials::{use_chain, use_key};
use super::text;
use crate::ciphers::{groups, schemes, string};
use crate::connection::Ssl;
use crate::context::Context;
use crate::context::files::{FILETYPE_PEM, read_chain, read_key};
use crate::entry::{Object, functions, give, take};
use crate::errors::{self, reasons};
use crate::method;
use crate::objects::store::Store;
use crate::settings::Settings;
use crate::settings::options as o;

const FLAG_CMDLINE: c_uint = 1;
const FLAG_FILE: c_uint = 2;
const FLAG_SHOW_ERRORS: c_uint = 0x10;
const FLAG_CERTIFICATE: c_uint = 0x20;

const TYPE_UNKNOWN: c_int = 0;
const TYPE_STRING: c_int = 1;
const TYPE_FILE: c_int = 2;
const TYPE_NONE: c_int = 4;

/// A context of settings by name.
#[derive(Default)]
pub(crate) struct Configuration {
    flags: Cell<c_uint>,
    prefix: core::cell::RefCell<String>,
    context: core::cell::RefCell<Option<Arc<Context>>>,
    ssl: core::cell::RefCell<Option<Arc<Ssl>>>,
}

impl Object for Configuration {}

functions! {
    fn SSL_CONF_CTX_new(;) -> *mut Configuration = core::ptr::null_mut() => {
        // As with a connection.
        #[allow(clippy::arc_with_non_send_sync)]
        give(Arc::new(Configuration::default()))
    }
    fn SSL_CONF_CTX_free(; configuration: *mut Configuration) -> () = () => {
        // SAFETY: the caller's duty.
        drop(unsafe { take(configuration) });
    }
    fn SSL_CONF_CTX_finish(_configuration: &Configuration;) -> c_int = 0 => {
        1
    }
    fn SSL_CONF_CTX_set_flags(configuration: &Configuration; flags: c_uint) -> c_uint = 0 => {
        configuration.flags.set(configuration.flags.get() | flags);
        configuration.flags.get()
    }
    fn SSL_CONF_CTX_clear_flags(configuration: &Configuration; flags: c_uint) -> c_uint = 0 => {
        configuration.flags.set(configuration.flags.get() & !flags);
        configuration.flags.get()
    }
    fn SSL_CONF_CTX_set1_prefix(configuration: &Configuration; prefix: *const c_char) -> c_int = 0 => {
        // SAFETY: the caller's duty.
        let prefix = unsafe { text(prefix) }.map(|prefix| prefix.to_string_lossy().into_owned());
        configuration.prefix.replace(prefix.unwrap_or_default());
        1
    }
    fn SSL_CONF_CTX_set_ssl_ctx(configuration: &Configuration; context: *mut Context) -> () = () => {
        // SAFETY: the caller's duty.
        let old = configuration.context.replace(unsafe { crate::entry::object(context) });
        drop(old);
    }
    fn SSL_CONF_CTX_set_ssl(configuration: &Configuration; ssl: *mut Ssl) -> () = () => {
        // SAFETY: the caller's duty.
        let old = configuration.ssl.replace(unsafe { crate::entry::object(ssl) });
        drop(old);
    }
    fn SSL_CONF_cmd(configuration: &Configuration; name: *const c_char, value: *const c_char)
        -> c_int = 0 => {
        // SAFETY: the caller's duty.
        let (name, value) = unsafe { (text(name), text(value)) };
        let name = name.and_then(|name| name.to_str().ok()).unwrap_or_default();
        let value = value.and_then(|value| value.to_str().ok());
        configuration.apply(name, value)
    }
    fn SSL_CONF_cmd_argv(_configuration: &Configuration; _count: *mut c_int, _arguments: *mut c_void)
        -> c_int = 0 => {
        0
    }
    fn SSL_CONF_cmd_value_type(configuration: &Configuration; name: *const c_char)
        -> c_int = TYPE_UNKNOWN => {
        // SAFETY: the caller's duty.
        let name = unsafe { text(name) }.and_then(|name| name.to_str().ok()).unwrap_or_default();
        match configuration.command(name) {
            Some("certificate" | "privatekey" | "chaincafile" | "verifycafile" | "clientcafile" | "dhparameters") => TYPE_FILE,
            Some("no_tls1_3" | "no_tls1_2" | "serverpref" | "no_ticket") => TYPE_NONE,
            Some(_) => TYPE_STRING,
            None => TYPE_UNKNOWN,
        }
    }
}

/// Each command: its name in files, its name on command lines, and how it is known here.
const COMMANDS: &[(&str, &str, &str)] = &[
    ("CipherString", "cipher", "cipher"),
    ("Ciphersuites", "ciphersuites", "ciphersuites"),
    ("Groups", "groups", "groups"),
    ("Curves", "curves", "groups"),
    ("SignatureAlgorithms", "sigalgs", "sigalgs"),
    ("ClientSignatureAlgorithms", "client_sigalgs", "client_sigalgs"),
    ("MinProtocol", "min_protocol", "min"),
    ("MaxProtocol", "max_protocol", "max"),
    ("Protocol", "", "protocol"),
    ("Options", "", "options"),
    ("VerifyMode", "", "verify"),
    ("Certificate", "cert", "certificate"),
    ("PrivateKey", "key", "privatekey"),
    ("ChainCAFile", "chainCAfile", "chaincafile"),
    ("VerifyCAFile", "verifyCAfile", "verifycafile"),
    ("ClientCAFile", "requestCAfile", "clientcafile"),
    ("DHParameters", "dhparam", "dhparameters"),
    ("ECDHParameters", "named_curve", "curve"),
    ("NumTickets", "num_tickets", "tickets"),
    ("RecordPadding", "record_padding", "ignored"),
    ("", "no_tls1_3", "no_tls1_3"),
    ("", "no_tls1_2", "no_tls1_2"),
    ("", "no_tls1_1", "ignored"),
    ("", "no_tls1", "ignored"),
    ("", "no_ssl3", "ignored"),
    ("", "serverpref", "serverpref"),
    ("", "no_ticket", "no_ticket"),
    ("", "comp", "ignored"),
    ("", "no_comp", "ignored"),
    ("", "legacy_renegotiation", "ignored"),
    ("", "no_renegotiation", "ignored"),
];

impl Configuration {
    /// Settings of a file for a context. `may_load`: also its certificates and keys.
    pub(super) fn of_context(context: &Arc<Context>, may_load: bool) -> Self {
        let flags = if may_load { FLAG_FILE | FLAG_CERTIFICATE } else { FLAG_FILE };
        Self {
            flags: Cell::new(flags),
            context: Some(Arc::clone(context)).into(),
            ..Self::default()
        }
    }

    /// Settings of a file for a connection.
    pub(super) fn of_connection(ssl: &Arc<Ssl>) -> Self {
        let flags = Cell::new(FLAG_FILE | FLAG_CERTIFICATE);
        Self { flags, ssl: Some(Arc::clone(ssl)).into(), ..Self::default() }
    }

    /// The command of this name, with the prefix that is set.
    fn command(&self, name: &str) -> Option<&'static str> {
        let prefix = self.prefix.borrow();
        let is_command_line = self.flags.get() & FLAG_CMDLINE != 0;
        let name = match (prefix.as_str(), is_command_line) {
            ("", true) => name.strip_prefix('-')?,
            (prefix, true) => name.strip_prefix(prefix)?,
            (prefix, false) => {
                let head = name.get(..prefix.len())?;
                name.get(prefix.len()..).filter(|_| head.eq_ignore_ascii_case(prefix))?
            }
        };
        let is_file = self.flags.get() & FLAG_FILE != 0;
        let fits = |row: &&(&str, &str, &'static str)| {
            (is_file && !row.0.is_empty() && row.0.eq_ignore_ascii_case(name))
                || (is_command_line && !row.1.is_empty() && row.1 == name)
        };
        COMMANDS.iter().find(fits).map(|row| row.2)
    }

    /// Applies a command: 2 if its value was used, 1 if it has none, 0 or less for an error.
    pub(super) fn apply(&self, name: &str, value: Option<&str>) -> c_int {
        let show = |reason| {
            if self.flags.get() & FLAG_SHOW_ERRORS != 0 {
                errors::push_with(
                    reason,
                    &format!("cmd={name}, value={}", value.unwrap_or_default()),
                );
            }
        };
        let Some(command) = self.command(name) else {
            show(reasons::UNKNOWN_CMD_NAME);
            return -2;
        };
        let takes_value = !["no_tls1_3", "no_tls1_2", "serverpref", "no_ticket"].contains(&command);
        let Some(value) =
            value.or(if takes_value && command != "ignored" { None } else { Some("") })
        else {
            return -3;
        };
        let may_load = self.flags.get() & FLAG_CERTIFICATE != 0;
        let change = |settings: &mut Settings| set(settings, command, value, may_load);
        // A clone counts a reference, so that nothing is borrowed during the change.
        let (context, ssl) = (self.context.borrow().clone(), self.ssl.borrow().clone());
        let done = match (context, ssl) {
            (Some(context), _) => context.change(change),
            (None, Some(ssl)) => ssl.change(change),
            (None, None) => Some(()),
        };
        match done {
            Some(()) if takes_value => 2,
            Some(()) => 1,
            None => {
                show(reasons::BAD_VALUE);
                0
            }
        }
    }
}

fn set(settings: &mut Settings, command: &str, value: &str, may_load: bool) -> Option<()> {
    let file = || std::ffi::CString::new(value).ok();
    let password = settings.callbacks.password;
    match command {
        "cipher" => {
            let selected = string::select(value)?;
            settings.suites12 = selected.suites;
            settings.security_level = selected.security_level.unwrap_or(settings.security_level);
        }
        "ciphersuites" => settings.suites13 = string::select_tls13(value)?,
        "groups" => settings.groups = Some(groups::from_names(value)?),
        // The automatic selection is what is done in any case.
        "curve" if matches!(value, "auto" | "automatic" | "+automatic") => {}
        "curve" => settings.groups = Some(groups::from_names(value)?),
        "sigalgs" => settings.schemes = Some(schemes::from_names(value)?),
        "client_sigalgs" => settings.client_schemes = Some(schemes::from_names(value)?),
        // Versions of DTLS limit other methods.
        "min" | "max" if value.starts_with("DTLS") => {}
        "min" => settings.min_version = version(value)?,
        "max" => settings.max_version = version(value)?,
        "protocol" => protocols(settings, value)?,
        "options" => options(settings, value)?,
        "verify" => {
            settings.verify_mode = value.split(',').try_fold(0, |mode, name| {
                Some(
                    mode | match name.trim() {
                        "Peer" | "Request" => o::VERIFY_PEER,
                        "Require" => o::VERIFY_PEER | o::VERIFY_FAIL_IF_NO_PEER_CERT,
                        "Once" => o::VERIFY_PEER | 4,
                        "RequestPostHandshake" => o::VERIFY_PEER | o::VERIFY_POST_HANDSHAKE,
                        _ => return None,
                    },
                )
            })?;
        }
        "certificate" if may_load => {
            let (leaf, chain) = read_chain(&file()?, password)?;
            use_chain(settings, leaf, chain);
        }
        "privatekey" if may_load => {
            let key = read_key(&file()?, FILETYPE_PEM, password)?;
            return (use_key(settings, key) == 1).then_some(());
        }
        "chaincafile" | "verifycafile" if may_load => {
            let store = Store::new()?;
            let file = file()?;
            // SAFETY: the store exists, and the name ends with a NUL.
            let loaded =
                unsafe { crate::sys::x509::X509_STORE_load_file(store.as_ptr(), file.as_ptr()) };
            if loaded != 1 {
                return None;
            }
            match command {
                "chaincafile" => settings.chain_store = Some(store),
                _ => settings.verify_store = Some(store),
            }
        }
        "tickets" => settings.tickets = value.parse().ok()?,
        "no_tls1_3" => settings.options |= o::NO_TLS1_3,
        "no_tls1_2" => settings.options |= o::NO_TLS1_2,
        "no_ticket" => settings.options |= o::NO_TICKET,
        "serverpref" => settings.options |= o::CIPHER_SERVER_PREFERENCE,
        _ => {}
    }
    Some(())
}

fn version(name: &str) -> Option<c_int> {
    Some(match name {
        "None" => 0,
        "SSLv3" => 0x0300,
        "TLSv1" => method::TLS1,
        "TLSv1.1" => method::TLS1_1,
        "TLSv1.2" => method::TLS1_2,
        "TLSv1.3" => method::TLS1_3,
        _ => return None,
    })
}

/// Applies a list such as `-ALL,TLSv1.2`.
fn protocols(settings: &mut Settings, list: &str) -> Option<()> {
    for name in list.split(',').map(str::trim) {
        let (on, name) = match name.as_bytes().first()? {
            b'-' => (false, name.get(1..)?),
            b'+' => (true, name.get(1..)?),
            _ => (true, name),
        };
        let bits = match name {
            "ALL" => o::NO_TLS1_2 | o::NO_TLS1_3,
            "TLSv1.2" => o::NO_TLS1_2,
            "TLSv1.3" => o::NO_TLS1_3,
            "SSLv2" | "SSLv3" | "TLSv1" | "TLSv1.1" => 0,
            _ => return None,
        };
        settings.options = if on { settings.options & !bits } else { settings.options | bits };
    }
    Some(())
}

/// Applies a list such as `ServerPreference,-SessionTicket`.
fn options(settings: &mut Settings, list: &str) -> Option<()> {
    for name in list.split(',').map(str::trim) {
        let (on, name) = match name.as_bytes().first()? {
            b'-' => (false, name.get(1..)?),
            b'+' => (true, name.get(1..)?),
            _ => (true, name),
        };
        // The second value says whether the option removes the bit.
        let (bit, inverted) = match name {
            "SessionTicket" => (o::NO_TICKET, true),
            "ServerPreference" => (o::CIPHER_SERVER_PREFERENCE, false),
            "MiddleboxCompat" => (o::ENABLE_MIDDLEBOX_COMPAT, false),
            "IgnoreUnexpectedEOF" => (o::IGNORE_UNEXPECTED_EOF, false),
            "UnsafeLegacyServerConnect" => (o::LEGACY_SERVER_CONNECT, false),
            "EmptyFragments"
            | "Bugs"
            | "Compression"
            | "NoResumptionOnRenegotiation"
            | "UnsafeLegacyRenegotiation"
            | "EncryptThenMac"
            | "NoRenegotiation"
            | "ClientRenegotiation"
            | "AllowNoDHEKEX"
            | "PrioritizeChaCha"
            | "AntiReplay"
            | "ExtendedMasterSecret"
            | "CANames"
            | "KTLS"
            | "DHSingle"
            | "ECDHSingle" => (0, false),
            _ => return None,
        };
        settings.options =
            if on == inverted { settings.options & !bit } else { settings.options | bit };
    }
    Some(())
}
