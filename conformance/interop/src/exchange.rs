//! One feature: the connections it takes, and what is said on them.
//!
//! This module must not know any program's command line. Next: `exchange/judge.rs`, which decides
//! whether the feature was seen.

mod judge;

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::cells::Role;
use crate::features::{Feature, FeatureCell, Owner, Update};
use crate::programs::{ClientAuth, Connect, Extra, Limits, Program, Serve, early_file};
use crate::relay::Relay;
use crate::run::{LIMIT, Setting, request};
use crate::terms::Key;
use tercel_harness::pki::SERVER_NAME;
use tercel_harness::ports::free_port;
use tercel_harness::process::{Process, last_words};

/// What is echoed on a connection. Less than a record, so that no program's own words divide it.
const WORDS: usize = 64 * 64;
/// Less than the record size limit, because gnutls-cli drops what is beyond its own.
const FEW_WORDS: usize = 64 * 7;
/// The file that holds what is echoed, for programs that fetch or give files instead.
const WORDS_FILE: &str = "words.txt";
/// What is sent early, at most what the servers are told to accept.
const EARLY_WORDS: usize = 64 * 5;
/// More than the step of a clock of seconds.
const CLOCK_STEP: Duration = Duration::from_millis(1100);

/// Runs one cell. The error says what was wrong and quotes the programs.
pub(crate) fn run(
    cell: FeatureCell,
    subject: &dyn Program,
    peer: &dyn Program,
    setting: &Setting,
) -> Result<()> {
    let mut exchange = Exchange::start(cell, subject, peer, setting)?;
    let verdict = exchange.carry().and_then(|()| exchange.judge());
    verdict.map_err(|error| error.context(exchange.quotes()))
}

struct Exchange<'a> {
    cell: FeatureCell,
    setting: &'a Setting,
    server_program: &'a dyn Program,
    client_program: &'a dyn Program,
    /// One, or one for each connection where a second one shall not know the first one's sessions.
    servers: Vec<Process>,
    /// The server only shows what it receives, so that the harness answers for it.
    answered_here: bool,
    /// One for each connection, unless the program makes both.
    clients: Vec<Process>,
    relay: Relay,
    scratch: PathBuf,
    deadline: Instant,
}

impl<'a> Exchange<'a> {
    fn start(
        cell: FeatureCell,
        subject: &'a dyn Program,
        peer: &'a dyn Program,
        setting: &'a Setting,
    ) -> Result<Self> {
        let (server_program, client_program) = match cell.role {
            Role::Serve => (subject, peer),
            Role::Connect => (peer, subject),
        };
        let scratch = setting.scratch()?;
        fs::write(early_file(&scratch), early_words(setting))?;
        fs::write(scratch.join(WORDS_FILE), &setting.payload[..WORDS])?;
        // In turn, so that no connection meets the server that gave the newest session.
        let count = if cell.feature == Feature::ForgottenEarlyData { 2 } else { 1 };
        let ports = (0..count).map(|_| free_port()).collect::<Result<Vec<_>>>()?;
        let mut exchange = Self {
            cell,
            setting,
            server_program,
            client_program,
            servers: Vec::new(),
            answered_here: false,
            clients: Vec::new(),
            relay: Relay::start(ports.clone())?,
            scratch,
            deadline: Instant::now() + LIMIT,
        };
        for port in ports {
            exchange.start_server(port)?;
        }
        if cell.feature.has_early_data() && cell.role == Role::Connect {
            // Some servers refuse early data of tickets that seem older than they are themselves, by an
            // age that clients may count in whole seconds.
            thread::sleep(CLOCK_STEP);
        }
        Ok(exchange)
    }

    fn start_server(&mut self, port: u16) -> Result<()> {
        let feature = self.cell.feature;
        let shown_by_client = self.setting.pki.client(Key::P256).public;
        let served = self.server_program.serve(&Serve {
            port,
            credential: self.setting.pki.server(Key::P256),
            limits: limits(self.cell, self.cell.role == Role::Connect),
            client_auth: if asks_client(feature) { ClientAuth::Required } else { ClientAuth::None },
            client_roots: self.setting.pki.client_roots(),
            files: self.client_program.abilities().fetches.then_some(&self.scratch),
            scratch: &self.scratch,
            extra: Some(Extra {
                feature,
                peer_key: (feature == Feature::RawKey(Owner::Client))
                    .then_some(shown_by_client.as_path()),
            }),
        });
        self.answered_here = served.harness_echoes;
        self.servers.push(Process::start(served.command)?);
        Ok(())
    }

    /// Every connection with all that is said on it.
    fn carry(&mut self) -> Result<()> {
        let feature = self.cell.feature;
        for run in 0..self.client_program.returns().runs() {
            let client = self.client(run > 0)?;
            self.clients.push(client);
            if self.client_program.abilities().fetches {
                self.fetch()?;
                continue;
            }
            if self.server_program.abilities().serves_files {
                self.ask()?;
                continue;
            }
            self.echo(0)?;
            if let Feature::KeyUpdate(update) = feature {
                self.update_keys(update)?;
                self.echo(1)?;
            }
            self.end_client()?;
            if run == 0 && !feature.returns() {
                // A resumed connection need not show the feature, and may write its trace over the first one's.
                self.judge_marks()?;
            }
        }
        Ok(())
    }

    /// The client fetches the words on each connection.
    fn fetch(&mut self) -> Result<()> {
        self.end_client()?;
        let words = self.setting.payload[..WORDS].repeat(self.client_program.returns().each());
        ensure!(self.newest().output().bytes() == words, "not the words were fetched");
        Ok(())
    }

    /// The client asks a server that gives files for the words.
    fn ask(&mut self) -> Result<()> {
        let words = self.setting.payload[..WORDS].to_vec();
        self.newest().give(&request(&self.scratch.join(WORDS_FILE)));
        self.wait("the server to end the connection", Self::client_ended)?;
        self.end_client()?;
        ensure!(self.newest().output().bytes().ends_with(&words), "the words did not come");
        Ok(())
    }

    fn client(&self, again: bool) -> Result<Process> {
        let feature = self.cell.feature;
        let shown_by_server = self.setting.pki.server(Key::P256).public;
        Process::start(
            self.client_program.connect(&Connect {
                port: self.relay.port(),
                name: SERVER_NAME,
                roots: self.setting.pki.server_roots(),
                credential: asks_client(feature).then(|| self.setting.pki.client(Key::P256)),
                limits: limits(self.cell, self.cell.role == Role::Serve),
                fetch: WORDS_FILE,
                scratch: &self.scratch,
                again,
                refused: false,
                extra: Some(Extra {
                    feature,
                    peer_key: (feature == Feature::RawKey(Owner::Server))
                        .then_some(shown_by_server.as_path()),
                }),
            }),
        )
    }

    /// The client says something of its own, and hears it.
    fn echo(&mut self, turn: usize) -> Result<()> {
        let length = if matches!(self.cell.feature, Feature::RecordSizeLimit(_)) {
            FEW_WORDS
        } else {
            WORDS
        };
        let words = self.setting.payload[turn * length..][..length].to_vec();
        let shown = self.shown().len();
        self.newest().give(&words);
        if self.answered_here {
            self.wait("the server to show what it received", |exchange| {
                let ended = exchange.client_ended()?;
                let shown = exchange.shown().split_off(shown);
                ensure!(contains(&shown, &words) || !ended, "the client ended before it was heard");
                Ok(contains(&shown, &words))
            })?;
            self.server().give(&words);
        }
        self.wait("the payload to come back", |exchange| {
            let ended = exchange.client_ended()?;
            let back = contains(&exchange.newest().output().bytes(), &words);
            ensure!(back || !ended, "the client ended before the payload came back");
            Ok(back)
        })
    }

    /// Tells the peer to change keys, and waits until that shows on the wire.
    fn update_keys(&mut self, update: Update) -> Result<()> {
        let asks = match update {
            // It has done so on its own.
            Update::BySubject => return Ok(()),
            Update::ByPeer => false,
            Update::AskedByPeer => true,
        };
        let by_client = self.cell.role == Role::Serve;
        let before = self.said_on_wire(by_client);
        let (peer, process) = match self.cell.role {
            Role::Serve => (self.client_program, self.newest()),
            Role::Connect => (self.server_program, self.server()),
        };
        process.give(peer.update_command(asks));
        self.wait("the peer to change keys", |exchange| {
            Ok(exchange.said_on_wire(by_client) > before)
        })
    }

    fn end_client(&mut self) -> Result<()> {
        if let Some(client) = self.clients.last_mut() {
            client.end_input();
        }
        self.wait("the client to end", Self::client_ended)?;
        let status = self.newest_mut()?.ended()?;
        ensure!(status.is_some_and(|status| status.success()), "the client reports failure");
        Ok(())
    }

    fn server_said(&self) -> String {
        self.server().said()
    }

    fn said_on_wire(&self, by_client: bool) -> usize {
        let newest = self.relay.connections().max(1) - 1;
        let said =
            if by_client { self.relay.client_said(newest) } else { self.relay.server_said(newest) };
        said.len()
    }

    /// The one of the newest connection.
    fn server(&self) -> &Process {
        &self.servers[(self.relay.connections().max(1) - 1) % self.servers.len()]
    }

    /// The standard output of all servers.
    fn shown(&self) -> Vec<u8> {
        self.servers.iter().flat_map(|server| server.output().bytes()).collect()
    }

    fn newest(&self) -> &Process {
        &self.clients[self.clients.len() - 1]
    }

    fn client_ended(&mut self) -> Result<bool> {
        let client = self.newest_mut()?;
        let silent = client.output().ended() && client.complaints().ended();
        Ok(silent && client.ended()?.is_some())
    }

    fn newest_mut(&mut self) -> Result<&mut Process> {
        self.clients.last_mut().context("no client was started")
    }

    fn wait(
        &mut self,
        what: &str,
        mut reached: impl FnMut(&mut Self) -> Result<bool>,
    ) -> Result<()> {
        loop {
            // In this order: what an ended program said last may make the difference.
            let over = self.is_over()?;
            if reached(self)? {
                return Ok(());
            }
            if over {
                bail!("a program ended before {what}");
            }
            ensure!(Instant::now() < self.deadline, "timeout waiting for {what}");
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Both ends have ended and said all they had to say; nothing will change any more.
    fn is_over(&mut self) -> Result<bool> {
        let mut over = true;
        for process in self.clients.last_mut().into_iter().chain(&mut self.servers) {
            over &= process.ended()?.is_some()
                && process.output().ended()
                && process.complaints().ended();
        }
        Ok(over)
    }

    fn quotes(&mut self) -> String {
        let clients = self.clients.iter_mut().map(|client| ("client", client));
        last_words(self.servers.iter_mut().map(|server| ("server", server)).chain(clients))
    }
}

fn early_words(setting: &Setting) -> &[u8] {
    &setting.payload[setting.payload.len() - EARLY_WORDS..]
}

/// A client that shows a certificate has a message that is longer than the record size limit.
fn asks_client(feature: Feature) -> bool {
    matches!(feature, Feature::RawKey(Owner::Client) | Feature::RecordSizeLimit(Owner::Server))
}

/// The peer speaks the feature's version only; the subject keeps its defaults.
fn limits(cell: FeatureCell, peer: bool) -> Limits {
    if !peer {
        return Limits::default();
    }
    Limits { version: Some(cell.feature.version()), ..Limits::default() }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}
