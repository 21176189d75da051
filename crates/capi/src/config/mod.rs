//! Configurations, and their builder.

pub mod codes;
mod settings;

use core::ffi::{c_char, c_void};
use core::ptr;
use std::sync::Arc;

use tercel::{ClientConfig, ServerConfig};

use crate::callbacks::{Callback, ClockFunction, KeyLogFunction};
use crate::credential::Credential;
use crate::entry::owned::{self, Owned, with};
use crate::entry::pointers::{self, Place};
use crate::entry::{Result, entry, shared, text, value};
use crate::fips::{self, Fips};
use crate::psk::Psk;
use crate::roots::Roots;
use crate::status::codes::{
    TERCEL_CONFIG_BAD_PROTOCOL_LIST, TERCEL_MISUSE_INVALID_ARGUMENT, TERCEL_MISUSE_UNKNOWN_NUMBER,
    TERCEL_MISUSE_WRONG_SIDE,
};
use crate::status::{self, Status};
use crate::tickets::Tickets;
use codes::*;
pub use settings::Settings;

/// A configuration of one side, shared by any number of connections and threads.
pub enum Config {
    /// A client's, and whether its caller keeps sessions.
    Client(Arc<ClientConfig>, bool),
    /// A server's, and whether its caller answers TERCEL_QUESTION_CLAIM_SESSION.
    Server(Arc<ServerConfig>, bool),
}

impl Config {
    /// Returns a server's configuration.
    pub(crate) fn server(&self) -> Result<Arc<ServerConfig>> {
        match self {
            Self::Server(config, _) => Ok(Arc::clone(config)),
            Self::Client(..) => Err(TERCEL_MISUSE_WRONG_SIDE),
        }
    }

    /// Whether the caller answers TERCEL_QUESTION_CLAIM_SESSION.
    pub(crate) fn claims(&self) -> bool {
        matches!(self, Self::Server(_, true))
    }
}

/// A builder of configurations.
pub struct ConfigBuilder(Owned<Settings>);

owned_handle!(ConfigBuilder, Settings);

/// Creates a builder with secure defaults. A client needs roots, a server a credential, or both
/// pre-shared keys. NULL if the side is unknown.
#[unsafe(no_mangle)]
pub extern "C" fn tercel_config_builder_new(side: Side) -> *mut ConfigBuilder {
    pointers::or_null(|| {
        if side > TERCEL_SERVER {
            return Err(TERCEL_MISUSE_UNKNOWN_NUMBER);
        }
        Ok(owned::new(Settings::new(side)))
    })
}

/// Frees a builder. NULL has no effect.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_config_builder_free(builder: *mut ConfigBuilder) {
    // SAFETY: the caller's duty.
    _ = entry(|| unsafe { owned::free(builder) });
}

/// Sets an option to a number. Numbers outside the range of the option are refused, here or when
/// the configuration is built.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_config_builder_set_option(
    builder: *mut ConfigBuilder,
    option: ConfigOption,
    value: u64,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        with(builder, |settings| {
            let most = settings::option_range(option, settings.side);
            if value > most.ok_or(TERCEL_MISUSE_UNKNOWN_NUMBER)? {
                return Err(TERCEL_MISUSE_INVALID_ARGUMENT);
            }
            settings.options.insert(option, value);
            Ok(())
        })
    })
}

/// Sets a list of code points. Only TERCEL_LIST_KEY_SHARES may be empty (NULL and 0).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_config_builder_set_list(
    builder: *mut ConfigBuilder,
    list: List,
    codes: *const u16,
    count: usize,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        with(builder, |settings| {
            let codes = match list {
                TERCEL_LIST_KEY_SHARES if settings.side == TERCEL_CLIENT => {
                    pointers::slice_or_empty(codes, count)?
                }
                TERCEL_LIST_VERSIONS
                | TERCEL_LIST_CIPHER_SUITES
                | TERCEL_LIST_GROUPS
                | TERCEL_LIST_SIGNATURE_SCHEMES
                | TERCEL_LIST_CERTIFICATE_SIGNATURE_SCHEMES => pointers::slice(codes, count)?,
                _ => return Err(TERCEL_MISUSE_UNKNOWN_NUMBER),
            };
            settings.lists.insert(list, codes.to_vec());
            Ok(())
        })
    })
}

/// Sets a value that consists of bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_config_builder_set_content(
    builder: *mut ConfigBuilder,
    content: Content,
    data: *const u8,
    len: usize,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let data = pointers::slice(data, len)?;
        with(builder, |settings| {
            match content {
                TERCEL_CONTENT_ALPN => settings.alpn = protocols(data)?,
                TERCEL_CONTENT_SESSION_CONTEXT => settings.session_context = data.to_vec(),
                TERCEL_CONTENT_REPLAY_GUARD_ID if settings.side == TERCEL_SERVER => {
                    let id = data.try_into().map_err(|_| TERCEL_MISUSE_INVALID_ARGUMENT)?;
                    settings.replay_guard_id = Some(id);
                }
                _ => return Err(TERCEL_MISUSE_UNKNOWN_NUMBER),
            }
            Ok(())
        })
    })
}

/// Sets the trusted roots, with which the peer's certificate is verified.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_config_builder_set_roots(
    builder: *mut ConfigBuilder,
    roots: *const Roots,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let roots = shared::get(roots)?;
        with(builder, |settings| {
            settings.roots = Some(roots);
            Ok(())
        })
    })
}

/// Adds a credential. A server selects the first one that is valid for the requested name and that
/// the client can verify; for an unknown name, the first one that the client can verify. A client
/// with several credentials keeps no session of a server that requests a certificate, except with
/// TERCEL_CONTENT_SESSION_CONTEXT, which states that it is the same client for all servers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_config_builder_add_credential(
    builder: *mut ConfigBuilder,
    credential: *const Credential,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let credential = shared::get(credential)?;
        with(builder, |settings| {
            settings.credentials.push(Arc::clone(&credential.0));
            Ok(())
        })
    })
}

/// Sets the keys that encrypt a server's tickets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_config_builder_set_tickets(
    builder: *mut ConfigBuilder,
    tickets: *const Tickets,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let tickets = shared::get(tickets)?;
        with(builder, |settings| {
            if settings.side == TERCEL_CLIENT {
                return Err(TERCEL_MISUSE_WRONG_SIDE);
            }
            settings.tickets = Some(tickets);
            Ok(())
        })
    })
}

/// Adds a pre-shared key. A client offers its keys in the order in which they were added. A
/// handshake with such a key exchanges no certificates, also with a server that requires them of
/// clients: the peer is a holder of the key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_config_builder_add_psk(
    builder: *mut ConfigBuilder,
    psk: *const Psk,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let psk = shared::get(psk)?;
        with(builder, |settings| {
            settings.psks.push(psk);
            Ok(())
        })
    })
}

/// Sets which decisions the caller makes: a sum of constants TERCEL_ASK_...
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_config_builder_set_questions(
    builder: *mut ConfigBuilder,
    questions: Questions,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        with(builder, |settings| {
            let both = TERCEL_ASK_SELECT_CREDENTIAL | TERCEL_ASK_VERIFY_PEER;
            let server = TERCEL_ASK_CHOOSE_CONFIG
                | TERCEL_ASK_FIND_SESSION
                | TERCEL_ASK_CLAIM_SESSION
                | TERCEL_ASK_FIND_PSK
                | TERCEL_ASK_ADMIT_EARLY_DATA;
            let known = if settings.side == TERCEL_SERVER { both | server } else { both };
            if questions & !known != 0 {
                return Err(TERCEL_MISUSE_UNKNOWN_NUMBER);
            }
            settings.questions = questions;
            Ok(())
        })
    })
}

/// Sets a function that receives the secrets of connections, for debugging. The context is passed
/// to it. NULL removes the function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_config_builder_set_key_log(
    builder: *mut ConfigBuilder,
    function: KeyLogFunction,
    context: *mut c_void,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        with(builder, |settings| {
            settings.key_log =
                function.map(|function| Arc::new(Callback { function, context }) as _);
            Ok(())
        })
    })
}

/// Sets a function that returns the time, instead of the system's clock. The context is passed to
/// it. NULL removes the function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_config_builder_set_clock(
    builder: *mut ConfigBuilder,
    function: ClockFunction,
    context: *mut c_void,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        with(builder, |settings| {
            settings.clock = function.map(|function| Arc::new(Callback { function, context }) as _);
            Ok(())
        })
    })
}

/// Builds a configuration. The builder remains as it is, and can build others.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_config_builder_build(
    builder: *mut ConfigBuilder,
    config: *mut *const Config,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let mut place = Place::new(config, ptr::null())?;
        with(builder, |settings| {
            let built = settings.build().map_err(|error| {
                settings.error = error.to_string();
                status::of_config(error)
            })?;
            place.set(shared::new(built));
            Ok(())
        })
    })
}

/// Writes the reason why tercel_config_builder_build failed, for people, and a NUL, at most size
/// bytes. Returns the length of the whole text, 0 if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_config_builder_error(
    builder: *const ConfigBuilder,
    text: *mut c_char,
    size: usize,
) -> usize {
    // SAFETY: the caller's duty.
    value(|| unsafe { with(builder, |settings| text::write(&settings.error, text, size)) })
}

/// Returns whether a configuration uses approved cryptography of a validated module only, a
/// constant TERCEL_FIPS_...
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_config_fips(config: *const Config) -> Fips {
    // SAFETY: the caller's duty.
    value(|| unsafe {
        Ok(fips::number(match &*shared::get(config)? {
            Config::Client(config, _) => config.fips(),
            Config::Server(config, _) => config.fips(),
        }))
    })
}

/// Adds a reference to a configuration, which tercel_config_release removes. Returns its argument.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_config_retain(config: *const Config) -> *const Config {
    // SAFETY: the caller's duty.
    unsafe { shared::retain(config) }
}

/// Removes a reference to a configuration; the last one frees it. NULL has no effect.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_config_release(config: *const Config) {
    // SAFETY: the caller's duty.
    _ = entry(|| unsafe { shared::release(config) });
}

/// Splits a list of protocol names in the format of RFC 7301 3.1.
fn protocols(mut list: &[u8]) -> Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    while let Some((length, rest)) = list.split_first() {
        let (name, rest) = rest
            .split_at_checked(usize::from(*length))
            .filter(|(name, _)| !name.is_empty())
            .ok_or(TERCEL_CONFIG_BAD_PROTOCOL_LIST)?;
        names.push(name.to_vec());
        list = rest;
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_protocols_has_a_length_before_each_name() {
        assert_eq!(protocols(b"\x02h2\x01x"), Ok(vec![b"h2".to_vec(), b"x".to_vec()]));
        for malformed in [&b"\x03h2"[..], b"\x00", b"\x02h2\x00"] {
            assert_eq!(protocols(malformed), Err(TERCEL_CONFIG_BAD_PROTOCOL_LIST));
        }
    }
}
