//! Kernels: primitives of this crate, written with AVX-512, that replace AWS-LC's where they are
//! faster.
//!
//! This file decides which kernels the process uses. See the module of each kernel for its code,
//! and docs/security/kernels.md for the reasons why the results can be trusted. A build with a
//! cryptographic module that was validated as a whole, as for FIPS 140, must disable the features
//! of all kernels, because they are computed outside that module.
//!
//! # How a kernel is chosen
//!
//! The first use of a kernel decides for the process. The kernel is used if
//!
//! 1. it was built: its feature is on, the target is x86-64, the crate is optimised, and the
//!    compiler has the intrinsics (build.rs);
//! 2. [`use_kernel`] has not turned it off;
//! 3. the processor has the instructions;
//! 4. its self-test gives the same results as AWS-LC.
//!
//! Nothing is measured: a process that starts on a busy machine makes the same choice as any other.
//! Otherwise the caller uses AWS-LC. Callers ask [`is_in_use`] when a key is made, and the key
//! keeps the answer, so that a key never changes its implementation.
//!
//! # How a kernel is added
//!
//! A kernel is a module with two functions, `is_available() -> bool` and `self_test() -> bool`; see
//! [`Candidate`] for what they do. It is added by its `mod` line and its line in [`CANDIDATES`],
//! both under the `cfg` that build.rs sets. A kernel must be faster than AWS-LC on each family of
//! processors on which it is available (the bench `kernels`).
//!
//! # Why this is sound
//!
//! The instructions of a kernel may run only on processors that have them. Code outside this
//! module reaches a kernel only after [`is_in_use`] has answered yes, and [`decide`] runs the
//! self-test only after `is_available` has answered yes.

// Kernels require a compiler that has the intrinsics of AVX-512. build.rs checks the version, so
// their modules have `#[allow(clippy::incompatible_msrv)]`.
#[cfg(kernel_aes_gcm)]
#[allow(clippy::incompatible_msrv)]
pub(crate) mod aes_gcm;
#[cfg(kernel_chacha20_poly1305)]
#[allow(clippy::incompatible_msrv)]
pub(crate) mod chacha20_poly1305;
#[cfg(kernel_rsa)]
#[allow(clippy::incompatible_msrv)]
pub(crate) mod rsa;
#[cfg(test)]
mod tests;

use core::cell::Cell;
use core::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::self_tests::{Tested, note_failure};

/// The functions of a kernel's module, by which its use is decided.
#[derive(Clone, Copy)]
struct Candidate {
    /// Whether the processor has all instructions of the kernel, and does not lower its clock for
    /// vectors of 512 bits. Processors before Ice Lake do so; they lack VBMI.
    is_available: fn() -> bool,
    /// Whether the kernel gives the same results as AWS-LC. The function must call AWS-LC by the
    /// modules of `backend`, not by the facade, which would use the kernel. It takes a small part
    /// of a millisecond, because it delays the first handshake of a process.
    self_test: fn() -> bool,
}

/// The functions of the module of this name.
#[allow(unused_macros, reason = "a build may have no kernels")]
macro_rules! candidate {
    ($module:ident) => {
        Candidate { is_available: $module::is_available, self_test: $module::self_test }
    };
}

/// The kernels that this build has.
const CANDIDATES: &[(Kernel, Candidate)] = &[
    #[cfg(kernel_aes_gcm)]
    (Kernel::AesGcm, candidate!(aes_gcm)),
    #[cfg(kernel_chacha20_poly1305)]
    (Kernel::ChaCha20Poly1305, candidate!(chacha20_poly1305)),
    #[cfg(kernel_rsa)]
    (Kernel::Rsa2048, candidate!(rsa)),
];

/// A primitive of this crate that replaces AWS-LC's on processors with AVX-512.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kernel {
    /// AES-GCM with keys of 128 and 256 bits.
    AesGcm,
    /// ChaCha20-Poly1305.
    ChaCha20Poly1305,
    /// RSA with moduli of 2048 bits: signing, and verification with the exponent 65537.
    Rsa2048,
}

impl Kernel {
    /// All kernels.
    pub const ALL: &'static [Self] = &[Self::AesGcm, Self::ChaCha20Poly1305, Self::Rsa2048];

    /// The name in options and configuration files, such as "aes-gcm".
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AesGcm => "aes-gcm",
            Self::ChaCha20Poly1305 => "chacha20-poly1305",
            Self::Rsa2048 => "rsa-2048",
        }
    }

    fn tested(self) -> Tested {
        match self {
            Self::AesGcm => Tested::AesGcm,
            Self::ChaCha20Poly1305 => Tested::ChaCha20Poly1305,
            Self::Rsa2048 => Tested::Rsa2048,
        }
    }

    fn entry(self) -> &'static Entry {
        &ENTRIES[self as usize]
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Whether the process uses a kernel, or the reason why it uses AWS-LC instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum KernelState {
    /// The kernel is used for new keys.
    InUse,
    /// The build does not have the kernel: its feature is off, the target is not x86-64, the
    /// compiler is older than Rust 1.89, or the crate was compiled without optimisation.
    NotBuilt,
    /// The processor lacks an instruction that the kernel needs.
    Unsupported,
    /// The kernel did not give the same results as AWS-LC.
    SelfTestFailed,
    /// [`use_kernel`] has turned the kernel off.
    Off,
}

impl fmt::Display for KernelState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::InUse => "in use",
            Self::NotBuilt => "not built",
            Self::Unsupported => "not supported by the processor",
            Self::SelfTestFailed => "failed its self-test",
            Self::Off => "off",
        })
    }
}

/// Whether this process uses a kernel for new keys.
///
/// The first call tests the kernel against AWS-LC. A configuration makes this call for the kernels
/// of records when it is built, so that no handshake is delayed. RSA's public-key operation is
/// tested with the first RSA key, and its private-key operation with the first private one.
#[must_use]
pub fn kernel_state(kernel: Kernel) -> KernelState {
    match kernel.entry().state(kernel) {
        #[cfg(kernel_rsa)]
        KernelState::InUse if kernel == Kernel::Rsa2048 && rsa::private_self_test_failed() => {
            KernelState::SelfTestFailed
        }
        state => state,
    }
}

/// Turns a kernel off for the whole process, or on again. Without the kernel, AWS-LC computes the
/// primitive; results are the same.
///
/// The call affects keys that are made afterwards: the next connections, and signing keys that are
/// loaded later. Existing keys keep their implementation.
pub fn use_kernel(kernel: Kernel, wanted: bool) {
    kernel.entry().is_allowed.store(wanted, Ordering::Relaxed);
}

/// The number of RSA signatures that the kernel computed wrongly in this process. They were
/// detected and not used; AWS-LC signed instead. On a sound machine the number is zero.
#[must_use]
pub fn rejected_rsa_signatures() -> u64 {
    #[cfg(kernel_rsa)]
    let count = rsa::rejected_signatures();
    #[cfg(not(kernel_rsa))]
    let count = 0;
    count
}

/// Whether to use the kernel for a new key.
#[allow(dead_code, reason = "a build may have no kernels")]
#[inline]
pub(crate) fn is_in_use(kernel: Kernel) -> bool {
    let entry = kernel.entry();
    match entry.decision.get() {
        Some(KernelState::InUse) => entry.is_allowed.load(Ordering::Relaxed),
        Some(_) => false,
        None => entry.state(kernel) == KernelState::InUse,
    }
}

/// The switch of a kernel and the result of its tests.
struct Entry {
    is_allowed: AtomicBool,
    /// Set by the first use. It is never [`KernelState::Off`].
    decision: OnceLock<KernelState>,
}

static ENTRIES: [Entry; Kernel::ALL.len()] = [const { Entry::new() }; Kernel::ALL.len()];

impl Entry {
    const fn new() -> Self {
        Self { is_allowed: AtomicBool::new(true), decision: OnceLock::new() }
    }

    fn state(&self, kernel: Kernel) -> KernelState {
        let candidate = CANDIDATES.iter().find(|(found, _)| *found == kernel);
        let state = self.state_of(candidate.map(|(_, candidate)| candidate));
        if state == KernelState::SelfTestFailed {
            note_failure(kernel.tested());
        }
        state
    }

    fn state_of(&self, candidate: Option<&Candidate>) -> KernelState {
        let Some(candidate) = candidate else { return KernelState::NotBuilt };
        if !self.is_allowed.load(Ordering::Relaxed) {
            return KernelState::Off;
        }
        if let Some(decision) = self.decision.get() {
            return *decision;
        }
        // A self-test that uses the facade by mistake must not wait for its own end.
        if IS_DECIDING.replace(true) {
            return KernelState::Unsupported;
        }
        let decision = *self.decision.get_or_init(|| decide(candidate));
        IS_DECIDING.set(false);
        decision
    }
}

thread_local! {
    /// Whether this thread is in [`decide`].
    static IS_DECIDING: Cell<bool> = const { Cell::new(false) };
}

/// Tests a kernel. One that panics is not used.
fn decide(candidate: &Candidate) -> KernelState {
    let decision = catch_unwind(AssertUnwindSafe(|| {
        if !(candidate.is_available)() {
            KernelState::Unsupported
        } else if !(candidate.self_test)() {
            KernelState::SelfTestFailed
        } else {
            KernelState::InUse
        }
    }));
    decision.unwrap_or(KernelState::SelfTestFailed)
}
