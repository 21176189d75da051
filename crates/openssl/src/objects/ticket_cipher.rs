//! The cipher and the MAC that a program's ticket key callback sets up.

use core::ffi::{c_int, c_void};
use core::ptr;

use zeroize::Zeroizing;

use crate::sys::hmac::{
    CRYPTO_memcmp, EVP_CIPHER_CTX, EVP_CIPHER_CTX_free, EVP_CIPHER_CTX_get_block_size,
    EVP_CIPHER_CTX_get_iv_length, EVP_CIPHER_CTX_new, EVP_CipherFinal_ex, EVP_CipherUpdate,
    EVP_MAC, EVP_MAC_CTX, EVP_MAC_CTX_free, EVP_MAC_CTX_get_mac_size, EVP_MAC_CTX_new,
    EVP_MAC_fetch, EVP_MAC_final, EVP_MAC_free, EVP_MAC_update, HMAC_CTX, HMAC_CTX_free,
    HMAC_CTX_new, HMAC_Final, HMAC_Update, HMAC_size,
};

super::owned! {
    /// An encryption or decryption.
    CipherContext, EVP_CIPHER_CTX, EVP_CIPHER_CTX_free
}

super::owned! {
    /// An HMAC by the older interface.
    HmacContext, HMAC_CTX, HMAC_CTX_free
}

super::owned! {
    /// A MAC algorithm.
    MacAlgorithm, EVP_MAC, EVP_MAC_free
}

super::owned! {
    /// A MAC by the newer interface.
    MacContext, EVP_MAC_CTX, EVP_MAC_CTX_free
}

/// The MAC of a ticket, by the interface that the callback expects.
enum Mac {
    Older(HmacContext),
    Newer(MacContext),
}

/// A cipher and a MAC, which a callback sets up for one ticket.
pub(crate) struct TicketCipher {
    cipher: CipherContext,
    mac: Mac,
}

const NAME: usize = 16;
const MAX_IV: usize = 16;
const MAX_MAC: usize = 64;

impl TicketCipher {
    /// Empty contexts. `newer`: the callback expects an EVP_MAC_CTX.
    pub(crate) fn new(newer: bool) -> Option<Self> {
        // SAFETY: new objects are returned, or NULL; the name ends with a NUL.
        unsafe {
            let cipher = CipherContext::from_raw(EVP_CIPHER_CTX_new())?;
            let mac = if newer {
                let name = c"HMAC".as_ptr();
                let algorithm =
                    MacAlgorithm::from_raw(EVP_MAC_fetch(ptr::null_mut(), name, ptr::null()))?;
                Mac::Newer(MacContext::from_raw(EVP_MAC_CTX_new(algorithm.as_ptr()))?)
            } else {
                Mac::Older(HmacContext::from_raw(HMAC_CTX_new())?)
            };
            Some(Self { cipher, mac })
        }
    }

    /// The pointers for the callback.
    pub(crate) fn pointers(&self) -> (*mut c_void, *mut c_void) {
        let mac = match &self.mac {
            Mac::Older(context) => context.as_ptr().cast(),
            Mac::Newer(context) => context.as_ptr().cast(),
        };
        (self.cipher.as_ptr().cast(), mac)
    }

    fn iv_length(&self) -> Option<usize> {
        // SAFETY: the context exists.
        let length = unsafe { EVP_CIPHER_CTX_get_iv_length(self.cipher.as_ptr()) };
        usize::try_from(length).ok().filter(|length| *length <= MAX_IV)
    }

    fn mac_length(&self) -> Option<usize> {
        // SAFETY: the context exists.
        let length = unsafe {
            match &self.mac {
                Mac::Older(context) => HMAC_size(context.as_ptr()),
                Mac::Newer(context) => EVP_MAC_CTX_get_mac_size(context.as_ptr()),
            }
        };
        (1..=MAX_MAC).contains(&length).then_some(length)
    }

    /// Runs the cipher over data.
    fn run(&self, data: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        // SAFETY: the context exists.
        let block = unsafe { EVP_CIPHER_CTX_get_block_size(self.cipher.as_ptr()) };
        let room = data.len().checked_add(usize::try_from(block).ok()?)?;
        let mut out = Zeroizing::new(vec![0; room]);
        let (mut first, mut last): (c_int, c_int) = (0, 0);
        let length = c_int::try_from(data.len()).ok()?;
        let to = out.as_mut_ptr();
        // SAFETY: the output has room for a further block, which is the most that is written.
        unsafe {
            let context = self.cipher.as_ptr();
            if EVP_CipherUpdate(context, to, &raw mut first, data.as_ptr(), length) != 1 {
                return None;
            }
            let end = to.add(usize::try_from(first).ok()?);
            if EVP_CipherFinal_ex(context, end, &raw mut last) != 1 {
                return None;
            }
        }
        out.truncate(usize::try_from(first.checked_add(last)?).ok()?);
        Some(out)
    }

    fn compute_mac(&self, data: &[u8]) -> Option<Vec<u8>> {
        let mut tag = vec![0; MAX_MAC];
        // SAFETY: the contexts exist, and the output has room for the longest MAC.
        unsafe {
            match &self.mac {
                Mac::Older(context) => {
                    let mut length = 0;
                    let done = HMAC_Update(context.as_ptr(), data.as_ptr(), data.len()) == 1
                        && HMAC_Final(context.as_ptr(), tag.as_mut_ptr(), &raw mut length) == 1;
                    tag.truncate(usize::try_from(length).ok()?);
                    done.then_some(tag)
                }
                Mac::Newer(context) => {
                    let mut length = 0;
                    let (to, room) = (tag.as_mut_ptr(), tag.len());
                    let done = EVP_MAC_update(context.as_ptr(), data.as_ptr(), data.len()) == 1
                        && EVP_MAC_final(context.as_ptr(), to, &raw mut length, room) == 1;
                    tag.truncate(length);
                    done.then_some(tag)
                }
            }
        }
    }

    /// Seals a session: name, IV, ciphertext, MAC.
    pub(crate) fn seal(
        &self,
        name: &[u8; NAME],
        iv: &[u8; MAX_IV],
        session: &[u8],
    ) -> Option<Vec<u8>> {
        let sealed = self.run(session)?;
        let mut ticket = name.to_vec();
        ticket.extend_from_slice(iv.get(..self.iv_length()?)?);
        ticket.extend_from_slice(&sealed);
        let tag = self.compute_mac(&ticket)?;
        ticket.extend_from_slice(&tag);
        (ticket.len() <= 0xffff).then_some(ticket)
    }

    /// Opens a ticket whose name and IV the callback has seen.
    pub(crate) fn open(&self, ticket: &[u8]) -> Option<Vec<u8>> {
        let start = NAME.checked_add(self.iv_length()?)?;
        let end = ticket.len().checked_sub(self.mac_length()?)?;
        let (covered, tag) = ticket.split_at_checked(end)?;
        let expected = self.compute_mac(covered)?;
        if expected.len() != tag.len() {
            return None;
        }
        // SAFETY: both have this length.
        let equal =
            unsafe { CRYPTO_memcmp(expected.as_ptr().cast(), tag.as_ptr().cast(), tag.len()) == 0 };
        if !equal {
            return None;
        }
        self.run(covered.get(start..)?).map(|session| session.to_vec())
    }
}
