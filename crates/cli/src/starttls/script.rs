//! A stream whose peer follows a script, and cases that every protocol has to pass.

use std::io::{self, Read, Write};

use super::{Protocol, StarttlsError};

/// A step of a scripted server.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step<'a> {
    /// The server sends these bytes.
    Send(&'a [u8]),
    /// The server waits for exactly these bytes.
    Expect(&'a [u8]),
}

/// The client's end of a connection to a scripted server. When the script has ended, the server is
/// silent, which is a timeout.
#[derive(Debug)]
pub(super) struct Script<'a> {
    steps: Vec<Step<'a>>,
    written: Vec<u8>,
    closes: bool,
}

impl<'a> Script<'a> {
    pub(super) fn new(steps: &[Step<'a>]) -> Self {
        Self { steps: steps.to_vec(), written: Vec::new(), closes: false }
    }

    /// Compares what was written with the next steps.
    fn check_written(&mut self) {
        while let Some(Step::Expect(expected)) = self.steps.first() {
            let common = expected.len().min(self.written.len());
            let (expected_start, written_start) = (&expected[..common], &self.written[..common]);
            assert_eq!(
                String::from_utf8_lossy(written_start),
                String::from_utf8_lossy(expected_start)
            );
            if self.written.len() < expected.len() {
                return;
            }
            self.written.drain(..common);
            self.steps.remove(0);
        }
    }
}

impl Read for Script<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.check_written();
        assert!(self.written.is_empty(), "the client sent {:?}", self.written.escape_ascii());
        match self.steps.first_mut() {
            Some(Step::Send(bytes)) => {
                let count = bytes.len().min(buffer.len());
                buffer[..count].copy_from_slice(&bytes[..count]);
                *bytes = &bytes[count..];
                if bytes.is_empty() {
                    self.steps.remove(0);
                }
                Ok(count)
            }
            Some(Step::Expect(_)) => panic!("the client reads before {:?}", self.steps),
            None if self.closes => Ok(0),
            None => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

impl Write for Script<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.written.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Runs a protocol on a script. The whole script has to be used up if the protocol succeeds.
pub(super) fn run(protocol: Protocol, steps: &[Step<'_>]) -> Result<(), StarttlsError> {
    let mut script = Script::new(steps);
    let result = protocol.begin(&mut script, "a.example");
    if result.is_ok() {
        script.check_written();
        assert!(script.steps.is_empty() && script.written.is_empty(), "{script:?}");
    }
    result
}

/// Checks a successful dialogue, and that each of its variants is refused: silence and the end of
/// the connection after each part, data that follows the permission, endless and random answers.
pub(super) fn check(protocol: Protocol, good: &[Step<'_>]) {
    run(protocol, good).unwrap();
    check_single_bytes(protocol, good);
    let last_answer = good.iter().rposition(|step| matches!(step, Step::Send(_))).unwrap();
    let Step::Send(permission) = good[last_answer] else { panic!("{good:?}") };
    let injected = [permission, &b"\r\nx"[..]].concat();
    let mut steps = good.to_vec();
    steps[last_answer] = Step::Send(&injected);
    let refused = run(protocol, &steps).unwrap_err();
    assert!(matches!(&refused, StarttlsError::Injected(text) if text == "`x`"), "{refused}");

    for (position, step) in good.iter().enumerate() {
        let Step::Send(answer) = step else { continue };
        for cut in 0..answer.len() {
            let mut steps = good[..position].to_vec();
            if cut > 0 {
                steps.push(Step::Send(&answer[..cut]));
            }
            let silent = run(protocol, &steps).unwrap_err();
            assert_eq!(silent.to_string(), "timed out before STARTTLS", "{steps:?}");
            let mut closing = Script { closes: true, ..Script::new(&steps) };
            let closed = protocol.begin(&mut closing, "a.example").unwrap_err();
            assert!(matches!(closed, StarttlsError::Closed), "{closed}");
        }
        check_noise(protocol, &good[..position]);
    }
}

/// The answers may arrive in single bytes.
fn check_single_bytes(protocol: Protocol, good: &[Step<'_>]) {
    let steps = good.iter().flat_map(|step| match step {
        Step::Send(bytes) => bytes.chunks(1).map(Step::Send).collect(),
        Step::Expect(_) => vec![*step],
    });
    run(protocol, &steps.collect::<Vec<_>>()).unwrap();
}

/// No answer leads to a panic, or is read without end, or is taken for a permission.
fn check_noise(protocol: Protocol, before: &[Step<'_>]) {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[0]
    };
    let mut noises: Vec<Vec<u8>> = Vec::new();
    for byte in [b'x', b'<', b'"', b' ', 0, 0xff, 0x30, b'2', b'*', b'+', b'\n'] {
        noises.push(vec![byte; 200_000]);
    }
    for line in [&b"220-x\r\n"[..], b"250-x\r\n", b"* x\r\n", b"<x>", b"</x>", b"\x30\x02\x01\x01"]
    {
        noises.push(line.repeat(30_000));
    }
    for length in 1..200 {
        noises.push((0..length).map(|_| random()).collect());
    }
    for noise in &noises {
        let steps = [before, &[Step::Send(noise)]].concat();
        let refused = run(protocol, &steps);
        assert!(refused.is_err(), "{:?}", noise[..noise.len().min(200)].escape_ascii());
    }
}
