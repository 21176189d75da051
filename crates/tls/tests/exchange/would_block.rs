//! Streams over non-blocking transports.
//!
//! Tests `Handshake::complete`, `Read` and `Write` if any call of the transport may return
//! `WouldBlock`, and other calls accept few bytes.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::rc::Rc;
use std::sync::Arc;

use tercel::wire::ProtocolVersion;
use tercel::{ClientConfig, Error, Handshake, ServerConfig, Stream, server::ClientAuth};

use crate::fixtures::{Kind, NAME, client, credential, roots, server};

const BOTH_VERSIONS: [ProtocolVersion; 2] = [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2];

/// Bytes in transit in one direction.
type Pipe = Rc<RefCell<VecDeque<u8>>>;

/// The calls of a transport that return `WouldBlock`.
#[derive(Clone, Copy, Debug)]
enum Blocks {
    /// Every second call.
    EveryOther,
    /// This call only.
    At(usize),
}

/// One end of a transport. As with a socket, a shared reference suffices to read and write.
#[derive(Debug)]
struct End {
    from: Pipe,
    to: Pipe,
    blocks: Blocks,
    /// The largest number of bytes that a call transfers.
    most: usize,
    calls: Cell<usize>,
    blocked: Cell<usize>,
}

/// Both ends of a transport.
fn ends(blocks: [Blocks; 2], most: usize) -> [End; 2] {
    let (up, down) = (Pipe::default(), Pipe::default());
    let end = |from: &Pipe, to: &Pipe, blocks| End {
        from: Rc::clone(from),
        to: Rc::clone(to),
        blocks,
        most,
        calls: Cell::new(0),
        blocked: Cell::new(0),
    };
    [end(&down, &up, blocks[0]), end(&up, &down, blocks[1])]
}

impl End {
    fn call(&self) -> io::Result<()> {
        let call = self.calls.replace(self.calls.get() + 1);
        let blocks = match self.blocks {
            Blocks::EveryOther => call % 2 == 0,
            Blocks::At(at) => call == at,
        };
        if blocks {
            self.blocked.set(self.blocked.get() + 1);
            return Err(ErrorKind::WouldBlock.into());
        }
        Ok(())
    }
}

impl Read for &End {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.call()?;
        let count = out.len().min(self.most);
        match self.from.borrow_mut().read(&mut out[..count])? {
            0 => Err(ErrorKind::WouldBlock.into()),
            count => Ok(count),
        }
    }
}

impl Write for &End {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.call()?;
        self.to.borrow_mut().write(&bytes[..bytes.len().min(self.most)])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.call()
    }
}

/// Returns the result, or `None` if it is `WouldBlock`.
fn unless_it_blocks<T>(result: io::Result<T>) -> Option<io::Result<T>> {
    match result {
        Err(error) if error.kind() == ErrorKind::WouldBlock => None,
        other => Some(other),
    }
}

type Outcome<'e> = io::Result<Stream<&'e End>>;

/// Runs two handshakes in turn until both have completed.
fn run_handshakes<'e>(
    [near, far]: [&'e End; 2],
    client: &Arc<ClientConfig>,
    server: &Arc<ServerConfig>,
) -> [Outcome<'e>; 2] {
    let mut ours = Handshake::client(Arc::clone(client), NAME.try_into().unwrap());
    let mut theirs = Handshake::server(Arc::clone(server));
    let (mut at_client, mut at_server) = (None, None);
    for _ in 0..1_000_000 {
        if at_client.is_none() {
            at_client = unless_it_blocks(ours.complete(near));
        }
        if at_server.is_none() {
            at_server = unless_it_blocks(theirs.complete(far));
        }
        match (at_client, at_server) {
            (Some(ours), Some(theirs)) => return [ours, theirs],
            unfinished => (at_client, at_server) = unfinished,
        }
    }
    panic!("{at_client:?} and {at_server:?} wait forever");
}

/// Transfers this data from one stream to the other.
fn talk<'e>(from: &mut Stream<&'e End>, to: &mut Stream<&'e End>, data: &[u8]) {
    let (mut sent, mut got, mut part) = (0, Vec::new(), [0; 5000]);
    while got.len() < data.len() {
        if sent < data.len() {
            let written = unless_it_blocks(from.write(&data[sent..]));
            sent += written.map_or(0, Result::unwrap);
        }
        let _ = unless_it_blocks(from.flush()).map(Result::unwrap);
        let read = unless_it_blocks(to.read(&mut part)).map_or(0, Result::unwrap);
        got.extend_from_slice(&part[..read]);
    }
    assert!(got == data);
}

fn close(stream: &mut Stream<&End>) {
    while unless_it_blocks(stream.close_now()).map(Result::unwrap).is_none() {}
}

/// Makes a connection: handshake, data in both directions, and an orderly end.
fn connection(
    ends: &[End; 2],
    client: &Arc<ClientConfig>,
    server: &Arc<ServerConfig>,
    data: &[u8],
) -> bool {
    let [near, far] = ends;
    let [at_client, at_server] = run_handshakes([near, far], client, server);
    let (mut at_client, mut at_server) = (at_client.unwrap(), at_server.unwrap());
    talk(&mut at_client, &mut at_server, data);
    talk(&mut at_server, &mut at_client, data);
    close(&mut at_client);
    let end = loop {
        if let Some(end) = unless_it_blocks(at_server.read(&mut [0])) {
            break end;
        }
    };
    assert_eq!(end.unwrap(), 0);
    at_client.connection().info.resumed
}

fn configs(version: ProtocolVersion) -> (Arc<ClientConfig>, Arc<ServerConfig>) {
    let client = client().versions(&[version]).credential(credential(Kind::P256));
    let server = server().client_auth(ClientAuth::Required, roots());
    (client.build().unwrap(), server.build().unwrap())
}

#[test]
fn a_transport_that_would_block_at_every_second_call_loses_nothing() {
    let data: Vec<u8> = (0..40_000_u32).map(|at| at.to_be_bytes()[2]).collect();
    for version in BOTH_VERSIONS {
        let (client, server) = configs(version);
        for (round, most) in [1, 7, 1000, usize::MAX].into_iter().enumerate() {
            let ends = ends([Blocks::EveryOther; 2], most);
            let resumed = connection(
                &ends,
                &client,
                &server,
                &data[..data.len().min(most.saturating_mul(1000))],
            );
            assert_eq!(resumed, round > 0, "{version:?} {most}");
            assert!(ends.iter().all(|end| end.blocked.get() > 5));
        }
    }
}

#[test]
fn any_single_call_may_would_block() {
    for version in BOTH_VERSIONS {
        let (client, server) = configs(version);
        let never = Blocks::At(usize::MAX);
        let calls = {
            let ends = ends([never; 2], 300);
            connection(&ends, &client, &server, b"data");
            ends.map(|end| end.calls.get())
        };
        for (side, calls) in calls.into_iter().enumerate() {
            assert!(calls > 10, "{calls}");
            for at in 0..calls {
                let mut blocks = [never; 2];
                blocks[side] = Blocks::At(at);
                connection(&ends(blocks, 300), &client, &server, b"data");
            }
        }
    }
}

#[test]
fn an_alert_is_sent_completely_before_the_error_is_returned() {
    for version in BOTH_VERSIONS {
        // A certificate of another authority.
        let key = rcgen::KeyPair::generate().unwrap();
        let other = rcgen::CertificateParams::default().self_signed(&key).unwrap();
        let mut roots = tercel::pki::Roots::new();
        roots.add_der(other.der()).unwrap();
        let client = ClientConfig::builder().versions(&[version]).roots(roots).build().unwrap();
        let ends = ends([Blocks::EveryOther; 2], 1);
        let [near, far] = &ends;
        let [at_client, at_server] =
            run_handshakes([near, far], &client, &server().build().unwrap());
        let reason = |outcome: Outcome<'_>| {
            let error = outcome.unwrap_err();
            error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()).copied()
        };
        assert!(matches!(reason(at_client), Some(Error::Refused(_))), "{version:?}");
        assert!(matches!(reason(at_server), Some(Error::AlertReceived(_))), "{version:?}");
    }
}

/// The update and the request are each sealed once, and sent before the next data.
#[test]
fn a_key_update_and_a_request_that_would_block_are_sent_later() {
    let (client, server) = (
        client().credential(credential(Kind::P256)).post_handshake_auth(true).build().unwrap(),
        server().client_auth(ClientAuth::None, roots()).build().unwrap(),
    );
    let ends = ends([Blocks::EveryOther; 2], 1);
    let [near, far] = &ends;
    let [at_client, at_server] = run_handshakes([near, far], &client, &server);
    let (mut at_client, mut at_server) = (at_client.unwrap(), at_server.unwrap());
    at_server.update_key(true).unwrap();
    let context = at_server.request_certificate(ClientAuth::Required).unwrap();
    talk(&mut at_server, &mut at_client, b"after both");
    talk(&mut at_client, &mut at_server, b"after the answer");
    let answers = at_server.take_client_certificates();
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0].context(), context);
}
