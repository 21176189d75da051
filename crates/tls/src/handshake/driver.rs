//! Connects a coroutine with the record layer: passes messages to the coroutine, and lets it send.
//!
//! `quic.rs` connects a coroutine with the CRYPTO data of QUIC.

use tercel_wire::AlertDescription;

use super::Next;
use super::question::AnswerValue;
use super::runtime::command::Wanted;
use super::runtime::mailbox::{FailureDetails, Mailbox, Transport};
use super::runtime::records::{Input, Records, Window};
use super::task::Task;
use crate::connection::buffer::ReceiveBuffer;
use crate::connection::info::ConnectionInfo;
use crate::connection::sender::Sender;
use crate::error::{Error, Misuse};
#[cfg(feature = "message-tap")]
use crate::message_tap::MessageTap;
use crate::side::Side;

/// A handshake over TLS records.
pub(crate) struct Driver {
    task: Task,
    /// The mailbox, which contains the record layer. Absent only while the coroutine runs.
    mailbox: Option<Box<Mailbox>>,
}

impl Driver {
    pub(crate) fn new(side: Side, task: Task) -> Self {
        let mailbox = Box::new(Mailbox::new(Transport::Records(Records::new(side))));
        Self { task, mailbox: Some(mailbox) }
    }

    /// Server: rejects early data.
    pub(crate) fn reject_early_data(&mut self) {
        if let Ok(mailbox) = self.mailbox() {
            mailbox.rejects_early_data = true;
        }
    }

    /// Sets the tap of the messages.
    #[cfg(feature = "message-tap")]
    pub(crate) fn set_message_tap(&mut self, tap: std::sync::Arc<dyn MessageTap>) {
        if let Ok(records) = self.records() {
            records.set_message_tap(tap);
        }
    }

    pub(crate) fn advance(
        &mut self,
        received: &mut ReceiveBuffer,
        out: &mut Vec<u8>,
    ) -> Result<Next, Error> {
        loop {
            let ended = self.resume(out)?;
            let mailbox = self.mailbox()?;
            if ended {
                // A coroutine ends with a connection or an error, so this error is unreachable.
                let connection = mailbox.connection.take().ok_or(Misuse::HandshakeEnded)?;
                return Ok(Next::Connected(connection));
            }
            let wanted = mailbox.wanted;
            if wanted == Some(Wanted::Answer) {
                if let Some(question) = mailbox.question.take() {
                    return Ok(Next::Answer(*question));
                }
            }
            match mailbox.transport.records()?.feed(wanted, received)? {
                Input::Message(message) => mailbox.message = Some(message),
                Input::ChangeCipherSpec => mailbox.change_cipher_spec = true,
                Input::EarlyData(bytes) => return Ok(Next::EarlyData(bytes)),
                Input::Incomplete => return Ok(Next::Receive),
            }
        }
    }

    /// Sends the alert of an error that ends the handshake.
    pub(crate) fn fail(&mut self, error: Error, out: &mut Vec<u8>) {
        let Ok(records) = self.records() else { return };
        match error.alert() {
            Some(alert) => records.alert(alert, out),
            // A received close_notify is answered with a close_notify. RFC 5246 7.2.1,
            // RFC 9846 6.1
            None if error == Error::ClosedInHandshake => records.close_notify(out),
            None => {}
        }
    }

    /// Sends an alert of the application that ends the handshake.
    pub(crate) fn abort(&mut self, alert: AlertDescription, out: &mut Vec<u8>) {
        if let Ok(records) = self.records() {
            records.alert(alert, out);
        }
    }

    /// Passes the application's answer to the coroutine.
    pub(crate) fn answer(&mut self, answer: AnswerValue) -> Result<(), Error> {
        self.mailbox()?.answer = Some(answer);
        Ok(())
    }

    /// Takes the details of a failure.
    pub(crate) fn take_failure(&mut self) -> Option<Box<FailureDetails>> {
        let mailbox = self.mailbox().ok()?;
        let details = mailbox.failure.take();
        // A handshake that resumes a session in TLS 1.2 has no other details.
        let records = mailbox.transport.records().ok()?;
        let invalidated = records.take_invalidated().map(FailureDetails::SessionToForget);
        details.or(invalidated.map(Box::new))
    }

    /// Returns the negotiated parameters, while a client's early data is read.
    pub(crate) fn early_info(&mut self) -> Option<&ConnectionInfo> {
        self.records().ok()?.early_info()
    }

    /// Returns the sender, if the application may use it now.
    pub(crate) fn sender(&mut self, window: Window) -> Option<&mut Sender> {
        self.records().ok()?.sender(window)
    }

    /// Runs the coroutine to its next wait or its end, and sends the messages that remain in the
    /// flight. Returns whether the coroutine has ended.
    fn resume(&mut self, out: &mut Vec<u8>) -> Result<bool, Error> {
        self.records()?.swap_out(out);
        let ended = self.task.resume(&mut self.mailbox);
        let records = self.records()?;
        let sent = records.send_flight();
        records.swap_out(out);
        sent?;
        ended.transpose().map(|ended| ended.is_some())
    }

    fn records(&mut self) -> Result<&mut Records, Error> {
        self.mailbox()?.transport.records()
    }

    /// Returns the mailbox. It is always present while the coroutine does not run, so the error is
    /// unreachable.
    fn mailbox(&mut self) -> Result<&mut Mailbox, Error> {
        self.mailbox.as_deref_mut().ok_or_else(|| Misuse::HandshakeEnded.into())
    }
}
