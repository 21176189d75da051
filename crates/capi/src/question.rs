//! Questions, and the caller's answers.

use core::ffi::c_char;
use std::sync::Arc;

use tercel::Question;
use tercel::certificates::VerifyPeer;
use tercel::pki::RefusalReason;

use crate::config::Config;
use crate::credential::Credential;
use crate::entry::bytes::Bytes;
use crate::entry::owned::with;
use crate::entry::pointers::{self, Memory, Place};
use crate::entry::{Result, entry, shared, value};
use crate::handshake::Handshake;
use crate::handshake::question_codes::*;
use crate::psk::{self, Psk};
use crate::roots::Roots;
use crate::status::codes::{
    TERCEL_MISUSE_INVALID_ARGUMENT, TERCEL_MISUSE_NO_SUCH_QUESTION, TERCEL_OK,
};
use crate::status::{self, Status};

/// Returns the open question; TERCEL_QUESTION_NONE if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_handshake_question(handshake: *const Handshake) -> QuestionKind {
    // SAFETY: the caller's duty.
    value(|| unsafe {
        with(handshake, |progress| {
            Ok(match progress.question()? {
                Question::ChooseConfig(_) => TERCEL_QUESTION_CHOOSE_CONFIG,
                Question::FindSession(_) => TERCEL_QUESTION_FIND_SESSION,
                Question::ClaimSession(_) => TERCEL_QUESTION_CLAIM_SESSION,
                Question::FindPreSharedKey(_) => TERCEL_QUESTION_FIND_PSK,
                Question::AdmitEarlyData(_) => TERCEL_QUESTION_ADMIT_EARLY_DATA,
                Question::SelectCredential(_) => TERCEL_QUESTION_SELECT_CREDENTIAL,
                Question::Sign(_) => TERCEL_QUESTION_SIGN,
                Question::VerifyPeer(_) => TERCEL_QUESTION_VERIFY_PEER,
                _ => TERCEL_QUESTION_NONE,
            })
        })
    })
}

/// Returns bytes of the open question. If the field is absent, or has no value at this index, data
/// is NULL. The bytes are valid until the question is answered, also for other threads, or until
/// the handshake fails or is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_question_bytes(
    handshake: *const Handshake,
    field: Field,
    index: usize,
) -> Bytes {
    // SAFETY: the caller's duty.
    value(|| unsafe {
        with(handshake, |progress| Ok(Bytes::optional(progress.view()?.bytes_at(field, index))))
    })
}

/// Stores a number of the open question. TERCEL_MISUSE_INVALID_ARGUMENT if the field is absent, or
/// has no value at this index.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_question_number(
    handshake: *const Handshake,
    field: Field,
    index: usize,
    number: *mut u64,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let mut place = Place::new(number, 0)?;
        with(handshake, |progress| {
            let number = progress.view()?.number(field, index);
            place.set(number.ok_or(TERCEL_MISUSE_INVALID_ARGUMENT)?);
            Ok(())
        })
    })
}

/// SELECT_CREDENTIAL: finds the first credential of a list that can sign for the peer, and stores
/// its index, or the length of the list if there is none. The names in the certificates are not
/// considered: pass those credentials that are for the requested name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_question_find_credential(
    handshake: *const Handshake,
    credentials: *const *const Credential,
    count: usize,
    index: *mut usize,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let mut place = Place::new(index, count)?;
        let list = pointers::slice(credentials, count)?;
        place.separate(&[Memory::elements(list)])?;
        let list: Vec<_> = list.iter().map(|each| shared::get(*each)).collect::<Result<_>>()?;
        with(handshake, |progress| {
            let Question::SelectCredential(question) = progress.question()? else {
                return Err(TERCEL_MISUSE_NO_SUCH_QUESTION);
            };
            // One request for all credentials, since each is parsed from the peer's message.
            let request = question.request();
            let fits = |each: &Arc<Credential>| request.scheme_for(&each.0).is_some();
            place.set(list.iter().position(fits).unwrap_or(count));
            Ok(())
        })
    })
}

/// FIND_PSK: finds the key of a list that the client offers, and stores its index, or the length of
/// the list if there is none. The order of the server's cipher suites decides first, then the order
/// of the list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_question_find_psk(
    handshake: *const Handshake,
    psks: *const *const Psk,
    count: usize,
    index: *mut usize,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let mut place = Place::new(index, count)?;
        let list = pointers::slice(psks, count)?;
        place.separate(&[Memory::elements(list)])?;
        let list: Vec<_> = list.iter().map(|each| shared::get(*each)).collect::<Result<_>>()?;
        with(handshake, |progress| {
            let Question::FindPreSharedKey(question) = progress.question()? else {
                return Err(TERCEL_MISUSE_NO_SUCH_QUESTION);
            };
            let request = question.request();
            let keys: Vec<_> = list.iter().flat_map(|psk| psk.keys.iter().cloned()).collect();
            let found = psk::find(&keys, &request);
            let has = |psk: &Arc<Psk>| {
                found
                    .as_ref()
                    .is_some_and(|found| psk.keys.iter().any(|key| Arc::ptr_eq(key, found)))
            };
            place.set(list.iter().position(has).unwrap_or(count));
            Ok(())
        })
    })
}

/// VERIFY_PEER: verifies the peer's chain with these roots, for the requested name and the time of
/// the question, as a configuration with these roots does. Returns TERCEL_OK if the chain is
/// trusted, or a status of the class TERCEL_CLASS_REFUSED. The question remains open, so that the
/// caller can check more before it answers with this status.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_question_verify_chain(
    handshake: *mut Handshake,
    roots: *const Roots,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let roots = shared::get(roots)?;
        with(handshake, |progress| {
            let Question::VerifyPeer(question) = progress.question()? else {
                return Err(TERCEL_MISUSE_NO_SUCH_QUESTION);
            };
            let Err(refusal) = roots.verifier.verify_peer(&question.identity()) else {
                return Ok(());
            };
            let status = status::of_refusal(refusal.reason);
            progress.verdict = Some(refusal);
            Err(status)
        })
    })
}

/// Answers CHOOSE_CONFIG with a server's configuration. NULL refuses the connection.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_answer_config(
    handshake: *mut Handshake,
    config: *const Config,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let config = if config.is_null() { None } else { Some(shared::get(config)?) };
        let claims = config.as_ref().is_some_and(|config| config.claims());
        let chosen = config.as_ref().map(|config| config.server()).transpose()?;
        with(handshake, |progress| {
            progress.answer(|question| match question {
                Question::ChooseConfig(question) => Some(question.answer(chosen)),
                _ => None,
            })?;
            progress.claims = claims;
            Ok(())
        })
    })
}

/// Answers FIND_SESSION with the bytes that tercel_connection_take_stored_session returned for this
/// identity. NULL and 0 if there is no such session.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_answer_session(
    handshake: *mut Handshake,
    session: *const u8,
    len: usize,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let session = pointers::slice_or_empty(session, len)?;
        with(handshake, |progress| {
            progress.answer(|question| match question {
                Question::FindSession(question) => {
                    Some(question.answer((!session.is_empty()).then(|| session.to_vec())))
                }
                _ => None,
            })
        })
    })
}

/// Answers CLAIM_SESSION: 1 if the caller has removed the session for this question, 0 if the store
/// does not have it any more. For one session, only one answer may be 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_answer_claim(handshake: *mut Handshake, claimed: u32) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        if claimed > 1 {
            return Err(TERCEL_MISUSE_INVALID_ARGUMENT);
        }
        with(handshake, |progress| {
            progress.answer(|question| match question {
                Question::ClaimSession(question) => Some(question.answer(claimed == 1)),
                _ => None,
            })
        })
    })
}

/// Answers FIND_PSK with a key. NULL if none of the client's keys is known.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_answer_psk(handshake: *mut Handshake, psk: *const Psk) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let psk = if psk.is_null() { None } else { Some(shared::get(psk)?) };
        with(handshake, |progress| {
            progress.answer(|question| match question {
                Question::FindPreSharedKey(question) => {
                    let key = psk.and_then(|psk| psk::find(&psk.keys, &question.request()));
                    Some(question.answer(key))
                }
                _ => None,
            })
        })
    })
}

/// Answers ADMIT_EARLY_DATA: 1 admits the early data, 0 does not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_answer_early_data(
    handshake: *mut Handshake,
    admitted: u32,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        if admitted > 1 {
            return Err(TERCEL_MISUSE_INVALID_ARGUMENT);
        }
        with(handshake, |progress| {
            progress.answer(|question| match question {
                Question::AdmitEarlyData(question) => Some(question.answer(admitted == 1)),
                _ => None,
            })
        })
    })
}

/// Answers SELECT_CREDENTIAL with a credential. NULL if there is none: a client then continues
/// without a certificate, and a server refuses the connection.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_answer_credential(
    handshake: *mut Handshake,
    credential: *const Credential,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let credential =
            if credential.is_null() { None } else { Some(Arc::clone(&shared::get(credential)?.0)) };
        with(handshake, |progress| {
            progress.answer(|question| match question {
                Question::SelectCredential(question) => Some(question.answer(credential)),
                _ => None,
            })
        })
    })
}

/// Answers SELECT_CREDENTIAL of a server that has no credential for the name of the ClientHello:
/// the handshake ends with the alert unrecognized_name. RFC 6066 3
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_answer_unknown_name(handshake: *mut Handshake) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        with(handshake, |progress| {
            progress.answer(|question| match question {
                Question::SelectCredential(question) => Some(question.answer_unknown_name()),
                _ => None,
            })
        })
    })
}

/// Answers SIGN with a signature in the form of TLS. NULL and 0 if signing failed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_answer_signature(
    handshake: *mut Handshake,
    signature: *const u8,
    len: usize,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let signature = pointers::slice_or_empty(signature, len)?;
        let signature = (!signature.is_empty()).then(|| signature.to_vec());
        with(handshake, |progress| {
            progress.answer(|question| match question {
                Question::Sign(question) => Some(question.answer(signature)),
                _ => None,
            })
        })
    })
}

/// Answers VERIFY_PEER: TERCEL_OK trusts the peer, a status of the class TERCEL_CLASS_REFUSED
/// refuses it and determines the alert. The explanation is for tercel_handshake_error only; NULL
/// and 0 if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_answer_peer(
    handshake: *mut Handshake,
    verdict: Status,
    explanation: *const c_char,
    explanation_len: usize,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let explanation = pointers::slice_or_empty(explanation.cast::<u8>(), explanation_len)?;
        let explanation = String::from_utf8_lossy(explanation);
        with(handshake, |progress| {
            let known = progress.verdict.take();
            let known = known.filter(|refusal| status::of_refusal(refusal.reason) == verdict);
            let reason = if verdict == TERCEL_OK {
                None
            } else {
                let given = status::refusal(verdict).ok_or(TERCEL_MISUSE_INVALID_ARGUMENT)?;
                Some(given)
            };
            progress.answer(|question| {
                let Question::VerifyPeer(question) = question else { return None };
                let refused = |reason: RefusalReason| {
                    let refusal = known
                        .map_or_else(|| question.identity().refusal(reason), |refusal| *refusal);
                    if explanation.is_empty() {
                        Box::new(refusal)
                    } else {
                        Box::new(refusal.with_explanation(explanation))
                    }
                };
                Some(question.answer(reason.map_or(Ok(()), |reason| Err(refused(reason)))))
            })
        })
    })
}
