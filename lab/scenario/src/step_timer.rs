//! A timer that adds up the steps of a connection by the rules of an accounting.

use crate::accounting::{PARTS, Part, Step, TimingRules};
use crate::meter::Meter;
use crate::spans::{self, Span};

/// A timer for steps. By the rules of the programs, consecutive steps of the same part form one
/// span. In neutral accounting each step is a span.
#[derive(Clone)]
pub(crate) struct StepTimer {
    rules: TimingRules,
    meter: Meter<PARTS>,
    open: Option<Part>,
    spans_left: usize,
}

impl StepTimer {
    pub(crate) fn new(rules: TimingRules) -> Self {
        let meter = Meter::with_clock(rules.clock());
        Self { rules, meter, open: None, spans_left: 0 }
    }

    /// The side to which instructions of a part are attributed.
    fn span(&self, part: Option<Part>) -> Span {
        match part {
            Some(Part::CreateClient | Part::Client) => Span::Client,
            Some(Part::CreateServer | Part::Server) => Span::Server,
            Some(Part::Send) => Span::Send,
            Some(Part::Receive) => Span::Receive,
            Some(Part::DropClient | Part::DropServer) | None => Span::Unattributed,
        }
    }

    /// Resets all parts.
    pub(crate) fn reset(&mut self) {
        self.meter.reset();
    }

    /// Starts a connection or a transfer.
    pub(crate) fn begin(&mut self) {
        self.close();
        self.spans_left = self.rules.spans();
    }

    /// Runs a step and times it by the rules.
    pub(crate) fn step<T>(&mut self, step: Step, action: impl FnOnce() -> T) -> T {
        let part = self.rules.part(step);
        if spans::is_counting() {
            return self.span(part).run(action);
        }
        if self.open.is_none() || self.open != part {
            self.close();
            self.begin_span(part);
        }
        let result = action();
        if self.rules.0.is_none() {
            self.close();
        }
        result
    }

    fn begin_span(&mut self, part: Option<Part>) {
        if part.is_some() && self.spans_left > 0 {
            self.spans_left -= 1;
            self.open = part;
            self.meter.start();
        }
    }

    /// Ends the open span, if any.
    pub(crate) fn close(&mut self) {
        if let Some(part) = self.open.take() {
            self.meter.stop(part as usize);
        }
    }

    /// Nanoseconds of a part per repetition.
    pub(crate) fn nanoseconds(&self, part: Part, repetitions: u64) -> f64 {
        self.meter.nanoseconds(part as usize, repetitions)
    }

    /// Whether the timer also measures parts that are not judged.
    pub(crate) fn has_parts(&self) -> bool {
        self.rules.0.is_none()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use crate::accounting::{Accounting, Program};
    use crate::bulk::Bulk;
    use crate::handshake::ConnectionPair;
    use crate::meter::tests::pass;
    use crate::row::{Row, Suite, Version};
    use crate::{
        About, Endpoint, Files, Library, Outcome, PrepareError, PreparedTask, Result, Sink, rows,
    };

    /// A library that follows a program. Its calls take known times: client creation 1 s, server
    /// creation 2 s, advance 3 s, collect 40 s, deliver 500 s, send 1000 s, receive 2000 s.
    struct Known<const RUSTLS_BENCH: bool>;

    /// An end of a connection. Each side sends two flights of one byte.
    #[derive(Default)]
    struct End {
        flights: usize,
        out: Vec<u8>,
        received: Vec<u8>,
    }

    fn seconds(count: u64) {
        pass(Duration::from_secs(count));
    }

    impl<const RUSTLS_BENCH: bool> Library for Known<RUSTLS_BENCH> {
        type Client = End;
        type Server = End;

        const PROGRAM: Option<Program> =
            Some(if RUSTLS_BENCH { Program::RustlsBench } else { Program::OpensslBench });

        fn about() -> About {
            About::default()
        }

        fn configure(_: &Row, _: &Files) -> std::result::Result<Self, PrepareError> {
            Ok(Self)
        }

        fn client(&self) -> Result<End> {
            seconds(1);
            Ok(End::default())
        }

        fn server(&self) -> Result<End> {
            seconds(2);
            Ok(End::default())
        }
    }

    impl Endpoint for End {
        type Buffers = ();

        fn buffers(_: &Row, _: usize) {}

        fn deliver(&mut self, (): &mut (), bytes: &[u8]) -> Result<usize> {
            seconds(500);
            self.received.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn advance(&mut self, (): &mut ()) -> Result<()> {
            seconds(3);
            if self.flights < 2 {
                self.out.push(0);
            }
            self.flights += 1;
            self.received.clear();
            Ok(())
        }

        fn collect(&mut self, (): &mut (), wire: &mut Vec<u8>) -> Result<()> {
            seconds(40);
            wire.append(&mut self.out);
            Ok(())
        }

        fn send_early(&mut self, (): &mut (), _: &[u8]) -> Result<()> {
            Err("there is none".into())
        }

        fn outcome(&self) -> Result<Outcome> {
            Ok(Outcome {
                version: Version::Tls13,
                suite: Suite::Aes256GcmSha384,
                group: None,
                scheme: None,
                resumed: false,
                client_certificate: None,
                tickets: None,
                early_data: 0,
            })
        }

        fn send(&mut self, (): &mut (), data: &[u8]) -> Result<()> {
            seconds(1000);
            self.out.extend_from_slice(data);
            Ok(())
        }

        fn receive(&mut self, (): &mut (), sink: Sink<'_>) -> Result<()> {
            seconds(2000);
            sink(&std::mem::take(&mut self.received));
            Ok(())
        }
    }

    fn row(id: &str, accounting: Accounting) -> Row {
        let row = rows::all().into_iter().find(|row| row.id == id).unwrap();
        Row { accounting, ..row }
    }

    /// Whole seconds of client and server in a handshake.
    fn handshake<const RUSTLS_BENCH: bool>(accounting: Accounting) -> [f64; 2] {
        let row = row("full-13-rsa2048-hybrid", accounting);
        let mut pair = ConnectionPair::new(Arc::new(Known::<RUSTLS_BENCH>), &row, 0);
        pair.connect(false).unwrap();
        pair.spent(1).map(|time| (time / 1e9).floor())
    }

    #[test]
    fn neutral_accounting_counts_what_libraries_do_and_no_transport() {
        let expected = [1.0 + 3.0 * 3.0, 2.0 + 2.0 * 3.0];
        assert_eq!(handshake::<true>(Accounting::Neutral), expected);
        assert_eq!(handshake::<false>(Accounting::Neutral), expected);
    }

    #[test]
    fn rustls_bench_counts_creation_and_has_the_receiver_pay() {
        let flight = 40.0 + 500.0 + 3.0;
        let expected = [1.0 + 3.0 + 2.0 * flight, 2.0 + 2.0 * flight];
        assert_eq!(handshake::<true>(Accounting::Published), expected);
    }

    #[test]
    fn openssl_bench_has_the_sender_pay_and_leaves_out_creation_and_the_last_read() {
        let flight = 3.0 + 40.0 + 500.0;
        assert_eq!(handshake::<false>(Accounting::Published), [2.0 * flight, 2.0 * flight]);
    }

    /// Whole seconds of sender and receiver in a write.
    fn bulk<const RUSTLS_BENCH: bool>(accounting: Accounting) -> [f64; 2] {
        let row = row("bulk-13-aes256", accounting);
        let mut bulk = Bulk::new(Arc::new(Known::<RUSTLS_BENCH>), &row).unwrap();
        let sides = bulk.measure(Duration::ZERO).unwrap().sides;
        [sides["send"], sides["receive"]].map(|time| (time / 1e9).floor())
    }

    #[test]
    fn only_rustls_bench_has_the_receiver_of_data_pay_for_the_copy() {
        assert_eq!(bulk::<true>(Accounting::Neutral), [1000.0, 2000.0]);
        assert_eq!(bulk::<true>(Accounting::Published), [1000.0, 2500.0]);
        assert_eq!(bulk::<false>(Accounting::Published), [1000.0, 2000.0]);
    }
}
