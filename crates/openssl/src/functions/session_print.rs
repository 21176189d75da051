//! Sessions as text. Their secrets are not available, so the lines for them are empty.

use core::ffi::{CStr, c_int, c_void};
use std::fmt::Write as _;

use super::ssl_ctrl::version_text;
use super::{FAIL, OK};
use crate::entry::functions;
use crate::objects::bio::{Bio, Transferred};
use crate::session::{Fields, Session};
use crate::sys::bio::{BIO, BIO_new_fp};
use crate::sys::x509::X509_verify_cert_error_string;

const TLS1_3: u16 = 0x0304;

functions! {
    fn SSL_SESSION_print(; bio: *mut BIO, session: *const Session) -> c_int = FAIL => {
        // SAFETY: the caller's duty.
        let (bio, session) = unsafe { (Bio::share(bio), crate::entry::object(session)) };
        match (bio, session) {
            (Some(bio), Some(session)) => print(&bio, &session),
            _ => FAIL,
        }
    }
    fn SSL_SESSION_print_fp(; file: *mut c_void, session: *const Session) -> c_int = FAIL => {
        // SAFETY: the caller's duty. The BIO does not close the file.
        let (bio, session) =
            unsafe { (Bio::from_raw(BIO_new_fp(file, 0)), crate::entry::object(session)) };
        match (bio, session) {
            (Some(bio), Some(session)) => print(&bio, &session),
            _ => FAIL,
        }
    }
}

fn print(bio: &Bio, session: &Session) -> c_int {
    let text = text_of(&session.fields());
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        let Transferred::Bytes(count) = bio.write(rest) else { return FAIL };
        rest = rest.get(count..).unwrap_or_default();
    }
    OK
}

fn text_of(fields: &Fields) -> String {
    let is_tls13 = fields.version == TLS1_3;
    let version = version_text(fields.version.into()).to_string_lossy();
    let cipher = match fields.cipher() {
        Some(cipher) => cipher.name.to_string_lossy().into_owned(),
        None => format!("{:04X}", fields.suite),
    };
    let (id, context) = (hex(&fields.id), hex(&fields.context));
    let secret = if is_tls13 { "Resumption PSK" } else { "Master-Key" };
    let mut text = format!(
        "SSL-Session:\n    Protocol  : {version}\n    Cipher    : {cipher}\n    Session-ID: {id}\n    \
         Session-ID-ctx: {context}\n    {secret}: \n    PSK identity: None\n    \
         PSK identity hint: None\n    SRP username: None"
    );
    let mut line = |line: &str| {
        text.push_str("\n    ");
        text.push_str(line);
    };
    if fields.lifetime_hint != 0 {
        line(&format!("TLS session ticket lifetime hint: {} (seconds)", fields.lifetime_hint));
    }
    if fields.time != 0 {
        line(&format!("Start Time: {}", fields.time));
    }
    if fields.timeout != 0 {
        line(&format!("Timeout   : {} (sec)", fields.timeout));
    }
    let result = fields.verify_result;
    // SAFETY: a static text is returned for each number.
    let reason = unsafe { CStr::from_ptr(X509_verify_cert_error_string(result)) };
    line(&format!("Verify return code: {result} ({})", reason.to_string_lossy()));
    if let Some(extended) = fields.extended_main_secret {
        line(&format!("Extended master secret: {}", if extended { "yes" } else { "no" }));
    }
    if is_tls13 {
        line(&format!("Max Early Data: {}", fields.max_early_data));
    }
    text.push('\n');
    text
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02X}");
        text
    })
}
