//! The files of a cluster: configurations, certificates, and the ticket keys that nodes share by a file.
//!
//! Must not know: processes. Next: `../cluster.rs`, which puts them in place.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use tercel_harness::pki::{Authority, Key, Leaf, SERVER_NAME};

use super::{DRAIN, Face};

/// The file of shared ticket keys: a line each, with when it begins and 48 bytes.
#[derive(Debug)]
pub(super) struct KeyFile {
    path: PathBuf,
    lines: Vec<String>,
}

impl KeyFile {
    pub(super) fn create(folder: &Path) -> Result<Self> {
        let mut file = Self { path: folder.join("ticket.keys"), lines: Vec::new() };
        file.add(0)?;
        Ok(file)
    }

    /// A new key that begins in a moment, so that every node has it by then. The oldest of three goes.
    pub(super) fn rotate(&mut self) -> Result<()> {
        self.add(2)
    }

    fn add(&mut self, seconds: u64) -> Result<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let mut key = [0; 48];
        tercel::crypto::fill_random(&mut key)?;
        let hexadecimal: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        self.lines.push(format!("{} {hexadecimal}\n", now + seconds));
        if self.lines.len() > 3 {
            self.lines.remove(0);
        }
        let temporary = self.path.with_extension("new");
        write_private(&temporary, &self.lines.concat())?;
        Ok(fs::rename(temporary, &self.path)?)
    }
}

pub(super) fn config(
    face: Face,
    folder: &Path,
    address: SocketAddr,
    admin: SocketAddr,
    backend: SocketAddr,
    store: &str,
    window: u32,
) -> String {
    let folder = folder.display();
    // A store that does not answer in time is lost, and early data with it for a while: a busy machine is no reason. All
    // clocks here are one.
    let store = format!(
        "[resumption.store]
url = \"{store}\"
secret = \"{folder}/secret\"
time_limit = 0.5
clock_difference = 1
"
    );
    let shared = match face {
        // Keys that follow each other as fast as they may.
        Face::StoreKeys => format!("tickets = \"shared\"\nticket_lifetime = 60\n{store}"),
        Face::FileKeys => format!("tickets = \"shared\"\nticket_keys = \"{folder}/ticket.keys\"\n"),
        Face::Sessions => format!("tickets = \"off\"\nsessions = \"shared\"\n{store}"),
    };
    // Each node has a backend of its own, which makes a context of its own unless this is said: docs/proxy.md, "Sessions".
    let context = "session_context = \"fleet\"";
    // What was admitted early is remembered in the store.
    let early = if face == Face::FileKeys { 0 } else { 16_384 };
    format!(
        "workers = 1
drain = {}
[admin]
address = \"{admin}\"
[resumption]
freshness_window = {window}
{shared}[[listener]]
address = \"{address}\"
certificates = \"{folder}/certificates\"
to = \"{backend}\"
early_data = {early}
{context}
",
        DRAIN.as_secs()
    )
}

pub(super) fn certificate_file(folder: &Path, ending: &str) -> PathBuf {
    folder.join("certificates").join(format!("{SERVER_NAME}.{ending}"))
}

pub(super) fn write_certificate(authority: &Authority, folder: &Path) -> Result<()> {
    let pem = authority.issue(&Leaf::SERVER, Key::P256)?;
    for (ending, text) in [("key", &pem.key), ("crt", &pem.certificates)] {
        let temporary = folder.join("certificate.new");
        write_private(&temporary, text)?;
        fs::rename(&temporary, certificate_file(folder, ending))?;
    }
    Ok(())
}

pub(super) fn write_private(file: &Path, text: &str) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::write(file, text)?;
    Ok(fs::set_permissions(file, fs::Permissions::from_mode(0o600))?)
}
