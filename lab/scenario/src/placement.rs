//! Where a process's memory lies, drawn anew for each process.
//!
//! The system moves whole pages about, but within its pages a program allocates the same at the same place
//! each time, and how fast it is depends on that: whether a key's numbers share lines of the cache with
//! each other, or the low bits of an address with something else that is used at the same time. So before a worker
//! reads its keys it takes blocks of all sizes, as many of each as the controller's number says, and never
//! gives them back: what it allocates later lies behind them.

use std::hint::black_box;
use std::sync::OnceLock;

use crate::random::Random;

/// Sizes of a block: four for each power of two, as allocators divide them, up to where they hand out whole pages.
const SIZES: std::ops::RangeInclusive<u32> = 4..=14;

/// All blocks of a size fill so many bytes at most: a page. They are [`FEW`] at most if fewer would fill it.
const PAGE: usize = 4096;

/// Of each size at least up to so many blocks, less one.
const FEW: usize = 4;

/// The number of this process, for its threads.
static NUMBER: OnceLock<u64> = OnceLock::new();

/// Takes the blocks of this number, and remembers it for [`of_thread`].
pub(crate) fn of_process(number: u64) {
    // A process is told once; if it is told again, threads stay with the first.
    let _ = NUMBER.set(number);
    take(&mut Random::new(number));
}

/// Takes blocks in a thread: allocators give threads memory of their own. Without [`of_process`], none.
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

/// How many blocks of each size are taken, in the order in which they are.
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
            // Too little to matter for a process that is measured.
            assert!(all.iter().map(|(size, count)| size * count).sum::<usize>() < 640 << 10);
            all.into_iter()
                .for_each(|(size, count)| _ = counts.entry(size).or_default().insert(count));
        }
        for (size, counts) in counts {
            // Every shift within a page comes about.
            let all = (PAGE / size).max(FEW);
            assert_eq!(counts, (0..all).collect(), "{size}");
        }
    }
}
