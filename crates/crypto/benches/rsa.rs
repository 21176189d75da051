//! Times RSA-2048 signing and verification with the kernel and with AWS-LC.
//!
//! Both run in the same process and alternate in short rounds. The ratio is the median of the
//! ratios of the rounds, with quartiles.

use std::hint::black_box;
use std::time::Instant;

use tercel_crypto::{
    Kernel, KernelState, KeyKind, PublicKey, SignatureAlgorithm, SigningKey, kernel_state,
    use_kernel,
};

/// The number of rounds. Rounds are short, so that interruptions are in few of them.
const ROUNDS: usize = 501;

/// The numbers of calls in a round.
const SIGN_CALLS: usize = 1;
const VERIFY_CALLS: usize = 16;

fn main() {
    println!("rsa-2048: {}", kernel_state(Kernel::Rsa2048));
    let is_built = !matches!(
        kernel_state(Kernel::Rsa2048),
        KernelState::NotBuilt | KernelState::Unsupported | KernelState::SelfTestFailed
    );
    if !is_built {
        return;
    }
    let pair = rcgen::KeyPair::generate_for(&rcgen::PKCS_RSA_SHA256).expect("a key pair");
    // A key keeps the implementation with which it was made.
    let keys = [true, false].map(|wanted| {
        use_kernel(Kernel::Rsa2048, wanted);
        SigningKey::from_der(pair.serialized_der()).expect("the key just made")
    });
    let spki = keys[0].public_key_spki();
    let public_key = || PublicKey::from_spki(&spki).expect("the key just made");
    let publics = [true, false].map(|wanted| {
        use_kernel(Kernel::Rsa2048, wanted);
        public_key()
    });
    println!("{:32} {:>10} {:>10}   AWS-LC ÷ kernel", "", "kernel µs", "AWS-LC µs");
    for (name, algorithm) in [
        ("PSS with SHA-256", SignatureAlgorithm::RsaPssSha256),
        ("PKCS#1 with SHA-256", SignatureAlgorithm::RsaPkcs1Sha256),
    ] {
        let signature = keys[0].sign(algorithm, b"message").expect("a signature");
        row(&format!("sign, {name}"), SIGN_CALLS, |which| {
            black_box(keys[which].sign(algorithm, b"message").expect("a signature"));
        });
        row(&format!("verify, {name}"), VERIFY_CALLS, |which| {
            publics[which].verify(algorithm, b"message", &signature).expect("a right signature");
        });
        row(&format!("verify once, {name}"), VERIFY_CALLS, |which| {
            use_kernel(Kernel::Rsa2048, which == 0);
            let key = public_key();
            key.verify(algorithm, b"message", &signature).expect("a right signature");
        });
    }
    assert_eq!(publics[0].kind(), KeyKind::Rsa);
}

/// Prints the times of `call(0)`, the kernel, and of `call(1)`, AWS-LC.
fn row(name: &str, calls: usize, mut call: impl FnMut(usize)) {
    let (mut times, mut ratios) = ([vec![], vec![]], vec![]);
    for round in 0..ROUNDS {
        let mut pair = [0.0; 2];
        for which in [round % 2, 1 - round % 2] {
            let start = Instant::now();
            (0..calls).for_each(|_| call(which));
            pair[which] = start.elapsed().as_secs_f64() * 1e6 / calls as f64;
        }
        times.iter_mut().zip(pair).for_each(|(times, time)| times.push(time));
        ratios.push(pair[1] / pair[0]);
    }
    let [kernel, aws_lc] = times.map(|mut times| quartiles(&mut times)[1]);
    let [low, median, high] = quartiles(&mut ratios);
    println!("{name:32} {kernel:10.2} {aws_lc:10.2}   {median:.2} [{low:.2}, {high:.2}]");
}

fn quartiles(values: &mut [f64]) -> [f64; 3] {
    values.sort_unstable_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| values[values.len() * quarter / 4])
}
