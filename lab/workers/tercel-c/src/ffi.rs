//! The declarations of `tercel.h` that the worker uses.

use std::ffi::c_char;

/// Defines types of handles.
macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        $(
            $(#[$doc])*
            #[repr(C)]
            pub(crate) struct $name {
                _private: [u8; 0],
            }
        )*
    };
}

handles!(
    /// A configuration of one side.
    Config,
    /// A builder of configurations.
    Builder,
    /// An established connection.
    Connection,
    /// A certificate chain with its private key.
    Credential,
    /// A handshake in progress.
    Handshake,
    /// A buffer of received bytes.
    Input,
    /// A queue of bytes to send.
    Output,
    /// A set of trust anchors.
    Roots,
);

/// Bytes that belong to a handle.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Bytes {
    pub(crate) data: *const u8,
    pub(crate) len: usize,
}

pub(crate) type Status = u32;

pub(crate) const OK: Status = 0;

pub(crate) const CLIENT: u32 = 0;
pub(crate) const SERVER: u32 = 1;

pub(crate) const LIST_VERSIONS: u32 = 1;
pub(crate) const LIST_CIPHER_SUITES: u32 = 2;
pub(crate) const LIST_GROUPS: u32 = 3;
pub(crate) const LIST_SIGNATURE_SCHEMES: u32 = 5;

pub(crate) const OPTION_EARLY_DATA: u32 = 10;
pub(crate) const OPTION_SESSIONS: u32 = 20;
pub(crate) const OPTION_CLIENT_AUTH: u32 = 40;
pub(crate) const OPTION_TICKETS: u32 = 45;
pub(crate) const OPTION_TICKETS_AFTER_FULL: u32 = 46;
pub(crate) const OPTION_TICKETS_AFTER_RESUMED: u32 = 47;

pub(crate) const SESSIONS_NONE: u64 = 0;
pub(crate) const CLIENT_AUTH_REQUIRED: u64 = 2;
pub(crate) const ASK_FIND_SESSION: u32 = 1 << 2;
pub(crate) const ASK_ADMIT_EARLY_DATA: u32 = 1 << 4;

pub(crate) const NEXT_RECEIVE: u32 = 0;
pub(crate) const NEXT_ANSWER: u32 = 1;
pub(crate) const NEXT_EARLY_DATA: u32 = 2;
pub(crate) const NEXT_CONNECTED: u32 = 3;

pub(crate) const QUESTION_FIND_SESSION: u32 = 2;
pub(crate) const QUESTION_ADMIT_EARLY_DATA: u32 = 4;
pub(crate) const FIELD_IDENTITY: u32 = 4;
pub(crate) const FIELD_UNIQUE: u32 = 5;
pub(crate) const FIELD_SINGLE_USE: u32 = 37;

pub(crate) const EVENT_RECEIVE: u32 = 0;
pub(crate) const EVENT_DATA: u32 = 1;

pub(crate) const FACT_VERSION: u32 = 1;
pub(crate) const FACT_CIPHER_SUITE: u32 = 2;
pub(crate) const FACT_GROUP: u32 = 3;
pub(crate) const FACT_PEER_SIGNATURE_SCHEME: u32 = 4;
pub(crate) const FACT_OWN_SIGNATURE_SCHEME: u32 = 5;
pub(crate) const FACT_RESUMED: u32 = 7;
pub(crate) const FACT_CERTIFICATE: u32 = 34;

unsafe extern "C" {
    pub(crate) fn tercel_version() -> *const c_char;
    pub(crate) fn tercel_status_text(status: Status) -> *const c_char;

    pub(crate) fn tercel_roots_from_pem(
        pem: *const u8,
        len: usize,
        roots: *mut *const Roots,
    ) -> Status;
    pub(crate) fn tercel_roots_release(roots: *const Roots);
    pub(crate) fn tercel_credential_from_pem(
        chain: *const u8,
        chain_len: usize,
        key: *const u8,
        key_len: usize,
        credential: *mut *const Credential,
    ) -> Status;
    pub(crate) fn tercel_credential_release(credential: *const Credential);

    pub(crate) fn tercel_config_builder_new(side: u32) -> *mut Builder;
    pub(crate) fn tercel_config_builder_free(builder: *mut Builder);
    pub(crate) fn tercel_config_builder_set_option(
        builder: *mut Builder,
        option: u32,
        value: u64,
    ) -> Status;
    pub(crate) fn tercel_config_builder_set_list(
        builder: *mut Builder,
        list: u32,
        codes: *const u16,
        count: usize,
    ) -> Status;
    pub(crate) fn tercel_config_builder_set_roots(
        builder: *mut Builder,
        roots: *const Roots,
    ) -> Status;
    pub(crate) fn tercel_config_builder_add_credential(
        builder: *mut Builder,
        credential: *const Credential,
    ) -> Status;
    pub(crate) fn tercel_config_builder_set_questions(
        builder: *mut Builder,
        questions: u32,
    ) -> Status;
    pub(crate) fn tercel_config_builder_build(
        builder: *mut Builder,
        config: *mut *const Config,
    ) -> Status;
    pub(crate) fn tercel_config_release(config: *const Config);

    pub(crate) fn tercel_input_new(capacity: usize) -> *mut Input;
    pub(crate) fn tercel_input_free(input: *mut Input);
    pub(crate) fn tercel_input_append(input: *mut Input, data: *const u8, len: usize) -> Status;
    pub(crate) fn tercel_output_new() -> *mut Output;
    pub(crate) fn tercel_output_free(output: *mut Output);
    pub(crate) fn tercel_output_bytes(output: *const Output) -> Bytes;
    pub(crate) fn tercel_output_sent(output: *mut Output, count: usize) -> Status;

    pub(crate) fn tercel_handshake_client(
        config: *const Config,
        name: *const c_char,
        name_len: usize,
        port: u16,
        handshake: *mut *mut Handshake,
    ) -> Status;
    pub(crate) fn tercel_handshake_server(
        config: *const Config,
        handshake: *mut *mut Handshake,
    ) -> Status;
    pub(crate) fn tercel_handshake_free(handshake: *mut Handshake);
    pub(crate) fn tercel_handshake_advance(
        handshake: *mut Handshake,
        input: *mut Input,
        output: *mut Output,
        next: *mut u32,
    ) -> Status;
    pub(crate) fn tercel_handshake_seal_early(
        handshake: *mut Handshake,
        data: *const u8,
        len: usize,
        output: *mut Output,
        taken: *mut usize,
    ) -> Status;
    pub(crate) fn tercel_handshake_early_data(handshake: *const Handshake) -> Bytes;
    pub(crate) fn tercel_handshake_error(
        handshake: *const Handshake,
        text: *mut c_char,
        size: usize,
    ) -> usize;
    pub(crate) fn tercel_handshake_take_connection(
        handshake: *mut Handshake,
        connection: *mut *mut Connection,
    ) -> Status;

    pub(crate) fn tercel_handshake_question(handshake: *const Handshake) -> u32;
    pub(crate) fn tercel_question_bytes(
        handshake: *const Handshake,
        field: u32,
        index: usize,
    ) -> Bytes;
    pub(crate) fn tercel_question_number(
        handshake: *const Handshake,
        field: u32,
        index: usize,
        number: *mut u64,
    ) -> Status;
    pub(crate) fn tercel_answer_session(
        handshake: *mut Handshake,
        session: *const u8,
        len: usize,
    ) -> Status;
    pub(crate) fn tercel_answer_early_data(handshake: *mut Handshake, admitted: u32) -> Status;

    pub(crate) fn tercel_connection_free(connection: *mut Connection);
    pub(crate) fn tercel_connection_sealed_size(connection: *const Connection, len: usize)
    -> usize;
    pub(crate) fn tercel_connection_seal(
        connection: *mut Connection,
        data: *const u8,
        len: usize,
        out: *mut u8,
        room: usize,
        taken: *mut usize,
        written: *mut usize,
    ) -> Status;
    pub(crate) fn tercel_connection_open(
        connection: *mut Connection,
        input: *mut Input,
        out: *mut u8,
        room: usize,
        filled: *mut usize,
        event: *mut u32,
    ) -> Status;
    pub(crate) fn tercel_connection_fact(connection: *const Connection, fact: u32) -> u64;
    pub(crate) fn tercel_connection_fact_bytes(
        connection: *const Connection,
        fact: u32,
        index: usize,
    ) -> Bytes;
    pub(crate) fn tercel_connection_take_stored_session(
        connection: *mut Connection,
        identity: *mut Bytes,
        session: *mut Bytes,
        expires: *mut u64,
    ) -> Status;
    pub(crate) fn tercel_connection_park(connection: *mut Connection) -> Status;
}
