//! SSL_CTX_ctrl: settings by number.

use core::ffi::{CStr, c_char, c_int, c_long, c_void};
use core::sync::atomic::Ordering::Relaxed;

use std::sync::Arc;

use super::chain_building::{self, BUILD_CERT_CHAIN};
use super::context_credentials::{add_to_chain, set_chain};
use super::{refused, security};
use crate::ciphers::{groups, schemes, suite_b};
use crate::context::Context;
use crate::entry::functions;
use crate::errors::{self, reasons};
use crate::objects::certificate::Certificate;
use crate::objects::list::{self, Certificates, LentCertificates};
use crate::objects::store::Store;
use crate::settings::Settings;
use crate::settings::identity::Identity;
use crate::settings::security::SharedSecrets;
use crate::sys::evp::{EC_GROUP_get_curve_name, EC_KEY_get0_group};
use crate::sys::stack::Stack;

/// The most pipelines of OpenSSL.
const MAX_PIPELINES: c_long = 32;

functions! {
    fn SSL_CTX_ctrl(context: &Context; command: c_int, larg: c_long, parg: *mut c_void)
        -> c_long = 0 => {
        let settings = context.settings();
        // SAFETY: the caller's duty.
        let result = unsafe {
            of_context(context, command, larg, parg)
                .or_else(|| query(&settings, command, larg, parg))
                .or_else(|| chain(&settings, &context.chains, (command, larg), parg))
        };
        drop(settings);
        // SAFETY: as above.
        let set = || context.change(|settings| unsafe { set(settings, command, larg, parg) });
        result.or_else(set).unwrap_or(0)
    }
}

/// Commands that only contexts have.
///
/// # Safety
/// The caller's duty for `parg`, whose type depends on the command.
unsafe fn of_context(
    context: &Context,
    command: c_int,
    larg: c_long,
    parg: *mut c_void,
) -> Option<c_long> {
    let counters = &context.counters;
    if command == BUILD_CERT_CHAIN {
        return Some(chain_building::build(context, &context.settings(), context.store(), larg));
    }
    let status = context.settings().callbacks.status;
    Some(match command {
        // Functions have types of their own for callbacks: `SSL_CTX_callback_ctrl`.
        6 => {
            errors::push_not_now("SSL_CTX_callback_ctrl sets callbacks");
            0
        }
        14 | 83 => context.change(|settings| {
            // SAFETY: as this function's contract.
            unsafe { change_extra_chain(settings, command, parg) }
        }),
        54 => context.change(|settings| {
            settings.callbacks.server_name.argument = parg;
            1
        }),
        64 => context.change(|settings| {
            settings.callbacks.status.argument = parg;
            1
        }),
        20 => c_long::try_from(context.tickets.cache().len()).unwrap_or(c_long::MAX),
        21 => counters.connect.get(),
        22 => counters.connect_good.get(),
        // Renegotiation is refused.
        23 | 26 => 0,
        24 => counters.accept.get(),
        25 => counters.accept_good.get(),
        27 => counters.hits.get(),
        28 => counters.callback_hits.get(),
        29 => counters.misses.get(),
        30 => counters.timeouts.get(),
        31 => counters.cache_full.get(),
        // As with OpenSSL, a negative number sets nothing.
        42 if larg < 0 => 0,
        42 => context.tickets.cache().size.swap(larg, Relaxed),
        43 => context.tickets.cache().size.load(Relaxed),
        44 => {
            let old = context.cache_mode.swap(bits(larg), Relaxed).into();
            // Configurations depend on the mode.
            context.change(|_| ());
            old
        }
        45 => context.cache_mode.load(Relaxed).into(),
        // SAFETY: as this function's contract.
        58 => unsafe { context.tickets.get_keys(parg.cast(), larg) },
        // SAFETY: as this function's contract.
        59 => unsafe { context.tickets.set_keys(parg.cast(), larg) },
        // The user name and the password of SRP.
        79 => security::set_srp(context, SharedSecrets::SRP_NAME, !parg.is_null()).into(),
        81 => security::set_srp(context, SharedSecrets::SRP_PASSWORD, !parg.is_null()).into(),
        // The strength of SRP, which is never used.
        80 => 1,
        // The program reads what is stored, also after a failure.
        128 => {
            // SAFETY: as this function's contract.
            unsafe { super::store(parg.cast(), status.function) };
            1
        }
        129 => {
            // SAFETY: as this function's contract.
            unsafe { super::store(parg.cast(), status.argument) };
            1
        }
        _ => return None,
    })
}

/// Commands of contexts and connections that only read.
///
/// # Safety
/// As [`of_context`].
pub(super) unsafe fn query(
    settings: &Settings,
    command: c_int,
    larg: c_long,
    parg: *mut c_void,
) -> Option<c_long> {
    Some(match command {
        33 if larg == 0 => settings.mode.into(),
        50 => c_long::try_from(settings.max_chain).unwrap_or(c_long::MAX),
        40 => settings.read_ahead.into(),
        127 => settings.status_type.into(),
        137 | 138 => {
            let store = if command == 137 { &settings.verify_store } else { &settings.chain_store };
            let store = store.as_ref().map_or(core::ptr::null_mut(), Store::as_ptr);
            // SAFETY: as this function's contract.
            unsafe { super::store(parg.cast(), store) };
            1
        }
        // Methods of one version have no limits.
        130 | 131 if settings.method.version != 0 => 0,
        130 => settings.min_version.into(),
        131 => settings.max_version.into(),
        _ => return None,
    })
}

/// Commands that return a chain: the extra one, or that of the current certificate. A program that
/// asks for the extra chain receives the other one in its place, unless `larg` forbids that.
///
/// # Safety
/// The pointer is NULL or to a pointer.
pub(super) unsafe fn chain(
    settings: &Settings,
    lent: &LentCertificates,
    (command, larg): (c_int, c_long),
    parg: *mut c_void,
) -> Option<c_long> {
    let identity = settings.identity();
    let own = identity.and_then(|identity| identity.chain.as_deref()).unwrap_or_default();
    let chain = match command {
        82 if settings.extra_chain.is_empty() && larg == 0 => own,
        82 => settings.extra_chain.as_slice(),
        115 => own,
        _ => return None,
    };
    // The program's own list, if the chain is still as it was.
    let given = identity.and_then(|identity| identity.given_chain.as_deref());
    let list =
        given.filter(|list| list.has(chain)).map_or_else(|| lent.lend(chain), Certificates::as_ptr);
    // SAFETY: as this function's contract.
    unsafe { super::store(parg.cast::<*mut Stack>(), list) };
    Some(1)
}

/// The bits of a setting, which programs may pass as a negative number.
fn bits(larg: c_long) -> u32 {
    u32::try_from(larg & 0xffff_ffff).unwrap_or(0)
}

/// Commands that contexts and connections have in common. `None` for unknown ones.
///
/// # Safety
/// The caller's duty for `parg`, whose type depends on the command.
pub(super) unsafe fn set(
    settings: &mut Settings,
    command: c_int,
    larg: c_long,
    parg: *mut c_void,
) -> Option<c_long> {
    // SAFETY: as this function's contract.
    let text = || unsafe { super::text(parg.cast::<c_char>()) };
    let number = c_int::try_from(larg).unwrap_or(0);
    Some(match command {
        16 => {
            settings.callbacks.message.argument = parg;
            1
        }
        // SAFETY: as this function's contract.
        88 | 89 => unsafe { set_certificates(settings, command, larg, parg) },
        33 => {
            settings.mode |= bits(larg);
            settings.mode.into()
        }
        78 => {
            settings.mode &= !bits(larg);
            settings.mode.into()
        }
        51 => match usize::try_from(larg) {
            Ok(length) => {
                let old = core::mem::replace(&mut settings.max_chain, length);
                c_long::try_from(old).unwrap_or(c_long::MAX)
            }
            Err(_) => 0,
        },
        // The result shows that other flags than the profiles of Suite B are not set.
        99 => {
            settings.certificate_flags |= bits(larg) & suite_b::FLAGS;
            settings.certificate_flags.into()
        }
        100 => {
            settings.certificate_flags &= !bits(larg);
            settings.certificate_flags.into()
        }
        41 => core::mem::replace(&mut settings.read_ahead, larg != 0).into(),
        52 => {
            let length = usize::try_from(larg).ok().filter(|n| (512..=16384).contains(n));
            let Some(length) = length else { return Some(0) };
            settings.max_fragment = length;
            1
        }
        65 => {
            settings.status_type = number;
            1
        }
        // SAFETY: as this function's contract.
        91 | 92 | 97 | 98 | 101 | 102 => unsafe {
            set_algorithms(settings, command, larg, parg, text())
        },
        // SAFETY: as this function's contract.
        106 | 107 => unsafe { set_store(settings, command, larg, parg) },
        // SAFETY: as this function's contract.
        116 => match unsafe { Certificate::share(parg.cast()) } {
            None => 0,
            wanted => select_identity(settings, 0, wanted.as_ref()),
        },
        117 => match larg {
            1 => select_identity(settings, 0, None),
            2 => select_identity(settings, settings.current.saturating_add(1), None),
            _ => 0,
        },
        123 | 124 => set_version(settings, command == 123, number),
        // SAFETY: as this function's contract.
        4 => unsafe { set_curve(settings, parg) },
        3 if parg.is_null() => {
            errors::push_null();
            0
        }
        // Diffie-Hellman parameters, which are never used.
        3 | 118 => 1,
        // The types of certificates in a request.
        104 => {
            refused::without(larg != 0 && !parg.is_null(), "set1_client_certificate_types").into()
        }
        // Lengths and numbers for pipelines, which OpenSSL does not use either without an engine.
        125 => usize::try_from(larg)
            .is_ok_and(|most| (1..=settings.max_fragment).contains(&most))
            .into(),
        126 => (1..=MAX_PIPELINES).contains(&larg).into(),
        _ => return None,
    })
}

/// # Safety
/// As [`set`].
unsafe fn set_certificates(
    settings: &mut Settings,
    command: c_int,
    larg: c_long,
    parg: *mut c_void,
) -> c_long {
    if command == 88 {
        // SAFETY: as this function's contract.
        let chain = (!parg.is_null()).then(|| unsafe { list::certificates(parg.cast()) });
        let done = set_chain(settings, chain);
        let current = settings.current;
        if let Some(identity) = settings.identities.get_mut(current).filter(|_| done == 1) {
            // SAFETY: with `larg` 0 the program has passed its list on, which it keeps after a
            // failure.
            let given = (larg == 0).then(|| unsafe { Certificates::from_raw(parg.cast()) });
            identity.given_chain = given.flatten().map(Arc::new);
        }
        return done.into();
    }
    // SAFETY: as this function's contract. With `larg` 0 the program passes its reference on.
    let certificate = unsafe {
        if larg == 0 { Certificate::from_raw(parg.cast()) } else { Certificate::share(parg.cast()) }
    };
    let Some(certificate) = certificate else { return 0 };
    let done = add_to_chain(settings, certificate.clone());
    if larg == 0 && done != 1 {
        // After a failure the program keeps its reference.
        core::mem::forget(certificate);
    }
    done.into()
}

/// Empties the extra chain, or adds a certificate, whose reference the program passes on.
///
/// # Safety
/// As [`set`].
unsafe fn change_extra_chain(settings: &mut Settings, command: c_int, parg: *mut c_void) -> c_long {
    if command == 83 {
        settings.extra_chain.clear();
    } else {
        // SAFETY: as this function's contract.
        let Some(certificate) = (unsafe { Certificate::from_raw(parg.cast()) }) else { return 0 };
        settings.extra_chain.push(certificate);
    }
    settings.identities.iter_mut().for_each(|identity| _ = identity.changed());
    1
}

/// Makes an identity the current one: the first from this index on that has a certificate and a
/// key, or the one with this certificate. 0 if there is none.
fn select_identity(settings: &mut Settings, from: usize, wanted: Option<&Certificate>) -> c_long {
    let fits = |identity: &Identity| {
        let certificate = identity.certificate.as_ref().filter(|_| identity.key.is_some());
        certificate.is_some_and(|own| wanted.is_none_or(|wanted| own.as_ptr() == wanted.as_ptr()))
    };
    let mut identities = settings.identities.iter().enumerate().skip(from);
    let found = identities.find(|(_, identity)| fits(identity)).map(|(index, _)| index);
    settings.current = found.unwrap_or(settings.current);
    found.is_some().into()
}

/// # Safety
/// As [`set`].
unsafe fn set_algorithms(
    settings: &mut Settings,
    command: c_int,
    larg: c_long,
    parg: *mut c_void,
    text: Option<&CStr>,
) -> c_long {
    let names =
        text.filter(|_| matches!(command, 92 | 98 | 102)).and_then(|text| text.to_str().ok());
    let numbers = || {
        let count = usize::try_from(larg).unwrap_or(0);
        if parg.is_null() {
            return &[][..];
        }
        // SAFETY: as this function's contract.
        unsafe { core::slice::from_raw_parts(parg.cast::<c_int>(), count) }
    };
    let done = match command {
        91 => groups::from_nids(numbers()).map(|list| settings.groups = Some(list)),
        92 => names.and_then(groups::from_names).map(|list| settings.groups = Some(list)),
        97 => schemes::from_nids(numbers()).map(|list| settings.schemes = Some(list)),
        101 => schemes::from_nids(numbers()).map(|list| settings.client_schemes = Some(list)),
        102 => names.and_then(schemes::from_names).map(|list| settings.client_schemes = Some(list)),
        _ => names.and_then(schemes::from_names).map(|list| settings.schemes = Some(list)),
    };
    if done.is_none() {
        errors::push(reasons::BAD_VALUE);
    }
    done.is_some().into()
}

/// Sets the only curve: that of an EC key.
///
/// # Safety
/// As [`set`].
unsafe fn set_curve(settings: &mut Settings, key: *mut c_void) -> c_long {
    if key.is_null() {
        errors::push_null();
        return 0;
    }
    // SAFETY: as this function's contract; the curve belongs to the key.
    let nid = unsafe { EC_GROUP_get_curve_name(EC_KEY_get0_group(key)) };
    let Some(groups) = groups::from_nids(&[nid]) else {
        errors::push(reasons::UNSUPPORTED_ELLIPTIC_CURVE);
        return 0;
    };
    settings.groups = Some(groups);
    1
}

/// # Safety
/// As [`set`].
unsafe fn set_store(
    settings: &mut Settings,
    command: c_int,
    larg: c_long,
    parg: *mut c_void,
) -> c_long {
    // SAFETY: as this function's contract. With `larg` 0 the program passes its reference on.
    let store =
        unsafe { if larg == 0 { Store::from_raw(parg.cast()) } else { Store::share(parg.cast()) } };
    match command {
        106 => settings.verify_store = store,
        _ => settings.chain_store = store,
    }
    1
}

/// Sets a limit of versions. A version that Tercel refuses is accepted as a limit. As with OpenSSL,
/// methods of one version ignore limits, and the others those of DTLS, which do not fit to a limit
/// of TLS.
fn set_version(settings: &mut Settings, is_least: bool, version: c_int) -> c_long {
    let is_fixed = settings.method.version != 0;
    let (limit, other) = match is_least {
        true => (&mut settings.min_version, settings.max_version),
        false => (&mut settings.max_version, settings.min_version),
    };
    match version {
        0 | 0x0300..=0x0304 if !is_fixed => *limit = version,
        0 | 0x0300..=0x0304 => {}
        0x0100 | 0xfefd..=0xfeff if is_fixed || other == 0 => {}
        _ => return 0,
    }
    1
}
