//! Whether lanes compute what AWS-LC computes, here and now.
//!
//! What it is for: one answer a process, before any lane is used. A processor, an emulator or a compiler that gets a vector
//! instruction wrong costs speed then, and not a secret. What it must not know: what lanes are used for. Where to look next:
//! `rounds.rs` for what is tested.

use super::{Instructions, Kernel, Lane, Outer, kernels, one_by_one};
use crate::backend::memory;

/// The first instructions of which each kernel is right in each lane, with each number of lanes; none, if none are.
///
/// `run` is how a kernel is run. Tests have it err.
pub(super) fn first_that_passes(
    available: impl Iterator<Item = Instructions>,
    run: impl Fn(&Kernel, &mut [Lane], Option<Outer<'_>>),
) -> Instructions {
    // Two inputs: one that is the same in each process, one that nobody could choose.
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
        (1..=kernel.most).all(|count| {
            [&known, &unknown].into_iter().all(|start| agrees(kernel, &start[..count], &run))
        })
    };
    let mut right = available.filter(|found| kernels(*found).iter().all(is_right));
    right.next().filter(|_| is_drawn).unwrap_or(Instructions::NONE)
}

/// The most lanes of any kernel.
const MOST: usize = 8;

/// Blocks in a row, so that what comes out goes in again.
const BLOCKS: usize = 3;

/// Whether a kernel gives each lane what AWS-LC's compression function gives it, and with an outer hash behind it.
fn agrees(
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
        one_by_one(expected, outer);
        run(kernel, lanes, outer);
        // With an outer hash it is the MAC that counts.
        (lanes.iter().zip(expected)).all(|(lane, expected)| match outer {
            Some(_) => lane.block[..8] == expected.block[..8],
            None => lane.state == expected.state && lane.block == expected.block,
        })
    };
    let states: [_; MOST] =
        core::array::from_fn(|at| &start[start.len() - 1 - at % start.len()].state);
    (0..BLOCKS).all(|_| {
        // The block is made of the state, differently in each place.
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
