//! Other programs, as clients and as servers.

mod chromium;
mod driver;
mod ngtcp2;
mod openssl;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::cells::{Cell, Role};
use crate::facts::Facts;
use crate::options::Options;
use crate::pki::Pki;

/// What a program gets for one cell.
pub(crate) struct Setup<'a> {
    pub(crate) cell: Cell,
    /// The role of Tercel, which is not that of the program.
    pub(crate) role: Role,
    /// The program's options. Roots and certificates are those of its role.
    pub(crate) options: Options,
    /// An empty folder for files of the program.
    pub(crate) folder: &'a Path,
    pub(crate) pki: &'a Pki,
}

/// Another implementation of QUIC.
pub(crate) trait Program {
    fn name(&self) -> &'static str;

    /// The reason why it cannot run on this machine.
    fn absent(&self) -> Option<String>;

    fn supports(&self, cell: Cell, role: Role) -> bool;

    /// The application protocol of cells that do not require one.
    fn alpn(&self) -> &'static str {
        "echo"
    }

    /// The time that a server needs after its start.
    fn start_time(&self, _: Cell) -> Duration {
        Duration::ZERO
    }

    /// The processes, one after the other: a server is one, a client may need one a connection.
    fn commands(&self, setup: &Setup<'_>) -> Vec<Command>;

    /// The facts of each connection, from the output of each process.
    fn facts(&self, _: &Setup<'_>, outputs: &[String]) -> Vec<Facts> {
        outputs.iter().flat_map(|output| output.lines()).filter_map(Facts::parse).collect()
    }
}

/// Every program, in the order of the table.
pub(crate) fn all(build: &Path) -> Vec<Box<dyn Program>> {
    vec![
        Box::new(driver::Driver::rustls()),
        Box::new(driver::Driver::aioquic(build)),
        Box::new(driver::Driver::quic_go(build)),
        Box::new(ngtcp2::Ngtcp2),
        Box::new(openssl::OpenSsl::new(build)),
        Box::new(chromium::Chromium::find()),
    ]
}

/// Whether the shell finds a program of this name.
fn is_installed(name: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).any(|folder| folder.join(name).is_file())
}
