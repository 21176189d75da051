//! Tercel as OpenSSL's `libssl.so.3`: programs that use OpenSSL run on Tercel unmodified.
//!
//! The library has the functions of OpenSSL 3.0's libssl with their symbol version, and links the
//! system's libcrypto for the objects that programs share with it: certificates, keys, stores,
//! BIOs, lists, and the queue of errors. Handshakes, records and their cryptography are Tercel's.
//! `docs/openssl.md` of the repository says how a program is put on it, and what differs.
//!
//! # Structure
//!
//! | module | content |
//! |---|---|
//! | `sys` | declarations of the functions of libcrypto that are called |
//! | `lock` | the lock of a connection |
//! | `errors` | entries for the queue of errors |
//! | `entry` | the common part of all functions: panics, pointers, references |
//! | `ciphers` | cipher suites, groups, signature schemes, and the strings that select them |
//! | `objects` | objects of libcrypto as owned values |
//! | `method`, `settings` | SSL_METHOD; settings of contexts and connections |
//! | `session`, `tickets` | SSL_SESSION; ticket keys and cache of a server |
//! | `context`, `connection` | SSL_CTX, SSL |
//! | `functions` | the exported functions, by subject |
//!
//! # Safety
//!
//! Rust cannot check a caller in C, nor the functions of libcrypto. The argument why this crate is
//! sound has four parts.
//!
//! **Objects.** A program knows an SSL_CTX, SSL or SSL_SESSION by the address of an [`Arc`], and
//! owns counts of it. Each function counts another reference until it returns, so an object that a
//! callback frees exists until the end of the call. An SSL_CTX and an SSL_SESSION may be used by
//! several threads: their fields are behind locks, which are not held while a function of the
//! program runs. An SSL has a lock that a function holds, and that is released while C code runs:
//! so a program that reads in one thread and writes in another, which OpenSSL does not allow but
//! which Python does, races for the order of the calls and not for memory. The fields that need no
//! lock are those that never change.
//!
//! **Callbacks.** No `&mut` and no borrow of an SSL is held while C code runs: a handshake returns
//! a question, the connection is released, the program's function is called, and the answer goes
//! into the next step. Buffers are taken out of the connection while a BIO is called, which may be
//! a program's. All fields are cells, so a re-entrant call is a borrow of its own, and one that
//! would overlap panics in safe code instead of being undefined. No C code runs inside of a step.
//! The key log and the tap of messages, which do, find the connection by the thread, and leave what
//! they see in the connection, which passes it on after the step.
//!
//! **libcrypto.** Each object is a value that owns one reference and frees it once. Functions are
//! called with pointers from such values, or with those of the program, and with the lengths of the
//! buffers that are passed.
//!
//! **Panics.** They end at the border: the function returns its value for failure, with an entry in
//! the queue. Exceptions and longjmp must not leave a program's function.
//!
//! The caller's duties, to which "the caller's duty" in a SAFETY line refers, are OpenSSL's:
//!
//! - A pointer to an object is NULL or to an object of its type that is not freed; passing a
//!   reference on, borrowing and returning references follow OpenSSL's manual pages.
//! - A pointer with a length refers to as many bytes, which nothing else writes during the call,
//!   and, for an output, nothing else reads. A text ends with a NUL.
//! - A pointer for a result is NULL or refers to a variable of its type.
//!
//! C code sees these bytes of a peer: the certificates, which libcrypto parses and verifies, the
//! OCSP response that a client receives and passes to the program, and the names and protocols of a
//! ClientHello, as strings of checked length. A program that sets a message callback sees copies of
//! all handshake messages and alerts, before they are verified.
//!
//! [`Arc`]: std::sync::Arc

#![cfg(target_os = "linux")]
// Each function would repeat the section above.
#![allow(clippy::missing_safety_doc)]

pub(crate) mod ciphers;
pub(crate) mod connection;
pub(crate) mod context;
pub(crate) mod entry;
pub(crate) mod errors;
pub(crate) mod functions;
pub(crate) mod lock;
pub(crate) mod method;
pub(crate) mod objects;
pub(crate) mod session;
pub(crate) mod settings;
pub(crate) mod sys;
pub(crate) mod tickets;
