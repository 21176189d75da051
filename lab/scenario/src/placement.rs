//! Memory placement: randomizes the addresses of a process's allocations.
//!
//! Address space randomization moves whole pages. Within pages, a program allocates at the same
//! addresses in each process, which affects its speed: values may share cache lines, or have the
//! same low address bits as other values. So before a worker reads its keys it allocates blocks of
//! all sizes, in numbers derived from the controller's placement number, and never frees them.
//! Later allocations follow these blocks.

use std::hint::black_box;
use std::sync::OnceLock;

use crate::random::Random;

/// Block sizes: four per power of two, like the size classes of allocators, up to the sizes that
/// get whole pages.
const SIZES: std::ops::RangeInclusive<u32> = 4..=14;

/// The blocks of one size fill at most a page, or are at most [`FEW`] blocks if these are larger.
const PAGE: usize = 4096;

/// The limit of the number of large blocks.
const FEW: usize = 4;

/// The placement number of this process, for its threads.
static NUMBER: OnceLock<u64> = OnceLock::new();

/// Allocates the blocks for this number, and stores the number for [`of_thread`].
pub(crate) fn of_process(number: u64) {
    // Only the first placement of a process applies to its threads.
    let _ = NUMBER.set(number);
    take(&mut Random::new(number));
}

/// Allocates blocks in a thread, because allocators use separate memory for threads. Does nothing
/// without [`of_process`].
pub(crate) fn of_thread(index: usize) {
    if let Some(number) = NUMBER.get() {
        take(&mut Random::named(*number, &format!("thread {index}")));
    }
}

fn take(random: &mut Random) {
    for (size, count) in blocks(random) {
        for _ in 0..count {
            black_box(Vec::<u8>::with_capacity(size).leak());
        }
    }
}

/// The number of blocks of each size, in the order of allocation.
fn blocks(random: &mut Random) -> Vec<(usize, usize)> {
    let quarters = |power: u32| (4..8).map(move |quarter| (1_usize << power) * quarter / 4);
    let mut blocks: Vec<_> =
        SIZES.flat_map(quarters).map(|size| (size, random.below((PAGE / size).max(FEW)))).collect();
    random.shuffle(&mut blocks);
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_decides_how_many_blocks_there_are() {
        let of = |number| blocks(&mut Random::new(number));
        assert_eq!(of(1), of(1));
        let mut counts = std::collections::HashMap::<_, std::collections::HashSet<_>>::new();
        for number in 0..4000 {
            let all = of(number);
            assert_eq!(all.len(), 44);
            // This amount is too small to affect a measured process.
            assert!(all.iter().map(|(size, count)| size * count).sum::<usize>() < 640 << 10);
            all.into_iter()
                .for_each(|(size, count)| _ = counts.entry(size).or_default().insert(count));
        }
        for (size, counts) in counts {
            // Every offset within a page occurs.
            let all = (PAGE / size).max(FEW);
            assert_eq!(counts, (0..all).collect(), "{size}");
        }
    }
}
