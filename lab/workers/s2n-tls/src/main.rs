//! Worker for s2n-tls.
//!
//! The worker uses the C interface with callbacks over buffers of fixed size. Connections are not
//! reused, because according to the documentation reuse has hardly any benefit. Memory comes from
//! the callbacks that the crate `s2n-tls` sets, not from locked pages. Rows of data prefer
//! throughput, so records are as large as those of other libraries. Buffers are kept, which is the
//! default. `s2n_recv` may return several records at once.
//!
//! s2n-tls requests bytes in callbacks; these copies are not timed, as for other libraries. Parking
//! releases the memory that the documentation recommends to release.

mod configuration;
mod error;
mod loading;
mod policies;
mod session;
mod transport;

use std::ffi::{CStr, CString, c_char, c_int};
use std::path::PathBuf;
use std::process::ExitCode;
use std::ptr;
use std::sync::Arc;

use lab_scenario::{
    About, Endpoint, Files, Group, Library, LibraryWorker, LoadedObject, Material, Outcome,
    PrepareError, Result, Row, Scheme, Sink, Suite, Task, TransportBuffers, Version,
    locked_version, serve,
};
use s2n_tls_sys as ffi;

use configuration::{Config, read};
use error::{done, failed, is_blocked};

fn main() -> ExitCode {
    serve(LibraryWorker::<S2n>::new())
}

struct S2n {
    client: Arc<Config>,
    server: Arc<Config>,
    name: CString,
    files: Files,
    /// Whether the client stores sessions without ticket.
    keeps: bool,
    resumes: bool,
    throughput: bool,
}

impl Library for S2n {
    type Client = Side<true>;
    type Server = Side<false>;

    fn about() -> About {
        let lock = include_str!("../Cargo.lock");
        About {
            library: "s2n-tls".to_owned(),
            version: locked_version(lock, "s2n-tls").to_owned(),
            crypto: format!(
                "AWS-LC (aws-lc-rs {}, aws-lc-sys {})",
                locked_version(lock, "aws-lc-rs"),
                locked_version(lock, "aws-lc-sys")
            ),
            interface: "s2n_negotiate, s2n_send, s2n_recv, callbacks over fixed buffers".to_owned(),
            build: "release by s2n-tls-sys, optimised as one program if clang is there".to_owned(),
            ..About::default()
        }
    }

    fn configure(row: &Row, files: &Files) -> std::result::Result<Self, PrepareError> {
        let policies = policies::of(row)?;
        session::forget_all();
        let read = |path: PathBuf| read(&path).map_err(PrepareError::Failed);
        let root = read(files.root(row.chain))?;
        let chain = read(files.server_chain(row.chain))?;
        let key = read(files.server_key(row.chain))?;
        let shown = (&*chain, &*key);
        Ok(Self {
            client: Config::client(&root, row, files, policies.client)
                .map_err(PrepareError::Failed)?,
            server: Config::server(shown, row, files, policies.server)
                .map_err(PrepareError::Failed)?,
            name: CString::new(files.server_name())?,
            files: files.clone(),
            keeps: configuration::stores(row),
            resumes: row.resumption.is_some(),
            throughput: row.task == Task::Bulk,
        })
    }

    fn client(&self) -> Result<Self::Client> {
        session::reset_received();
        let mut side = Side::new(ffi::s2n_mode::CLIENT, &self.client, self.throughput)?;
        // SAFETY: the connection is valid, and s2n-tls copies the name.
        done(unsafe { ffi::s2n_set_server_name(side.connection, self.name.as_ptr()) })?;
        if self.resumes {
            session::resume(side.connection, self.keeps)?;
        }
        side.keeps = self.keeps;
        Ok(side)
    }

    fn server(&self) -> Result<Self::Server> {
        Side::new(ffi::s2n_mode::SERVER, &self.server, self.throughput)
    }

    fn load(
        &self,
        row: &Row,
        material: &Material,
    ) -> std::result::Result<LoadedObject<Self>, PrepareError> {
        loading::load(self, row, material)
    }
}

/// Buffers that a thread uses for all its connections.
struct Buffers {
    wire: TransportBuffers,
    /// Decrypted application data: a record, or several short ones.
    opened: Vec<u8>,
}

/// One end of a connection.
struct Side<const CLIENT: bool> {
    connection: *mut ffi::s2n_connection,
    connected: bool,
    keeps: bool,
}

impl<const CLIENT: bool> Side<CLIENT> {
    fn new(mode: ffi::s2n_mode::Type, config: &Config, throughput: bool) -> Result<Self> {
        // SAFETY: a null result means failure.
        let connection = unsafe { ffi::s2n_connection_new(mode) };
        if connection.is_null() {
            return Err(failed());
        }
        let side = Self { connection, connected: false, keeps: false };
        transport::connect(connection)?;
        // SAFETY: the connection is valid; the configuration outlives it, because the library
        // created both.
        unsafe {
            done(ffi::s2n_connection_set_config(connection, config.as_ptr()))?;
            // Without this, the library sleeps for half a minute after an error.
            let mode = ffi::s2n_blinding::SELF_SERVICE_BLINDING;
            done(ffi::s2n_connection_set_blinding(connection, mode))?;
            if throughput {
                done(ffi::s2n_connection_prefer_throughput(connection))?;
            }
        }
        Ok(side)
    }

    /// Received data of one or more records; `None` without a complete record.
    fn read<'b>(&mut self, buffers: &'b mut Buffers) -> Result<Option<&'b [u8]>> {
        let (connection, opened) = (self.connection, &mut buffers.opened);
        let (room, mut blocked) = (isize::try_from(opened.len())?, 0);
        // SAFETY: the buffer has the given length.
        let result = transport::with_buffers(connection, &mut buffers.wire, || unsafe {
            ffi::s2n_recv(connection, opened.as_mut_ptr().cast(), room, &mut blocked)
        })?;
        match usize::try_from(result) {
            Ok(0) => Err("the connection was closed".into()),
            Ok(length) => Ok(opened.get(..length)),
            Err(_) if is_blocked() => Ok(None),
            Err(_) => Err(failed()),
        }
    }

    /// A name that s2n-tls returns.
    fn reported_name(
        &self,
        ask: unsafe extern "C" fn(*mut ffi::s2n_connection, *mut *const c_char) -> c_int,
    ) -> Option<&str> {
        let mut name = ptr::null();
        // SAFETY: these functions write a pointer to a static C string and return 0, or fail.
        unsafe {
            let told = ask(self.connection, &mut name) == 0 && !name.is_null();
            told.then(|| CStr::from_ptr(name))?.to_str().ok()
        }
    }
}

impl<const CLIENT: bool> Drop for Side<CLIENT> {
    fn drop(&mut self) {
        // SAFETY: the connection is valid and not used again.
        unsafe { ffi::s2n_connection_free(self.connection) };
    }
}

impl<const CLIENT: bool> Endpoint for Side<CLIENT> {
    type Buffers = Buffers;

    fn buffers(_: &Row, capacity: usize) -> Buffers {
        // Every thread must initialize the library first.
        s2n_tls::init::init();
        Buffers { wire: TransportBuffers::new(capacity), opened: vec![0; 16 << 10] }
    }

    fn deliver(&mut self, buffers: &mut Buffers, bytes: &[u8]) -> Result<usize> {
        Ok(buffers.wire.deliver(bytes))
    }

    fn collect(&mut self, buffers: &mut Buffers, wire: &mut Vec<u8>) -> Result<()> {
        buffers.wire.collect(wire);
        Ok(())
    }

    fn advance(&mut self, buffers: &mut Buffers) -> Result<()> {
        if !self.connected {
            let (connection, mut blocked) = (self.connection, 0);
            // SAFETY: the connection is valid.
            let result = transport::with_buffers(connection, &mut buffers.wire, || unsafe {
                ffi::s2n_negotiate(connection, &mut blocked)
            })?;
            if result != 0 {
                return if is_blocked() { Ok(()) } else { Err(failed()) };
            }
            self.connected = true;
            if self.keeps {
                session::keep(connection)?;
            }
        }
        // At this point only tickets arrive.
        if buffers.wire.has_unread() && self.read(buffers)?.is_some() {
            return Err("data after a handshake".into());
        }
        Ok(())
    }

    fn send_early(&mut self, _: &mut Buffers, _: &[u8]) -> Result<()> {
        Err("early data is not supported".into())
    }

    fn outcome(&self) -> Result<Outcome> {
        if !self.connected {
            return Err("not connected".into());
        }
        let (connection, mut suite, mut issued) = (self.connection, [0; 2], 0);
        let [high, low] = &mut suite;
        // SAFETY: the connection is valid, and all output parameters are alive.
        let (version, resumed, certificate) = unsafe {
            done(ffi::s2n_connection_get_cipher_iana_value(connection, high, low))?;
            if !CLIENT {
                done(ffi::s2n_connection_get_tickets_sent(connection, &mut issued))?;
            }
            (
                ffi::s2n_connection_get_actual_protocol_version(connection),
                ffi::s2n_connection_is_session_resumed(connection) == 1,
                ffi::s2n_connection_client_cert_used(connection) == 1,
            )
        };
        let version = match version {
            ffi::s2n_tls_version::TLS12 => Version::Tls12,
            ffi::s2n_tls_version::TLS13 => Version::Tls13,
            other => return Err(format!("version {other}").into()),
        };
        let group = self.reported_name(ffi::s2n_connection_get_key_exchange_group);
        let scheme =
            self.reported_name(ffi::s2n_connection_get_signature_scheme).map(|name| match name {
                // The name of the scheme in TLS 1.2, where it does not include the curve.
                "legacy_ecdsa_sha256" => Scheme::EcdsaSecp256r1Sha256.name(),
                other => other,
            });
        Ok(Outcome {
            version,
            suite: Suite::of_number(u16::from_be_bytes(suite)).ok_or("an unknown suite")?,
            group: group.and_then(|name| {
                Group::ALL.iter().find(|each| each.name().eq_ignore_ascii_case(name)).copied()
            }),
            scheme: scheme
                .and_then(|name| Scheme::ALL.iter().find(|each| each.name() == name).copied()),
            resumed,
            client_certificate: (!CLIENT).then_some(certificate),
            tickets: match (CLIENT, version) {
                (true, _) => Some(session::received()),
                (false, Version::Tls13) => Some(issued.into()),
                (false, Version::Tls12) => None,
            },
            early_data: 0,
        })
    }

    fn send(&mut self, buffers: &mut Buffers, data: &[u8]) -> Result<()> {
        let (connection, length, mut blocked) = (self.connection, isize::try_from(data.len())?, 0);
        // SAFETY: the data has the given length.
        let sent = transport::with_buffers(connection, &mut buffers.wire, || unsafe {
            ffi::s2n_send(connection, data.as_ptr().cast(), length, &mut blocked)
        })?;
        if sent == length { Ok(()) } else { Err(failed()) }
    }

    fn receive(&mut self, buffers: &mut Buffers, sink: Sink<'_>) -> Result<()> {
        while buffers.wire.has_unread() {
            let Some(data) = self.read(buffers)? else { break };
            sink(data);
        }
        Ok(())
    }

    fn park(&mut self) -> Result<bool> {
        // SAFETY: the connection is valid, its handshake has ended, and no data is in transit.
        unsafe {
            done(ffi::s2n_connection_free_handshake(self.connection))?;
            done(ffi::s2n_connection_release_buffers(self.connection))?;
        }
        Ok(true)
    }
}
