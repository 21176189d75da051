//! Who has to confirm a feature, and what.
//!
//! A cell passes only on the word of everybody who can tell: the wire, Tercel and the other program.
//! The first of two connections must not be resumed, the second must. This module must not know any
//! program's command line. Next: `../evidence.rs` for the wire, `../programs.rs` for the words.

use std::fs;

use anyhow::{Context, Result, ensure};

use super::{Exchange, contains, early_words};
use crate::cells::Role;
use crate::evidence;
use crate::features::{Compression, Feature, Owner, Sessions};
use crate::programs::{Mark, RECORD_LIMIT, trace};
use crate::run::PROTECTION;
use tercel_harness::process::Process;

impl Exchange<'_> {
    pub(super) fn judge(&mut self) -> Result<()> {
        let feature = self.cell.feature;
        for connection in 0..feature.connections() {
            self.judge_wire(connection)?;
        }
        if feature.returns() {
            self.judge_resumption()?;
        }
        if feature.has_early_data() {
            self.judge_early_data()?;
        }
        if let Feature::RecordSizeLimit(owner) = feature {
            self.judge_records(owner)?;
        }
        if let Feature::Compression(compression) = feature {
            self.judge_offer(compression)?;
        }
        self.judge_marks()
    }

    fn judge_wire(&self, connection: usize) -> Result<()> {
        let feature = self.cell.feature;
        let from_server = self.relay.server_said(connection);
        let seen = evidence::negotiated(&from_server).context("no ServerHello")?;
        let version = feature.version().code();
        ensure!(seen.version == version, "negotiated version {:04x}", seen.version);
        let expected = feature.resumes() && connection == 1;
        let resumed = evidence::resumed(&from_server).context("no ServerHello")?;
        ensure!(resumed == expected, "connection {connection} on the wire: resumed is {resumed}");
        Ok(())
    }

    fn judge_resumption(&mut self) -> Result<()> {
        let expected = [false, self.cell.feature.resumes()];
        let told: Vec<bool> = self.clients.iter().flat_map(|client| self.told(client)).collect();
        ensure!(told == expected, "the client says of being resumed {told:?}");
        // Some servers speak of a connection only when it has ended.
        self.wait("the server to tell of its connections", |exchange| {
            Ok(exchange.told_by_servers().len() >= expected.len())
        })?;
        let told = self.told_by_servers();
        ensure!(told == expected, "the server says of being resumed {told:?}");
        self.judge_sessions()
    }

    fn told_by_servers(&self) -> Vec<bool> {
        let told = |server: &Process| self.server_program.resumptions(true, &server.said());
        self.servers.iter().flat_map(told).collect()
    }

    fn told(&self, client: &Process) -> Vec<bool> {
        self.client_program.resumptions(false, &client.said())
    }

    /// The session was where the feature says.
    fn judge_sessions(&self) -> Result<()> {
        let Feature::Resumption(sessions) = self.cell.feature else { return Ok(()) };
        let ticket = evidence::gives_ticket(&self.relay.server_said(0));
        let name = evidence::psk_identity_length(&self.relay.client_said(1));
        match sessions {
            Sessions::Ticket => ensure!(ticket, "the server gave no ticket"),
            Sessions::Id => ensure!(!ticket, "the server gave a ticket"),
            Sessions::Stateless | Sessions::Stateful => {
                let name = name.context("the client offered no session")?;
                let stateful = name <= LONGEST_NAME;
                let expected = sessions == Sessions::Stateful;
                ensure!(stateful == expected, "the session was offered in {name} bytes");
            }
        }
        Ok(())
    }

    fn judge_early_data(&mut self) -> Result<()> {
        let expected = self.cell.feature == Feature::EarlyData;
        let client = self.newest().said();
        let told = self.client_program.early_data(false, &client);
        ensure!(told == Some(expected), "the client says of early data {told:?}");
        let told = self.server_program.early_data(true, &self.server_said());
        ensure!(told == Some(expected), "the server says of early data {told:?}");

        let words = early_words(self.setting);
        let arrives = expected || self.client_program.repeats_early_data();
        let (heard, by) = if self.answered_here {
            (self.server().output().bytes(), "the server")
        } else if expected && !self.server_program.echoes_early_data() {
            return Ok(());
        } else {
            (self.newest().output().bytes(), "the client")
        };
        let arrived = contains(&heard, words);
        ensure!(arrived == arrives, "early data was heard by {by}: {arrived}");
        Ok(())
    }

    /// The side that was asked to keep its records small did.
    fn judge_records(&self, owner: Owner) -> Result<()> {
        let heeding = match owner {
            Owner::Server => self.relay.client_said(0),
            Owner::Client => self.relay.server_said(0),
        };
        let longest = evidence::longest_record(&heeding).context("no protected record")?;
        let allowed = usize::from(RECORD_LIMIT) + PROTECTION;
        ensure!(longest <= allowed, "a record of {longest} bytes was sent");
        // A Certificate message is longer than the limit: it must have been divided.
        ensure!(longest > usize::from(RECORD_LIMIT) / 2, "no record came near the limit");
        Ok(())
    }

    /// The compression was the only one to choose, for one side or the other: Tercel has no other.
    fn judge_offer(&self, compression: Compression) -> Result<()> {
        let offered = evidence::offered_compressions(&self.relay.client_said(0));
        let as_expected = match self.cell.role {
            Role::Serve => offered.contains(&compression.code()),
            Role::Connect => offered == [compression.code()],
        };
        ensure!(as_expected, "the client offered the compressions {offered:?}");
        Ok(())
    }

    fn judge_marks(&mut self) -> Result<()> {
        for (serves, program) in [(true, self.server_program), (false, self.client_program)] {
            for mark in program.marks(serves, self.cell.feature) {
                self.wait("a program to tell of the feature", |exchange| {
                    exchange.has_mark(serves, mark)
                })
                .with_context(|| format!("no {mark:?} of {}", program.name()))?;
            }
        }
        Ok(())
    }

    fn has_mark(&self, serves: bool, mark: Mark) -> Result<bool> {
        Ok(match mark {
            Mark::Said(text) if serves => self.server_said().contains(text),
            Mark::Said(text) => self.newest().said().contains(text),
            Mark::Traced(text) => {
                let trace = fs::read(trace(&self.scratch, serves)).unwrap_or_default();
                String::from_utf8_lossy(&trace).contains(text)
            }
        })
    }
}

/// A name for a stored session is no longer than this; a sealed one is.
const LONGEST_NAME: usize = 64;
