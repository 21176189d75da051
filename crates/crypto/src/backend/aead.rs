//! AEAD: one expanded key, of AWS-LC or of a kernel, created in its box and never moved.
//!
//! A key has four operations: sealing and opening, each in place or into another buffer. See
//! `aead.rs` above, which splits the buffers.

use core::marker::PhantomData;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ptr;

use super::evp_aead;
#[cfg(kernel_aes_gcm)]
use super::kernels::aes_gcm;
#[cfg(kernel_chacha20_poly1305)]
use super::kernels::chacha20_poly1305;
#[cfg(any(kernel_aes_gcm, kernel_chacha20_poly1305))]
use super::kernels::{self, Kernel};
use super::lc;
use super::memory::cleanse;
use crate::algorithm::{AeadAlgorithm, AnyNonces, RecordNonces};
use crate::error::CryptoError;

const TAG_LEN: usize = AeadAlgorithm::TAG_LEN;

/// An initialised context at a fixed address. `N` is [`AnyNonces`] or [`RecordNonces`].
///
/// The FIPS module stores the last nonce of a context with [`RecordNonces`] in that context. So
/// [`Self::sealer`] borrows such a context exclusively. Opening changes no context.
pub(crate) struct AeadContext<N = AnyNonces> {
    cell: Box<Cell>,
    algorithm: AeadAlgorithm,
    nonces: PhantomData<N>,
}

/// A borrowed context with which one message may be sealed.
///
/// It is not `Clone`, and its operations consume it, so that a context that was borrowed
/// exclusively is not sealed with by two threads.
pub(crate) struct Sealer<'a> {
    cell: &'a Cell,
    algorithm: AeadAlgorithm,
}

/// An expanded key, in the form of the implementation that was chosen when the key was made.
///
/// All forms share one place, so that a box can be reused for a key of another form. The first word
/// indicates the form ([`Cell::form`]).
#[repr(C)]
union Cell {
    /// The address of AWS-LC's table of the algorithm, or a number that stands for another form.
    first_word: usize,
    /// A context of AWS-LC.
    aws_lc: ManuallyDrop<evp_aead::Context>,
    /// A key of the AES-GCM kernel.
    #[cfg(kernel_aes_gcm)]
    aes_gcm: ManuallyDrop<KernelKey<aes_gcm::Key>>,
    /// A key of the ChaCha20-Poly1305 kernel.
    #[cfg(kernel_chacha20_poly1305)]
    chacha20_poly1305: ManuallyDrop<KernelKey<chacha20_poly1305::Key>>,
}

/// A kernel's key, after the word that stands for the kernel.
#[cfg(any(kernel_aes_gcm, kernel_chacha20_poly1305))]
#[repr(C)]
struct KernelKey<T> {
    first_word: usize,
    key: T,
}

/// The implementations of a context.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    AwsLc,
    #[cfg(kernel_aes_gcm)]
    AesGcm,
    #[cfg(kernel_chacha20_poly1305)]
    ChaCha20Poly1305,
}

/// The first word of a context of the AES-GCM kernel. It is not the address of a table.
#[cfg(kernel_aes_gcm)]
const AES_GCM: usize = 1;

/// The first word of a context of the ChaCha20-Poly1305 kernel. It is not the address of a table.
#[cfg(kernel_chacha20_poly1305)]
const CHACHA20_POLY1305: usize = 2;

const _: () = {
    // `Cell::form` reads this field of AWS-LC's structure, which is never null.
    assert!(core::mem::offset_of!(lc::EVP_AEAD_CTX, aead) == 0);
    // Other forms add nothing to the size of an idle connection.
    assert!(size_of::<Cell>() == size_of::<lc::EVP_AEAD_CTX>());
};

impl AeadContext {
    pub(crate) fn new(algorithm: AeadAlgorithm, key: &[u8]) -> Result<Self, CryptoError> {
        Self::make(algorithm, |cell| Cell::init(cell, algorithm, None, key))
    }

    #[inline(always)]
    pub(crate) fn sealer(&self) -> Sealer<'_> {
        Sealer { cell: &self.cell, algorithm: self.algorithm }
    }

    /// A context that uses AWS-LC, for comparisons.
    #[cfg(all(test, any(kernel_aes_gcm, kernel_chacha20_poly1305)))]
    pub(crate) fn by_aws_lc(algorithm: AeadAlgorithm, key: &[u8]) -> Result<Self, CryptoError> {
        Self::make(algorithm, |cell| Cell::init_aws_lc(cell, algorithm, None, key))
    }

    /// A context that uses the AES-GCM kernel, even if it is not faster than AWS-LC; for
    /// comparisons.
    #[cfg(all(test, kernel_aes_gcm))]
    pub(crate) fn by_kernel(algorithm: AeadAlgorithm, key: &[u8]) -> Result<Self, CryptoError> {
        Self::make(algorithm, |cell| match algorithm {
            AeadAlgorithm::Aes128Gcm | AeadAlgorithm::Aes256Gcm
                if aes_gcm::is_available() && key.len() == algorithm.key_len() =>
            {
                // SAFETY: the instructions are available, and the length is right.
                unsafe { Cell::init_aes_gcm(cell, key) };
                Ok(())
            }
            _ => Err(CryptoError::Internal),
        })
    }
}

impl AeadContext<RecordNonces> {
    pub(crate) fn with_nonces(
        algorithm: AeadAlgorithm,
        nonces: RecordNonces,
        key: &[u8],
    ) -> Result<Self, CryptoError> {
        Self::make(algorithm, |cell| Cell::init(cell, algorithm, Some(nonces), key))
    }

    /// Expands another key in the same box, after wiping the old one.
    pub(crate) fn renew(
        self,
        algorithm: AeadAlgorithm,
        nonces: RecordNonces,
        key: &[u8],
    ) -> Result<Self, CryptoError> {
        let cell = Box::into_raw(self.cell);
        // SAFETY: the context is initialised and has no other owner. After the clean-up it is only
        // memory of that layout, and the box is restored with that type.
        let mut cell = unsafe {
            ptr::drop_in_place(cell);
            Box::from_raw(cell.cast::<MaybeUninit<Cell>>())
        };
        Cell::init(&mut cell, algorithm, Some(nonces), key)?;
        // SAFETY: `init` succeeded, so the cell is initialised.
        let cell = unsafe { cell.assume_init() };
        Ok(Self { cell, algorithm, nonces: PhantomData })
    }

    #[inline(always)]
    pub(crate) fn sealer(&mut self) -> Sealer<'_> {
        Sealer { cell: &self.cell, algorithm: self.algorithm }
    }
}

impl Sealer<'_> {
    /// Encrypts `input` followed by `extra` into `out`, and writes the tag after them
    /// (`input.len() + extra.len() + TAG_LEN` bytes).
    #[inline(always)]
    pub(crate) fn seal(
        self,
        nonce: &[u8; 12],
        aad: &[u8],
        input: &[u8],
        extra: &[u8],
        out: &mut [u8],
    ) -> Result<(), CryptoError> {
        assert!(out.len() == input.len() + extra.len() + TAG_LEN);
        match self.cell.form() {
            Form::AwsLc
                if !extra.is_empty() && self.algorithm == AeadAlgorithm::ChaCha20Poly1305 =>
            {
                // For this algorithm AWS-LC runs the cipher a second time for `extra`. Copying the
                // input into place is cheaper: by 140 ns up to 1 KiB, by 100 ns at 4 KiB, and about
                // equal at 16 KiB.
                let (body, tag) = out.split_at_mut(input.len() + extra.len());
                body[..input.len()].copy_from_slice(input);
                body[input.len()..].copy_from_slice(extra);
                self.cell.aws_lc().seal_in_place(nonce, aad, body, tag)
            }
            Form::AwsLc => self.cell.aws_lc().seal(nonce, aad, input, extra, out),
            #[cfg(kernel_aes_gcm)]
            Form::AesGcm => {
                let (body, tag) = out.split_at_mut(input.len() + extra.len());
                let (from, to) = (input.as_ptr(), body.as_mut_ptr());
                let data = aes_gcm::Data { input: from, out: to, len: input.len() };
                // SAFETY: `body` has room for the input and the extra bytes, and `tag` is what
                // remains; both are exclusive borrows.
                unsafe { self.cell.aes_gcm().seal(nonce, aad, data, extra, tag.as_mut_ptr()) }
            }
            #[cfg(kernel_chacha20_poly1305)]
            Form::ChaCha20Poly1305 => {
                let (body, tag) = out.split_at_mut(input.len() + extra.len());
                let (output, tag) = (body.as_mut_ptr(), tag.as_mut_ptr());
                let (input, len) = (input.as_ptr(), input.len());
                let text = chacha20_poly1305::Text { input, len, extra, output };
                // SAFETY: `body` has room for the input and the extra bytes, and `tag` for the
                // tag; both are exclusive borrows.
                unsafe { self.cell.chacha20_poly1305().seal(nonce, aad, text, tag) }
            }
        }
    }

    /// Encrypts `body` in place and writes the tag.
    #[inline]
    pub(crate) fn seal_in_place(
        self,
        nonce: &[u8; 12],
        aad: &[u8],
        body: &mut [u8],
        tag: &mut [u8],
    ) -> Result<(), CryptoError> {
        assert!(tag.len() == TAG_LEN);
        match self.cell.form() {
            Form::AwsLc => self.cell.aws_lc().seal_in_place(nonce, aad, body, tag),
            #[cfg(kernel_aes_gcm)]
            Form::AesGcm => {
                let (out, len) = (body.as_mut_ptr(), body.len());
                let data = aes_gcm::Data { input: out.cast_const(), out, len };
                // SAFETY: input and output are the same; `tag` has 16 bytes and is a separate
                // borrow.
                unsafe { self.cell.aes_gcm().seal(nonce, aad, data, &[], tag.as_mut_ptr()) }
            }
            #[cfg(kernel_chacha20_poly1305)]
            Form::ChaCha20Poly1305 => {
                let (output, len) = (body.as_mut_ptr(), body.len());
                let input = output.cast_const();
                let text = chacha20_poly1305::Text { input, len, extra: &[], output };
                // SAFETY: input and output are the same; `tag` is a separate borrow of the length
                // of a tag.
                unsafe { self.cell.chacha20_poly1305().seal(nonce, aad, text, tag.as_mut_ptr()) }
            }
        }
    }
}

impl<N> AeadContext<N> {
    fn make(
        algorithm: AeadAlgorithm,
        init: impl FnOnce(&mut MaybeUninit<Cell>) -> Result<(), CryptoError>,
    ) -> Result<Self, CryptoError> {
        let mut cell = Box::<Cell>::new_uninit();
        init(&mut cell)?;
        // SAFETY: `init` succeeded, so the cell is initialised.
        let cell = unsafe { cell.assume_init() };
        Ok(Self { cell, algorithm, nonces: PhantomData })
    }

    #[inline]
    pub(crate) fn algorithm(&self) -> AeadAlgorithm {
        self.algorithm
    }

    /// Decrypts `body` into `out` (equal lengths) if the tag is valid, else wipes `out`.
    #[inline(always)]
    pub(crate) fn open(
        &self,
        nonce: &[u8; 12],
        aad: &[u8],
        body: &[u8],
        tag: &[u8],
        out: &mut [u8],
    ) -> Result<(), CryptoError> {
        assert!(out.len() == body.len());
        match self.cell.form() {
            Form::AwsLc => self.cell.aws_lc().open(nonce, aad, body, tag, out),
            #[cfg(kernel_aes_gcm)]
            Form::AesGcm => {
                let (input, out, len) = (body.as_ptr(), out.as_mut_ptr(), body.len());
                let data = aes_gcm::Data { input, out, len };
                let tag = tag.try_into().map_err(|_| CryptoError::Rejected)?;
                // SAFETY: `out` has `body.len()` bytes and is an exclusive borrow.
                unsafe { self.cell.aes_gcm().open(nonce, aad, data, tag) }
            }
            #[cfg(kernel_chacha20_poly1305)]
            Form::ChaCha20Poly1305 => {
                let (input, output, len) = (body.as_ptr(), out.as_mut_ptr(), body.len());
                let text = chacha20_poly1305::Text { input, len, extra: &[], output };
                // SAFETY: `out` has `body.len()` bytes and is an exclusive borrow.
                unsafe { self.cell.chacha20_poly1305().open(nonce, aad, text, tag) }
            }
        }
    }

    /// Decrypts `body` in place if the tag is valid, else wipes `body`.
    #[inline]
    pub(crate) fn open_in_place(
        &self,
        nonce: &[u8; 12],
        aad: &[u8],
        body: &mut [u8],
        tag: &[u8],
    ) -> Result<(), CryptoError> {
        match self.cell.form() {
            Form::AwsLc => self.cell.aws_lc().open_in_place(nonce, aad, body, tag),
            #[cfg(kernel_aes_gcm)]
            Form::AesGcm => {
                let (out, len) = (body.as_mut_ptr(), body.len());
                let data = aes_gcm::Data { input: out.cast_const(), out, len };
                let tag = tag.try_into().map_err(|_| CryptoError::Rejected)?;
                // SAFETY: input and output are the same.
                unsafe { self.cell.aes_gcm().open(nonce, aad, data, tag) }
            }
            #[cfg(kernel_chacha20_poly1305)]
            Form::ChaCha20Poly1305 => {
                let (output, len) = (body.as_mut_ptr(), body.len());
                let input = output.cast_const();
                let text = chacha20_poly1305::Text { input, len, extra: &[], output };
                // SAFETY: input and output are the same.
                unsafe { self.cell.chacha20_poly1305().open(nonce, aad, text, tag) }
            }
        }
    }
}

impl Cell {
    /// Expands a key, in the form of the implementation that this process uses.
    fn init(
        cell: &mut MaybeUninit<Self>,
        algorithm: AeadAlgorithm,
        nonces: Option<RecordNonces>,
        key: &[u8],
    ) -> Result<(), CryptoError> {
        if key.len() != algorithm.key_len() {
            return Err(CryptoError::InvalidKey);
        }
        #[cfg(kernel_aes_gcm)]
        if matches!(algorithm, AeadAlgorithm::Aes128Gcm | AeadAlgorithm::Aes256Gcm)
            && kernels::is_in_use(Kernel::AesGcm)
        {
            // SAFETY: a kernel is used only if the processor has its instructions.
            unsafe { Self::init_aes_gcm(cell, key) };
            return Ok(());
        }
        #[cfg(kernel_chacha20_poly1305)]
        if algorithm == AeadAlgorithm::ChaCha20Poly1305
            && kernels::is_in_use(Kernel::ChaCha20Poly1305)
        {
            let key = key.try_into().map_err(|_| CryptoError::InvalidKey)?;
            // SAFETY: a kernel is used only if the processor has its instructions.
            unsafe { Self::init_chacha20_poly1305(cell, key) };
            return Ok(());
        }
        Self::init_aws_lc(cell, algorithm, nonces, key)
    }

    /// # Safety
    ///
    /// The processor must have the kernel's instructions, and the key 16 or 32 bytes.
    #[cfg(kernel_aes_gcm)]
    unsafe fn init_aes_gcm(cell: &mut MaybeUninit<Self>, key: &[u8]) {
        let place = cell.as_mut_ptr().cast::<KernelKey<MaybeUninit<aes_gcm::Key>>>();
        // SAFETY: the union has room for this structure, all fields of which become defined.
        unsafe {
            (&raw mut (*place).first_word).write(AES_GCM);
            aes_gcm::Key::expand_in(&mut (*place).key, key);
        }
    }

    /// # Safety
    ///
    /// The processor must have the kernel's instructions.
    #[cfg(kernel_chacha20_poly1305)]
    unsafe fn init_chacha20_poly1305(cell: &mut MaybeUninit<Self>, key: &[u8; 32]) {
        type Uninit = KernelKey<MaybeUninit<chacha20_poly1305::Key>>;
        let place = cell.as_mut_ptr().cast::<Uninit>();
        // SAFETY: the union has room for this structure, all fields of which become defined.
        unsafe {
            (&raw mut (*place).first_word).write(CHACHA20_POLY1305);
            chacha20_poly1305::Key::write(&mut (*place).key, key);
        }
    }

    fn init_aws_lc(
        cell: &mut MaybeUninit<Self>,
        algorithm: AeadAlgorithm,
        nonces: Option<RecordNonces>,
        key: &[u8],
    ) -> Result<(), CryptoError> {
        // SAFETY: `Cell` is a union with the context, so the place is aligned and large enough, and
        // it is exclusively borrowed.
        let place = unsafe { &mut *cell.as_mut_ptr().cast::<MaybeUninit<evp_aead::Context>>() };
        evp_aead::Context::init(place, algorithm, nonces, key)
    }

    #[inline(always)]
    fn form(&self) -> Form {
        // SAFETY: each form defines the first word.
        match unsafe { self.first_word } {
            #[cfg(kernel_aes_gcm)]
            AES_GCM => Form::AesGcm,
            #[cfg(kernel_chacha20_poly1305)]
            CHACHA20_POLY1305 => Form::ChaCha20Poly1305,
            _ => Form::AwsLc,
        }
    }

    /// The kernel's key, if the form is that of the AES-GCM kernel.
    #[cfg(kernel_aes_gcm)]
    #[inline(always)]
    fn aes_gcm(&self) -> &aes_gcm::Key {
        debug_assert!(self.form() == Form::AesGcm);
        // SAFETY: callers have checked the form.
        unsafe { &self.aes_gcm.key }
    }

    /// The kernel's key, if the form is that of the ChaCha20-Poly1305 kernel.
    #[cfg(kernel_chacha20_poly1305)]
    #[inline(always)]
    fn chacha20_poly1305(&self) -> &chacha20_poly1305::Key {
        debug_assert!(self.form() == Form::ChaCha20Poly1305);
        // SAFETY: callers have checked the form.
        unsafe { &self.chacha20_poly1305.key }
    }

    /// The context, if the form is AWS-LC's.
    #[inline(always)]
    fn aws_lc(&self) -> &evp_aead::Context {
        debug_assert!(self.form() == Form::AwsLc);
        // SAFETY: callers have checked the form.
        unsafe { &self.aws_lc }
    }
}

impl Drop for Cell {
    fn drop(&mut self) {
        match self.form() {
            // SAFETY: the form is AWS-LC's, and the context is not used again after this.
            Form::AwsLc => unsafe { (*self.aws_lc).clean_up() },
            #[cfg(kernel_aes_gcm)]
            Form::AesGcm => {}
            #[cfg(kernel_chacha20_poly1305)]
            Form::ChaCha20Poly1305 => {}
        }
        // AES-GCM's clean-up wipes nothing, so the expanded key is wiped here.
        // SAFETY: the union is exclusively borrowed as a whole, and not used again.
        unsafe { cleanse(&raw mut *self) };
    }
}

pub(crate) fn has_fast_aes() -> bool {
    // SAFETY: the call takes no arguments and reads the processor's features.
    unsafe { lc::EVP_has_aes_hardware() == 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drop_wipes_the_whole_cell() {
        for algorithm in
            [AeadAlgorithm::Aes128Gcm, AeadAlgorithm::Aes256Gcm, AeadAlgorithm::ChaCha20Poly1305]
        {
            let mut cell = Box::<Cell>::new_uninit();
            // SAFETY: the call defines every byte, so that all may be read below.
            unsafe { ptr::write_bytes(cell.as_mut_ptr(), 0xaa, 1) };
            Cell::init(&mut cell, algorithm, None, &[0x5a; 32][..algorithm.key_len()]).unwrap();
            // SAFETY: reads the cell's bytes, all of which were defined above.
            let bytes = |cell: &MaybeUninit<Cell>| unsafe {
                core::slice::from_raw_parts(cell.as_ptr().cast::<u8>(), size_of::<Cell>()).to_vec()
            };
            assert!(bytes(&cell).iter().filter(|byte| **byte != 0).count() > 32);
            // SAFETY: initialised above and not used as a `Cell` afterwards; the box itself does
            // not drop its contents.
            unsafe { ptr::drop_in_place(cell.as_mut_ptr()) };
            assert!(bytes(&cell).iter().all(|byte| *byte == 0));
        }
    }

    fn for_records(algorithm: AeadAlgorithm, key: &[u8]) -> AeadContext<RecordNonces> {
        AeadContext::with_nonces(algorithm, RecordNonces::Tls13, key).unwrap()
    }

    #[test]
    fn a_failed_init_makes_no_cell() {
        assert!(AeadContext::new(AeadAlgorithm::Aes128Gcm, &[0; 15]).is_err());
        let context = for_records(AeadAlgorithm::Aes128Gcm, &[0; 16]);
        let failed = context.renew(AeadAlgorithm::Aes256Gcm, RecordNonces::Tls13, &[0; 16]);
        assert!(failed.is_err());
    }

    #[test]
    fn a_renewed_context_uses_the_new_key_in_the_same_box() {
        let tag = |sealer: Sealer<'_>| {
            let mut tag = [0; TAG_LEN];
            sealer.seal_in_place(&[0; 12], b"", &mut [], &mut tag).unwrap();
            tag
        };
        for algorithm in
            [AeadAlgorithm::Aes128Gcm, AeadAlgorithm::Aes256Gcm, AeadAlgorithm::ChaCha20Poly1305]
        {
            let key = &[7; 32][..algorithm.key_len()];
            let old = for_records(AeadAlgorithm::Aes256Gcm, &[1; 32]);
            let place = &raw const *old.cell;
            let mut renewed = old.renew(algorithm, RecordNonces::Tls13, key).unwrap();
            assert_eq!(&raw const *renewed.cell, place);
            assert_eq!(
                tag(renewed.sealer()),
                tag(AeadContext::new(algorithm, key).unwrap().sealer())
            );
        }
    }
}
