//! SSL: creation, references, BIOs, and the side.

use core::ffi::{c_int, c_void};
use core::ptr;
use std::sync::Arc;

use super::{FAIL, OK};
use crate::connection::Ssl;
use crate::connection::state::Side;
use crate::context::{Context, InUse};
use crate::entry::{functions, give, take};
use crate::errors::{self, reasons};
use crate::method::Method;
use crate::objects::bio::Bio;
use crate::sys::bio::BIO;

functions! {
    fn SSL_new(; context: *mut Context) -> *mut Ssl = ptr::null_mut() => {
        // SAFETY: the caller's duty.
        let Some(context) = (unsafe { crate::entry::object(context) }) else {
            errors::push(reasons::NULL_SSL_CTX);
            return ptr::null_mut();
        };
        match Ssl::new(&context) {
            Some(ssl) => give(ssl),
            None => {
                errors::push_internal();
                ptr::null_mut()
            }
        }
    }
    fn SSL_up_ref(ssl: &Ssl;) -> c_int = FAIL => {
        let _reference = give(Arc::clone(ssl));
        OK
    }
    fn SSL_free(; ssl: *mut Ssl) -> () = () => {
        // SAFETY: the caller's duty.
        drop(unsafe { take(ssl) });
    }
    fn SSL_clear(ssl: &Ssl;) -> c_int = FAIL => {
        let clear = || {
            if ssl.end_session() {
                let session = ssl.session.take();
                ssl.outside(|| {
                    if let Some(session) = session {
                        session.let_go();
                    }
                });
            }
            ssl.clear();
            ssl.restore_method();
        };
        match ssl.as_both(clear) {
            Some(()) => OK,
            None => FAIL,
        }
    }
    fn SSL_set_ex_data(ssl: &Ssl; index: c_int, value: *mut c_void) -> c_int = FAIL => {
        ssl.ex_data.set(index, value)
    }
    fn SSL_get_ex_data(ssl: &Ssl; index: c_int) -> *mut c_void = ptr::null_mut() => {
        ssl.ex_data.get(index)
    }
    fn SSL_get_SSL_CTX(ssl: &Ssl;) -> *mut Context = ptr::null_mut() => {
        Arc::as_ptr(&ssl.context()).cast_mut()
    }
    fn SSL_set_SSL_CTX(ssl: &Ssl; context: *mut Context) -> *mut Context = ptr::null_mut() => {
        // SAFETY: the caller's duty. For NULL, it is the context that the connection was made with.
        let context = unsafe { crate::entry::object(context) };
        let context = context.unwrap_or_else(|| Arc::clone(&ssl.session_context));
        ssl.set_context(&context);
        Arc::as_ptr(&context).cast_mut()
    }
    fn SSL_get_ssl_method(ssl: &Ssl;) -> *const Method = ptr::null() => {
        ptr::from_ref(ssl.settings().method)
    }
    fn SSL_set_ssl_method(ssl: &Ssl; method: *const Method) -> c_int = FAIL => {
        if method.is_null() {
            return FAIL;
        }
        // SAFETY: methods are static objects of this library: the caller's duty.
        let method: &'static Method = unsafe { &*method };
        ssl.change(|settings| settings.method = method);
        OK
    }
    fn SSL_set_bio(ssl: &Ssl; input: *mut BIO, output: *mut BIO) -> () = () => {
        // SAFETY: the caller's duty; see the method.
        unsafe { ssl.set_bio(input, output) };
    }
    fn SSL_set0_rbio(ssl: &Ssl; input: *mut BIO) -> () = () => {
        // SAFETY: the program passes its reference on.
        let old = ssl.input.replace(unsafe { Bio::from_raw(input) });
        ssl.outside(|| drop(old));
    }
    fn SSL_set0_wbio(ssl: &Ssl; output: *mut BIO) -> () = () => {
        // SAFETY: the program passes its reference on.
        let old = ssl.output.replace(unsafe { Bio::from_raw(output) });
        ssl.outside(|| drop(old));
    }
    fn SSL_get_rbio(ssl: &Ssl;) -> *mut BIO = ptr::null_mut() => {
        ssl.input.borrow().as_ref().map_or(ptr::null_mut(), Bio::as_ptr)
    }
    fn SSL_get_wbio(ssl: &Ssl;) -> *mut BIO = ptr::null_mut() => {
        ssl.output.borrow().as_ref().map_or(ptr::null_mut(), Bio::as_ptr)
    }
    fn SSL_set_fd(ssl: &Ssl; descriptor: c_int) -> c_int = FAIL => {
        let Some(bio) = Bio::socket(descriptor) else { return FAIL };
        let old = (ssl.input.replace(Some(bio.clone())), ssl.output.replace(Some(bio)));
        ssl.outside(|| drop(old));
        OK
    }
    fn SSL_set_rfd(ssl: &Ssl; descriptor: c_int) -> c_int = FAIL => {
        let other = ssl.output.borrow().clone().filter(|bio| bio.is_socket(descriptor));
        let Some(bio) = other.or_else(|| Bio::socket(descriptor)) else { return FAIL };
        let old = ssl.input.replace(Some(bio));
        ssl.outside(|| drop(old));
        OK
    }
    fn SSL_set_wfd(ssl: &Ssl; descriptor: c_int) -> c_int = FAIL => {
        let other = ssl.input.borrow().clone().filter(|bio| bio.is_socket(descriptor));
        let Some(bio) = other.or_else(|| Bio::socket(descriptor)) else { return FAIL };
        let old = ssl.output.replace(Some(bio));
        ssl.outside(|| drop(old));
        OK
    }
    fn SSL_get_fd(ssl: &Ssl;) -> c_int = -1 => {
        ssl.input.borrow().clone().map_or(-1, |bio| bio.descriptor())
    }
    fn SSL_get_rfd(ssl: &Ssl;) -> c_int = -1 => {
        ssl.input.borrow().clone().map_or(-1, |bio| bio.descriptor())
    }
    fn SSL_get_wfd(ssl: &Ssl;) -> c_int = -1 => {
        ssl.output.borrow().clone().map_or(-1, |bio| bio.descriptor())
    }
    fn SSL_set_accept_state(ssl: &Ssl;) -> () = () => {
        ssl.set_side(Side::Server);
    }
    fn SSL_set_connect_state(ssl: &Ssl;) -> () = () => {
        ssl.set_side(Side::Client);
    }
    fn SSL_is_server(ssl: &Ssl;) -> c_int = 0 => {
        ssl.is_server().into()
    }
}

impl Ssl {
    /// Sets both BIOs, with OpenSSL's rules about references: one reference is passed for both if
    /// they are the same, and none for one that does not change.
    ///
    /// # Safety
    /// Both pointers are NULL or to BIOs, with references as above.
    unsafe fn set_bio(&self, input: *mut BIO, output: *mut BIO) {
        let current = |slot: &core::cell::RefCell<Option<Bio>>| {
            slot.borrow().as_ref().map_or(ptr::null_mut(), Bio::as_ptr)
        };
        let (old_input, old_output) = (current(&self.input), current(&self.output));
        if input == old_input && output == old_output {
            return;
        }
        // The program passes one reference for both if they are the same, so another is counted.
        if input == output {
            // SAFETY: as this function's contract.
            core::mem::forget(unsafe { Bio::share(input) });
        }
        // If only the output changes, or only the input of two that were different, the other one
        // keeps its reference. Otherwise a reference to each was passed.
        let takes_input = input != old_input;
        let takes_output = !(takes_input && output == old_output && old_input != old_output);
        // SAFETY: as this function's contract.
        let new = unsafe {
            (takes_input.then(|| Bio::from_raw(input)), takes_output.then(|| Bio::from_raw(output)))
        };
        // What is replaced is freed after both are set, because that may call the program.
        let old = (
            new.0.map(|input| self.input.replace(input)),
            new.1.map(|output| self.output.replace(output)),
        );
        self.outside(|| drop(old));
    }

    /// Returns to the method of the context, after `SSL_set_ssl_method`.
    fn restore_method(&self) {
        let method = self.context().settings().method;
        if !ptr::eq(self.settings().method, method) {
            self.change(|settings| settings.method = method);
        }
    }

    /// Sets the side, for a new connection. Inside of an operation, which uses the side and the
    /// state of the connection, nothing happens: an error is in the queue.
    fn set_side(&self, side: Side) {
        self.as_both(|| {
            self.side.set(Some(side));
            self.clear();
        });
    }

    /// Continues with another context: its certificates and callbacks, and its trusted roots.
    fn set_context(&self, context: &Arc<Context>) {
        let old = self.context();
        if Arc::ptr_eq(&old, context) {
            return;
        }
        let theirs = context.settings();
        let previous = old.settings();
        self.change(|settings| {
            settings.take_certificates(&theirs);
            // The context of sessions changes if it is still that of the old SSL_CTX.
            if settings.session_context == previous.session_context {
                settings.session_context.clone_from(&theirs.session_context);
            }
        });
        let last = self.context.replace(InUse::new(context));
        self.outside(|| drop(last));
    }
}
