//! Identifies the credential with which a server's session was made. A server resumes a session
//! only if a full handshake would use the same credential, or a credential that is valid for the
//! same name. `handshake/identity.rs` makes this decision.

use pki_types::CertificateDer;
use tercel_crypto::{Hash, HashAlgorithm};
use tercel_wire::{Reader, Writer};

/// The identifier of a server's credential: digests of its leaf certificate or raw public key, and
/// of the names for which the certificate is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CredentialId {
    leaf: Digest,
    /// The digest of the names in the leaf's subjectAltName. `None` for a raw public key and for a
    /// leaf without names.
    names: Option<Digest>,
}

/// The part of a [`CredentialId`] that a session contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SessionCredential(Digest);

/// A SHA-256 digest truncated to 16 bytes. A collision between two credentials of one owner gives
/// no advantage, and an attack on another owner's credential requires a second preimage.
type Digest = [u8; 16];

impl CredentialId {
    /// Creates the identifier of a credential with this leaf certificate.
    pub(crate) fn of_certificate(leaf: &CertificateDer<'_>) -> Self {
        let names = tercel_pki::subject_names(leaf).unwrap_or_default();
        let names = (!names.is_empty()).then(|| {
            let mut bytes = Vec::new();
            for (tag, name) in &names {
                // The length separates consecutive names.
                bytes.extend_from_slice(&name.len().to_be_bytes());
                bytes.push(*tag);
                bytes.extend_from_slice(name);
            }
            digest(&bytes)
        });
        Self { leaf: digest(leaf), names }
    }

    /// Creates the identifier of a credential with this raw public key. RFC 7250
    pub(crate) fn of_raw_public_key(key: &[u8]) -> Self {
        Self { leaf: digest(key), names: None }
    }

    /// Returns the digest of the leaf certificate or raw public key.
    pub(crate) fn leaf(&self) -> &[u8] {
        &self.leaf
    }

    /// Returns the digest to store in a session. If the client sent a server name, the result is
    /// the digest of the leaf. Otherwise it is the digest of the leaf's names, if the leaf has
    /// names.
    pub(crate) fn in_session(&self, has_server_name: bool) -> SessionCredential {
        let names = self.names.filter(|_| !has_server_name);
        SessionCredential(names.unwrap_or(self.leaf))
    }
}

impl SessionCredential {
    /// Writes the digest after its length. `None` is written as an empty digest.
    pub(crate) fn write(credential: Option<&Self>, w: &mut Writer<'_>) {
        w.opaque8(credential.map_or(&[], |credential| &credential.0));
    }

    /// Reads a digest that [`Self::write`] wrote. The outer `None` means malformed.
    #[allow(clippy::option_option, reason = "absent and malformed are different")]
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
    fn written_digests_are_read_and_other_lengths_refused() {
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
    fn a_session_contains_the_leaf_s_digest_with_a_server_name_and_the_names_digest_without() {
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
