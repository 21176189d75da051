//! The servers: those of this process, and installed programs.

mod installed;
mod local;

use std::path::Path;

use anyhow::Result;

use crate::certificates::Certificates;

/// Running servers, which are stopped on drop.
pub(crate) struct Servers {
    ports: Vec<(&'static str, u16)>,
    absent: Vec<String>,
    _processes: Vec<installed::Process>,
}

impl Servers {
    pub(crate) async fn start(folder: &Path, certificates: &Certificates) -> Result<Self> {
        let ports = vec![
            ("http", local::http(certificates).await?),
            ("websocket", local::websocket(certificates).await?),
            ("smtp", local::smtp(certificates).await?),
            ("streams", local::streams(certificates).await?),
        ];
        let mut servers = Self { ports, absent: Vec::new(), _processes: Vec::new() };
        for (name, start) in installed::ALL {
            match start(folder, certificates)? {
                Ok(process) => {
                    servers.ports.push((name, process.port));
                    servers._processes.push(process);
                }
                Err(absent) => servers.absent.push(format!("{name}: {absent}")),
            }
        }
        Ok(servers)
    }

    /// The server's port, if it runs.
    pub(crate) fn port(&self, server: &str) -> Option<u16> {
        self.ports.iter().find(|(name, _)| *name == server).map(|(_, port)| *port)
    }

    /// Servers that are not installed.
    pub(crate) fn absent(&self) -> &[String] {
        &self.absent
    }
}
