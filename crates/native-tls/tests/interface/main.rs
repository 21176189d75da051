//! The interface of native-tls, as a program uses it. The README lists the cases of native-tls' own
//! tests and the tests here that contain them.

mod alpn;
mod certificates;
mod channel_binding;
mod connections;
mod fixtures;
mod host_names;
mod identities;
mod openssl;
#[path = "../../../pki/tests/pem_cases/mod.rs"]
mod pem_cases;
mod thread_safety;
mod versions;
mod would_block;
