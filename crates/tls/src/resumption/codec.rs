//! The encoding of fields that both saved sessions and saved connections contain.
//!
//! An absent field is encoded as an empty field, since no present field is empty.

use pki_types::CertificateDer;
use tercel_wire::{Reader, Writer};

use crate::psk::PskReference;

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

/// Writes the external identity with a length prefix of two bytes, and the fingerprint. If there is
/// no key, writes only an empty identity.
pub(crate) fn write_psk_reference(w: &mut Writer<'_>, key: Option<&PskReference>) {
    w.opaque16(key.map_or(&[], |key| &key.external_identity));
    w.bytes(key.map_or(&[], |key| &key.fingerprint));
}

pub(crate) fn read_psk_reference(r: &mut Reader<'_>) -> Option<Option<PskReference>> {
    let Some(external_identity) = not_empty(r.opaque16().ok()?) else { return Some(None) };
    let fingerprint = *r.array().ok()?;
    Some(Some(PskReference { external_identity, fingerprint }))
}

/// Reads an optional code point. Zero, which is never negotiated, means that it is absent.
pub(crate) fn read_code<T>(r: &mut Reader<'_>, code: impl FnOnce(u16) -> T) -> Option<Option<T>> {
    let value = r.u16().ok()?;
    Some((value != 0).then(|| code(value)))
}

pub(crate) fn not_empty(bytes: &[u8]) -> Option<Vec<u8>> {
    if bytes.is_empty() { None } else { Some(bytes.to_vec()) }
}

/// Reads an optional name. Returns `None` if the name is not UTF-8.
pub(crate) fn read_name(bytes: &[u8]) -> Option<Option<String>> {
    let name = core::str::from_utf8(bytes).ok()?;
    Some((!name.is_empty()).then(|| name.to_owned()))
}
