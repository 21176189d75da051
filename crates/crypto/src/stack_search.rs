//! Search for secrets left on the stack, for tests.
//!
//! The search covers the stack below the caller's frame, where the frames of returned functions
//! were. It works only in optimised builds, because other builds move every value through the
//! stack. See `tools/stack-residue.sh`, which runs these tests in builds of many profiles, and
//! `crates/tls/tests/residue.rs` for all other memory.

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

    /// The number of these words that `work` leaves on the stack.
    pub(crate) fn left(&mut self, words: &[u64], work: impl FnOnce()) -> usize {
        // Excludes the words that the test itself has left.
        clear();
        work();
        self.found(words)
    }

    /// What `work` leaves on the stack. Calls from the same place can be compared byte by byte.
    #[cfg(kernel_rsa)]
    pub(crate) fn remains(&mut self, work: impl FnOnce()) -> Vec<u8> {
        clear();
        work();
        self.read();
        self.below.clone()
    }

    #[cfg(kernel_rsa)]
    #[inline(never)]
    fn read(&mut self) {
        let here = ptr::from_ref(&self).addr();
        self.memory.read_exact_at(&mut self.below, (here - DEPTH) as u64).unwrap();
    }

    /// The number of stack bytes that `work` uses.
    #[cfg(any(lanes_avx2, lanes_large_frames))]
    pub(crate) fn depth(&mut self, work: impl FnOnce()) -> usize {
        paint();
        work();
        self.used()
    }

    /// The number of bytes below this frame that differ from the painted pattern.
    #[cfg(any(lanes_avx2, lanes_large_frames))]
    #[inline(never)]
    fn used(&mut self) -> usize {
        let here = ptr::from_ref(&self).addr();
        self.memory.read_exact_at(&mut self.below, (here - DEPTH) as u64).unwrap();
        // The lowest bytes may lie below the painted area, because the frame of `paint` began
        // lower. A single byte may have the painted value by chance, so the area is taken to begin
        // with `RUN` bytes of this value.
        let unpainted = self.below.windows(RUN).position(|run| run.iter().all(|b| *b == PAINT));
        let painted = self.below.iter().skip(unpainted.unwrap_or_default());
        painted.skip_while(|byte| **byte == PAINT).count()
    }

    /// The number of these words in the stack below this frame.
    #[inline(never)]
    fn found(&mut self, words: &[u64]) -> usize {
        let here = ptr::from_ref(&words).addr();
        self.memory.read_exact_at(&mut self.below, (here - DEPTH) as u64).unwrap();
        let is_searched = |word: &u64| {
            self.below.chunks_exact(8).any(|bytes| {
                [word.to_ne_bytes(), word.swap_bytes().to_ne_bytes()]
                    .contains(&bytes.try_into().unwrap())
            })
        };
        words.iter().filter(|word| is_searched(word)).count()
    }
}

#[inline(never)]
fn clear() {
    std::hint::black_box(&mut [0_u8; DEPTH]);
}

#[cfg(any(lanes_avx2, lanes_large_frames))]
#[inline(never)]
fn paint() {
    std::hint::black_box(&mut [PAINT; DEPTH]);
}

#[cfg(any(lanes_avx2, lanes_large_frames))]
const PAINT: u8 = 0xa7;

/// The number of adjacent bytes that do not all have the painted value by chance.
#[cfg(any(lanes_avx2, lanes_large_frames))]
const RUN: usize = 16;

/// The words of these bytes after XOR with `pad`, most significant byte first.
pub(crate) fn words(bytes: &[u8], pad: u8) -> Vec<u64> {
    let word = |word: &[u8]| word.iter().fold(0, |all, byte| all << 8 | u64::from(byte ^ pad));
    bytes.chunks_exact(8).map(word).collect()
}

/// Leaves words on the stack, for the search to find.
#[inline(never)]
pub(crate) fn leave(words: &[u64]) {
    let mut room = [0; 512];
    room[..words.len()].copy_from_slice(words);
    std::hint::black_box(&mut room);
}

/// The size of the searched area: deeper than any function of this crate, and far smaller than the
/// stack of a thread.
const DEPTH: usize = 64 * 1024;
