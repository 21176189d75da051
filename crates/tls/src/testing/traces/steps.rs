//! Each step of a trace by itself: its results are computed from its inputs.
//!
//! The tests cover values that no interface returns: derived salts, keys and IVs, Finished keys,
//! the binder. They are computed as in [`crate::keys::tls13`], with the crypto crate; the parent
//! module checks that the same secrets lead to the same records.

use tercel_crypto::{Hash, HashAlgorithm, HmacKey, Prk, hkdf_extract};
use tercel_wire::MessageHeader;

use super::file::{Step, Trace};
use super::{CLIENT_AUTH, COMPATIBILITY, RESUMED, RETRY, SIMPLE, exchange};

const SHA256: HashAlgorithm = HashAlgorithm::Sha256;

/// RFC 9846 7
#[test]
fn every_step_follows_from_its_inputs() {
    for (text, count) in
        [(SIMPLE, 38), (RESUMED, 40), (RETRY, 38), (CLIENT_AUTH, 36), (COMPATIBILITY, 35)]
    {
        let trace = Trace::parse(text);
        trace.steps().iter().for_each(check);
        assert_eq!(trace.steps().len(), count);
    }
}

#[test]
fn the_binder_key_comes_from_the_resumed_secret() {
    let trace = Trace::parse(RESUMED);
    let early = Prk::from_bytes(SHA256, trace.value("extract early", "secret"));
    let info = hkdf_label(32, "res binder", &Hash::digest(SHA256, &[]));
    assert_eq!(expand(&early, &info, 32), trace.value("binder", "prk"));
    // The ClientHello that is sent consists of the hashed prefix and the binder.
    let binder = trace.value("binder", "finished");
    let hello = trace.steps().iter().find(|step| step.what == "record handshake").unwrap();
    let binders = [&[0, 33, 32], binder].concat();
    let whole = [trace.value("binder", "ClientHello prefix"), &binders].concat();
    assert_eq!(hello.value("payload"), whole);
}

fn check(step: &Step) {
    let (kind, detail) = step.what.split_once(' ').unwrap_or((&step.what, ""));
    match kind {
        "key" => assert_eq!(exchange(step).public_share(), step.value("public key")),
        "extract" => {
            let secret = hkdf_extract(SHA256, step.value("salt"), step.value("ikm"));
            assert_eq!(secret.as_bytes(), step.value("secret"), "extract {detail}");
        }
        "derive" => {
            assert_eq!(hkdf_label(32, detail, step.value("hash")), step.value("info"), "{detail}");
            derived(step, "info", "expanded");
        }
        "keys" => {
            assert_eq!(hkdf_label(16, "key", &[]), step.value("key info"));
            assert_eq!(hkdf_label(12, "iv", &[]), step.value("iv info"));
            derived(step, "key info", "key expanded");
            derived(step, "iv info", "iv expanded");
        }
        "finished" => finished_key(step),
        "binder" => {
            finished_key(step);
            let hash = Hash::digest(SHA256, &[step.value("ClientHello prefix")]);
            assert_eq!(&*hash, step.value("binder hash"));
            let key = HmacKey::new(SHA256, step.value("expanded"));
            assert_eq!(&*key.sign(&[&*hash]), step.value("finished"));
        }
        "message" => message(step, detail),
        // The parent module checks records in sequence.
        "record" => {}
        _ => panic!("an unknown step: {}", step.what),
    }
}

fn finished_key(step: &Step) {
    assert_eq!(hkdf_label(32, "finished", step.value("hash")), step.value("info"));
    derived(step, "info", "expanded");
}

fn derived(step: &Step, info: &str, result: &str) {
    let (prk, result) = (Prk::from_bytes(SHA256, step.value("prk")), step.value(result));
    assert_eq!(expand(&prk, step.value(info), result.len()), result, "{}", step.what);
}

/// HKDF-Expand-Label to the length of a secret.
pub(super) fn expanded(secret: &[u8], label: &str, context: &[u8]) -> Vec<u8> {
    expand(&Prk::from_bytes(SHA256, secret), &hkdf_label(32, label, context), 32)
}

pub(super) fn sha256(bytes: &[u8]) -> Vec<u8> {
    Hash::digest(SHA256, &[bytes]).to_vec()
}

fn expand(prk: &Prk, info: &[u8], length: usize) -> Vec<u8> {
    let mut out = vec![0; length];
    prk.expand(&[info], &mut out);
    out
}

/// The structure HkdfLabel. RFC 9846 7.1
fn hkdf_label(length: u8, label: &str, context: &[u8]) -> Vec<u8> {
    let mut info = vec![0, length, u8::try_from(6 + label.len()).unwrap()];
    info.extend_from_slice(b"tls13 ");
    info.extend_from_slice(label.as_bytes());
    info.push(u8::try_from(context.len()).unwrap());
    info.extend_from_slice(context);
    info
}

/// Checks the header of a message. The resumed ClientHello is given without its binders.
fn message(step: &Step, name: &str) {
    let octets = step.value(name);
    let header = MessageHeader::parse(octets.first_chunk().unwrap());
    let registered = format!("{:?}", header.handshake_type).replace('_', "");
    assert_eq!(registered, name.to_ascii_lowercase());
    let body = header.length as usize;
    let binders = body + 4 - octets.len();
    assert!(binders == 0 || (binders == 35 && name == "ClientHello"), "{name}: {binders}");
}
