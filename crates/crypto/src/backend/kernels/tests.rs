//! Tests of the choice of kernels, with fake kernels and a fake clock.

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
    trials: || vec![trial_of(90, 100)],
};

thread_local! {
    /// The calls of fake kernels.
    static LOG: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
    /// The time of the fake clock in nanoseconds.
    static TIME: Cell<u64> = const { Cell::new(0) };
}

fn log(call: &'static str) {
    LOG.with_borrow_mut(|log| log.push(call));
}

fn take_log() -> Vec<&'static str> {
    LOG.take()
}

/// A function that takes this time by the fake clock.
fn work(nanoseconds: u64) -> impl FnMut() {
    move || TIME.set(TIME.get() + nanoseconds)
}

fn trial_of(kernel: u64, aws_lc: u64) -> Trial {
    Trial::new(work(kernel), work(aws_lc))
}

/// The fake clock. A reading takes 20 ns.
fn clock() -> impl FnMut() -> Instant {
    let start = Instant::now();
    move || {
        TIME.set(TIME.get() + 20);
        start + Duration::from_nanos(TIME.get())
    }
}

fn is_faster(trials: Vec<Trial>) -> bool {
    log("trials");
    trial::kernel_is_faster(trials, clock())
}

fn state_of(candidate: &Candidate) -> KernelState {
    Entry::new().state_of(Some(candidate), is_faster)
}

#[test]
fn a_kernel_is_in_use_after_its_self_test_and_its_trials() {
    assert_eq!(state_of(&GOOD), KernelState::InUse);
    assert_eq!(take_log(), ["self-test", "trials"]);
}

#[test]
fn a_kernel_that_was_not_built_is_not_in_use() {
    assert_eq!(Entry::new().state_of(None, is_faster), KernelState::NotBuilt);
    let off = Entry { is_allowed: AtomicBool::new(false), ..Entry::new() };
    assert_eq!(off.state_of(None, is_faster), KernelState::NotBuilt);
}

#[test]
fn no_code_of_a_kernel_runs_without_its_instructions() {
    let candidate = Candidate { is_available: || false, ..GOOD };
    assert_eq!(state_of(&candidate), KernelState::Unsupported);
    assert_eq!(take_log(), [""; 0]);
}

#[test]
fn a_kernel_with_wrong_results_is_not_timed() {
    let candidate = Candidate { self_test: || false, ..GOOD };
    assert_eq!(state_of(&candidate), KernelState::SelfTestFailed);
    assert_eq!(take_log(), [""; 0]);
}

#[test]
fn a_kernel_that_panics_is_not_used() {
    let self_test = Candidate { self_test: || panic!("an expected panic"), ..GOOD };
    let trials = Candidate { trials: || panic!("an expected panic"), ..GOOD };
    for candidate in [self_test, trials] {
        assert_eq!(state_of(&candidate), KernelState::SelfTestFailed);
        // The panic did not leave the thread in the state of deciding.
        assert_eq!(state_of(&GOOD), KernelState::InUse);
    }
}

#[test]
fn a_kernel_that_is_not_faster_is_not_used() {
    let slower = Candidate { trials: || vec![trial_of(110, 100)], ..GOOD };
    let equal = Candidate { trials: || vec![trial_of(100, 100)], ..GOOD };
    let slower_once =
        Candidate { trials: || vec![trial_of(50, 100), trial_of(140_000, 120_000)], ..GOOD };
    let without_trials = Candidate { trials: Vec::new, ..GOOD };
    for candidate in [slower, equal, slower_once, without_trials] {
        assert_eq!(state_of(&candidate), KernelState::Slower);
    }
}

#[test]
fn the_decision_is_made_once() {
    let entry = Entry::new();
    for _ in 0..3 {
        assert_eq!(entry.state_of(Some(&GOOD), is_faster), KernelState::InUse);
    }
    assert_eq!(take_log(), ["self-test", "trials"]);
}

#[test]
fn a_kernel_that_is_off_is_tested_when_it_is_first_turned_on() {
    let entry = Entry { is_allowed: AtomicBool::new(false), ..Entry::new() };
    assert_eq!(entry.state_of(Some(&GOOD), is_faster), KernelState::Off);
    assert_eq!(take_log(), [""; 0]);
    entry.is_allowed.store(true, Ordering::Relaxed);
    assert_eq!(entry.state_of(Some(&GOOD), is_faster), KernelState::InUse);
    entry.is_allowed.store(false, Ordering::Relaxed);
    assert_eq!(entry.state_of(Some(&GOOD), is_faster), KernelState::Off);
    assert_eq!(take_log(), ["self-test", "trials"]);
}

#[test]
fn a_self_test_that_asks_for_its_kernel_uses_aws_lc() {
    static ENTRY: Entry = Entry::new();
    const CANDIDATE: Candidate = Candidate {
        self_test: || ENTRY.state_of(Some(&GOOD), is_faster) != KernelState::InUse,
        ..GOOD
    };
    assert_eq!(ENTRY.state_of(Some(&CANDIDATE), is_faster), KernelState::InUse);
    assert_eq!(take_log(), ["trials"]);
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
        let state = || ENTRY.state_of(Some(&CANDIDATE), is_faster);
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(state)).collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), KernelState::InUse);
        }
    });
    assert_eq!(SELF_TESTS.load(Ordering::Relaxed), 1);
}

#[test]
fn the_margin_is_five_percent_at_every_duration() {
    // Up to 256 calls are timed together, so the cost of reading the clock is small.
    for aws_lc in [100, 1_000, 10_000, 300_000] {
        for (percent, is_enough) in [(50, true), (94, true), (96, false), (100, false)] {
            let trial = trial_of(aws_lc * percent / 100, aws_lc);
            assert_eq!(is_faster(vec![trial]), is_enough, "{percent} % of {aws_lc} ns");
        }
    }
}

/// Load can hide the gain in some trials, so that the average decides.
#[test]
fn a_kernel_that_is_faster_on_average_is_slower_in_no_trial() {
    for (times, expected) in [
        ([40, 104], true),
        ([40, 100], true),
        ([94, 94], true),
        ([93, 98], false),
        ([93, 104], false),
        ([40, 112], false),
        ([100, 40], false),
    ] {
        let trials = times.map(|kernel| trial_of(kernel * 100, 10_000)).into();
        assert_eq!(is_faster(trials), expected, "{times:?}");
    }
}

/// Interruptions of one of the two functions do not change the decision while each function has
/// batches without interruption.
#[test]
fn interruptions_do_not_change_the_decision() {
    let interrupted = |nanoseconds: u64| {
        let mut call = 0;
        move || {
            call += 1;
            // Each call in every second group of ten is interrupted.
            let pause = if call / 10 % 2 == 1 { 5_000_000 } else { 0 };
            TIME.set(TIME.get() + nanoseconds + pause);
        }
    };
    let kernel_interrupted = Trial::new(interrupted(700), work(750));
    assert!(is_faster(vec![kernel_interrupted]));
    let aws_lc_interrupted = Trial::new(work(740), interrupted(750));
    assert!(!is_faster(vec![aws_lc_interrupted]));
}

/// Load that slows down the kernel's first calls, for longer than a series of batches.
#[test]
fn a_disturbed_series_is_repeated() {
    let disturbed = |calls: u32| {
        let mut call = 0;
        move || {
            call += 1;
            TIME.set(TIME.get() + if call <= calls { 900 } else { 400 });
        }
    };
    // With 600 ns a series has about 60 calls of each function.
    assert!(is_faster(vec![Trial::new(disturbed(150), work(600))]));
    assert!(!is_faster(vec![Trial::new(disturbed(100_000), work(600))]));
}

#[test]
fn a_clock_without_resolution_selects_aws_lc() {
    let start = Instant::now();
    assert!(!trial::kernel_is_faster(vec![trial_of(1, 100)], || start));
}

#[test]
fn a_kernel_that_is_not_faster_costs_half_a_millisecond() {
    for (call, most) in [(20, 500), (1_000, 500), (10_000, 700), (200_000, 10_000)] {
        let start = TIME.get();
        assert!(!is_faster(vec![trial_of(call, call), trial_of(call, call)]));
        let microseconds = (TIME.get() - start) / 1_000;
        assert!(microseconds <= most, "{microseconds} µs for calls of {call} ns");
    }
}

#[test]
fn a_trial_takes_a_tenth_of_a_millisecond_unless_calls_are_long() {
    for (call, most) in [(20, 150), (1_000, 150), (10_000, 200), (200_000, 3_000)] {
        let start = TIME.get();
        assert!(is_faster(vec![trial_of(call / 2, call)]));
        let microseconds = (TIME.get() - start) / 1_000;
        assert!(microseconds <= most, "{microseconds} µs for calls of {call} ns");
    }
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

/// Real kernels of this build, with the clock of this machine.
#[test]
fn each_kernel_of_this_build_is_used_or_not_for_a_reason_of_the_processor() {
    for (kernel, candidate) in CANDIDATES {
        let state = kernel_state(*kernel);
        let expected = match (candidate.is_available)() {
            true => KernelState::InUse,
            false => KernelState::Unsupported,
        };
        assert!(state == expected || !cfg!(debug_assertions), "{kernel}: {state}");
        println!("{kernel}: {state}");
    }
}
