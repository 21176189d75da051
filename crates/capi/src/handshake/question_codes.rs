//! The numbers of questions and their fields. They are part of the ABI: they are never changed,
//! only added.

/// A question to the caller.
pub type QuestionKind = u32;

/// No question is open.
pub const TERCEL_QUESTION_NONE: QuestionKind = 0;
/// Server: which configuration is for this ClientHello? Answer: tercel_answer_config.
pub const TERCEL_QUESTION_CHOOSE_CONFIG: QuestionKind = 1;
/// Server: which session has this identity? Answer: tercel_answer_session.
pub const TERCEL_QUESTION_FIND_SESSION: QuestionKind = 2;
/// Server: which pre-shared key has one of these identities? Answer: tercel_answer_psk.
pub const TERCEL_QUESTION_FIND_PSK: QuestionKind = 3;
/// Server: is early data admitted, or may it be a replay? Answer: tercel_answer_early_data.
pub const TERCEL_QUESTION_ADMIT_EARLY_DATA: QuestionKind = 4;
/// Which credential is for this peer? Answer: tercel_answer_credential.
pub const TERCEL_QUESTION_SELECT_CREDENTIAL: QuestionKind = 5;
/// What is the signature over this content, with the key of this certificate? Asked for credentials
/// of tercel_credential_external. Answer: tercel_answer_signature.
pub const TERCEL_QUESTION_SIGN: QuestionKind = 6;
/// Is this peer trusted? Answer: tercel_answer_peer.
pub const TERCEL_QUESTION_VERIFY_PEER: QuestionKind = 7;
/// Server: was the session with this identity in the store, and is it removed now? Asked with
/// TERCEL_ASK_CLAIM_SESSION. Answer: tercel_answer_claim.
pub const TERCEL_QUESTION_CLAIM_SESSION: QuestionKind = 8;

/// A part of a question. Fields of bytes are read with tercel_question_bytes, fields of numbers
/// with tercel_question_number. A field that may have several values has an index.
pub type Field = u32;

/// Bytes, CHOOSE_CONFIG: the ClientHello without the header of the handshake message.
pub const TERCEL_FIELD_CLIENT_HELLO: Field = 1;
/// Bytes: the server name that the client requested; VERIFY_PEER: the name that the server must
/// have.
pub const TERCEL_FIELD_SERVER_NAME: Field = 2;
/// Bytes with an index, CHOOSE_CONFIG, SELECT_CREDENTIAL of a server: a protocol name that the
/// client offers.
pub const TERCEL_FIELD_ALPN: Field = 3;
/// Bytes, FIND_SESSION, CLAIM_SESSION: the identity of the session. With an index, FIND_PSK: an
/// identity that the client offers.
pub const TERCEL_FIELD_IDENTITY: Field = 4;
/// Bytes, ADMIT_EARLY_DATA: a value that a replay would repeat. Admit each value once.
pub const TERCEL_FIELD_UNIQUE: Field = 5;
/// Bytes, SIGN: the content to sign. Hashing it is part of the scheme.
pub const TERCEL_FIELD_CONTENT: Field = 6;
/// Bytes with an index, VERIFY_PEER: a certificate of the peer (DER), the leaf first. SIGN: a
/// certificate of the credential that has to sign.
pub const TERCEL_FIELD_CERTIFICATE: Field = 7;
/// Bytes, VERIFY_PEER: the peer's public key, if it has no certificate. RFC 7250
pub const TERCEL_FIELD_RAW_PUBLIC_KEY: Field = 8;
/// Bytes, VERIFY_PEER: the stapled OCSP response (DER).
pub const TERCEL_FIELD_OCSP_RESPONSE: Field = 9;
/// Bytes, VERIFY_PEER: the signed certificate timestamps. RFC 6962 3.3
pub const TERCEL_FIELD_TIMESTAMPS: Field = 10;
/// Bytes with an index, SELECT_CREDENTIAL: an authority that the peer lists, a Name (DER).
pub const TERCEL_FIELD_AUTHORITY: Field = 11;
/// Number, SELECT_CREDENTIAL: the negotiated version. With an index, CHOOSE_CONFIG: a version that
/// the client offers in supported_versions.
pub const TERCEL_FIELD_VERSION: Field = 32;
/// Number with an index, CHOOSE_CONFIG, SELECT_CREDENTIAL of a server: a cipher suite that the
/// client offers.
pub const TERCEL_FIELD_CIPHER_SUITE: Field = 33;
/// Number with an index, CHOOSE_CONFIG: a group that the client supports.
pub const TERCEL_FIELD_GROUP: Field = 34;
/// Number with an index, CHOOSE_CONFIG, FIND_PSK, SELECT_CREDENTIAL: a signature scheme that the
/// peer verifies. Without an index, SIGN: the scheme to sign with.
pub const TERCEL_FIELD_SIGNATURE_SCHEME: Field = 35;
/// Number with an index, SELECT_CREDENTIAL, TLS 1.2: a certificate type that the server accepts.
/// RFC 5246 7.4.4
pub const TERCEL_FIELD_CERTIFICATE_TYPE: Field = 36;
/// Number, FIND_SESSION: 1 if the session must be used only once. The caller removes the session
/// from its store when it answers CLAIM_SESSION or, without TERCEL_ASK_CLAIM_SESSION, when it
/// answers FIND_SESSION.
pub const TERCEL_FIELD_SINGLE_USE: Field = 37;
/// Number, ADMIT_EARLY_DATA, VERIFY_PEER: the time of the question, in seconds since 1970.
pub const TERCEL_FIELD_TIME: Field = 38;
/// Number, ADMIT_EARLY_DATA: the freshness window in seconds. Remember values for twice as long and
/// a second more.
pub const TERCEL_FIELD_FRESHNESS_WINDOW: Field = 39;
/// Number, VERIFY_PEER: 1 if the peer was authenticated by an earlier handshake, whose session is
/// to be resumed. A refusal then leads to a full handshake.
pub const TERCEL_FIELD_RESUMED: Field = 40;
