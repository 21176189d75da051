//! Parts that the bytes of sessions and those of connections have in common.
//!
//! Absent and empty are the same: none of these is ever present and empty. Must not know: what they are part of.
//! Next: [`super::state`], `connection/saved/`.

use pki_types::CertificateDer;
use tercel_wire::{Reader, Writer};

use crate::connection::facts::UsedKey;

pub(crate) fn write_chain(w: &mut Writer<'_>, chain: &[CertificateDer<'static>]) {
    w.vec24(|w| chain.iter().for_each(|certificate| w.opaque24(certificate)));
}

pub(crate) fn read_chain(r: &mut Reader<'_>) -> Option<Vec<CertificateDer<'static>>> {
    let mut r = r.vec24().ok()?;
    let mut chain = Vec::new();
    while !r.is_empty() {
        chain.push(CertificateDer::from(r.opaque24().ok()?.to_vec()));
    }
    Some(chain)
}

/// `external identity 2.. | fingerprint 32`, or an empty identity alone.
pub(crate) fn write_used_key(w: &mut Writer<'_>, key: Option<&UsedKey>) {
    w.opaque16(key.map_or(&[], |key| &key.external_identity));
    w.bytes(key.map_or(&[], |key| &key.fingerprint));
}

pub(crate) fn read_used_key(r: &mut Reader<'_>) -> Option<Option<UsedKey>> {
    let Some(external_identity) = not_empty(r.opaque16().ok()?) else { return Some(None) };
    let fingerprint = *r.array().ok()?;
    Some(Some(UsedKey { external_identity, fingerprint }))
}

/// A code point that may be absent; none that is ever agreed on is zero.
pub(crate) fn read_code<T>(r: &mut Reader<'_>, code: impl FnOnce(u16) -> T) -> Option<Option<T>> {
    let value = r.u16().ok()?;
    Some((value != 0).then(|| code(value)))
}

pub(crate) fn not_empty(bytes: &[u8]) -> Option<Vec<u8>> {
    if bytes.is_empty() { None } else { Some(bytes.to_vec()) }
}

/// A name that may be absent; `None` if it is no text.
pub(crate) fn read_name(bytes: &[u8]) -> Option<Option<String>> {
    let name = core::str::from_utf8(bytes).ok()?;
    Some((!name.is_empty()).then(|| name.to_owned()))
}
