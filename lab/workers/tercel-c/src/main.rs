//! Worker for Tercel's C interface, as a program in C uses it: the shared library, found by the
//! dynamic linker, and the functions of `tercel.h`.
//!
//! The worker does what the worker for the Rust interface does, with the same defaults. There are
//! two exceptions: in C, stored sessions belong to the application, which is asked for
//! them; and the worker remembers itself which early data it has admitted.

mod configuration;
mod connection;
mod ffi;
mod status;

use std::ffi::CStr;
use std::process::ExitCode;
use std::sync::Arc;

use lab_scenario::{
    About, Files, Library, LibraryWorker, LoadedObject, Material, PrepareError, Result, Row, serve,
};

use configuration::{Config, read};
use connection::Side;

fn main() -> ExitCode {
    serve(LibraryWorker::<TercelC>::new())
}

struct TercelC {
    client: Arc<Config>,
    server: Arc<Config>,
    files: Files,
}

impl Library for TercelC {
    type Client = Side<true>;
    type Server = Side<false>;

    fn about() -> About {
        // SAFETY: the function returns a constant C string.
        let version = unsafe { CStr::from_ptr(ffi::tercel_version()) };
        About {
            library: "libtercel".to_owned(),
            version: version.to_string_lossy().into_owned(),
            crypto: "AWS-LC, as Tercel's".to_owned(),
            interface: "tercel_handshake_advance, tercel_connection_seal, tercel_connection_open"
                .to_owned(),
            build: "shared library; release, thin LTO, one codegen unit".to_owned(),
            ..About::default()
        }
    }

    fn configure(row: &Row, files: &Files) -> std::result::Result<Self, PrepareError> {
        if row.first_visit {
            return Err(PrepareError::unsupported("the cache of chains cannot be turned off in C"));
        }
        let read = |path| read(path).map_err(PrepareError::Failed);
        let root = read(files.root(row.chain))?;
        let chain = read(files.server_chain(row.chain))?;
        let key = read(files.server_key(row.chain))?;
        let client = Config::client(row, files, &root).map_err(PrepareError::Failed)?;
        let server = Config::server(row, files, (&chain, &key)).map_err(PrepareError::Failed)?;
        Ok(Self { client: Arc::new(client), server: Arc::new(server), files: files.clone() })
    }

    fn client(&self) -> Result<Self::Client> {
        Side::client(&self.client, self.files.server_name())
    }

    fn server(&self) -> Result<Self::Server> {
        Side::server(&self.server)
    }

    fn load(
        &self,
        row: &Row,
        material: &Material,
    ) -> std::result::Result<LoadedObject<Self>, PrepareError> {
        let (mut client, mut server) = (Arc::clone(&self.client), Arc::clone(&self.server));
        match material {
            Material::Key(_) => {
                return Err(PrepareError::unsupported("keys are loaded with their chain"));
            }
            Material::Server { chain, key } => {
                let loaded = Config::server(row, &self.files, (chain, key));
                server = Arc::new(loaded.map_err(PrepareError::Failed)?);
            }
            Material::Roots(pem) => {
                let loaded = Config::client(row, &self.files, pem);
                client = Arc::new(loaded.map_err(PrepareError::Failed)?);
            }
        }
        Ok(LoadedObject::Configured(Self { client, server, files: self.files.clone() }))
    }
}
