//! Between a coroutine and its transport of records: feeds it messages, and lends it the records to send through.
//!
//! Another transport (QUIC's CRYPTO frames) would replace this file and [`super::records`], and leave the
//! coroutines as they are. Must not know: what the messages say. Next: [`super::flow`].

use tercel_pki::Refusal;
use tercel_wire::AlertDescription;

use super::flow::{Line, Post, Wanted};
use super::question::{Answer, Question};
use super::records::{Fed, Records, Window};
use super::running::Running;
use crate::config::policy::Side;
use crate::connection::Connection;
use crate::connection::buffer::Received;
use crate::connection::facts::Facts;
use crate::connection::sender::Sender;
use crate::error::{Error, Misuse};

/// A handshake on its way, over records.
pub(crate) struct Driver {
    running: Running,
    /// Absent only while the coroutine runs. The records are in it.
    post: Option<Box<Post>>,
}

/// Where a handshake stopped.
pub(crate) enum Step {
    Receive,
    EarlyData(Vec<u8>),
    Ask(Question),
    Connected(Box<Connection>),
}

impl Driver {
    pub(crate) fn new(side: Side, running: Running) -> Self {
        let post = Box::new(Post::new(Line::Records(Records::new(side))));
        Self { running, post: Some(post) }
    }

    pub(crate) fn advance(
        &mut self,
        received: &mut Received,
        out: &mut Vec<u8>,
    ) -> Result<Step, Error> {
        loop {
            let ended = self.resume(out)?;
            let post = self.post()?;
            if ended {
                // A sequence ends with a connection or an error; the other error is for the compiler.
                let connection = post.connection.take().ok_or(Misuse::HandshakeOver)?;
                return Ok(Step::Connected(connection));
            }
            let wanted = post.wanted;
            if wanted == Some(Wanted::Answer) {
                if let Some(question) = post.question.take() {
                    return Ok(Step::Ask(*question));
                }
            }
            match post.line.records()?.feed(wanted, received)? {
                Fed::Message(message) => post.message = Some(message),
                Fed::ChangeCipherSpec => post.change_cipher_spec = true,
                Fed::EarlyData(bytes) => return Ok(Step::EarlyData(bytes)),
                Fed::NotYet => return Ok(Step::Receive),
            }
        }
    }

    /// Seals a fatal alert as the last thing this handshake says.
    pub(crate) fn alert(&mut self, alert: AlertDescription, out: &mut Vec<u8>) {
        if let Ok(records) = self.records() {
            records.alert(alert, out);
        }
    }

    /// Seals close_notify as the last thing this handshake says.
    pub(crate) fn close_notify(&mut self, out: &mut Vec<u8>) {
        if let Ok(records) = self.records() {
            records.close_notify(out);
        }
    }

    /// Leaves the application's answer for the coroutine.
    pub(crate) fn answer(&mut self, answer: Answer) -> Result<(), Error> {
        self.post()?.answer = Some(answer);
        Ok(())
    }

    /// Why the peer was refused.
    pub(crate) fn take_refusal(&mut self) -> Option<Box<Refusal>> {
        self.post.as_mut()?.refusal.take()
    }

    /// What was agreed with a client whose early data is being read.
    pub(crate) fn early_facts(&mut self) -> Option<&Facts> {
        self.records().ok()?.early_facts()
    }

    /// What an application may send through, if it may now.
    pub(crate) fn sender(&mut self, window: Window) -> Option<&mut Sender> {
        self.records().ok()?.sender(window)
    }

    /// Runs the coroutine up to its next wait or its end, with the records in its hands, and sends what it
    /// leaves to be sent. Whether it has ended.
    fn resume(&mut self, out: &mut Vec<u8>) -> Result<bool, Error> {
        self.records()?.swap_out(out);
        let ended = self.running.resume(&mut self.post);
        let records = self.records()?;
        let sent = records.send_flight();
        records.swap_out(out);
        sent?;
        ended.transpose().map(|ended| ended.is_some())
    }

    fn records(&mut self) -> Result<&mut Records, Error> {
        self.post()?.line.records()
    }

    /// It is here whenever the coroutine does not run; the error is for the compiler.
    fn post(&mut self) -> Result<&mut Post, Error> {
        self.post.as_deref_mut().ok_or_else(|| Misuse::HandshakeOver.into())
    }
}
