//! The confirmation that a server has used the inner ClientHello. RFC 9849 7.2

use tercel_crypto::{HashAlgorithm, Prk};

use crate::keys::label::expand_label;

/// The message that contains the confirmation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EchConfirmation {
    HelloRetryRequest,
    ServerHello,
}

impl EchConfirmation {
    /// Computes the confirmation from the random of the inner ClientHello and from the hash of the
    /// transcript up to this message, in which zeros are in place of the confirmation.
    /// RFC 9849 7.2, 7.2.1
    pub(crate) fn compute(
        self,
        hash: HashAlgorithm,
        inner_random: &[u8; 32],
        transcript_hash: &[u8],
    ) -> [u8; 8] {
        let label: &[u8] = match self {
            Self::HelloRetryRequest => b"hrr ech accept confirmation",
            Self::ServerHello => b"ech accept confirmation",
        };
        let mut out = [0; 8];
        // An empty salt stands for zeros of the length of the hash.
        expand_label(&Prk::extract(hash, &[], inner_random), label, transcript_hash, &mut out);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9849 7.2, 7.2.1
    #[test]
    fn the_confirmation_is_an_expansion_under_its_label() {
        let (random, transcript_hash) = ([7; 32], [8; 32]);
        let computed = |message: EchConfirmation| {
            message.compute(HashAlgorithm::Sha256, &random, &transcript_hash)
        };
        let key = Prk::extract(HashAlgorithm::Sha256, &[0; 32], &random);
        for (message, label) in [
            (EchConfirmation::ServerHello, &b"tls13 ech accept confirmation"[..]),
            (EchConfirmation::HelloRetryRequest, b"tls13 hrr ech accept confirmation"),
        ] {
            let mut expected = [0; 8];
            let length = u8::try_from(label.len()).unwrap();
            key.expand(&[&[0, 8, length], label, &[32], &transcript_hash], &mut expected);
            assert_eq!(computed(message), expected);
        }
    }
}
