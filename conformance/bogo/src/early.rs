//! What is said before a handshake is complete: a client's early data, a server's answer to it.
//!
//! Must not know: when there is a chance to. Next: [`crate::run`], which finds out.

use tercel::{EarlyData, Facts, Sender};

use crate::run::{Failure, READ_SIZE, Talk};

impl Talk<'_> {
    /// Client: says first what there is to say first, as far as early data may go.
    pub(crate) fn say_early(&mut self, sender: &mut Sender) -> Result<(), Failure> {
        if self.options.export_keying_material > 0 {
            let token = ":HANDSHAKE_NOT_COMPLETE:";
            return Err(Failure::Unexpected(format!("{token} there is no exporter yet")));
        }
        let waited = |message| self.transport.passed(message);
        if !self.options.early_write_after_message.is_none_or(waited) {
            return Ok(());
        }
        while let Some(word) = self.words.front_mut() {
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
                self.words.pop_front();
            }
        }
        Ok(())
    }

    /// Server: answers early data before the client has shown that it is no replay.
    pub(crate) fn answer_early(
        &mut self,
        sender: &mut Sender,
        data: &mut [u8],
    ) -> Result<(), Failure> {
        for word in self.words.drain(..) {
            sender.seal_to(&word, &mut self.out)?;
        }
        data.iter_mut().for_each(|byte| *byte ^= 0xff);
        for piece in data.chunks(self.options.read_size.unwrap_or(READ_SIZE).max(1)) {
            sender.seal_to(piece, &mut self.out)?;
        }
        Ok(self.transport.send(&mut self.out)?)
    }

    /// What was sent early and rejected is as if it had not been said; other options hold from then on.
    pub(crate) fn settle(&mut self, facts: &Facts) -> Result<(), Failure> {
        let rejected = !self.options.server && facts.early_data == EarlyData::Rejected;
        if rejected != self.round.after_rejection.is_some() {
            return Err(Failure::Unexpected(format!("early data: {:?}", facts.early_data)));
        }
        if let Some(options) = self.round.after_rejection {
            self.options = options;
            self.words = options.first_words().into();
        }
        Ok(())
    }
}
