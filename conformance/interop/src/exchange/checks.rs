//! Checks the result of a feature cell.
//!
//! Each source that reports a fact must confirm it: the recorded bytes, Tercel and the other
//! program. The first connection must not be resumed, and every later connection must be resumed.

use std::fs;

use anyhow::{Context, Result, ensure};

use super::{Exchange, early_data};
use crate::cells::Role;
use crate::features::{Compression, Feature, Owner, Sessions};
use crate::programs::{Mark, Program, RECORD_LIMIT, trace};
use crate::recorded;
use crate::run::{PROTECTION, resumes};
use tercel_harness::process::Process;

impl Exchange<'_> {
    pub(super) fn check(&mut self) -> Result<()> {
        let feature = self.cell.feature;
        let seen = self.relay.connections();
        let expected = self.client_program.connection_plan().connections();
        ensure!(seen == expected, "{seen} connections were made, not {expected}");
        for connection in 0..seen {
            self.check_wire(connection)?;
        }
        if feature.uses_sessions() {
            self.check_resumption()?;
        }
        if feature.has_early_data() {
            self.check_early_data()?;
        }
        if let Feature::RecordSizeLimit(owner) = feature {
            self.check_records(owner)?;
        }
        if let Feature::Compression(compression) = feature {
            self.check_offer(compression)?;
        }
        // The marks of other features were checked after the first run of the client.
        if feature.uses_sessions() { self.check_marks() } else { Ok(()) }
    }

    /// Whether each connection must be resumed.
    fn expected_resumptions(&self) -> Vec<bool> {
        let feature = self.cell.feature;
        let plan = self.client_program.connection_plan();
        (0..plan.connections())
            .map(|connection| match feature.uses_sessions() {
                true => feature.resumes() && plan.has_session(connection),
                false => {
                    let version = feature.version();
                    resumes(self.client_program, self.server_program, version, connection)
                }
            })
            .collect()
    }

    fn check_wire(&self, connection: usize) -> Result<()> {
        let feature = self.cell.feature;
        let from_server = self.relay.server_bytes(connection);
        let seen = recorded::negotiated(&from_server).context("no ServerHello")?;
        let version = feature.version().code();
        ensure!(seen.version == version, "negotiated version {:04x}", seen.version);
        let expected = self.expected_resumptions()[connection];
        let resumed = recorded::resumed(&from_server).context("no ServerHello")?;
        ensure!(resumed == expected, "connection {connection} on the wire: resumed = {resumed}");
        Ok(())
    }

    fn check_resumption(&mut self) -> Result<()> {
        let mut expected = self.expected_resumptions();
        let reported = self.resumptions_of_clients();
        let right = reported.as_ref().is_none_or(|reported| *reported == expected);
        ensure!(right, "the client reports as resumed {reported:?}");
        // Some servers report a connection only after it has ended.
        self.wait("the server to report its connections", |exchange| {
            Ok(exchange
                .resumptions_of_servers()
                .is_none_or(|reported| reported.len() >= expected.len()))
        })?;
        if let Some(mut reported) = self.resumptions_of_servers() {
            // A server may report a connection after the next one, so only the recorded bytes and
            // the client's output give the order.
            reported.sort_unstable();
            expected.sort_unstable();
            ensure!(reported == expected, "the server reports as resumed {reported:?}");
        }
        self.check_sessions()
    }

    fn resumptions_of_servers(&self) -> Option<Vec<bool>> {
        let reported =
            |server: &Process| self.server_program.resumptions(true, &server.all_output());
        self.servers
            .iter()
            .map(reported)
            .collect::<Option<Vec<_>>>()
            .map(|reported| reported.concat())
    }

    fn resumptions_of_clients(&self) -> Option<Vec<bool>> {
        let reported =
            |client: &Process| self.client_program.resumptions(false, &client.all_output());
        self.clients
            .iter()
            .map(reported)
            .collect::<Option<Vec<_>>>()
            .map(|reported| reported.concat())
    }

    /// The session must be stored on the side that the feature requires.
    fn check_sessions(&self) -> Result<()> {
        let Feature::Resumption(sessions) = self.cell.feature else { return Ok(()) };
        let ticket = recorded::gives_ticket(&self.relay.server_bytes(0));
        match sessions {
            Sessions::Ticket => ensure!(ticket, "the server issued no ticket"),
            Sessions::Id => ensure!(!ticket, "the server issued a ticket"),
            Sessions::Stateless | Sessions::Stateful => {
                for (connection, _) in
                    self.expected_resumptions().iter().enumerate().filter(|(_, r)| **r)
                {
                    let offered =
                        recorded::psk_identity_length(&self.relay.client_bytes(connection));
                    let name = offered.context("the client offered no session")?;
                    let stateful = name <= LONGEST_SESSION_NAME;
                    let expected = sessions == Sessions::Stateful;
                    ensure!(stateful == expected, "the identity has {name} bytes");
                }
            }
        }
        Ok(())
    }

    fn check_early_data(&mut self) -> Result<()> {
        let accepted = self.cell.feature == Feature::EarlyData;
        let plan = self.client_program.connection_plan();
        let early = (0..plan.connections()).filter(|&c| plan.has_session(c)).count();
        let expected = vec![accepted; early];
        let clients = self.clients.iter();
        let reported: Vec<bool> = clients
            .flat_map(|client| self.client_program.early_data(false, &client.all_output()))
            .collect();
        let silent = |serves, program: &dyn Program| {
            !accepted && !program.reports_rejected_early_data(serves)
        };
        let right =
            reported == expected || (reported.is_empty() && silent(false, self.client_program));
        ensure!(right, "the client reports for early data {reported:?}");
        self.wait("the server to report early data", |exchange| {
            Ok(!accepted || exchange.early_data_of_servers().len() >= early)
        })?;
        let reported = self.early_data_of_servers();
        let right =
            reported == expected || (reported.is_empty() && silent(true, self.server_program));
        ensure!(right, "the server reports for early data {reported:?}");

        let message = early_data(self.setting);
        let arrives = accepted || self.client_program.repeats_early_data();
        let received = if self.harness_echoes {
            self.server_output()
        } else if accepted && !self.server_program.echoes_early_data() {
            return Ok(());
        } else {
            self.clients.iter().flat_map(|client| client.output().bytes()).collect()
        };
        let times = received.windows(message.len()).filter(|received| *received == message).count();
        let wanted = if arrives { early } else { 0 };
        ensure!(times == wanted, "early data arrived {times} times, not {wanted}");
        Ok(())
    }

    fn early_data_of_servers(&self) -> Vec<bool> {
        let servers = self.servers.iter();
        servers
            .flat_map(|server| self.server_program.early_data(true, &server.all_output()))
            .collect()
    }

    /// The records of the side that received record_size_limit must be small.
    fn check_records(&self, owner: Owner) -> Result<()> {
        let limited = match owner {
            Owner::Server => self.relay.client_bytes(0),
            Owner::Client => self.relay.server_bytes(0),
        };
        let longest = recorded::longest_record(&limited).context("no protected record")?;
        let allowed = usize::from(RECORD_LIMIT) + PROTECTION;
        ensure!(longest <= allowed, "a record of {longest} bytes was sent");
        // A Certificate message is longer than the limit, so it must have been divided.
        ensure!(longest > usize::from(RECORD_LIMIT) / 2, "no record is near the limit");
        Ok(())
    }

    /// The compression algorithm must be the only one offered, because Tercel is configured with no
    /// other.
    fn check_offer(&self, compression: Compression) -> Result<()> {
        let offered = recorded::offered_compressions(&self.relay.client_bytes(0));
        let as_expected = match self.cell.role {
            Role::Serve => offered.contains(&compression.code()),
            Role::Connect => offered == [compression.code()],
        };
        ensure!(as_expected, "the client offered the compressions {offered:?}");
        Ok(())
    }

    pub(super) fn check_marks(&mut self) -> Result<()> {
        for (serves, program) in [(true, self.server_program), (false, self.client_program)] {
            for mark in program.marks(serves, self.cell.feature) {
                self.wait("a program to report the feature", |exchange| {
                    exchange.has_mark(serves, mark)
                })
                .with_context(|| format!("no {mark:?} from {}", program.name()))?;
            }
        }
        Ok(())
    }

    fn has_mark(&self, serves: bool, mark: Mark) -> Result<bool> {
        Ok(match mark {
            Mark::Printed(text) if serves => self.server().all_output().contains(text),
            Mark::Printed(text) => self.clients[0].all_output().contains(text),
            Mark::Traced(text) => {
                let trace = fs::read(trace(&self.scratch, serves)).unwrap_or_default();
                String::from_utf8_lossy(&trace).contains(text)
            }
        })
    }
}

/// The longest ticket that counts as the name of a stored session. A sealed session is longer.
const LONGEST_SESSION_NAME: usize = 64;
