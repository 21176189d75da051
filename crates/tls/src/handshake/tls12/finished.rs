//! ChangeCipherSpec and Finished, which both sides send. RFC 5246 7.1, 7.4.9

use tercel_wire::{Finished, HandshakeMessage, HandshakeType, MessageHeader};

use crate::error::{Error, PeerError};
use crate::handshake::runtime::command::Command;
use crate::handshake::runtime::flow::Flow;
use crate::handshake::transcript::Transcript;
use crate::keys::direction::Keys;
use crate::keys::tls12::{KeyBlock, MainSecret12, Randoms, VERIFY_DATA, VerifyData};
use crate::record::joiner::Message;

/// Derives the keys of an abbreviated handshake, and the contents of both Finished messages, the
/// server's first. The server's Finished covers the messages so far. The client's Finished also
/// covers the server's Finished, whose content is computed here in advance. RFC 5246 7.3
pub(super) fn abbreviated(
    main: &MainSecret12,
    randoms: &Randoms,
    transcript: &mut Transcript,
) -> (KeyBlock, VerifyData, VerifyData) {
    main.keys_and_both_finished(randoms, &transcript.digest(), |verify_data| {
        transcript.digest_with(&message(verify_data))
    })
}

/// Encodes a Finished message with its header. RFC 5246 7.4.9
fn message(verify_data: &VerifyData) -> [u8; MessageHeader::LENGTH + VERIFY_DATA] {
    let [a, b, c, d, e, f, g, h, i, j, k, l] = *verify_data;
    let [.., length] = VERIFY_DATA.to_be_bytes();
    [HandshakeType::FINISHED.0, 0, 0, length, a, b, c, d, e, f, g, h, i, j, k, l]
}

/// Sends ChangeCipherSpec, and Finished under the new keys. `transcript` is `Some` if the peer's
/// Finished follows, which covers this one.
pub(super) fn send(
    flow: &mut Flow,
    keys: Keys,
    verify_data: &VerifyData,
    transcript: Option<&mut Transcript>,
) -> Result<(), Error> {
    flow.execute(Command::SendChangeCipherSpec)?;
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

/// Receives ChangeCipherSpec, and Finished under the new keys. `transcript` is `Some` if the
/// Finished of this side follows, which covers the received one.
pub(super) async fn receive(
    flow: &mut Flow,
    keys: Keys,
    verify_data: &VerifyData,
    transcript: Option<&mut Transcript>,
) -> Result<(), Error> {
    flow.read_change_cipher_spec().await;
    flow.install_read(keys)?;
    let message = flow.read_expected(HandshakeType::FINISHED).await?;
    check(&message, verify_data)?;
    if let Some(transcript) = transcript {
        transcript.add(message.bytes());
    }
    Ok(())
}

/// Checks the content of the peer's Finished. RFC 5246 7.4.9
fn check(message: &Message, verify_data: &VerifyData) -> Result<(), Error> {
    let finished = Finished::parse(message.body())?;
    if !tercel_crypto::constant_time_eq(finished.verify_data, verify_data) {
        return Err(PeerError::wrong_finished(finished.verify_data.len(), VERIFY_DATA).into());
    }
    Ok(())
}
