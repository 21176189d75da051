//! Objects of libcrypto as owned values: each counts a reference, and frees it when it is dropped.

pub(crate) mod bio;
pub(crate) mod certificate;
pub(crate) mod cipher_list;
pub(crate) mod dane;
pub(crate) mod digest;
mod encoding;
pub(crate) mod ex_data;
pub(crate) mod id;
pub(crate) mod key;
pub(crate) mod list;
pub(crate) mod name;
pub(crate) mod store;
pub(crate) mod table;
pub(crate) mod ticket_cipher;

/// Defines an owned reference to an object of libcrypto.
macro_rules! owned {
    ($(#[$doc:meta])* $name:ident, $raw:ty, $free:path) => {
        $(#[$doc])*
        pub(crate) struct $name(core::ptr::NonNull<$raw>);

        impl $name {
            /// Takes over a reference. `None` for NULL.
            ///
            /// # Safety
            /// The pointer is NULL, or to an object of which the caller owns a reference.
            pub(crate) unsafe fn from_raw(pointer: *mut $raw) -> Option<Self> {
                core::ptr::NonNull::new(pointer).map(Self)
            }

            /// The pointer, for a call that does not take the reference over.
            pub(crate) fn as_ptr(&self) -> *mut $raw {
                self.0.as_ptr()
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: this value owns the reference.
                unsafe { $free(self.0.as_ptr()) };
            }
        }

        // SAFETY: libcrypto counts references atomically, and allows that threads share the object.
        unsafe impl Send for $name {}
        // SAFETY: as for Send.
        unsafe impl Sync for $name {}
    };
    ($(#[$doc:meta])* $name:ident, $raw:ty, $free:path, $up_ref:path) => {
        $crate::objects::owned!($(#[$doc])* $name, $raw, $free);

        impl $name {
            /// Counts another reference to the object. `None` for NULL.
            ///
            /// # Safety
            /// The pointer is NULL, or to an object that exists during the call.
            pub(crate) unsafe fn share(pointer: *mut $raw) -> Option<Self> {
                let pointer = core::ptr::NonNull::new(pointer)?;
                // SAFETY: as this function's contract.
                let counted = unsafe { $up_ref(pointer.as_ptr()) } == 1;
                counted.then_some(Self(pointer))
            }
        }

        impl Clone for $name {
            fn clone(&self) -> Self {
                // SAFETY: the object exists as long as `self`. Counting fails only if the number
                // of references overflows, which ends the process.
                unsafe { Self::share(self.as_ptr()) }.expect("a counted reference")
            }
        }
    };
}
pub(crate) use owned;
