//! Who has to confirm a feature, and what.
//!
//! A cell passes only on the word of everybody who can tell: the wire, Tercel and the other program.
//! The first connection must not be resumed, those that come back must. This module must not know any
//! program's command line. Next: `../evidence.rs` for the wire, `../programs.rs` for the words.

use std::fs;

use anyhow::{Context, Result, ensure};

use super::{Exchange, early_words};
use crate::cells::Role;
use crate::evidence;
use crate::features::{Compression, Feature, Owner, Sessions};
use crate::programs::{Mark, Program, RECORD_LIMIT, trace};
use crate::run::{PROTECTION, resumes};
use tercel_harness::process::Process;

impl Exchange<'_> {
    pub(super) fn judge(&mut self) -> Result<()> {
        let feature = self.cell.feature;
        let seen = self.relay.connections();
        let expected = self.client_program.returns().connections();
        ensure!(seen == expected, "{seen} connections were made, not {expected}");
        for connection in 0..seen {
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
        // The others were judged after the first run.
        if feature.returns() { self.judge_marks() } else { Ok(()) }
    }

    /// Of each connection, whether it must be resumed.
    fn resumed_ones(&self) -> Vec<bool> {
        let feature = self.cell.feature;
        let returns = self.client_program.returns();
        (0..returns.connections())
            .map(|connection| match feature.returns() {
                true => feature.resumes() && returns.is_return(connection),
                false => {
                    let version = feature.version();
                    resumes(self.client_program, self.server_program, version, connection)
                }
            })
            .collect()
    }

    fn judge_wire(&self, connection: usize) -> Result<()> {
        let feature = self.cell.feature;
        let from_server = self.relay.server_said(connection);
        let seen = evidence::negotiated(&from_server).context("no ServerHello")?;
        let version = feature.version().code();
        ensure!(seen.version == version, "negotiated version {:04x}", seen.version);
        let expected = self.resumed_ones()[connection];
        let resumed = evidence::resumed(&from_server).context("no ServerHello")?;
        ensure!(resumed == expected, "connection {connection} on the wire: resumed is {resumed}");
        Ok(())
    }

    fn judge_resumption(&mut self) -> Result<()> {
        let mut expected = self.resumed_ones();
        let told = self.told_by_clients();
        let right = told.as_ref().is_none_or(|told| *told == expected);
        ensure!(right, "the client says of being resumed {told:?}");
        // Some servers speak of a connection only when it has ended.
        self.wait("the server to tell of its connections", |exchange| {
            Ok(exchange.told_by_servers().is_none_or(|told| told.len() >= expected.len()))
        })?;
        if let Some(mut told) = self.told_by_servers() {
            // A server may speak of a connection after the next one. The wire and the client know the order.
            told.sort_unstable();
            expected.sort_unstable();
            ensure!(told == expected, "the server says of being resumed {told:?}");
        }
        self.judge_sessions()
    }

    fn told_by_servers(&self) -> Option<Vec<bool>> {
        let told = |server: &Process| self.server_program.resumptions(true, &server.said());
        self.servers.iter().map(told).collect::<Option<Vec<_>>>().map(|told| told.concat())
    }

    fn told_by_clients(&self) -> Option<Vec<bool>> {
        let told = |client: &Process| self.client_program.resumptions(false, &client.said());
        self.clients.iter().map(told).collect::<Option<Vec<_>>>().map(|told| told.concat())
    }

    /// The session was where the feature says.
    fn judge_sessions(&self) -> Result<()> {
        let Feature::Resumption(sessions) = self.cell.feature else { return Ok(()) };
        let ticket = evidence::gives_ticket(&self.relay.server_said(0));
        match sessions {
            Sessions::Ticket => ensure!(ticket, "the server gave no ticket"),
            Sessions::Id => ensure!(!ticket, "the server gave a ticket"),
            Sessions::Stateless | Sessions::Stateful => {
                for (connection, _) in self.resumed_ones().iter().enumerate().filter(|(_, r)| **r) {
                    let offered =
                        evidence::psk_identity_length(&self.relay.client_said(connection));
                    let name = offered.context("the client offered no session")?;
                    let stateful = name <= LONGEST_NAME;
                    let expected = sessions == Sessions::Stateful;
                    ensure!(stateful == expected, "the session was offered in {name} bytes");
                }
            }
        }
        Ok(())
    }

    fn judge_early_data(&mut self) -> Result<()> {
        let accepted = self.cell.feature == Feature::EarlyData;
        let returns = self.client_program.returns();
        let early = (0..returns.connections()).filter(|&c| returns.is_return(c)).count();
        let expected = vec![accepted; early];
        let clients = self.clients.iter();
        let told: Vec<bool> = clients
            .flat_map(|client| self.client_program.early_data(false, &client.said()))
            .collect();
        let silent =
            |serves, program: &dyn Program| !accepted && !program.tells_rejected_early_data(serves);
        let right = told == expected || (told.is_empty() && silent(false, self.client_program));
        ensure!(right, "the client says of early data {told:?}");
        self.wait("the server to tell of early data", |exchange| {
            Ok(!accepted || exchange.early_data_of_servers().len() >= early)
        })?;
        let told = self.early_data_of_servers();
        let right = told == expected || (told.is_empty() && silent(true, self.server_program));
        ensure!(right, "the server says of early data {told:?}");

        let words = early_words(self.setting);
        let arrives = accepted || self.client_program.repeats_early_data();
        let heard = if self.answered_here {
            self.shown()
        } else if accepted && !self.server_program.echoes_early_data() {
            return Ok(());
        } else {
            self.clients.iter().flat_map(|client| client.output().bytes()).collect()
        };
        let times = heard.windows(words.len()).filter(|heard| *heard == words).count();
        let wanted = if arrives { early } else { 0 };
        ensure!(times == wanted, "early data arrived {times} times, not {wanted}");
        Ok(())
    }

    fn early_data_of_servers(&self) -> Vec<bool> {
        let servers = self.servers.iter();
        servers.flat_map(|server| self.server_program.early_data(true, &server.said())).collect()
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

    pub(super) fn judge_marks(&mut self) -> Result<()> {
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
            Mark::Said(text) => self.clients[0].said().contains(text),
            Mark::Traced(text) => {
                let trace = fs::read(trace(&self.scratch, serves)).unwrap_or_default();
                String::from_utf8_lossy(&trace).contains(text)
            }
        })
    }
}

/// A name for a stored session is no longer than this; a sealed one is.
const LONGEST_NAME: usize = 64;
