//! Times of the kernel and of AWS-LC, for `just kernel-ratios`.

use core::hint::black_box;
use std::time::Instant;

use super::*;

const SIZES: [usize; 7] = [16, 64, 256, 1024, 1350, 4096, 16_384];

/// The least ratio at 16 KiB. If the compiler groups rounds of AES and products of GHASH, the loop
/// becomes slower: see `chunks.rs`. Sapphire Rapids has 1.07 to 1.17, Zen 5 more.
const LEAST_AT_16_KIB: f64 = 1.05;

/// What is timed.
#[derive(Clone, Copy, PartialEq)]
enum Operation {
    /// Sealing, with an extra byte.
    Seal,
    /// Sealing with a nonce from the previous tag, so that the processor does not overlap messages.
    SealInTurn,
    Open,
}

/// Prints AWS-LC's time divided by the kernel's: medians of ratios within rounds, and quartiles.
/// Both alternate in short batches, with buffers at changing places.
#[test]
#[ignore = "prints and fails below a ratio, for `just kernel-ratios`"]
fn print_ratios() {
    assert!(is_available(), "absent: AVX-512 with VAES and VPCLMULQDQ");
    println!();
    println!("{:30} {:>6} {:>10} {:>10}  ratio", "", "bytes", "AWS-LC ns", "kernel ns");
    let mut least: f64 = f64::MAX;
    for (algorithm, operation, name) in [
        (AeadAlgorithm::Aes128Gcm, Operation::Seal, "AES-128 seal"),
        (AeadAlgorithm::Aes256Gcm, Operation::Seal, "AES-256 seal"),
        (AeadAlgorithm::Aes128Gcm, Operation::Open, "AES-128 open"),
        (AeadAlgorithm::Aes256Gcm, Operation::Open, "AES-256 open"),
        (AeadAlgorithm::Aes128Gcm, Operation::SealInTurn, "AES-128 seal, latency"),
        (AeadAlgorithm::Aes256Gcm, Operation::SealInTurn, "AES-256 seal, latency"),
    ] {
        for size in SIZES {
            let [aws_lc, kernel, ratio] = compare_times(algorithm, operation, size);
            let [low, middle, high] = ratio;
            let (aws_lc, kernel) = (aws_lc[1], kernel[1]);
            println!(
                "{name:30} {size:6} {aws_lc:10.1} {kernel:10.1}  {middle:.2} [{low:.2}, {high:.2}]"
            );
            if size == 16_384 {
                least = least.min(middle);
            }
        }
    }
    assert!(least >= LEAST_AT_16_KIB, "the loop takes too long: ratio {least:.2}");
}

/// Quartiles of the times of a call by AWS-LC and by the kernel, and of their ratios.
fn compare_times(algorithm: AeadAlgorithm, operation: Operation, size: usize) -> [[f64; 3]; 3] {
    let secret = random(algorithm.key_len());
    let aws_lc = AeadContext::by_aws_lc(algorithm, &secret).unwrap();
    let kernel = AeadContext::by_kernel(algorithm, &secret).unwrap();
    let (mut times, mut ratios) = ([vec![], vec![]], vec![]);
    for round in 0..241 {
        let offset = [round * 24 % 64, round * 40 % 64];
        let pair = [&aws_lc, &kernel].map(|context| time(context, operation, size, offset));
        times[0].push(pair[0]);
        times[1].push(pair[1]);
        ratios.push(pair[0] / pair[1]);
    }
    let [of_aws_lc, of_kernel] = times.map(quartiles);
    [of_aws_lc, of_kernel, quartiles(ratios)]
}

/// The nanoseconds of a call.
fn time(context: &AeadContext, operation: Operation, size: usize, offset: [usize; 2]) -> f64 {
    let (aad, mut nonce) = ([23, 3, 3, 0, 0], [7; 12]);
    let mut input = vec![1; size + 1 + TAG_LEN + 64];
    let mut out = vec![2; size + 1 + TAG_LEN + 64];
    let out = &mut out[offset[1]..][..size + 1 + TAG_LEN];
    if operation == Operation::Open {
        let sealed = &mut input[offset[0]..][..size + TAG_LEN];
        let plaintext = vec![1; size];
        context.sealer().seal(&nonce, &aad, &plaintext, &[], sealed).unwrap();
    }
    let input = &input[offset[0]..][..size + TAG_LEN];
    let calls = 20_000 / (size + 200) + 4;
    let mut call = || match operation {
        Operation::Open => {
            let (body, tag) = black_box(input).split_at(size);
            context.open(&nonce, &aad, body, tag, &mut out[..size]).unwrap();
        }
        _ => {
            context.sealer().seal(&nonce, &aad, black_box(&input[..size]), &[23], out).unwrap();
            if operation == Operation::SealInTurn {
                // Written as record protection does: four bytes and eight.
                nonce[4..].copy_from_slice(&out[size + 1..][..8]);
            }
        }
    };
    call();
    call();
    let start = Instant::now();
    for _ in 0..calls {
        call();
    }
    start.elapsed().as_secs_f64() * 1e9 / calls as f64
}

fn quartiles(mut numbers: Vec<f64>) -> [f64; 3] {
    numbers.sort_unstable_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| numbers[numbers.len() * quarter / 4])
}
