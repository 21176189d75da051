//! Tests of the choice of kernels, with fake kernels.

#[cfg(any(kernel_aes_gcm, kernel_chacha20_poly1305))]
pub(super) mod aead_timing;
#[cfg(kernels)]
pub(super) mod timing;
#[cfg(kernels)]
mod wycheproof;

use core::cell::RefCell;
use core::time::Duration;
use std::sync::atomic::AtomicUsize;
use std::thread;

use super::*;

const GOOD: Candidate = Candidate {
    is_available: || true,
    self_test: || {
        log("self-test");
        true
    },
};

thread_local! {
    /// The calls of fake kernels.
    static LOG: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
}

fn log(call: &'static str) {
    LOG.with_borrow_mut(|log| log.push(call));
}

fn take_log() -> Vec<&'static str> {
    LOG.take()
}

fn state_of(candidate: &Candidate) -> KernelState {
    Entry::new().state_of(Some(candidate))
}

#[test]
fn a_kernel_is_in_use_after_its_self_test() {
    assert_eq!(state_of(&GOOD), KernelState::InUse);
    assert_eq!(take_log(), ["self-test"]);
}

#[test]
fn a_kernel_that_was_not_built_is_not_in_use() {
    assert_eq!(Entry::new().state_of(None), KernelState::NotBuilt);
    let off = Entry { is_allowed: AtomicBool::new(false), ..Entry::new() };
    assert_eq!(off.state_of(None), KernelState::NotBuilt);
}

#[test]
fn no_code_of_a_kernel_runs_without_its_instructions() {
    let candidate = Candidate { is_available: || false, ..GOOD };
    assert_eq!(state_of(&candidate), KernelState::Unsupported);
    assert_eq!(take_log(), [""; 0]);
}

#[test]
fn a_kernel_with_wrong_results_is_not_used() {
    let candidate = Candidate { self_test: || false, ..GOOD };
    assert_eq!(state_of(&candidate), KernelState::SelfTestFailed);
    assert_eq!(take_log(), [""; 0]);
}

#[test]
fn a_kernel_that_panics_is_not_used() {
    let candidate = Candidate { self_test: || panic!("an expected panic"), ..GOOD };
    assert_eq!(state_of(&candidate), KernelState::SelfTestFailed);
    // The panic did not leave the thread in the state of deciding.
    assert_eq!(state_of(&GOOD), KernelState::InUse);
}

#[test]
fn the_decision_is_made_once() {
    let entry = Entry::new();
    for _ in 0..3 {
        assert_eq!(entry.state_of(Some(&GOOD)), KernelState::InUse);
    }
    assert_eq!(take_log(), ["self-test"]);
}

#[test]
fn a_kernel_that_is_off_is_tested_when_it_is_first_turned_on() {
    let entry = Entry { is_allowed: AtomicBool::new(false), ..Entry::new() };
    assert_eq!(entry.state_of(Some(&GOOD)), KernelState::Off);
    assert_eq!(take_log(), [""; 0]);
    entry.is_allowed.store(true, Ordering::Relaxed);
    assert_eq!(entry.state_of(Some(&GOOD)), KernelState::InUse);
    entry.is_allowed.store(false, Ordering::Relaxed);
    assert_eq!(entry.state_of(Some(&GOOD)), KernelState::Off);
    assert_eq!(take_log(), ["self-test"]);
}

#[test]
fn a_self_test_that_asks_for_its_kernel_uses_aws_lc() {
    static ENTRY: Entry = Entry::new();
    const CANDIDATE: Candidate =
        Candidate { self_test: || ENTRY.state_of(Some(&GOOD)) != KernelState::InUse, ..GOOD };
    assert_eq!(ENTRY.state_of(Some(&CANDIDATE)), KernelState::InUse);
    assert_eq!(take_log(), [""; 0]);
}

#[test]
fn one_thread_decides_and_the_others_wait() {
    static ENTRY: Entry = Entry::new();
    static SELF_TESTS: AtomicUsize = AtomicUsize::new(0);
    const CANDIDATE: Candidate = Candidate {
        self_test: || {
            SELF_TESTS.fetch_add(1, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(20));
            true
        },
        ..GOOD
    };
    thread::scope(|scope| {
        let state = || ENTRY.state_of(Some(&CANDIDATE));
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(state)).collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), KernelState::InUse);
        }
    });
    assert_eq!(SELF_TESTS.load(Ordering::Relaxed), 1);
}

#[test]
fn the_steady_path_agrees_with_the_state() {
    for kernel in Kernel::ALL {
        assert_eq!(is_in_use(*kernel), kernel_state(*kernel) == KernelState::InUse);
        assert_eq!(is_in_use(*kernel), kernel_state(*kernel) == KernelState::InUse);
    }
}

#[test]
fn kernels_are_found_by_their_place_and_have_names_of_their_own() {
    for (place, kernel) in Kernel::ALL.iter().enumerate() {
        assert_eq!(*kernel as usize, place);
        assert!(Kernel::ALL[place + 1..].iter().all(|other| other.name() != kernel.name()));
        assert_eq!(format!("{kernel:>20}"), format!("{:>20}", kernel.name()));
    }
    let table = CANDIDATES.iter().map(|(kernel, _)| *kernel as usize);
    assert!(table.is_sorted_by(|earlier, later| earlier < later));
}

/// A record of the machine's load or speed would choose differently in two processes.
#[test]
fn each_kernel_of_this_build_is_used_or_not_for_a_reason_of_the_processor() {
    for (kernel, candidate) in CANDIDATES {
        let state = kernel_state(*kernel);
        let expected = match (candidate.is_available)() {
            true => KernelState::InUse,
            false => KernelState::Unsupported,
        };
        assert_eq!(state, expected, "{kernel}");
        println!("{kernel}: {state}");
    }
}
