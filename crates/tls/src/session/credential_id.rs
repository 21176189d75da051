//! Which credential a server's session was made with. A server resumes a session only where a full handshake would
//! show that credential again, or one that is valid for the same name.
//!
//! `handshake/resumption.rs` has the rule.

use pki_types::CertificateDer;
use tercel_crypto::{Hash, HashAlgorithm};
use tercel_wire::{Reader, Writer};

/// Identifies a server's credential: its leaf certificate or raw public key, and the names it is valid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CredentialId {
    /// SHA-256 of the leaf certificate, or of the raw public key.
    pub(crate) leaf: [u8; DIGEST],
    /// SHA-256 of the set of names in the leaf's subjectAltName. `None` for a raw public key and for a leaf without
    /// names, and in sessions that were made under a name, which need no more than that name.
    pub(crate) names: Option<[u8; DIGEST]>,
}

const DIGEST: usize = 32;

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

    /// `leaf<0..32> | names<0..32>`, each of 32 bytes or none.
    pub(crate) fn write(id: Option<&Self>, w: &mut Writer<'_>) {
        w.opaque8(id.map_or(&[], |id| &id.leaf));
        w.opaque8(id.and_then(|id| id.names.as_ref()).map_or(&[], |names| names));
    }

    /// What [`Self::write`] wrote; the outer `None` if it is something else.
    #[allow(clippy::option_option, reason = "absent and malformed are two things")]
    pub(crate) fn read(r: &mut Reader<'_>) -> Option<Option<Self>> {
        let leaf = read_digest(r)?;
        let names = read_digest(r)?;
        match (leaf, names) {
            (Some(leaf), names) => Some(Some(Self { leaf, names })),
            (None, None) => Some(None),
            (None, Some(_)) => None,
        }
    }
}

#[allow(clippy::option_option, reason = "absent and malformed are two things")]
fn read_digest(r: &mut Reader<'_>) -> Option<Option<[u8; DIGEST]>> {
    match r.opaque8().ok()? {
        [] => Some(None),
        digest => digest.try_into().ok().map(Some),
    }
}

fn digest(bytes: &[u8]) -> [u8; DIGEST] {
    Hash::digest(HashAlgorithm::Sha256, &[bytes]).first_chunk().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_nothing_else() {
        let ids = [
            None,
            Some(CredentialId { leaf: [1; DIGEST], names: None }),
            Some(CredentialId { leaf: [1; DIGEST], names: Some([2; DIGEST]) }),
        ];
        for id in ids {
            let mut bytes = Vec::new();
            let mut w = Writer::new(&mut bytes);
            CredentialId::write(id.as_ref(), &mut w);
            w.finish().unwrap();
            let mut r = Reader::new(&bytes);
            assert_eq!(CredentialId::read(&mut r), Some(id));
            assert!(r.is_empty());
        }
        let names_alone = [&[0, 32][..], &[2; 32]].concat();
        let short = [&[31][..], &[1; 31], &[0]].concat();
        let long = [&[33][..], &[1; 33], &[0]].concat();
        for bytes in [names_alone, short, long, vec![0]] {
            assert_eq!(CredentialId::read(&mut Reader::new(&bytes)), None, "{bytes:?}");
        }
    }

    #[test]
    fn certificates_for_the_same_names_differ_in_their_leaf_only() {
        let certificate = |names: &[&str]| {
            let key = rcgen::KeyPair::generate().unwrap();
            let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
            let params = rcgen::CertificateParams::new(names).unwrap();
            CredentialId::of_certificate(params.self_signed(&key).unwrap().der())
        };
        let first = certificate(&["a.example", "192.0.2.1"]);
        let renewed = certificate(&["192.0.2.1", "A.example", "a.example"]);
        assert_eq!(first.names, renewed.names);
        assert_ne!(first.leaf, renewed.leaf);
        for others in [&["a.example"][..], &["a.example", "192.0.2.2"], &["192.0.2.1"]] {
            assert_ne!(first.names, certificate(others).names, "{others:?}");
        }
        assert_eq!(certificate(&[]).names, None);
        let key = CredentialId::of_raw_public_key(&[1]);
        assert_eq!(key.names, None);
        assert_ne!(key, CredentialId::of_raw_public_key(&[2]));
    }
}
