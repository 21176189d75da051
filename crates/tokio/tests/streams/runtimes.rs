//! Runtimes without timers, and executors that are not tokio's: an error in place of a panic.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use tercel_tokio::{AcceptFailure, Acceptor, Connector, HandshakeError, Listen, TlsListener};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::runtime::Builder;

use crate::support::{client, name, server};

/// Runs a future outside of tokio, whose transports are in memory.
fn run_alone<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..100_000 {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
    panic!("the future has not ended");
}

/// Runs a future in a runtime without timers.
fn run_without_timers<F: Future>(future: F) -> F::Output {
    Builder::new_current_thread().build().unwrap().block_on(future)
}

fn check_no_timer<T>(result: io::Result<T>) {
    let Err(error) = result else { panic!("a handshake with a time limit was run") };
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<HandshakeError>());
    assert!(matches!(inner, Some(HandshakeError::NoTimer)), "{error}");
    assert!(error.to_string().contains("enable_time"), "{error}");
}

async fn handshakes_with_a_limit() {
    let (near, far) = duplex(1 << 16);
    check_no_timer(Connector::new(client().build().unwrap()).connect(name(), near).await);
    check_no_timer(Acceptor::new(server().build().unwrap()).accept(far).await);
}

async fn exchange_without_a_limit() {
    let (near, far) = duplex(1 << 16);
    let connector = Connector::new(client().build().unwrap()).time_limit(None);
    let acceptor = Acceptor::new(server().build().unwrap()).time_limit(None);
    let (near, far) = tokio::join!(connector.connect(name(), near), acceptor.accept(far));
    let (mut near, mut far) = (near.unwrap(), far.unwrap());
    let sending = async {
        near.write_all(b"data").await?;
        near.close().await
    };
    let receiving = async {
        let mut data = Vec::new();
        far.read_to_end(&mut data).await?;
        far.close().await.map(|()| data)
    };
    let (sent, received) = tokio::join!(sending, receiving);
    sent.unwrap();
    assert_eq!(received.unwrap(), b"data");
}

#[test]
fn a_time_limit_without_timers_is_an_error() {
    run_without_timers(handshakes_with_a_limit());
    run_alone(handshakes_with_a_limit());
}

#[test]
fn streams_without_a_limit_run_in_every_executor() {
    run_without_timers(exchange_without_a_limit());
    run_alone(exchange_without_a_limit());
}

/// A source that first fails, and then yields one transport.
struct Source(Vec<io::Result<DuplexStream>>);

impl Listen for Source {
    type Transport = DuplexStream;
    type Address = ();

    fn poll_accept(&mut self, _: &mut Context<'_>) -> Poll<io::Result<(DuplexStream, ())>> {
        match self.0.pop() {
            Some(next) => Poll::Ready(next.map(|transport| (transport, ()))),
            None => Poll::Pending,
        }
    }
}

/// Polls a listener until it has reported two failures, and returns the second one.
async fn failure_of_a_listener() -> HandshakeError {
    let (_near, far) = duplex(1 << 16);
    let source = Source(vec![Ok(far), Err(io::ErrorKind::OutOfMemory.into())]);
    let failures = Arc::new(Mutex::new(Vec::new()));
    let reported = Arc::clone(&failures);
    let mut listener = TlsListener::new(source, Acceptor::new(server().build().unwrap()))
        .on_failure(move |failure| reported.lock().unwrap().push(failure));
    poll_fn(|context| match listener.poll_accept(context) {
        Poll::Ready(_) => panic!("a connection was accepted"),
        Poll::Pending if failures.lock().unwrap().len() < 2 => Poll::Pending,
        Poll::Pending => Poll::Ready(()),
    })
    .await;
    let mut failures = std::mem::take(&mut *failures.lock().unwrap());
    let (last, first) = (failures.pop(), failures.pop());
    let (Some(AcceptFailure::Accept { .. }), Some(AcceptFailure::Handshake { error, .. })) =
        (first, last)
    else {
        panic!("other failures");
    };
    *error.into_inner().unwrap().downcast().unwrap()
}

#[test]
fn a_listener_reports_what_the_runtime_lacks() {
    let failure = run_without_timers(failure_of_a_listener());
    assert!(matches!(failure, HandshakeError::NoTimer), "{failure}");
    let failure = run_alone(failure_of_a_listener());
    assert!(matches!(failure, HandshakeError::NoRuntime), "{failure}");
}
