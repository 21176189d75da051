//! Runs a feature cell: its connections and the data on them.

mod checks;

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::cells::Role;
use crate::features::{Feature, FeatureCell, Owner, Update};
use crate::parameters::Key;
use crate::programs::{ClientAuth, Connect, Extra, Limits, Program, Serve, early_file};
use crate::relay::Relay;
use crate::run::{LIMIT, Setting, request};
use tercel_harness::pki::SERVER_NAME;
use tercel_harness::ports::free_port;
use tercel_harness::process::{Process, last_error_lines};

/// The length of an echoed message. It fits in one record, so that no program prints it in parts.
const MESSAGE_LENGTH: usize = 64 * 64;
/// The length of an echoed message in the cells of the record size limit. It is below the limit,
/// because gnutls-cli drops data beyond its own limit.
const SHORT_MESSAGE_LENGTH: usize = 64 * 7;
/// The file with the message, for programs that fetch or serve files instead of echoing.
const MESSAGE_FILE: &str = "message.txt";
/// The length of the early data. It must not exceed the limit of the servers.
const EARLY_DATA_LENGTH: usize = 64 * 5;
/// A pause that is longer than the tick of a clock in seconds.
const CLOCK_STEP: Duration = Duration::from_millis(1100);

/// Runs one cell. The error states the fault and has the last output of both programs.
pub(crate) fn run(
    cell: FeatureCell,
    subject: &dyn Program,
    peer: &dyn Program,
    setting: &Setting,
) -> Result<()> {
    let mut exchange = Exchange::start(cell, subject, peer, setting)?;
    let result = exchange.make_connections().and_then(|()| exchange.check());
    result.map_err(|error| error.context(exchange.last_output()))
}

struct Exchange<'a> {
    cell: FeatureCell,
    setting: &'a Setting,
    server_program: &'a dyn Program,
    client_program: &'a dyn Program,
    /// One server, or one per connection if the second server must lack the sessions of the first.
    servers: Vec<Process>,
    /// Whether the server only prints what it receives, so that the harness must echo it.
    harness_echoes: bool,
    /// One process per run of the client.
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
        fs::write(early_file(&scratch), early_data(setting))?;
        fs::write(scratch.join(MESSAGE_FILE), &setting.payload[..MESSAGE_LENGTH])?;
        // The servers are used in turn, so that no connection reaches the server that issued the
        // newest session.
        let count = if cell.feature == Feature::EarlyDataAtOtherServer { 2 } else { 1 };
        let ports = (0..count).map(|_| free_port()).collect::<Result<Vec<_>>>()?;
        let mut exchange = Self {
            cell,
            setting,
            server_program,
            client_program,
            servers: Vec::new(),
            harness_echoes: false,
            clients: Vec::new(),
            relay: Relay::start(ports.clone())?,
            scratch,
            deadline: Instant::now() + LIMIT,
        };
        for port in ports {
            exchange.start_server(port)?;
        }
        if cell.feature.has_early_data() && cell.role == Role::Connect {
            // Some servers refuse early data if the ticket seems older than the server's process,
            // and clients may round the age to seconds.
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
            client_auth: if requests_client_certificate(feature) {
                ClientAuth::Required
            } else {
                ClientAuth::None
            },
            client_roots: self.setting.pki.client_roots(),
            files: self.client_program.abilities().fetches.then_some(&self.scratch),
            scratch: &self.scratch,
            extra: Some(Extra {
                feature,
                peer_key: (feature == Feature::RawKey(Owner::Client))
                    .then_some(shown_by_client.as_path()),
            }),
        });
        self.harness_echoes = served.harness_echoes;
        self.servers.push(Process::start(served.command)?);
        Ok(())
    }

    /// Makes all connections and exchanges the data on them.
    fn make_connections(&mut self) -> Result<()> {
        let feature = self.cell.feature;
        for run in 0..self.client_program.connection_plan().runs() {
            let client = self.start_client(run > 0)?;
            self.clients.push(client);
            if self.client_program.abilities().fetches {
                self.fetch()?;
                continue;
            }
            if self.server_program.abilities().serves_files {
                self.request_file()?;
                continue;
            }
            self.echo(0)?;
            if let Feature::KeyUpdate(update) = feature {
                self.update_keys(update)?;
                self.echo(1)?;
            }
            self.end_client()?;
            if run == 0 && !feature.uses_sessions() {
                // A resumed connection need not use the feature, and may overwrite the trace of the
                // first connection.
                self.check_marks()?;
            }
        }
        Ok(())
    }

    /// Checks that the client fetched the file on each connection.
    fn fetch(&mut self) -> Result<()> {
        self.end_client()?;
        let message = self.setting.payload[..MESSAGE_LENGTH]
            .repeat(self.client_program.connection_plan().per_run());
        ensure!(self.client().output().bytes() == message, "the fetched data differs");
        Ok(())
    }

    /// The client requests the file from a server that serves files.
    fn request_file(&mut self) -> Result<()> {
        let message = self.setting.payload[..MESSAGE_LENGTH].to_vec();
        self.client().send_input(&request(&self.scratch.join(MESSAGE_FILE)));
        self.wait("the server to end the connection", Self::client_ended)?;
        self.end_client()?;
        ensure!(self.client().output().bytes().ends_with(&message), "the file was not received");
        Ok(())
    }

    fn start_client(&self, again: bool) -> Result<Process> {
        let feature = self.cell.feature;
        let shown_by_server = self.setting.pki.server(Key::P256).public;
        Process::start(
            self.client_program.connect(&Connect {
                port: self.relay.port(),
                name: SERVER_NAME,
                roots: self.setting.pki.server_roots(),
                credential: requests_client_certificate(feature)
                    .then(|| self.setting.pki.client(Key::P256)),
                limits: limits(self.cell, self.cell.role == Role::Serve),
                fetch: MESSAGE_FILE,
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

    /// The client sends a message and receives its echo.
    fn echo(&mut self, turn: usize) -> Result<()> {
        let length = if matches!(self.cell.feature, Feature::RecordSizeLimit(_)) {
            SHORT_MESSAGE_LENGTH
        } else {
            MESSAGE_LENGTH
        };
        let message = self.setting.payload[turn * length..][..length].to_vec();
        let printed = self.server_output().len();
        self.client().send_input(&message);
        if self.harness_echoes {
            self.wait("the server to print what it received", |exchange| {
                let ended = exchange.client_ended()?;
                let printed = exchange.server_output().split_off(printed);
                ensure!(
                    contains(&printed, &message) || !ended,
                    "the client ended before its message arrived"
                );
                Ok(contains(&printed, &message))
            })?;
            self.server().send_input(&message);
        }
        self.wait("the echo", |exchange| {
            let ended = exchange.client_ended()?;
            let echoed = contains(&exchange.client().output().bytes(), &message);
            ensure!(echoed || !ended, "the client ended before the echo");
            Ok(echoed)
        })
    }

    /// Makes the peer update its keys, and waits until the record appears on the wire.
    fn update_keys(&mut self, update: Update) -> Result<()> {
        let asks = match update {
            // The subject has already updated its keys by itself.
            Update::BySubject => return Ok(()),
            Update::ByPeer => false,
            Update::AskedByPeer => true,
        };
        let by_client = self.cell.role == Role::Serve;
        let before = self.bytes_on_wire(by_client);
        let (peer, process) = match self.cell.role {
            Role::Serve => (self.client_program, self.client()),
            Role::Connect => (self.server_program, self.server()),
        };
        process.send_input(peer.update_command(asks));
        self.wait("the peer to update its keys", |exchange| {
            Ok(exchange.bytes_on_wire(by_client) > before)
        })
    }

    fn end_client(&mut self) -> Result<()> {
        if let Some(client) = self.clients.last_mut() {
            client.end_input();
        }
        self.wait("the client to end", Self::client_ended)?;
        let status = self.client_mut()?.ended()?;
        ensure!(status.is_some_and(|status| status.success()), "the client reports a failure");
        Ok(())
    }

    fn bytes_on_wire(&self, by_client: bool) -> usize {
        let newest = self.relay.connections().max(1) - 1;
        let output = if by_client {
            self.relay.client_bytes(newest)
        } else {
            self.relay.server_bytes(newest)
        };
        output.len()
    }

    /// The server of the newest connection.
    fn server(&self) -> &Process {
        &self.servers[(self.relay.connections().max(1) - 1) % self.servers.len()]
    }

    /// The standard output of all servers.
    fn server_output(&self) -> Vec<u8> {
        self.servers.iter().flat_map(|server| server.output().bytes()).collect()
    }

    fn client(&self) -> &Process {
        &self.clients[self.clients.len() - 1]
    }

    fn client_ended(&mut self) -> Result<bool> {
        Ok(self.client_mut()?.ended()?.is_some())
    }

    fn client_mut(&mut self) -> Result<&mut Process> {
        self.clients.last_mut().context("no client process")
    }

    fn wait(
        &mut self,
        what: &str,
        mut reached: impl FnMut(&mut Self) -> Result<bool>,
    ) -> Result<()> {
        loop {
            // The conditions are checked in this order, because the last output of a program may
            // satisfy the condition.
            let ended = self.have_all_ended()?;
            if reached(self)? {
                return Ok(());
            }
            if ended {
                bail!("a program ended while waiting for {what}");
            }
            ensure!(Instant::now() < self.deadline, "timeout waiting for {what}");
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Whether all processes have ended and their output is complete.
    fn have_all_ended(&mut self) -> Result<bool> {
        let mut ended = true;
        for process in self.clients.last_mut().into_iter().chain(&mut self.servers) {
            ended &= process.ended()?.is_some();
        }
        Ok(ended)
    }

    fn last_output(&mut self) -> String {
        let clients = self.clients.iter_mut().map(|client| ("client", client));
        last_error_lines(self.servers.iter_mut().map(|server| ("server", server)).chain(clients))
    }
}

fn early_data(setting: &Setting) -> &[u8] {
    &setting.payload[setting.payload.len() - EARLY_DATA_LENGTH..]
}

/// Whether the server requests a client certificate, whose message exceeds the record size limit.
fn requests_client_certificate(feature: Feature) -> bool {
    matches!(feature, Feature::RawKey(Owner::Client) | Feature::RecordSizeLimit(Owner::Server))
}

/// The peer is limited to the version of the feature, and the client to the group of the cell, if
/// it has one; the subject otherwise keeps its defaults.
fn limits(cell: FeatureCell, peer: bool) -> Limits {
    let is_client = peer == (cell.role == Role::Serve);
    Limits {
        version: peer.then(|| cell.feature.version()),
        group: cell.client_group.filter(|_| is_client),
        ..Limits::default()
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}
