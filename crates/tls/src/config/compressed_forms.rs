//! The compressed forms of a credential's Certificate message, made once each. RFC 8879 6
//!
//! Readers take no lock. Must not know: how to compress, what a message looks like.
//! Next: [`super::credential`], which has one of these, `handshake/compression.rs`, which fills it.

use std::sync::Arc;

use arc_swap::ArcSwap;
use tercel_wire::CertificateCompressionAlgorithm;

/// What a form depends on besides the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    pub(crate) algorithm: CertificateCompressionAlgorithm,
    /// Whether the OCSP response is in it.
    pub(crate) staple: bool,
    /// Whether the certificate timestamps are in it.
    pub(crate) timestamps: bool,
}

/// The forms made so far; `None` for one that is better sent uncompressed.
#[derive(Default)]
pub(crate) struct CompressedForms(ArcSwap<Vec<(Form, Made)>>);

type Made = Option<Arc<[u8]>>;

impl CompressedForms {
    /// The form, made now if this is the first use. Two first uses at once may both make it.
    pub(crate) fn get_or_make<E>(
        &self,
        form: Form,
        make: impl FnOnce() -> Result<Option<Vec<u8>>, E>,
    ) -> Result<Made, E> {
        if let Some((_, made)) = self.0.load().iter().find(|(known, _)| *known == form) {
            return Ok(made.clone());
        }
        let made: Made = make()?.map(Into::into);
        self.0.rcu(|known| {
            let mut all = Vec::clone(known);
            if all.len() < MOST_FORMS && !all.iter().any(|(known, _)| *known == form) {
                all.push((form, made.clone()));
            }
            all
        });
        Ok(made)
    }
}

/// Three algorithms with and without each extension, and some of the application's own.
const MOST_FORMS: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    fn form(number: u16) -> Form {
        let algorithm = CertificateCompressionAlgorithm(number);
        Form { algorithm, staple: false, timestamps: false }
    }

    #[test]
    fn each_form_is_made_once() {
        let forms = CompressedForms::default();
        let mut made = 0;
        for _ in 0..3 {
            let mut make = |bytes: Option<Vec<u8>>| {
                made += 1;
                Ok::<_, ()>(bytes)
            };
            let with_staple = Form { staple: true, ..form(1) };
            assert_eq!(
                forms.get_or_make(form(1), || make(Some(vec![1]))),
                Ok(Some([1][..].into()))
            );
            assert_eq!(forms.get_or_make(form(2), || make(None)), Ok(None));
            let other = forms.get_or_make(with_staple, || make(Some(vec![2])));
            assert_eq!(other, Ok(Some([2][..].into())));
        }
        assert_eq!(made, 3);
    }

    #[test]
    fn a_failure_is_not_kept() {
        let forms = CompressedForms::default();
        assert_eq!(forms.get_or_make(form(1), || Err("failed")), Err("failed"));
        assert_eq!(forms.get_or_make(form(1), || Ok::<_, ()>(None)), Ok(None));
    }

    #[test]
    fn their_number_is_bounded() {
        let forms = CompressedForms::default();
        for number in 0..100 {
            let made = forms.get_or_make(form(number), || Ok::<_, ()>(Some(vec![7])));
            assert_eq!(made, Ok(Some([7][..].into())));
        }
        assert_eq!(forms.0.load().len(), MOST_FORMS);
    }
}
