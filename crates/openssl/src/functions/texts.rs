//! Texts of alerts.

use core::ffi::{CStr, c_char, c_int};

use crate::entry::functions;

functions! {
    fn SSL_alert_desc_string_long(; value: c_int) -> *const c_char = c"unknown".as_ptr() => {
        row(value).2.as_ptr()
    }
    fn SSL_alert_desc_string(; value: c_int) -> *const c_char = c"UK".as_ptr() => {
        row(value).1.as_ptr()
    }
    fn SSL_alert_type_string_long(; value: c_int) -> *const c_char = c"unknown".as_ptr() => {
        match value >> 8 {
            1 => c"warning",
            2 => c"fatal",
            _ => c"unknown",
        }
        .as_ptr()
    }
    fn SSL_alert_type_string(; value: c_int) -> *const c_char = c"U".as_ptr() => {
        match value >> 8 {
            1 => c"W",
            2 => c"F",
            _ => c"U",
        }
        .as_ptr()
    }
}

type Row = (u8, &'static CStr, &'static CStr);

fn row(value: c_int) -> &'static Row {
    static UNKNOWN: Row = (255, c"UK", c"unknown");
    let code = u8::try_from(value & 0xff).unwrap_or(255);
    ALERTS.iter().find(|row| row.0 == code).unwrap_or(&UNKNOWN)
}

/// The code of each alert, its short text and its long text.
static ALERTS: &[Row] = &[
    (0, c"CN", c"close notify"),
    (10, c"UM", c"unexpected_message"),
    (20, c"BM", c"bad record mac"),
    (21, c"DC", c"decryption failed"),
    (22, c"RO", c"record overflow"),
    (30, c"DF", c"decompression failure"),
    (40, c"HF", c"handshake failure"),
    (41, c"NC", c"no certificate"),
    (42, c"BC", c"bad certificate"),
    (43, c"UC", c"unsupported certificate"),
    (44, c"CR", c"certificate revoked"),
    (45, c"CE", c"certificate expired"),
    (46, c"CU", c"certificate unknown"),
    (47, c"IP", c"illegal parameter"),
    (48, c"CA", c"unknown CA"),
    (49, c"AD", c"access denied"),
    (50, c"DE", c"decode error"),
    (51, c"DC", c"decrypt error"),
    (60, c"ER", c"export restriction"),
    (70, c"PV", c"protocol version"),
    (71, c"IS", c"insufficient security"),
    (80, c"IE", c"internal error"),
    (90, c"US", c"user canceled"),
    (100, c"NR", c"no renegotiation"),
    (110, c"UE", c"unsupported extension"),
    (111, c"CO", c"certificate unobtainable"),
    (112, c"UN", c"unrecognized name"),
    (113, c"BR", c"bad certificate status response"),
    (114, c"BH", c"bad certificate hash value"),
    (115, c"UP", c"unknown PSK identity"),
    (116, c"CQ", c"certificate required"),
    (120, c"AP", c"no application protocol"),
];
