//! Between a coroutine and its transport of records: feeds it messages, and lends it the records to send through.
//!
//! Another transport (QUIC's CRYPTO frames) would replace this file and [`super::records`], and leave the
//! coroutines as they are. Must not know: what the messages say. Next: [`super::flow`].

use tercel_wire::AlertDescription;

use super::coroutine::{Coroutine, Mailbox};
use super::established::Established;
use super::flow::{Line, Post, Wanted};
use super::question::Question;
use super::records::{Fed, Records, Window};
use crate::config::policy::Side;
use crate::connection::Connection;
use crate::connection::buffer::Received;
use crate::connection::sender::Sender;
use crate::error::{Error, Misuse};

/// A handshake on its way, over records.
pub(crate) struct Driver {
    coroutine: Coroutine<Result<Established, Error>>,
    post: Mailbox<Post>,
    /// In a box, so that no key is left behind wherever the handshake was moved from. Absent only while
    /// the coroutine runs.
    records: Option<Box<Records>>,
}

/// Where a handshake stopped.
pub(crate) enum Step {
    Receive,
    EarlyData(Vec<u8>),
    Ask(Question),
    Connected(Box<Connection>),
}

impl Driver {
    pub(crate) fn new(
        side: Side,
        coroutine: Coroutine<Result<Established, Error>>,
        post: Mailbox<Post>,
    ) -> Self {
        Self { coroutine, post, records: Some(Box::new(Records::new(side))) }
    }

    pub(crate) fn advance(
        &mut self,
        received: &mut Received,
        out: &mut Vec<u8>,
    ) -> Result<Step, Error> {
        loop {
            if let Some(established) = self.resume(out)? {
                let connection = self.records()?.connect(established)?;
                return Ok(Step::Connected(Box::new(connection)));
            }
            let wanted = self.post.open().wanted;
            if wanted == Some(Wanted::Answer) {
                if let Some(question) = self.post.open().question.take() {
                    return Ok(Step::Ask(*question));
                }
            }
            match self.records()?.feed(wanted, received)? {
                Fed::Message(message) => self.post.open().message = Some(message),
                Fed::ChangeCipherSpec => self.post.open().change_cipher_spec = true,
                Fed::EarlyData(bytes) => return Ok(Step::EarlyData(bytes)),
                Fed::NotYet => return Ok(Step::Receive),
            }
        }
    }

    /// Seals a fatal alert as the last thing this handshake says.
    pub(crate) fn alert(&mut self, alert: AlertDescription, out: &mut Vec<u8>) {
        if let Some(records) = &mut self.records {
            records.alert(alert, out);
        }
    }

    pub(crate) fn post(&self) -> &Mailbox<Post> {
        &self.post
    }

    /// What an application may send through, if it may now.
    pub(crate) fn sender(&mut self, window: Window) -> Option<&mut Sender> {
        self.records.as_mut()?.sender(window)
    }

    /// Runs the coroutine up to its next wait or its end, with the records in its hands, and sends what it
    /// leaves to be sent.
    fn resume(&mut self, out: &mut Vec<u8>) -> Result<Option<Established>, Error> {
        self.records()?.swap_out(out);
        self.post.open().line = self.records.take().map(Line::Records);
        let ended = self.coroutine.resume();
        if let Some(Line::Records(records)) = self.post.open().line.take() {
            self.records = Some(records);
        }
        let records = self.records()?;
        let sent = records.end_flight();
        records.swap_out(out);
        sent?;
        ended.transpose()
    }

    /// They are here whenever the coroutine does not run; the error is for the compiler.
    fn records(&mut self) -> Result<&mut Records, Error> {
        self.records.as_deref_mut().ok_or_else(|| Misuse::HandshakeOver.into())
    }
}
