//! What is left on the stack, for tests.
//!
//! What it is for: looking for secrets below the frame of whoever calls, where functions that have returned had theirs. In an
//! optimised build only: others move every value through the stack. What it must not know: whose secrets they are. Where to look
//! next: `tools/stack-residue.sh`, which runs these tests in builds of many profiles; `crates/tls/tests/residue.rs` for all other
//! memory.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::ptr;

pub(crate) struct StackSearch {
    memory: File,
    below: Vec<u8>,
}

impl StackSearch {
    pub(crate) fn new() -> Self {
        Self { memory: File::open("/proc/self/mem").unwrap(), below: vec![0; DEPTH] }
    }

    /// How many of these words `work` leaves on the stack.
    pub(crate) fn left(&mut self, words: &[u64], work: impl FnOnce()) -> usize {
        // Not what the test itself has left there.
        clear();
        work();
        self.found(words)
    }

    /// How many bytes of the stack `work` uses.
    #[cfg(lanes_avx2)]
    pub(crate) fn depth(&mut self, work: impl FnOnce()) -> usize {
        paint();
        work();
        self.used()
    }

    /// How much of the stack below this frame is not as it was painted.
    #[cfg(lanes_avx2)]
    #[inline(never)]
    fn used(&mut self) -> usize {
        let here = ptr::from_ref(&self).addr();
        self.memory.read_exact_at(&mut self.below, (here - DEPTH) as u64).unwrap();
        // The lowest bytes may lie below what was painted, as the frame that did that began lower.
        let painted = self.below.iter().skip_while(|byte| **byte != PAINT);
        painted.skip_while(|byte| **byte == PAINT).count()
    }

    /// How many of these words lie in the stack below this frame.
    #[inline(never)]
    fn found(&mut self, words: &[u64]) -> usize {
        let here = ptr::from_ref(&words).addr();
        self.memory.read_exact_at(&mut self.below, (here - DEPTH) as u64).unwrap();
        let lies = |word: &u64| {
            self.below.chunks_exact(8).any(|bytes| {
                [word.to_ne_bytes(), word.swap_bytes().to_ne_bytes()]
                    .contains(&bytes.try_into().unwrap())
            })
        };
        words.iter().filter(|word| lies(word)).count()
    }
}

#[inline(never)]
fn clear() {
    std::hint::black_box(&mut [0_u8; DEPTH]);
}

#[cfg(lanes_avx2)]
#[inline(never)]
fn paint() {
    std::hint::black_box(&mut [PAINT; DEPTH]);
}

#[cfg(lanes_avx2)]
const PAINT: u8 = 0xa7;

/// The words of some bytes under this pad, most significant byte first.
pub(crate) fn words(bytes: &[u8], pad: u8) -> Vec<u64> {
    let word = |word: &[u8]| word.iter().fold(0, |all, byte| all << 8 | u64::from(byte ^ pad));
    bytes.chunks_exact(8).map(word).collect()
}

/// Leaves words on the stack, which are to be found.
#[inline(never)]
pub(crate) fn leave(words: &[u64]) {
    let mut room = [0; 512];
    room[..words.len()].copy_from_slice(words);
    std::hint::black_box(&mut room);
}

/// Deeper than any of our functions goes, and far less than a thread has.
const DEPTH: usize = 64 * 1024;
