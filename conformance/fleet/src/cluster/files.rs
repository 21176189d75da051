//! The files of a cluster: configurations, certificates, and the file of shared ticket keys.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use tercel_harness::pki::{Authority, Key, Leaf, SERVER_NAME};

use super::{DRAIN, ResumptionKind};

/// The file of shared ticket keys: one line per key, with its start time and 48 bytes.
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

    /// Adds a key that begins in two seconds, so that every node has it by then. Removes the oldest
    /// of three keys.
    pub(super) fn rotate(&mut self) -> Result<()> {
        self.add(2)
    }

    fn add(&mut self, seconds: u64) -> Result<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let mut key = [0; 48];
        tercel_crypto::fill_random(&mut key)?;
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

/// The addresses of a node: its listener, its metrics, and its backend.
pub(super) struct Addresses {
    pub(super) address: SocketAddr,
    pub(super) admin: SocketAddr,
    pub(super) backend: SocketAddr,
}

/// The configuration file of a node.
pub(super) fn config(
    kind: ResumptionKind,
    folder: &Path,
    Addresses { address, admin, backend }: Addresses,
    store: &str,
    window: u32,
) -> String {
    let folder = folder.display();
    // A store that answers too late counts as failed, and early data is refused for a while. A busy
    // machine must not cause that. There is no clock skew, since all nodes use one clock.
    let store = format!(
        "[resumption.store]
url = \"{store}\"
secret = \"{folder}/secret\"
time_limit = 0.5
clock_difference = 1
"
    );
    let shared = match kind {
        // This is the shortest lifetime, so that keys rotate as often as possible.
        ResumptionKind::StoreKeys => format!("tickets = \"shared\"\nticket_lifetime = 60\n{store}"),
        ResumptionKind::FileKeys => {
            format!("tickets = \"shared\"\nticket_keys = \"{folder}/ticket.keys\"\n")
        }
        ResumptionKind::Sessions => format!("tickets = \"off\"\nsessions = \"shared\"\n{store}"),
    };
    // By default each node has its own session context, because it has its own backend:
    // docs/proxy.md, "Sessions".
    let context = "session_context = \"fleet\"";
    // The store records accepted early data.
    let early = if kind == ResumptionKind::FileKeys { 0 } else { 16_384 };
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
