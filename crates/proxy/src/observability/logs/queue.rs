//! The queue between the threads that log and the thread that writes.
//!
//! A thread that logs does not wait for standard error. A full disk, a reader that has ended and a
//! reader that does not read cost log lines, which are counted, and have no other effect.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tercel_crypto::lock::{Mutex, MutexGuard};
use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;

/// The maximum size of all lines that wait.
const CAPACITY: usize = 1 << 20;

/// The part of the capacity that lines of the levels `info` and below can use, so that they do not
/// displace warnings and errors.
const CAPACITY_FOR_INFO: usize = CAPACITY / 4 * 3;

/// A buffer above this size is freed when its lines are written.
const KEPT_BUFFER: usize = 16 * 1024;

/// How long to wait before a write is repeated that would block.
const WOULD_BLOCK_PAUSE: Duration = Duration::from_millis(10);

/// Lines that wait to be written.
#[derive(Debug, Default)]
pub(super) struct LogQueue {
    state: Mutex<State>,
    /// Notified when a line is added, and when all lines are written.
    changed: Condvar,
    /// The number of lines that were not written, because the queue was full or a write failed.
    dropped: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    /// Whole lines.
    lines: Vec<u8>,
    /// Whether the thread is writing lines that it has taken.
    writing: bool,
}

impl LogQueue {
    /// Starts the thread that writes to `output`.
    pub(super) fn start(
        output: impl Write + Send + 'static,
    ) -> io::Result<(Arc<Self>, JoinHandle<()>)> {
        let queue = Arc::<Self>::default();
        let writer = Arc::clone(&queue);
        let thread = std::thread::Builder::new().name("log".to_owned());
        let thread = thread.spawn(move || writer.write_to(output))?;
        Ok((queue, thread))
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Waits until all lines are written, for at most `limit`.
    pub(super) fn flush(&self, limit: Duration) {
        let busy = |state: &mut State| state.writing || !state.lines.is_empty();
        let _ = self.changed.wait_timeout_while(self.state(), limit, busy);
    }

    /// Adds a line, or drops it if there is no room.
    fn push(&self, line: &[u8], capacity: usize) {
        let mut state = self.state();
        if state.lines.len().saturating_add(line.len()) > capacity {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        state.lines.extend_from_slice(line);
        drop(state);
        self.changed.notify_all();
    }

    fn write_to(&self, mut output: impl Write) {
        let (mut reported, mut in_line) = (0, false);
        loop {
            let lines = self.take();
            let rest = write(&mut output, &lines, &mut in_line);
            let lost = rest.iter().filter(|byte| **byte == b'\n').count();
            self.dropped.fetch_add(u64::try_from(lost).unwrap_or(u64::MAX), Ordering::Relaxed);
            let dropped = self.dropped();
            if rest.is_empty() && dropped > reported {
                let lines = dropped.saturating_sub(reported);
                reported = dropped;
                tracing::warn!(lines, "log lines were dropped");
            }
            self.finish(lines);
        }
    }

    /// Waits for lines and takes all of them.
    fn take(&self) -> Vec<u8> {
        let waiting = self.changed.wait_while(self.state(), |state| state.lines.is_empty());
        let mut state = waiting.unwrap_or_else(PoisonError::into_inner);
        state.writing = true;
        std::mem::take(&mut state.lines)
    }

    /// Marks the taken lines as written, and keeps their buffer for further lines.
    fn finish(&self, mut buffer: Vec<u8>) {
        let mut state = self.state();
        state.writing = false;
        if state.lines.is_empty() && buffer.capacity() <= KEPT_BUFFER {
            buffer.clear();
            state.lines = buffer;
        }
        drop(state);
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes lines, and returns those that could not be written. `in_line`: whether the output
/// ends within a line, which is then ended first.
fn write<'a>(output: &mut impl Write, lines: &'a [u8], in_line: &mut bool) -> &'a [u8] {
    if *in_line && !write_all(output, b"\n").is_empty() {
        return lines;
    }
    let rest = write_all(output, lines);
    let written = lines.len().saturating_sub(rest.len());
    let last = lines.get(..written).and_then(|written| written.last());
    *in_line = last.is_some_and(|last| *last != b'\n');
    rest
}

/// Writes until a write fails, and returns the rest.
fn write_all<'a>(output: &mut impl Write, mut rest: &'a [u8]) -> &'a [u8] {
    while !rest.is_empty() {
        match output.write(rest) {
            Ok(0) => break,
            Ok(count) => rest = rest.get(count..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // Another process may have set the file to nonblocking mode.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                std::thread::sleep(WOULD_BLOCK_PAUSE);
            }
            Err(_) => break,
        }
    }
    rest
}

/// Adds lines to the queue. The formatter writes each line with one call.
#[derive(Debug)]
pub(super) struct LineWriter<'a> {
    queue: &'a LogQueue,
    capacity: usize,
}

/// Makes [`LineWriter`]s.
#[derive(Debug)]
pub(super) struct QueueWriter(pub(super) Arc<LogQueue>);

impl<'a> MakeWriter<'a> for QueueWriter {
    type Writer = LineWriter<'a>;

    fn make_writer(&'a self) -> LineWriter<'a> {
        LineWriter { queue: &self.0, capacity: CAPACITY_FOR_INFO }
    }

    fn make_writer_for(&'a self, event: &Metadata<'_>) -> LineWriter<'a> {
        let is_urgent = *event.level() <= Level::WARN;
        let capacity = if is_urgent { CAPACITY } else { CAPACITY_FOR_INFO };
        LineWriter { queue: &self.0, capacity }
    }
}

impl Write for LineWriter<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.queue.push(line, self.capacity);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    /// An output of which each write is answered by the test.
    struct Answered {
        written: mpsc::Sender<Vec<u8>>,
        answers: mpsc::Receiver<io::Result<usize>>,
    }

    impl Write for Answered {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.written.send(bytes.to_vec());
            let answer = self.answers.recv().unwrap_or(Ok(bytes.len()))?;
            Ok(answer.min(bytes.len()))
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    type Ends = (Arc<LogQueue>, mpsc::Sender<io::Result<usize>>, mpsc::Receiver<Vec<u8>>);

    fn answered() -> Ends {
        let ((written, writes), (answer, answers)) = (mpsc::channel(), mpsc::channel());
        let (queue, _) = LogQueue::start(Answered { written, answers }).unwrap();
        (queue, answer, writes)
    }

    #[test]
    fn lines_wait_while_the_output_blocks_and_are_dropped_when_there_is_no_room() {
        let (queue, answer, writes) = answered();
        queue.push(b"first\n", CAPACITY);
        assert_eq!(writes.recv_timeout(LIMIT).unwrap(), b"first\n");
        // The thread waits within the write.
        let line = [b'x'; 1023];
        let line = [&line, b"\n".as_slice()].concat();
        let info = || queue.push(&line, CAPACITY_FOR_INFO);
        (0..CAPACITY_FOR_INFO / line.len()).for_each(|_| info());
        assert_eq!(queue.dropped(), 0);
        info();
        assert_eq!(queue.dropped(), 1, "no room for information");
        queue.push(b"error\n", CAPACITY);
        assert_eq!(queue.dropped(), 1, "room for an error");
        queue.flush(Duration::ZERO);
        answer.send(Ok(usize::MAX)).unwrap();
        let second = writes.recv_timeout(LIMIT).unwrap();
        assert!(second.len() == CAPACITY_FOR_INFO + 6 && second.ends_with(b"error\n"));
        drop(answer);
        queue.flush(LIMIT);
        assert!(queue.state().lines.is_empty());
    }

    #[test]
    fn failed_writes_cost_their_lines_and_a_broken_line_is_ended() {
        let (queue, answer, writes) = answered();
        let next = || String::from_utf8(writes.recv_timeout(LIMIT).unwrap()).unwrap();
        let push = |lines: &[u8]| {
            queue.flush(LIMIT);
            queue.push(lines, CAPACITY);
        };
        let full = || Err(io::ErrorKind::StorageFull.into());
        push(b"one\ntwo\nthree\n");
        assert_eq!(next(), "one\ntwo\nthree\n");
        answer.send(Ok(5)).unwrap();
        assert_eq!(next(), "wo\nthree\n");
        answer.send(full()).unwrap();
        push(b"four\n");
        assert_eq!(next(), "\n", "ends the line that begins with t");
        answer.send(full()).unwrap();
        push(b"five\n");
        assert_eq!(queue.dropped(), 3, "two, three, four");
        assert_eq!(next(), "\n");
        answer.send(Ok(1)).unwrap();
        assert_eq!(next(), "five\n");
        for kind in [io::ErrorKind::Interrupted, io::ErrorKind::WouldBlock] {
            answer.send(Err(kind.into())).unwrap();
            assert_eq!(next(), "five\n", "repeated");
        }
        answer.send(Ok(5)).unwrap();
        queue.flush(LIMIT);
        assert_eq!(queue.dropped(), 3);
    }
}
