//! Compares kernels of AEADs with AWS-LC, through the crate's interface.
//!
//! Both seal and open the same messages, in batches that alternate within a process, so that a
//! change of the clock frequency affects both. Prints the median of the ratios of adjacent batches:
//! AWS-LC's time divided by the kernel's. Arguments: names of algorithms, such as "chacha20"; all
//! without any.

use std::hint::black_box;
use std::time::Instant;

use tercel_crypto::{AeadAlgorithm, AeadKey, Kernel, KernelState, kernel_state, use_kernel};

const SIZES: [usize; 10] = [0, 16, 64, 256, 512, 1024, 1350, 4096, 8192, 16384];

/// Each algorithm, its name, and its kernel.
const ALGORITHMS: [(&str, AeadAlgorithm, Kernel); 3] = [
    ("aes128", AeadAlgorithm::Aes128Gcm, Kernel::AesGcm),
    ("aes256", AeadAlgorithm::Aes256Gcm, Kernel::AesGcm),
    ("chacha20", AeadAlgorithm::ChaCha20Poly1305, Kernel::ChaCha20Poly1305),
];

const NONCE: [u8; 12] = [7; 12];
const AAD: [u8; 5] = [23; 5];
/// The content type that TLS 1.3 appends to the data.
const EXTRA: [u8; 1] = [23];
const TAG_LEN: usize = AeadAlgorithm::TAG_LEN;

fn main() {
    let wanted: Vec<_> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    for (name, algorithm, kernel) in ALGORITHMS {
        if !wanted.is_empty() && !wanted.iter().any(|wanted| wanted == name) {
            continue;
        }
        let Some([by_kernel, by_aws_lc]) = keys(algorithm, kernel) else {
            println!("{name}: the kernel is not in use: {}", kernel_state(kernel));
            continue;
        };
        println!("{name:12} {:>8} {:>8} {:>8} {:>8}", "seal ns", "ratio", "open ns", "ratio");
        for len in SIZES {
            let [seal, open] = compare(&by_kernel, &by_aws_lc, len);
            let ([seal_ns, seal_ratio], [open_ns, open_ratio]) = (seal, open);
            println!("{len:12} {seal_ns:8.0} {seal_ratio:8.2} {open_ns:8.0} {open_ratio:8.2}");
        }
    }
}

/// A key of the kernel and a key of AWS-LC.
fn keys(algorithm: AeadAlgorithm, kernel: Kernel) -> Option<[AeadKey; 2]> {
    let secret = &[0x42; 32][..algorithm.key_len()];
    use_kernel(kernel, false);
    let by_aws_lc = AeadKey::new(algorithm, secret).ok()?;
    use_kernel(kernel, true);
    if kernel_state(kernel) != KernelState::InUse {
        return None;
    }
    Some([AeadKey::new(algorithm, secret).ok()?, by_aws_lc])
}

/// The kernel's time and AWS-LC's time divided by it, for sealing and for opening.
fn compare(by_kernel: &AeadKey, by_aws_lc: &AeadKey, len: usize) -> [[f64; 2]; 2] {
    const ROUNDS: usize = 151;
    let calls = 40_000 / (len + 300) + 1;
    let data = vec![1; len];
    let mut sealed = vec![0; len + 1 + TAG_LEN];
    let mut opened = vec![0; len + 1];
    let mut seal = |key: &AeadKey| {
        time(calls, || {
            let done = key.seal(&NONCE, &AAD, black_box(&data), &EXTRA, black_box(&mut sealed));
            black_box(done.is_ok());
        })
    };
    let mut seals: Vec<_> = (0..ROUNDS).map(|_| [seal(by_kernel), seal(by_aws_lc)]).collect();
    let mut open = |key: &AeadKey| {
        time(calls, || {
            let done = key.open(&NONCE, &AAD, black_box(&sealed), black_box(&mut opened));
            black_box(done.is_ok());
        })
    };
    let mut opens: Vec<_> = (0..ROUNDS).map(|_| [open(by_kernel), open(by_aws_lc)]).collect();
    [medians(&mut seals), medians(&mut opens)]
}

/// The duration of a call in nanoseconds.
fn time(calls: usize, mut call: impl FnMut()) -> f64 {
    let start = Instant::now();
    (0..calls).for_each(|_| call());
    start.elapsed().as_secs_f64() * 1e9 / calls as f64
}

/// The median of the first times, and that of the ratios of the second times to the first.
fn medians(times: &mut [[f64; 2]]) -> [f64; 2] {
    let median = |numbers: Vec<f64>| {
        let mut numbers = numbers;
        numbers.sort_unstable_by(f64::total_cmp);
        numbers[numbers.len() / 2]
    };
    let ratios = times.iter().map(|[kernel, aws_lc]| aws_lc / kernel).collect();
    [median(times.iter().map(|[kernel, _]| *kernel).collect()), median(ratios)]
}
