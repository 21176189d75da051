//! Encoding of [`ConnectionInfo`].
//!
//! ```text
//! group 2 | peer's scheme 2 | own scheme 2 | ALPN 1.. | server name 2.. | flags 1 | early data 1
//! OCSP response 3.. | timestamps 3.. | certificate types 2 | raw public key 2.. | chain 3.. of 3..
//! age skew 1.. | digest 1.. | pre-shared key: see `write_psk_reference`
//! new sessions 3.. of (id 1.. | session 3.. | expires 8)
//! ```

use core::time::Duration;

use pki_types::UnixTime;
use tercel_wire::{
    CertificateType, CipherSuite, NamedGroup, ProtocolVersion, Reader, SignatureScheme, Writer,
};

use crate::connection::info::{ConnectionInfo, EarlyData, NewSession};
use crate::fips::{FipsReason, FipsStatus};
use crate::resumption::codec::{
    not_empty, read_chain, read_code, read_name, read_psk_reference, write_chain,
    write_psk_reference,
};

/// Returns an upper bound of the number of bytes that [`write()`] writes, except for a small
/// constant.
pub(super) fn length(info: &ConnectionInfo) -> usize {
    let optional = |bytes: &Option<Vec<u8>>| bytes.as_ref().map_or(0, Vec::len);
    let of_chain = info.peer_chain.iter().map(|certificate| certificate.len().saturating_add(3));
    let of_sessions = info
        .new_sessions()
        .iter()
        .map(|new| new.id.len().saturating_add(new.session.len()).saturating_add(12));
    let parts = [
        optional(&info.alpn),
        info.server_name.as_ref().map_or(0, String::len),
        optional(&info.ocsp_response),
        optional(&info.signed_certificate_timestamps),
        info.peer_raw_public_key.as_ref().map_or(0, |key| key.len()),
        info.pre_shared_key().map_or(0, |name| name.len().saturating_add(32)),
    ];
    let parts = parts.into_iter().chain(of_chain).chain(of_sessions);
    parts.fold(0_usize, usize::saturating_add)
}

pub(super) fn write(w: &mut Writer<'_>, info: &ConnectionInfo) {
    // This pattern lists every field, so that the compiler reports a new field.
    let ConnectionInfo {
        version: _,
        cipher_suite: _,
        group,
        peer_signature_scheme,
        own_signature_scheme,
        alpn,
        server_name,
        retried,
        resumed,
        extended_main_secret,
        secure_renegotiation,
        post_handshake_auth,
        early_data,
        early_data_rejection: _,
        fips: _,
        ech: _,
        ocsp_response,
        signed_certificate_timestamps,
        server_certificate_type,
        client_certificate_type,
        peer_raw_public_key,
        peer_chain,
        server_padding,
        ticket_age_skew,
        cold: _,
    } = info;
    w.u16(group.map_or(0, |group| group.0));
    w.u16(peer_signature_scheme.map_or(0, |scheme| scheme.0));
    w.u16(own_signature_scheme.map_or(0, |scheme| scheme.0));
    w.opaque8(alpn.as_deref().unwrap_or_default());
    w.opaque16(server_name.as_deref().unwrap_or_default().as_bytes());
    w.u8(u8::from(*retried)
        | u8::from(*resumed) << 1
        | u8::from(*extended_main_secret) << 2
        | u8::from(*secure_renegotiation) << 3
        | u8::from(*server_padding) << 4
        | u8::from(*post_handshake_auth) << 5);
    w.u8(match early_data {
        EarlyData::NotOffered => 0,
        EarlyData::Accepted => 1,
        EarlyData::Rejected => 2,
    });
    w.opaque24(ocsp_response.as_deref().unwrap_or_default());
    w.opaque24(signed_certificate_timestamps.as_deref().unwrap_or_default());
    w.u8(server_certificate_type.0);
    w.u8(client_certificate_type.0);
    w.opaque16(peer_raw_public_key.as_deref().unwrap_or_default());
    write_chain(w, peer_chain);
    w.opaque8(ticket_age_skew.map(i32::to_be_bytes).as_ref().map_or(&[], |skew| skew.as_slice()));
    w.opaque8(info.peer_certificate_digest().map_or(&[], |digest| digest.as_slice()));
    write_psk_reference(w, info.psk_reference());
    w.vec24(|w| {
        for NewSession { id, session, expires } in info.new_sessions() {
            w.opaque8(id);
            w.opaque24(session);
            w.u64(expires.as_secs());
        }
    });
}

pub(super) fn read(
    r: &mut Reader<'_>,
    version: ProtocolVersion,
    cipher_suite: CipherSuite,
) -> Option<ConnectionInfo> {
    let mut info = ConnectionInfo::new(version, cipher_suite);
    info.fips = FipsStatus::of(Some(FipsReason::Restored));
    info.group = read_code(r, NamedGroup)?;
    info.peer_signature_scheme = read_code(r, SignatureScheme)?;
    info.own_signature_scheme = read_code(r, SignatureScheme)?;
    info.alpn = not_empty(r.opaque8().ok()?);
    info.server_name = read_name(r.opaque16().ok()?)?;
    let flags = r.u8().ok().filter(|flags| *flags < 1 << 6)?;
    info.retried = flags & 1 != 0;
    info.resumed = flags & 2 != 0;
    info.extended_main_secret = flags & 4 != 0;
    info.secure_renegotiation = flags & 8 != 0;
    info.server_padding = flags & 16 != 0;
    info.post_handshake_auth = flags & 32 != 0;
    info.early_data = match r.u8().ok()? {
        0 => EarlyData::NotOffered,
        1 => EarlyData::Accepted,
        2 => EarlyData::Rejected,
        _ => return None,
    };
    info.ocsp_response = not_empty(r.opaque24().ok()?);
    info.signed_certificate_timestamps = not_empty(r.opaque24().ok()?);
    info.server_certificate_type = CertificateType(r.u8().ok()?);
    info.client_certificate_type = CertificateType(r.u8().ok()?);
    info.peer_raw_public_key = not_empty(r.opaque16().ok()?).map(Into::into);
    info.peer_chain = read_chain(r)?.into();
    info.ticket_age_skew = match r.opaque8().ok()? {
        [] => None,
        skew => Some(i32::from_be_bytes(skew.try_into().ok()?)),
    };
    info.set_peer_certificate_digest(match r.opaque8().ok()? {
        [] => None,
        digest => Some(digest.try_into().ok()?),
    });
    if let Some(key) = read_psk_reference(r)? {
        info.set_pre_shared_key(key);
    }
    let mut sessions = r.vec24().ok()?;
    while !sessions.is_empty() {
        info.add_new_session(NewSession {
            id: sessions.opaque8().ok()?.to_vec(),
            session: sessions.opaque24().ok()?.to_vec(),
            expires: UnixTime::since_unix_epoch(Duration::from_secs(sessions.u64().ok()?)),
        });
    }
    Some(info)
}
