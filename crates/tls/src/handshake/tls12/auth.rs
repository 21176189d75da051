//! What both sides of TLS 1.2 share: keys, Finished, certificates. RFC 5246 7.4
//!
//! Must not know: whose turn it is. Next: [`super::server`], [`super::client`].

use std::sync::Arc;

use pki_types::CertificateDer;
use tercel_crypto::{KeyExchange, SharedSecret};
use tercel_wire::{
    CertificateTls12, CertificateType, CertificateVerify, Finished, HandshakeMessage,
    HandshakeType, MessageHeader, NamedGroup, ProtocolVersion, RawPublicKeyTls12, ServerEcdhParams,
    SignatureScheme,
};

use crate::config::credential::Credential;
use crate::config::policy::Side;
use crate::connection::authentication::shown::verify_signature;
use crate::error::{Error, Local, Peer};
use crate::handshake::few::Few;
use crate::handshake::flow::{Command, Flow, Message};
use crate::handshake::hello::group;
use crate::handshake::identity::Shown;
use crate::handshake::log::SecretLog;
use crate::handshake::signature;
use crate::handshake::tls13::server_hello::bad_share;
use crate::handshake::transcript::Transcript;
use crate::keys::direction::Keys;
use crate::keys::suite::{Authentication, Suite};
pub(crate) use crate::keys::tls12::Randoms;
use crate::keys::tls12::{DirectionKeys, MainSecret12, VERIFY_DATA, VerifyData};

/// The main secret, extended if both sides can. RFC 7627 4
pub(crate) fn main_secret(
    suite: &'static Suite,
    shared: &SharedSecret,
    randoms: &Randoms,
    extended: bool,
    transcript: &mut Transcript,
    log: &SecretLog,
) -> MainSecret12 {
    let main = if extended {
        MainSecret12::extended(suite, shared, &transcript.digest())
    } else {
        MainSecret12::plain(suite, shared, &randoms.client, &randoms.server)
    };
    log.log("CLIENT_RANDOM", main.as_bytes());
    main
}

/// The keys of an abbreviated handshake, and what both Finished say: the server's after the messages so far, the client's
/// after that. What the server will have said, if it is the right one, is known before it is there. RFC 5246 7.3
pub(crate) fn abbreviated(
    main: &MainSecret12,
    randoms: &Randoms,
    transcript: &mut Transcript,
) -> (DirectionKeys, VerifyData, VerifyData) {
    main.keys_and_both_finished(randoms, &transcript.digest(), |verify_data| {
        transcript.digest_with(&finished(verify_data))
    })
}

/// A whole Finished message. RFC 5246 7.4.9
fn finished(verify_data: &VerifyData) -> [u8; MessageHeader::LENGTH + VERIFY_DATA] {
    let [a, b, c, d, e, f, g, h, i, j, k, l] = *verify_data;
    let [.., length] = VERIFY_DATA.to_be_bytes();
    [HandshakeType::FINISHED.0, 0, 0, length, a, b, c, d, e, f, g, h, i, j, k, l]
}

/// ChangeCipherSpec and Finished. A transcript is given if another Finished is to be made after this. RFC 5246 7.1, 7.4.9
pub(crate) fn send_finished(
    flow: &mut Flow,
    keys: Keys,
    verify_data: &VerifyData,
    transcript: Option<&mut Transcript>,
) -> Result<(), Error> {
    flow.order(Command::SendChangeCipherSpec)?;
    flow.install_write(keys)?;
    let message = Finished { verify_data };
    flow.send_with(
        |out| message.encode(out),
        |bytes| {
            if let Some(transcript) = transcript {
                transcript.add(bytes);
            }
        },
    )
}

/// The peer's ChangeCipherSpec, then its Finished under the new keys; the transcript as above.
pub(crate) async fn receive_finished(
    flow: &mut Flow,
    keys: Keys,
    verify_data: &VerifyData,
    transcript: Option<&mut Transcript>,
) -> Result<(), Error> {
    flow.read_change_cipher_spec().await;
    flow.install_read(keys)?;
    let message = flow.read_expected(HandshakeType::FINISHED).await?;
    let finished = Finished::parse(message.body())?;
    if !tercel_crypto::constant_time_eq(finished.verify_data, verify_data) {
        return Err(Peer::wrong_finished(finished.verify_data.len(), VERIFY_DATA).into());
    }
    if let Some(transcript) = transcript {
        transcript.add(message.bytes());
    }
    Ok(())
}

/// Sends our chain, or a client's empty one. RFC 5246 7.4.2, 7.4.6
pub(crate) fn send_certificate(
    flow: &mut Flow,
    transcript: &mut Transcript,
    credential: Option<&Arc<Credential>>,
) -> Result<(), Error> {
    if let Some(key) = credential.and_then(|credential| credential.raw_key()) {
        let message = RawPublicKeyTls12 { subject_public_key_info: key };
        return flow.send(&message, transcript);
    }
    // Without a certificate both forms are the same empty message. RFC 7250 3
    let chain = credential.map(|credential| credential.chain()).unwrap_or_default();
    flow.send_with(|out| CertificateTls12::encode_chain(chain, out), |bytes| transcript.add(bytes))
}

/// The chain or the key in a peer's Certificate; `None` if it is empty.
pub(crate) fn shown(
    message: &Message,
    side: Side,
    certificate_type: CertificateType,
) -> Result<Option<Shown>, Error> {
    if certificate_type == CertificateType::RAW_PUBLIC_KEY {
        let key = RawPublicKeyTls12::parse(message.body())?.subject_public_key_info;
        return Ok((!key.is_empty()).then(|| Shown::raw_public_key(side, key)));
    }
    let parsed = CertificateTls12::parse(message.body())?;
    let chain: Vec<_> =
        parsed.certificates().map(|der| CertificateDer::from(der.to_vec())).collect();
    Ok((!chain.is_empty()).then(|| Shown::chain(side, chain)))
}

/// A client's proof that it has its key: over all messages so far. RFC 5246 7.4.8
pub(crate) async fn send_verify(
    flow: &mut Flow,
    transcript: &mut Transcript,
    credential: &Arc<Credential>,
    scheme: SignatureScheme,
) -> Result<(), Error> {
    let content = transcript.take_messages();
    let signature = signature::sign(flow, credential, scheme, &content).await?;
    flow.send_with(
        |out| CertificateVerify::encode_signed(scheme, |out| signature.write(out), out),
        |bytes| transcript.add(bytes),
    )
}

/// Checks a client's proof. RFC 5246 7.4.8
pub(crate) async fn receive_verify(
    flow: &mut Flow,
    transcript: &mut Transcript,
    client: &Shown,
    offered: &[SignatureScheme],
) -> Result<SignatureScheme, Error> {
    let message = flow.read_expected(HandshakeType::CERTIFICATE_VERIFY).await?;
    let verify = CertificateVerify::parse(message.body())?;
    let content = transcript.take_messages();
    let version = ProtocolVersion::TLS1_2;
    verify_signature(
        || client.public_key(),
        verify.algorithm,
        version,
        offered,
        &content,
        verify.signature,
    )?;
    transcript.add(message.bytes());
    Ok(verify.algorithm)
}

/// What a server's ServerKeyExchange signs. RFC 8422 5.4
pub(crate) fn signed_params(
    randoms: &Randoms,
    params: &ServerEcdhParams<'_>,
) -> Few<u8, { 64 + 4 + MAX_SHARE }> {
    Few::joined(0, &[&randoms.client, &randoms.server, &params.head(), params.public])
}

/// A key pair and its share, in a group that TLS 1.2 has.
pub(crate) fn generate(group: NamedGroup) -> Result<(KeyExchange, Few<u8, MAX_SHARE>), Error> {
    let algorithm = group::algorithm(group).ok_or(Peer::WrongGroup)?;
    let mut room = [0; MAX_SHARE];
    let share = room.get_mut(..algorithm.client_share_len()).ok_or(Local::Encode)?;
    let exchange = KeyExchange::generate_into(algorithm, share)?;
    Ok((exchange, Few::joined(0, &[share])))
}

/// The secret that comes of a peer's share in such a group and one of our own, and that.
pub(crate) fn respond(
    group: NamedGroup,
    peer_share: &[u8],
) -> Result<(SharedSecret, Few<u8, MAX_SHARE>), Error> {
    let algorithm = group::algorithm(group).ok_or(Peer::WrongGroup)?;
    let mut room = [0; MAX_SHARE];
    let share = room.get_mut(..algorithm.server_share_len()).ok_or(Local::Encode)?;
    let shared = KeyExchange::respond_into(algorithm, peer_share, share).map_err(bad_share)?;
    Ok((shared, Few::joined(0, &[share])))
}

/// The longest share of such a group: a point on P-521.
pub(crate) const MAX_SHARE: usize = 133;

/// The kind of authentication that a leaf's key serves.
pub(crate) fn authentication_of(kind: tercel_crypto::KeyKind) -> Authentication {
    match kind {
        tercel_crypto::KeyKind::Rsa | tercel_crypto::KeyKind::RsaPss => Authentication::Rsa,
        _ => Authentication::Ecdsa,
    }
}
