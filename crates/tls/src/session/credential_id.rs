//! Which credential a server's session was made with. A server resumes a session only where a full handshake would
//! show that credential again, or one that is valid for the same name.
//!
//! `handshake/identity.rs` has the rule.

use pki_types::CertificateDer;
use tercel_crypto::{Hash, HashAlgorithm};
use tercel_wire::{Reader, Writer};

/// Identifies a server's credential: its leaf certificate or raw public key, and the names it is valid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CredentialId {
    leaf: Digest,
    /// Of the set of names in the leaf's subjectAltName. `None` for a raw public key and for a leaf without names.
    names: Option<Digest>,
}

/// What a session keeps of the credential it was made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SessionCredential(Digest);

/// The beginning of a SHA-256: nobody gains by two credentials of its own with one digest, and to meet the digest of somebody
/// else's takes a second preimage.
type Digest = [u8; 16];

impl CredentialId {
    /// The identity of a credential with this leaf certificate.
    pub(crate) fn of_certificate(leaf: &CertificateDer<'_>) -> Self {
        let names = tercel_pki::subject_names(leaf).unwrap_or_default();
        let names = (!names.is_empty()).then(|| {
            let mut bytes = Vec::new();
            for (tag, name) in &names {
                // The length keeps two names from being read as one.
                bytes.extend_from_slice(&name.len().to_be_bytes());
                bytes.push(*tag);
                bytes.extend_from_slice(name);
            }
            digest(&bytes)
        });
        Self { leaf: digest(leaf), names }
    }

    /// The identity of a credential with this raw public key. RFC 7250
    pub(crate) fn of_raw_public_key(key: &[u8]) -> Self {
        Self { leaf: digest(key), names: None }
    }

    /// What a session keeps of it: the leaf, if the client sent a name; otherwise the set of names, which is the same for the
    /// same leaf.
    pub(crate) fn in_session(&self, has_server_name: bool) -> SessionCredential {
        let names = self.names.filter(|_| !has_server_name);
        SessionCredential(names.unwrap_or(self.leaf))
    }
}

impl SessionCredential {
    /// 16 bytes, or none, behind their length.
    pub(crate) fn write(credential: Option<&Self>, w: &mut Writer<'_>) {
        w.opaque8(credential.map_or(&[], |credential| &credential.0));
    }

    /// What [`Self::write`] wrote; the outer `None` if it is something else.
    #[allow(clippy::option_option, reason = "absent and malformed are two things")]
    pub(crate) fn read(r: &mut Reader<'_>) -> Option<Option<Self>> {
        match r.opaque8().ok()? {
            [] => Some(None),
            digest => digest.try_into().ok().map(|digest| Some(Self(digest))),
        }
    }
}

fn digest(bytes: &[u8]) -> Digest {
    Hash::digest(HashAlgorithm::Sha256, &[bytes]).first_chunk().copied().unwrap_or_default()
}

#[cfg(test)]
impl SessionCredential {
    pub(crate) fn for_tests(byte: u8) -> Self {
        Self([byte; 16])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_nothing_else() {
        for credential in [None, Some(SessionCredential([1; 16]))] {
            let mut bytes = Vec::new();
            let mut w = Writer::new(&mut bytes);
            SessionCredential::write(credential.as_ref(), &mut w);
            w.finish().unwrap();
            let mut r = Reader::new(&bytes);
            assert_eq!(SessionCredential::read(&mut r), Some(credential));
            assert!(r.is_empty());
        }
        let short = [&[15][..], &[1; 15]].concat();
        let long = [&[17][..], &[1; 17]].concat();
        for bytes in [short, long, vec![16, 1], Vec::new()] {
            assert_eq!(SessionCredential::read(&mut Reader::new(&bytes)), None, "{bytes:?}");
        }
    }

    #[test]
    fn a_session_keeps_the_leaf_with_a_name_and_the_names_without() {
        let certificate = |names: &[&str]| {
            let key = rcgen::KeyPair::generate().unwrap();
            let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
            let params = rcgen::CertificateParams::new(names).unwrap();
            CredentialId::of_certificate(params.self_signed(&key).unwrap().der())
        };
        let first = certificate(&["a.example", "192.0.2.1"]);
        let renewed = certificate(&["192.0.2.1", "A.example", "a.example"]);
        assert_eq!(first.in_session(false), renewed.in_session(false));
        assert_ne!(first.in_session(true), renewed.in_session(true));
        for others in [&["a.example"][..], &["a.example", "192.0.2.2"], &["192.0.2.1"]] {
            assert_ne!(
                first.in_session(false),
                certificate(others).in_session(false),
                "{others:?}"
            );
        }
        let [nameless, other] = [(); 2].map(|()| certificate(&[]).in_session(false));
        assert_ne!(nameless, other);
        let [key, other] = [[1], [2]].map(|key| CredentialId::of_raw_public_key(&key));
        assert_eq!(key.in_session(true), key.in_session(false));
        assert_ne!(key.in_session(true), other.in_session(true));
    }
}
