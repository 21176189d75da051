//! A self-test that compares lanes with AWS-LC at run time.
//!
//! The test runs once in a process, before any lane is used. If a processor, an emulator or a
//! compiler implements a vector instruction wrongly, lanes are not used: the cost is speed, and no
//! secret leaks. See `rounds.rs` for the tested code.

use super::{Instructions, Kernel, Lane, Outer, compress_singly, kernels};
use crate::backend::memory;

/// The first instructions whose kernels give correct results in each lane, for each number of
/// lanes; otherwise none.
///
/// `run` runs a kernel; tests pass a function that injects faults. `failed` is called with the
/// instructions that give wrong results.
pub(super) fn first_that_passes(
    available: impl Iterator<Item = Instructions>,
    run: impl Fn(&Kernel, &mut [Lane], Option<Outer<'_>>),
    failed: impl Fn(Instructions),
) -> Instructions {
    // The inputs are fixed values and random values.
    let mut known = [Lane::EMPTY; MOST];
    for (index, lane) in (1..).zip(&mut known) {
        lane.state = core::array::from_fn(|t| (u64::MAX / index) >> t);
    }
    let mut unknown = [Lane::EMPTY; MOST];
    let mut bytes = [[[0; 8]; 8]; MOST];
    let is_drawn = memory::fill_random(bytes.as_flattened_mut().as_flattened_mut()).is_ok();
    for (lane, bytes) in unknown.iter_mut().zip(bytes) {
        lane.state = bytes.map(u64::from_ne_bytes);
    }
    let is_right = |kernel: &Kernel| {
        (1..=kernel.max_lanes).all(|count| {
            [&known, &unknown]
                .into_iter()
                .all(|start| matches_aws_lc(kernel, &start[..count], &run))
        })
    };
    let mut right = available.filter(|found| {
        let is_right = kernels(*found).iter().all(is_right);
        if !is_right {
            failed(*found);
        }
        is_right
    });
    right.next().filter(|_| is_drawn).unwrap_or(Instructions::NONE)
}

/// The maximum number of lanes of any kernel.
const MOST: usize = 8;

/// The number of consecutive blocks, each starting from the previous result.
const BLOCKS: usize = 3;

/// Whether a kernel gives the same results as AWS-LC's compression function in each lane, with and
/// without an outer hash.
fn matches_aws_lc(
    kernel: &Kernel,
    start: &[Lane],
    run: impl Fn(&Kernel, &mut [Lane], Option<Outer<'_>>),
) -> bool {
    let mut lanes = [Lane::EMPTY; MOST];
    let lanes = &mut lanes[..start.len()];
    lanes.copy_from_slice(start);
    let gives_the_same = |lanes: &mut [Lane], outer| {
        let mut expected = [Lane::EMPTY; MOST];
        let expected = &mut expected[..lanes.len()];
        expected.copy_from_slice(lanes);
        compress_singly(expected, outer);
        run(kernel, lanes, outer);
        // With an outer hash only the MAC is compared.
        (lanes.iter().zip(expected)).all(|(lane, expected)| match outer {
            Some(_) => lane.block[..8] == expected.block[..8],
            None => lane.state == expected.state && lane.block == expected.block,
        })
    };
    let states: [_; MOST] =
        core::array::from_fn(|at| &start[start.len() - 1 - at % start.len()].state);
    (0..BLOCKS).all(|_| {
        // The block is derived from the state, differently for each word.
        for lane in lanes.iter_mut() {
            let state = lane.state;
            for (at, word) in (0..).zip(&mut lane.block) {
                *word = state[at % 8].wrapping_mul(2 * at as u64 + 1).to_be_bytes();
            }
        }
        let macs_are_the_same = [6, 8].into_iter().all(|words| {
            let mut copies = [Lane::EMPTY; MOST];
            let copies = &mut copies[..lanes.len()];
            copies.copy_from_slice(lanes);
            gives_the_same(copies, Some(Outer { states: &states[..lanes.len()], words }))
        });
        macs_are_the_same && gives_the_same(lanes, None)
    })
}
