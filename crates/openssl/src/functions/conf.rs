//! SSL_CONF: settings by name, of a context or a connection.

mod commands;

use core::cell::{Cell, RefCell};
use core::ffi::{CStr, c_char, c_int, c_uint};
use core::ptr;
use std::ffi::CString;
use std::sync::Arc;

use self::commands::{
    BOTH, Bits, COMMANDS, Command, FLAG_CERTIFICATE, FLAG_CLIENT, FLAG_CMDLINE, FLAG_FILE,
    FLAG_REQUIRE_PRIVATE, FLAG_SERVER, FLAG_SHOW_ERRORS, Flag, Row, TYPE_FILE, TYPE_FOLDER,
    TYPE_UNKNOWN,
};
use super::context_credentials::{put_chain_file, put_key_file};
use super::context_trust::{add_unique, names_of_file, names_of_folder, some_names};
use super::{padding, ssl_settings, text};
use crate::ciphers::{groups, schemes, string};
use crate::connection::Ssl;
use crate::context::Context;
use crate::context::files::FILETYPE_PEM;
use crate::entry::{Entered, Object, functions, give, take};
use crate::errors::{self, reasons};
use crate::method;
use crate::objects::bio::Bio;
use crate::objects::key::Key;
use crate::objects::name::Name;
use crate::objects::store::Store;
use crate::settings::Settings;
use crate::sys::evp::PEM_read_bio_Parameters;
use crate::sys::x509::{X509_STORE_load_file, X509_STORE_load_path, X509_STORE_load_store};

/// The results of a command that is unknown, and of one without its value.
const UNKNOWN: c_int = -2;
const NO_VALUE: c_int = -3;

/// A context of settings by name.
#[derive(Default)]
pub(crate) struct Configuration {
    flags: Cell<c_uint>,
    /// Whether elements of lists that only the other side has are ignored: the section
    /// `system_default` applies to the contexts of both sides.
    ignores_other_side: bool,
    prefix: RefCell<Option<CString>>,
    context: RefCell<Option<Arc<Context>>>,
    ssl: RefCell<Option<Arc<Ssl>>>,
    /// The names of authorities, which `SSL_CONF_CTX_finish` sets.
    names: RefCell<Option<Vec<Name>>>,
    /// The files of certificates, in which `SSL_CONF_CTX_finish` looks for missing keys, each with
    /// the index of its identity.
    files: RefCell<Vec<(usize, CString)>>,
}

impl Object for Configuration {}

functions! {
    fn SSL_CONF_CTX_new(;) -> *mut Configuration = ptr::null_mut() => {
        // As with a connection.
        #[allow(clippy::arc_with_non_send_sync)]
        give(Arc::new(Configuration::default()))
    }
    fn SSL_CONF_CTX_free(; configuration: *mut Configuration) -> () = () => {
        // SAFETY: the caller's duty.
        drop(unsafe { take(configuration) });
    }
    fn SSL_CONF_CTX_finish(configuration: &Configuration;) -> c_int = 0 => {
        configuration.entered(|| configuration.finish().is_some().into())
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
        let prefix = unsafe { text(prefix) };
        configuration.prefix.replace(prefix.map(CStr::to_owned));
        1
    }
    fn SSL_CONF_CTX_set_ssl_ctx(configuration: &Configuration; context: *mut Context) -> () = () => {
        // SAFETY: the caller's duty.
        let context = unsafe { crate::entry::object(context) };
        let old = (configuration.context.replace(context), configuration.ssl.take());
        drop(old);
    }
    fn SSL_CONF_CTX_set_ssl(configuration: &Configuration; ssl: *mut Ssl) -> () = () => {
        // SAFETY: the caller's duty.
        let ssl = unsafe { crate::entry::object(ssl) };
        let old = (configuration.context.take(), configuration.ssl.replace(ssl));
        drop(old);
    }
    fn SSL_CONF_cmd(configuration: &Configuration; name: *const c_char, value: *const c_char)
        -> c_int = 0 => {
        // SAFETY: the caller's duty.
        let (name, value) = unsafe { (text(name), text(value)) };
        configuration.entered(|| configuration.apply(name, value))
    }
    fn SSL_CONF_cmd_argv(configuration: &Configuration;
        count: *mut c_int, arguments: *mut *mut *mut c_char,
    ) -> c_int = 0 => {
        // SAFETY: the caller's duty: as many arguments as the count says, or without a count, at
        // least one and NULL after the last one.
        configuration.entered(|| unsafe { configuration.apply_arguments(count, arguments) })
    }
    fn SSL_CONF_cmd_value_type(configuration: &Configuration; name: *const c_char)
        -> c_int = TYPE_UNKNOWN => {
        // SAFETY: the caller's duty.
        let name = unsafe { text(name) };
        let command = name.and_then(|name| configuration.command(name.to_bytes()).ok());
        command.map_or(TYPE_UNKNOWN, |(_, row)| row.value)
    }
}

impl Configuration {
    /// Runs `body`, which uses the connection, as functions of the connection do.
    fn entered<T>(&self, body: impl FnOnce() -> T) -> T {
        let ssl = self.ssl.borrow().clone();
        let _entered = ssl.as_deref().map(Entered::new);
        body()
    }

    /// Settings of a file for a context. `may_load`: also its certificates and keys.
    pub(super) fn of_context(context: &Arc<Context>, may_load: bool) -> Self {
        let flags = flags_of(&context.settings(), may_load);
        let context = Some(Arc::clone(context)).into();
        Self { flags: Cell::new(flags), ignores_other_side: !may_load, context, ..Self::default() }
    }

    /// Settings of a file for a connection.
    pub(super) fn of_connection(ssl: &Arc<Ssl>) -> Self {
        let flags = flags_of(&ssl.settings(), true);
        Self { flags: Cell::new(flags), ssl: Some(Arc::clone(ssl)).into(), ..Self::default() }
    }

    /// The command of this name after the prefix that is set, and its name without the prefix. The
    /// error is the name.
    fn command<'a>(&self, name: &'a [u8]) -> Result<(&'a [u8], &'static Row), &'a [u8]> {
        let flags = self.flags.get();
        let (on_line, in_file) = (flags & FLAG_CMDLINE != 0, flags & FLAG_FILE != 0);
        let name = match &*self.prefix.borrow() {
            Some(prefix) => {
                let prefix = prefix.to_bytes();
                let (head, rest) = name.split_at_checked(prefix.len()).ok_or(name)?;
                let differs = on_line && head != prefix
                    || in_file && !head.eq_ignore_ascii_case(prefix)
                    || rest.is_empty();
                if differs {
                    return Err(name);
                }
                rest
            }
            None if on_line => match name {
                [b'-', rest @ ..] if !rest.is_empty() => rest,
                _ => return Err(name),
            },
            None => name,
        };
        let fits = |row: &&Row| {
            row.needs & !flags & (BOTH | FLAG_CERTIFICATE) == 0
                && (on_line && !row.line.is_empty() && row.line.as_bytes() == name
                    || in_file
                        && !row.file.is_empty()
                        && row.file.as_bytes().eq_ignore_ascii_case(name))
        };
        COMMANDS.iter().find(fits).map(|row| (name, row)).ok_or(name)
    }

    /// Whether there is a command of this name.
    pub(super) fn knows(&self, name: &CStr) -> bool {
        self.command(name.to_bytes()).is_ok()
    }

    fn show(&self, reason: u16, detail: &str) {
        if self.flags.get() & FLAG_SHOW_ERRORS != 0 {
            errors::push_with(reason, detail);
        }
    }

    /// Applies a command: 2 if its value was used, 1 if it has none, 0 or less for an error.
    pub(super) fn apply(&self, name: Option<&CStr>, value: Option<&CStr>) -> c_int {
        let Some(name) = name else {
            errors::push(reasons::INVALID_NULL_CMD_NAME);
            return 0;
        };
        let (name, row) = match self.command(name.to_bytes()) {
            Ok(known) => known,
            Err(name) => {
                let name = String::from_utf8_lossy(name);
                self.show(reasons::UNKNOWN_CMD_NAME, &format!("cmd={name}"));
                return UNKNOWN;
            }
        };
        if let Command::Switch(bits, inverted) = row.command {
            self.set_bits(bits, !inverted);
            return 1;
        }
        if let Command::Strict = row.command {
            errors::push_unsupported("stricter checks of chains are not supported");
            return 0;
        }
        let done = value.map(|value| self.set(row, value));
        if done == Some(Some(())) {
            return 2;
        }
        let name = String::from_utf8_lossy(name);
        let text = value.map_or("<EMPTY>".into(), CStr::to_string_lossy);
        self.show(reasons::BAD_VALUE, &format!("cmd={name}, value={text}"));
        if done.is_none() { NO_VALUE } else { 0 }
    }

    /// Applies the first argument of a command line, and the second if it is its value.
    ///
    /// # Safety
    /// The caller's duty for the pointers.
    unsafe fn apply_arguments(&self, count: *mut c_int, arguments: *mut *mut *mut c_char) -> c_int {
        if arguments.is_null() {
            return 0;
        }
        // SAFETY: as this function's contract.
        let (left, first) = unsafe {
            let left = if count.is_null() { None } else { Some(*count) };
            (left, *arguments)
        };
        if first.is_null() || left.is_some_and(|left| left <= 0) {
            return 0;
        }
        // SAFETY: as this function's contract. The second argument is there, or NULL in its place.
        let (name, value) = unsafe {
            let name = text(*first);
            let has_value = name.is_some() && left.is_none_or(|left| left > 1);
            (name, if has_value { text(*first.add(1)) } else { None })
        };
        if name.is_none() {
            return 0;
        }
        self.flags.set(self.flags.get() & !FLAG_FILE | FLAG_CMDLINE);
        match self.apply(name, value) {
            UNKNOWN => 0,
            0 => -1,
            used @ 1.. => {
                let skipped = usize::try_from(used).unwrap_or(0);
                // SAFETY: as this function's contract; that number of arguments was used.
                unsafe {
                    arguments.write(first.add(skipped));
                    if let Some(left) = left {
                        count.write(left.saturating_sub(used));
                    }
                }
                used
            }
            error => error,
        }
    }

    /// Changes the settings. Without a context or a connection, only the syntax is checked.
    fn change(&self, change: impl FnOnce(&mut Settings) -> Option<()>) -> Option<()> {
        // A clone counts a reference, so that nothing is borrowed during the change.
        let (context, ssl) = (self.context.borrow().clone(), self.ssl.borrow().clone());
        match (context, ssl) {
            (Some(context), _) => context.change(change),
            (None, Some(ssl)) => ssl.change(change),
            (None, None) => Some(()),
        }
    }

    /// As [`Self::change`], for a change that succeeds.
    fn put(&self, change: impl FnOnce(&mut Settings)) -> Option<()> {
        self.change(|settings| {
            change(settings);
            Some(())
        })
    }

    fn set_bits(&self, bits: Bits, on: bool) {
        self.change(|settings| {
            match bits {
                Bits::Options(bits) if on => settings.options |= bits,
                Bits::Options(bits) => settings.options &= !bits,
                Bits::Verify(bits) if on => settings.verify_mode |= bits,
                Bits::Verify(bits) => settings.verify_mode &= !bits,
            }
            Some(())
        });
    }

    /// Applies a list such as `ServerPreference,-SessionTicket`, up to the first error.
    fn set_list(&self, table: &[Flag], list: &str) -> Option<()> {
        for element in list.split(',') {
            let element = element.trim_matches(is_space);
            let (on, name) = match element.as_bytes().first()? {
                b'-' => (false, element.get(1..)?),
                b'+' => (true, element.get(1..)?),
                _ => (true, element),
            };
            let flags = self.flags.get();
            let has_name = |flag: &&Flag| flag.0.eq_ignore_ascii_case(name);
            let of_side = |flag: &&Flag| flags & flag.1 != 0;
            match table.iter().filter(has_name).find(of_side) {
                Some(Flag(_, _, inverted, bits)) => self.set_bits(*bits, on != *inverted),
                None if self.ignores_other_side && table.iter().any(|flag| has_name(&flag)) => {}
                None => return None,
            }
        }
        Some(())
    }

    fn set(&self, row: &Row, value: &CStr) -> Option<()> {
        let text = value.to_str();
        match row.command {
            // A switch has no value.
            Command::Switch(..) | Command::Strict => None,
            Command::List(table) => self.set_list(table, text.ok()?),
            Command::Schemes => {
                let schemes = schemes::from_names(text.ok()?)?;
                self.put(|settings| settings.schemes = Some(schemes))
            }
            Command::ClientSchemes => {
                let schemes = schemes::from_names(text.ok()?)?;
                self.put(|settings| settings.client_schemes = Some(schemes))
            }
            Command::Groups => self.set_groups(text.ok()?),
            Command::OneGroup => {
                let text = text.ok()?;
                let flags = self.flags.get();
                let is_automatic = flags & FLAG_FILE != 0
                    && ["automatic", "+automatic"].iter().any(|o| o.eq_ignore_ascii_case(text))
                    || flags & FLAG_CMDLINE != 0 && text == "auto";
                if is_automatic {
                    return Some(());
                }
                if text.contains(':') { None } else { self.set_groups(text) }
            }
            Command::Ciphers => {
                self.change(|settings| settings.set_cipher_string(value).then_some(()))?;
                self.mark_own_suites();
                Some(())
            }
            Command::Suites => {
                let suites = text.ok().and_then(string::select_tls13);
                if suites.is_none() {
                    errors::push(reasons::NO_CIPHER_MATCH);
                }
                let suites = suites?;
                self.put(|settings| settings.suites13 = suites)?;
                self.mark_own_suites();
                Some(())
            }
            Command::MinVersion => {
                self.set_version(text.ok()?, |settings| &mut settings.min_version)
            }
            Command::MaxVersion => {
                self.set_version(text.ok()?, |settings| &mut settings.max_version)
            }
            Command::Certificate => self.set_certificate(value),
            Command::PrivateKey => self.set_key(value),
            // Custom extensions are not supported.
            Command::ServerInfo => {
                errors::push_unsupported("ServerInfoFile is not supported");
                None
            }
            Command::ChainStore => {
                self.change(|settings| load(&mut settings.chain_store, row.value, value))
            }
            Command::VerifyStore => {
                self.change(|settings| load(&mut settings.verify_store, row.value, value))
            }
            Command::Authorities => self.add_names(row.value, value),
            Command::DhParameters => self.read_parameters(value),
            Command::Padding => {
                let size = usize::try_from(number(value)).ok().filter(|_| self.has_target())?;
                let block = padding::block(size)?;
                self.put(|settings| settings.padding_block = block)
            }
            Command::Tickets => {
                let count = usize::try_from(number(value)).ok().filter(|_| self.has_target())?;
                self.put(|settings| settings.tickets = count)
            }
        }
    }

    fn has_target(&self) -> bool {
        self.context.borrow().is_some() || self.ssl.borrow().is_some()
    }

    /// A connection has suites of its own from now on.
    fn mark_own_suites(&self) {
        let ssl = self.ssl.borrow().clone();
        if let Some(ssl) = ssl {
            ssl.change(|settings| settings.has_own_suites = true);
        }
    }

    fn set_groups(&self, list: &str) -> Option<()> {
        let groups = groups::from_names(list)?;
        self.put(|settings| settings.groups = Some(groups))
    }

    fn set_version(
        &self,
        name: &str,
        limit: impl FnOnce(&mut Settings) -> &mut c_int,
    ) -> Option<()> {
        let version = version(name).filter(|_| self.has_target())?;
        self.change(|settings| {
            // As with OpenSSL, methods of one version ignore limits, and the others those of DTLS.
            if settings.method.version == 0 && !settings.method.is_datagram && version < DTLS {
                *limit(settings) = version;
            }
            Some(())
        })
    }

    fn set_certificate(&self, file: &CStr) -> Option<()> {
        let (context, ssl) = (self.context.borrow().clone(), self.ssl.borrow().clone());
        let (done, settings) = match (context, ssl) {
            (Some(context), _) => (put_chain_file(&*context, Some(file)), context.settings()),
            (None, Some(ssl)) => (put_chain_file(&*ssl, Some(file)), ssl.settings()),
            (None, None) => return Some(()),
        };
        if done != 1 {
            return None;
        }
        if self.flags.get() & FLAG_REQUIRE_PRIVATE != 0 {
            let mut files = self.files.borrow_mut();
            files.retain(|(index, _)| *index != settings.current);
            files.push((settings.current, file.to_owned()));
        }
        Some(())
    }

    fn set_key(&self, file: &CStr) -> Option<()> {
        let (context, ssl) = (self.context.borrow().clone(), self.ssl.borrow().clone());
        let done = match (context, ssl) {
            (Some(context), _) => put_key_file(&*context, Some(file), FILETYPE_PEM),
            (None, Some(ssl)) => put_key_file(&*ssl, Some(file), FILETYPE_PEM),
            (None, None) => 1,
        };
        (done == 1).then_some(())
    }

    /// Adds the names of the certificates of a file, or of the files of a folder.
    fn add_names(&self, kind: c_int, place: &CStr) -> Option<()> {
        let found = match kind {
            TYPE_FILE => names_of_file(place)?,
            TYPE_FOLDER => names_of_folder(place)?,
            _ => {
                errors::push_unsupported("names of authorities from a store are not supported");
                return None;
            }
        };
        let found = some_names(found)?;
        let mut names = self.names.borrow_mut();
        add_unique(names.get_or_insert_default(), found);
        Some(())
    }

    /// Reads parameters of Diffie-Hellman, which are not used.
    fn read_parameters(&self, file: &CStr) -> Option<()> {
        if !self.has_target() {
            return Some(());
        }
        let bio = Bio::file(file)?;
        // SAFETY: the BIO exists. New parameters are returned, or NULL.
        unsafe { Key::from_raw(PEM_read_bio_Parameters(bio.as_ptr(), ptr::null_mut())) }?;
        Some(())
    }

    /// Looks for missing keys in the files of the certificates, and sets the names of authorities.
    pub(super) fn finish(&self) -> Option<()> {
        let (context, ssl) = (self.context.borrow().clone(), self.ssl.borrow().clone());
        let settings = context
            .as_ref()
            .map(|context| context.settings())
            .or_else(|| ssl.as_ref().map(|ssl| ssl.settings()));
        if let Some(settings) = settings {
            let files = self.files.take();
            for (index, file) in files {
                if settings.identities.get(index).is_some_and(|identity| identity.key.is_none()) {
                    self.set_key(&file)?;
                }
            }
        }
        let Some(names) = self.names.take() else { return Some(()) };
        match (context, ssl) {
            (Some(context), _) => {
                context.change(|settings| settings.client_authorities = Arc::new(names));
            }
            (None, Some(ssl)) => ssl_settings::set_authorities(&ssl, Some(Arc::new(names))),
            (None, None) => {}
        }
        Some(())
    }
}

/// The flags for sections of files.
fn flags_of(settings: &Settings, may_load: bool) -> c_uint {
    let method = settings.method;
    let mut flags = FLAG_FILE;
    for (has_side, flag) in [(method.client, FLAG_CLIENT), (method.server, FLAG_SERVER)] {
        if has_side {
            flags |= flag;
        }
    }
    if may_load { flags | FLAG_CERTIFICATE | FLAG_REQUIRE_PRIVATE } else { flags }
}

/// Loads certificates into a store, which is made if there is none.
fn load(store: &mut Option<Store>, kind: c_int, place: &CStr) -> Option<()> {
    if store.is_none() {
        *store = Some(Store::new()?);
    }
    let store = store.as_ref()?.as_ptr();
    // SAFETY: the store exists, and the name ends with a NUL.
    let loaded = unsafe {
        match kind {
            TYPE_FILE => X509_STORE_load_file(store, place.as_ptr()),
            TYPE_FOLDER => X509_STORE_load_path(store, place.as_ptr()),
            _ => X509_STORE_load_store(store, place.as_ptr()),
        }
    };
    (loaded == 1).then_some(())
}

/// A number above all versions of TLS, and below those of DTLS.
const DTLS: c_int = 0x1000;

fn version(name: &str) -> Option<c_int> {
    Some(match name {
        "None" => 0,
        "SSLv3" => 0x0300,
        "TLSv1" => method::TLS1,
        "TLSv1.1" => method::TLS1_1,
        "TLSv1.2" => method::TLS1_2,
        "TLSv1.3" => method::TLS1_3,
        "DTLSv1" => 0xfeff,
        "DTLSv1.2" => 0xfefd,
        _ => return None,
    })
}

/// Whether `isspace` of C accepts a character.
fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t'..='\r')
}

/// The number at the beginning of a text, as `atoi` of C reads it.
fn number(text: &CStr) -> c_int {
    let text = text.to_string_lossy();
    let text = text.trim_start_matches(is_space);
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, text.get(1..)),
        Some(b'+') => (false, text.get(1..)),
        _ => (false, Some(text)),
    };
    let digits = digits.unwrap_or_default().bytes().take_while(u8::is_ascii_digit);
    let value = digits.fold(0_i64, |value, digit| {
        let digit = i64::from(digit.saturating_sub(b'0'));
        let value = value.saturating_mul(10);
        if negative { value.saturating_sub(digit) } else { value.saturating_add(digit) }
    });
    // A `long` is converted to an `int`.
    let [a, b, c, d, ..] = value.to_le_bytes();
    c_int::from_le_bytes([a, b, c, d])
}
