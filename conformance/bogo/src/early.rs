//! Data before the handshake is complete: a client's early data, and a server's answer to it.

use tercel::{ConnectionInfo, EarlyData, Sender};

use crate::options::Options;
use crate::run::{Exchange, Failure, READ_SIZE};

impl Exchange<'_> {
    /// Client: sends the initial writes as early data, as far as the limit allows.
    pub(crate) fn send_early(&mut self, sender: &mut Sender) -> Result<(), Failure> {
        check_exporter(self.options)?;
        let waited = |message| self.transport.passed(message);
        if !self.options.early_write_after_message.is_none_or(waited) {
            return Ok(());
        }
        while let Some(word) = self.initial_writes.front_mut() {
            let room = sender.early_data_left().unwrap_or_default().min(word.len());
            if room == 0 && !word.is_empty() {
                return Ok(());
            }
            let now: Vec<u8> = word.drain(..room).collect();
            sender.seal_to(&now, &mut self.out)?;
            if self.options.read_with_unfinished_write {
                self.transport.send_one_byte(&mut self.out)?;
            } else {
                self.transport.send(&mut self.out)?;
            }
            if word.is_empty() {
                self.initial_writes.pop_front();
            }
        }
        Ok(())
    }

    /// Server: answers early data before the client's Finished.
    pub(crate) fn answer_early(
        &mut self,
        sender: &mut Sender,
        data: &mut [u8],
    ) -> Result<(), Failure> {
        for word in self.initial_writes.drain(..) {
            sender.seal_to(&word, &mut self.out)?;
        }
        data.iter_mut().for_each(|byte| *byte ^= 0xff);
        for piece in data.chunks(self.options.read_size.unwrap_or(READ_SIZE).max(1)) {
            sender.seal_to(piece, &mut self.out)?;
        }
        Ok(self.transport.send(&mut self.out)?)
    }

    /// After a rejection the initial writes are sent again, and the options for retries apply.
    pub(crate) fn apply_rejection(&mut self, info: &ConnectionInfo) -> Result<(), Failure> {
        let rejected = !self.options.server && info.early_data == EarlyData::Rejected;
        if rejected != self.test.after_rejection.is_some() {
            return Err(Failure::Unexpected(format!("early data: {:?}", info.early_data)));
        }
        if let Some(options) = self.test.after_rejection {
            self.options = options;
            self.initial_writes = options.initial_writes().into();
        }
        Ok(())
    }
}

/// Keying material cannot be exported while a client sends early data.
pub(crate) fn check_exporter(options: &Options) -> Result<(), Failure> {
    if options.export_keying_material == 0 {
        return Ok(());
    }
    let token = ":HANDSHAKE_NOT_COMPLETE:";
    Err(Failure::Unexpected(format!("{token} no exporter before the handshake is complete")))
}
