//! Models of a reader and a writer that wait for one transport, in every interleaving: `just loom`.

use std::task::Wake;

use loom::sync::{Mutex, Notify};
use loom::thread;

use super::*;

/// A transport with a limited buffer, which wakes only the task that waited last.
#[derive(Default)]
struct Pipe {
    room: usize,
    waiting: Option<Waker>,
}

struct Handle(Arc<Mutex<Pipe>>);

impl AsyncWrite for Handle {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut pipe = self.0.lock().unwrap();
        if pipe.room == 0 {
            pipe.waiting = Some(context.waker().clone());
            return Poll::Pending;
        }
        let taken = pipe.room.min(bytes.len());
        pipe.room -= taken;
        Poll::Ready(Ok(taken))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Reads some bytes at the other end.
fn make_room(pipe: &Mutex<Pipe>, room: usize) {
    let mut pipe = pipe.lock().unwrap();
    pipe.room += room;
    let waiting = pipe.waiting.take();
    drop(pipe);
    waiting.into_iter().for_each(Waker::wake);
}

/// A stream that a reader and a writer use in turn, like the halves of [`tokio::io::split`].
#[derive(Clone)]
struct Stream(Arc<Mutex<(Outgoing, Handle)>>);

impl Stream {
    /// A stream with two bytes to send.
    fn new(pipe: &Arc<Mutex<Pipe>>) -> Self {
        let mut outgoing = Outgoing::default();
        outgoing.push(&mut vec![1, 2]);
        Self(Arc::new(Mutex::new((outgoing, Handle(Arc::clone(pipe))))))
    }

    fn poll(&self, side: usize, waker: &Waker) -> Poll<io::Result<()>> {
        let mut both = self.0.lock().unwrap();
        let (outgoing, transport) = &mut *both;
        let mut context = Context::from_waker(waker);
        outgoing
            .poll_for(side, &mut context, |this, context| this.poll_send_for(transport, context))
    }

    /// Waits until everything is sent, as a task does: it polls again only if it was woken.
    fn finish(&self, side: usize) {
        let task = Arc::new(Task::default());
        let waker = Waker::from(Arc::clone(&task));
        while self.poll(side, &waker).is_pending() {
            task.0.wait();
        }
    }
}

#[derive(Default)]
struct Task(Notify);

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.0.notify();
    }
}

/// Runs a model. With three threads only the interleavings with few preemptions can be checked.
fn model(run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(run);
}

#[test]
fn a_reader_and_a_writer_are_both_woken() {
    model(|| {
        let pipe = Arc::default();
        let stream = Stream::new(&pipe);
        let reader = thread::spawn({
            let stream = stream.clone();
            move || stream.finish(READER)
        });
        let peer = thread::spawn(move || {
            make_room(&pipe, 2);
        });
        stream.finish(WRITER);
        reader.join().unwrap();
        peer.join().unwrap();
    });
}

/// A task is dropped, for example, if another branch of a `select` completes first. Its waker then
/// wakes no task.
#[test]
fn a_waiting_task_is_woken_also_if_the_other_was_dropped() {
    for (stays, goes) in [(WRITER, READER), (READER, WRITER)] {
        model(move || {
            let pipe = Arc::default();
            let stream = Stream::new(&pipe);
            let gone = thread::spawn({
                let stream = stream.clone();
                move || drop(stream.poll(goes, &Waker::from(Arc::new(Task::default()))))
            });
            let peer = thread::spawn(move || make_room(&pipe, 2));
            stream.finish(stays);
            gone.join().unwrap();
            peer.join().unwrap();
        });
    }
}
