//! Compares lanes with AWS-LC, for every supported instruction set and not only the best one.

use core::cell::{Cell, RefCell};
use core::hint::black_box;
use core::mem::MaybeUninit;
use core::ptr;
use std::time::Instant;

use super::*;
use crate::backend::lc;
use crate::batch::{Job, Jobs, MAX_BATCH};
use crate::{HashAlgorithm, HmacKey};

/// AWS-LC's own HMAC.
fn hmac(algorithm: HashAlgorithm, key: &[u8], message: &[u8]) -> Vec<u8> {
    let mut out = vec![0; algorithm.output_len()];
    // SAFETY: the table is static; slices are passed with their lengths; AWS-LC writes as many
    // bytes as the digest has.
    let written = unsafe {
        let hash = match algorithm {
            HashAlgorithm::Sha256 => lc::EVP_sha256(),
            HashAlgorithm::Sha384 => lc::EVP_sha384(),
            HashAlgorithm::Sha512 => lc::EVP_sha512(),
        };
        let (key, key_len) = (key.as_ptr().cast(), key.len());
        let (text, text_len) = (message.as_ptr(), message.len());
        lc::HMAC(hash, key, key_len, text, text_len, out.as_mut_ptr(), ptr::null_mut())
    };
    assert!(!written.is_null());
    out
}

fn random_lane() -> Lane {
    let (mut state, mut block) = ([[0; 8]; 8], [[0; 8]; 16]);
    super::super::memory::fill_random(state.as_flattened_mut()).unwrap();
    super::super::memory::fill_random(block.as_flattened_mut()).unwrap();
    Lane { state: state.map(u64::from_ne_bytes), block }
}

#[test]
fn the_instructions_of_this_processor_are_found() {
    let found: Vec<_> = available().map(Instructions::name).collect();
    #[cfg(lanes_avx2)]
    assert_eq!(found.contains(&HashLanes::Avx2), std::is_x86_feature_detected!("avx2"));
    #[cfg(not(lanes_avx2))]
    assert_eq!(found, []);
    assert_eq!(in_use().name(), found.first().copied().unwrap_or(HashLanes::None));
}

#[test]
fn each_kernel_computes_the_compression_function_in_each_lane() {
    for kernel in available().flat_map(kernels) {
        for round in 0..50 {
            for count in 1..=kernel.max_lanes {
                let mut lanes = vec![random_lane(); count];
                // In even rounds all lanes are random; in odd rounds only one lane changes.
                if round % 2 == 0 {
                    lanes.fill_with(random_lane);
                } else {
                    lanes[round % count] = random_lane();
                }
                let mut expected = lanes.clone();
                for lane in &mut expected {
                    sha::compress_512(&mut lane.state, &lane.block);
                }
                run(kernel, &mut lanes, None);
                for (lane, expected) in lanes.iter().zip(&expected) {
                    assert_eq!(lane.state, expected.state, "{count} of {} lanes", kernel.max_lanes);
                    assert_eq!(lane.block, expected.block);
                }
            }
        }
    }
}

/// The expected outer hash comes from AWS-LC's compression function, with its block assembled here.
#[test]
fn each_kernel_computes_the_outer_hash_of_each_lane() {
    for kernel in available().flat_map(kernels) {
        for (count, words) in (1..=kernel.max_lanes)
            .flat_map(|count| [6, 8].map(|words| (count, words)))
            .cycle()
            .take(200)
        {
            let mut lanes: Vec<_> = (0..count).map(|_| random_lane()).collect();
            let starts: Vec<_> = (0..count).map(|_| random_lane().state).collect();
            let expected: Vec<_> = (lanes.iter().zip(&starts))
                .map(|(lane, start)| {
                    let (mut inner, mut outer) = (lane.state, *start);
                    sha::compress_512(&mut inner, &lane.block);
                    let mut block = [[0; 8]; 16];
                    block[..8].copy_from_slice(&inner.map(u64::to_be_bytes));
                    block[words..].fill([0; 8]);
                    block[words][0] = 0x80;
                    block[15] = (8 * (128 + 8 * words as u64)).to_be_bytes();
                    sha::compress_512(&mut outer, &block);
                    outer.map(u64::to_be_bytes)
                })
                .collect();
            let states: Vec<_> = starts.iter().collect();
            run(kernel, &mut lanes, Some(Outer { states: &states, words }));
            for (lane, expected) in lanes.iter().zip(&expected) {
                assert_eq!(lane.block[..8], *expected, "{count} of {} lanes", kernel.max_lanes);
            }
        }
    }
}

#[test]
fn any_number_of_lanes_is_compressed() {
    for instructions in available().chain([Instructions::NONE]) {
        for count in 0..30 {
            let mut lanes: Vec<_> = (0..count).map(|_| random_lane()).collect();
            let mut expected = lanes.clone();
            for lane in &mut expected {
                sha::compress_512(&mut lane.state, &lane.block);
            }
            let mut macs = lanes.clone();
            compress(instructions, &mut lanes);
            let states = |lanes: &[Lane]| lanes.iter().map(|lane| lane.state).collect::<Vec<_>>();
            assert_eq!(states(&lanes), states(&expected), "{:?}, {count}", instructions.name());
            // The outer hashes start from the final states of the inner hashes, so that they have
            // different start values.
            let outer: Vec<_> = expected.iter().map(|lane| &lane.state).collect();
            let outer = Outer { states: &outer, words: 6 };
            let mut alone = macs.clone();
            finish_macs(instructions, &mut macs, outer);
            compress_singly(&mut alone, Some(outer));
            let of = |lanes: &[Lane]| lanes.iter().map(|lane| lane.block[0]).collect::<Vec<_>>();
            assert_eq!(of(&macs), of(&alone), "{:?}, {count}", instructions.name());
        }
    }
}

/// Every combination of two lengths around block boundaries, with each number of lanes.
#[test]
fn macs_equal_those_of_aws_lc() {
    const LENGTHS: [usize; 12] = [0, 1, 48, 111, 112, 127, 128, 129, 239, 240, 241, 300];
    let text: Vec<u8> = (0..=255).cycle().step_by(7).take(300).collect();
    for algorithm in [HashAlgorithm::Sha384, HashAlgorithm::Sha512] {
        let keys = [48, 0, 128, 129].map(|len| &text[300 - len..]);
        for (secret, key) in keys.into_iter().zip(HmacKey::batch(algorithm, keys)) {
            let expected = LENGTHS.map(|len| hmac(algorithm, secret, &text[..len]));
            for instructions in available() {
                for (count, (a, b)) in
                    (1..=MAX_BATCH).flat_map(|count| pairs().map(move |pair| (count, pair)))
                {
                    let which = |lane: usize| if lane % 3 == 1 { b } else { a };
                    let mut outs = [[0; 64]; MAX_BATCH];
                    let mut jobs = Jobs::new();
                    for (lane, out) in outs[..count].iter_mut().enumerate() {
                        let out = &mut out[..algorithm.output_len()];
                        let (head, tail) =
                            text[..LENGTHS[which(lane)]].split_at(LENGTHS[which(lane)] / 3);
                        jobs.push(Job::new(&key, [head, &[]], &[], tail, out));
                    }
                    jobs.run_with(instructions);
                    for (lane, out) in outs[..count].iter().enumerate() {
                        assert_eq!(out[..algorithm.output_len()], expected[which(lane)]);
                    }
                }
            }
        }
    }
    fn pairs() -> impl Iterator<Item = (usize, usize)> {
        (0..LENGTHS.len()).flat_map(|a| (0..LENGTHS.len()).map(move |b| (a, b)))
    }
}

#[test]
fn a_faulty_lane_is_detected() {
    for instructions in available() {
        assert!(
            self_test::first_that_passes([instructions].into_iter(), run, |_| panic!())
                == instructions
        );
        for (at, kernel) in kernels(instructions).iter().enumerate() {
            for (count, lane) in
                (1..=kernel.max_lanes).flat_map(|count| (0..count).map(move |lane| (count, lane)))
            {
                // A fault is planted in one lane of one kernel, for one number of lanes.
                for of_mac in [false, true] {
                    let wrong = |running: &Kernel, lanes: &mut [Lane], outer: Option<Outer<'_>>| {
                        run(running, lanes, outer);
                        let is_at = ptr::eq(running, &kernels(instructions)[at]);
                        if is_at && lanes.len() == count && outer.is_some() == of_mac {
                            let (word, bit) = ((count + lane) % 8, (7 * lane + count) % 64);
                            lanes[lane].state[word] ^= u64::from(!of_mac) << bit;
                            lanes[lane].block[word][bit / 8] ^= u8::from(of_mac) << (bit % 8);
                        }
                    };
                    let failed = Cell::new(Instructions::NONE);
                    let all = [instructions].into_iter();
                    let passed = self_test::first_that_passes(all, wrong, |each| failed.set(each));
                    assert!(passed == Instructions::NONE, "lane {lane} of {count}, {of_mac}");
                    assert!(failed.get() == instructions, "lane {lane} of {count}, {of_mac}");
                }
            }
        }
    }
}

#[test]
fn faulty_instructions_are_replaced_by_others_or_by_none() {
    let all: Vec<_> = available().collect();
    for count in 0..=all.len() {
        let broken: Vec<_> = all[..count].iter().flat_map(|found| kernels(*found)).collect();
        let wrong = |kernel: &Kernel, lanes: &mut [Lane], outer: Option<Outer<'_>>| {
            run(kernel, lanes, outer);
            if broken.iter().any(|broken| ptr::eq(*broken, kernel)) {
                (lanes[0].state[0], lanes[0].block[0]) = (0, [0; 8]);
            }
        };
        let failed = RefCell::new(Vec::new());
        let passed = self_test::first_that_passes(available(), wrong, |each| {
            failed.borrow_mut().push(each.name());
        });
        assert!(passed == all.get(count).copied().unwrap_or(Instructions::NONE));
        let expected: Vec<_> = all[..count].iter().map(|each| each.name()).collect();
        assert_eq!(*failed.borrow(), expected, "instructions that are not there do not fail");
    }
}

/// Both sides alternate in short rounds, so that a change of the processor's clock affects both.
/// The last column is the number of consecutive blocks that take as long as the kernel.
#[test]
#[ignore = "prints, for `just bench-kernels`"]
fn print_times_of_kernels() {
    let mut context = MaybeUninit::<lc::SHA512_CTX>::uninit();
    let context = context.as_mut_ptr();
    // SAFETY: the call initialises the context, which lives to the end of the function.
    unsafe { lc::SHA512_Init(context) };
    // Ends the line that the test harness has begun.
    println!();
    println!("{:20} {:>10} {:>10} {:>8}", "kernel", "ns", "block ns", "blocks");
    for instructions in available() {
        for kernel in kernels(instructions) {
            let mut lanes = vec![Lane::EMPTY; kernel.max_lanes];
            let (mut kernel_times, mut block_times) = (vec![], vec![]);
            for _ in 0..101 {
                kernel_times.push(time(|| run(kernel, black_box(&mut lanes), None)));
                // SAFETY: the context is initialised; a block has 128 bytes.
                block_times.push(time(|| unsafe {
                    lc::SHA512_Transform(context, black_box(&[0; 128]).as_ptr());
                }));
            }
            let (kernel_time, block_time) = (median(kernel_times), median(block_times));
            let name = format!("{:?}, {} lanes", instructions.name(), kernel.max_lanes);
            let ratio = kernel_time / block_time;
            println!("{name:20} {kernel_time:10.1} {block_time:10.1} {ratio:8.2}");
        }
    }
}

/// The duration of one call in nanoseconds.
fn time(mut action: impl FnMut()) -> f64 {
    const CALLS: u32 = 2000;
    let start = Instant::now();
    for _ in 0..CALLS {
        action();
    }
    start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times[times.len() / 2]
}

/// The test must hold for any way to compile the crate: `tools/stack-residue.sh` runs it in builds
/// of many profiles.
#[cfg(all(target_os = "linux", lanes_avx2))]
#[test]
fn what_is_wiped_is_more_than_a_kernel_uses_of_the_stack() {
    use crate::backend::stack::DEPTH;
    use crate::stack_search::StackSearch;

    let (mut stack, mut most) = (StackSearch::new(), 0);
    for kernel in available().flat_map(kernels) {
        for count in 1..=kernel.max_lanes {
            let (begin, mut lanes) = ([7; 8], vec![random_lane(); count]);
            let states = [&begin; 8];
            for outer in [None, Some(Outer { states: &states[..count], words: 8 })] {
                let depth = stack.depth(|| run(kernel, &mut lanes, outer));
                // The kernel needs at least the vectors of a state and of a schedule.
                assert!(depth > 8 * 4 * (8 + 16), "{depth} bytes are not all that was used");
                most = most.max(depth);
            }
        }
    }
    println!("kernels use up to {most} bytes of the stack; {DEPTH} are wiped");
    // The margin is needed because another compiler may use more stack than this one.
    assert!(most + most / 2 <= DEPTH, "{most} bytes are used");
}

/// A kernel leaves neither its inputs nor its results on the stack: any sixteen consecutive words
/// of a schedule reveal the block.
#[cfg(all(target_os = "linux", lanes_avx2))]
#[test]
fn a_kernel_leaves_neither_schedules_nor_states_on_the_stack() {
    use crate::backend::stack::wipe_after;
    use crate::stack_search::StackSearch;

    /// FIPS 180-4 6.4.2, 1
    fn schedule(block: &[[u8; 8]; 16]) -> Vec<u64> {
        let mut w: Vec<_> = block.map(u64::from_be_bytes).to_vec();
        for t in 16..80 {
            let (near, far) = (w[t - 15], w[t - 2]);
            let near = near.rotate_right(1) ^ near.rotate_right(8) ^ near >> 7;
            let far = far.rotate_right(19) ^ far.rotate_right(61) ^ far >> 6;
            w.push(far.wrapping_add(w[t - 7]).wrapping_add(near).wrapping_add(w[t - 16]));
        }
        w
    }

    let mut stack = StackSearch::new();
    for kernel in available().flat_map(kernels) {
        for count in 1..=kernel.max_lanes {
            let start = Box::new(random_lane());
            let mut made = start.clone();
            sha::compress_512(&mut made.state, &made.block);
            let secrets = [&start.state, &made.state, &schedule(&start.block)[..]].concat();
            let mut lanes = vec![*start; count];
            let left = stack.left(&secrets, || wipe_after(&mut || run(kernel, &mut lanes, None)));
            assert_eq!(left, 0, "{count} of {}", kernel.max_lanes);

            // The lane of the outer hash.
            let mut outer = Box::new(random_lane());
            outer.block = [[0; 8]; 16];
            outer.block[..8].copy_from_slice(&made.state.map(u64::to_be_bytes));
            (outer.block[8][0], outer.block[15]) = (0x80, (8 * (128 + 64_u64)).to_be_bytes());
            let (begin, mut schedule) = (outer.state, schedule(&outer.block));
            schedule.drain(8..16); // padding, which is public
            sha::compress_512(&mut outer.state, &outer.block);
            let secrets = [&begin, &outer.state, &schedule[..]].concat();
            let mut lanes = vec![*start; count];
            let left = stack.left(&secrets, || {
                let states = [&begin; 8];
                let outer = Outer { states: &states[..count], words: 8 };
                wipe_after(&mut || run(kernel, &mut lanes, Some(outer)));
            });
            assert_eq!(left, 0, "the outer hash of {count} of {}", kernel.max_lanes);
        }
    }
}

/// No key, and no hash state derived from one, stays on the stack: the inputs of lanes and spilled
/// vectors are wiped.
#[cfg(all(target_os = "linux", lanes_avx2))]
#[test]
fn nothing_of_a_key_is_left_on_the_stack() {
    use crate::stack_search::{StackSearch, leave, words};

    let mut stack = StackSearch::new();
    let secret: Vec<u8> = (0..48).map(|at| 151_u8.wrapping_mul(at) ^ 0x5a).collect();
    for algorithm in [HashAlgorithm::Sha384, HashAlgorithm::Sha512] {
        let absorb = || HmacKey::batch(algorithm, [&secret[..]; 3]).map(Box::new);
        if in_use() != Instructions::NONE {
            for pad in [0, 0x36, 0x5c] {
                assert_eq!(stack.left(&words(&secret, pad), || drop(absorb())), 0, "{pad:#x}");
            }
        }
        let keys = absorb();
        let states = keys[0].sha512_states().unwrap();
        let mut digest = Box::new(Lane { state: states[0], ..Lane::EMPTY });
        digest.block[..5].fill([7; 8]);
        (digest.block[5][0], digest.block[15]) = (0x80, (8 * (128 + 40_u64)).to_be_bytes());
        sha::compress_512(&mut digest.state, &digest.block);
        let states = states.as_flattened();
        for instructions in available() {
            for count in 2..=MAX_BATCH {
                for secrets in [states, &digest.state[..6]] {
                    let left = stack.left(secrets, || make(instructions, &keys[0], count));
                    assert_eq!(left, 0, "{count} by {:?}", instructions.name());
                }
            }
        }
        // Checks that the search finds a copy that is left deliberately.
        assert_ne!(stack.left(states, || leave(states)), 0);
    }

    #[inline(never)]
    fn make(instructions: Instructions, key: &HmacKey, count: usize) {
        let mut outs = vec![[0; 64]; count];
        let mut jobs = Jobs::new();
        for out in &mut outs {
            let out = &mut out[..key.algorithm().output_len()];
            jobs.push(Job::new(key, [&[7; 40], &[]], &[], &[], out));
        }
        jobs.run_with(instructions);
    }
}
